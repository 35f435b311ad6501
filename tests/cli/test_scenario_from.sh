#!/bin/sh
# A recording becomes a scenario, and what is played is what was recorded where nothing is in the way.
. "$SOURCE_DIR/tests/cli/lib.sh"

cd "$work" || exit 1
# recording SAMPLES: a service of 2 ms, 50 times a second, alone for 3 s; then with a batch program of 500 launches a second.
recording() {
	awk -v samples="$1" 'BEGIN {
		print "{\"schema\":\"cotenant.record/1\",\"gpu\":\"NVIDIA H200\",\"interval_ms\":1000}"
		times = "{\"n\":50,\"p50_ms\":2,\"p95_ms\":2.1,\"p99_ms\":2.3}"
		for (i = 0; i < samples; i++) {
			printf "{\"at_ms\":%d,\"policy\":\"pools\",\"programs\":[{\"id\":1,\"name\":\"api\",\"class\":\"latency\",", i * 1000
			printf "\"target_kind\":\"p99\",\"target\":\"5ms\",\"requests\":%d,", i * 50
			printf "\"response_1s\":%s,\"service_1s\":%s}", times, times
			if (i >= 4)
				printf ",{\"id\":2,\"name\":\"api\",\"class\":\"batch\",\"launches_per_s\":500}"
			print "]}"
		}
		printf "{\"at_ms\":%d,\"end\":\"time\"}\n", samples * 1000
	}'
}
recording 10 >run.cot
expect 0 scenario-from run.cot -o played.yaml --json=played.json
says played.yaml 'policy: "pools"'
says played.yaml 'p99: "5ms"'
says played.yaml "arrivals: {per_s: 50, gaps: random, size_cv: 0.0601}"
says played.yaml "kernel_us: 2003.613"
says played.yaml 'name: "api#2"'
says played.yaml "start_us: 4000000"
expect 0 sim played.yaml
python3 - <<'PY' || fail "side by side: $(cat played.json)"
import json
p = json.load(open("played.json"))
assert p["schema"] == "cotenant.played/1" and p["gpu"] == "h200", p
api, batch = p["programs"]
assert api["recorded"] == {"p50_ms": 2, "p99_ms": 2.3, "per_second": 50}, api
assert 2 <= api["played"]["p50_ms"] < 3 and api["played"]["p50_ms"] <= api["played"]["p99_ms"] < 10, api
assert 40 < api["played"]["per_second"] < 60, api
assert batch["recorded"]["per_second"] == 500 and 350 < batch["played"]["per_second"] <= 500, batch
PY
expect 0 scenario-from run.cot
says out "p99 recorded"
[ -s scenario.yaml ] || fail "no scenario under its default name"

# Services that vary are played as varying: p50 and p99 are the recorded ones.
awk 'BEGIN {
	print "{\"schema\":\"cotenant.record/1\",\"gpu\":\"NVIDIA H200\",\"interval_ms\":1000}"
	for (i = 0; i < 10; i++) {
		printf "{\"at_ms\":%d,\"policy\":\"pools\",\"programs\":[{\"id\":1,\"name\":\"api\",", i * 1000
		printf "\"class\":\"latency\",\"requests\":%d,", i * 300
		printf "\"service_1s\":{\"n\":300,\"p50_ms\":2.195,\"p95_ms\":3.9,\"p99_ms\":4.784}}]}\n"
	}
	print "{\"at_ms\":10000,\"end\":\"time\"}"
}' >varied.cot
expect 0 scenario-from varied.cot -o varied.yaml --json=varied.json
python3 - <<'PY' || fail "services that vary: $(cat varied.json)"
import json
api = json.load(open("varied.json"))["programs"][0]
assert api["recorded"]["p99_ms"] == 4.784, api
assert 0.9 < api["played"]["p50_ms"] / 2.195 < 1.1, api
assert 0.85 < api["played"]["p99_ms"] / 4.784 < 1.15, api
PY

# A scenario has one GPU: of two that were recorded one is chosen, and programs of the other stay away.
sed -e 's/"name":"api","class":"latency"/&,"gpus":"0"/' -e 's/"name":"api","class":"batch"/&,"gpus":"1"/' run.cot >two.cot
expect 2 scenario-from two.cot -o two.yaml
says err "two.cot: the programs were on GPUs 0, 1; a scenario has one: expected --from-gpu and its number"
[ ! -e two.yaml ] || fail "a scenario of two GPUs"
expect 0 scenario-from two.cot --from-gpu=0 -o two.yaml --json=two.json
grep -q 'class: "latency"' two.yaml || fail "no service: $(cat two.yaml)"
grep -qF 'class: "batch"' two.yaml && fail "a program of the other GPU: $(cat two.yaml)"
[ "$(grep -c '"name"' two.json)" = 1 ] || fail "not one program: $(cat two.json)"
expect 0 scenario-from two.cot --from-gpu=1 -o two.yaml
grep -qF 'class: "latency"' two.yaml && fail "a program of the other GPU: $(cat two.yaml)"
grep -q 'class: "batch"' two.yaml || fail "no batch program: $(cat two.yaml)"
sed 's/"gpus":"1"/"gpus":"0,1"/' two.cot >both.cot
expect 0 scenario-from both.cot --from-gpu=1 -o two.yaml
says two.yaml "# on several GPUs"
expect 2 scenario-from two.cot --from-gpu=2
says err "0 programs can be played"
expect 2 scenario-from two.cot --from-gpu=x
says err "--from-gpu is 'x'; expected a number below 32"

# A busy closed loop is compared by its services; a latency program without requests is left out.
expect 0 scenario-from "$SOURCE_DIR/tests/fuzz/corpus/record/live" -o closed.yaml --json=closed.json
python3 - <<'PY' || fail "a service that never was alone: $(cat closed.json)"
import json
serve = json.load(open("closed.json"))["programs"][0]
for key in ("p50_ms", "p99_ms"):
    assert 0.85 < serve["played"][key] / serve["recorded"][key] < 1.15, serve
PY
says closed.yaml "gaps: after"
says closed.yaml "# launches not counted"
printf '{"schema":"cotenant.record/1","interval_ms":1}\n{"at_ms":1,"programs":[{"id":1,"name":"a","class":"latency"}]}\n' >none.cot
expect 2 scenario-from none.cot
says err "0 programs can be played"
expect 2 scenario-from
says err "no recording given"
expect 2 scenario-from not-there.cot
says "$work/err" "cannot read not-there.cot"
expect 2 scenario-from run.cot --gpu=abacus
says err "there is no GPU 'abacus'"
expect 2 scenario-from run.cot -o run.cot
says err "the recording itself"
finish
