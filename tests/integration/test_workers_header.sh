#!/bin/sh
# include/cotenant/workers.h: its example, built as its users build it, on the emulated GPU.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
unset COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_SOCKET COTENANT_RUNTIME_DIR COTENANT_GPUS

example=$SOURCE_DIR/examples/workers
PATH=$PATH:/usr/local/cuda/bin
cc=$(command -v cc || command -v gcc || command -v clang) || {
	echo "no C compiler here"
	exit 77
}
"$cc" -std=c11 -Wall -Wextra -Werror -I"$SOURCE_DIR/include" "$example/blur.c" -o "$work/blur" -ldl ||
	fail "the host program is not built"

# runs PTX: all tasks are done, although workers left.
runs() {
	timeout 60 "$COTENANT" run --emulate h200 -- "$work/blur" "$1" >"$work/out" 2>&1 ||
		fail "$1: status $?: $(cat "$work/out")"
	grep -qx "same as the CPU's" "$work/out" || fail "$1: $(cat "$work/out")"
	grep -q '^launch 1: .* told to leave' "$work/out" || fail "$1: $(cat "$work/out")"
}

n_built=0
if clang=$(command -v clang); then
	"$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib \
		-Wno-unknown-cuda-version -Wall -Wextra -Werror -I"$SOURCE_DIR/include" -O2 \
		-S "$example/blur.cu" -o "$work/clang.ptx" || fail "clang does not build the kernel"
	runs "$work/clang.ptx"
	n_built=$((n_built + 1))
fi
if nvcc=$(command -v nvcc); then
	"$nvcc" -arch=compute_90 -I"$SOURCE_DIR/include" -ptx "$example/blur.cu" \
		-o "$work/nvcc.ptx" || fail "nvcc does not build the kernel"
	runs "$work/nvcc.ptx"
	n_built=$((n_built + 1))
fi
[ $n_built != 0 ] || {
	echo "neither clang nor nvcc here"
	exit 77
}
finish
