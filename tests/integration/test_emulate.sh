#!/bin/sh
# cotenant run --emulate: programs with PTX kernels on the emulated GPU, alone and together, with
# the daemon; kernels are really stopped by a freeze, and faults are told.
# shellcheck disable=SC2317 # functions that until_true calls
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
unset COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_SOCKET COTENANT_RUNTIME_DIR COTENANT_GPUS

# ---- alone, on a machine of its own that goes away with the program ----

# shellcheck disable=SC2016 # for the shell inside
"$COTENANT" run --emulate h200 -- sh -c 'echo "$COTENANT_EMU_DIR" >"$1"; exec "$2"' sh "$work/machine" \
	"$PROGS/ptx_work" >"$work/out" 2>&1 || fail "ptx_work"
says "$work/out" "work runs 5 wrong 0"
sum=$(value checksum "$work/out")
[ "$(wc -l <"$work/out")" -eq 1 ] || fail "more than its own line: $(cat "$work/out")"
# gone FOLDER
gone() {
	[ ! -e "$1" ]
}
machine=$(cat "$work/machine")
[ -n "$machine" ] || fail "no machine of its own"
until_true 20 gone "$machine" || fail "a machine was left behind: $machine"
"$COTENANT" run --emulate h200 -- sh -c 'exit 7'
[ $? -eq 7 ] || fail "the exit status is the program's"

# A seed decides the order, not the result. An older GPU runs the same text.
for i in 1 2; do
	"$COTENANT" run --emulate h200 --emulate-seed 11 -- "$PROGS/ptx_work" --words 300 --runs 1 \
		>"$work/seed$i" 2>&1 || fail "with a seed: $(cat "$work/seed$i")"
	says "$work/seed$i" "wrong 0"
done
"$COTENANT" run --emulate k20c -- "$PROGS/ptx_work" >"$work/out" 2>&1 || fail "k20c"
[ "$(value checksum "$work/out")" = "$sum" ] || fail "k20c computes something else"

# With a daemon and a pool of the machine's own: they end with the program, too.
servers() {
	for process in /proc/[0-9]*; do
		case $(readlink "$process/exe") in
		*/cotenantd | */nvidia-cuda-mps-*)
			tr '\0' '\n' 2>/dev/null <"$process/environ" | grep -qx "$1" && echo "$process"
			;;
		esac
	done
}
no_servers() {
	[ -z "$(servers "$1")" ]
}
# shellcheck disable=SC2016 # for the shell inside
"$COTENANT" run --emulate h200 --class latency -- sh -c \
	'echo "COTENANT_EMU_DIR=$COTENANT_EMU_DIR"; "$0" --runs 1; echo "pool $CUDA_MPS_PIPE_DIRECTORY"; exec sleep 60' \
	"$PROGS/ptx_work" >"$work/out" 2>&1 &
own=$!
until_true 30 grep -q "^pool /" "$work/out" || fail "no pool of its own: $(cat "$work/out")"
variable=$(grep -m 1 ^COTENANT_EMU_DIR= "$work/out")
[ "$(servers "$variable" | wc -l)" -ge 3 ] || fail "no daemon, control and server: $(servers "$variable")"
kill "$own"
wait "$own" 2>/dev/null
until_true 10 no_servers "$variable" || fail "left behind: $(servers "$variable")"
until_true 20 gone "${variable#*=}" || fail "a machine was left behind: $variable"

# ---- mistakes ----

# A daemon for many and a machine for one do not go together.
for name in COTENANT_RUNTIME_DIR COTENANT_SOCKET; do
	env "$name=$work/shared" "$COTENANT" run --emulate h200 --class batch -- true >"$work/out" 2>&1
	[ $? -eq 125 ] || fail "$name without COTENANT_EMU_DIR"
	says "$work/out" "$name names a daemon that others share"
	env "$name=$work/shared" "$COTENANT" run --emulate h200 -- true || fail "$name without control"
done

for wrong in "v100 --" "h200 --emulate-seed x --" "h200 --emulate-check flaws --"; do
	# shellcheck disable=SC2086 # options
	"$COTENANT" run --emulate $wrong true >"$work/out" 2>&1
	[ $? -eq 125 ] || fail "--emulate $wrong"
	says "$work/out" "expected"
done
"$COTENANT" run --emulate-seed 1 -- true >"$work/out" 2>&1
[ $? -eq 125 ] || fail "a seed without --emulate"

# What the environment says is told when nobody understands it, once, and the program runs.
COTENANT_EMU_SCALE=fast COTENANT_EMU_SMS=0 "$COTENANT" run --emulate h200 -- "$PROGS/ptx_work" \
	>"$work/out" 2>&1 || fail "wrong values: $(cat "$work/out")"
