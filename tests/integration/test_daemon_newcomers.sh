#!/bin/sh
# A program that sets its channels up, or makes more of them, is not frozen for a while.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

start_daemon
background "$PEER" library --name first --class latency >"$work/first"
background "$PEER" library --name a >"$work/a"
expect_value a slice_us 20
background "$PEER" library --name b --grow 2 >"$work/b"
# Both batch programs take turns as soon as b has settled, and not before.
sleep 0.3
says_not "$work/b" freeze
until_true 3 grep -qx freeze "$work/b" || fail "b has no turns"
until_true 3 grep -qx grown "$work/b" || fail "b does not grow"
sleep 0.3
sed '1,/^grown/d' "$work/b" >"$work/after"
[ "$(grep -cx thaw "$work/after")" -ge 1 ] || fail "not thawed: $(cat "$work/after")"
says_not "$work/after" freeze
sed '1,/^grown/d' "$work/b" | grep -q . || fail "nothing after it grew"
until_true 3 sh -c "sed '1,/^grown/d' '$work/b' | grep -qx freeze" || fail "b has no turns again"

# One that makes more of them all the time is never frozen, and the others have turns beside it.
background "$PEER" library --name c --grow 0.1 --grow-again 0.1 >"$work/c"
c=$pid
sleep 1
"$COTENANT" freeze c >"$work/out" 2>&1 && fail "c was frozen by hand"
says "$work/out" "keeps setting up channels"
n=$(grep -cx freeze "$work/a")
sleep 2.5
says_not "$work/c" freeze
[ "$(grep -cx freeze "$work/a")" -gt "$n" ] || fail "a has no turns any more"
kill -9 "$c"

# A freeze by hand waits until the channels are there.
background "$PEER" library --name d >"$work/d"
until_true 2 has_programs 4 || fail "d does not come"
"$COTENANT" freeze d >"$work/out" 2>&1 || fail "freeze d: $(cat "$work/out")"
says "$work/out" "frozen after"
[ "$(ps_value d state)" = frozen ] || fail "d is $(ps_value d state)"
"$COTENANT" thaw d >/dev/null || fail "thaw d"

# A user's freeze stays.
"$COTENANT" freeze a >/dev/null || fail "freeze a"
background "$PEER" library --name held --grow 1.5 >"$work/held"
expect_value held state running
"$COTENANT" freeze held >/dev/null || fail "freeze held"
until_true 3 grep -qx grown "$work/held" || fail "it does not grow"
sleep 0.2
[ "$(ps_value held state)" = frozen ] || fail "a held program was thawed"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
