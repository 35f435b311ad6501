#!/bin/sh
# Where `slo` starts programs by what it learned: after a run in pools that missed the target the latency program is outside
# MPS, and after one like that which missed it, too, the batch program as well. What was measured is replaced by
# what would have been measured then: times on an emulated GPU are not those of a real one.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
target_us=200000
lessons=$work/run/lessons
printf 'schema: cotenantd/1\npolicy: slo\n' >"$work/slo.conf"

# Kinds of lessons, as in src/policy/slo.h: the home of a program, of two programs in a topology.
home=$((0x736c6f03)) mix=$((0x736c6f20))
pools=1 solo=3 rotate=4

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

start_train() {
	start --name train -- "$PROGS/batch" --seconds 600 >"$work/train" 2>&1
	train=$pid
	until_true 20 is_there train || fail "train does not start: $(cat "$work/train")"
}

start_api() {
	start --class latency --name api --p99 ${target_us}us -- "$PROGS/request" --seconds 600 >"$work/api" 2>&1
	api=$pid
	until_true 20 is_there api || fail "api does not start: $(cat "$work/api")"
}

is_there() {
	[ -n "$(ps_value "$1" pid)" ]
}

# expect_homes POOL_OF_API POOL_OF_TRAIN WORDS: null is outside MPS.
expect_homes() {
	[ "$(ps_value api pool)" = "$1" ] || fail "api is in the pool '$(ps_value api pool)', expected '$1'"
	[ "$(ps_value train pool)" = "$2" ] || fail "train is in the pool '$(ps_value train pool)', expected '$2'"
	until_true 10 explains "$3" || fail "expected '$3': $("$COTENANT" explain api)"
}

explains() {
	"$COTENANT" explain api 2>&1 | grep -qF "$1"
}

has_learned() {
	[ -s "$lessons" ] && grep -q " $((mix + pools)) " "$lessons"
}

nobody_is_there() {
	! is_there api && ! is_there train
}

end() {
	kill -TERM "$api" "$train"
	wait "$api" "$train"
	until_true 20 nobody_is_there || fail "they do not end: $("$COTENANT" ps)"
	stop_daemon
}

# The next run is one after a run that learned this: LINES.
after_a_run() {
	printf 'cotenant lessons 1\n%s' "$1" >"$lessons"
	chmod 600 "$lessons"
	start_daemon --config "$work/slo.conf"
}

start_daemon --config "$work/slo.conf"
start_train
start_api
until_true 60 has_learned || fail "nothing is learned: $(cat "$lessons")"
expect_homes latency batch "pools: latency and batch programs take turns"
end

# Of a line: key, kind, rung, p99 in 1/1000 of the target, what batch programs keep, load, target, rung that failed.
read -r both_key load <<END
$(awk -v kind=$((mix + pools)) '$2 == kind { print $1, $6 }' "$lessons")
END
api_key=$(awk -v kind=$home '$2 == kind { print $1 }' "$lessons")
[ -n "$both_key$load" ] || fail "no lesson of both: $(cat "$lessons")"
[ -n "$api_key" ] || fail "no home of api: $(cat "$lessons")"
missed_in_pools="$both_key $((mix + pools)) 6 1300 400 $load $target_us 0
"
missed_in_solo="$both_key $((mix + solo)) 6 1300 500 $load $target_us 0
"

after_a_run "$missed_in_pools"
start_train
start_api
expect_homes null batch "solo: latency programs outside MPS"
end

after_a_run "$missed_in_pools$missed_in_solo$api_key $home $rotate $target_us $load 0 0 0
"
start_api
start_train
expect_homes null null "rotate: "
end

# A target that is another one says nothing of these: both are where nothing is known.
after_a_run "$missed_in_pools$missed_in_solo"
target_us=400000
start_train
start_api
expect_homes latency batch "pools: latency and batch programs take turns"
end
finish
