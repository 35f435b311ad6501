#!/bin/sh
# A scenario under every scheduler: one row each, two for those that preempt; each row is what
# `cotenant sim` says of the same scheduler. Those that keep goals are left out where there is none.
. "$SOURCE_DIR/tests/cli/lib.sh"

small_scenario >"$work/s.yaml"
expect 0 compare "$work/s.yaml"
cp "$work/out" "$work/table"
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

for word in policy "of goal" IPC power p99; do
	head -n 1 "$work/table" | sed 's/p99 preemption//' | grep -q "$word" && fail "a column '$word' of nothing"
done

# A scenario with a policy: every policy has a row, and that of the scenario is what `sim` shows.
sed 's/stop: .*/stop: {at_us: 300000}/' "$SOURCE_DIR/scenarios/pools.yaml" >"$work/pools.yaml"
expect 0 compare "$work/pools.yaml"
cp "$work/out" "$work/table"
"$COTENANT" list policies | awk 'NR > 1 { print $1 }' >"$work/policies"
[ -s "$work/policies" ] || fail "no policies"
while read -r name; do
	[ "$(grep -c "^timeslice  *$name  *switch " "$work/table")" -eq 1 ] || fail "no row of the policy $name"
done <"$work/policies"
expect 0 sim "$work/pools.yaml"
slowdown=$(awk '$1 == "requests" && $NF ~ /x$/ { print $NF }' "$work/out")
p99=$(awk '$1 == "requests" && $2 == "latency" { print $(NF - 3), $(NF - 2) }' "$work/out")
grep "^timeslice  *pools " "$work/table" | grep -F " $slowdown " | grep -qF " $p99 " ||
	fail "compare has not $slowdown and $p99 for the policy: $(cat "$work/table")"
head -n 1 "$work/table" | grep -q "requests p99" || fail "no p99 of responses"
grep -q "^fcfs  *-  *-  .* ms  " "$work/table" || fail "no responses without a policy"
expect 0 compare "$work/pools.yaml" --json -
[ "$(grep -c '"policy": "pools"' "$work/out")" -eq 1 ] || fail "not one run with the policy"

# One with goals: how far they are kept, and no column that nobody fills.
expect 0 compare "$SOURCE_DIR/scenarios/goals.yaml"
head -n 1 "$work/out" | grep -q "search of goal  *solver IPC  *power" || fail "no goals: $(head -n 1 "$work/out")"
grep -q "^smqos  *switch .* 100.2 % " "$work/out" || fail "no part of the goal: $(cat "$work/out")"
head -n 1 "$work/out" | grep -q ANTT && fail "an empty column"

expect 2 compare
says "$work/err" "no scenario given"
expect 2 compare "$work/none.yaml"
empty "$work/out"
expect 1 compare "$work/s.yaml" --json "$work/no/such/folder.json"
finish
