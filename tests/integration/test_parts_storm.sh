#!/bin/sh
# Random programs whose parts change at random moments, while everything happens to them at once: two and more
# clients of one MPS server, some with a percentage of it; programs that fork, are killed or stopped; daemons
# that are killed and replaced, every other one of them with a pace. All results are as without changes. For a longer run:
#   CHANGES=100000 SEED=1 REPORT=FILE
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
changes=${CHANGES:-1500} seed=${SEED:-1} rounds=0 n_killed=0 n_stopped=0 n_daemons=0
n_operations=0 n_checks=0
socket=$work/placer
sum=$work/sum
: >"$work/lines"

CUDA_MPS_PIPE_DIRECTORY=$work/pipe CUDA_MPS_LOG_DIRECTORY=$work
export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
mkdir -p "$work/pipe"
"$EMU/nvidia-cuda-mps-control" -d || fail "no MPS control daemon"

# random N: below N; the same for each SEED.
state=$seed
random() {
	state=$(((state * 1103515245 + 12345) % 2147483648))
	drawn=$((state / 65536 % $1))
}

n_changes() {
	[ ! -e "$sum" ] || od -An -tu8 "$sum" | tr -d ' '
}

place() {
	random 30000
	rm -f "$socket"
	background env PACE_US=$((drawn % 2 * 300)) "$PROGS/placer" "$socket" 150 1000000000 "$drawn" "$sum" >>"$work/placer.out" 2>&1
	placer=$pid
	n_daemons=$((n_daemons + 1))
	until_true 5 test -S "$socket" || fail "no placer: $(cat "$work/placer.out")"
}

# program NAME ARGUMENT...: under the shim; its number is in $pid.
program() {
	random 30000
	name=$1
	shift
	background env COTENANT_SOCKET="$socket" COTENANT_PARTS=1 COTENANT_SHIM_DRIVER="$EMU/libcuda.so.1" \
		LD_PRELOAD="${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" \
		"$PROGS/parts" --seed "$drawn" "$@" >"$work/$name" 2>&1
}

# expect_right NAME PID
expect_right() {
	wait "$2" || fail "$1 ended with $? (SEED=$seed, round $rounds): $(cat "$work/$1")"
	says "$work/$1" " wrong 0 "
	n_operations=$((n_operations + $(value operations "$work/$1")))
	n_checks=$((n_checks + $(value checks "$work/$1")))
}

# What happens meanwhile, for so many steps.
trouble() {
	n=0
	while [ $n -lt "$1" ]; do
		random 4
		case $drawn in
		0)
			program victim --seconds 100
			random 40
			sleep "0.$((10 + drawn))"
			kill -9 "$pid"
			wait "$pid" 2>/dev/null
			n_killed=$((n_killed + 1))
			;;
		1)
			kill -9 "$placer"
			wait "$placer" 2>/dev/null
			random 9
			sleep "0.0$drawn"
			place
			;;
		*)
			random 2
			stopped=$one
			[ "$drawn" = 0 ] || stopped=$two
			kill -STOP "$stopped" || return
			random 9
			sleep "0.0$drawn"
			kill -CONT "$stopped"
			n_stopped=$((n_stopped + 1))
			;;
		esac
		random 20
		sleep "0.$((10 + drawn))"
		n=$((n + 1))
	done
}

while [ "$(n_changes)" -lt "$changes" ] 2>/dev/null || [ $rounds = 0 ]; do
	rounds=$((rounds + 1))
	place
	program one --seconds 4 --forks 1
	one=$pid
	program two --seconds 4 --threads 3
	two=$pid
	CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$((10 * (1 + rounds % 9)))
	export CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
	program three --seconds 2
	three=$pid
	unset CUDA_MPS_ACTIVE_THREAD_PERCENTAGE
	trouble 8
	expect_right one "$one"
	expect_right two "$two"
	expect_right three "$three"
	kill -9 "$placer" 2>/dev/null
	wait "$placer" 2>/dev/null
	[ "$n_failed" = 0 ] || break
	[ $rounds -lt 2000 ] || fail "only $(n_changes) changes"
done
echo quit | "$EMU/nvidia-cuda-mps-control" >/dev/null

echo "seed $seed changes $(n_changes) rounds $rounds operations $n_operations checks $n_checks killed $n_killed" \
	"stopped $n_stopped daemons $n_daemons wrong $n_failed" | tee "${REPORT:-/dev/null}"
finish
