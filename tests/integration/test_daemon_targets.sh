#!/bin/sh
# Targets: who may have which, what is measured for them, how many requests missed them, and what the next
# daemon knows. The programs count for themselves what they miss, by their own arrivals.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH
start_daemon

run() {
	"$COTENANT" run --required "$@"
}

# refuses STATUS TEXT COMMAND...
refuses() {
	expected=$1
	text=$2
	shift 2
	"$@" >"$work/out" 2>&1
	[ $? = "$expected" ] || fail "'$*' did not end with $expected"
	says "$work/out" "$text"
}

# Before the first target.
background "$COTENANT" run --required --name early -- "$PROGS/marks" --count 20 >"$work/early"
until_true 60 test -s "$work/early" || fail "early does not end"
policy() {
	"$COTENANT" ps --json | sed -n 's/^ *"policy": "\(.*\)",/\1/p'
}
has_policy() {
	[ "$(policy)" = "$1" ]
}
has_policy pools || fail "at the start the policy is $(policy)"
refuses 1 "how fast 'early' gets on cannot be measured: it was not started with --rate, --sms or --quota; start it again with --rate" \
	"$COTENANT" set early --rate 50%

# Mistakes in one sentence, and no program.
refuses 125 "a program has one target; expected --p99 or --rate, not both" run --p99 5ms --rate 80% -- true
refuses 125 "only a latency program has a p99 or a slowdown; a batch program may have a rate" \
	run --class batch --p99 5ms -- true
for amount in 0 5 5m 0.5us -1ms 3601s 99999999999s; do
	refuses 125 "--p99 is '$amount'; expected a time such as 5ms" run --p99 "$amount" -- true
done
for amount in 0.9x 1.5 1001x x; do
	refuses 125 "--slowdown is '$amount'; expected a multiple such as 1.5x" run --slowdown "$amount" -- true
done
for amount in 0% 100.1% 80 1.5x; do
	refuses 125 "--rate is '$amount'; expected a share such as 80%" run --rate "$amount" -- true
done

