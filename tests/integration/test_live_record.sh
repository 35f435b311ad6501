#!/bin/sh
# A service and a batch program are recorded; what the recording says is what they did.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH

"$COTENANT" record -o "$work/none.cot" >"$work/out" 2>&1
[ $? = 3 ] || fail "without a daemon: $(cat "$work/out")"
[ ! -e "$work/none.cot" ] || fail "there is a file without a daemon"

start_daemon
"$COTENANT" record -o "$work/run.cot" --interval 200ms 2>"$work/said" &
recorder=$!
children="$children $recorder"
records() {
	[ -e "$(echo "$work"/run.cot.tmp.*)" ]
}
until_true 20 records || fail "it does not record: $(cat "$work/said")"
background "$COTENANT" run --measure --class latency --name serve -- "$PROGS/marks" --count 300 --block-us 2000 \
	--waited-us 3000 >"$work/serve"
background "$COTENANT" run --name train -- "$PROGS/batch" --seconds 600 --block-us 5000
until_true 60 test -s "$work/serve" || fail "the service does not end: $(cat "$work/daemon.log")"
counted() {
	[ "$(ps_value serve count)" = 300 ]
}
until_true 5 counted || fail "counted $(ps_value serve count) of 300"
"$COTENANT" set serve --p99 9ms >/dev/null || fail "set: $?"
"$COTENANT" policy timeslice >/dev/null || fail "policy: $?"
sleep 0.5 # a sample more, or the last one is when it is told to end
[ ! -e "$work/run.cot" ] || fail "the file is there before the end"
kill "$recorder" # SIGINT is ignored by what a script starts in the background
wait "$recorder"
status=$?
[ "$status" = 0 ] || fail "record ends with $status: $(cat "$work/said")"
says "$work/said" "ended by: a signal"
tail -n 1 "$work/run.cot" | grep -q '"end":"signal"' || fail "the last line: $(tail -n 1 "$work/run.cot")"
says "$work/run.cot" '"requests":300'
says "$work/run.cot" '"who":"train","change":"began","to":"batch"'
says "$work/run.cot" '"who":"serve","change":"target","to":"9ms"'
# By the target it was slo in between, which a sample may have seen or not.
grep -qE '"change":"policy","from":"(pools|slo)","to":"timeslice"' "$work/run.cot" || fail "no change of the policy"

# At the limit, after a time, packed; and when the daemon ends.
"$COTENANT" record -o "$work/small.cot" --interval 100ms --limit 64KiB --for 300s 2>"$work/said" &
recorder=$!
"$COTENANT" record -o "$work/packed.cot.gz" --for 0.5s --json="$work/said.json" 2>"$work/out" || fail "packed: $(cat "$work/out")"
gzip -dc "$work/packed.cot.gz" | tail -n 1 | grep -q '"end":"time"' || fail "packed: no end"
says "$work/said.json" '"schema": "cotenant.recorded/1"'
says "$work/said.json" '"end": "time"'
"$COTENANT" record -o "$work/one" --json="$work/one" 2>"$work/out"
[ $? = 2 ] || fail "two into one file: $(cat "$work/out")"
"$COTENANT" record -o "$work/left.cot" --interval 100ms 2>"$work/out" &
left=$!
wait "$recorder"
status=$?
[ "$status" = 0 ] || fail "record --limit ends with $status: $(cat "$work/said")"
[ "$(stat -c %s "$work/small.cot")" -le 65536 ] || fail "larger than the limit: $(ls -l "$work/small.cot")"
tail -n 1 "$work/small.cot" | grep -q '"end":"limit"' || fail "the last line: $(tail -n 1 "$work/small.cot")"
kill_daemon
wait "$left"
status=$?
[ "$status" = 3 ] || fail "without its daemon record ends with $status: $(cat "$work/out")"
tail -n 1 "$work/left.cot" | grep -q '"end":"daemon"' || fail "the last line: $(tail -n 1 "$work/left.cot")"
finish
