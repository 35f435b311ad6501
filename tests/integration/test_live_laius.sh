#!/bin/sh
# The policy laius on the emulated GPU: a service beside two batch programs. Each request gets the SMs that it is
# predicted to need, the batch programs get the others, and all between requests: so parts change between tasks, and
# the results are those that there are without.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

# knows SMS: where a request of the service is fast enough.
knows() {
	cat >"$work/api.yaml" <<-END
		schema: cotenant.knowledge/1
		program: serve
		class: latency
		gpu: "NVIDIA H200"
		sms: [8, $1, 132]
		inputs:
		  - size: 4
		    requests: 100
		    time_ns: [90000000000, 3000000, 2000000]
		    launches: 4
	END
}

knows 64
cat >"$work/train.yaml" <<END
schema: cotenant.knowledge/1
program: parts
class: batch
gpu: "NVIDIA H200"
sms: [8, 64, 132]
repeats:
  time_ns: [8000000, 1000000, 900000]
END
cat >"$work/laius.conf" <<END
schema: cotenantd/1
policy: laius
dram_gb_per_s: 4800
knowledge:
  - name: api
    file: $work/api.yaml
  - name: train
    file: $work/train.yaml
END
start_daemon --config "$work/laius.conf"

ps_shows() {
	"$COTENANT" ps >"$work/out" || return 1
	for pattern in "$@"; do
		grep -qE -e "$pattern" "$work/out" || return 1
	done
}

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

# at_least NAME KEY NUMBER
at_least() {
	n=$(ps_value "$1" "$2")
	[ "${n:-0}" -ge "$3" ]
}

# Alone batch programs have all SMs, each its own.
start --name train -- "$PROGS/parts" --seconds 600 --until "$work/enough" >"$work/train"
train=$pid
until_true 20 ps_shows 'train +- +all 132 ' || fail "ps: $(cat "$work/out")"
start --name sort -- "$PROGS/parts" --seconds 600 --until "$work/enough" --seed 7 >"$work/sort"
sort=$pid
until_true 20 ps_shows 'train +- +64 of 132, from 0 ' 'sort +- +68 of 132, from 64 ' || fail "ps: $(cat "$work/out")"

# During a request of a size that is known the service has what it needs, and they have the others.
start --name api --class latency --p99 10s -- "$PROGS/serve" >"$work/api"
api=$pid
until_true 20 at_least api planned 100 || fail "queries: $("$COTENANT" ps --json | grep -A9 '"queries": {')"
expect_value api last_size 4
expect_value api last_launches 4
expect_value api left_out 0
until_true 20 ps_shows 'api +- +68 of 132, from 64 ' || fail "ps: $(cat "$work/out")"
until_true 20 at_least sort changes 20 || fail "sort has moved $(ps_value sort changes) times"
until_true 20 ps_shows 'sort +- +[0-9]+ of 132, from [1-5]?[0-9] ' || fail "ps: $(cat "$work/out")"
"$COTENANT" explain api >"$work/out" || fail "explain: $(cat "$work/out")"
grep -qE 'not known +0,' "$work/out" || fail "explain: $(cat "$work/out")"

# What is known may change while they run; what cannot be read changes nothing.
: >"$work/api.yaml"
kill -HUP "$daemon_pid"
until_true 5 grep -q "the configuration stays as it was: .*api.yaml" "$work/daemon.log" ||
	fail "log: $(tail -3 "$work/daemon.log")"
knows 32
kill -HUP "$daemon_pid"
until_true 20 ps_shows 'api +- +36 of 132, from 96 ' || fail "ps: $(cat "$work/out")"

# A service of which nothing is known has all SMs; what the batch programs launch meanwhile is held. After 64 requests it is
# known what they take; whether that is little enough for a part depends on how busy this machine is.
kill -TERM "$api"
wait "$api" || fail "serve: $(cat "$work/api")"
says "$work/api" "wrong 0"
start --name odd --class latency --p99 10s -- "$PROGS/serve" >"$work/odd"
odd=$pid
until_true 20 at_least train launches_held 5 || fail "held: $(ps_value train launches_held)"
until_true 20 at_least sort launches_held 5 || fail "held: $(ps_value sort launches_held)"
until_true 30 at_least odd planned 1 || fail "nothing was learned: $("$COTENANT" ps --json | grep -A9 '"queries": {')"
"$COTENANT" explain odd >"$work/out" || fail "explain: $(cat "$work/out")"
grep -qE 'not known +[1-9]' "$work/out" || fail "explain: $(cat "$work/out")"

# Without a policy that looks at queries nobody is asked, and nobody held.
printf 'schema: cotenantd/1\npolicy: parts\n' >"$work/laius.conf"
kill -HUP "$daemon_pid"
expect_value odd now 0
until_true 20 ps_shows 'train +- +32 of 132, from 0 ' || fail "ps: $(cat "$work/out")"

# Who starts a program may say which policy is to be at work.
"$COTENANT" run --policy laiuss -- true 2>"$work/out" && fail "an unknown policy"
says "$work/out" "did you mean 'laius'?"
policy_is() {
	"$COTENANT" policy --json | grep -q "\"policy\": \"$1\""
}
policy_is parts || fail "$("$COTENANT" policy)"
"$COTENANT" run --required --policy laius --class latency --p99 20ms -- true || fail "run --policy laius"
policy_is laius || fail "$("$COTENANT" policy)"
"$COTENANT" policy auto >"$work/out" || fail "auto: $(cat "$work/out")"
until_true 20 policy_is parts || fail "$("$COTENANT" policy)"

# All that was computed meanwhile is right.
kill -TERM "$odd"
: >"$work/enough"
# ended_right NAME PROCESS
ended_right() {
	wait "$2" || fail "$1 ended with $?"
	says "$work/$1" "wrong 0"
}
ended_right odd "$odd"
ended_right train "$train"
ended_right sort "$sort"
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