# value_of_window NAME KEY: of the window of a minute, of what a target is about.
value_of_window() {
	"$COTENANT" ps --json | awk -v name="\"$1\"," -v key="\"$2\":" '
		/^    {/ { mine = 0 }
		$1 == "\"name\":" { mine = ($2 == name) }
		$1 == "\"seconds\":" { in_window = ($2 + 0 == 60); response = 0 }
		$1 == "\"response\":" { response = 1 }
		$1 == "\"service\":" { response = 0 }
		mine && in_window && $1 == key && (response || (key != "\"missed\":" && key != "\"n\":")) { print $2 + 0; exit }'
}

# start NAME ARGUMENT...: a program that waits when it has done its requests; they are counted. Its pid is in $pid.
start() {
	name=$1
	shift
	background "$COTENANT" run --required --name "$name" "$@" >"$work/$name"
	until_true 60 test -s "$work/$name" || fail "$name does not end: $(cat "$work/daemon.log")"
	until_true 5 is "$name" count 200 || fail "$name: $(ps_value "$name" count) of 200 requests"
}

# missed NAME: as many as the program says.
missed() {
	least=$(value missed_least "$work/$1")
	most=$(value missed_most "$work/$1")
	expect_between "$least" "$most" "$(value_of_window "$1" missed)" "$1: missed"
	share=$(awk -v n="$(value_of_window "$1" missed)" 'BEGIN { printf "%.6f", n / 200 }')
	expect_between "$share" "$share" "$(value_of_window "$1" missed_share)" "$1: share of misses"
}

# One that it keeps on any machine, and one that a tenth of its requests miss and more where others are late.
start keeps --p99 20s -- "$PROGS/marks" --count 200 --block-us 300 --waited-us 500 --target-us 2e7
missed keeps
[ "$(value_of_window keeps missed)" = 0 ] || fail "it misses 20 s: $(value_of_window keeps missed)"
expect_value keeps class latency
# From the first on they decide, where the configuration names no policy; who starts from now on can be moved.
has_policy slo || fail "the policy is $(policy)"
says "$work/daemon.log" "the policy is 'slo' from now on: a program has a target, and the configuration names no policy"
start misses --p99 1.5s --class latency -- "$PROGS/marks" --count 200 --block-us 300 --waited-us 500 \
	--target-us 1.5e6 --late-every 10 --late-us 2e6
missed misses
[ "$(value missed_least "$work/misses")" -ge 20 ] || fail "the program is wrong: $(cat "$work/misses")"
"$COTENANT" stats --wide >"$work/out"
grep -qE '^keeps +p99 20s +200 .* response, marks +0.00 % +0 +0 *$' "$work/out" || fail "stats: $(cat "$work/out")"
grep -qE '^misses +p99 1.5s +200 .* response, marks +1?[0-9].[05]0 % +0 +0 *$' "$work/out" || fail "stats: $(cat "$work/out")"

# While it runs; a new daemon knows the target, and looks at what comes then.
"$COTENANT" set misses --p99 500us >"$work/out" || fail "set: $(cat "$work/out")"
says "$work/out" "misses: target p99 1.5s -> p99 500us"
expect_value misses amount 500us
refuses 2 "a program has one target" "$COTENANT" set misses --p99 1ms --slowdown 2x
start counts --measure --class latency -- "$PROGS/marks" --count 200 --block-us 300 --waited-us 500 --target-us 600
[ "$(value_of_window counts missed_share)" = 0 ] || fail "without a target: $(value_of_window counts missed_share)"
kill "$pid"
# One that still answers requests, and takes longer than its target with each of them.
background "$COTENANT" run --required --name goes-on --p99 1ms -- "$PROGS/marks" --count 10000 --block-us 2000 \
	--waited-us 500 >"$work/goes-on"
answers() {
	between "$1" 1e9 "$(value_of_window goes-on n)"
}
until_true 20 answers 10 || fail "no requests: $(ps_value goes-on count)"
kill_daemon
start_daemon
until_true 20 answers 10 || fail "no requests for the next daemon: $(ps_value goes-on count)"
has_policy slo || fail "the next daemon's policy is $(policy)"
expect_value misses amount 500us
expect_value keeps amount 20s
expect_value goes-on amount 1ms
expect_value goes-on missed_share 1.0
kill -9 "$pid"
start late --p99 600us -- "$PROGS/marks" --count 200 --block-us 300 --waited-us 500 --target-us 600
missed late
[ "$(value_of_window late missed)" -gt 0 ] || fail "600 us are kept: $(cat "$work/late")"
"$COTENANT" set keeps --rate none >"$work/out"
says "$work/out" "keeps: target p99 20s -> none"
expect_value keeps target null

# One that was started without cannot be measured.
background "$COTENANT" run --required --name plain --class latency -- "$PROGS/marks" --count 20 >"$work/plain"
until_true 60 test -s "$work/plain" || fail "plain does not end"
refuses 1 "the requests of 'plain' cannot be measured: it was not started with --measure, --p99 or --slowdown; start it again with --p99" \
	"$COTENANT" set plain --p99 5ms
"$COTENANT" set plain --p99 none >"$work/out" || fail "plain: none is refused: $(cat "$work/out")"
refuses 1 "only a program has a target; a pool has none" "$COTENANT" set pool:latency --p99 none

# How fast one gets on whose target is that: launches a second, by its shim.
background "$COTENANT" run --required --name rate --rate 80% -- "$PROGS/parts" --seconds 300 >/dev/null
gets_on() {
	between 1 1e9 "$(ps_value rate launches_per_second)"
}
until_true 20 gets_on || fail "launches a second: $(ps_value rate launches_per_second)"
expect_value rate class batch
expect_value rate requests null
expect_value plain launches_per_second null
"$COTENANT" stats --wide >"$work/out"
cp "$work/out" "$work/out2"
grep -qE '^rate +rate 80% +' "$work/out" || fail "stats: $(cat "$work/out")"
grep -qE '^rate +0 +[0-9]+ +[0-9]+ +[0-9.]+ % +[0-9]+ *$' "$work/out" || fail "stats: $(cat "$work/out")"

# What a latency program starts as a batch program has no p99.
COTENANT_P99=5ms run --class batch --name inner -- sh -c 'echo "p99 ${COTENANT_P99-none} class $COTENANT_CLASS"' >"$work/out"
says "$work/out" "p99 none class batch"
COTENANT_P99=5ms run --name outer -- sh -c 'echo "p99 $COTENANT_P99 class $COTENANT_CLASS requests $COTENANT_REQUESTS"' >"$work/out"
says "$work/out" "p99 5ms class latency requests 1"
grep -q '^Policy slo (a program has a target, and the configuration names no policy)$' "$work/out2" ||
	fail "stats: $(cat "$work/out2")"

# When the last program has ended it is as before.
for program in $children; do
	kill -9 "$program" 2>/dev/null
done
until_true 10 has_policy pools || fail "the policy is $(policy)"
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
