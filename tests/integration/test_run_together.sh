#!/bin/sh
# Several first `cotenant run` at the same moment: one daemon serves, and none of the programs runs
# without control. COTENANT_TEST_ROUNDS says how often (12).
# shellcheck disable=SC2317 # functions that until_true calls
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
unset COTENANT_SOCKET

n_rounds=${COTENANT_TEST_ROUNDS:-12}
log=$work/run/cotenantd.log
socket=$work/run/cotenantd.sock

server() {
	awk '$1 == "\"daemon\":" { inside = 1 } inside && $1 == "\"pid\":" { print $2 + 0; exit }' "$work/ps"
}

# six ARGUMENT...: starts six programs at once; they wait for one another's word.
six() {
	rm -f "$work"/told.* "$log"
	runs=
	for i in 1 2 3 4 5 6; do
		"$COTENANT" run --name "p$i" "$@" -- sh -c 'echo "tenant $COTENANT_TENANT"; exec sleep 60' \
			>"$work/told.$i" 2>&1 &
		runs="$runs $!"
	done
	children=$runs
}

all_have_begun() {
	[ "$(grep -l "^tenant" "$work"/told.? | wc -l)" -eq 6 ]
}

# all_controlled ROUND: each of the six has a number of its own, and one daemon knows them all.
all_controlled() {
	until_true 60 all_have_begun || fail "$1: they do not begin: $(cat "$work"/told.?)"
	[ "$(grep -hxE "tenant [0-9]+" "$work"/told.? | sort -u | wc -l)" -eq 6 ] ||
		fail "$1: without control: $(cat "$work"/told.?)"
	"$COTENANT" ps --json >"$work/ps" 2>&1 || fail "$1: no answer: $(cat "$work/ps")"
	[ "$(grep -c '"weight":' "$work/ps")" -eq 6 ] || fail "$1: ps shows others: $(cat "$work/ps")"
	grep -q ERROR "$log" && fail "$1: $(cat "$log")"
	[ "$(grep -c "serves 1 GPU" "$log")" -eq 1 ] || fail "$1: not one daemon: $(cat "$log")"
	daemon_pid=$(server)
}

end_six() {
	# shellcheck disable=SC2086 # words
	kill $runs 2>/dev/null
	for run in $runs; do
		wait "$run" 2>/dev/null
	done
	children=
}

is_locked() {
	! flock -n "$work/run/cotenantd.lock" true
}

# Those of our folder: an environment tells. A daemon that waits gives up after a while, so this is quick.
starting_daemons() {
	grep -lzxsF "COTENANT_RUNTIME_DIR=$COTENANT_RUNTIME_DIR" /proc/[0-9]*/environ |
		while IFS=/ read -r _ _ process _; do
			read -r comm 2>/dev/null <"/proc/$process/comm" &&
				[ "$comm" = cotenantd ] && echo "$process"
		done
}

six_are_starting() {
	[ "$(starting_daemons | wc -l)" -eq 6 ]
}

# One after the other: nothing there; a socket of a killed daemon; a daemon that is about to end.
round=0
while [ "$round" -lt "$n_rounds" ] && [ "$n_failed" -eq 0 ]; do
	round=$((round + 1))
	six --solo
	all_controlled "round $round"
	end_six
	case $((round % 3)) in
	0) kill -9 "$daemon_pid" ;;
	1) kill "$daemon_pid" ;; # and the next six come while it ends
	*)
		kill "$daemon_pid"
		until_true 20 test ! -e "$socket" || fail "round $round: the daemon does not end"
		;;
	esac
done
echo "rounds $round"

# The one that has the lock takes its time, and is killed before it serves; some of those that wait
# behind it are killed as well.
rm -f "$socket"
flock --no-fork "$work/run/cotenantd.lock" sleep 60 &
holder=$!
until_true 20 is_locked || fail "nobody holds the lock"
six --solo
until_true 20 six_are_starting || fail "the daemons do not wait: $(starting_daemons)"
for pid in $(starting_daemons | head -n 4); do
	kill -9 "$pid"
done
until_true 20 six_are_starting || fail "no others instead: $(starting_daemons)"
grep -q . "$work"/told.? && fail "somebody did not wait: $(cat "$work"/told.?)"
kill -9 "$holder"
wait "$holder" 2>/dev/null
all_controlled "a slow start"
end_six
kill "$daemon_pid"

# In a pool whose MPS takes its time. The programs wait for it.
COTENANT_EMU_MPS_START_MS=1000
export COTENANT_EMU_MPS_START_MS
six
all_controlled "a slow MPS"
[ "$("$COTENANT" ps --json | grep -c '"pool": "batch"')" -eq 6 ] || fail "not in the pool: $("$COTENANT" ps)"
end_six
finish
