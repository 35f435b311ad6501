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
[ "$(grep -c '"policy": "pools"' "$work/out")" -eq 2 ] || fail "not one row and one run with the policy"

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
# Portions can be joined; one alone stays as it is, and those of other seeds do not belong together.
sed 's/ *$//' "$work/out" >"$work/portion"
"$SOURCE_DIR/scripts/join-slo" "$work/portion" | cmp -s - "$work/portion" || fail "join-slo changes a single portion"
sed '1s/5 to 6/7 to 8/' "$work/portion" >"$work/second"
"$SOURCE_DIR/scripts/join-slo" "$work/second" "$work/portion" >"$work/joined" || fail "join-slo: $?"
says "$work/joined" "4 random scenarios, seeds 5 to 8; policy pools"
sed '1s/5 to 6/9 to 10/' "$work/portion" >"$work/third"
"$SOURCE_DIR/scripts/join-slo" "$work/third" "$work/portion" >/dev/null 2>&1 && fail "join-slo joins what has a gap"
expect 0 compare --random 2 --seed 5 --policy pools --threads 2
cmp -s "$work/random" "$work/out" || fail "the number of threads makes a difference"
expect 0 compare --random 1 --seed 5 --policy pools --json -
says "$work/out" '"schema": "cotenant.compare-random/1"'
says "$work/out" '"command": "cotenant compare --random 1 --seed 5 --policy pools"'
says "$work/out" '"scenario": "drawn at random"'
says "$work/out" '"next_run_fault": "'
says "$work/out" '"seed": 5'
# As CSV a line for each scenario and way, that says where it is from; and as a page.
expect 0 compare --random 2 --seed 5 --policy pools --csv --report "$work/random.html"
[ "$(wc -l <"$work/out")" -eq 21 ] || fail "two scenarios, ten ways: $(wc -l <"$work/out") lines"
says "$work/out" "seed,run,kept,p99_of_target,batch_sum,batch_least,best,fault,why,scenario,sha256,gpu_model,version,command"
grep -qE '^6,next run,(yes|no),[0-9.]+,[0-9.]+,[0-9.]+,[a-z0-9@]*,(none|missed|slow),.*,cotenant compare --random 2 --seed 5 --policy pools$' \
	"$work/out" || fail "the line of a run: $(tail -n 1 "$work/out")"
for words in "<h1>pools beside every fixed arrangement" "2 random scenarios, seeds 5 to 6" "<h2>Targets kept" \
	"<h2>Origin" "drawn at random"; do
	says "$work/random.html" "$words"
done
expect 0 compare --random 1 --seed 5 --policy pools --report "$work/single.html"
says "$work/single.html" "schema: cotenant.scenario/1"
expect 2 compare --random 1 --csv --json
expect 2 compare --random 0
expect 2 compare --random 1 "$work/pools.yaml"
says "$work/err" "makes its own scenarios"
expect 2 compare --random 1 --policy pools,parts
says "$work/err" "plays one policy"
expect 2 compare --random 1 --policy foo
says "$work/err" "unknown policy"
expect 2 compare --random 1 --seeds 3
says "$work/err" "has no --seeds, as each scenario has a seed of its own"
expect 2 compare --random 1 --scheduler=dss
says "$work/err" "--random has no --scheduler"

# Schedulers and policies by name, in their order; all of one; several seeds: a mean with what it may
# be off. The same on any number of threads, and seed by seed what `sim` says.
expect 0 compare "$work/pools.yaml" --scheduler dss,fcfs --policy pools
awk 'NR > 1 && NF > 3 && $1 ~ /^(dss|fcfs|timeslice)$/ { print $1, $2, $3 }' "$work/out" >"$work/rows"
printf '%s\n' "dss - switch" "dss - drain" "fcfs - -" "timeslice pools switch" | cmp -s - "$work/rows" ||
	fail "rows: $(cat "$work/rows")"
