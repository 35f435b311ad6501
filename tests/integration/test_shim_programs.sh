#!/bin/sh
# Programs through the shim, with the daemon: those that it cannot do anything for, those that reach
# the driver in other ways, and, where there is nvcc, programs of the CUDA runtime. Each says what it
# says without the shim.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/conf"
start_daemon --config "$work/conf"

# shim PROGRAM ARGUMENT...: its output is in $work/out.
shim() {
	COTENANT_LOG=info timeout 60 "$COTENANT" run --emulate h200 --required --name it --quota 25% \
		-- "$@" >"$work/out" 2>"$work/err"
}

same() {
	timeout 60 "$COTENANT" run --emulate h200 -- "$@" >"$work/plain" 2>/dev/null
	plain=$?
	shim "$@"
	status=$?
	[ $status -eq $plain ] || fail "$*: status $status, expected $plain: $(tail -3 "$work/err")"
	sed 's/gpu_ms.*//' "$work/plain" >"$work/a"
	sed 's/gpu_ms.*//' "$work/out" >"$work/b"
	cmp -s "$work/a" "$work/b" || fail "$*: $(cat "$work/b") instead of $(cat "$work/a")"
}

same "$PROGS/ptx_work"
same "$PROGS/ptx_wrong" --how 0
same "$PROGS/ptx_wrong" --how 1
same "$PROGS/nocuda"
same sh -c 'exit 7'
grep -q "the driver is" "$work/err" && fail "a shell has loaded a driver"

# Kernels that are not PTX at all; a program that opens the driver and takes it from there.
shim "$PROGS/batch" --seconds 0.2 || fail "batch: $(tail -3 "$work/out")"
says "$work/out" "wrong 0"
shim "$PROGS/dlopener" || fail "dlopener: $(cat "$work/out" "$work/err")"
says "$work/err" "the driver is $EMU/libcuda.so.1"
shim "$PROGS/dlopener" libcuda.so || fail "dlopener libcuda.so: $(cat "$work/out" "$work/err")"
says "$work/err" "the driver is $EMU/libcuda.so.1"

# What was refused can be asked for.
"$COTENANT" stats --json >"$work/stats" || fail "stats"

PATH=$PATH:/usr/local/cuda/bin
nvcc=$(command -v nvcc) || finish
lib=$(dirname "$(dirname "$nvcc")")/lib64
sources=$SOURCE_DIR/tests/integration/progs/cuda

# build NAME SOURCE OPTION...
build() {
	name=$1
	source=$2
	shift 2
	"$nvcc" -o "$work/$name" "$@" "$sources/$source.cu" >"$work/log" 2>&1 ||
		fail "$name is not built: $(cat "$work/log")"
}

build memory memory -arch=compute_90 --compress-mode=speed &
other=$! # the daemon is a job as well
build groups groups -arch=compute_80 -cudart shared --no-compress
wait $other
build graphs graphs -arch=compute_75 -cudart shared --compress-mode=size &
other=$!
build cubin streams -arch=sm_90
wait $other
LD_LIBRARY_PATH=$lib
export LD_LIBRARY_PATH
for name in memory groups graphs cubin; do
	shim "$work/$name" || fail "$name: status $?: $(tail -5 "$work/out" "$work/err")"
	[ "$(tail -n 1 "$work/out")" = ok ] || fail "$name: $(tail -5 "$work/out")"
	says_not "$work/err" "does not take the rewritten"
done
finish
