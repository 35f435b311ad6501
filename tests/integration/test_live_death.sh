#!/bin/sh
# kill -9 and SIGSTOP of the daemon while real programs are frozen: they run again within 100 ms.
# Then the next daemon takes programs and pools over.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

# thawed_within MS SIGNAL: after the daemon got that, nothing on the GPU is frozen; of the time that they had a
# processor.
thawed_within() {
	"$PROGS/emu_state" thawed "$2" "$daemon_pid" >"$work/out" || fail "nothing was frozen"
	cat "$work/out"
	expect_between 0 "$1" "$(value after "$work/out")" "time until all were thawed, ms,"
}

start_daemon
background "$COTENANT" run --solo --name a -- "$PROGS/batch" --seconds 60 >"$work/a"
a=$pid
background "$COTENANT" run --solo --name b -- "$PROGS/batch" --seconds 60 >"$work/b"
b=$pid
background "$COTENANT" run --name pooled --block 70us -- "$PROGS/batch" --seconds 60 >"$work/pooled"
pooled=$pid
expect_value a slice_us 2000
expect_value b slice_us 2000
expect_value batch slice_us 2000
id=$(ps_value a id)
control=$(ps_value batch control_pid)

freezes a || fail "freeze a"
freezes b || fail "freeze b"
[ "$(n_frozen)" -eq 2 ] || fail "$(n_frozen) are frozen"
thawed_within 130 19 # SIGSTOP; 100 ms, and the look takes its time
kill -CONT "$daemon_pid"
stays_frozen a || fail "a is $(ps_value a state)"
stays_frozen b || fail "b is $(ps_value b state)"
both_frozen() {
	[ "$(n_frozen)" -eq 2 ]
}
until_true 1 both_frozen || fail "$(n_frozen) are frozen again"

thawed_within 130 9
wait "$daemon_pid" 2>/dev/null

start_daemon
expect_value a slice_us 2000 # it comes back within a second or so
[ "$(ps_value a id)" = "$id" ] || fail "a has another id"
expect_value batch slice_read_back_us 2000
[ "$(ps_value batch control_pid)" = "$control" ] || fail "the pool was not taken over"
[ "$(ps_value pooled pool)" = batch ] || fail "the program in the pool was forgotten"
[ "$(ps_value pooled block_us)" = 70 ] || fail "what is known of its blocks was forgotten"
# What was held is held again.
for name in a b; do
	until_true 5 is $name held true || fail "$name is not held any more"
	stays_frozen $name || fail "$name is $(ps_value $name state) after the restart"
	"$COTENANT" thaw $name >/dev/null || fail "thaw $name after the restart"
done
freezes a || fail "freeze after the restart"
freezes pool:batch || fail "freeze the pool after the restart"
"$COTENANT" thaw pool:batch >/dev/null || fail "thaw the pool"

# With its file lost, the next daemon finds the pool and the programs by their processes.
kill_daemon
for content in "" "{"; do
	rm "$work/run/state.json"
	[ -z "$content" ] || echo "$content" >"$work/run/state.json"
	start_daemon
	expect_value a slice_us 2000
	[ "$(ps_value a id)" = "$id" ] || fail "a has another id without the file"
	is batch control_pid "$control" || fail "another control program without the file"
	[ "$(ps_value pooled pool)" = batch ] || fail "pooled is not in its pool"
	[ "$(ps_value pooled block_us)" = 70 ] || fail "block_us of pooled without the file"
	has_programs 3 || fail "$(n_programs) programs without the file, expected 3"
	expect_value batch slice_read_back_us 2000
	freezes pool:batch || fail "freeze the pool without the file"
	"$COTENANT" thaw pool:batch >/dev/null || fail "thaw the pool without the file"
	[ -n "$content" ] || kill_daemon
done

# A polite end leaves a pool that has programs, and nothing frozen.
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
[ "$(n_frozen)" -eq 0 ] || fail "something is frozen after the end"
kill -0 "$control" || fail "the pool ended under its program"
start_daemon
expect_value batch control_pid "$control"
sleep 0.5
kill "$a" "$b" "$pooled" # they end by themselves and say what they did
for p in a b pooled; do
	until_true 15 test -s "$work/$p" || fail "$p does not end"
	[ "$(value wrong "$work/$p")" = 0 ] || fail "$p: wrong results"
done
until_true 3 has_programs 0 || fail "programs are left"
stop_daemon
# Where MPS did not answer in time the daemon's keeper ends it, a minute later.
until_true 70 test ! -e "$work/run/gpu0-batch/pipe/control" || fail "the pool is left"

# Killed while a pool starts: the next daemon waits for that one, and starts no second.
cat >"$work/slow-mps" <<END
#!/bin/sh
[ \$# -eq 0 ] || sleep 1
exec "$EMU/nvidia-cuda-mps-control" "\$@"
END
chmod +x "$work/slow-mps"
COTENANT_MPS_CONTROL=$work/slow-mps
start_daemon
"$COTENANT" run -- true 2>"$work/err" &
pid=$!
until_true 2 is batch mps starting || fail "the pool does not start"
control=$(ps_value batch control_pid)
kill_daemon
wait "$pid" || fail "a program without its daemon"
start_daemon
"$COTENANT" run --required --name late -- "$PROGS/batch" --seconds 0.2 >"$work/late" 2>&1 ||
	fail "late: $(cat "$work/late")"
is batch control_pid "$control" || fail "another control program"
is batch deaths 0 || fail "$(ps_value batch deaths) deaths"
# Killed, it leaves its socket, which is not taken for that of the next one.
kill -9 "$control"
expect_value batch mps failed
# Who comes while it is to be started again waits for that.
"$COTENANT" run --required --name later -- "$PROGS/batch" --seconds 0.2 >"$work/later" 2>&1 ||
	fail "later: $(cat "$work/later")"
says_not "$work/later" "stands alone"
expect_value batch slice_read_back_us 2000
COTENANT_MPS_CONTROL=$EMU/nvidia-cuda-mps-control
stop_daemon
finish
