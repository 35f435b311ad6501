#!/bin/sh
# kernels-run explains itself, and what it cannot do ends with one sentence.
. "$SOURCE_DIR/tests/cli/lib.sh"
COTENANT=$(dirname "$COTENANT")/kernels-run

expect 0 --help
says "$work/out" "Usage: kernels-run [OPTION...] BENCHMARK..."
says "$work/out" "--quota"
sed -nE 's/^ +(-[^ ]+, +)*(--[a-z-]+).*/\2/p' "$work/out" | sort -u >"$work/help"
grep '^\*-' "$SOURCE_DIR/docs/man/kernels-run.1.scd" | grep -oE -e '--[a-z][a-z-]*' | sort -u >"$work/page"
cmp -s "$work/help" "$work/page" ||
	fail "--help and the manual page differ: $(diff "$work/help" "$work/page" | grep '^[<>]')"
expect 0 --version
version=$(sed -n 's/^project(cotenant VERSION \([0-9.]*\).*/\1/p' "$SOURCE_DIR/CMakeLists.txt")
says "$work/out" "kernels-run $version"

expect 0 --list
for name in nn particlefilter pathfinder myocyte lavaMD matrixMul vectorAdd BlackScholes bfs md5hash LULESH \
	early_return rounds volume aes MonteCarlo search; do
	says "$work/out" "$name "
done

# refused SENTENCE ARGUMENT...
refused() {
	sentence=$1
	shift
	expect 2 "$@"
	empty "$work/out"
	says "$work/err" "$sentence"
}
refused "no benchmark given" --pass workers
refused "there is no benchmark 'nm'" nm
refused "there is no pass 'wrokers'" bfs --pass wrokers
refused "there is no pass ''" bfs --pass ''
refused "there is no pass ''" bfs --pass workers,
refused "bfs cannot be fused with itself" bfs --pass fuse --with bfs
refused "--with lavaMD needs the pass fuse" bfs --with lavaMD
refused "--with lavaMD needs the pass fuse" bfs --with lavaMD --pass slice,count
refused "--copies 9 needs the pass batch" bfs --copies 9
refused "expected a number from 2 to 64" bfs --pass batch --copies 1
refused "expected a number from 2 to 64" bfs --pass batch --copies 65
refused "expected a time such as 90s or 2min, from 10ms to 86400 s" bfs --time-limit 0
refused "--time-limit is '2m'; expected a time such as 90s" bfs --time-limit 2m
refused "expected milliseconds such as 1.5 or a time such as 500us" bfs --evict 3x
refused "there is no size 'huge'" bfs --size huge
refused "expected a number from 1 to 100" bfs --quota 0%
refused "expected a number from 1 to 100" bfs --quota 101
refused "expected a number from 1 to 100" bfs --quota -5%
refused "expected a number from 1" bfs --chunk 0
refused "expected a number from 0 to 1000" bfs --repeat many
refused "expected milliseconds" bfs --evict soon
refused "expected milliseconds" bfs --evict 3@
refused "expected milliseconds" bfs --evict -1
refused "the number of SMs in --evict" bfs --evict x@1
refused "goes back in time" bfs --evict 2,1
refused "goes back in time" bfs --evict 2,all@1

expect 0 vectorAdd --print-ptx --pass workers,slice,count,record,batch
for suffix in '' "\$cot_workers" "\$cot_slice" "\$cot_count" "\$cot_record" "\$cot_batch"; do
	says "$work/out" ".entry vectorAdd$suffix("
done
empty "$work/err"
expect 0 vectorAdd --print-ptx --pass fuse --with lavaMD
says "$work/out" ".entry vectorAdd\$cot_fuse\$kernel_gpu_cuda("

expect 0 vectorAdd --print-ptx --output "$work/printed.ptx"
empty "$work/out"
says "$work/printed.ptx" ".entry vectorAdd\$cot_workers("

# Nowhere to write to.
for arguments in --list "vectorAdd --print-ptx" "all --print-ptx"; do
	# shellcheck disable=SC2086
	"$COTENANT" $arguments >/dev/full 2>"$work/err"
	[ $? -eq 2 ] || fail "$arguments: the disk is full, and it did not say so"
	says "$work/err" "standard output cannot be written: No space left"
	# shellcheck disable=SC2086
	"$COTENANT" $arguments >&- 2>"$work/err"
	[ $? -eq 2 ] || fail "$arguments: standard output is closed, and it did not say so"
	says "$work/err" "standard output cannot be written: Bad file descriptor"
done

# Neither a GPU's driver nor the emulated one.
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	expect 2 vectorAdd
	says "$work/err" "kernels-run: there is no CUDA driver here"
	empty "$work/out"
fi
expect 2 vectorAdd --output "$work/nowhere/lines"
says "$work/err" "cannot write $work/nowhere/lines: No such file"

# Without a GPU a file of results stays what it was.
if ! ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1'; then
	for limit in "" "--time-limit 5"; do
		echo precious >"$work/lines"
		# shellcheck disable=SC2086
		expect 2 vectorAdd $limit --output "$work/lines"
		[ "$(cat "$work/lines")" = precious ] || fail "results were overwritten by nothing"
	done
fi
expect 0 --list --output "$work/lines"
says "$work/lines" "vectorAdd "

finish
