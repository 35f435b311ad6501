#!/bin/sh
# ./dev mutate tells apart what a test sees, does not see and cannot see.
set -eu
for tool in python3 cmake ninja; do
	command -v $tool >/dev/null || exit 77
done
exec python3 -B "$SOURCE_DIR/scripts/mutate" --self-test
