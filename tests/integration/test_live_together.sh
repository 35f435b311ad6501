#!/bin/sh
# Programs that start in the same instant: a policy that wants them in one pool gets that, though neither is there when
# the other one asks. The target is as short as a few switches, so `slo` wants parts with nothing else known.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
printf 'schema: cotenantd/1\npolicy: slo\n' >"$work/slo.conf"
start_daemon --config "$work/slo.conf"

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

are_there() {
	pool_of_api=$(ps_value api pool)
	pool_of_train=$(ps_value train pool)
	[ -n "$pool_of_api" ] && [ -n "$pool_of_train" ]
}

start --class batch --name train -- "$PROGS/parts" --seconds 600 >"$work/train" 2>&1
train=$pid
start --class latency --name api --p99 500us -- "$PROGS/parts" --seconds 600 >"$work/api" 2>&1
api=$pid
until_true 20 are_there || fail "they do not start: $(cat "$work/train" "$work/api")"
[ "$pool_of_api" = "$pool_of_train" ] || fail "api is in the pool '$pool_of_api', train in '$pool_of_train'"
"$COTENANT" explain api >"$work/out" || fail "explain: $(cat "$work/out")"
says "$work/out" "parts: side by side"
kill -TERM "$api" "$train"
stop_daemon
finish
