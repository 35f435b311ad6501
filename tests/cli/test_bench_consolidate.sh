#!/bin/sh
# bench/consolidate: sets run apart, in streams and merged with the same results, on the emulated GPU; run.py measures,
# asks the model, goes on where it stopped, and says what it cannot do.
# shellcheck disable=SC1091,SC2154 # of lib.sh
. "$SOURCE_DIR/tests/cli/lib.sh"
bin=$(dirname "$COTENANT")
bench=$bin/bench_consolidate
run=$SOURCE_DIR/bench/consolidate/run.py
[ -x "$bench" ] || exit 77

# refused SENTENCE ARGUMENT...
refused() {
	sentence=$1
	shift
	"$bench" "$@" >"$work/out" 2>"$work/err" && fail "$* was taken"
	says "$work/err" "$sentence"
}
refused "there is no benchmark 'nm'; kernels-run --list has them" nm
refused "'*17' behind nn is not expected; expected /BLOCKS, *INSTANCES (to 16) or +" 'nn*17'
refused "'nn*9+bfs*9' has more than 16 instances" 'nn*9+bfs*9'
refused "'nn+nn+nn+nn+nn' has more than 4 benchmarks" nn+nn+nn+nn+nn
refused "--seconds is '0'; expected a number from 0.01 to 60" --seconds 0 nn
refused "--repeats is '0'; expected a number from 1 to 15" --repeats 0 nn
refused "there is no size 'big'; expected test, small, large or gpu" --size big nn
refused "there is no set" --size test

"$run" --list >"$work/out" || fail "--list failed"
[ "$(wc -l <"$work/out")" -eq 330 ] || fail "not 330 sets"
says "$work/out" "copies: md5hash/33*9"
says "$work/out" "patent copies: MonteCarlo/45*9"
says "$work/out" "patent mixed: MonteCarlo/45+aes/3+BlackScholes/45+search/15"

COTENANT_EMU_DIR=$work/gpu
export COTENANT_EMU_DIR
mkdir "$COTENANT_EMU_DIR"
sets='nn/33*3,nn/20000+vectorAdd/20000,bfs/500+md5hash/66,matrixMul/66+md5hash/33*2,nn/33*3+md5hash/33*2,MonteCarlo/45*2,BlackScholes/45+search/15'
# Three and four kernels; of several launches, which do not all end with the same step.
sets=$sets,MonteCarlo/45+aes/3+BlackScholes/45+search/15,bfs/500+particlefilter/200+md5hash/66
run_it() {
	"$run" --emulate --bin "$bin" --seconds 0.02 --budget 500 --only "$1" --out "$work/o" >"$work/out" 2>"$work/err" ||
		fail "run.py: $(cat "$work/err")"
}
run_it 'nn/33*3'
run_it "$sets"
grep -qxF -e 'nn/33*3' -e 'vectorAdd/1*4' "$work/err" && fail "what was there was measured again"
says "$work/out" "of 9 decisions are right"
python3 - "$work/o" <<'PYTHON' || fail "$(cat "$work/o/result.json")"
import json
import sys
result = json.load(open(sys.argv[1] + "/result.json"))
sets = {row["set"]: row for row in result["sets"]}
assert len(sets) == 9
for row in sets.values():
    assert row["right_results"], row
    assert row["apart"]["s"] > 0 and row["streams"]["s"] > 0 and row["cpu_s"] > 0
    assert row["model"]["apart_s"] > 0 and row["model"]["streams_s"] > 0 and row["chosen"] in ("apart", "streams", "merged")
    assert row["right"] == (row["saves"] == row["model_consolidates"])
assert sets["nn/33*3"]["merged"]["by"] == "batch" and sets["nn/33*3"]["category"] == "copies"
assert sets["bfs/500+md5hash/66"]["merged"]["by"] == "fuse"
assert sets["matrixMul/66+md5hash/33*2"]["merged"]["s"] is None
assert result["summary"]["errors"]["pairs"]["merged"]["n"] == 2
assert sets["MonteCarlo/45*2"]["merged"]["by"] == "batch" and sets["MonteCarlo/45*2"]["category"] == "patent copies"
assert sets["BlackScholes/45+search/15"]["merged"]["by"] == "fuse"
for name in ("MonteCarlo/45+aes/3+BlackScholes/45+search/15", "bfs/500+particlefilter/200+md5hash/66"):
    assert sets[name]["merged"]["by"] == "fuse" and sets[name]["way"] == "merged", sets[name]
    assert sets[name]["model"]["merged_s"] > 0, sets[name]
