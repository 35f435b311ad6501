#!/bin/sh
# Malformed, truncated, misplaced and foreign packets: they cost their sender the connection, and
# nobody else anything.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

start_daemon
background "$PEER" library --name steady >"$work/steady"
expect_value steady slice_us 2000

for kind in short truncated length magic string backwards early; do
	[ "$("$PEER" bad $kind)" = closed ] || fail "$kind: not closed"
done
# One that is not known is ignored; so are bytes that a newer peer appends.
[ "$("$PEER" bad unknown)" = open ] || fail "unknown: closed"
[ "$("$PEER" bad large)" = open ] || fail "large: closed"
for kind in weight class; do
	"$PEER" bad $kind >/dev/null
done

# Other versions get a sentence.
for version in 0 2 65535; do
	"$PEER" library --version $version --seconds 2 >"$work/out"
	says "$work/out" "refused this daemon speaks version 1"
	"$PEER" register --version $version >"$work/out"
	says "$work/out" "refused this daemon speaks version 1"
done

for seed in 1 2 3; do
	"$PEER" storm 3000 $seed >"$work/out" || fail "storm $seed"
done
[ "$(ps_value steady state)" = running ] || fail "the steady one was hurt"
says_not "$work/steady" hangup
"$COTENANT" freeze steady >"$work/out" || fail "freeze after the storm"
"$COTENANT" thaw steady >"$work/out" || fail "thaw after the storm"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status at the end"
finish
