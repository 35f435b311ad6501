#!/bin/sh
# What the next daemon knows when the file was not written, is old, or has something wrong in it:
# nothing of a pool and its programs is lost, and no pool ends under a program.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

state_has() {
	grep -q "$1" "$work/run/state.json"
}

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")

printf 'schema: cotenantd/1\nmps: {linger_s: 0}\n' >"$work/conf"
start_daemon -c "$work/conf"
background "$COTENANT" run --name a1 -- "$PROGS/batch" --seconds 60 >"$work/a1"
a1=$pid
expect_value a1 pool batch
expect_value batch slice_read_back_us 2000
until_true 15 state_has '"a1"' || fail "the file does not have a1"
control=$(ps_value batch control_pid)

# The file cannot be written when b1 comes: the old one stays, and b1 is known all the same.
mkdir -p "$work/run/state.json.new/in-the-way"
background "$COTENANT" run --name b1 -- "$PROGS/batch" --seconds 6 >"$work/b1" 2>&1
b1=$pid
expect_value b1 pool batch
until_true 15 grep -q "cannot write.*trying again" "$work/daemon.log" || fail "it is not said"
"$COTENANT" set a1 --weight 300 >/dev/null || fail "set a1"
sleep 2.5
[ "$(grep -c "cannot write" "$work/daemon.log")" -eq 1 ] || fail "it is said again and again"
state_has '"b1"' && fail "the file has b1"
kill_daemon
rm -r "$work/run/state.json.new"
start_daemon -c "$work/conf"
expect_value b1 pool batch
is batch control_pid "$control" || fail "another control program"
kill "$a1"
until_true 10 test -s "$work/a1" || fail "a1 does not end"
until_true 15 has_programs 1 || fail "$(n_programs) programs, expected b1"
wait "$b1" || fail "b1 was ended: $(cat "$work/b1")"
[ "$(value checksum "$work/b1")" = "$sum" ] || fail "b1 computed something else"
until_true 15 is batch mps down || fail "the pool stays without programs"

# It is written as soon as it can be, without another change.
background "$COTENANT" run --solo --name c1 -- sleep 60
until_true 15 state_has '"c1"' || fail "the file does not have c1"
mkdir -p "$work/run/state.json.new/in-the-way"
"$COTENANT" set c1 --weight 777 >/dev/null || fail "set c1"
sleep 0.3
state_has '"weight":777' && fail "the weight was written where nothing can be"
rm -r "$work/run/state.json.new"
until_true 15 state_has '"weight":777' || fail "it is not written again"

# One bad number costs that number and no more: the weight is in the file only.
for next in -2147483648 0 99999999999 '"x"'; do
	kill_daemon
	sed -i "s/\"next_id\":[^,]*/\"next_id\":$next/" "$work/run/state.json"
	state_has "\"next_id\":$next," || fail "the file has no next_id: $(cat "$work/run/state.json")"
	start_daemon -c "$work/conf"
	is c1 weight 777 || fail "next_id $next: c1 has the weight $(ps_value c1 weight)"
done

# A number at the end of what there is does not reach the file as one that does not exist.
background env COTENANT_TENANT=2147483647 COTENANT_CLASS=batch COTENANT_NAME=last COTENANT_WEIGHT=100 \
	COTENANT_GPU=0 "$PEER" library --name last --id 2147483647 --seconds 60 >"$work/last"
expect_value last id 2147483647
background "$COTENANT" run --solo --name d1 -- sleep 60
expect_value d1 weight 100
until_true 15 state_has '"d1"' || fail "the file does not have d1"
state_has '"next_id":-' && fail "a number that does not exist: $(cat "$work/run/state.json")"
kill_daemon
start_daemon -c "$work/conf"
is c1 weight 777 || fail "after the last number c1 has the weight $(ps_value c1 weight)"
is d1 weight 100 || fail "d1 is not known"

# Where a disk can be filled: the same with a disk that is full for a moment.
stop_daemon
if mount -t tmpfs -o size=64k none "$work/run" 2>/dev/null; then
	start_daemon -c "$work/conf"
	background "$COTENANT" run --solo --name e1 -- sleep 60
	until_true 15 state_has '"e1"' || fail "the file does not have e1"
	dd if=/dev/zero of="$work/run/full" bs=1k 2>/dev/null
	"$COTENANT" set e1 --weight 888 >/dev/null || fail "set e1 on a full disk"
	until_true 15 grep -q "cannot write.*No space left" "$work/daemon.log" || fail "no word of the disk"
	state_has '"e1"' || fail "the old file is lost"
	rm "$work/run/full"
	until_true 15 state_has '"weight":888' || fail "not written when there was room again"
	stop_daemon
	umount "$work/run"
fi
finish
