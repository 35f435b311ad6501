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
	smqos* | spart* | rollover*)
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

# Those of --policy alone, in their order: responses, batch programs' rates and their sum.
expect 0 compare "$work/pools.yaml" --policy parts@132,pools,parts@64
awk '$1 == "timeslice" { print $2 }' "$work/out" | tr '\n' ' ' >"$work/rows"
[ "$(cat "$work/rows")" = "parts@132 pools parts@64 " ] || fail "rows: $(cat "$work/rows")"
[ "$(grep -c ' switch ' "$work/out")" -eq 3 ] || fail "more rows: $(cat "$work/out")"
for word in "requests p50" "requests p99" "long rate" "short rate" "batch sum"; do
	head -n 1 "$work/out" | grep -q "$word" || fail "no column '$word': $(head -n 1 "$work/out")"
done
awk '$1 == "timeslice" { d = $(NF - 2) + $(NF - 1) - $NF; if (d > 0.02 || d < -0.02 || $NF <= 0) exit 1 }' "$work/out" ||
	fail "the sum is none: $(cat "$work/out")"
for size in 32 64 96 112 132; do
	grep -q "^timeslice  *parts@$size " "$work/table" || fail "no row of parts@$size"
done
# And whether targets are kept: requests of 100 us under each.
sed 's/^    class: latency/&\n    p99: 400us/' "$work/pools.yaml" >"$work/target.yaml"
expect 0 compare "$work/target.yaml" --policy pools,timeslice
grep -q "^timeslice  *pools .* 0.00 % .* kept" "$work/out" || fail "not kept: $(cat "$work/out")"
grep -q "^timeslice  *timeslice .* missed" "$work/out" || fail "not missed: $(cat "$work/out")"
expect 0 compare "$work/target.yaml" --policy pools,timeslice --json -
[ "$(grep -o '"kept": [a-z]*' "$work/out" | tr '\n' ' ')" = '"kept": true "kept": false ' ] || fail "kept in the JSON"
# A rate is kept or not, too: the least that it has under one of them.
sed 's/^  - name: long/&\n    rate: 20%/' "$work/pools.yaml" >"$work/rate.yaml"
expect 0 compare "$work/rate.yaml" --policy pools
grep -q "^timeslice  *pools .* kept" "$work/out" || fail "a rate of 20 % is not kept: $(cat "$work/out")"
sed -i 's/rate: 20%/rate: 99%/' "$work/rate.yaml"
expect 0 compare "$work/rate.yaml" --policy pools
grep -q "^timeslice  *pools .* missed" "$work/out" || fail "a rate of 99 % is kept: $(cat "$work/out")"
# A scenario without a policy has the one that is asked for, and the same goes for sim.
grep -v '^policy:' "$work/pools.yaml" >"$work/none.yaml"
expect 0 compare "$work/none.yaml" --policy pools
expect 0 sim "$work/none.yaml" --policy parts@64 --json -
says "$work/out" '"policy": "parts@64"'
grep -q '"rate": 0\.' "$work/out" || fail "no rate"
expect 0 sim "$work/pools.yaml" --policy timeslice
says "$work/out" "policy timeslice"
rm "$work/none.yaml"
for wrong in pools,foo pools@4 parts@0 parts@133 "" "pools,"; do
	expect 2 compare "$work/pools.yaml" --policy "$wrong"
	empty "$work/out"
done
expect 2 sim "$work/pools.yaml" --policy foo
says "$work/err" "unknown policy 'foo'; expected one of"
expect 2 sim "$work/s.yaml" --policy pools
says "$work/err" "a policy needs the scheduler timeslice"

# Random scenarios: one with its text, which sim plays; several as a table. The same again.
expect 0 compare --random 1 --seed 5
sed -n '/^schema:/,/^$/p' "$work/out" >"$work/random.yaml"
says "$work/out" "next run"
says "$work/out" "policy slo, after 15000 ms"
expect 0 sim "$work/random.yaml"
expect 0 compare --random 2 --seed 5 --policy pools --threads 1
cp "$work/out" "$work/random"
says "$work/out" "2 random scenarios, seeds 5 to 6; policy pools"
expect 0 compare --random 2 --seed 5 --policy pools --threads 2
cmp -s "$work/random" "$work/out" || fail "the number of threads makes a difference"
expect 0 compare --random 1 --seed 5 --policy pools --json -
says "$work/out" '"schema": "cotenant.compare-random/1"'
says "$work/out" '"next_run_fault": "'
expect 2 compare --random 0
expect 2 compare --random 1 "$work/pools.yaml"
says "$work/err" "makes its own scenarios"
expect 2 compare --random 1 --policy pools,parts
says "$work/err" "plays one policy"
expect 2 compare --random 1 --policy foo
says "$work/err" "unknown policy"
expect 2 compare --seed 3 "$work/pools.yaml"
says "$work/err" "is for --random"

# One with goals: how far they are kept, and no column that nobody fills.
expect 0 compare "$SOURCE_DIR/scenarios/goals.yaml"
head -n 1 "$work/out" | grep -q "search of goal  *solver IPC  *power" || fail "no goals: $(head -n 1 "$work/out")"
grep -q "^smqos  *switch .* 100.3 % " "$work/out" || fail "no part of the goal: $(cat "$work/out")"
head -n 1 "$work/out" | grep -q ANTT && fail "an empty column"

expect 2 compare
says "$work/err" "no scenario given"
expect 2 compare "$work/none.yaml"
empty "$work/out"
expect 1 compare "$work/s.yaml" --json "$work/no/such/folder.json"
finish
