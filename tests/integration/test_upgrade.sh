#!/bin/sh
# The daemon of a previous version is replaced by this one while programs with that version's libraries run, as systemd does it:
# none stops, none is lost, and the new daemon has them in hand. COTENANT_PREVIOUS, or build/previous, has bin and lib of that
# version; scripts/try-upgrade makes it.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
old=${COTENANT_PREVIOUS:-$SOURCE_DIR/build/previous}
if [ ! -x "$old/bin/cotenantd" ]; then
	echo "no previous version here: scripts/try-upgrade COMMIT makes one"
	exit 77
fi
notes=$work/notes new_library=$COTENANT_LIBRARY
mkdir -p "$work/old/bin" "$work/new/bin" "$work/run"
chmod 700 "$work/run"
cp "$old/bin/cotenantd" "$work/old/bin/cotenantd"
cp "$COTENANTD" "$work/new/bin/cotenantd"
ln -s old "$work/installed"
# Programs of the previous version, and its MPS servers, have its library.
COTENANT_LIBRARY=$old/lib/libcotenant.so
export COTENANT_LIBRARY
background python3 "$SOURCE_DIR/tests/integration/daemon/manager.py" "$COTENANT_SOCKET" "$notes" "$work/installed/bin/cotenantd" \
	--log-level debug 2>"$work/daemon.log"
manager_pid=$pid
until_true 5 test -S "$COTENANT_SOCKET" || fail "no manager"
"$old/bin/cotenant" ps >"$work/out" 2>&1 || fail "ps: $(cat "$work/out")"

before="train serve alone part"
background "$old/bin/cotenant" run --required --name train -- "$PROGS/batch" --seconds 600 >"$work/train"
train=$pid
background "$old/bin/cotenant" run --required --class latency --name serve -- "$PROGS/request" --seconds 600 >"$work/serve"
serve=$pid
background "$old/bin/cotenant" run --required --solo --name alone -- "$PROGS/batch" --seconds 600 >"$work/alone"
alone=$pid
background env LD_LIBRARY_PATH="$EMU" "$old/bin/cotenant" run --required --sms 64 --name part -- "$PROGS/parts" --seconds 600 \
	--until "$work/enough" >"$work/part"
part=$pid
for p in $before; do
	eval "n=\$$p"
	is_there() {
		[ "$("$COTENANT" ps --json | grep -c "\"pid\": $n,")" = 1 ]
	}
	until_true 20 is_there || fail "$p does not come: $("$COTENANT" ps --json; cat "$work/$p")"
done
expect_value train pool batch
expect_value batch slice_read_back_us 20
for n in $train $serve $alone $part; do
	grep -q "$old/lib/" "/proc/$n/maps" || fail "process $n has not the previous library"
	grep -q "$new_library" "/proc/$n/maps" && fail "process $n has the new library"
done
daemon_of() {
	sed -n 's/.*cotenantd\[\([0-9]*\)\].*serves.*/\1/p' "$work/daemon.log" | tail -n 1
}

# The upgrade.
first=$(daemon_of)
ln -sfn new "$work/installed"
COTENANT_LIBRARY=$new_library
kill -USR1 "$manager_pid"
is_new() {
	[ "$(daemon_of)" != "$first" ] && [ "$(readlink -f "/proc/$(daemon_of)/exe")" = "$work/new/bin/cotenantd" ]
}
for _ in 1 2 3 4; do
	"$COTENANT" ps >"$work/out" 2>&1 || fail "a client was refused meanwhile: $(cat "$work/out")"
done
until_true 10 is_new || fail "the new one does not serve"
for p in $before; do
	eval "n=\$$p"
	[ "$(ps_value "$p" pid)" = "$n" ] || fail "$p is $(ps_value "$p" pid), not $n"
	kill -0 "$n" || fail "$p has ended"
done
expect_value train pool batch
expect_value serve class latency
expect_value batch slice_read_back_us 20

# Orders of the new daemon to the previous libraries.
freezes alone || fail "freeze: $(cat "$work/out")"
"$COTENANT" thaw alone >"$work/out" || fail "thaw: $(cat "$work/out")"
freezes pool:batch || fail "freeze of the pool: $(cat "$work/out")"
"$COTENANT" thaw pool:batch >"$work/out" || fail "thaw of the pool: $(cat "$work/out")"
"$COTENANT" set pool:batch --slice 50us >"$work/out" || fail "set: $(cat "$work/out")"
expect_value batch slice_read_back_us 50
has_sms() {
	[ "$("$COTENANT" ps --json | python3 -c '
import json, sys
print([t["part"]["sms"] for t in json.load(sys.stdin)["tenants"] if t["name"] == "part"][0])')" = "$1" ]
}
until_true 10 has_sms 64 || fail "its part: $("$COTENANT" ps)"
"$COTENANT" set part --sms 32 >"$work/out" || fail "set --sms: $(cat "$work/out")"
until_true 20 has_sms 32 || fail "its part is not another: $("$COTENANT" ps)"

# A program with the new library beside them, in the same pool.
"$COTENANT" run --required --name later -- "$PROGS/batch" --seconds 1 >"$work/later" 2>&1 || fail "later: $(cat "$work/later")"
[ "$(value wrong "$work/later")" = 0 ] || fail "later: $(cat "$work/later")"

touch "$work/enough"
wait "$part" || fail "part: $(cat "$work/part")"
says "$work/part" "wrong 0"
kill "$train" "$serve" "$alone"
for p in train alone; do
	eval "wait \$$p"
	[ "$(value wrong "$work/$p")" = 0 ] || fail "$p: $(cat "$work/$p")"
done
wait "$serve"
[ "$(value requests "$work/serve")" -gt 50 ] || fail "serve: $(cat "$work/serve")"
until_true 5 has_programs 0 || fail "a program is left"
kill "$manager_pid"
wait "$manager_pid" || fail "the manager: status $?"
finish
