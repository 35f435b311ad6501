#!/bin/sh
# Whether a second process could launch kernels for a program (docs/consolidate.md), asked of this machine's GPU: one
# line of JSON for each question, without MPS and as two clients of one MPS server. The server is started for this alone,
# in a folder of its own, and ended. Takes less than SECONDS (60).
#
#   probe-backend.sh [-o FILE] [--budget SECONDS] [--program FILE]
#
# Without --program, the program is compiled with cc into the temporary folder.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
output='' budget=60 program=''
while [ $# -gt 0 ]; do
	case $1 in
	-o | --budget | --program)
		[ $# -gt 1 ] || { echo "probe-backend.sh: $1 needs a value" >&2; exit 2; }
		case $1 in -o) output=$2 ;; --budget) budget=$2 ;; *) program=$2 ;; esac
		shift 2 ;;
	*) sed -n '2,8s/^# \{0,1\}//p' "$0"
		[ "$1" = --help ] && exit
		exit 2 ;;
	esac
done

case $budget in '' | *[!0-9]*) echo "probe-backend.sh: --budget is '$budget'; expected seconds" >&2; exit 2 ;; esac

begin=$(date +%s)
dir=$(mktemp -d "${TMPDIR:-/tmp}/probe-backend.XXXXXX")
control=${COTENANT_MPS_CONTROL:-nvidia-cuda-mps-control}
export CUDA_MPS_LOG_DIRECTORY="$dir/log"

finish() {
	trap - EXIT INT TERM HUP
	if [ -e "$dir/pipe/control" ]; then
		servers=$(echo get_server_list | timeout 2 "$control" 2>/dev/null | grep -xE '[0-9]+') || servers=
		echo quit -t 1 | timeout 4 "$control" >"$dir/quit" 2>&1 || :
		# What a fault left behind, if anything.
		for pid in $(cat "$dir/pipe/nvidia-cuda-mps-control.pid" 2>/dev/null) $servers; do
			if grep -qs nvidia-cuda-mps "/proc/$pid/cmdline"; then kill -9 "$pid" || :; fi
		done
	fi
	rm -rf "$dir"
}
trap finish EXIT
trap 'finish; exit 130' INT TERM HUP

if [ -z "$program" ]; then
	program=$dir/probe
	${CC:-cc} -std=gnu11 -O2 -o "$program" "$here"/*.c -ldl
fi

# A question takes a second or two; on a busy machine more, for which a large budget leaves time.
most=$((budget / 12))
[ "$most" -gt 9 ] || most=9

left() { echo $((budget - 4 - $(date +%s) + begin)); }

ask() { # WAY
	for question in equal-addresses ipc-memory events launches killed fault; do
		seconds=$(left)
		if [ "$seconds" -lt 3 ]; then
			echo "{\"question\": \"$question\", \"way\": \"$1\", \"works\": null, \"failures\": [\"no time was left\"]}"
			continue
		fi
		[ "$seconds" -lt "$most" ] || seconds=$most
		# The program ends its processes itself; timeout is there if it cannot.
		timeout -s KILL $((seconds + 6)) "$program" "$question" "$seconds" "$1" ||
			echo "{\"question\": \"$question\", \"way\": \"$1\", \"works\": false, \"failures\": [\"the program ended with $?\"]}"
	done
}

all() {
	export CUDA_MPS_PIPE_DIRECTORY="$dir/none"
	ask alone
	mkdir "$dir/pipe" "$dir/log"
	export CUDA_MPS_PIPE_DIRECTORY="$dir/pipe"
	if timeout 10 "$control" -d >"$dir/start" 2>&1; then
		ask mps
	else
		echo "{\"question\": \"mps\", \"works\": false, \"failures\": [\"$control -d: $(tr -cd '[:alnum:][:blank:].:/-' <"$dir/start")\"]}"
	fi
}

if [ -n "$output" ]; then
	all >"$output.part"
	mv "$output.part" "$output"
else
	all
fi
