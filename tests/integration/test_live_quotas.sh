#!/bin/sh
# Quotas and reservations hold for all kernels of a program, with the daemon, MPS and the library before the
# driver's: rewritten ones as workers anywhere, those that cannot be rewritten on a part of the emulated GPU.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/smguard.conf"
start_daemon --config "$work/smguard.conf"

shows() {
	"$COTENANT" "$1" >"$work/out" && grep -qE -e "$2" "$work/out"
}

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

# last NAME KIND WORD: a number of the last whole line that the program has written.
last() {
	grep '^own' "$work/$1" | tail -n 1 | sed -n "s/.*$2 used \([0-9]*\) most \([0-9]*\).*/\1 \2/p" |
		if [ "$3" = used ]; then cut -d' ' -f1; else cut -d' ' -f2; fi
}

# stays_below NAME SMS: what is not rewritten is on no SM from that number on, in each of three lines from now on.
stays_below() {
	lines=$(grep -c '^own' "$work/$1")
	until_true 20 more_than "$1" $((lines + 3)) || fail "$1 does not go on"
	grep '^own' "$work/$1" | tail -n +$((lines + 2)) | awk -v n="$2" '$10 >= n { print; exit 1 }' ||
		fail "$1 is on SM $2 and above"
}
more_than() {
	[ "$(grep -c '^own' "$work/$1")" -gt "$2" ]
}
reaches() {
	n=$(last "$1" "$2" most)
	[ "${n:-0}" -ge "$3" ]
}

# Without a limit: both kinds are everywhere.
start --rewrite --name free -- "$PROGS/ptx_kinds" >"$work/free"
free=$pid
until_true 20 reaches free library 100 || fail "free: $(tail -n 1 "$work/free")"

# With one: the library's kernels on that many SMs, ours anywhere.
start --quota 32sm --name batch -- "$PROGS/ptx_kinds" >"$work/batch"
batch=$pid
until_true 20 shows ps 'batch +32sm +32 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
stays_below batch 32
until_true 20 reaches batch own 32 || fail "workers are confined: $(tail -n 1 "$work/batch")"
[ "$(last batch library used)" -gt 16 ] || fail "batch: $(tail -n 1 "$work/batch")"
works() {
	n=$(ps_value batch workers)
	[ "${n:-0}" -gt 3 ]
}
until_true 20 works || fail "workers: $(ps_value batch workers)"

# At run time.
"$COTENANT" set batch --quota 16sm >"$work/out" || fail "set --quota: $(cat "$work/out")"
until_true 20 shows ps 'batch +16sm +16 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
stays_below batch 16
"$COTENANT" set batch --quota none >"$work/out" || fail "set --quota none: $(cat "$work/out")"
until_true 20 reaches batch library 100 || fail "batch: $(tail -n 1 "$work/batch")"

# A reservation keeps them off; of 132 SMs 66 are reserved, and 64 left in whole units.
start --class latency --reserve 50% --name api -- "$PROGS/ptx_kinds" >"$work/api"
api=$pid
for name in batch free; do
	until_true 20 shows ps "$name +- +64 of 132, from 0 " || fail "ps: $(cat "$work/out")"
	stays_below $name 64
done
until_true 20 shows ps 'api +- +all 132' || fail "ps: $(cat "$work/out")"
until_true 20 reaches api library 100 || fail "api: $(tail -n 1 "$work/api")"
"$COTENANT" set api --reserve 100sm >"$work/out" || fail "set --reserve: $(cat "$work/out")"
until_true 20 shows ps 'free +- +32 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
stays_below free 32
says_not "$work/out" "does not hold"

# One without the shim cannot be kept off, and that is said.
start --name bare -- sleep 60
bare=$pid
until_true 20 shows ps 'api: its reservation does not hold against 1 batch program: not started with' ||
	fail "ps: $(cat "$work/out")"
kill "$bare" "$api"
until_true 20 shows ps 'free +- +all 132' || fail "ps: $(cat "$work/out")"
kill "$free" "$batch"

# Every launch is counted once.
start --quota 50% --sms 24 --name counted -- "$PROGS/ptx_kinds" --launches 5 >"$work/counted" 2>"$work/err"
counted=$pid
until_true 20 grep -q 'launched 10 wrong 0' "$work/counted" || fail "counted: $(cat "$work/counted")"
says "$work/err" "the smaller one counts"
all_of_them() {
	workers=$(ps_value counted workers) part=$(ps_value counted on_part) elsewhere=$(ps_value counted elsewhere)
	[ $((${workers:-0} + ${part:-0} + ${elsewhere:-0})) = 10 ]
}
until_true 20 all_of_them || fail "counted: $("$COTENANT" stats)"
expect_value counted workers 5
shows ps 'counted +24sm +24 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
shows stats 'counted +5 +[0-9]+ +[0-9]+ +[0-9.]+ %' || fail "stats: $(cat "$work/out")"
kill "$counted"

# Where a program's context has no parts, its quota does not hold for it, and that is said.
start --quota 30% --name odd -- "$PROGS/ptx_work" --words 256 --runs 1000000 >/dev/null
odd=$pid
until_true 20 shows ps 'odd: its quota has no effect: all its [0-9]+ launches run as they are; launch-context' ||
	fail "ps: $(cat "$work/out")"
kill "$odd"
stop_daemon
finish
