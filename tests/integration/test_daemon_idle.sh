#!/bin/sh
# With nothing to decide the daemon sleeps: no wake-ups, no CPU time. A user's freeze costs little.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

ticks() {
	awk '{ print $14 + $15 }' "/proc/$daemon_pid/stat"
}

wake_ups() {
	awk '/^voluntary_ctxt_switches/ { print $2 }' "/proc/$daemon_pid/status"
}

start_daemon
for i in 1 2 3 4 5 6 7 8; do
	background "$PEER" library --name "p$i" >"$work/p$i"
done
background "$PEER" library --name first --class latency >"$work/first"
until_true 5 has_programs 9 || fail "$(n_programs) programs"
"$COTENANT" set p1 --class latency >/dev/null
for i in 2 3 4 5 6 7 8; do # one batch program at most, so there is nothing to rotate
	"$COTENANT" set "p$i" --class latency >/dev/null
done
# On a busy machine what came before may not be over: then the next seconds count.
sleeps() {
	n=$(wake_ups) t=$(ticks)
	sleep 3
	n=$(($(wake_ups) - n)) t=$(($(ticks) - t))
	echo "idle for 3 s: $n wake-ups, $t ticks"
	[ "$n" -le 3 ] && [ "$t" -le 1 ]
}
sleep 1.5
sleeps || sleeps || sleeps || fail "$n wake-ups and $t ticks in 3 s"

freezes p1 || fail "freeze: $(cat "$work/out")"
n=$(wake_ups) t=$(ticks)
sleep 3
n=$(($(wake_ups) - n)) t=$(($(ticks) - t))
echo "one program held for 3 s: $n wake-ups, $t ticks"
[ "$n" -le 200 ] || fail "$n wake-ups in 3 s"
[ "$t" -le 3 ] || fail "$t ticks in 3 s: more than 1 % of a core"
stop_daemon
finish
