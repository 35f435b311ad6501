#!/bin/sh
# bench_contention explains itself, refuses what it cannot do, and has the PTX that its source gives.
. "$SOURCE_DIR/tests/cli/lib.sh"
COTENANT=$(dirname "$COTENANT")/bench_contention
[ -x "$COTENANT" ] || exit 77

expect 0 --help
says "$work/out" "--budget=TIME"
expect 0 --list
grep -q '^alone *read16x2/64 warps on 8 SMs$' "$work/out" || fail "nothing alone on 8 SMs"
grep -q '^pairs *fma4/64 warps on 64 SMs read16x2/64 warps on 68 SMs$' "$work/out" ||
	fail "no pair on 64 and 68 SMs"
grep -q '^shared *mix64/32 warps on 8 SMs fma4/32 warps on the same 8 SMs$' "$work/out" ||
	fail "no two kernels on the same SMs"
for name in nn particlefilter pathfinder myocyte lavaMD matrixMul vectorAdd BlackScholes bfs md5hash; do
	says "$work/out" "benchmarks $name"
done

# refused SENTENCE ARGUMENT...
refused() {
	sentence=$1
	shift
	"$COTENANT" "$@" >"$work/out" 2>"$work/err" && fail "$* was taken"
	says "$work/err" "$sentence"
}
refused "there is no part 'piars'; expected alone, pairs" --only alone,piars
refused "there is no part ''" --only ''
refused "--budget is '0'; expected a time from 1s" --budget 0
refused "--window is '1x'; expected a time from 1ms" --window 1x
refused "--repeats is '21'; expected a number from 1 to 20" --repeats 21
refused "'x' is not expected" x
refused "no/such/folder/file: No such file or directory" -o no/such/folder/file

if "$SOURCE_DIR/bench/contention/build-ptx" "$work/ptx" 2>"$work/err"; then
	cmp "$SOURCE_DIR/bench/contention/ptx/kernels.ptx" "$work/ptx/kernels.ptx" ||
		fail "bench/contention/ptx is not what build-ptx makes; run it and look at the change"
else
	says "$work/err" "clang 14 is not here"
fi
finish
