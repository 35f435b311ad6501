#!/bin/sh
# bench/parts without a GPU: its verdicts, and random programs on the emulated GPU while their part changes.
set -u
: "${SOURCE_DIR:?the sources}"

python=$(command -v python3) || {
	echo "no python3 here"
	exit 77
}
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] && [ -e "${COTENANT_LIBRARY%/*}/emu/libcuda.so.1" ] || {
	echo "no shim or no emulated GPU here"
	exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$SOURCE_DIR/bench/parts/test_right.py"
