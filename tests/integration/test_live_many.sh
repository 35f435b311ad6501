#!/bin/sh
# 64 real programs at once, half of them alone and half in the batch pool.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

start_daemon
i=0
while [ $i -lt 64 ]; do
	solo=
	[ $((i % 2)) -eq 0 ] || solo=--solo
	# shellcheck disable=SC2086
	background "$COTENANT" run $solo --name "p$i" -- "$PROGS/batch" --block-us 200 --blocks 8 \
		--seconds 6 >"$work/p$i" 2>&1
	i=$((i + 1))
done
shows_all() {
	"$COTENANT" ps >"$work/out" && [ "$(grep -c '^[0-9]' "$work/out")" -eq 64 ]
}
until_true 40 shows_all || fail "ps shows $(grep -c '^[0-9]' "$work/out") of 64 programs"
i=0
while [ $i -lt 64 ]; do
	until_true 60 test -s "$work/p$i" || fail "p$i does not end"
	[ "$(value wrong "$work/p$i")" = 0 ] || fail "p$i: $(cat "$work/p$i")"
	i=$((i + 1))
done
until_true 5 has_programs 0 || fail "$(n_programs) are left"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
