#!/bin/sh
# Too much of what is allowed, under each policy that has something to do for it.
. "$SOURCE_DIR/tests/attack/lib.sh"

configure pools
start_as new
start_victim
play ask 1.5 1.5 60
play ask 1.5 1.5 100 slow
play unknown 1.5 1.5 8
play changes 2 1.3 30
between 1 1000000 "$(value refused "$work/words")" || fail "changes without a bound: $(cat "$work/words")"
play changes 2 1.3 60 mute
play hold 2 1.3
play groups 1.5 1.5 60
play works 1.5 1.5 60 16
# Whoever reads memory of the daemon's can make it wait: others find nothing to read.
# shellcheck disable=SC2086 # words
for file in cmdline environ maps; do
	n=$($as_enemy cat "/proc/$daemon_pid/$file" 2>/dev/null | wc -c)
	[ "$n" -eq 0 ] || fail "others read $n bytes of the daemon's $file"
done
[ "$(cat "/proc/$daemon_pid/comm")" = cotenantd ] || fail "the daemon is called $(cat "/proc/$daemon_pid/comm")"
play readers 3 3 8 "$daemon_pid"
end_victim
stop_daemon

configure smguard
start_as new
start_victim
play works 3 3 100 20
play works 2 2 32 64
play groups 1.5 1.5 30
end_victim
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
