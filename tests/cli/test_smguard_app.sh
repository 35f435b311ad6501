#!/bin/sh
# smguard-app and smguard-remap explain themselves, and what they cannot do ends with one sentence.
. "$SOURCE_DIR/tests/cli/lib.sh"
bin=$(dirname "$COTENANT")
[ -x "$bin/smguard-app" ] || exit 77

# refused PROGRAM TEXT ARGUMENT...
refused() {
	program=$1
	text=$2
	shift 2
	! "$bin/$program" "$@" >"$work/out" 2>"$work/err" </dev/null ||
		fail "$program $*: status 0"
	says "$work/err" "$text"
}

for program in smguard-app smguard-remap; do
	[ -x "$bin/$program" ] || continue # smguard-remap is built with the benchmarks
	COTENANT=$bin/$program
	expect 0 --help
	says "$work/out" "Usage: $program [OPTION...] BENCHMARK"
	refused "$program" "$program: expected the name of a benchmark"
	refused "$program" "$program: there is no benchmark 'fft'; kernels-run --list has them" fft
	refused "$program" "$program: unexpected argument 'bfs'; expected one benchmark" nn bfs
	refused "$program" "$program: there is no size 'huge'; expected test, small, large or gpu" \
		nn --size huge
	refused "$program" "$program: --blocks is '0'; expected a number from 1 to 2147483647" nn --blocks 0
	refused "$program" "$program: --repeat is '-1'; expected a number from 1 to" nn --repeat -1
	refused "$program" "$program: md5hash: 96395 blocks are too many" md5hash --blocks 96395
done
finish
