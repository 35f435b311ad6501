#!/bin/sh
# What `cotenant sim` writes, and where.
. "$SOURCE_DIR/tests/cli/lib.sh"

small_scenario >"$work/s.yaml"
mkdir "$work/d"

# Text: every application, the metrics, units.
expect 0 sim "$work/s.yaml"
for text in urgent batch ANTT STP fairness preemptions " us" "ppq by context switch" "seed 7"; do
	says "$work/out" "$text"
done
empty "$work/err"
cp "$work/out" "$work/text"
expect 0 sim "$work/s.yaml" --scheduler fcfs --seed 8
says "$work/out" "fcfs, which does not preempt, on k20c (13 SMs), seed 8"
expect 0 sim "$work/s.yaml" --preempt drain
says "$work/out" "ppq by draining"

# From standard input, the same.
"$COTENANT" sim - <"$work/s.yaml" >"$work/out" 2>"$work/err" || fail "a scenario on standard input"
cmp -s "$work/out" "$work/text" || fail "standard input gives another result"

# JSON on standard output: nothing else there; the same bytes in a file and every time.
expect 0 sim "$work/s.yaml" --json - --allocation
[ "$(head -c 1 "$work/out")" = "{" ] || fail "not JSON alone: $(head -n 3 "$work/out")"
for key in schema scheduler preempt seed end_us apps name runs turnaround_us isolated_us ntt antt \
	stp fairness preemptions count saved_bytes latency_us p50 p99 max block_completions \
	allocation t_us sms; do
	says "$work/out" "\"$key\": "
done
cp "$work/out" "$work/first"
expect 0 sim "$work/s.yaml" --allocation --json "$work/d/out.json" --timeline "$work/d/t.json" \
	--report "$work/d/r.html"
cmp -s "$work/first" "$work/d/out.json" || fail "the JSON in a file differs"
[ "$(names_in "$work/d")" = "out.json r.html t.json" ] || fail "left: $(names_in "$work/d")"
says "$work/d/t.json" '"traceEvents":['
says "$work/d/r.html" "<svg "
# Nothing is fetched and nothing runs.
if grep -qiE '<script|src=|href=|url\(' "$work/d/r.html"; then
	fail "the report is not self-contained"
fi

# What it was made from, but not where it was written: the command as one could type it again.
sum=$(sha256sum "$work/s.yaml" | cut -d' ' -f1)
odd="$work/it's one.yaml"
cp "$work/s.yaml" "$odd"
expect 0 sim "$odd" --seed 9 --json "$work/d/out.json" --timeline="$work/d/t.json" --report "$work/d/r.html"
for key in "\"command\": \"cotenant sim --seed 9 '$work/it'\\\\''s one.yaml'\"" "\"scenario\": \"$odd\"" \
	"\"sha256\": \"$sum\"" '"gpu": "k20c (13 SMs)"' \
	"\"version\": \"$("$COTENANT" --version | head -n 1)\""; do
	says "$work/d/out.json" "$key"
done
says "$work/d/r.html" "$sum"
grep -q '<td>date</td><td>20[0-9][0-9]-[01][0-9]-[0-3][0-9]<' "$work/d/r.html" || fail "no date in the page"
SOURCE_DATE_EPOCH=86400
export SOURCE_DATE_EPOCH
expect 0 sim "$work/s.yaml" --json - --report "$work/d/r.html"
says "$work/d/r.html" "<td>1970-01-02</td>"
unset SOURCE_DATE_EPOCH
says "$work/out" '"command": "cotenant sim '"$work"'/s.yaml"'
"$COTENANT" sim - --json - <"$work/s.yaml" >"$work/out"
says "$work/out" '"scenario": "standard input"'
says "$work/out" "$sum"

# With a policy: how long requests took, in all three forms.
sed -e 's/^scheduler:.*/scheduler: timeslice/' -e '/^preempt/i policy: pools' \
	-e '/name: urgent/a\    class: latency' "$work/s.yaml" >"$work/policy.yaml"
expect 0 sim "$work/policy.yaml"
says "$work/out" "policy pools"
says "$work/out" "urgent  latency"
# Without one they are measured, too, where there are requests; and services beside responses.
grep -v '^policy:' "$work/policy.yaml" >"$work/plain.yaml"
expect 0 sim "$work/plain.yaml"
grep -q "^responses$" "$work/out" || fail "no responses: $(cat "$work/out")"
grep -q "^urgent  *latency  *[1-9]" "$work/out" || fail "no responses of the app: $(cat "$work/out")"
grep -q "service p99" "$work/out" && fail "services without arrivals"
expect 0 sim "$SOURCE_DIR/scenarios/arrivals.yaml"
grep -q "^app .*p99 .*service p99 .*target .*missed" "$work/out" || fail "no services or targets: $(cat "$work/out")"
expect 0 sim "$SOURCE_DIR/scenarios/arrivals.yaml" --json -
grep -q '"service_p99_us": [0-9]' "$work/out" || fail "no services in the JSON"

