#!/bin/sh
# What users are told: of a freeze or thaw that fails, in the log once and once when it is over, by
# `ps`, `stats` and `doctor` while it lasts; and in the log who has changed what.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

lines() {
	grep -c "$1" "$work/daemon.log"
}

start_daemon --log-level info
background "$PEER" library --name a --mute "$work/mute" >"$work/peer"
expect_value a slice_us 2000
until_true 5 is a state running || fail "a is $(ps_value a state)"
id=$(ps_value a id)

# Its library is there and answers nothing.
touch "$work/mute"
"$COTENANT" freeze a >"$work/out" 2>&1
status=$?
[ "$status" -eq 1 ] || fail "freeze gave $status: $(cat "$work/out")"
says "$work/out" "the freeze has not been confirmed (its library did not answer in time): the daemon repeats the order"
"$COTENANT" ps >"$work/out"
says "$work/out" "freezing (held)"
"$COTENANT" thaw a >"$work/out" 2>&1
status=$?
[ "$status" -eq 1 ] || fail "thaw gave $status: $(cat "$work/out")"
says "$work/out" "the thaw has not been confirmed (its library did not answer in time)"
"$COTENANT" ps >"$work/out"
grep -q "a .*alone  *stuck [0-9]* s " "$work/out" || fail "ps: $(cat "$work/out")"
says "$work/out" "a: no thaw has been confirmed for "
"$COTENANT" stats >"$work/out"
says "$work/out" "a: no thaw has been confirmed for "
"$COTENANT" doctor --offline >"$work/out" 2>&1
says "$work/out" "a: no thaw has been confirmed for "
[ "$(lines "WARN .*'a' (id $id) could not be frozen: its library did not answer in time")" -eq 1 ] ||
	fail "the log on the freeze: $(cat "$work/daemon.log")"
[ "$(lines "WARN .*'a' (id $id) could not be thawed: its library did not answer in time")" -eq 1 ] ||
	fail "the log on the thaw: $(cat "$work/daemon.log")"

# It is over.
rm "$work/mute"
expect_value a state running
[ "$(lines "WARN .*'a' (id $id) could be thawed again, after ")" -eq 1 ] ||
	fail "the log on the end: $(cat "$work/daemon.log")"
"$COTENANT" ps >"$work/out"
says_not "$work/out" "stuck"
says_not "$work/out" "confirmed"
freezes a || fail "freeze: $(cat "$work/out")"
could_be_frozen() {
	[ "$(lines "WARN .*'a' (id $id) could be frozen again, after ")" -eq 1 ]
}
until_true 1 could_be_frozen ||
	fail "the log on the end: $(cat "$work/daemon.log")"
"$COTENANT" thaw a >/dev/null || fail "thaw"

# Who did what.
me=$(id -un) uid=$(id -u)
"$COTENANT" set a --weight 50 --block 1ms --slice 300us --mode drain >"$work/out" || fail "set"
says "$work/out" "a: weight 100 -> 50, slice auto -> 300 us, mode auto -> drain, block unknown -> 1000 us"
"$COTENANT" set a --weight 60 --slice auto >"$work/out" || fail "set"
[ "$(lines "INFO .*set 'a' (id $id): weight 50 -> 60, slice 300 us -> auto, by $me (uid $uid, process [0-9]*)$")" -eq 1 ] ||
	fail "the log on set: $(cat "$work/daemon.log")"
[ "$(lines "INFO .*freeze 'a' (id $id), by $me (uid $uid, process [0-9]*)$")" -eq 2 ] ||
	fail "the log on freeze: $(cat "$work/daemon.log")"
[ "$(lines "INFO .*thaw 'a' (id $id), by $me (uid $uid, process [0-9]*)$")" -eq 2 ] ||
	fail "the log on thaw: $(cat "$work/daemon.log")"
kill -HUP "$daemon_pid"
until_true 5 grep -q "INFO .*read .* again: policy [a-z]* -> [a-z]*, by $me (uid $uid, process [0-9]*)$" \
	"$work/daemon.log" || fail "the log on SIGHUP: $(cat "$work/daemon.log")"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"

# A refused change is no change.
start_daemon --log-level info
"$COTENANT" set nobody --weight 3 >/dev/null 2>&1
[ "$(lines "set .*nobody")" -eq 0 ] || fail "a change that was none: $(cat "$work/daemon.log")"
stop_daemon
finish
