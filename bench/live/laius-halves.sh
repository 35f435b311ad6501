#!/bin/sh
# bench/live/laius.py on two GPUs of one machine at once, half of the batch programs on each:
#
#   bench/live/laius-halves.sh OUT SECONDS [ARGUMENT...]
#
# First what both halves need of the services: profiles of four on the first GPU, of two and all times alone on the second; and
# each the profiles of its batch programs. SECONDS are all that it takes; the same again goes on where it stopped. ARGUMENTs are laius.py's;
# for --batch and --ways there are FIRST_HALF, SECOND_HALF and WAYS in the environment.
out=${1:?where to} seconds=${2:?how long}
shift 2
first=${FIRST_HALF:-gemm,resnet-train,gpt2-train,whisper-train}
second=${SECOND_HALF:-copy,bert-train,jax-train,pegasus-train}
ways=${WAYS:-laius,baymax,mps-priority,slo}
some=resnet-graph,req,gpt,bert-graph others=resnet-eager,req-graph
services=$some,$others
end=$(($(date +%s) + seconds))
here=$(dirname "$0")

# half GPU BATCH ONLY [ARGUMENT...]: with all the time that is left.
half() {
	gpu=$1 batch=$2 only=$3
	shift 3
	"${PYTHON:-python3}" "$here/laius.py" --gpu "$gpu" --cells "$out/cells" --out "$out/gpu$gpu" --services "$services" \
		--batch "$batch" --ways "$ways" --only "$only" --budget $((end - $(date +%s) - 5)) "$@" >>"$out/gpu$gpu.log" 2>&1
}

# know NAMES: their cells
know() {
	echo "$1" | sed 's/[^,]*/know.&/g'
}

mkdir -p "$out"
"${PYTHON:-python3}" "$here/laius.py" --cells "$out/cells" --out "$out" --merge "$@" >/dev/null || exit
half 0 "$first" "$(know "$some,$first")" "$@" &
half 1 "$second" "rows.alone,$(know "$others,$second")" "$@"
wait
half 0 "$first" "" "$@" &
half 1 "$second" "" "$@"
wait
"${PYTHON:-python3}" "$here/laius.py" --cells "$out/cells" --out "$out" --services "$services" --merge
