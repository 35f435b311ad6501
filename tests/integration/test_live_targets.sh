#!/bin/sh
# bench/live/targets.py without a GPU: what it plans, how it judges, and whole runs with programs that only
# pretend.
set -u
: "${SOURCE_DIR:?the sources}"

python=$(command -v python3) || {
	echo "no python3 here"
	exit 77
}
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
exec "$python" "$SOURCE_DIR/bench/live/test_targets.py"
