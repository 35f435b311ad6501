#!/bin/bash
# walk-gpu.sh [OUT]: a PyTorch service with a target beside a PyTorch training, on this machine's GPU, under cotenant, in
# less than 90 s. Writes what each command printed and how long it took to OUT (build/walk-gpu), one file a step; what is
# there already is not measured again. COTENANT, PYTHON: the programs. P99: the target (5ms).
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
out=${1:-build/walk-gpu} cotenant=${COTENANT:-cotenant} python=${PYTHON:-python3} target=${P99:-5ms}
example=$here/examples/pytorch
mkdir -p "$out"
began=$SECONDS
pids=
finish() {
	for pid in $pids; do
		kill "$pid" 2>/dev/null || true
	done
}
trap finish EXIT
trap 'exit 130' INT TERM

# step NAME COMMAND...: its output, whatever its status.
step() {
	local name=$1 from status=0
	shift
	from=$(date +%s%N)
	"$@" >"$out/$name.part" 2>&1 || status=$?
	printf '# %s: status %d, %d ms\n' "$*" "$status" $((($(date +%s%N) - from) / 1000000)) >>"$out/$name.part"
	mv "$out/$name.part" "$out/$name.txt"
}

# until_says WORD FILE PROCESS
until_says() {
	local tries=0
	until grep -q "^$1" "$2"; do
		if ! kill -0 "$3" 2>/dev/null || [ $((tries += 1)) -gt 400 ]; then
			echo "walk-gpu.sh: $2 did not come to '$1':" >&2
			tail -n 5 "$2" >&2
			exit 1
		fi
		sleep 0.1
	done
}

[ ! -e "$out/explain.txt" ] || {
	echo "walk-gpu.sh: $out is there already"
	exit 0
}
step doctor timeout 20 "$cotenant" doctor
[ -e "$out/alone.txt" ] || step alone timeout 40 "$python" "$example/serve.py" --seconds 8
"$cotenant" run --class batch --name train --required -- "$python" "$example/train.py" >"$out/train.log" 2>&1 &
train=$!
pids=$train
until_says training "$out/train.log" $train
"$cotenant" run --name serve --p99 "$target" --required -- "$python" "$example/serve.py" --seconds 20 \
	>"$out/serve.log" 2>&1 &
serve=$!
pids="$train $serve"
until_says serving "$out/serve.log" $serve
sleep 15
step ps "$cotenant" ps
step stats "$cotenant" stats
step explain "$cotenant" explain serve
wait $serve || echo "walk-gpu.sh: the service failed" >&2
kill $train
wait $train || true
pids=
tail -n 1 "$out/serve.log" "$out/train.log" "$out/alone.txt"
echo "The walk took $((SECONDS - began)) s; all is in $out."
