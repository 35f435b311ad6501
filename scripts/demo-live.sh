#!/bin/bash
# The first part of ./dev demo: programs that really run. A latency-sensitive program and two batch
# programs share a GPU: as usual, in an MPS server, and under `cotenant run`. Where there is no GPU, or
# one that cannot be used, they run on the emulated one (docs/emulated-gpu.md), which is slow in
# nothing but the programs' own work.
#   demo-live.sh BIN_DIR PROGRAMS_DIR EMU_DIR [SECONDS]
set -u
cotenant=$1/cotenant
daemon=$1/cotenantd
progs=$2
emu=$(realpath "$3") || exit 1
seconds=${4:-3}
# A socket's path has 107 bytes: a long TMPDIR would leave too few.
folder=${TMPDIR:-/tmp}
[ ${#folder} -le 40 ] || folder=/tmp
work=$(mktemp -d "$folder/cotenant-demo.XXXXXX") || exit 1
daemon_pid=
mps_pipe=$work/mps
pids=()

# end_all SIGNAL: what was started and not waited for.
end_all() {
	local pid
	for pid in "${pids[@]}" $daemon_pid; do
		kill -"$1" "$pid" 2>/dev/null || :
	done
	for pid in "${pids[@]}" $daemon_pid; do
		wait "$pid" 2>/dev/null || :
	done
	pids=()
	daemon_pid=
}

# The MPS server of the row "MPS" is the demonstration's own.
start_mps() {
	mkdir -p "$mps_pipe" "$work/mps-log" || return 1
	export CUDA_MPS_PIPE_DIRECTORY=$mps_pipe CUDA_MPS_LOG_DIRECTORY=$work/mps-log
	"${COTENANT_MPS_CONTROL:-nvidia-cuda-mps-control}" -d >/dev/null 2>&1
}

end_mps() {
	[ ! -S "$mps_pipe/control" ] || echo quit | CUDA_MPS_PIPE_DIRECTORY=$mps_pipe timeout 5 \
		"${COTENANT_MPS_CONTROL:-nvidia-cuda-mps-control}" >/dev/null 2>&1 || :
	unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

# Its pools have no program any more, but the daemon may have ended before it saw that.
end_pools() {
	local pipe
	for pipe in "$work"/run/gpu*/pipe; do
		[ -S "$pipe/control" ] || continue
		echo quit | CUDA_MPS_PIPE_DIRECTORY=$pipe timeout 5 \
			"${COTENANT_MPS_CONTROL:-nvidia-cuda-mps-control}" >/dev/null 2>&1 || :
	done
}

finish() {
	end_all TERM
	end_mps
	end_pools
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# The daemon of the demonstration is its own, beside one that may run here.
export COTENANT_RUNTIME_DIR=$work/run XDG_CONFIG_HOME=$work
unset COTENANT_SOCKET COTENANT_CLASS COTENANT_NAME COTENANT_WEIGHT COTENANT_GPU COTENANT_DISABLE \
	COTENANT_SOLO COTENANT_BLOCK_US COTENANT_TENANT COTENANT_ROLE LD_PRELOAD
library_path=${LD_LIBRARY_PATH:-}

# ---- which GPU ----

# The folder of the real driver's user part, or nothing. The emulated one does not count.
driver_folder() {
	local folder folders
	IFS=: read -ra folders <<<"$library_path"
	folders+=("$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null |
		awk '/libcuda\.so\.1 \(libc6,/ { sub(/\/[^\/]*$/, "", $NF); print $NF; exit }')")
	folders+=(/usr/lib/x86_64-linux-gnu /usr/lib64 /usr/lib/wsl/lib /usr/local/nvidia/lib64)
	for folder in "${folders[@]}"; do
		if [ -e "$folder/libcuda.so.1" ] && [ "$(realpath "$folder")" != "$emu" ]; then
			echo "$folder"
			return
		fi
	done
}

# last_line FILE: what a program said at the end, as a part of a sentence.
last_line() {
	local line
	line=$(grep -v '^[[:space:]]*$' "$1" 2>/dev/null | tail -1 | cut -c 1-200)
	echo "${line:-it said nothing}"
}

use_gpu() {
	gpu="the GPU of this machine"
	prefix=
	# The programs are linked with the emulated driver; this comes first.
	export LD_LIBRARY_PATH=$1${library_path:+:$library_path}
}

use_emulated_gpu() {
	gpu="an emulated H200"
	# GPU time, from events: what the CPU of this machine is busy with does not count.
	prefix=gpu_
	export LD_LIBRARY_PATH=$emu${library_path:+:$library_path}
	export COTENANT_EMU_DIR=$work/emu COTENANT_MPS_CONTROL=$emu/nvidia-cuda-mps-control
	export COTENANT_GPUS=1
	unset CUDA_VISIBLE_DEVICES CUDA_MPS_PIPE_DIRECTORY
	mkdir -p "$COTENANT_EMU_DIR"
}

# Tries the real GPU. It fails with a sentence in $why; in an empty one where there is none.
try_gpu() {
	local driver status
	why=
	if [ ! -e /dev/nvidiactl ]; then
		[ ! -e /proc/driver/nvidia/version ] ||
			why="The NVIDIA driver is loaded, but there is no /dev/nvidiactl here."
		return 1
	fi
	if ! { : <>/dev/nvidiactl; } 2>/dev/null; then
		why="There is an NVIDIA GPU, but user $(id -un 2>/dev/null || id -u) may not use it (/dev/nvidiactl)."
		return 1
	fi
	driver=$(driver_folder)
	if [ -z "$driver" ]; then
		why="There is an NVIDIA GPU, but its driver's library libcuda.so.1 was not found."
		return 1
	fi
	use_gpu "$driver"
	timeout --foreground -k 5 60 "$progs/request" --count 1 >"$work/try" 2>&1
	status=$?
	[ $status -ne 0 ] || return 0
	[ $status -lt 124 ] || [ -s "$work/try" ] || echo "no answer within a minute" >>"$work/try"
	why="There is an NVIDIA GPU, but it cannot be used: $(last_line "$work/try")."
	return 1
}

# ---- measuring ----

# value NAME FILE: the number behind a name in "name number name number ...".
value() {
	awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }' "$2"
}

row() {
	printf '%-26s %9s %9s %9s   %12s\n' "$@"
}

# The rate of one batch program alone, to which the others' are related.
measure_batch_alone() {
	if ! timeout --foreground -k 5 60 "$progs/batch" --seconds 2 >"$work/batch" 2>&1; then
		why="A batch program failed: $(last_line "$work/batch")."
		return 1
	fi
	batch_alone=$(value per_s "$work/batch")
}

# batch_rates N: of the first batch programs together, in programs alone.
batch_rates() {
	local i
	for ((i = 0; i < $1; i++)); do
		value per_s "$work/batch$i"
	done | awk -v alone="$batch_alone" '{ sum += $1 } END { printf "%.2f", sum / alone }'
}

# measure TITLE N_BATCH [COMMAND...]: COMMAND stands before each program, with its class. It fails
# with a sentence in $why.
measure() {
	local title=$1 n=$2 i rate status
	shift 2
	rm -f "$work"/batch[0-9]
	for ((i = 0; i < n; i++)); do
		"$@" ${1+--class=batch --} "$progs/batch" --seconds $((seconds + 2)) \
			>"$work/batch$i" 2>&1 &
		pids+=($!)
	done
	[ "$n" = 0 ] || sleep 1
	timeout --foreground -k 5 $((seconds + 60)) \
		"$@" ${1+--class=latency --} "$progs/request" --seconds "$seconds" >"$work/request" 2>&1
	status=$?
	end_batch
	[ $status -lt 124 ] || [ -s "$work/request" ] || echo "no answer in time" >>"$work/request"
	if [ $status -ne 0 ]; then
		why="The requests failed: $(last_line "$work/request")."
		return 1
	fi
	for ((i = 0; i < n; i++)); do
		[ -z "$(value kernels "$work/batch$i")" ] || continue
		why="A batch program failed: $(last_line "$work/batch$i")."
		return 1
	done
	rate=-
	[ "$n" = 0 ] || rate=$(batch_rates "$n")
	row "$title" "$(value "${prefix}p50_us" "$work/request") us" \
		"$(value "${prefix}p99_us" "$work/request") us" \
		"$(value "${prefix}max_us" "$work/request") us" "$rate"
}

# They say what they did when they are told to end. One that hangs is killed.
end_batch() {
	local pid until=$((SECONDS + 20))
	for pid in "${pids[@]}"; do
		kill "$pid" 2>/dev/null || :
	done
	for pid in "${pids[@]}"; do
		while kill -0 "$pid" 2>/dev/null && [ $SECONDS -lt $until ]; do
			sleep 0.05
		done
		kill -9 "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	pids=()
}

start_daemon() {
	"$daemon" --log-level warn >"$work/daemon.log" 2>&1 &
	daemon_pid=$!
	for _ in {1..100}; do
		"$cotenant" ps >"$work/ps" 2>&1 && return
		kill -0 $daemon_pid 2>/dev/null || break
		sleep 0.05
	done
	why="cotenantd does not start: $(last_line "$work/daemon.log")."
	return 1
}

# The emulated GPU shows MPS better than it is (docs/emulated-gpu.md), so there it has no row.
measure_mps() {
	local status=0
	[ -z "$prefix" ] || return 0
	if start_mps; then
		measure "MPS" 2 || status=1
	else
		row "MPS" - - - "not there"
	fi
	end_mps
	return $status
}

# Fails with a sentence in $why.
demonstrate() {
	cat <<END

Requests of 100 us and two batch programs, whose kernels take 43 ms each, share $gpu.

END
	measure_batch_alone || return 1
	row "" p50 p99 longest "batch"
	measure "alone" 0 || return 1
	measure "time slicing, as usual" 2 || return 1
	measure_mps || return 1
	start_daemon || return 1
	measure "cotenant run" 2 "$cotenant" run --required || return 1
	cat <<'END'

p50, p99, longest: of the time that a request takes. batch: what both batch programs do, in times
what one does alone.
END
	[ -z "$prefix" ] || echo "README.md has MPS beside these, measured on an H200."
	if [ -s "$work/daemon.log" ]; then
		echo
		echo "The daemon says:"
		cat "$work/daemon.log"
	fi
}

if try_gpu; then
	if demonstrate; then
		done=1
	else
		why="This does not work on the GPU of this machine. $why"
	fi
fi
if [ -z "${done-}" ]; then
	end_all TERM
	if [ -n "$why" ]; then
		echo
		echo "$why"
		[ ! -s "$work/daemon.log" ] || sed 's/^/  daemon: /' "$work/daemon.log"
		echo "The emulated GPU is used instead; 'cotenant doctor' may say more."
	fi
	use_emulated_gpu
	if ! demonstrate; then
		echo "$why" >&2
		exit 1
	fi
fi
cat <<'END'

Next: cotenant doctor                                  what works on this machine
      cotenant run --class latency -- PROGRAM          and --class batch for the others
      cotenant ps                                      while they run
END
