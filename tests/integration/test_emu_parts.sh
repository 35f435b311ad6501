#!/bin/sh
# Two programs on parts of the emulated GPU, as clients of one MPS server: the same split gives both the same
# SMs, and only programs on the same SMs slow each other.
# shellcheck disable=SC2317 # functions that until_true calls
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

MS=20 # a kernel alone
CUDA_MPS_LOG_DIRECTORY=$work
export CUDA_MPS_LOG_DIRECTORY

use_server() {
	CUDA_MPS_PIPE_DIRECTORY=$work/$1
	export CUDA_MPS_PIPE_DIRECTORY
}

runs() {
	grep -q "^runs" "$1"
}

part() {
	"$PROGS/ptx_part" --first "$1" --units "$2" --ms "$MS" --kernels "$3"
}

# between NAME FILE LEAST MOST
between() {
	awk -v v="$(value "$1" "$2")" -v a="$3" -v b="$4" 'BEGIN { exit !(v != "" && v >= a && v <= b) }' ||
		fail "$what: $1 expected from $3 to $4: $(cat "$2")"
}

# on FILE FIRST N: its blocks were on the SMs from FIRST on, and on most of them.
on() {
	between least "$1" "$2" $(($2 + $3 - 1))
	between most "$1" "$2" $(($2 + $3 - 1))
	between used "$1" $(($3 / 2 + 1)) "$3"
}

# beside FIRST UNITS: a program on this part, while another one is busy on the SMs 0 to 31. The line of the one
# is in $work/one, of the other in $work/other.
beside() {
	background "$PROGS/ptx_part" --first 0 --units 4 --ms "$MS" --kernels 100000 >"$work/other"
	other=$pid
	until_true 20 runs "$work/other" || fail "$what: the other program does not run: $(cat "$work/other")"
	part "$1" "$2" 8 >"$work/one" 2>&1 || fail "$what: $(cat "$work/one")"
	kill -TERM "$other"
	wait "$other" || fail "$what: the other program ended with $?: $(cat "$work/other")"
}

mkdir -p "$work/pipe"
use_server pipe
"$EMU/nvidia-cuda-mps-control" -d || fail "no MPS control daemon"

what="alone on a part"
part 3 2 4 >"$work/one" || fail "$what: $(cat "$work/one")"
on "$work/one" 24 16
between least_ms "$work/one" 19.9 20.1

what="on different SMs"
beside 4 4
on "$work/one" 32 32
on "$work/other" 0 32
between least_ms "$work/one" 19.9 20.1

what="on the same SMs"
beside 0 4
on "$work/one" 0 32
on "$work/other" 0 32
between most_ms "$work/one" 38 1000

what="after a program was killed on its part"
background "$PROGS/ptx_part" --first 0 --units 15 --ms "$MS" --kernels 100000 >"$work/other"
until_true 20 runs "$work/other" || fail "$what: it did not run"
kill -9 "$pid"
wait "$pid" 2>/dev/null
part 0 4 4 >"$work/one" || fail "$what: $(cat "$work/one")"
on "$work/one" 0 32

what="with a share of the server"
for pct in 50 99; do
	CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$pct part 0 4 1 >"$work/one"
	says "$work/one" "refused CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION"
done
CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=100 part 0 4 1 >"$work/one" || fail "$what: $(cat "$work/one")"
on "$work/one" 0 32

# beside_each_other EXPECTED: so many of eight kernels, in streams of their own.
beside_each_other() {
	"$PROGS/ptx_beside" --streams 8 --expect "$1" >"$work/one" || fail "$what: $(cat "$work/one")"
	[ "$(cat "$work/one")" = "began $1" ] || fail "$what: $(cat "$work/one"), expected $1"
}

what="a client of the server has two channels"
beside_each_other 2
what="unless it wants more"
CUDA_DEVICE_MAX_CONNECTIONS=8
export CUDA_DEVICE_MAX_CONNECTIONS
beside_each_other 8
unset CUDA_DEVICE_MAX_CONNECTIONS

echo quit | "$EMU/nvidia-cuda-mps-control" >/dev/null

# Without a server the two take turns, whatever their parts are.
what="without MPS"
use_server none
CUDA_DEVICE_MAX_CONNECTIONS=3
export CUDA_DEVICE_MAX_CONNECTIONS
beside_each_other 3
unset CUDA_DEVICE_MAX_CONNECTIONS
beside 4 4
on "$work/one" 32 32
between most_ms "$work/one" 25 10000
finish
