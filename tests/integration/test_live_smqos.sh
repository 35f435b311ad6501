#!/bin/sh
# The policy smqos with two real programs on the emulated GPU: the one that was promised a rate is measured while the
# other one is on one unit of SMs, then each has SMs of its own.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

printf 'schema: cotenantd/1\npolicy: smqos\n' >"$work/smqos.conf"
start_daemon --config "$work/smqos.conf"

# ps_shows PATTERN...: each is in one and the same answer.
ps_shows() {
	"$COTENANT" ps >"$work/out" || return 1
	for pattern in "$@"; do
		grep -qE -e "$pattern" "$work/out" || return 1
	done
}

ps_shows_not() {
	"$COTENANT" ps >"$work/out" && ! grep -q -e "$1" "$work/out"
}

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

# What NAME has: "84 of 132, from 48" is 84 48.
range() {
	sed -n "s/^[0-9]* *$1 .* \([0-9]*\) of 132, from \([0-9]*\) .*/\1 \2/p" "$work/out"
}

# Each on SMs of its own, the promised one at the top, and neither as while it was measured.
are_apart() {
	"$COTENANT" ps >"$work/out" || return 1
	# shellcheck disable=SC2046
	set -- $(range train) $(range api)
	[ $# = 4 ] && [ "$2" = 0 ] && [ "$1" -gt 8 ] && [ $(($3 + $4)) = 132 ] && [ "$1" -le "$4" ]
}

# While nobody was promised anything all have all of the GPU.
start --name train -- "$PROGS/parts" --seconds 600 >"$work/train" 2>&1
train=$pid
start --name sized --sms 16 -- "$PROGS/parts" --seconds 600 >"$work/sized" 2>&1
sized=$pid
until_true 20 ps_shows 'train +- +all 132 ' 'sized +16sm +16 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
expect_value train pool shared
kill -TERM "$sized"
until_true 20 ps_shows_not 'sized' || fail "ps: $(cat "$work/out")"

# The rate alone is measured, then SMs are dealt out.
start --name api --rate 30% -- "$PROGS/parts" --seconds 600 >"$work/api" 2>&1
api=$pid
until_true 30 ps_shows 'train +- +8 of 132, from 0 ' 'api +- +124 of 132, from 8 ' || fail "ps: $(cat "$work/out")"
until_true 60 are_apart || fail "ps: $(cat "$work/out")"
expect_value api pool shared
expect_value api kind rate
"$COTENANT" explain api >"$work/out" || fail "explain: $(cat "$work/out")"
says "$work/out" "promised"
"$COTENANT" stats >"$work/out" || fail "stats: $(cat "$work/out")"
grep -qE '^ *api +rate 30%: has [0-9]+%' "$work/out" || fail "stats: $(cat "$work/out")"

# The next daemon finds both where they are.
kill_daemon
start_daemon --config "$work/smqos.conf"
until_true 60 are_apart || fail "ps: $(cat "$work/out")"

# Another promise is taken; without one, or without the program, nothing is dealt out.
"$COTENANT" set api --rate 10% >"$work/out" || fail "set --rate: $(cat "$work/out")"
until_true 60 are_apart || fail "ps: $(cat "$work/out")"
kill -TERM "$api"
until_true 20 ps_shows 'train +- +all 132 ' || fail "ps: $(cat "$work/out")"

kill -TERM "$train"
stop_daemon
finish
