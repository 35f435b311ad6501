#!/bin/sh
# The PTX in kernels/ptx is what clang makes of the kernels.
set -eu
: "${SOURCE_DIR:?the source folder}"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

"$SOURCE_DIR/kernels/build-ptx" "$work/ptx"
diff -r "$SOURCE_DIR/kernels/ptx" "$work/ptx" || {
	echo "FAILED: kernels/ptx is not what kernels/build-ptx makes; run it and look at the change" >&2
	exit 1
}
