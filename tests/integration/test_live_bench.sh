#!/bin/sh
# bench/live without a GPU: its figures, its report, and whole runs with programs that only pretend.
set -u
: "${SOURCE_DIR:?the sources}"

python=$(command -v python3) || {
	echo "no python3 here"
	exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$SOURCE_DIR/bench/live/test_live.py"
