#!/bin/bash
# The second part of ./dev demo: programs that really run. A latency-sensitive program and two
# batch programs share a GPU, first as usual, then under `cotenant run`. Without a GPU they run on
# the emulated one (docs/emulated-gpu.md), which is slow in nothing but the programs' own work.
#   demo-live.sh BIN_DIR PROGRAMS_DIR EMU_DIR [SECONDS]
set -eu
cotenant=$1/cotenant
daemon=$1/cotenantd
progs=$2
emu=$(realpath "$3")
seconds=${4:-3}
work=$(mktemp -d)
daemon_pid=

finish() {
	if [ -n "$daemon_pid" ]; then
		kill "$daemon_pid" 2>/dev/null || :
		wait "$daemon_pid" 2>/dev/null || :
	fi
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# The daemon of the demonstration is its own, beside one that may run here.
export COTENANT_RUNTIME_DIR=$work/run XDG_CONFIG_HOME=$work
unset COTENANT_SOCKET COTENANT_CLASS COTENANT_NAME COTENANT_WEIGHT COTENANT_GPU COTENANT_DISABLE

# The folder of the real driver, or nothing.
driver_folder() {
	local path
	[ -e /dev/nvidiactl ] || return 0
	path=$(PATH=$PATH:/sbin ldconfig -p | awk '/libcuda\.so\.1 / { print $NF; exit }')
	[ -z "$path" ] || dirname "$path"
}

driver=$(driver_folder)
if [ -n "$driver" ]; then
	gpu="the GPU of this machine"
	prefix=
	# The programs are linked with the emulated driver; this comes first.
	export LD_LIBRARY_PATH=$driver${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
else
	gpu="an emulated H200"
	# GPU time, from events: what the CPU of this machine is busy with does not count.
	prefix=gpu_
	export COTENANT_EMU_DIR=$work/emu COTENANT_MPS_CONTROL=$emu/nvidia-cuda-mps-control
	export COTENANT_GPUS=1
	mkdir "$COTENANT_EMU_DIR"
fi

# value NAME FILE: the number behind a name in "name number name number ...".
value() {
	awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }' "$2"
}

row() {
	printf '%-26s %9s %9s %9s   %12s\n' "$@"
}

# measure TITLE N_BATCH [COMMAND...]: COMMAND stands before each program, with its class.
measure() {
	local title=$1 n=$2 i pids=() rate
	shift 2
	for ((i = 0; i < n; i++)); do
		"$@" ${1+--class=batch --} "$progs/batch" --seconds $((seconds + 2)) \
			>"$work/batch$i" &
		pids+=($!)
	done
	sleep 1
	"$@" ${1+--class=latency --} "$progs/request" --seconds "$seconds" >"$work/request" || {
		cat "$work/request"
		exit 1
	}
	for i in "${pids[@]}"; do
		kill "$i"
	done
	for i in "${pids[@]}"; do
		wait "$i" || :
	done
	rate=-
	[ "$n" = 0 ] || rate=$(cat "$work"/batch[0-9] |
		awk '{ sum += $4 } END { printf "%.1f /s", sum }')
	row "$title" "$(value "${prefix}p50_us" "$work/request") us" \
		"$(value "${prefix}p99_us" "$work/request") us" \
		"$(value "${prefix}max_us" "$work/request") us" "$rate"
}

cat <<END

Now live, on $gpu: requests of 100 us, and two batch programs whose
kernels take 43 ms each.

END
row "" p50 p99 longest "batch"
measure "requests alone" 0
measure "with two batch programs" 2

"$daemon" --log-level warn >"$work/daemon.log" 2>&1 &
daemon_pid=$!
for _ in {1..100}; do
	"$cotenant" ps >"$work/ps" 2>&1 && break
	sleep 0.05
done
measure "the same, cotenant run" 2 "$cotenant" run --required
if [ -s "$work/daemon.log" ]; then
	echo
	cat "$work/daemon.log"
fi
cat <<'END'

Next: cotenant doctor                                  what works on this machine
      cotenant run --class latency -- PROGRAM          and --class batch for the others
      cotenant ps                                      while they run
END