# Each kernel alone, and what launches cost.
lines = {o["name"]: o for o in map(json.loads, open(sys.argv[1] + "/sets.jsonl")) if "name" in o}
for name in ("vectorAdd/1*8", "nn/33*1", "bfs/500*1", "matrixMul/66*1"):
    assert lines[name]["apart"]["s"] > lines[name]["apart"]["issued_s"] > 0, name
    assert ("merged" in lines[name]) == (name == "vectorAdd/1*8")
    assert lines[name]["repeats"] == 3 and lines[name]["apart"]["rounds"] >= 9, name
# A round's joules: all time that is not the round's is taken at the reset's power.
for line in lines.values():
    for way in [line[w] for w in ("apart", "streams", "merged") if "s" in line.get(w, {})]:
        all_j = way["whole_s"] * way.get("w", 0)
        reset_j = (way["whole_s"] - way["s"]) * line["reset"].get("w", 0) if "reset" in line else 0
        assert way["whole_s"] >= way["s"]
        assert "j" not in way or abs(way["j"] - (all_j - reset_j)) < 1e-4 * all_j, line
# What the model says hangs on times of this machine; the table says the same.
table = open(sys.argv[1] + "/table.md").read().splitlines()
for name, row in sets.items():
    line = next(text for text in table if text.startswith(f"| {name} |"))
    assert f"| {'together' if row['model_consolidates'] else 'apart'} |" in line, line
PYTHON

# Of times that were measured on an H200 the model says the same everywhere.
mkdir "$work/h200"
cp "$SOURCE_DIR"/results/h200/2026-11-28/consolidate/*.json* "$work/h200"
"$run" --bin "$bin" --budget 0 --out "$work/h200" >"$work/out" 2>"$work/err" || fail "run.py: $(cat "$work/err")"
for row in 'md5hash/66\*4 .* together' 'aes/3\*9 .* together' 'nn/33\*2+vectorAdd/2000\*2 .* apart' \
	'nn/2000\*5 .* no | apart' 'md5hash/66+nn/2000 .* yes | together'; do
	grep -q "^| $row |" "$work/h200/table.md" || fail "not $row: $(cat "$work/h200/table.md")"
done

# Four kernels of which there is no merged time are judged by streams, as before there was one; else by that.
four='myocyte/24+md5hash/33+lavaMD/64+vectorAdd/2000'
judged() {
	mkdir "$work/$1"
	cp "$work/h200/counts.json" "$work/$1"
	python3 - "$work/h200/sets.jsonl" "$four" "$2" >"$work/$1/sets.jsonl" <<'PYTHON' || fail "sets.jsonl"
import json
import sys
for line in map(json.loads, open(sys.argv[1])):
    if line.get("name") == sys.argv[2] and sys.argv[3]:
        line["merged"] = json.loads(sys.argv[3])
    print(json.dumps(line))
PYTHON
	"$run" --bin "$bin" --budget 0 --only "$four" --out "$work/$1" >"$work/out" 2>"$work/err" ||
		fail "run.py: $(cat "$work/err")"
	python3 -c 'import json, sys; row, = json.load(open(sys.argv[1]))["sets"]; print(row["way"], row["saves"], row["best"])' \
		"$work/$1/result.json" >"$work/out"
	says "$work/out" "$3"
}
judged none '' 'streams True streams'
judged refused '{"refused": "it does not fit"}' 'streams True streams'
judged slower '{"s": 1, "j": 100, "by": "fuse", "same": true}' 'merged False streams'
judged faster '{"s": 0.01, "j": 1.5, "by": "fuse", "same": true}' 'merged True merged'

# Where a window is no measurement of the power, a set is judged by time alone, and a prediction does not need the joules.
mkdir "$work/less"
cp "$work/h200/counts.json" "$work/less"
python3 - "$work/h200/sets.jsonl" >"$work/less/sets.jsonl" <<'PYTHON' || fail "sets.jsonl"
import json
import sys
LOST = {"nn/33*1": "apart", "nn/33*3": "streams", "vectorAdd/2000*3": "merged"}
for line in map(json.loads, open(sys.argv[1])):
    for what in ("j", "w"):
        line.get(LOST.get(line.get("name")), {}).pop(what, None)
    print(json.dumps(line))
PYTHON
"$run" --bin "$bin" --budget 0 --only 'nn/33*2,nn/33*3,md5hash/33*2' --out "$work/less" >"$work/out" 2>"$work/err" ||
	fail "run.py: $(cat "$work/err")"
says "$work/out" "of 3 decisions are right"
says "$work/less/table.md" "of 3 (2 of them by time and energy, the others by time alone)"
says "$work/less/table.md" " ms, - J |"
finish
