#!/bin/sh
# PTX kernels of two pools in both modes of preemption: whatever is done to one of the programs or
# pools, by the daemon or by the system, programs go on afterwards and compute the same.
# shellcheck disable=SC2317,SC2034 # functions that until_true calls
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

# Kernels of 512 blocks, one after another; requests of 16 blocks every 10 ms.
start_batch() {
	background "$COTENANT" run --name batch -- "$PROGS/ptx_loop" --seconds 100 --blocks 512 \
		--rounds 20 >"$work/batch" 2>&1
	batch=$pid
}

start_server() {
	background "$COTENANT" run --class latency --name svc -- "$PROGS/ptx_loop" --seconds 100 \
		--blocks 16 --rounds 20 --period-us 10000 >"$work/svc" 2>&1
	svc=$pid
}

n_steps() {
	awk '$1 == "step" { n = $2 } END { print n + 0 }' "$work/$1"
}

beyond() {
	[ "$(n_steps "$1")" -gt "$2" ]
}

# goes_on PROGRAM WHEN: it makes some steps more.
goes_on() {
	until_true 20 beyond "$1" $(($(n_steps "$1") + 3)) ||
		fail "$mode: $1 does not go on $2: $(tail -2 "$work/$1")"
}

both_go_on() {
	goes_on svc "$1"
	goes_on batch "$1"
}

# ends_well PROGRAM PID
ends_well() {
	kill -TERM "$2"
	wait "$2" || fail "$mode: $1 ended with $?: $(tail -2 "$work/$1")"
	says "$work/$1" " wrong 0 "
}

a_freeze() {
	freezes pool:batch || fail "$mode: freeze: $(cat "$work/out")"
	sleep 0.1
	frozen=$(n_steps batch)
	goes_on svc "beside a frozen pool"
	# One kernel may have been through already.
	[ "$(n_steps batch)" -le $((frozen + 1)) ] || fail "$mode: a frozen pool makes steps"
	"$COTENANT" thaw pool:batch >"$work/out" 2>&1 || fail "$mode: thaw: $(cat "$work/out")"
	both_go_on "after a freeze"
}

slices() {
	for slice in 20us 3ms 100us auto; do
		"$COTENANT" set pool:batch --slice "$slice" >/dev/null || fail "$mode: --slice $slice"
		both_go_on "with a slice of $slice"
	done
	"$COTENANT" set pool:latency --slice 30us >/dev/null || fail "$mode: --slice"
	both_go_on "with short slices"
	"$COTENANT" set pool:latency --slice auto >/dev/null || fail "$mode: --slice auto"
}

# A stopped process is not a frozen one; what waits for its blocks waits until it goes on.
stops() {
	for pid in "$batch" "$svc"; do
		kill -STOP "$pid"
		sleep 0.2
		kill -CONT "$pid"
		both_go_on "after a stop"
	done
}

kills() {
	kill -9 "$batch"
	wait "$batch" 2>/dev/null
	goes_on svc "after the other one's death"
	start_batch
	both_go_on "with a newcomer"
	kill -9 "$svc"
	wait "$svc" 2>/dev/null
	goes_on batch "after the server's death"
	start_server
	both_go_on "with a new server"
}

start_daemon
start_batch
goes_on batch "alone"
start_server
for mode in switch drain; do
	"$COTENANT" set pool:batch --mode $mode >/dev/null || fail "--mode $mode"
	expect_value batch mode $mode
	both_go_on "in this mode"
	for round in 1 2; do
		a_freeze
		slices
		stops
		kills
		[ "$n_failed" -eq 0 ] || break
	done
done
ends_well svc "$svc"
ends_well batch "$batch"
finish
