#!/bin/sh
# A program that sets its channels up, or makes more of them, is not frozen for a while.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

start_daemon
background "$PEER" library --name first --class latency >"$work/first"
background "$PEER" library --name a >"$work/a"
expect_value a slice_us 20
background "$PEER" library --name b --grow 2 >"$work/b"
# Both batch programs take turns as soon as b has settled, and not before.
until_true 20 grep -qx freeze "$work/b" || fail "b has no turns"
between 500 20000 "$(value quiet "$work/b")" || fail "frozen too soon: $(cat "$work/b")"
until_true 20 grep -qx grown "$work/b" || fail "b does not grow"
after() {
	sed '1,/^grown/d' "$work/b" >"$work/after"
	grep -qx freeze "$work/after"
}
until_true 20 after || fail "b has no turns again"
between 500 20000 "$(value quiet "$work/after")" || fail "frozen too soon: $(cat "$work/after")"
[ "$(sed '/^freeze/,$d' "$work/after" | grep -cx thaw)" -ge 1 ] || fail "not thawed: $(cat "$work/after")"

# One that makes more of them all the time is never frozen, and the others have turns beside it.
background "$PEER" library --name c --grow 0.1 --grow-again 0.1 >"$work/c"
c=$pid
sleep 1
"$COTENANT" freeze c >"$work/out" 2>&1 && fail "c was frozen by hand"
says "$work/out" "keeps setting up channels"
n=$(grep -cx freeze "$work/a")
more_turns() {
	[ "$(grep -cx freeze "$work/a")" -gt "$n" ]
}
sleep 2.5
until_true 20 more_turns || fail "a has no turns any more"
says_not "$work/c" freeze
kill -9 "$c"

# A freeze by hand waits until the channels are there.
background "$PEER" library --name d >"$work/d"
until_true 2 has_programs 4 || fail "d does not come"
freezes d || fail "freeze d: $(cat "$work/out")"
stays_frozen d || fail "d is $(ps_value d state)"
"$COTENANT" thaw d >/dev/null || fail "thaw d"

# A user's freeze stays.
freezes a || fail "freeze a"
background "$PEER" library --name held --grow 1.5 >"$work/held"
expect_value held state running
freezes held || fail "freeze held"
until_true 3 grep -qx grown "$work/held" || fail "it does not grow"
sleep 0.2
stays_frozen held || fail "a held program was thawed"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
