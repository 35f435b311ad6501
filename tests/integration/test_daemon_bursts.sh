#!/bin/sh
# Requests of a program that marks none: what the shim sees is what the program's own clock says, however it waits for
# the GPU; what cannot be told apart is counted and not given out; and the daemon counts every one, as bursts.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
start_daemon

# is KEY VALUE: what the daemon says of the only program.
is() {
	[ "$(ps_value "$program" "$1")" = "$2" ]
}

# play NAME RUN_OPTION...: what the program says, in the end, is in $work/$program.
play() {
	program=$1
	shift
	background "$COTENANT" run --name "$program" "$@" -- "$PROGS/bursts" --stay 1 >"$work/$program" 2>&1
	until_true 60 grep -q ^requests "$work/$program" || fail "$program: $(cat "$work/$program" "$work/daemon.log")"
}

over() {
	kill "$pid"
	wait "$pid" || fail "$program: $(cat "$work/$program")"
}

play bursts --measure
says "$work/bursts" "wrong 0"
n=$(value seen "$work/bursts")
[ "$n" -gt 100 ] || fail "seen: $(cat "$work/bursts")"
until_true 5 is count "$n" || fail "the daemon counts $(ps_value bursts count) of $n"
is source bursts || fail "source: $(ps_value bursts source)"
is unclear "$(value unclear "$work/bursts")" || fail "unclear: $(ps_value bursts unclear)"
{ is lost 0 && is rejected 0; } || fail "lost: $(ps_value bursts lost), rejected: $(ps_value bursts rejected)"
"$COTENANT" stats --wide >"$work/out"
grep -q "^bursts  *-  *$n .* service, bursts  *-  *0  *[0-9]* *$" "$work/out" || fail "stats: $(cat "$work/out")"
over

# With a part of the GPU, too, and with kernels that are rewritten.
play on-a-part --measure --sms 50%
says "$work/on-a-part" "wrong 0"
over
play rewritten --measure --rewrite
says "$work/rewritten" "wrong 0"
over

# Who is not measured is not looked at, with a shim or without.
play plain --sms 50%
is requests null || fail "it is measured: $(ps_value plain requests)"
says "$work/plain" "seen 0 "
kill "$pid"
wait "$pid"
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
