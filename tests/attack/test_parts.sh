#!/bin/sh
# Shims that lie about parts, and programs that want all SMs: root's programs keep theirs, but for the rule that
# docs/security.md tells, and each order has one answer.
# shellcheck disable=SC2086 # $as_enemy is several words
. "$SOURCE_DIR/tests/attack/lib.sh"

shim=$PROGS/shim_peer

# has NAME PART: what `ps` says that it has.
has() {
	"$COTENANT" ps >"$work/ps" && grep -qE -e "$1 +[0-9a-z%-]+ +$2 " "$work/ps"
}

# Root's programs: the latency program has the last SMs, also those that make no unit, and the batch program its own from the first one on.
start_owners() {
	background "$shim" --name api --class latency parts:132:8:0 "serve:1000" >"$work/api"
	background "$shim" --name train parts:132:8:0 "serve:1000" >"$work/train"
	for name in api train; do
		until_true 5 is $name unit 8 || fail "$name cannot be placed"
		"$COTENANT" set $name --sms 32 >"$work/out" || fail "$name: $(cat "$work/out")"
	done
	until_true 5 has api '36 of 132, from 96' || fail "ps: $(cat "$work/ps")"
	until_true 5 has train '32 of 132, from 0' || fail "ps: $(cat "$work/ps")"
}

n_orders() {
	cat "$work/api" "$work/train" | grep -c place
}

# owners_have WHAT: their parts are as they were, and they had no order meanwhile.
owners_have() {
	until_true 5 has api '36 of 132, from 96' || fail "$1: ps: $(cat "$work/ps")"
	until_true 5 has train '32 of 132, from 0' || fail "$1: ps: $(cat "$work/ps")"
	[ "$(n_orders)" = "$before" ] || fail "$1: $(n_orders) orders, $before before: $(cat "$work/api" "$work/train")"
}

configure parts
start_as new
start_victim
start_owners
before=$(n_orders)

# An order comes of a change of its own share, of which a user has 60, and 10 a second; whatever it answers, others
# have no order for it.
for how in mute late others beyond odd twice refuse; do
	play placed 1.3 $how 1.3
	between 1 100 "$(value orders "$work/words")" || fail "$how: $(cat "$work/words")"
	owners_have "$how"
done
play parts 3 3 40
owners_have parts

# Many programs of one user that want all: root's latency program keeps its SMs, and so does a batch program that
# asked before them. None of it is counted against others.
play crowd 3 60 3
between 1 120 "$(tr -dc w <"$work/words" | wc -c)" || fail "crowd: $(cat "$work/words")"
owners_have crowd
"$COTENANT" set train --sms 40 >"$work/out" || fail "set: $(cat "$work/out")"
until_true 5 has train '40 of 132, from 0' || fail "ps: $(cat "$work/ps")"
"$COTENANT" stats --json >"$work/out"
says "$work/out" '"fallbacks": 0'
end_victim
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
