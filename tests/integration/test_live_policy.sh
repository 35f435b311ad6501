#!/bin/sh
# `cotenant policy`: what is at work, and another policy while programs run on the emulated GPU. They go on and their
# results stay what they are; what was chosen outlives the daemon, until it is taken back.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

at_work() {
	"$COTENANT" policy --json | sed -n 's/^  "policy": "\(.*\)",/\1/p'
}
# marked NAME: only this line of the list has a star.
marked() {
	"$COTENANT" policy >"$work/out" || fail "policy"
	[ "$(awk '$1 == "*" && $2 != "is" { print $2 }' "$work/out")" = "$1" ] ||
		fail "$1 is not the one that is marked: $(cat "$work/out")"
}
works() {
	[ "$(at_work)" = "$1" ]
}
# becomes NAME ARGUMENT TEXT: `cotenant policy ARGUMENT` says it, and it is so.
becomes() {
	"$COTENANT" policy "$2" >"$work/out" || fail "policy $2"
	says "$work/out" "$3"
	works "$1" || fail "after 'policy $2' the policy is $(at_work)"
}

# Without a daemon the list alone.
"$COTENANT" policy >"$work/out" 2>"$work/err"
[ $? -eq 3 ] || fail "policy without a daemon"
says "$work/err" "no cotenantd answers"
says "$work/out" "rotate"
says_not "$work/out" "*"
"$COTENANT" policy smguard >"$work/out" 2>&1
[ $? -eq 3 ] || fail "a policy without a daemon"
"$COTENANT" policy smgard >"$work/out" 2>&1
[ $? -eq 2 ] || fail "an unknown policy"
says "$work/out" "unknown policy 'smgard' (did you mean 'smguard'?)"

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")
printf 'schema: cotenantd/1\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon --config "$work/conf"
marked pools
background "$COTENANT" run --required --name b -- "$PROGS/batch" --seconds 100 >"$work/b"
b=$pid
background "$COTENANT" run --required --class latency --name svc -- "$PROGS/request" --seconds 100 >"$work/svc"
svc=$pid
expect_value latency slice_read_back_us 10000
expect_value batch slice_read_back_us 20

# `run --policy` says what of it does not happen: the batch program stays in a pool where nothing is divided.
"$COTENANT" run --required --policy laius -- true 2>"$work/err" || fail "run --policy laius: $(cat "$work/err")"
works laius || fail "after 'run --policy laius' the policy is $(at_work)"
says "$work/err" "cotenant run: --policy: programs that stay in the pools where they started: "
until_true 10 has_programs 2 || fail "true is still there"
"$COTENANT" run --required --policy pools -- true 2>"$work/err" || fail "run --policy pools: $(cat "$work/err")"
says_not "$work/err" "--policy"
until_true 10 has_programs 2 || fail "true is still there"
expect_value batch slice_read_back_us 20

# The slices are the driver's, the pools go on.
becomes timeslice timeslice "policy pools -> timeslice; programs that stay in the pools where they started: 2"
marked timeslice
says "$work/out" "* is at work: chosen with 'cotenant policy'"
expect_value batch slice_us 0
says "$work/daemon.log" "policy pools -> timeslice, by "
for policy in rotate smguard slo parts; do
	becomes "$policy" "$policy" "-> $policy"
done
becomes pools pools "policy parts -> pools"
says_not "$work/out" ";"
expect_value batch slice_read_back_us 20
becomes rotate rotate "policy pools -> rotate"

# The next daemon goes on with it, and with the programs. After so many changes it is written a little later.
until_true 5 grep -qF '"policy":"rotate"' "$work/run/state.json" || fail "the choice is not written down"
kill_daemon
start_daemon --config "$work/conf"
works rotate || fail "after the daemon's death the policy is $(at_work)"
says "$work/daemon.log" "the policy is 'rotate', as chosen with 'cotenant policy'"
until_true 10 has_programs 2 || fail "programs were lost"
becomes pools auto "policy rotate -> pools (auto)"
expect_value batch slice_read_back_us 20

# The configuration counts when it is read again.
becomes static static "policy pools -> static"
printf 'schema: cotenantd/1\npolicy: effisha\nmps: {linger_s: 0}\n' >"$work/conf"
kill -HUP "$daemon_pid"
until_true 5 works effisha || fail "after SIGHUP the policy is $(at_work)"
says "$work/daemon.log" "policy static -> effisha"
becomes smguard smguard "policy effisha -> smguard"
becomes effisha auto "policy smguard -> effisha (auto)"

# Nobody was stopped, nothing was computed wrongly.
kill -0 "$b" || fail "b has ended"
kill "$svc" "$b"
wait "$svc" || fail "svc: $(cat "$work/svc")"
until_true 10 test -s "$work/b" || fail "b does not end"
[ "$(value checksum "$work/b")" = "$sum" ] || fail "b computed something else"
[ "$(value wrong "$work/b")" = 0 ] || fail "wrong results"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status at the end"
finish