expect 0 sim "$work/policy.yaml" --json - --report "$work/d/r.html"
for text in '"policy": "pools"' '"class": "latency"' '"responses": ' '"response_us": {' '"p95": '; do
	says "$work/out" "$text"
done
says "$work/d/r.html" "Under the policy pools"
says "$work/d/r.html" "<h1>policy.yaml under pools</h1>"
says "$work/d/r.html" "Response times of every application"
says_not "$work/d/r.html" "% of the requests took no longer"
"$COTENANT" sim "$SOURCE_DIR/scenarios/slo.yaml" --report "$work/d/many.html" >"$work/out" || fail "slo.yaml"
says "$work/d/many.html" "% of the requests took no longer"

# With parts: who had which SMs, in all four forms at once. Without, nothing of it.
grep -q "Parts of the GPU" "$work/d/r.html" && fail "parts without a policy that places"
sed 's/at_us: 1000000/at_us: 20000/' "$SOURCE_DIR/scenarios/parts.yaml" >"$work/parts.yaml"
expect 0 sim "$work/parts.yaml"
says "$work/out" "product        64sm   64     0        1       64.1"
expect 0 sim "$work/parts.yaml" --json - --allocation --report "$work/d/r.html" --timeline "$work/d/t.json"
for text in '"asked_for": "64sm"' '"sms": 64' '"gpu_sms": 132' '"changes": 1' '"allocation"' '"counted"'; do
	says "$work/out" "$text"
done
says "$work/d/r.html" "Parts of the GPU"
says "$work/d/r.html" "Who holds the SMs"
says "$work/d/t.json" '"name":"product: part"'
says "$work/d/t.json" '"name":"SMs 0 to 63","cat":"part","ts":20,"dur":19980,"args":{"first":0,"sms":64}'
grep -q '"requests: part"' "$work/d/t.json" && fail "a track for what is never placed"

# Of a rate that was promised, what it had.
"$COTENANT" sim --set stop.at_us=2000000 "$SOURCE_DIR/scenarios/smqos-parts.yaml" >"$work/out" || fail "sim of a rate"
grep -qE '^[^ ]+ .* rate 50 % +has [0-9.]+ %$' "$work/out" || fail "no rate: $(cat "$work/out")"

# With a target: how many missed it; only then, and only of the app that has it.
sed -e 's/^    class: latency/&\n    p99: 1us/' "$work/policy.yaml" >"$work/target.yaml"
expect 0 sim "$work/target.yaml"
says "$work/out" "1.00 us  100.00 %"
expect 0 sim "$work/target.yaml" --json -
says "$work/out" '"target_p99_us": 1,'
[ "$(grep -c '"missed": ' "$work/out")" = 1 ] || fail "who missed a target?"
expect 0 sim "$work/policy.yaml" --json -
if grep -q missed "$work/out"; then
	fail "a target out of nothing"
fi

# A timeline whose name ends with .gz is compressed: the same in it, and the same bytes every time.
expect 0 sim "$work/s.yaml" --timeline "$work/d/t.json"
expect 0 sim "$work/s.yaml" --timeline "$work/d/t.json.gz"
gzip -dc "$work/d/t.json.gz" | cmp -s - "$work/d/t.json" || fail "the compressed timeline is another one"
[ $(($(wc -c <"$work/d/t.json.gz") * 5)) -lt "$(wc -c <"$work/d/t.json")" ] || fail "it is not small"
expect 0 sim "$work/s.yaml" --timeline "$work/d/again.gz"
cmp -s "$work/d/t.json.gz" "$work/d/again.gz" || fail "a time or a name is in the compressed timeline"
ln -s /dev/full "$work/d/full.gz"
expect 1 sim "$work/s.yaml" --timeline "$work/d/full.gz"
says "$work/err" "cannot write $work/d/full.gz"

# Goals are in the page, too; a chart of nothing is not.
sed 's/at_us: 5000/at_us: 500/' "$SOURCE_DIR/scenarios/goals.yaml" >"$work/goals.yaml"
expect 0 sim "$work/goals.yaml" --report "$work/d/r.html"
says "$work/d/r.html" '<th class="num">of goal</th>'
grep -q "Slowdown of every" "$work/d/r.html" && fail "a chart of slowdowns that nobody has"

