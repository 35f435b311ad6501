#!/bin/sh
# bench/live/laius.py without a GPU: its plan, its figures, and a whole run on the emulated GPU, from profiles to tables.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
python=$(command -v python3) || {
	echo "no python3 here"
	exit 77
}
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
PYTHONDONTWRITEBYTECODE=1
COT_BENCH_PRELOAD=$EMU/libcuda.so.1
COT_BENCH_BIN=${COTENANTD%/*}
LD_LIBRARY_PATH=$EMU
export PYTHONDONTWRITEBYTECODE COT_BENCH_PRELOAD COT_BENCH_BIN LD_LIBRARY_PATH
timeout 850 "$python" "$SOURCE_DIR/bench/live/test_laius.py" >"$work/out" 2>&1 || fail "$(cat "$work/out")"
finish
