#!/bin/sh
# kernels-run on the emulated GPU: eleven benchmarks and the small kernels under every pass, workers that
# have to leave, and a benchmark that takes too long.
set -u
: "${COTENANT:?the program beside which kernels-run is}" "${EMU:?the folder of the emulated GPU}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export COTENANT_EMU_DIR="$work/gpu"
n_failed=0

fail() {
	echo "FAILED: $*" >&2
	n_failed=$((n_failed + 1))
}

# run NAME ARGUMENT...: kernels-run on the emulated driver; its lines go to $work/NAME.
run() {
	name=$1
	shift
	LD_LIBRARY_PATH=$EMU timeout 600 "$(dirname "$COTENANT")/kernels-run" "$@" >"$work/$name" 2>"$work/err" ||
		fail "kernels-run $*: status $?: $(cat "$work/err")"
	! grep -E '"(same|right|eviction_same)":false|"failed":' "$work/$name" || fail "kernels-run $*"
}

# number FIELD: the first such number in the lines of the run `evict`.
number() {
	sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$work/evict" | head -n 1
}

run all all --pass all --repeat 1
[ "$(grep -c '"pass":"plain".*"right":true' "$work/all")" = 11 ] || fail "plain: $(cat "$work/all")"
for pass in workers slice virtual_block fuse count record batch; do
	n=$(grep -c "\"pass\":\"$pass\",\"same\":true" "$work/all")
	# What is called cannot be counted.
	expected=11
	[ $pass != count ] || expected=10
	[ "$n" = $expected ] || fail "$pass: $n benchmarks have the plain result, expected $expected"
done
# Four instances in a launch, all of which are what the CPU computes.
[ "$(grep -c '"pass":"batch".*"copies":4,"launches":.*"right":true.*"host_us":' "$work/all")" = 11 ] ||
	fail "batch: $(grep batch "$work/all")"
[ "$(grep '"pass":"batch"' "$work/all" | grep -c '"launches":1,"apart_launches":4,')" = 7 ] ||
	fail "launches of a batch: $(grep batch "$work/all")"
[ "$(grep '"refused":' "$work/all" | grep -c 'solver2')" = 1 ] || fail "refused: $(grep refused "$work/all")"

# Each in a process of its own.
run shapes shapes --pass all --quota 2% --evictions 2 --time-limit 60
[ "$(grep -c '"pass":"plain".*"right":true' "$work/shapes")" = 14 ] ||
	fail "plain: $(cat "$work/shapes")"
[ "$(grep -c '"pass":"workers","same":true.*"eviction_same":true' "$work/shapes")" = 14 ] ||
	fail "workers: $(cat "$work/shapes")"
[ "$(grep -c '"pass":"batch","same":true.*"right":true' "$work/shapes")" = 14 ] ||
	fail "batch: $(cat "$work/shapes")"
[ "$(grep -c '"gpu":' "$work/shapes")" = 1 ] || fail "the GPU: $(cat "$work/shapes")"

# What takes too long is ended, and the next one goes on.
LD_LIBRARY_PATH=$EMU timeout 600 "$(dirname "$COTENANT")/kernels-run" matrixMul early_return --size small \
	--pass plain --time-limit 8 >"$work/late" 2>"$work/err"
[ $? = 2 ] || fail "a benchmark that takes too long: $(cat "$work/late" "$work/err")"
grep -q '"benchmark":"matrixMul","failed":"matrixMul: plain did not end within 8 s"' "$work/late" ||
	fail "a benchmark that takes too long: $(cat "$work/late" "$work/err")"
grep -q '"benchmark":"early_return","pass":"plain".*"right":true' "$work/late" ||
	fail "after one that took too long: $(cat "$work/late" "$work/err")"

# One SM's worth of workers leaves, then everybody; the rest is done by other launches.
run evict md5hash --blocks 80 --quota 2% --chunk 1 --evict 1@1,all@3 --evictions 2
[ "0$(number resumed)" -ge 1 ] || fail "nobody left before the end: $(cat "$work/evict")"
[ "0$(number left_over)" -ge 1 ] || fail "nothing was left over: $(cat "$work/evict")"
[ "$(number eviction_runs)" = 3 ] || fail "eviction runs: $(cat "$work/evict")"

[ $n_failed = 0 ]
