#!/bin/sh
# Without MPS: programs stand alone and batch programs take turns, at most one on the GPU.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
COTENANT_MPS_CONTROL=$work/none

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")
start_daemon
batches=
for b in b1 b2 b3; do
	background "$COTENANT" run --name $b -- "$PROGS/batch" --seconds 100 >"$work/$b" 2>"$work/$b.err"
	batches="$batches $pid"
done
background "$COTENANT" run --class latency --name svc -- "$PROGS/request" --seconds 100 \
	>"$work/svc" 2>"$work/svc.err"
svc=$pid
until_true 5 has_programs 4 || fail "$(n_programs) programs"
says "$work/b1.err" "MPS is not available"
expect_value b1 slice_us 20
"$COTENANT" stats --json | grep -q '"policy": "rotate"' || fail "no rotation"
two_wait() {
	[ "$(n_frozen)" -eq 2 ]
}
until_true 5 two_wait || fail "$(n_frozen) are frozen" # all of them have settled
# Of three batch programs two are frozen, or three while one turn ends and another one begins.
for _ in 1 2 3 4 5 6 7 8; do
	n=$(n_frozen)
	[ "$n" -eq 2 ] || [ "$n" -eq 3 ] || fail "$n are frozen"
	sleep 0.07
done
# More weight is more turns; a hand-made freeze goes before them.
freezes b3 || fail "freeze b3: $(cat "$work/out")"
sleep 0.3
stays_frozen b3 || fail "b3 got a turn"
"$COTENANT" thaw b3 >"$work/out" || fail "thaw b3"
kill "$svc"
wait "$svc" || fail "svc"
expect_between 100 450 "$(value gpu_p50_us "$work/svc")" "median of a request"
# shellcheck disable=SC2086 # numbers
kill $batches
for b in b1 b2 b3; do
	until_true 10 test -s "$work/$b" || fail "$b does not end"
	[ "$(value checksum "$work/$b")" = "$sum" ] || fail "$b computed something else"
	[ "$(value wrong "$work/$b")" = 0 ] || fail "$b: wrong results"
done
"$COTENANT" stats >"$work/out"
until_true 3 has_programs 0 || fail "programs are left"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
