#!/bin/sh
# bench/consolidate/probe: every question is answered by one line, on the emulated GPU and without any, what is asked of
# events and launches is answered with yes, and nothing is left behind.
# shellcheck disable=SC1091,SC2154 # of lib.sh
. "$SOURCE_DIR/tests/cli/lib.sh"
probe=$SOURCE_DIR/bench/consolidate/probe/probe-backend.sh
emu=$(dirname "$COTENANT")/../lib/emu
[ -x "$emu/nvidia-cuda-mps-control" ] || exit 77
command -v cc >/dev/null || exit 77

mkdir "$work/tmp" "$work/gpu"
export TMPDIR="$work/tmp"
COTENANT_EMU_DIR=$work/gpu LD_LIBRARY_PATH=$emu COTENANT_MPS_CONTROL=$emu/nvidia-cuda-mps-control \
	"$probe" --budget 300 -o "$work/json" 2>"$work/err" || fail "status $?: $(cat "$work/err")"
python3 - "$work/json" <<'PYTHON' || fail "$(cat "$work/json")"
import json
import sys
lines = [json.loads(line) for line in open(sys.argv[1])]
by = {(a["question"], a["way"]): a for a in lines}
questions = ["equal-addresses", "ipc-memory", "events", "launches", "killed", "fault"]
assert sorted(by) == sorted((q, way) for q in questions for way in ("alone", "mps"))
for way in ("alone", "mps"):
    assert by["events", way]["works"] and by["events", way]["a"]["wrong_order"] == 0
    launches = by["launches", way]
    assert launches["works"], launches
    for how in ("local", "events", "asleep", "values"):
        assert launches["a"][how]["words_wrong"] == 0
    assert by["fault", way]["b"]["its_own_error"] == "CUDA_ERROR_ILLEGAL_ADDRESS"
    # An error of one client is an error of all of its server.
    assert by["fault", way]["works"] == (way == "alone")
    assert by["fault", way]["a_new_process"]["works"]
    assert by["equal-addresses", way]["works"]
PYTHON
[ -z "$(names_in "$work/tmp")" ] || fail "left behind: $(names_in "$work/tmp")"

"$probe" --budget x </dev/null >"$work/out" 2>"$work/err" && fail "--budget x was taken"
says "$work/err" "--budget is 'x'; expected seconds"
"$probe" --help >"$work/out" || fail "--help failed"
says "$work/out" "line of JSON for each question"
finish
