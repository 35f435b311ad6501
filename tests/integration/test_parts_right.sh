#!/bin/sh
# bench/parts without a GPU: its verdicts, and random programs on the emulated GPU while their part changes; parts
# that follow requests, with stand-ins.
set -u
: "${SOURCE_DIR:?the sources}"

python=$(command -v python3) || {
	echo "no python3 here"
	exit 77
}
libraries=${COTENANT_LIBRARY%/*}
if [ ! -e "$libraries/shim/libcuda.so.1" ] || [ ! -e "$libraries/emu/libcuda.so.1" ]; then
	echo "no shim or no emulated GPU here"
	exit 77
fi
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
"$python" "$SOURCE_DIR/bench/parts/test_follow.py" && exec "$python" "$SOURCE_DIR/bench/parts/test_right.py"
