#!/bin/bash
# The fourth part of ./dev demo: two ordinary CUDA programs with shares of a GPU, under the policy
# smguard. The batch program has to give SMs up whenever the other one has something to do. On a
# machine without a GPU they run on the emulated one, which executes their kernels.
#   demo-shares.sh BIN_DIR EMU_DIR [SECONDS]
set -eu
cotenant=$1/cotenant
daemon=$1/cotenantd
program=$1/smguard-app
emu=$(realpath "$2")
seconds=${3:-3}
quota=75% reserve=60%
work=$(mktemp -d)
daemon_pid='' batch_pid=''

# Its pool has no program any more, but the daemon may have ended before it saw that.
end_pools() {
	local pipe
	for pipe in "$work"/run/gpu*/pipe; do
		[ -S "$pipe/control" ] || continue
		echo quit | CUDA_MPS_PIPE_DIRECTORY=$pipe timeout 5 \
			"${COTENANT_MPS_CONTROL:-nvidia-cuda-mps-control}" >/dev/null 2>&1 || :
	done
}

finish() {
	local pid
	for pid in $batch_pid $daemon_pid; do
		kill "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	end_pools
	rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' INT TERM

# The daemon of the demonstration is its own, beside one that may run here.
export COTENANT_RUNTIME_DIR=$work/run XDG_CONFIG_HOME=$work
unset COTENANT_SOCKET COTENANT_CLASS COTENANT_NAME COTENANT_WEIGHT COTENANT_GPU COTENANT_DISABLE \
	COTENANT_QUOTA COTENANT_RESERVE

if [ -e /dev/nvidiactl ]; then
	gpu="the GPU of this machine"
	size=gpu
	short_us=1000
else
	gpu="an emulated H200 with 16 of its SMs"
	size=tiny
	# What a GPU does in microseconds takes the interpreter milliseconds.
	short_us=1000000
	export COTENANT_EMU_DIR=$work/emu COTENANT_MPS_CONTROL=$emu/nvidia-cuda-mps-control
	export COTENANT_GPUS=1 COTENANT_EMU_SMS=16
	export LD_LIBRARY_PATH=$emu${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
	mkdir "$COTENANT_EMU_DIR"
fi
case $size in
gpu) batch=(matrixMul --size gpu) request=(nn --size gpu) ;;
*) batch=(BlackScholes --blocks 4000) request=(nn --blocks 700) ;;
esac

# look NAME FIELD: a number that the daemon has of a program.
look() {
	awk -v name="\"$1\"," -v field="\"$2\":" '
		$1 == "\"name\":" { here = $2 == name }
		here && $1 == field { sub(/,$/, "", $2); print $2; exit }' "$work/stats"
}

# held NAME: the CapSMs that it has now.
held() {
	echo $(($(look "$1" granted) + 0 - $(look "$1" evicted) + 0))
}

checked() {
	# Of whole lines: the batch program is still writing.
	awk '/"event":"check".*}$/ { of++; same += /"same":true/ }
		END { printf "%d of %d as alone", same, of }' "$work/$1"
}

right() {
	grep -q '"right":true' "$work/$1" && echo "the CPU's" || echo "WRONG"
}

failed() {
	echo "demo-shares: $1"
	cat "$work/daemon.log" "$work/errors"
	exit 1
}

printf 'schema: cotenantd/1\npolicy: smguard\nadapt_task_us: %s\n' $short_us >"$work/conf"
"$daemon" --config "$work/conf" --log-level warn >"$work/daemon.log" 2>&1 &
daemon_pid=$!
for _ in {1..100}; do
	"$cotenant" ps >"$work/ps" 2>&1 && break
	sleep 0.05
done

cat <<END

Now shares, on $gpu: a batch program with at most $quota of the SMs, and
one that finds $reserve free when it has a request.

  cotenant run --class batch   --quota $quota   -- ${program##*/} ${batch[*]}
  cotenant run --class latency --reserve $reserve -- ${program##*/} ${request[*]}

END
: >"$work/batch"
"$cotenant" run --required --class batch --name batch --quota $quota -- "$program" "${batch[@]}" \
	--repeat 1000000 >"$work/batch" 2>"$work/errors" &
batch_pid=$!
alone=0 beside=0 most=0
for ((i = 0; i < 20 * seconds; i++)); do
	kill -0 $batch_pid 2>/dev/null || failed "the batch program has ended"
	[ "$(grep -c '"check"' "$work/batch")" -lt 2 ] || break
	sleep 0.05
done
for ((i = 0; i < 8; i++)); do
	"$cotenant" stats --json >"$work/stats"
	[ "$(held batch)" -le "$alone" ] || alone=$(held batch)
	sleep 0.02
done
"$cotenant" run --required --class latency --name request --reserve $reserve -- "$program" \
	"${request[@]}" --repeat $((4 * seconds)) --interval 150000 >"$work/request" \
	2>>"$work/errors" &
request_pid=$!
while kill -0 $request_pid 2>/dev/null; do
	"$cotenant" stats --json >"$work/now"
	grep -q '"name": "request"' "$work/now" || continue
	mv "$work/now" "$work/stats"
	with=$(held request)
	n=$(held batch)
	[ "$with" -le "$most" ] || [ "$beside" != 0 ] || most=$with
	# Between two kernels, or when it had to leave wholly, it holds none.
	if [ "$with" -eq 0 ] || [ "$n" -eq 0 ]; then
		continue
	fi
	if [ "$beside" -eq 0 ] || [ "$n" -lt "$beside" ]; then
		beside=$n most=$with
	fi
done
wait $request_pid || failed "the latency program failed"

sms=$(look batch n_sms)
row() {
	printf '%-9s %-12s %11s %12s %11s %9s   %s\n' "$@"
}
row "" share "SMs alone" "SMs beside" evictions tasks "results"
row batch "quota $quota" "$alone of $sms" "$beside of $sms" "$(look batch evictions)" \
	"$(look batch tasks)" "$(right batch); $(checked batch)"
row request "reserve $reserve" - "$most of $sms" "$(look request evictions)" \
	"$(look request tasks)" "$(right request); $(checked request)"
! grep -q '"same":false\|"right":false' "$work/batch" "$work/request" || exit 1
cat <<'END'

Next: docs/smguard.md                                  whom shares reach, and whom not
      cotenant set NAME --quota 40sm                   another share, at once
      cotenant stats                                   who had to leave, and how quickly
END