says "$work/out" "emulated GPU: COTENANT_EMU_SCALE is 'fast', which counts as not set; expected a number from 0.01 to 1000"
says "$work/out" "emulated GPU: COTENANT_EMU_SMS is '0', which counts as not set; expected a whole number"
[ "$(grep -c "counts as not set" "$work/out")" -eq 2 ] || fail "told twice: $(cat "$work/out")"

wrong() {
	"$COTENANT" run --emulate h200 -- "$PROGS/ptx_wrong" --how "$1" >"$work/out" 2>&1 ||
		fail "ptx_wrong $1"
	says "$work/out" "wrong $2 then $2"
	if [ -n "$3" ]; then
		[ "$(grep -c "^emulated GPU: " "$work/out")" -eq 1 ] ||
			fail "a fault is told once: $(cat "$work/out")"
		says "$work/out" "$3"
		says "$work/out" "kernel wrong, block ("
		says "$work/out" "PTX line "
	fi
}
wrong 0 CUDA_SUCCESS
wrong 1 CUDA_ERROR_ILLEGAL_ADDRESS "write of 4 bytes"
wrong 2 CUDA_ERROR_MISALIGNED_ADDRESS "expected a multiple of 4"
wrong 3 CUDA_ERROR_LAUNCH_FAILED "trap"

# ---- together, on one machine, with its daemon ----

COTENANT_EMU_DIR=$work/emu
export COTENANT_EMU_DIR
background "$COTENANT" run --emulate h200 --solo --name poll -- "$PROGS/ptx_poll" --seconds 300 \
	>"$work/poll" 2>&1
poll=$pid
until_true 10 grep -q "count [1-9]" "$work/poll" || fail "ptx_poll: $(cat "$work/poll")"
"$COTENANT" run --emulate h200 --solo --name work -- "$PROGS/ptx_work" --runs 3 >"$work/out" 2>&1 ||
	fail "ptx_work beside a kernel that never ends: $(cat "$work/out")"
[ "$(value checksum "$work/out")" = "$sum" ] || fail "together it computes something else"
turns=$("$PROGS/emu_state" | awk '$7 == "graphics" { print $19; exit }')
[ "${turns:-0}" -ge 2 ] || fail "the two did not take turns: $("$PROGS/emu_state")"

# The daemon is the machine's own, and COTENANT_EMU_DIR alone says which; a freeze stops the kernel, not the program.
last() {
	awk '$1 == "count" { n = $2 } END { print n }' "$work/poll"
}
n_samples() {
	grep -c "^count" "$work/poll"
}
is_frozen() {
	"$COTENANT" freeze poll >"$work/out" 2>&1
}
# more N: it has written N lines more than it had at $n.
more() {
	[ "$(n_samples)" -ge $((n + $1)) ]
}
until_true 10 is_frozen || fail "freeze: $(cat "$work/out")"
# The line that is being written may be from before.
n=$(n_samples)
until_true 5 more 2 || fail "the program does not go on"
frozen=$(last)
until_true 5 more 6 || fail "the program itself does not go on"
[ "$(last)" = "$frozen" ] || fail "a frozen kernel counts: $frozen, then $(last)"
"$COTENANT" thaw poll >"$work/out" 2>&1 || fail "thaw: $(cat "$work/out")"
thawed() {
	[ "$(last)" -gt "$frozen" ]
}
until_true 5 thawed || fail "a thawed kernel does not count"
kill -TERM "$poll"
wait "$poll" || fail "ptx_poll ended with $?"
says "$work/poll" "poll count"

# Two pools: a batch program and a latency program, both with PTX, each in its MPS server.
background "$COTENANT" run --emulate h200 --name b -- "$PROGS/ptx_poll" --seconds 300 \
	>"$work/b" 2>&1
b=$pid
until_true 15 grep -q "count [1-9]" "$work/b" || fail "in a pool: $(cat "$work/b")"
"$COTENANT" run --emulate h200 --class latency --name l -- "$PROGS/ptx_work" >"$work/out" 2>&1 ||
	fail "ptx_work in a pool: $(cat "$work/out")"
[ "$(value checksum "$work/out")" = "$sum" ] || fail "in a pool it computes something else"
"$COTENANT" ps >"$work/out" 2>&1
says "$work/out" "batch"
says "$work/out" "GPU 0: h200, emulated"
kill -TERM "$b"
wait "$b" || fail "the batch program: $(tail -3 "$work/b")"

# The daemon and the pools that `run` has started: nobody else has this folder.
for environ in /proc/[0-9]*/environ; do
	if tr '\0' '\n' 2>/dev/null <"$environ" | grep -q "^COTENANT_EMU_DIR=$work/emu\$"; then
		pid=${environ#/proc/}
		children="$children ${pid%/environ}"
	fi
done
finish