# Permissions are the user's, or those of the file that is replaced.
umask 027
rm "$work/d/"*
expect 0 sim "$work/s.yaml" --json "$work/d/new.json"
[ "$(stat -c %a "$work/d/new.json")" = 640 ] || fail "mode $(stat -c %a "$work/d/new.json")"
chmod 604 "$work/d/new.json"
ln -s new.json "$work/d/link.json"
echo old >"$work/d/new.json"
expect 0 sim "$work/s.yaml" --json "$work/d/link.json"
[ -L "$work/d/link.json" ] || fail "the link was replaced"
says "$work/d/new.json" cotenant.sim/1
[ "$(stat -c %a "$work/d/new.json")" = 604 ] || fail "the mode of the old file is gone"
expect 0 sim "$work/s.yaml" --json=/dev/null
[ -c /dev/null ] || fail "/dev/null was replaced"

# What cannot be written: a complaint, status 1, and nothing half-written in the other places.
rm "$work/d/"*
expect 1 sim "$work/s.yaml" --json "$work/d/a.json" --timeline "$work/d/no/t.json"
says "$work/err" "cannot write $work/d/no/t.json: No such file or directory"
[ -z "$(names_in "$work/d")" ] || fail "left: $(names_in "$work/d")"
expect 1 sim "$work/s.yaml" --json="$work/d"
says "$work/err" "Is a directory"
if [ -c /dev/full ]; then
	expect 1 sim "$work/s.yaml" --json=/dev/full --report "$work/d/r.html" \
		--timeline "$work/d/t.json"
	says "$work/err" "cannot write /dev/full: No space left on device"
	"$COTENANT" sim "$work/s.yaml" >/dev/full 2>"$work/err"
	[ $? -eq 1 ] || fail "a full standard output goes unnoticed"
fi
[ -z "$(names_in "$work/d")" ] || fail "left: $(names_in "$work/d")"

# Keys that get other values than the file's: the same as a file with these; a wrong one is a mistake of the user's.
sed 's/^stop: .*/stop: {at_us: 300000}/' "$SOURCE_DIR/scenarios/pools.yaml" >"$work/pools.yaml"
sed 's/^    class: latency/&\n    p99: 1ms/; s/cpu_us: 2700/cpu_us: 900/' "$work/pools.yaml" >"$work/set.yaml"
expect 0 sim "$work/set.yaml"
cp "$work/out" "$work/by-hand"
expect 0 sim "$work/pools.yaml" --set apps.0.p99=1ms --set apps.requests.program.0.cpu_us=900
cmp -s "$work/out" "$work/by-hand" || fail "--set is not as the file: $(cat "$work/out")"
expect 0 sim "$work/pools.yaml" --set apps.0.p99=1ms --json
says "$work/out" '"kept": true'
expect 0 compare "$work/pools.yaml" --policy pools,timeslice --set apps.0.p99=1ms
grep -q '^timeslice  *timeslice .* missed$' "$work/out" || fail "compare --set: $(cat "$work/out")"
for wrong in apps.0.p99 =1 apps.0.p99= apps.0.p99=soon apps.9.p99=1ms apps.0.pp9=1ms; do
	expect 2 sim "$work/pools.yaml" --set "$wrong"
	expect 2 compare "$work/pools.yaml" --set "$wrong"
done
says "$work/err" "did you mean 'p99'"

# What a policy made of pools and programs is in the timeline: slices, and who was frozen.
expect 0 sim "$work/pools.yaml" --timeline "$work/timeline.json"
for words in '"name":"latency pool"' '"name":"slice 10000 us","cat":"policy"' '"name":"slice 20 us","cat":"policy"'; do
	says "$work/timeline.json" "$words"
done
expect 0 sim "$work/pools.yaml" --policy rotate --timeline "$work/timeline.json"
says "$work/timeline.json" '"name":"frozen","cat":"policy"'
expect 0 sim "$work/pools.yaml" --policy timeslice --timeline "$work/timeline.json"
grep -q '"cat":"policy"' "$work/timeline.json" && fail "a policy that orders nothing has a track"

# Nobody completes a run: null, not a number that nobody can know.
sed 's/^stop:.*/stop: {at_us: 1}/' "$work/s.yaml" >"$work/short.yaml"
expect 0 sim "$work/short.yaml" --json -
for key in antt stp fairness turnaround_us ntt; do
	says "$work/out" "\"$key\": null"
done
says "$work/out" '"end_us": 1.0'
expect 0 sim "$work/short.yaml"
finish
