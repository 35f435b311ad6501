#!/bin/sh
# shellcheck disable=SC2086 # $as_enemy is several words
# What a program says of its launches is the program's word alone: a user who may not take from others does not, and
# nobody has more than the user of the program may have, however many streams say so.
. "$SOURCE_DIR/tests/attack/lib.sh"

shim=$PROGS/shim_peer
RESERVE=2 ALL=100

configure smguard
start_as new
background "$shim" --name ours --quota 60 request:1:100000000:8:900000 grant:1 "until:$work/end" >"$work/ours"
until_true 5 is ours granted 79 || fail "ours has $(ps_value ours granted)"

# A batch program of theirs reserves everything in four streams: it is one with a quota, of what is free.
background $as_enemy "$shim" --name theirs --quota 10 request:1:100000000:8:50000:$RESERVE:$ALL \
	request:2:100000000:8:50000:$RESERVE:$ALL request:3:100000000:8:0:$RESERVE:$ALL \
	request:4:9:8:0:$RESERVE:0 grant:1 "until:$work/end" >"$work/theirs"
until_true 5 is theirs granted 13 || fail "theirs has $(ps_value theirs granted)"
until_true 5 is theirs waiting 3 || fail "theirs: $("$COTENANT" ps)"
sleep 0.2 # others would have given something by now
is theirs granted 13 || fail "theirs has $(ps_value theirs granted)"
is ours evicted 0 || fail "theirs took $(ps_value ours evicted) from ours"

# They may not have a latency program, so they cannot say that they have one either.
$as_enemy "$shim" --name latency --class latency request:1:100000000:8:50000:$RESERVE:$ALL grant:1 >"$work/out" 2>&1
says "$work/out" refused
is ours evicted 0 || fail "a latency program of theirs took $(ps_value ours evicted) from ours"

# A share that is none, and a method: the packet is malformed.
for said in 3:0 $RESERVE:101 $RESERVE:33793 1:65535; do
	$as_enemy timeout 20 "$shim" --name odd request:1:1000:8:0:$said grant:1 >"$work/out" 2>&1 &&
		fail "$said is granted: $(cat "$work/out")"
done

# Our own latency program, whose reservation is 8/13 of the SMs, 81, gets that once, in as many streams as it likes:
# ours keeps the other 51.
background "$shim" --name mine --class latency request:1:100000000:8:900000:$RESERVE:20 grant:1 \
	request:2:100000000:8:900000:$RESERVE:$ALL grant:2 request:3:100000000:8:900000:$RESERVE:$ALL grant:3 \
	"until:$work/end" >"$work/mine"
mine_has() {
	[ "$(grep -c '^grant' "$work/mine")" = 3 ]
}
until_true 5 mine_has || fail "mine: $(cat "$work/mine")"
n=$(($(ps_value mine granted) - $(ps_value mine evicted)))
[ "$n" -le 81 ] || fail "mine has $n"
n=$(ps_value ours evicted)
[ "$n" -le 28 ] || fail "ours gave $n"
: >"$work/end"
stop_daemon
finish
