#!/bin/sh
# A program lives as long as its processes do, whatever started them, and no pool ends under a
# client: launchers that exit, servers that become daemons, a client that nobody knows.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")
printf 'schema: cotenantd/1\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon -c "$work/conf"

# right NAME: its program has ended by itself, with the right result.
right() {
	until_true 20 test -s "$work/$1" || fail "$1 does not end"
	[ "$(value checksum "$work/$1")" = "$sum" ] || fail "$1: $(cat "$work/$1")"
	[ "$(value wrong "$work/$1")" = 0 ] || fail "$1: wrong results"
}

# A shell that goes, nohup, a session of its own, a child of a child: the program is still there.
# Ten seconds are more than the daemon waits for anything.
# shellcheck disable=SC2016 # for the shells there
"$COTENANT" run --name shell --weight 300 -- \
	sh -c '"$PROGS/batch" --seconds 9 >"$0/shell" 2>&1 & sleep 0.3' "$work"
# shellcheck disable=SC2016
"$COTENANT" run --name nohup -- \
	sh -c 'nohup setsid "$PROGS/batch" --seconds 9 >"$0/nohup" 2>&1 & sleep 0.3' "$work"
# shellcheck disable=SC2016
"$COTENANT" run --name grandchild -- \
	sh -c '(("$PROGS/batch" --seconds 9 >"$0/grandchild" 2>&1 & sleep 0.2) & sleep 0.1) &
		sleep 0.3' "$work"
sleep 1
for name in shell nohup grandchild; do
	is "$name" pool batch || fail "$name was forgotten with its launcher"
done
is shell weight 300 || fail "shell lost its weight"
kill -0 "$(ps_value shell pid)" || fail "the process of shell that is shown is not there"

# The next daemon knows them too; what was changed is still known, though the first process is gone.
"$COTENANT" set shell --weight 400 >/dev/null || fail "set shell"
until_true 20 grep -q '"weight": *400' "$work/run/state.json" || fail "the new weight is not kept"
kill_daemon
start_daemon -c "$work/conf"
for name in shell nohup grandchild; do
	is "$name" pool batch || fail "the next daemon does not know $name"
done
is shell weight 400 || fail "shell lost its weight with the daemon"
right shell
right nohup
right grandchild
until_true 15 has_programs 0 || fail "$(n_programs) programs are left"
until_true 15 is batch mps down || fail "the pool stays without programs"

# A launcher of one worker after the other: many ends, one program, and then none.
# shellcheck disable=SC2016
"$COTENANT" run --name workers -- sh -c '
	(for i in 1 2 3 4 5 6; do "$PROGS/batch" --seconds 0.1; done >"$0/workers" 2>&1 &)
' "$work"
until_true 15 has_programs 0 || fail "the program of the workers stays"
[ "$(grep -c "wrong 0" "$work/workers")" -eq 6 ] || fail "workers: $(cat "$work/workers")"
[ "$(grep -c "program 'workers'.*ended" "$work/daemon.log")" -eq 1 ] || fail "it ended more than once"

# A client that no program accounts for, as its environment is another one: the pool waits for it.
# Its launcher stays until MPS has it.
has_client() {
	pipe=$work/run/gpu0-batch/pipe
	server=$(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$pipe "$COTENANT_MPS_CONTROL")
	[ -n "$server" ] && echo "get_client_list $server" | # without a server it answers with words
		CUDA_MPS_PIPE_DIRECTORY=$pipe "$COTENANT_MPS_CONTROL" | grep -qx '[0-9][0-9]*'
}
# shellcheck disable=SC2016
background "$COTENANT" run --name unknown -- sh -c '
	env -u COTENANT_TENANT -u COTENANT_SOCKET -u LD_PRELOAD LD_PRELOAD="$EMU/libcuda.so.1" \
		"$PROGS/batch" --seconds 20 >"$0/unknown" 2>&1 &
	until [ -e "$0/go" ]; do sleep 0.05; done' "$work"
until_true 15 has_client || fail "no client"
: >"$work/go"
until_true 15 has_programs 0 || fail "unknown is known"
until_true 15 grep -q "MPS has 1 client" "$work/daemon.log" || fail "no word of the client"
is batch mps up || fail "the pool was stopped with a client"
until_true 30 test -s "$work/unknown" || fail "unknown does not end"
right unknown
until_true 15 is batch mps down || fail "the pool stays after its last client"

# Many that end at once, and while the daemon looks: none is left, and no process of the daemon.
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	# shellcheck disable=SC2016
	"$COTENANT" run --solo --name "many$i" -- sh -c 'sleep 0.$0 & exit' "$i" &
done
sleep 1.5
until_true 15 has_programs 0 || fail "$(n_programs) of many are left"
has_no_child() { # but for those that stay: the keeper of its pools, who looks for processes, and spare ones
	! pgrep -lP "$daemon_pid" | grep -qvE ' cotenant-(keeper|search|spare)$'
}
until_true 10 has_no_child || fail "the daemon has children: $(pgrep -lP "$daemon_pid")"
stop_daemon
finish
