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

# Five at once: nobody goes where its like are not. (All are in one pool where the one with the shortest target has asked before
# the others are placed, which hangs on how they start.)
start_five() {
	five=
	for name in L1:309us L2:2433us L3:11303us; do
		start --class latency --name "${name%:*}" --p99 "${name#*:}" -- "$PROGS/parts" --seconds 600 >"$work/${name%:*}" 2>&1
		five="$five $pid"
	done
	for name in B1 B2; do
		start --class batch --name "$name" -- "$PROGS/parts" --seconds 600 >"$work/$name" 2>&1
		five="$five $pid"
	done
}

pools_of() {
	for name; do
		ps_value "$name" pool
	done | grep . | sort | uniq -c
}

all_there() {
	[ "$(pools_of L1 L2 L3 B1 B2 | awk '{ n += $1 } END { print n + 0 }')" = 5 ]
}

for round in 1 2 3 4; do
	start_daemon --config "$work/slo.conf"
	start_five
	until_true 20 all_there || fail "round $round: they do not start: $(pools_of L1 L2 L3 B1 B2)"
	[ "$(pools_of L1 L2 L3 | wc -l)" -eq 1 ] || fail "round $round: latency programs are torn apart: $(pools_of L1 L2 L3)"
	[ "$(pools_of B1 B2 | wc -l)" -eq 1 ] || fail "round $round: batch programs are torn apart: $(pools_of B1 B2)"
	# So that the next daemon finds no pool.
	# shellcheck disable=SC2086 # five processes
	kill -TERM $five
	for pid in $five; do
		wait "$pid"
	done
	stop_daemon
done
finish
