#!/bin/sh
# A recording of 12 lines becomes a page, a timeline and rows; what is wrong is said in one sentence.
. "$SOURCE_DIR/tests/cli/lib.sh"

cp "$SOURCE_DIR/tests/fuzz/corpus/record/live" "$work/run.cot"
cd "$work" || exit 1
expect 0 report run.cot
says out "policy pools, 2 programs"
says out "run.html: the page"
says out "run.json.gz: the timeline"
grep -qE '^serve +latency .* 643 ' out || fail "no row of the service: $(cat out)"
empty err

says run.html "Requests: p99 of each second"
says run.html "Decisions and changes"
says run.html "pool:latency:0"
grep -q "$(sha256sum <run.cot | cut -d ' ' -f 1)" run.html || fail "the page has no hash of the recording"

gzip -dc run.json.gz >timeline.json
python3 - <<'PY' || fail "the timeline: $(head -c 1000 timeline.json)"
import json
events = json.load(open("timeline.json"))["traceEvents"]
marks = [e for e in events if e["ph"] == "i"]
assert [m["name"] for m in marks if m["name"].startswith("train")] == ["train: began batch"], marks
assert any(m["args"] == {"from": "pools", "to": "timeslice", "why": "chosen with 'cotenant policy'"} for m in marks)
p99 = [e for e in events if e["ph"] == "C" and e["name"] == "serve: p99 of responses, ms"]
assert [e["args"]["value"] for e in p99] == [5.30842, 7.79878, 8.06093], p99
states = [e for e in events if e["ph"] == "X"]
assert {e["name"] for e in states} == {"running"} and all(e["dur"] > 0 for e in states)
PY

# Packed, elsewhere, as JSON.
gzip -k run.cot
expect 0 report run.cot.gz -o other.html --timeline=other.json --json
grep -qF ">cotenant report run.cot.gz<" other.html || fail "the command, without its outputs: $(grep -o 'cotenant report[^<]*' other.html)"
python3 - <<'PY' || fail "the rows: $(cat out)"
import json
report = json.load(open("out"))
assert report["schema"] == "cotenant.report/1" and report["samples"] == 4 and report["changes"] == 7, report
serve, train = report["programs"]
assert serve["name"] == "serve" and serve["requests"] == 643 and serve["exact"] is True
assert serve["response"]["p99_ms"] == 7.79878 and serve["service"]["p50_ms"] == 2.19546
assert train["response"] is None and train["launches_per_second"] is None
json.load(open("other.json"))
PY
[ -s other.html ] || fail "no page under the given name"

expect 2 report
says err "no recording given"
expect 2 report none.cot
says err "cannot read none.cot"
printf '{"schema":"cotenant.scenario/1"}\n' >bad.cot
expect 2 report bad.cot
says err "bad.cot:1:"
[ ! -e bad.html ] || fail "a page of a wrong recording"
expect 2 report run.cot -o run.cot
says err "the recording itself"
expect 2 report run.cot -o a.html --timeline=a.html
says err "two outputs are the same file"
head -c 300 run.cot.gz >cut.cot.gz
expect 2 report cut.cot.gz
says err "cut.cot.gz: the file is damaged"
finish
