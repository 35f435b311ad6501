#!/bin/sh
# bench/live/targets.py on two GPUs of one machine at once, half of the mixes on each:
#
#   bench/live/targets-halves.sh OUT SECONDS [ARGUMENT...]
#
# SECONDS are all that it takes; the same again goes on where it stopped. ARGUMENTs are targets.py's; for --only there are
# FIRST_HALF and SECOND_HALF in the environment. No mix may be in both: all starts of one belong to one GPU.
out=${1:?where to} seconds=${2:?how long}
shift 2
first=${FIRST_HALF:-t1,t4,t5,bert}
second=${SECOND_HALF:-t2,t3,t6,gpt}
end=$(($(date +%s) + seconds))
here=$(dirname "$0")

targets() {
	"${PYTHON:-python3}" "$here/targets.py" --cells "$out/cells" "$@"
}

# half GPU ONLY [ARGUMENT...]: with all the time that is left.
half() {
	gpu=$1 only=$2
	shift 2
	targets --gpu "$gpu" --out "$out/gpu$gpu" --only "$only" --budget $((end - $(date +%s) - 5)) "$@" >>"$out/gpu$gpu.log" 2>&1
}

mkdir -p "$out"
targets --out "$out" --merge "$@" >/dev/null || exit # what --from names is there before both begin
half 0 "$first" "$@" &
half 1 "$second" "$@"
status=$?
wait $! || status=$?
targets --out "$out" --merge && exit $status
