#!/bin/sh
# The daemon under a service manager: started by the first client, ready, watched, and replaced by another
# build of itself while programs run.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

notes=$work/notes
# The link is what an upgrade changes.
mkdir -p "$work/old/bin" "$work/new/bin" "$work/run"
chmod 700 "$work/run"
cp "$COTENANTD" "$work/old/bin/cotenantd"
cp "$COTENANTD" "$work/new/bin/cotenantd"
ln -s old "$work/installed"
manager=$SOURCE_DIR/tests/integration/daemon/manager.py
background python3 "$manager" "$COTENANT_SOCKET" "$notes" "$work/installed/bin/cotenantd" --log-level debug \
	2>"$work/daemon.log"
manager_pid=$pid
until_true 5 test -S "$COTENANT_SOCKET" || fail "no manager"
[ ! -s "$work/daemon.log" ] || fail "it started by itself"

# The first client starts it, and is served.
"$COTENANT" ps >"$work/out" 2>&1 || fail "ps: $(cat "$work/out")"
until_true 5 grep -qx READY=1 "$notes" || fail "it did not say that it is ready"
until_true 5 grep -qx WATCHDOG=1 "$notes" || fail "the watchdog hears nothing"
[ "$(stat -c %a "$COTENANT_SOCKET")" = 600 ] || fail "the socket is open"

"$PROGS/batch" --seconds 0.2 >"$work/alone" || fail "batch alone"
background "$COTENANT" run --name train -- "$PROGS/batch" --seconds 600 >"$work/train"
train=$pid
background "$COTENANT" run --class latency --name serve -- "$PROGS/request" --seconds 6 >"$work/serve"
serve=$pid
expect_value train pool batch
expect_value batch slice_read_back_us 20

daemon_of() {
	sed -n 's/.*cotenantd\[\([0-9]*\)\].*serves.*/\1/p' "$work/daemon.log" | tail -n 1
}

# Replaced, five times: a client that comes in between waits, and none is refused; programs stay who they are.
for round in 1 2 3 4 5; do
	before=$(daemon_of)
	ln -sfn "$([ $((round % 2)) = 1 ] && echo new || echo old)" "$work/installed"
	kill -USR1 "$manager_pid"
	for _ in 1 2 3 4; do
		"$COTENANT" ps >"$work/out" 2>&1 || fail "round $round: ps: $(cat "$work/out")"
	done
	until_true 5 sh -c "[ \"\$(sed -n 's/.*cotenantd\[\([0-9]*\)\].*serves.*/\1/p' '$work/daemon.log' | tail -n 1)\" != '$before' ]" ||
		fail "round $round: no other daemon"
	[ "$(ps_value train pid)" = "$train" ] || fail "round $round: train is $(ps_value train pid), not $train"
	expect_value train pool batch
done
[ "$(readlink -f "/proc/$(daemon_of)/exe")" = "$work/new/bin/cotenantd" ] || fail "the new one does not serve"
[ "$(grep -cx ENDED=0 "$notes")" = 5 ] || fail "one did not end well: $(grep ENDED "$notes")"
kill -0 "$train" || fail "train has ended"
wait "$serve" || fail "serve failed"
[ "$(value requests "$work/serve")" -gt 20 ] || fail "serve: $(cat "$work/serve")"

# It is killed: the next client starts it, with the programs.
kill -9 "$(daemon_of)"
until_true 5 grep -qx DIED "$notes" || fail "it is still there"
"$COTENANT" ps >"$work/out" 2>&1 || fail "ps after a kill: $(cat "$work/out")"
[ "$(ps_value train pid)" = "$train" ] || fail "train was lost"
kill "$train"
wait "$train"
[ "$(value wrong "$work/train")" = 0 ] || fail "train: wrong results: $(cat "$work/train")"
until_true 5 has_programs 0 || fail "a program is left"

# Another socket than the daemon's: it says which one it expects.
COTENANT_RUNTIME_DIR=$work/other python3 "$manager" "$work/elsewhere/s" "$work/notes2" "$COTENANTD" 2>"$work/err" &
other=$!
children="$children $other"
until_true 5 test -S "$work/elsewhere/s" || fail "no manager"
COTENANT_SOCKET=$work/elsewhere/s timeout 5 "$COTENANT" ps >"$work/out" 2>&1 && fail "it serves there"
until_true 5 grep -qF "that listens on $work/other/cotenantd.sock" "$work/err" || fail "it says: $(cat "$work/err")"
kill "$other"

kill "$manager_pid"
wait "$manager_pid" || fail "the manager: status $?"
finish
