#!/bin/sh
# Collectors of metrics that take all they can get: others' commands, leases and turns do not notice.
. "$SOURCE_DIR/tests/attack/lib.sh"
python=/usr/bin/python3 # one that others may use, too
[ -x "$python" ] || {
	echo "needs python3 for a collector"
	exit 77
}
collector=$SOURCE_DIR/tests/integration/daemon/collector.py
port=$("$python" -B "$collector" port)

configure pools
echo "metrics: 127.0.0.1:$port" >>"$work/conf"
start_as new
start_victim

# against HOW SECONDS: as play, with the collector.
against() {
	base_descriptors=$(n_descriptors)
	# shellcheck disable=SC2086 # words
	background $as_enemy "$python" -B "$collector" "$1" "$port" "$2" >"$work/words" 2>&1
	enemy_pid=$pid
	judge "$1" "$2"
	until_true 10 test -s "$work/words" || fail "$1: the enemy does not end"
	kill -9 "$enemy_pid" 2>/dev/null
	wait "$enemy_pid" 2>/dev/null
	until_true 10 few_descriptors || fail "$1: $(n_descriptors) descriptors of $base_descriptors before"
	echo "$1: $(tail -1 "$work/words"); command $longest ms, late $late ms, stolen $stolen ms"
	"$python" -B "$collector" get "$port" >"$work/page" 2>"$work/head" || fail "$1: no answer after it: $(cat "$work/head")"
	"$python" -B "$collector" check "$work/page" >"$work/out" 2>&1 || fail "$1: $(cat "$work/out")"
}

against hold 2
against flood 2
against slow 2
against garbage 2
# No connection lasts, however alive it looks.
against drip 8
between 1 1000000 "$(value ended "$work/words")" || fail "slow requests without an end: $(cat "$work/words")"
end_victim
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
