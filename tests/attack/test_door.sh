#!/bin/sh
# shellcheck disable=SC2086 # $as_enemy is several words
# What comes in by the door, with a kernel that helps and with one that does not.
. "$SOURCE_DIR/tests/attack/lib.sh"

# A number of a process that has ended, which somebody else's process has now: its connection says
# nothing of that one.
play_heir() {
	rm -f "$work/go" "$work/heir"
	mkdir -p "$work/open" && chmod 777 "$work/open"
	background $as_enemy "$ATTACK" heir "$work/open/pid" "$work/open/go" >"$work/words"
	until_true 5 test -s "$work/open/pid" || fail "no heir"
	number=$(cat "$work/open/pid")
	until_true 5 test ! -d "/proc/$number" || fail "the first one has not ended"
	background "$ATTACK" take-number "$number" "$PEER" library --name roots >"$work/taken"
	wait "$pid"
	[ $? -ne 77 ] || {
		echo "heir: numbers cannot be chosen here"
		return
	}
	until_true 5 has_name roots || fail "no program of root's with the number"
	touch "$work/open/go"
	until_true 6 grep -q answer "$work/words" || fail "the heir was not answered"
	says "$work/words" "answer refused"
	[ "$(ps_value roots uid)" = 0 ] || fail "root's program is user $(ps_value roots uid)'s"
	ps_value mine id | grep -q . && fail "the heir has a program"
	kill "$number"
	rm -f "$work/open/go" # the heir ends
	rm -rf "$work/open"
}

configure pools
for how in ${HOWS:-new old}; do
	start_as $how
	start_victim
	echo "--- $how kernel"
	play passing 1 200
	play linger 2 5 20
	play silent 1 1
	play knock 1.5 1.5 6
	play bombs 1.5 1.5
	play odd 1 100
	play page 1 40
	play forge 1 "$victim_id"
	[ "$(value as-it "$work/words")" = 0 ] || fail "forge: $(cat "$work/words")"
	play_heir
	"$COTENANT" ps >"$work/out" 2>&1 || fail "ps after it: $(cat "$work/out")"
	end_victim
	stop_daemon
	[ "$status" -eq 0 ] || fail "status $status"
done
finish
