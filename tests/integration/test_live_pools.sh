#!/bin/sh
# The product as it is meant: batch programs in one pool, latency programs in the other, on the
# emulated GPU with real processes. Slices are set in the MPS servers, results stay what they are,
# a fault ends one pool and not the other.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")

start_daemon
background "$COTENANT" run --name b1 -- "$PROGS/batch" --seconds 60 >"$work/b1"
b1=$pid
background "$COTENANT" run --name b2 -- "$PROGS/batch" --seconds 60 >"$work/b2"
b2=$pid
expect_value batch channel_groups 4
expect_value batch slice_read_back_us 2000
background "$COTENANT" run --class latency --name svc -- "$PROGS/request" --seconds 100 >"$work/svc"
svc=$pid
expect_value latency slice_read_back_us 10000
expect_value batch slice_read_back_us 20
[ "$(ps_value svc pool)" = latency ] || fail "svc is not in its pool"
[ "$(ps_value b1 pool)" = batch ] || fail "b1 is not in its pool"
"$COTENANT" ps >"$work/out" || fail "ps"
says "$work/out" "  20 us"

# Both programs say that their blocks are short: the policy drains. One of them knows no more.
"$COTENANT" set b1 --block 50us >/dev/null || fail "set b1 --block"
[ "$(ps_value batch mode)" != drain ] || fail "b2's blocks may be long"
"$COTENANT" set b2 --block 20us >/dev/null || fail "set b2 --block"
expect_value batch mode drain
"$COTENANT" set b1 --block unknown >/dev/null || fail "set b1 --block unknown"
expect_value batch mode switch
"$COTENANT" set pool:batch --block 20us >"$work/out" 2>&1 && fail "a pool's blocks"
says "$work/out" "only a program has a longest block"

# A live change reaches the server of the pool.
"$COTENANT" set pool:batch --slice 500us >/dev/null || fail "set pool:batch"
expect_value batch slice_read_back_us 500
"$COTENANT" set pool:batch --slice auto >/dev/null || fail "set --slice auto"
expect_value batch slice_read_back_us 20
"$COTENANT" set pool:batch --mode drain >/dev/null || fail "set --mode"
server=$(ps_value batch library_pids)
"$COTENANT" set pool:batch --mode auto >/dev/null || fail "set --mode auto"
"$COTENANT" set b1 --slice 500us >"$work/out" 2>&1 && fail "a slice of its own in a pool"
says "$work/out" "pool:batch"

# The programs of a pool share its channel groups: none can be held by itself.
"$COTENANT" freeze b1 >"$work/out" 2>&1 && fail "a hold of one program in a pool"
says "$work/out" "use pool:batch"

# The whole pool can be held.
freezes pool:batch || fail "freeze pool:batch"
[ "$(n_frozen)" -ge 1 ] || fail "nothing is frozen"
"$COTENANT" thaw pool:batch >"$work/out" || fail "thaw pool:batch"
[ "$(n_frozen)" -eq 0 ] || fail "something is still frozen"

kill "$svc"
wait "$svc" || fail "svc"
# A request of 100 us, one short slice and one switch; the hold above is not its concern.
expect_between 100 450 "$(value gpu_p50_us "$work/svc")" "median of a request"
kill "$b1" "$b2" # they end by themselves and say what they did
for b in b1 b2; do
	until_true 10 test -s "$work/$b" || fail "$b does not end"
	[ "$(value checksum "$work/$b")" = "$sum" ] || fail "$b computed something else"
	[ "$(value wrong "$work/$b")" = 0 ] || fail "$b: wrong results"
done

# A fault: the batch pool's programs end, the daemon says so, the latency pool goes on.
background "$COTENANT" run --class latency --name svc -- "$PROGS/request" --seconds 100 >"$work/svc"
svc=$pid
background "$COTENANT" run --name victim -- "$PROGS/batch" --seconds 100 >"$work/victim" 2>&1
victim=$pid
expect_value victim pool batch
sleep 0.3
"$COTENANT" run --name culprit -- "$PROGS/trap" >"$work/culprit" 2>&1
wait "$victim" && fail "the victim lives"
kill "$svc"
wait "$svc" || fail "the latency pool was hurt"
"$COTENANT" run --name after -- "$PROGS/batch" --seconds 0.4 >"$work/after" 2>&1 ||
	fail "the pool does not come back: $(cat "$work/after")"
[ "$(value checksum "$work/after")" = "$sum" ] || fail "another result after the fault"

# A pool without programs is stopped; one that comes meanwhile waits for the next.
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
printf 'schema: cotenantd/1\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon -c "$work/conf"
for i in 1 2 3 4 5 6; do
	"$COTENANT" run --name "short$i" -- "$PROGS/batch" --seconds 0.05 >"$work/out" 2>&1 ||
		fail "short $i: $(cat "$work/out")"
	says_not "$work/out" "MPS is not available"
done
expect_value batch mps down
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
until_true 3 test ! -e "$work/run/gpu0-batch/pipe/control" || fail "the batch pool is left"
[ -n "$server" ] || fail "no server was seen"
finish
