#!/bin/sh
# Programs whose part of the GPU changes all the time: random operations over streams, events, graphs,
# copies and callbacks have the results that they have without. PERIOD_US and SECONDS_EACH may be set
# for longer runs.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
period=${PERIOD_US:-300}
seconds=${SECONDS_EACH:-3}
socket=$work/placer

# placed CHANGES SEED [PACE_US [HOLD_PERCENT]]: a daemon that moves programs about, with what it says in $work/placer.out.
placed() {
	rm -f "$socket"
	background env PACE_US="${3:-0}" HOLD="${4:-0}" "$PROGS/placer" "$socket" "$period" "$1" "$2" >"$work/placer.out" 2>&1
	placer=$pid
	until_true 5 test -S "$socket" || fail "no placer: $(cat "$work/placer.out")"
}

# parts ARGUMENT...: the program under the shim; its output is in $work/out.
parts() {
	placed_program parts "$@"
}

placed_program() {
	program=$1
	shift
	COTENANT_SOCKET=$socket COTENANT_PARTS=1 COTENANT_SHIM_DRIVER=$EMU/libcuda.so.1 \
		LD_PRELOAD=${COTENANT_LIBRARY%/*}/shim/libcuda.so.1 timeout 200 "$PROGS/$program" "$@" >"$work/out" 2>&1
	status=$?
	[ $status -eq 0 ] || fail "$program $*: status $status: $(cat "$work/out")"
	says "$work/out" "wrong 0"
}

expect_placed() {
	until_true 5 test -s "$work/placer.out" || fail "the placer says nothing"
	[ "$(value placed "$work/placer.out")" -ge "$1" ] ||
		fail "too few changes: $(cat "$work/placer.out")"
	# All parts that there is room for may be in use; then one more is refused.
	[ "$(value failed "$work/placer.out")" -le $(($(value placed "$work/placer.out") / 4)) ] ||
		fail "many changes are refused: $(cat "$work/placer.out")"
	[ "$(value stayed "$work/placer.out")" -eq 0 ] || fail "some stay: $(cat "$work/placer.out")"
	[ "$(value followed "$work/placer.out")" -ge 100 ] || fail "nothing follows: $(cat "$work/placer.out")"
}

for seed in 1 2 3; do
	placed 1000000000 $seed
	parts --seconds "$seconds" --seed $seed
	expect_placed 200
	wait "$placer"
done

# Several threads share their streams.
placed 1000000000 4
parts --seconds "$seconds" --seed 40 --threads 4
expect_placed 200
wait "$placer"

# With a pace that comes and goes: the same, and launches wait for the GPU.
placed 1000000000 6 200
parts --seconds "$seconds" --seed 60 --threads 4
expect_placed 200
[ "$(value paced "$work/placer.out")" -ge 100 ] || fail "nothing is paced: $(cat "$work/placer.out")"
[ "$(value waits "$work/placer.out")" -ge 10 ] || fail "nothing waits: $(cat "$work/placer.out")"
wait "$placer"

# Held half of the time: the same, and launches wait for the daemon.
placed 1000000000 9 0 50
parts --seconds "$seconds" --seed 90 --threads 4
expect_placed 200
[ "$(value held "$work/placer.out")" -ge 100 ] || fail "nothing is held: $(cat "$work/placer.out")"
wait "$placer"

# Held for longer than a hold may last: the launches go on, each time.
period=200000
placed 1000000000 10 0 100
period=${PERIOD_US:-300}
parts --seconds 2 --seed 100
until_true 5 test -s "$work/placer.out" || fail "the placer says nothing"
[ "$(value lapsed "$work/placer.out")" -ge 2 ] || fail "a hold lasts for ever: $(cat "$work/placer.out")"
wait "$placer"

# What random programs do not do (docs/parts-streams.md). Kernels that wait for others, and cooperative launches
# that are larger than the part, stay: some do, but not all.
placed 1000000000 6
placed_program stream_cases --seconds "$seconds"
until_true 5 test -s "$work/placer.out" || fail "the placer says nothing"
[ "$(value stayed "$work/placer.out")" -ge 20 ] || fail "all follow: $(cat "$work/placer.out")"
[ "$(value followed "$work/placer.out")" -ge 100 ] || fail "nothing follows: $(cat "$work/placer.out")"
wait "$placer"

# Two programs with parts of their own order their work by events that both have.
placed 1000000000 7
placed_program ipc_events --seconds "$seconds"
[ "$(value rounds "$work/out")" -ge 20 ] || fail "few rounds: $(cat "$work/out")"
expect_moved() {
	[ "$(value placed "$work/placer.out")" -ge 50 ] || fail "too few changes: $(cat "$work/placer.out")"
}
until_true 5 test -s "$work/placer.out" || fail "the placer says nothing"
expect_moved
wait "$placer"

# The first launches of a program with a limit are in a capture: nothing may spoil that.
for kind in 0 1 2; do
	placed 1000000000 8
	COTENANT_SMS=64 placed_program capture_first --kind $kind
	wait "$placer"
done

# The daemon goes in the middle: the program stays where it is, and goes on.
placed 1000000000 5
(sleep 1 && kill -9 "$placer") &
parts --seconds 2 --seed 50
wait "$placer" 2>/dev/null

finish
