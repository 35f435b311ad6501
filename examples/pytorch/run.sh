#!/bin/bash
# A PyTorch service beside a PyTorch training: alone, by time slicing, in MPS, under cotenant; side by side, in about
# three minutes.
#   run.sh [SECONDS]        of each measurement; 15 if not given
# PYTHON is the interpreter that has PyTorch (python3), COTENANT the program cotenant, SERVE_OPTIONS and
# TRAIN_OPTIONS what else serve.py and train.py are told, P99 the target (by default 1.5 times alone: --slowdown).
set -u
here=$(cd "$(dirname "$0")" && pwd)
seconds=${1:-15}
python=${PYTHON:-python3}
cotenant=${COTENANT:-cotenant}
read -ra serve_options <<<"${SERVE_OPTIONS-}"
read -ra train_options <<<"${TRAIN_OPTIONS-}"
target=(--slowdown 1.5x)
[ -z "${P99-}" ] || target=(--p99 "$P99")
mps=${COTENANT_MPS_CONTROL:-nvidia-cuda-mps-control}
work=$(mktemp -d -t cotenant-pytorch.XXXXXX) || exit 1
serve=
train=

end_one() {
	[ -n "$1" ] || return 0
	kill "$1" 2>/dev/null
	for _ in {1..100}; do
		kill -0 "$1" 2>/dev/null || break
		sleep 0.1
	done
	kill -9 "$1" 2>/dev/null
	wait "$1" 2>/dev/null
}

end_mps() {
	[ ! -S "$work/mps/control" ] || echo quit | timeout 5 "$mps" >/dev/null 2>&1
	unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

finish() {
	end_one "$serve"
	end_one "$train"
	end_mps
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# give_up WHAT FILE
give_up() {
	echo "run.sh: $1; it said:" >&2
	tail -5 "$2" >&2
	exit 1
}

# until_says WORD FILE PROCESS WHAT
until_says() {
	local tries=0
	until grep -q "^$1" "$2"; do
		kill -0 "$3" 2>/dev/null || give_up "$4 ended too early" "$2"
		[ $((tries += 1)) -le 1800 ] || give_up "$4 did not begin within three minutes" "$2"
		sleep 0.1
	done
}

# value NAME FILE: the number behind a name.
value() {
	awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) value = $(i + 1) } END { print value }' "$2"
}

# begin_train [COMMAND...], begin_serve [COMMAND...]: COMMAND stands before the program.
begin_train() {
	: >"$work/train"
	"$@" "$python" "$here/train.py" "${train_options[@]}" >"$work/train" 2>&1 &
	train=$!
	until_says training "$work/train" $train "the training"
}

begin_serve() {
	: >"$work/serve"
	timeout --foreground -k 5 $((seconds + 240)) \
		"$@" "$python" "$here/serve.py" --seconds "$seconds" "${serve_options[@]}" >"$work/serve" 2>&1 &
	serve=$!
	until_says serving "$work/serve" $serve "the service"
}

end_serve() {
	wait "$serve" || give_up "the service failed" "$work/serve"
	serve=
}

end_train() {
	kill -0 "$train" 2>/dev/null || give_up "the training ended too early" "$work/train"
	kill "$train"
	wait "$train" || give_up "the training failed" "$work/train"
	train=
}

row() {
	printf '%-24s %10s %10s %16s\n' "$@"
}

# show TITLE: requests, and the rate of the training if it ran.
show() {
	local rate=-
	[ -z "${2-}" ] || rate=$(awk -v rate="$(value per_s "$work/train")" -v alone="$2" \
		'BEGIN { printf "%.2f", rate / alone }')
	row "$1" "$(value p50_ms "$work/serve") ms" "$(value p99_ms "$work/serve") ms" "$rate"
}

# beside TITLE: both, without cotenant.
beside() {
	begin_train
	begin_serve
	kill -USR1 "$train"
	end_serve
	end_train
	show "$1" "$alone"
}

"$python" -c 'import torch' 2>"$work/torch" || give_up "$python has no PyTorch (PYTHON names another)" "$work/torch"
command -v "$cotenant" >/dev/null || {
	echo "run.sh: there is no $cotenant here (COTENANT names it; ./dev build makes build/bin/cotenant)" >&2
	exit 1
}

row "" p50 p99 "training's rate"
begin_serve
end_serve
show "alone"
begin_train
kill -USR1 "$train"
sleep "$seconds"
end_train
alone=$(value per_s "$work/train")
beside "time slicing, as usual"
mkdir -p "$work/mps"
export CUDA_MPS_PIPE_DIRECTORY=$work/mps CUDA_MPS_LOG_DIRECTORY=$work/mps
if "$mps" -d >/dev/null 2>&1; then
	beside "MPS"
else
	row "MPS" - - "not here"
fi
end_mps
begin_train "$cotenant" run --class batch --name train --required --
begin_serve "$cotenant" run --class latency --name serve --required --
kill -USR1 "$train"
end_serve
end_train
show "cotenant" "$alone"
begin_train "$cotenant" run --class batch --name train --required --
begin_serve "$cotenant" run --class latency --name serve "${target[@]}" --required --
kill -USR1 "$train"
end_serve
end_train
show "cotenant ${target[*]}" "$alone"
cat <<END

p50, p99: from the arrival of a request to its answer. training's rate: in steps a second, of what it does alone
($alone). Is a figure not as you expect it? $here/README.md says where to look.
END
