#!/bin/sh
# Programs on parts of the emulated GPU, with the daemon, MPS and the library before the driver's: who runs on
# which SMs, a part that changes while a program runs, daemons that die.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

printf 'schema: cotenantd/1\npolicy: parts\n' >"$work/parts.conf"
start_daemon --config "$work/parts.conf"

shows() {
	"$COTENANT" "$1" >"$work/out" && grep -qE -e "$2" "$work/out"
}

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

# A program alone has all of the GPU.
start --name train -- "$PROGS/parts" --seconds 60 >"$work/train" 2>&1
train=$pid
until_true 20 shows ps 'train +- +all [0-9]+ ' || fail "ps: $(cat "$work/out")"
expect_value train pool shared

# Beside a latency program it has the lower half, and its launches are there.
start --name api --class latency -- "$PROGS/parts" --seconds 60 >"$work/api" 2>&1
api=$pid
until_true 20 shows ps 'train +- +64 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
until_true 20 shows ps 'api +- +all 132' || fail "ps: $(cat "$work/out")"
follows() {
	n=$(ps_value train launches_followed)
	[ "${n:-0}" -gt 10 ]
}
until_true 20 follows || fail "followed: $(ps_value train launches_followed)"

# A share of its own, and another one, while it runs.
"$COTENANT" set train --sms 32 >"$work/out" || fail "set --sms: $(cat "$work/out")"
until_true 20 shows ps 'train +32sm +32 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
"$COTENANT" set train --sms 12 >"$work/out"
says "$work/out" "parts are in units of 8 SMs"
for share in 8 50% 100% 16; do
	"$COTENANT" set train --sms $share >"$work/out" || fail "set --sms $share: $(cat "$work/out")"
	says_not "$work/out" "units"
done
until_true 20 shows ps 'train +16sm +16 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
changed() {
	n=$(ps_value train changes)
	[ "${n:-0}" -ge 2 ]
}
until_true 20 changed || fail "changes: $(ps_value train changes)"

# A daemon dies: the programs go on where they are. The next one finds that out, and leaves them there.
kill_daemon
kill -0 "$train" || fail "the program ended with the daemon"
start_daemon --config "$work/parts.conf"
until_true 20 shows ps 'train +16sm +16 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
until_true 20 shows ps 'api +- +all 132' || fail "ps: $(cat "$work/out")"
kill -9 "$api"
until_true 20 shows ps 'train +16sm +16 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
"$COTENANT" set train --sms none >"$work/out" || fail "set --sms none: $(cat "$work/out")"
until_true 20 shows ps 'train +- +all 132 ' || fail "ps: $(cat "$work/out")"
kill -TERM "$train"
stop_daemon

# 132 SMs are 15 units of 8 and 12 at the top. Everybody has what the policy asked for, and no SM is left idle.
start_daemon --config "$work/parts.conf"
programs=
start --name wide --class latency --sms 40 -- "$PROGS/parts" --seconds 60 >"$work/wide" 2>&1
programs=$pid
until_true 20 shows ps 'wide +40sm +44 of 132, from 88 ' || fail "ps: $(cat "$work/out")"
start --name wider --class latency --sms 68 -- "$PROGS/parts" --seconds 60 >"$work/wider" 2>&1
programs="$programs $pid"
for name in one two; do
	start --name $name -- "$PROGS/parts" --seconds 60 >"$work/$name" 2>&1
	programs="$programs $pid"
done
until_true 20 shows ps 'wider +68sm +72 of 132, from 16 ' || fail "ps: $(cat "$work/out")"
# Whichever came first has the first of the 16 SMs that are left.
for at in 0 8; do
	until_true 20 shows ps "(one|two) +- +8 of 132, from $at " || fail "ps: $(cat "$work/out")"
done
shows ps 'wide +40sm +44 of 132, from 88 ' || fail "ps: $(cat "$work/out")"
expect_value wide units 15
for share in 40 32 132; do
	"$COTENANT" set wide --sms $share >"$work/out" || fail "set --sms $share: $(cat "$work/out")"
	if [ $share = 132 ]; then
		says_not "$work/out" "units"
	else
		says "$work/out" "units of 8 SMs and the last 12 in one piece"
	fi
done
until_true 20 shows ps 'wide +132sm +all 132' || fail "ps: $(cat "$work/out")"
# shellcheck disable=SC2086
kill -TERM $programs
stop_daemon

# A program that asks for no part has nothing of it: its launches go to the driver as ever.
start_daemon
start --name with --sms 64 -- "$PROGS/parts" --seconds 60 >"$work/with" 2>&1
with=$pid
start --name without -- "$PROGS/parts" --seconds 60 >"$work/without" 2>&1
without=$pid
maps() {
	grep -q "$2" "/proc/$1/maps"
}
for program in "$with" "$without"; do
	until_true 20 maps "$program" "/emu/libcuda" || fail "$program has no driver"
	maps "$program" "/libcotenant.so" || fail "$program has no library"
done
maps "$with" "/shim/libcuda" || fail "no shim in a program on a part"
maps "$without" "/shim/libcuda" && fail "a shim in a program without a part"
# Names of our own stand in front of nothing.
exports=$(nm -D --defined-only "$COTENANT_LIBRARY" | awk '{ print $NF }' | grep -v '^_\|^cotenant_')
[ "$exports" = ioctl ] || fail "the library takes more than ioctl: $exports"
kill -TERM "$with" "$without"
stop_daemon

# With a pace in the configuration batch programs have it, and lose it when it is taken out.
printf 'schema: cotenantd/1\npolicy: parts\npace_us: 500\n' >"$work/parts.conf"
start_daemon --config "$work/parts.conf"
start --name paced -- "$PROGS/parts" --seconds 60 >"$work/paced" 2>&1
paced=$pid
is_paced() {
	n=$(ps_value paced launches_paced)
	[ "${n:-0}" -gt 10 ]
}
until_true 20 is_paced || fail "paced: $(ps_value paced launches_paced)"
expect_value paced pace_us 500
printf 'schema: cotenantd/1\npolicy: parts\n' >"$work/parts.conf"
kill -HUP "$daemon_pid"
until_true 20 is paced pace_us 0 || fail "pace: $(ps_value paced pace_us)"
kill -TERM "$paced"
stop_daemon

# The order of the program's work is kept, whatever happens to its part.
start_daemon --config "$work/parts.conf"
start --sms 64 --name order -- "$PROGS/parts" --seconds 4 --seed 7 >"$work/order" 2>&1
order=$pid
until_true 20 shows ps 'order +64sm +64 of 132' || fail "ps: $(cat "$work/out")"
while kill -0 "$order" 2>/dev/null; do
	for share in 8 120 32 100%; do
		"$COTENANT" set order --sms $share >/dev/null 2>&1
	done
done
wait "$order" || fail "work in another order: $(cat "$work/order")"
says "$work/order" "wrong 0"

# A graph that the program changes node by node is on its part after every change, and does what it is told.
start --class latency --sms 16 --name nodes -- "$PROGS/graph_nodes" --first 100 >"$work/nodes" 2>&1
wait "$pid" || fail "nodes: $(cat "$work/nodes")"
says "$work/nodes" "wrong 0"
awk '$2 == "least" { n++; if ($3 < 100) print } END { if (n != 20) print n, "changes" }' "$work/nodes" >"$work/out"
[ -s "$work/out" ] && fail "not on the part: $(cat "$work/out")"
stop_daemon
finish