expect 0 compare "$work/s.yaml" --policy all
[ "$(grep -c '^timeslice ' "$work/out")" -ge "$(wc -l <"$work/policies")" ] || fail "not all policies"
grep -q "^fcfs" "$work/out" && fail "a scheduler that nobody asked for"
expect 0 compare "$work/s.yaml" --scheduler all
[ "$(grep -c '^[a-z]' "$work/out")" -ge "$n" ] || fail "not all schedulers"
expect 2 compare "$work/s.yaml" --scheduler dsss
says "$work/err" "unknown scheduler 'dsss' (did you mean 'dss'?); expected one of fcfs"
expect 0 compare "$work/s.yaml" --scheduler ppq --seeds 3 --seed 11 --threads 1 --csv="$work/1.csv"
cp "$work/out" "$work/one"
grep -q "^ppq  *switch .* ±[0-9.]*x " "$work/out" || fail "no interval: $(cat "$work/out")"
says "$work/out" "the mean of 3 runs, with the seeds from 11 on"
expect 0 compare "$work/s.yaml" --scheduler ppq --seeds 3 --seed 11 --threads 2 --csv="$work/2.csv"
cmp -s "$work/one" "$work/out" || fail "the number of threads makes a difference"
cmp -s "$work/1.csv" "$work/2.csv" || fail "the number of threads makes a difference in the CSV"
expect 0 sim "$work/s.yaml" --scheduler ppq --preempt switch --seed 12 --json -
antt=$(sed -n 's/.*"antt": \([0-9.]*\),.*/\1/p' "$work/out")
# column NAME: of the line of seed 12, ppq by context switch.
column() {
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i }
		$1 == "ppq" && $3 == "switch" && $4 == 12 { print $c }' "$work/1.csv"
}
awk -v a="$antt" -v b="$(column antt)" 'BEGIN { d = a - b; exit !(a > 1 && d < 1e-8 && d > -1e-8) }' ||
	fail "the CSV has an ANTT of $(column antt), sim of $antt"
[ "$(wc -l <"$work/1.csv")" -eq 7 ] || fail "lines: $(cat "$work/1.csv")"
[ "$(column scenario),$(column sha256)" = "$work/s.yaml,$(sha256sum "$work/s.yaml" | cut -d' ' -f1)" ] ||
	fail "the CSV does not say what it is of: $(tail -n 1 "$work/1.csv")"
# The mean of the seeds, and the interval, as anybody would compute them.
expect 0 compare "$work/s.yaml" --scheduler ppq --seeds 3 --seed 11 --json -
mean=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "antt") c = i }
	$1 == "ppq" && $3 == "switch" { s += $c; q += $c * $c; n++ }
	END { m = s / n; printf "%.6f %.4f", m, 4.303 * sqrt((q - n * m * m) / (n - 1) / n) }' "$work/1.csv")
awk '/"preempt": "switch"/ { on = 1 } on && /"antt": \{/ { getline m; getline h; gsub(/[^0-9.]/, "", m)
	gsub(/[^0-9.]/, "", h); printf "%.6f %.4f", m, h; exit }' "$work/out" >"$work/mean"
[ "$(cat "$work/mean")" = "$mean" ] || fail "mean and interval are $(cat "$work/mean"), expected $mean"
expect 2 compare "$work/s.yaml" --seeds 0
expect 2 compare "$work/s.yaml" --csv="$work/x" --report "$work/x"
says "$work/err" "two outputs are the same file"
expect 1 compare "$work/s.yaml" --csv=/dev/full

# One with goals: how far they are kept, and no column that nobody fills.
expect 0 compare "$SOURCE_DIR/scenarios/goals.yaml"
head -n 1 "$work/out" | grep -q "search of goal  *solver IPC  *goals  *power" || fail "no goals: $(head -n 1 "$work/out")"
grep -q "^smqos  *switch .* 100.3 % .* kept " "$work/out" || fail "no part of the goal: $(cat "$work/out")"
head -n 1 "$work/out" | grep -q ANTT && fail "an empty column"

expect 2 compare
says "$work/err" "no scenario given"
expect 2 compare "$work/none.yaml"
empty "$work/out"
expect 1 compare "$work/s.yaml" --json "$work/no/such/folder.json"
finish
