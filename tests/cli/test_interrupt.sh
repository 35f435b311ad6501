#!/bin/sh
# An interrupted run ends with status 130 and leaves nothing half-written.
. "$SOURCE_DIR/tests/cli/lib.sh"

endless_scenario >"$work/s.yaml"
mkdir "$work/d" "$work/tmp"

# interrupted SIGNAL COMMAND...: starts it with outputs, waits for its first file, sends the signal.
interrupted() {
	signal=$1
	shift
	echo before >"$work/d/out.json"
	TMPDIR="$work/tmp" "$@" --json "$work/d/out.json" --report "$work/d/r.html" \
		>"$work/out" 2>"$work/err" &
	child=$!
	tries=0
	while [ "$(names_in "$work/d")" = out.json ] && [ "$tries" -lt 100 ]; do
		sleep 0.1
		tries=$((tries + 1))
	done
	kill -s "$signal" "$child"
	wait "$child"
	status=$?
	[ "$status" -eq 130 ] || fail "$signal: status $status"
	empty "$work/out"
	says "$work/err" "interrupted; nothing was written"
	[ "$(names_in "$work/d")" = out.json ] || fail "left: $(names_in "$work/d")"
	[ "$(cat "$work/d/out.json")" = before ] || fail "the old file is gone"
	[ -z "$(names_in "$work/tmp")" ] || fail "left in TMPDIR: $(names_in "$work/tmp")"
}

interrupted TERM "$COTENANT" sim "$work/s.yaml" --allocation
interrupted HUP "$COTENANT" sim "$work/s.yaml" --allocation
interrupted TERM "$COTENANT" reproduce preemption --threads 1
interrupted TERM "$COTENANT" reproduce smqos --threads 1
# A shell starts background commands with SIGINT ignored.
if env --default-signal=INT true 2>/dev/null; then
	interrupted INT env --default-signal=INT "$COTENANT" sim "$work/s.yaml" --allocation
fi
finish
