#!/bin/sh
# Programs for which control was asked and that run without are shown, with the reason: by `ps` and
# `doctor`, with a daemon and without one.
# shellcheck disable=SC2317 # functions that until_true calls
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

shows() {
	"$COTENANT" ps --wide >"$work/ps" 2>/dev/null
	grep -qE "$1" "$work/ps"
}

shows_not() {
	! shows "$1"
}

# shown PID NAME CLASS REASON: soon, in the table and in JSON.
shown() {
	until_true 20 shows "^$1 +$2 +$3 +[0-9]+ s +.*$4" || fail "ps does not show $2: $(cat "$work/ps")"
	"$COTENANT" ps --json >"$work/json" 2>/dev/null
	tr -d '\n' <"$work/json" |
		grep -qE "\"uncontrolled\": \[.*\"pid\": $1, *\"uid\": [0-9]+, *\"name\": \"$2\", *\"class\": \"$3\", *\"reason\": \"[^\"]*$4" ||
		fail "ps --json does not show $2: $(cat "$work/json")"
}

no_others() {
	until_true 20 shows_not "WITHOUT CONTROL" || fail "$1: $(cat "$work/ps")"
}

# ---- no daemon ----

background "$COTENANT" run --class latency --name lonely -- sleep 60 2>"$work/err"
lonely=$pid
shown "$lonely" lonely latency "no cotenantd answers on"
"$COTENANT" ps >"$work/out" 2>&1
[ $? -eq 3 ] || fail "the status without a daemon"
"$COTENANT" doctor --offline >"$work/out" 2>&1
says "$work/out" "warn  programs"
says "$work/out" "1 program should be under control and is not; 'lonely' (process $lonely): no cotenantd answers"
# Its children are the same program.
kill "$lonely"
background "$COTENANT" run --name parent -- sh -c 'sleep 60 & a=$!; sleep 60 & trap "kill $a $!" TERM; wait' \
	2>"$work/err"
shown "$pid" parent batch "no cotenantd answers on"
[ "$(grep -c " parent " "$work/ps")" -eq 1 ] || fail "more than the topmost: $(cat "$work/ps")"
kill "$pid"
# Nobody asked for control.
background env COTENANT_DISABLE=1 "$COTENANT" run -- sleep 60
disabled=$pid
if [ "$(id -u)" = 0 ]; then # root sees everybody's
	chmod 755 "$work"
	background setpriv --reuid 1001 --regid 1001 --clear-groups "$COTENANT" run --name stranger -- sleep 60 \
		2>"$work/err"
	shown "$pid" stranger batch "no cotenantd answers on"
	kill "$pid"
fi
no_others "without a daemon"
kill "$disabled"

# ---- a daemon, and programs that no library reaches ----

start_daemon
background "$COTENANT" run --solo --name reached -- sleep 60
reached=$pid
background "$COTENANT" run --solo --name still -- "$PROGS/still" stay 2>"$work/err"
still=$pid
shown "$still" still batch "linked statically"
says "$work/err" "linked statically"
background "$COTENANT" run --solo --name cleared -- env LD_PRELOAD="$EMU/libcuda.so.1" sleep 60
shown "$pid" cleared batch "libcotenant.so is not loaded into it"
kill "$still" "$pid"
# A number that the daemon does not know.
background env COTENANT_TENANT=4711 COTENANT_NAME=forgotten LD_PRELOAD="$EMU/libcuda.so.1" sleep 60
shown "$pid" forgotten batch "the daemon does not know it"
kill "$pid"
no_others "with a daemon"
"$COTENANT" doctor --offline >"$work/out" 2>&1
says "$work/out" "ok    programs"

# A library in the daemon's hands stays out of the list; without a daemon it is in it.
kill_daemon
shown "$reached" reached batch "the daemon that gave it a place has gone"
start_daemon
no_others "with the next daemon"
stop_daemon
kill "$reached"

# ---- no GPU ----

unset COTENANT_SOCKET COTENANT_GPUS
if [ ! -e /dev/nvidia0 ] && [ ! -e /proc/driver/nvidia/gpus ]; then
	"$COTENANT" run -- sh -c 'echo "$COTENANT_TENANT.$LD_PRELOAD"' >"$work/out" 2>"$work/err" || fail "no GPU"
	[ "$(cat "$work/out")" = . ] || fail "changed: $(cat "$work/out")"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one line: $(cat "$work/err")"
	says "$work/err" "there is no NVIDIA GPU here; --emulate h200 gives a program an emulated one"
	"$COTENANT" run --required -- true 2>"$work/err"
	[ $? -eq 125 ] || fail "--required without a GPU"
	(unset COTENANT_EMU_DIR && exec "$COTENANT" doctor) >"$work/out" 2>&1
	says "$work/out" "cotenant run --emulate h200"
	[ ! -S "$work/run/cotenantd.sock" ] || fail "a daemon was started without a GPU"
fi
# What cannot be run starts nothing either, wherever it is looked for.
COTENANT_GPUS=1
export COTENANT_GPUS
for missing in no-such-program "$work/none" ./none; do
	"$COTENANT" run -- "$missing" 2>"$work/err"
	[ $? -eq 127 ] || fail "$missing"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one line: $(cat "$work/err")"
done
[ ! -S "$work/run/cotenantd.sock" ] || fail "a daemon was started for nothing"
daemon_pid=
: >"$work/daemon.log"
finish
