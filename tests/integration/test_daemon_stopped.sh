#!/bin/sh
# A program that is stopped by a signal cannot be frozen. It counts as idle: the others keep their
# slices and get its turns.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

# n_freezes NAME: how often it was frozen until now.
n_freezes() {
	grep -cx freeze "$work/$1"
}

start_daemon
background "$PEER" library --name first --class latency >"$work/first"
background "$PEER" library --name a >"$work/a"
background "$PEER" library --name b >"$work/b"
b=$pid
until_true 5 grep -qx freeze "$work/a" || fail "a has no turns"
until_true 5 grep -qx freeze "$work/b" || fail "b has no turns"

kill -STOP "$b"
until_true 2 grep -q "program 'b' .* was stopped" "$work/daemon.log" || fail "nobody notices"
n=$(n_freezes a)
sleep 1.5
[ "$(ps_value a slice_us)" = 20 ] || fail "the slice of a is $(ps_value a slice_us)"
says_not "$work/a" "set 2000 2"
[ "$(n_freezes a)" -le $((n + 1)) ] || fail "a waits for one that is stopped"
is a state running || fail "a is $(ps_value a state)"

# It goes on where it was.
kill -CONT "$b"
until_true 2 grep -q "program 'b' .* goes on" "$work/daemon.log" || fail "b does not go on"
n=$(n_freezes b)
# shellcheck disable=SC2317 # for until_true
has_turns() {
	[ "$(n_freezes b)" -ge $((n + 3)) ]
}
until_true 3 has_turns || fail "b has no turns again"
says_not "$work/b" hangup
[ "$(ps_value b slice_us)" = 20 ] || fail "the slice of b is $(ps_value b slice_us)"

# Ended while it is stopped.
kill -STOP "$b"
sleep 0.3
kill -9 "$b"
until_true 2 has_programs 2 || fail "b is left"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
