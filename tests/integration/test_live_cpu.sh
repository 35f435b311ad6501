#!/bin/sh
# Launches on the CPU, with the daemon and the library before the driver's: in the order of their streams, with the
# results of the GPU, counted; and on the GPU after all, where something stands against the CPU.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
provider=$PROGS/libcpu_provider.so
start_daemon
# On a busy machine a copy may take longer than the ten milliseconds that a launch waits for it.
export COTENANT_CPU_WAIT_MS=1000

ended() {
	grep -q '^end' "$work/$1.out"
}

# start NAME ARGUMENT...: the program, until it waits for a signal.
start() {
	name=$1
	shift
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --name "$name" "$@" -- "$PROGS/ptx_cpu" \
		>"$work/$name.out"
	until_true 20 ended "$name" || fail "$name does not end: $(cat "$work/$name.out")"
	for case in stream default thread graph behind beside; do
		says "$work/$name.out" "$case wrong 0"
	done
	says "$work/$name.out" "counts kept"
}

# all_on_gpu NAME: its nine launches outside of the graph, and two others, have been counted, none on the CPU.
counted() {
	part=$(ps_value "$1" on_part) workers=$(ps_value "$1" workers)
	[ $((${part:-0} + ${workers:-0})) -ge 11 ]
}
all_on_gpu() {
	until_true 5 counted "$1" || fail "$1: $part and $workers launches on the GPU"
	is "$1" on_cpu 0 || fail "$1 is on the CPU: $(ps_value "$1" on_cpu)"
}

# What the program's own mistake came to.
stop() {
	kill "$pid"
	wait "$pid"
	says "$work/$1.out" "fault 700"
	[ $n_failed = 0 ] || finish
}

# Without the CPU nothing of it is counted.
start plain --rewrite
all_on_gpu plain
stop plain

# Nine launches outside of the graph, one of which is behind a kernel that does not end.
start native --cpu "$provider"
expect_value native on_cpu 8
expect_value native not_on_cpu 2
"$COTENANT" stats >"$work/stats" || fail "stats"
grep -qE '^native +8 +[0-9.]+ ms +2' "$work/stats" || fail "stats: $(cat "$work/stats")"
says "$work/stats" "native: 1 times not on the CPU: cpu-launch (recorded, or"
says "$work/stats" "native: 1 times not on the CPU: cpu-busy (what comes before it"
stop native

# The interpreter takes the same kernels, and leaves the one that waits for another.
start ours --cpu interpreter
expect_value ours on_cpu 8
stop ours

# What fails, or whose memory is not known, runs on the GPU; a library that is no provider is none.
TEST_CPU=fail start failing --cpu "$provider"
expect_value failing not_on_cpu 10
is failing on_cpu 0 || fail "a failed launch counts: $(ps_value failing on_cpu)"
stop failing
TEST_CPU=memory start unknown --cpu "$provider"
expect_value unknown not_on_cpu 10
stop unknown
TEST_CPU=other start other --cpu "$provider"
all_on_gpu other
stop other

# The models say where: with few blocks the CPU, with more the GPU.
kernels() { # SECONDS on the CPU, of three blocks
	cat >"$work/kernels.yaml" <<-END
		schema: cotenant.kernels/1
		gpu: h200
		power: {idle_w: 120, lambda_w: 10, memory_w: 2900, instruction_w: 100}
		kernels:
		  - {name: mix, blocks: 3, threads_per_block: 256, regs_per_block: 4096, comp: 1e6, coalesced: 2,
		     memory_bytes: 4096, cpu_s: $1, cpu_w: 100}
	END
}
kernels 1e-9
start cheap --cpu "$provider" --cpu-kernels "$work/kernels.yaml"
expect_value cheap on_cpu 8
stop cheap
kernels 10
start dear --cpu "$provider" --cpu-kernels "$work/kernels.yaml" --cpu-by time
all_on_gpu dear
is dear not_on_cpu 0 || fail "it was to be there: $(ps_value dear not_on_cpu)"
stop dear

# Other kernels: the same bits, and nothing stood against the CPU.
benchmarks() { # LIBRARY NAME...
	library=$1
	shift
	COTENANT_LOG=info LD_LIBRARY_PATH="$EMU" timeout 60 "$COTENANT" run --required --cpu "$library" -- \
		"$(dirname "$COTENANT")/kernels-run" "$@" --pass plain >"$work/out" 2>"$work/err" ||
		fail "$library: $*: $(cat "$work/out" "$work/err")"
	[ "$(grep -c '"right":true' "$work/out")" = $# ] || fail "$library: $(cat "$work/out")"
	says_not "$work/err" "CPU version did not"
	says_not "$work/err" "what it uses is not known"
}
benchmarks kernels BlackScholes aes MonteCarlo search
for kernel in BlackScholesGPU aes_encrypt monte_carlo search_texts; do
	says "$work/err" "kernel $kernel: its CPU version is of 'kernels'"
done
benchmarks interpreter nn pathfinder vectorAdd BlackScholes matrixMul aes MonteCarlo search
for kernel in euclid dynproc_kernel vectorAdd BlackScholesGPU matrixMulCUDA aes_encrypt monte_carlo search_texts; do
	says "$work/err" "kernel $kernel: its CPU version is of 'interpreter'"
done

refused() {
	sentence=$1
	shift
	"$COTENANT" run "$@" -- true >"$work/out" 2>&1 && fail "accepted: $*"
	says "$work/out" "$sentence"
}
refused "cpu/libnone.so is not beside" --cpu none
refused "cannot read the library" --cpu "$work/none.so"
refused "empty or too long name" --cpu "interpreter,"
refused "need --cpu" --cpu-kernels "$work/kernels.yaml"
refused "time needs --cpu-kernels" --cpu interpreter --cpu-by time
refused "without --cpu-kernels" --cpu interpreter --cpu-kernels "$work/kernels.yaml" --cpu-by policy
refused "expected energy, time or policy" --cpu interpreter --cpu-kernels "$work/kernels.yaml" --cpu-by price
sed -i '/^power/d' "$work/kernels.yaml"
refused "the key 'power' is missing" --cpu interpreter --cpu-kernels "$work/kernels.yaml"
finish
