#!/bin/sh
# ptxas takes what the printer makes of every sample. Without ptxas there is nothing to ask.
. "$SOURCE_DIR/tests/cli/lib.sh"
command -v ptxas >/dev/null || exit 77

n=0
for file in "$SOURCE_DIR"/tests/ptx/samples/*.ptx "$SOURCE_DIR"/kernels/ptx/*.ptx; do
	expect 0 ptx "$file" -o "$work/printed.ptx"
	sm=$(sed -n 's/^\.target sm_\([0-9]*[a-z]*\).*/\1/p' "$work/printed.ptx")
	case $sm in
	5? | 6? | 70 | 72) sm=75 ;; # the oldest that it still makes code for
	esac
	ptxas -arch="sm_$sm" "$work/printed.ptx" -o "$work/code" 2>"$work/err" ||
		fail "$file: $(head -n 3 "$work/err")"
	n=$((n + 1))
done
[ $n -ge 20 ] || fail "only $n samples"
finish
