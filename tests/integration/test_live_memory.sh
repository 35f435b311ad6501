#!/bin/sh
# `cotenant run --memory`: the bound holds for each way to take memory, and for what comes after some was given back; what is
# promised is looked at before a program starts, and free again when one has ended or was killed. On an emulated K20c, which has
# 4742 MiB.
# shellcheck disable=SC1091,SC2154 # lib.sh sets work and pid
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
COTENANT_NVML=$EMU/libnvidia-ml.so.1
COTENANT_EMU_DEVICE=k20c
export COTENANT_EMU_DEVICE COTENANT_NVML
printf 'schema: cotenantd/1\npolicy: pools\nmps: {use: false}\nmemory: {gpu_mib: 4742}\n' >"$work/memory.conf"
start_daemon --config "$work/memory.conf"

bounded() {
	env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}
shows() {
	"$COTENANT" ps >"$work/out" && grep -qE -e "$1" "$work/out"
}
# memory NAME KEY
memory() {
	"$COTENANT" ps --json | python3 -c '
import json, sys
for t in json.load(sys.stdin)["tenants"]:
    if t["name"] == sys.argv[1]:
        print(json.dumps(t["memory"] and t["memory"][sys.argv[2]]))' "$1" "$2"
}
is_memory() {
	[ "$(memory "$1" "$2")" = "$3" ]
}

# All ways, alone and two together; the child of a fork() by itself.
bounded --memory 1000MiB -- "$PROGS/memory" --fork 1 >"$work/out" || fail "memory: $(cat "$work/out")"
[ "$(grep -cE '^(plain|pitched|managed|ordered|pool) 960 free 40$' "$work/out")" = 10 ] || fail "alone: $(cat "$work/out")"
[ "$(grep -cE '^[a-z]+\+[a-z]+ 960$' "$work/out")" = 10 ] || fail "together: $(cat "$work/out")"
[ "$(grep -cx 'free 1000' "$work/out")" = 2 ] || fail "given back: $(cat "$work/out")"

# Without a bound nothing of it is there.
bounded -- "$PROGS/memory" >"$work/out" || fail "free: $(cat "$work/out")"
grep -qx 'plain 4736 free 6' "$work/out" || fail "without a bound: $(cat "$work/out")"

# What it has, and what it was refused.
background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --memory 3GiB --name first -- "$PROGS/memory" --hold 640 >"$work/first"
first=$pid
until_true 20 grep -q '^holds 640' "$work/first" || fail "first: $(cat "$work/first")"
until_true 20 is_memory first used_bytes $((640 << 20)) || fail "in use: $(memory first used_bytes)"
is_memory first limit_bytes $((3072 << 20)) || fail "bound: $(memory first limit_bytes)"
is_memory first most_bytes $((3072 << 20)) || fail "most: $(memory first most_bytes)"
is_memory first refused 10 || fail "refused: $(memory first refused)"
is_memory first oversubscribed false || fail "oversubscribed: $(memory first oversubscribed)"
until_true 20 is_memory first on_gpu_bytes $((640 << 20)) || fail "on the GPU: $(memory first on_gpu_bytes)"
shows 'first +3072 MiB +640 MiB +640 MiB +10 +kept' || fail "ps: $(cat "$work/out")"
for columns in 80 120; do
	COLUMNS=$columns "$COTENANT" top --once </dev/null >"$work/out" || fail "top: $?"
	says "$work/out" MEMORY
	grep -qE 'first .*640M/3072M' "$work/out" || fail "top at $columns: $(cat "$work/out")"
done

# What a program without a bound has the driver says; also one that a script starts.
background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --name free -- sh -c '"$PROGS/memory" --hold 320; true' >"$work/free"
free=$pid
until_true 20 is_memory free on_gpu_bytes $((320 << 20)) || fail "free has: $("$COTENANT" ps --json)"
is_memory free limit_bytes null || fail "free has a bound"
is_memory free used_bytes null || fail "free has a shim"
shows 'free +- +- +320 MiB +- +none' || fail "ps: $(cat "$work/out")"
COLUMNS=120 "$COTENANT" top --once </dev/null >"$work/out" || fail "top: $?"
grep -qE 'free .*320M( |$)' "$work/out" || fail "top: $(cat "$work/out")"
"$COTENANT" stats --format prometheus >"$work/out" || fail "stats: $?"
grep -q '^cotenant_program_memory_on_gpu_bytes{program="free",.*} 335544320$' "$work/out" || fail "metrics: $(grep memory "$work/out")"
grep -q '^cotenant_program_memory_limit_bytes{program="first",.*} 3221225472$' "$work/out" || fail "metrics: $(grep memory "$work/out")"
pkill -KILL -P "$free"
kill -KILL "$free"

# No more is promised than there is, unless that is wanted.
bounded --memory 2GiB -- true 2>"$work/err" && fail "more than there is was promised"
grep -q '2048 MiB of memory cannot be promised: GPU 0 has 4742 MiB, and 3072 MiB are promised' "$work/err" ||
	fail "refusal: $(cat "$work/err")"
bounded --memory 1670MiB -- true 2>"$work/err" || fail "the rest was not promised: $(cat "$work/err")"
[ -s "$work/err" ] && fail "a promise that is kept: $(cat "$work/err")"
background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --memory 2GiB --memory-oversubscribe --name second -- sleep 1000 2>"$work/err"
second=$pid
until_true 20 shows 'second +2048 MiB .*more than there is' || fail "ps: $(cat "$work/out")"
grep -q 'more memory is promised to programs than the GPU has' "$work/err" || fail "note: $(cat "$work/err")"
kill -KILL "$second"

# Who is killed has nothing any longer; the next daemon knows of the others.
gone() {
	! shows second
}
until_true 20 gone || fail "second is still there"
stop_daemon
start_daemon --config "$work/memory.conf"
bounded --memory 2GiB -- true 2>"$work/err" && fail "the next daemon has forgotten a promise"
grep -q '3072 MiB are promised' "$work/err" || fail "next daemon: $(cat "$work/err")"
kill -KILL "$first"
may() {
	bounded --memory 4742MiB -- true 2>"$work/err"
}
until_true 20 may || fail "after all have ended: $(cat "$work/err")"

stop_daemon

# How much there is NVML says, too, from the first program on, whether one uses the GPU or not.
printf 'schema: cotenantd/1\npolicy: pools\nmps: {use: false}\n' >"$work/memory.conf"
start_daemon --config "$work/memory.conf"
background "$COTENANT" run --required --memory 3GiB --name idle -- sleep 1000
idle=$pid
until_true 20 is_memory idle promise_checked true || fail "NVML's: $("$COTENANT" ps --json)"
bounded --memory 2GiB -- true 2>"$work/err" && fail "more than NVML says was promised"
grep -q 'GPU 0 has 4742 MiB, and 3072 MiB are promised' "$work/err" || fail "refusal: $(cat "$work/err")"
kill -KILL "$idle"

for size in 0 40GB 1.5MiB lots 17000000; do
	bounded --memory "$size" -- true 2>"$work/err" && fail "--memory $size"
	grep -q "the memory is '$size'; expected a whole number of MiB" "$work/err" || fail "$(cat "$work/err")"
done
finish
