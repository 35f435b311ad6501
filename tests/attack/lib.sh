# Helpers of the attacks: a daemon of root that everybody may use, a program of root's, and what
# both must get while user 1001 does its worst. Needs ATTACK, the hostile user's program.
# shellcheck shell=sh disable=SC2034

. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

: "${ATTACK:?the hostile user}"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	echo "needs root and setpriv"
	exit 77
fi
chmod 755 "$work"

# What the promises are: of the daemon's own time, whatever else the machine does.
COMMAND_MS=$((50 * SLOWER)) LATE_MS=$((20 * SLOWER))

# How to run something as a user who is nobody in particular; not a function, so that what runs in
# the background is the program itself.
as_user() {
	echo "setpriv --reuid $1 --regid $1 --clear-groups"
}
as_enemy=$(as_user 1001)

configure() {
	cat >"$work/conf" <<-YAML
		schema: cotenantd/1
		policy: ${1:-pools}
		allow:
		  latency: ["@root"]
		  max_weight: 1000
		  other_users: true
	YAML
}

# start_as HOW: a new daemon ("old": on a kernel as Debian 12's), and the victim.
start_as() {
	daemon=$COTENANTD
	if [ "$1" = old ]; then
		cat >"$work/old" <<-SH
			#!/bin/sh
			exec "$ATTACK" old-kernel "$daemon" "\$@"
		SH
		chmod 755 "$work/old"
		COTENANTD=$work/old
	fi
	stolen_before=$("$ATTACK" stolen)
	start_daemon -c "$work/conf" --log-level info
	COTENANTD=$daemon
	late_before=none lapsed_before=0 victim_id=
	[ "$n_failed" -eq 0 ] || finish # else each attack would fail, after a long time
}

start_victim() {
	background "$PEER" library --name victim --daemon "$daemon_pid" >"$work/victim"
	until_true 5 has_name victim || fail "no victim"
	victim_id=$(ps_value victim id)
	sleep 0.6 # until it is settled
	hold_victim
}

has_name() {
	[ -n "$(ps_value "$1" id)" ]
}

# It is frozen: a lease must be renewed all the time.
hold_victim() {
	freezes victim || fail "cannot freeze the victim: $(cat "$work/out")"
}

end_victim() {
	"$COTENANT" thaw victim >"$work/out" 2>&1 || fail "cannot thaw the victim: $(cat "$work/out")"
	says_not "$work/victim" hangup
}

# stat_value KEY: a number of `stats --json`.
stat_value() {
	"$COTENANT" stats --json | awk -v key="\"$1\":" '$1 == key { gsub(/,/, "", $2); print $2; exit }'
}

n_descriptors() {
	find "/proc/$daemon_pid/fd" -mindepth 1 2>/dev/null | wc -l
}

few_descriptors() {
	[ "$(n_descriptors)" -le $((base_descriptors + 4)) ]
}

# What others get while the attack runs (for so many seconds), and what is left of it. What a
# machine below this one takes from it is nobody's fault here.
judge() {
	"$ATTACK" watch victim "$2" "$daemon_pid" "$stolen_before" >"$work/watch" ||
		fail "$1: no answer: $(cat "$work/watch")"
	longest=$(value longest "$work/watch")
	stolen=$(value stolen "$work/watch")
	stolen_before=$("$ATTACK" stolen)
	expect_between 0 $((COMMAND_MS + ${stolen:=0})) "$longest" "$1: time of a command, ms,"
	kill -0 "$daemon_pid" 2>/dev/null || fail "$1: the daemon has ended"
	late=$(stat_value worst_own_ms)
	between 0 $((LATE_MS + stolen)) "$late" || [ "$late" = "$late_before" ] ||
		fail "$1: a deadline came $late ms late ($stolen ms were stolen)"
	late_before=$late
	n_lapsed=$(grep -c lapsed "$work/victim")
	# While the machine below keeps this one from running for so long, no daemon renews a lease in time.
	[ "$n_lapsed" = "$lapsed_before" ] || [ "$stolen" -gt 20 ] || fail "$1: a lease of the victim lapsed"
	lapsed_before=$n_lapsed
	stays_frozen victim || fail "$1: the victim is $(ps_value victim state)"
}

# play NAME SECONDS ARGUMENT...: the attack, judged for so long; its words are in $work/words. $begins is the word with
# which it says that it is under way, if it says so.
begins=
play() {
	name=$1 seconds=$2
	shift 2
	base_descriptors=$(n_descriptors)
	# shellcheck disable=SC2086 # words
	background $as_enemy "$ATTACK" "$name" "$@" >"$work/words" 2>&1
	enemy_pid=$pid
	[ -z "$begins" ] || until_true 5 grep -q "^$begins" "$work/words" || fail "$name $*: it does not begin"
	judge "$name $*" "$seconds"
	kill -9 "$enemy_pid" 2>/dev/null
	wait "$enemy_pid" 2>/dev/null
	until_true 5 few_descriptors || fail "$name: $(n_descriptors) descriptors of $base_descriptors before"
	echo "$name $*: $(tail -1 "$work/words" | cut -c1-200); command $longest ms, late $late ms, stolen $stolen ms"
}
