#!/bin/sh
# Pools that a daemon has left, as it was stopped or killed and none came after it: they end with
# their last program, not before. And by hand: cotenantd --stop-pools.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")
printf 'schema: cotenantd/1\nmps: {linger_s: 0}\n' >"$work/conf"
pipe=$work/run/gpu0-batch/pipe

is_right() {
	until_true 20 test -s "$work/$1" || fail "$1 does not end"
	[ "$(value checksum "$work/$1")" = "$sum" ] || fail "$1: $(cat "$work/$1")"
}

no_pool() {
	[ ! -e "$pipe/control" ]
}

has_ended() {
	! kill -0 "$1" 2>/dev/null
}

keeper() {
	pgrep -P "$daemon_pid" -x cotenant-keeper
}

start() {
	start_daemon -c "$work/conf"
	background "$COTENANT" run --name a -- "$PROGS/batch" --seconds 60 >"$work/a" 2>&1
	a=$pid
	expect_value a pool batch
	expect_value batch slice_read_back_us 2000
	control=$(ps_value batch control_pid)
}

for how in stop_daemon kill_daemon; do
	start
	until_true 15 keeper >"$work/keeper" || fail "$how: nobody is there for the pools"
	$how
	sleep 3
	kill -0 "$control" || fail "$how: the pool ended under its program"
	# While it is in use, by hand as well.
	"$COTENANTD" --stop-pools -c "$work/conf" >"$work/out" 2>&1 && fail "$how: it can be stopped"
	says "$work/out" "'a' (process $a) uses it"
	kill -0 "$control" || fail "$how: --stop-pools has ended it under its program"
	kill "$a"
	is_right a
	until_true 20 no_pool || fail "$how: the pool stays after its last program"
	until_true 20 has_ended "$(cat "$work/keeper")" || fail "$how: its keeper stays"
done

# The next daemon has the pools; what was beside the one before goes.
start
until_true 15 keeper >"$work/keeper" || fail "no keeper"
kill_daemon
start_daemon -c "$work/conf"
until_true 20 has_ended "$(cat "$work/keeper")" || fail "the keeper of the last daemon stays"
until_true 15 keeper >"$work/keeper" || fail "the next daemon has no keeper"
sleep 3
is batch control_pid "$control" || fail "another control program after the restart"
"$COTENANTD" --stop-pools -c "$work/conf" >"$work/out" 2>&1 && fail "beside a daemon"
says "$work/out" "stop that one first"
kill "$a"
is_right a
until_true 10 is batch mps down || fail "the daemon does not stop its pool"
stop_daemon
until_true 20 has_ended "$(cat "$work/keeper")" || fail "the keeper of a daemon without pools stays"

# Without its keeper: by hand, or by the next daemon.
start
kill -9 "$(keeper)"
kill_daemon
kill "$a"
is_right a
sleep 1
no_pool && fail "who has stopped it?"
"$COTENANTD" --stop-pools -c "$work/conf" >"$work/out" 2>&1 || fail "--stop-pools: $(cat "$work/out")"
until_true 20 no_pool || fail "--stop-pools has not stopped it"
"$COTENANTD" --stop-pools -c "$work/conf" >"$work/out" 2>&1 || fail "nothing to stop: $(cat "$work/out")"
# Where no daemon ever was there is nothing to stop; where one was, and its lock is gone, that is what is said.
COTENANT_RUNTIME_DIR=$work/never "$COTENANTD" --stop-pools -c "$work/conf" >"$work/out" 2>&1 ||
	fail "no daemon ever was there: $(cat "$work/out")"
[ ! -s "$work/out" ] || fail "it says something: $(cat "$work/out")"
mkdir -m 700 "$work/no-lock"
COTENANT_RUNTIME_DIR=$work/no-lock "$COTENANTD" --stop-pools -c "$work/conf" >"$work/out" 2>&1 && fail "without a lock"
says "$work/out" "cannot be opened"
says_not "$work/out" "a cotenantd serves"

# Killed at any moment of a pool's start: nothing is left over, and nothing is lost.
printf '#!/bin/sh\nsleep 0.15\nexec "%s" "$@"\n' "$COTENANT_MPS_CONTROL" >"$work/slow-mps"
chmod +x "$work/slow-mps"
for ms in 0 20 60 120 160 200 260 320 400; do
	COTENANT_MPS_CONTROL=$work/slow-mps start_daemon -c "$work/conf"
	"$COTENANT" run --name "k$ms" -- "$PROGS/batch" --seconds 1 >"$work/k$ms" 2>"$work/k$ms.err" &
	child=$!
	sleep "$(awk -v ms="$ms" 'BEGIN { print ms / 1000 }')"
	kill_daemon
	COTENANT_MPS_CONTROL=$work/slow-mps start_daemon -c "$work/conf"
	wait "$child" || fail "killed after $ms ms: $(cat "$work/k$ms.err")"
	is_right "k$ms"
	"$COTENANT" run --required --name after -- "$PROGS/batch" --seconds 0.1 >"$work/after" 2>&1 ||
		fail "after $ms ms the pool cannot be used: $(cat "$work/after")"
	says_not "$work/after" "stands alone"
	until_true 15 has_programs 0 || fail "after $ms ms: $(n_programs) programs are left"
	kill_daemon
	until_true 20 no_pool || fail "after $ms ms a pool is left"
done
n_left() {
	pgrep -f "$work/slow-mps|nvidia-cuda-mps" | while read -r pid; do
		tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | grep -qF "$work/run" && echo "$pid"
	done | wc -l
}
none_left() {
	[ "$(n_left)" -eq 0 ]
}
until_true 15 none_left || fail "$(n_left) MPS processes are left"
finish
