#!/bin/sh
# cotenant explain: where a program is, what the policy says of it, and who is told. What a policy learned is
# there again for the next daemon, and programs stay in the pool that the policy has chosen.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH

# explains NAME TEXT: now or soon.
explained() {
	"$COTENANT" explain "$1" >"$work/out" 2>&1 && grep -qF -e "$2" "$work/out"
}
explains() {
	until_true 10 explained "$1" "$2" || fail "expected '$2': $(cat "$work/out")"
}

# A policy that has nothing to say: what is so all the same.
printf 'schema: cotenantd/1\npolicy: pools\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon -c "$work/conf"
background "$COTENANT" run --required --name train -- "$PROGS/batch" --seconds 120 >"$work/train"
train=$pid
expect_value train pool batch
explains train "train (id $(ps_value train id)), batch, in the batch pool of GPU 0"
explains train "slice   2000 us"
explains train "state   running"
explains train "policy  pools: a latency pool with long slices over a batch pool with short ones"
explains train "it has nothing to add"
says_not "$work/out" target
"$COTENANT" explain --json train >"$work/json" || fail "explain --json"
says "$work/json" '"schema": "cotenant.explain/1"'
says "$work/json" '"facts": []'
"$COTENANT" explain "$(ps_value train id)" >"$work/out" 2>&1 || fail "by its number: $(cat "$work/out")"
background "$COTENANT" run --required --solo --name lone -- sleep 120
explains lone "batch, alone"

# refuses STATUS TEXT ARGUMENT...
refuses() {
	expected=$1
	text=$2
	shift 2
	"$COTENANT" explain "$@" >"$work/out" 2>&1
	[ $? = "$expected" ] || fail "'$*' did not end with $expected"
	says "$work/out" "$text"
}
refuses 6 "there is no program called 'nobody'" nobody
refuses 1 "'pool:batch' is a pool; expected a program" pool:batch
refuses 2 "no program given"

# One that says why, of a program with a promise.
stop_daemon
kill "$train"
wait "$train" 2>/dev/null
printf 'schema: cotenantd/1\npolicy: smqos\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon -c "$work/conf"
background "$COTENANT" run --required --name kept --rate 80% -- "$PROGS/batch" --seconds 120 >"$work/kept"
kept=$pid
explains kept "target  rate 80%"
explains kept "policy  smqos: "
explains kept "promised"
explains kept "80.0 %"
explains kept "because"
stop_daemon
kill "$kept"
wait "$kept" 2>/dev/null

# What a policy learned is in the file, and stays there when the daemon is killed; its program stays where it is.
has_learned() {
	[ "$(wc -l 2>/dev/null <"$work/run/lessons")" -ge 2 ]
}
rm -f "$work/run/lessons"
printf 'schema: cotenantd/1\npolicy: slo\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon -c "$work/conf"
background "$COTENANT" run --required --name serve --p99 20s -- \
	"$PROGS/marks" --count 10000 --block-us 2000 --waited-us 500 >"$work/serve"
has_home() {
	home=$(ps_value serve pool) && [ -n "$home" ]
}
until_true 10 has_home || fail "serve has no pool"
serve=$pid
explains serve "policy  slo: "
explains serve "because"
until_true 60 has_learned || fail "it has learned nothing in a minute: $("$COTENANT" explain serve)"
[ "$(stat -c %a "$work/run/lessons")" = 600 ] || fail "others can read what was learned"
cp "$work/run/lessons" "$work/before"
kill_daemon
start_daemon -c "$work/conf"
expect_value serve pool "$home"
explains serve "in the $home pool of GPU 0"
stop_daemon
has_learned || fail "the second daemon has forgotten: $(cat "$work/run/lessons")"
lesson=$(sed -n 2p "$work/before" | cut -d ' ' -f 1-2)
grep -q "^$lesson " "$work/run/lessons" || fail "the lesson '$lesson' is lost"

kill "$serve"
wait "$serve" 2>/dev/null

# A target that no machine keeps beside a batch program, nor alone: this one runs in breaths, and then goes on as before.
start_daemon -c "$work/conf"
background "$COTENANT" run --required --name train -- "$PROGS/batch" --seconds 120 >"$work/train"
train=$pid
expect_value train pool batch
background "$COTENANT" run --required --name strict --p99 1500us -- \
	"$PROGS/marks" --count 10000 --block-us 2000 --waited-us 500 >"$work/strict"
strict=$pid
explains strict "4 ms, then they are frozen"
explains strict "requests missed the target by far"
explains strict "cannot be kept, not even with batch programs stopped"
told() {
	"$COTENANT" ps | grep -q "^strict: the target cannot be kept, not even with batch programs stopped$" &&
		grep -q "program 'strict' .*: its target cannot be kept, .*; [0-9]* us could be$" "$work/daemon.log"
}
until_true 10 told || fail "neither ps nor the log says that the target cannot be kept: $("$COTENANT" ps)"
freezes=$("$COTENANT" ps --json | awk '$1 == "\"name\":" { batch = ($2 == "\"batch\",") }
	batch && $1 == "\"freezes\":" { print $2 + 0; exit }')
[ "${freezes:-0}" -ge 3 ] || fail "${freezes:-no} freezes"
kill "$train" "$strict"
stop_daemon

# A file that is not whole is none, and the log says so.
printf 'cotenant lessons 1\n1 2 3' >"$work/run/lessons"
start_daemon -c "$work/conf"
says "$work/daemon.log" "lessons, line 2: expected a key that is not 0, a kind and six values"
stop_daemon

finish
