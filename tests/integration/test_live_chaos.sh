#!/bin/sh
# Programs that start, fork, are stopped and are killed at random for a while ($COT_CHAOS_SECONDS,
# else 6), with a steady one beside them; and so are the daemon and the pools. At the end nobody is
# frozen, nobody is left, and the daemon is well.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

seed=${COT_SEED:-$(date +%s)}
echo "seed $seed"

# random N: 0 to N-1
random() {
	seed=$(((seed * 1103515245 + 12345) % 2147483648))
	number=$((seed / 65536 % $1))
}

# shellcheck disable=SC2317 # for until_true
none_frozen() {
	[ "$(n_frozen)" -eq 0 ]
}

# disturb VICTIM: the daemon, a pool or a program.
disturb() {
	random 6
	case $number in
	0)
		kill_daemon
		start_daemon
		n_deaths=$((n_deaths + 1))
		;;
	1)
		kill -STOP "$daemon_pid"
		sleep 0.2
		kill -CONT "$daemon_pid"
		;;
	2)
		pid=$(ps_value batch control_pid)
		[ "${pid:-0}" -le 0 ] || kill -9 "$pid" 2>/dev/null
		;;
	*)
		kill -STOP "$1" 2>/dev/null
		n_stopped=$((n_stopped + 1))
		;;
	esac
}

start_daemon
background "$COTENANT" run --solo --name steady -- "$PROGS/batch" --block-us 2000 \
	--seconds 600 >"$work/steady"
steady=$pid
end_ms=$(($(now_ms) + ${COT_CHAOS_SECONDS:-6} * 1000))
victims='' n_started=0 n_killed=0 n_stopped=0 n_deaths=0
while [ "$(now_ms)" -lt "$end_ms" ]; do
	random 4
	case $number in
	0) set -- --solo -- "$PROGS/batch" --block-us 3000 --seconds 60 ;;
	1) set -- -- "$PROGS/batch" --block-us 3000 --seconds 60 ;;
	2) set -- --solo --class latency -- "$PROGS/request" --seconds 60 ;;
	3) set -- --solo -- "$PROGS/forker" --seconds 60 ;;
	esac
	"$COTENANT" run "$@" >/dev/null 2>&1 &
	victims="$victims $!"
	n_started=$((n_started + 1))
	random 150
	sleep "0.$(printf %03d "$number")"
	[ $((n_started % 8)) -ne 0 ] || disturb "$!"
	# shellcheck disable=SC2086
	set -- $victims
	[ $# -ge 6 ] || continue
	random 3
	while [ "$number" -ge 0 ]; do
		kill -9 "$1"
		wait "$1" 2>/dev/null
		n_killed=$((n_killed + 1))
		shift
		number=$((number - 1))
	done
	victims="$*"
done
echo "$n_started started, $n_killed killed on the way, $n_stopped stopped; $n_deaths daemons killed"
for pid in $victims; do
	kill -9 "$pid"
	wait "$pid" 2>/dev/null
done
until_true 5 has_programs 1 || fail "$(n_programs) programs, expected the steady one"
expect_value steady state running
expect_value steady slice_us 2000
until_true 2 none_frozen || fail "$(n_frozen) are frozen"
kill -TERM "$steady"
until_true 5 test -s "$work/steady" || fail "the steady program does not end"
[ "$(value wrong "$work/steady")" = 0 ] || fail "wrong results: $(cat "$work/steady")"
"$COTENANT" stats >"$work/out" || fail "stats"
says "$work/out" "last fault: none"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
