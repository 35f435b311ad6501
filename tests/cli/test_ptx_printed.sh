#!/bin/sh
# ptxas makes the same code from what the printer makes of every sample, byte for byte. Where the code
# has line numbers (of the PTX) it has to be taken at least. Without ptxas there is nothing to ask.
. "$SOURCE_DIR/tests/cli/lib.sh"
command -v ptxas >/dev/null || exit 77

# assemble FOLDER SM: x.ptx of the folder
assemble() (
	cd "$1" && ptxas -arch="sm_$2" x.ptx -o x.code 2>err
)

n=0
mkdir "$work/before" "$work/after"
for file in "$SOURCE_DIR"/tests/ptx/samples/*.ptx "$SOURCE_DIR"/kernels/ptx/*.ptx; do
	cp "$file" "$work/before/x.ptx"
	expect 0 ptx "$file" -o "$work/after/x.ptx"
	sm=$(sed -n 's/^\.target sm_\([0-9]*[a-z]*\).*/\1/p' "$work/before/x.ptx")
	case $sm in
	5? | 6? | 70 | 72) sm=75 ;; # the oldest that it still makes code for
	esac
	assemble "$work/before" "$sm" || fail "$file: $(head -n 3 "$work/before/err")"
	assemble "$work/after" "$sm" || fail "$file, printed: $(head -n 3 "$work/after/err")"
	case $file in
	*.debug.ptx | *.lineinfo.ptx) ;;
	*) cmp -s "$work/before/x.code" "$work/after/x.code" || fail "$file: other code when printed" ;;
	esac
	n=$((n + 1))
done
[ $n -ge 20 ] || fail "only $n samples"
finish
