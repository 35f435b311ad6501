#!/bin/sh
# Programs that set up channels all the time, or every now and then, beside programs that take
# turns and are frozen by hand: nobody hangs or computes something else. On an emulated GPU on
# which a freeze during a set-up makes a program hang, as on a real one.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
COTENANT_MPS_CONTROL=$work/none
COTENANT_EMU_QUIRKS=fragile
export COTENANT_EMU_QUIRKS

"$PROGS/channels" streams --seconds 0.3 >"$work/alone" || fail "channels alone"
sum=$(value checksum "$work/alone")
[ -n "$sum" ] || fail "no checksum: $(cat "$work/alone")"
start_daemon
# start NAME ARGUMENT...
start() {
	name=$1
	shift
	background timeout 20 "$COTENANT" run --name "$name" -- "$@" >"$work/$name" 2>"$work/$name.err"
}
start contexts "$PROGS/channels" contexts --seconds 7
start streams "$PROGS/channels" streams --seconds 7
start paused "$PROGS/channels" contexts --seconds 7 --work-ms 800
start b "$PROGS/batch" --seconds 7
until_true 5 has_programs 4 || fail "$(n_programs) programs"

# Set-ups of `paused` begin while it waits for its turn, and while it is held.
for _ in 1 2 3; do
	freezes paused || fail "freeze paused: $(cat "$work/out")"
	sleep 0.9
	stays_frozen paused || fail "paused is $(ps_value paused state)"
	"$COTENANT" thaw paused >"$work/out" 2>&1 || fail "thaw paused: $(cat "$work/out")"
done
for p in streams b; do
	[ "$(ps_value $p freezes)" -ge 3 ] || fail "$p had $(ps_value $p freezes) turns"
done
[ "$(ps_value contexts freezes)" = 0 ] || fail "contexts was frozen during a set-up"
for p in contexts streams paused b; do
	until_true 15 test -s "$work/$p" || fail "$p does not end: $(cat "$work/$p.err")"
	[ "$(value wrong "$work/$p")" = 0 ] || fail "$p: $(cat "$work/$p" "$work/$p.err")"
	[ "$(value checksum "$work/$p")" = "$sum" ] || fail "$p computed something else: $(cat "$work/$p")"
	says_not "$work/$p.err" "they hang"
done
until_true 3 has_programs 0 || fail "programs are left"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
