#!/bin/sh
# What the daemon needs while it measures programs is the machine's again when they have ended, however many they were at once.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH
start_daemon
AT_ONCE=12 BLOCK_KB=200 # each has a little more

heap() {
	"$COTENANT" stats --json | awk '$1 == "\"heap_kb\":" { print $2 + 0; exit }'
}

# measured N: the requests of so many programs are counted.
measured() {
	[ "$("$COTENANT" ps --json | awk '$1 == "\"count\":" && $2 + 0 == 5' | wc -l)" = "$1" ]
}

# round: programs that are measured at the same time, until all have ended. How large the heap was with them: `during`.
round() {
	programs=
	for i in $(seq $AT_ONCE); do
		background "$COTENANT" run --measure --name "p$i" -- "$PROGS/marks" --count 5 >"$work/p$i"
		programs="$programs $pid"
	done
	until_true 60 measured $AT_ONCE || fail "not all are measured"
	during=$(heap)
	# shellcheck disable=SC2086 # numbers
	kill $programs
	for program in $programs; do
		wait "$program"
	done
	until_true 20 has_programs 0 || fail "$(n_programs) programs are left"
}

round # what the daemon keeps for good is there now
before=$(heap)
if [ "$before" = 0 ]; then
	echo "the allocator says nothing here"
	finish
fi
[ "$during" -ge $((before + AT_ONCE * BLOCK_KB)) ] || fail "$before kB without programs, $during with $AT_ONCE: what has a program?"
round
after=$(heap)
[ "$after" -le $((before + BLOCK_KB)) ] || fail "$before kB before, $during with $AT_ONCE programs, $after after"
finish
