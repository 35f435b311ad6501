#!/bin/sh
# Programs of the CUDA runtime, built by nvcc in the ways in which people build them, run unchanged
# on the emulated GPU. Needs a CUDA toolkit, and no GPU.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
unset COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_SOCKET COTENANT_RUNTIME_DIR COTENANT_GPUS

PATH=$PATH:/usr/local/cuda/bin
nvcc=$(command -v nvcc) || {
	echo "no nvcc here"
	exit 77
}
lib=$(dirname "$(dirname "$nvcc")")/lib64
sources=$SOURCE_DIR/tests/integration/progs/cuda

# build NAME SOURCE OPTION...
build() {
	name=$1
	source=$2
	shift 2
	"$nvcc" -o "$work/$name" "$@" "$sources/$source.cu" >"$work/log" 2>&1 ||
		fail "$name is not built: $(cat "$work/log")"
}

# emulated NAME ARGUMENT...: its output is in $work/out.
emulated() {
	program=$work/$1
	shift
	LD_LIBRARY_PATH=$lib timeout 60 "$COTENANT" run --emulate h200 -- "$program" "$@" \
		>"$work/out" 2>&1
}

runs() {
	emulated "$@" || fail "$*: status $?: $(tail -5 "$work/out")"
	[ "$(tail -n 1 "$work/out")" = ok ] || fail "$*: $(tail -5 "$work/out")"
}

build streams streams -arch=compute_90 &
build graphs graphs -arch=compute_75 -cudart shared --compress-mode=size
wait
build memory memory -arch=compute_90 --compress-mode=speed &
build groups groups -arch=compute_80 -cudart shared --no-compress
wait
build threads threads -arch=compute_90 --default-stream per-thread &
build faults faults -gencode arch=compute_75,code=sm_75 -gencode arch=compute_75,code=compute_75
wait
build cubin streams -arch=sm_90 &
build machine streams -gencode arch=compute_90,code=sm_90
wait

for name in streams graphs memory groups threads cubin; do
	runs $name
done
# Kernels that run as they come, and in an order that a seed decides.
LD_LIBRARY_PATH=$lib timeout 60 "$COTENANT" run --emulate h200 --emulate-seed 3 -- \
	"$work/groups" >"$work/out" 2>&1 || fail "with a seed: $(tail -5 "$work/out")"
says "$work/out" "block 1 thread 1 of hello: 1.50"

for what in 0 1 2 3; do
	emulated faults $what || fail "faults $what: $(cat "$work/out")"
	says "$work/out" "emulated GPU: kernel _Z5wrongPii, block ("
	says "$work/out" "ok"
done
emulated faults 2
says "$work/out" "Assertion"

# Machine code alone cannot run, and the reason is told.
emulated machine && fail "machine code runs"
says "$work/out" "machine code for sm_90"
says "$work/out" "no kernel image is available"

# What nvcc of today makes is too new for the older GPU, unless the quirk lets it.
LD_LIBRARY_PATH=$lib "$COTENANT" run --emulate k20c -- "$work/faults" >"$work/out" 2>&1 &&
	fail "code for compute_75 on a GPU of compute capability 3.5"
says "$work/out" "no kernel image is available"
says "$work/out" "COTENANT_EMU_QUIRKS=any-ptx takes newer PTX"
COTENANT_EMU_QUIRKS=any-ptx LD_LIBRARY_PATH=$lib "$COTENANT" run --emulate k20c -- "$work/faults" \
	>"$work/out" 2>&1 || fail "any-ptx: $(cat "$work/out")"
finish
