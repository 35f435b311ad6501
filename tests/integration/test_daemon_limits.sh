#!/bin/sh
# More programs than places, more connections than descriptors, orders that nobody answers.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

start_daemon
background "$PEER" crowd 64 600 >"$work/crowd"
until_true 5 has_programs 64 || fail "$(n_programs) of 64 programs"
until_true 5 test -s "$work/crowd"
says "$work/crowd" "welcomed 64 refused 0"
"$PEER" crowd 300 0.2 >"$work/out"
says "$work/out" "welcomed 192 refused 108"
until_true 5 has_programs 64 || fail "$(n_programs) after the crowd"
"$COTENANT" ps --json >"$work/out" || fail "ps of 64"
kill "$pid"
wait "$pid"
until_true 5 has_programs 0 || fail "$(n_programs) left"

# One that never answers: the command says so, others go on.
background "$PEER" library --name mute --silent >"$work/mute"
background "$PEER" library --name good >"$work/good"
expect_value good slice_us 2000
"$COTENANT" freeze mute >"$work/out" 2>&1 && fail "a mute program froze"
freezes good || fail "freeze of the good one"
"$COTENANT" thaw good >"$work/out" || fail "thaw of the good one"

# Those who ask without end do not keep a lease from being renewed, or a command from its effect.
# What the daemon waits for a processor, on a machine that has other work too, is not its fault.
background "$PEER" library --name leased --daemon "$daemon_pid" >"$work/leased"
expect_value leased slice_us 2000
background "$PEER" crowd 64 600 >"$work/crowd"
crowd_pid=$pid
until_true 5 has_programs 67 || fail "$(n_programs) of 67 programs"
freezes leased || fail "freeze of the leased one"
background "$PEER" ask 60 1 >"$work/ask"
sleep 0.3
"$PEER" weight good 5 "$daemon_pid" >"$work/weight" || fail "set beside questions"
expect_between 0 $((100 * SLOWER)) "$(value longest "$work/weight")" "time of a command beside questions, ms,"
wait "$pid"
kill "$crowd_pid"
says "$work/ask" asked
says_not "$work/leased" lapsed
"$COTENANT" thaw leased >"$work/out" || fail "thaw beside questions"

# A daemon that was stopped, and more commands than the kernel lets stand in line: they give up.
kill -STOP "$daemon_pid"
n=0
while [ $n -lt 80 ]; do
	background "$COTENANT" ps >"$work/ps" 2>&1
	n=$((n + 1))
done
timeout 15 "$COTENANT" ps >"$work/out" 2>&1 && fail "ps of a stopped daemon"
says "$work/out" "cotenant: "
kill -CONT "$daemon_pid"
stop_daemon

# 40 descriptors: some are turned away, none hangs, and places that come free are used.
(
	# shellcheck disable=SC3045 # the shells that we know have it
	ulimit -n 40
	exec "$COTENANTD"
) >>"$work/daemon.log" 2>&1 &
daemon_pid=$!
until_true 5 "$COTENANT" ps >/dev/null 2>&1 || fail "no daemon with 40 descriptors"
"$PEER" crowd 60 0.2 >"$work/out"
says_not "$work/out" "welcomed 60"
until_true 5 has_programs 0 || fail "they are still there"
"$PEER" crowd 5 0.2 >"$work/out"
says "$work/out" "welcomed 5 refused 0 closed 0"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
