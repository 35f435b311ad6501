#!/bin/sh
# A scenario with several values of its keys: a row for each combination, which is what `cotenant sim`
# says of a file that has these values; wrong ones get one sentence, and nothing is played.
. "$SOURCE_DIR/tests/cli/lib.sh"

small_scenario >"$work/s.yaml"
# column FILE NAME: of the CSV, a line each.
column() {
	awk -F, -v name="$2" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' "$1" |
		tr '\n' ' '
}

# Every combination, the last key first; the same on any number of threads.
expect 0 sweep "$work/s.yaml" --set scheduler=fcfs,dss --set apps.urgent.program.2.kernel.blocks=20,40,80 --csv \
	--threads 2
cp "$work/out" "$work/a.csv"
[ "$(column "$work/a.csv" scheduler)" = "fcfs fcfs fcfs dss dss dss " ] || fail "$(cat "$work/a.csv")"
[ "$(column "$work/a.csv" apps.urgent.program.2.kernel.blocks)" = "20 40 80 20 40 80 " ] || fail "$(cat "$work/a.csv")"
[ "$(column "$work/a.csv" seed)" = "7 7 7 7 7 7 " ] || fail "seeds: $(cat "$work/a.csv")"
expect 0 sweep "$work/s.yaml" --set scheduler=fcfs,dss --set apps.0.program.2.kernel.blocks=20,40,80 --csv="$work/b.csv" \
	--threads 1
[ "$(column "$work/a.csv" antt)" = "$(column "$work/b.csv" antt)" ] || fail "threads, or a number for a name, make a difference"
grep -q "^dss  *80  *[0-9.]*x " "$work/out" || fail "no table: $(cat "$work/out")"

# What a file says that was written so.
sed -e 's/^scheduler:.*/scheduler: dss/' -e 's/blocks: 40,/blocks: 80,/' "$work/s.yaml" >"$work/by-hand.yaml"
expect 0 sim "$work/by-hand.yaml" --json -
antt=$(sed -n 's/.*"antt": \([0-9.]*\),.*/\1/p' "$work/out")
awk -v a="$antt" -v b="$(column "$work/b.csv" antt | awk '{ print $6 }')" \
	'BEGIN { d = a - b; exit !(a > 1 && d < 1e-8 && d > -1e-8) }' || fail "sim has an ANTT of $antt: $(cat "$work/b.csv")"

# Keys that are not there, with the maps around them; words that stand for maps; a seed a row.
expect 0 sweep "$work/s.yaml" --set gpu=h200,k20c --set stop.at_us=2000 --set apps.1.arrivals.per_s=900 --csv
[ "$(column "$work/out" gpu)" = "h200 k20c " ] || fail "GPUs: $(cat "$work/out")"
grep -q '"h200' "$work/out" && fail "a cell in quotes"
expect 0 sweep "$work/s.yaml" --set gpu.sms=4,13 --seeds 5 --json
says "$work/out" '"schema": "cotenant.sweep/1"'
says "$work/out" '"gpu.sms": "13"'
[ "$(grep -c '"schema": "cotenant.sim/1"' "$work/out")" -eq 10 ] || fail "not ten runs"
"$COTENANT" sweep - --set seed=3,4 --report "$work/page.html" <"$work/s.yaml" >"$work/out" || fail "standard input"
says "$work/page.html" "<td>cotenant sweep --set seed=3,4 -</td>"
says "$work/page.html" "seed=4</text>"

# wrong SENTENCE SETTING...
wrong() {
	sentence=$1
	shift
	for setting in "$@"; do
		expect 2 sweep "$work/s.yaml" --set "$setting" --csv="$work/never"
		says "$work/err" "$sentence"
		[ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one line: $(cat "$work/err")"
		empty "$work/out"
	done
}
wrong "with quantm_us=1: $work/s.yaml:1:1: unknown key 'quantm_us' (did you mean 'quantum_us'?); expected one of" quantm_us=1
wrong "s.yaml:9:3: apps.urgnt.weight: no entry 'urgnt' in this list (did you mean 'urgent'?); expected a number from 0 to 1 or one of urgent, batch" apps.urgnt.weight=1
wrong "with apps.0.priority=high: $work/s.yaml:10:15: priority is 'high'; expected a whole number" apps.0.priority=2,high
wrong "s.yaml:9:5: unknown key 'wieght' (did you mean 'weight'?)" apps.0.wieght=1
wrong "here is a value without keys" seed.more=1 apps.0.name.x=1
wrong "is no path to a value" .=1 =1 apps..weight=1 .seed=1 seed.=1
wrong "has a value that is empty" seed= seed=,1 seed=1, seed=1,,2
wrong "has no value" seed
wrong "a value that is too long" "seed=1,$(printf %070d 0)"
wrong "a character that cannot be printed" "$(printf 'see\001d=1')"
wrong "more than 20000 combinations" "seed=$(seq -s, 20001)"
[ -e "$work/never" ] && fail "a file of nothing"
expect 2 sweep "$work/s.yaml"
says "$work/err" "no --set given"
expect 2 sweep --set seed=1
says "$work/err" "no scenario given"
sed -i 's/^seed: 7/seeed: 7/' "$work/by-hand.yaml"
expect 2 sweep "$work/by-hand.yaml" --set seed=1
says "$work/err" "cotenant: $work/by-hand.yaml:5:1: unknown key 'seeed'"
finish
