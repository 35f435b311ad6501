#!/bin/sh
# The lists name what a scenario can use, as text and as JSON.
. "$SOURCE_DIR/tests/cli/lib.sh"

expect 0 list schedulers
for name in fcfs npq ppq ppq-shared dss dss-printed timeslice smqos smqos-hasty smqos-printed spart \
	spart-catchup rollover \
	rollover-naive rollover-history rollover-elastic; do
	grep -q "^$name  *\(yes\|no\)  *." "$work/out" || fail "no scheduler $name"
done
expect 0 list policies
grep -q '^pools  *yes  *.' "$work/out" || fail "no policy pools, for MPS"
for name in rotate timeslice; do
	grep -q "^$name  *no  *." "$work/out" || fail "no policy $name"
done
expect 0 list gpus
grep -q '^k20c  *13 ' "$work/out" || fail "no k20c with 13 SMs"
expect 0 list traces
says "$work/out" "parboil/lbm"
[ "$(grep -c '^parboil/' "$work/out")" -eq 10 ] || fail "expected ten Parboil traces"
[ "$(grep -c '^smqos/' "$work/out")" -eq 12 ] || fail "expected twelve SMQoS benchmarks"

for list in schedulers policies gpus traces; do
	expect 0 list "$list" --json -
	says "$work/out" '"schema": "cotenant.list/1"'
	says "$work/out" "\"$list\": ["
	cp "$work/out" "$work/first"
	expect 0 list "$list" --json
	cmp -s "$work/first" "$work/out" || fail "$list: --json differs from --json -"
	expect 0 list --json "$list"
	cmp -s "$work/first" "$work/out" || fail "--json $list differs"
	expect 0 list --json "$work/file.json" "$list"
	empty "$work/out"
	cmp -s "$work/first" "$work/file.json" || fail "$list: the file in two words differs"
	expect 2 list "$list" --json "$work/file"
	says "$work/err" "one list at a time"
	expect 0 list "$list" --json="$work/file"
	empty "$work/out"
	cmp -s "$work/first" "$work/file" || fail "$list: the file differs from standard output"
done
expect 1 list gpus --json "$work/no/such/folder.json"
says "$work/err" "cannot write $work/no/such/folder.json: No such file or directory"
if [ -c /dev/full ]; then
	expect 1 list gpus --json=/dev/full
	says "$work/err" "No space left"
	"$COTENANT" list gpus >/dev/full 2>"$work/err"
	[ $? -eq 1 ] || fail "a full standard output goes unnoticed"
fi
finish
