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

# Names come from outside: no line ends, and nothing that is not text.
name=$(printf 'a\nb\033c\377\303\251')
background "$PEER" library --name "$name" >"$work/named"
until_true 5 has_programs 2 || fail "$(n_programs) of 2 programs"
"$COTENANT" ps --json >"$work/out"
says "$work/out" "$(printf '"a?b?c?\303\251"')"
until_true 2 grep -qF "$(printf '"a?b?c?\303\251"')" "$work/run/state.json" || fail "not in the state"
kill "$pid"

# Who does wrong again and again does not fill the log.
n=0
while [ $n -lt 40 ]; do
	"$PEER" bad short >/dev/null
	n=$((n + 1))
done
n=$(grep -c "malformed packet" "$work/daemon.log")
[ "$n" -le 20 ] || fail "$n lines of 40 malformed packets"

for seed in 1 2 3; do
	"$PEER" storm 3000 $seed >"$work/out" || fail "storm $seed"
done
[ "$(ps_value steady state)" = running ] || fail "the steady one was hurt"
says_not "$work/steady" hangup
freezes steady || fail "freeze after the storm: $(cat "$work/out")"
"$COTENANT" thaw steady >"$work/out" || fail "thaw after the storm"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status at the end"
finish
