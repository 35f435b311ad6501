#!/bin/sh
# shellcheck disable=SC2086 # $as_enemy is several words
# Places, numbers and names; the policy while the daemon is stopped.
. "$SOURCE_DIR/tests/attack/lib.sh"

# Root and a third user start something while the enemies have all that they can get.
play_hoard() {
	for user in 1001 1002; do
		# shellcheck disable=SC2046 # what as_user prints is several words
		background $(as_user $user) "$ATTACK" hoard 200 20 2>"$work/hoard$user"
	done
	until_true 10 is_quiet || fail "they go on"
	judge hoard 1
	"$COTENANT" run --solo --required --name roots -- true 2>"$work/out" ||
		fail "root's program has no place: $(cat "$work/out")"
	$(as_user 1003) "$PEER" register --name third >"$work/out"
	says "$work/out" registered
	echo "hoard: $(wc -c <"$work/hoard1001") and $(wc -c <"$work/hoard1002") places of 256"
	between 1 120 "$(wc -c <"$work/hoard1001")" || fail "one user has $(wc -c <"$work/hoard1001")"
	kill -9 "$pid" 2>/dev/null
}

# More processes than the daemon has places for, which say that they are a program of its: one that a launcher of somebody
# else's has left is found all the same, and so it is by the next daemon.
play_forest() {
	background $as_enemy env COTENANT_SOCKET="$COTENANT_SOCKET" COTENANT_CLASS=batch COTENANT_TENANT=900000 \
		"$ATTACK" forest 1100 60 >"$work/forest"
	forest_pid=$pid
	until_true 10 grep -q stand "$work/forest" || fail "no forest"
	background "$COTENANT" run --solo --name left -- sh -c "sleep 20 & echo \$! >'$work/left'; sleep 1"
	left_pid=$pid
	until_true 10 test -s "$work/left" || fail "nothing is left"
	wait "$left_pid"
	sleep 1
	[ "$(ps_value left pid)" = "$(cat "$work/left")" ] || fail "what a launcher has left is lost: $(ps_value left pid)"
	kill_daemon
	start_as new
	start_victim
	[ "$(ps_value left pid)" = "$(cat "$work/left")" ] || fail "the next daemon has lost it: $(ps_value left pid)"
	kill "$(cat "$work/left")" "$forest_pid"
}

# Who reads this one's memory waits for it: the daemon does not, nor does the next one when it begins, but for a second.
play_locked() {
	begins=locked
	sleep 15 # a young daemon may look, for a moment
	play locked 3 3
	begins=
	background $as_enemy "$ATTACK" locked 60 >"$work/words"
	locked_pid=$pid
	until_true 20 grep -q locked "$work/words" || fail "nobody is locked"
	kill_daemon
	start_as new
	start_victim
	kill "$locked_pid"
}

is_quiet() {
	n=$(n_programs)
	sleep 0.3
	[ "$n" -gt 100 ] && [ "$(n_programs)" = "$n" ]
}

configure pools
start_as new
start_victim
play numbers 3 300 1000000 1
[ "$(ps_value hog id)" = "" ] || fail "programs that are not there: $(n_programs)"
play numbers 1 1 2147483647
background "$COTENANT" run --solo --name keeper -- sleep 100
until_true 5 is keeper weight 100 || fail "no keeper"
"$COTENANT" set keeper --weight 555 >"$work/out" || fail "$(cat "$work/out")"
play greedy 1
says "$work/words" "got 0"

# The next daemon can read what this one has written.
kill_daemon
start_as new
is keeper weight 555 || fail "the keeper's weight is $(ps_value keeper weight)"
start_victim
play_forest
play_locked
play_hoard
end_victim
stop_daemon

# What a policy waits for happens while the daemon is stopped: that is not its fault.
configure smguard
start_as new
mkfifo "$work/go"
$as_enemy "$ATTACK" stall <"$work/go" >"$work/words" &
children="$children $!"
exec 5>"$work/go"
until_true 5 grep -q ready "$work/words" || fail "no works: $(cat "$work/words")"
kill -STOP "$daemon_pid"
echo >&5
until_true 5 grep -q sent "$work/words" || fail "not sent"
sleep 1.2
kill -CONT "$daemon_pid"
sleep 0.5
"$COTENANT" stats --json >"$work/out"
says "$work/out" '"policy": "smguard"'
says "$work/out" '"fallbacks": 0'
exec 5>&-
stop_daemon
finish
