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

# obeys PTX: launched by cotenant, within its quota; its workers leave for a latency program, and all tasks are done.
obeys() (
	COTENANT_RUNTIME_DIR=$work/run COTENANT_SOCKET=$work/run/cotenantd.sock COTENANT_GPUS=1
	COTENANT_EMU_DIR=$work/emu COTENANT_MPS_CONTROL=$EMU/nvidia-cuda-mps-control
	export COTENANT_RUNTIME_DIR COTENANT_SOCKET COTENANT_GPUS COTENANT_EMU_DIR COTENANT_MPS_CONTROL
	printf 'schema: cotenantd/1\npolicy: smguard\nadapt_task_us: 1000000\n' >"$work/conf"
	start_daemon --config "$work/conf"
	LD_LIBRARY_PATH=$EMU timeout 40 "$COTENANT" run --required --quota 5sm --name hand -- "$work/blur" "$1" 1 >"$work/out" 2>&1 ||
		fail "status $?: $(cat "$work/out")"
	says "$work/out" "cotenant launched it 1 times"
	says "$work/out" "same as the CPU's"
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --quota 5sm --name hand -- \
		"$work/blur" "$1" 1000000 >"$work/hand" 2>&1
	hand=$pid
	until_true 20 knows_tasks || fail "hand: $("$COTENANT" ps) $(cat "$work/hand")"
	until_true 20 has_sms 5 || fail "hand: $("$COTENANT" ps) $(cat "$work/hand")"
	background "$PROGS/shim_peer" --class latency --name it request:1:100000000:8:10000 grant:1 "until:$work/end" \
		>"$work/peer"
	until_true 20 evicts || fail "the workers do not leave: $("$COTENANT" stats)"
	: >"$work/end"
	kill "$hand"
	stop_daemon
	exit $n_failed
)
has_sms() {
	[ "$(ps_value hand granted)" = "$1" ]
}
# Some launches have ended: how long a task takes is known.
knows_tasks() {
	n=$(ps_value hand tasks)
	[ "${n:-0}" -ge 3000 ]
}
evicts() {
	n=$(ps_value hand evictions)
	[ "${n:-0}" -gt 0 ]
}

n_built=0
if clang=$(command -v clang); then
	"$clang" -x cuda --cuda-device-only --cuda-gpu-arch=sm_70 -nocudainc -nocudalib \
		-Wno-unknown-cuda-version -Wall -Wextra -Werror -I"$SOURCE_DIR/include" -O2 \
		-S "$example/blur.cu" -o "$work/clang.ptx" || fail "clang does not build the kernel"
	runs "$work/clang.ptx"
	obeys "$work/clang.ptx" || n_failed=$((n_failed + 1))
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
