#!/bin/sh
# A scenario under every scheduler: one row each, two for those that preempt; each row is what
# `cotenant sim` says of the same scheduler. Those that keep goals are left out where there is none.
. "$SOURCE_DIR/tests/cli/lib.sh"

small_scenario >"$work/s.yaml"
expect 0 compare "$work/s.yaml"
"$COTENANT" list schedulers | awk 'NR > 1 { print $1, $2 }' >"$work/schedulers"
n=0
while read -r name preempts; do
	case $name in
	smqos* | spart | rollover*)
		grep -q "^$name " "$work/out" && fail "$name has a row, and nobody has a goal"
		continue
		;;
	esac
	rows=$(grep -c "^$name  *\(-\|switch\|drain\) " "$work/out")
	expected=1
	[ "$preempts" = no ] || expected=2
	[ "$rows" -eq "$expected" ] || fail "$name has $rows rows, expected $expected"
	n=$((n + expected))
done <"$work/schedulers"
[ "$n" -ge 10 ] || fail "only $n rows"

expect 0 compare "$work/s.yaml" --json -
says "$work/out" '"schema": "cotenant.compare/1"'
[ "$(grep -c '"schema": "cotenant.sim/1"' "$work/out")" -eq "$n" ] || fail "not $n runs in the JSON"
cp "$work/out" "$work/all"
expect 0 sim "$work/s.yaml" --scheduler dss --preempt drain --json -
grep '"antt"' "$work/out" >"$work/antt"
grep -qxF -f "$work/antt" "$work/all" || fail "compare and sim differ: $(cat "$work/antt")"

expect 2 compare
says "$work/err" "no scenario given"
expect 2 compare "$work/none.yaml"
empty "$work/out"
expect 1 compare "$work/s.yaml" --json "$work/no/such/folder.json"
finish
