#!/bin/sh
# cotenant profile: a service and a batch program on parts of the emulated GPU, of which a file says what was measured.
# Whatever goes wrong, nothing is written and nothing is left.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
LD_LIBRARY_PATH=$EMU
export LD_LIBRARY_PATH
start_daemon

# Two inputs on three parts: the size is in the program's arguments.
"$COTENANT" profile --sizes 8,512 --parts 8,64,132 --requests 5 -o "$work/service" -- \
	"$PROGS/service" --seconds 600 --block-us 2000 --blocks '{}' >"$work/out" 2>&1 || fail "profile: $(cat "$work/out")"
says "$work/out" "Written to $work/service"
says "$work/out" "PREDICTED BY"
says "$work/service" "schema: cotenant.knowledge/1"
says "$work/service" "class: latency"
says "$work/service" "sms: [12, 68, 132]"
says "$work/service" "  - size: 8"
says "$work/service" "  - size: 512"
says "$work/service" "launches: 2"
# Of each input the kernel twice: it has another grid, so it is another one where its times are others.
[ "$(grep -c '^    tasks: \[\([0-9]*\), \1\]$' "$work/service")" = 2 ] || fail "tasks: $(cat "$work/service")"
says "$work/service" '  - name: "spin"'
says "$work/out" "KERNEL"

# row N: the times of the N-th input, and behind them of the kernels.
row() {
	grep 'time_ns' "$work/service" | sed -n "$1p" | tr -d '[],' | sed 's/.*: //'
}

# 512 blocks of 2 ms, twice: on 12 SMs, which hold 96 of them, no machine is faster than that.
row 2 | awk '{ exit !(NF == 3 && $1 > 20000000 && $1 > $3) }' || fail "times: $(row 2)"
# Half of that is one of the two: the last kernel, which is the second input's, unless both are one.
grep 'time_ns' "$work/service" | tail -1 | tr -d '[],' | awk '{ exit !(NF == 4 && $2 > 10000000 && $2 > $4) }' ||
	fail "kernels: $(cat "$work/service")"

"$COTENANT" profile --judge "$work/service" --json >"$work/out" || fail "judge --json: $?"
python3 - "$work/out" <<'END' || fail "judge --json: $(cat "$work/out")"
import json
import sys
known = json.load(open(sys.argv[1]))
assert known["schema"] == "cotenant.profile/1" and known["class"] == "latency"
assert len(known["times"]) == 6 and len(known["predictors"]) == 3
assert known["times"][0]["sms"] == 12 and known["times"][0]["input"] == 8
assert known["times"][1]["time_ms"] > 20
assert known["predictors"][0]["error"]["mean"] >= 0
assert known["kernels"][-1]["name"] == "spin" and known["kernels"][-1]["times"][0]["sms"] == 12
assert known["kernels"][-1]["times"][0]["time_ms"] > 10
END
"$COTENANT" profile --judge "$work/service" --json="$work/service.json" >"$work/again" || fail "judge --json=FILE: $?"
cmp -s "$work/out" "$work/service.json" || fail "judge --json=FILE: $(cat "$work/service.json")"
[ ! -s "$work/again" ] || fail "judge --json=FILE prints: $(cat "$work/again")"

# One that marks its requests, and one whose requests differ.
"$COTENANT" profile --parts 132 --requests 5 -o "$work/marks" -- "$PROGS/serve" --count 1000000 --tasks 3 >"$work/out" 2>&1 ||
	fail "profile: $(cat "$work/out")"
says "$work/marks" "    tasks: [0, 0, 0]"
"$COTENANT" profile --parts 132 --requests 5 -o "$work/marks" -- "$PROGS/serve" --count 1000000 --sizes 5 >"$work/out" 2>&1 ||
	fail "profile: $(cat "$work/out")"
says "$work/out" "Nor are single kernels: no half of its requests run the same"
grep -q 'tasks:' "$work/marks" && fail "requests that differ: $(cat "$work/marks")"

# A batch program, and all parts that there are are far too many for a test.
"$COTENANT" profile --class batch --parts 16,132 --kernel-seconds 1 -o - -- "$PROGS/parts" --seconds 600 >"$work/out" 2>"$work/err" ||
	fail "profile: $(cat "$work/err")"
says "$work/out" "class: batch"
says "$work/out" "sms: [16, 132]"
grep -q '  time_ns: \[[0-9]*, [0-9]*\]' "$work/out" || fail "batch: $(cat "$work/out")"
grep -q '  kernel_ns: \[[1-9][0-9]*, [1-9][0-9]*\]' "$work/out" || fail "batch: $(cat "$work/out")"

# What the GPU's memory moved is in the file where NVML says it: a quarter of 4917 GB/s; of a request more, as it ran
# for a part of the time only. Where not, why.
COTENANT_NVML=$PROGS/nvml/libnvidia-ml.so.1 "$COTENANT" profile --class batch --parts 132 -o "$work/moves" -- "$PROGS/parts" \
	--seconds 600 >"$work/out" 2>&1 || fail "profile: $(cat "$work/out")"
says "$work/moves" "  bytes_per_s: [1229184000000]"
says "$work/out" "1229.2 GB/s"
COTENANT_NVML=$PROGS/nvml/libnvidia-ml.so.1 "$COTENANT" profile --parts 132 --requests 5 -o "$work/moves" -- \
	"$PROGS/service" --seconds 600 --block-us 2000 >"$work/out" 2>&1 || fail "profile: $(cat "$work/out")"
sed -n 's/^    bytes_per_s: \[\([0-9]*\)\]$/\1/p' "$work/moves" | awk '{ n++ } $1 < 1229184000000 { n = 9 } END { exit n != 1 }' ||
	fail "of a request: $(cat "$work/moves")"
COTENANT_NVML=/nowhere "$COTENANT" profile --parts 132 --requests 5 --kernel-seconds 0 -o "$work/moves" -- "$PROGS/service" --seconds 600 \
	--block-us 2000 >"$work/out" 2>&1 || fail "profile: $(cat "$work/out")"
says "$work/out" "Nor is bandwidth: there is no libnvidia-ml.so.1."
grep -q bytes_per_s "$work/moves" && fail "made up: $(cat "$work/moves")"
grep -q "kernels:" "$work/moves" && fail "timed though not asked: $(cat "$work/moves")"

# Who is told to end, or ends, or has no such part, leaves no file.
none_left() {
	[ "$(n_programs)" = 0 ] && [ -z "$(find "$work" -maxdepth 1 -name '*none*')" ]
}
"$COTENANT" profile -o "$work/none" -- "$PROGS/service" --seconds 0 >"$work/out" 2>&1
[ $? = 1 ] || fail "it ended by itself"
says "$work/out" "the program ended by itself (status 0)"
"$COTENANT" profile -o "$work/none" -- "$PROGS/service" --seconds 600 >"$work/out" 2>&1 &
pid=$!
started() {
	[ "$(n_programs)" = 1 ]
}
until_true 20 started || fail "it does not start"
kill "$pid"
wait "$pid"
[ $? = 130 ] || fail "interrupted: $(cat "$work/out")"
says "$work/out" "interrupted; nothing was written"
until_true 20 none_left || fail "left: $(ls "$work"; "$COTENANT" ps)"

# What cannot be.
"$COTENANT" profile --sizes 1,2 -- "$PROGS/service" >"$work/out" 2>&1
[ $? = 2 ] || fail "sizes for nothing"
says "$work/out" "no argument has '{}'"
stop_daemon
finish
