#!/bin/sh
# The daemon dies, or stops, while a program is frozen; then another one takes over.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

# A user's freeze is renewed for as long as the daemon lives.
start_daemon
background "$PEER" library --name a --seconds 300 >"$work/a"
background "$PEER" library --name judge --daemon "$daemon_pid" --seconds 300 >"$work/judge"
judge=$pid
expect_value a slice_us 2000
expect_value judge slice_us 2000
id=$(ps_value a id)
freezes judge || fail "freeze judge: $(cat "$work/out")"
sleep 0.5
says_not "$work/judge" lapsed
kill "$judge"
until_true 2 has_programs 1 || fail "the judge is left"
freezes a || fail "freeze: $(cat "$work/out")"

# Stopped: the lease ends within 100 ms. Afterwards the freeze is done again.
kill -STOP "$daemon_pid"
until_true 5 grep -qx lapsed "$work/a" || fail "the lease does not end"
between 0 100 "$(value lease "$work/a")" || fail "a lease of $(value lease "$work/a") ms"
kill -CONT "$daemon_pid"
frozen_again() {
	[ "$(grep -cx freeze "$work/a")" -ge 2 ]
}
until_true 1 frozen_again || fail "no second order"
until_true 1 is a state frozen || fail "not frozen again"

# Killed: the library is told at once.
kill_daemon
until_true 1 grep -q hangup "$work/a" || fail "no hangup"

# A child that was on its way to become another program holds the lock for a moment longer.
flock "$work/run/cotenantd.lock" sleep 0.3 &
sleep 0.1

# Another process that says the number of one which has ended is another program: numbers are the
# daemon's to give.
start_daemon
background "$PEER" library --name other --seconds 300 >"$work/other"
expect_value other slice_us 2000
background "$PEER" library --name a --id "$id" --weight 70 --seconds 300 >"$work/a"
expect_value a slice_us 2000
[ "$(ps_value a id)" != "$id" ] || fail "the id of a program that has ended"
[ "$(ps_value a weight)" = 70 ] || fail "another weight"
[ "$(ps_value other id)" != "$id" ] || fail "one id for two"
freezes a || fail "freeze after the restart: $(cat "$work/out")"

# A program that was killed before the daemon has read its registration leaves nothing behind. One that a busy machine has
# not let say a word by then shows nothing: the next one has longer.
n=$(n_programs)
ghost_is_told() {
	kill -STOP "$daemon_pid"
	"$COTENANT" run --solo --name ghost -- sleep 60 2>"$work/err" &
	ghost=$!
	sleep "$1"
	kill -9 "$ghost"
	wait "$ghost" 2>/dev/null
	kill -CONT "$daemon_pid"
	until_true 2 grep -q "the program has ended" "$work/daemon.log"
}
ghost_is_told 0.3 || ghost_is_told 2 || ghost_is_told 5 || fail "no word of the ghost"
has_programs "$n" || fail "a ghost"
until_true 1 is a state frozen || fail "not frozen again after the ghost"

# Ended politely: thawed first.
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
until_true 1 grep -q hangup "$work/a" || fail "no hangup at the end"
says "$work/a" thaw
finish
