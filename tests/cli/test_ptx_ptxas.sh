#!/bin/sh
# NVIDIA's assembler takes what the passes make, of every kernel that we have. Skipped (77) where it is
# not installed. COT_PTX_ALL=1 adds single passes, the samples and all targets.
. "$SOURCE_DIR/tests/cli/lib.sh"

command -v ptxas >/dev/null || exit 77
targets=sm_90
passes="workers slice,record count,workers batch,workers"
files="$SOURCE_DIR/kernels/ptx/*.ptx"
if [ -n "${COT_PTX_ALL-}" ]; then
	targets="sm_75 sm_80 sm_90 sm_90a"
	passes="$passes slice count record record,workers batch"
	files="$files $SOURCE_DIR/tests/ptx/samples/*.ptx"
fi

# may_be FILE TARGET: the assembler makes code for a target from PTX for it or for an older one, and
# none any more for those before sm_75. sm_90a is for itself alone.
may_be() {
	own=$(sed -n 's/^\.target \(sm_[0-9a]*\).*/\1/p' "$1" | head -1)
	[ "$own" != sm_90a ] || [ "$2" = sm_90a ] || return 1
	number=${2#sm_}
	own=${own#sm_}
	[ "${own%a}" -le "${number%a}" ]
}

# assemble FILE WHAT
assemble() {
	for target in $targets; do
		may_be "$1" "$target" || continue
		ptxas -arch="$target" "$1" -o "$work/code" >"$work/log" 2>&1 ||
			fail "$2 for $target: $(head -3 "$work/log")"
		n_assembled=$((n_assembled + 1))
	done
}

n_assembled=0
for file in $files "$SOURCE_DIR"/tests/ptx/pass/golden.*.ptx; do
	case $file in
	*golden.*)
		assemble "$file" "$file"
		continue
		;;
	esac
	for pass in $passes; do
		# Status 1: all of its kernels are refused.
		"$COTENANT" ptx "$file" --pass "$pass" -o "$work/rewritten.ptx" 2>"$work/err"
		[ $? -le 1 ] || fail "$file --pass $pass: $(cat "$work/err")"
		assemble "$work/rewritten.ptx" "$file --pass $pass"
	done
done
# The kernels of all, in one module; two of them are the same file.
"$COTENANT" ptx "$SOURCE_DIR"/kernels/ptx/*.ptx "$SOURCE_DIR/kernels/ptx/shapes.ptx" -o "$work/joined.ptx" \
	2>"$work/err" || fail "joined: $(cat "$work/err")"
assemble "$work/joined.ptx" "all joined"
[ "$n_assembled" -ge 30 ] || fail "only $n_assembled files were assembled"
finish
