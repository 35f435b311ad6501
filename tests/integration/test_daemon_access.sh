#!/bin/sh
# What the configuration forbids, to a user who is not root.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
	echo "needs root and setpriv"
	exit 77
fi
chmod 755 "$work"

# as UID GID,...: runs the rest as that user.
as() {
	user=$1 groups=$2
	shift 2
	setpriv --reuid "$user" --regid "$user" --groups "$groups" "$@"
}

open_door() {
	[ "$(stat -c %a "$COTENANT_SOCKET" "$COTENANT_RUNTIME_DIR" | tr '\n' ' ')" = "666 755 " ]
}

closed_door() {
	[ "$(stat -c %a "$COTENANT_SOCKET" "$COTENANT_RUNTIME_DIR" | tr '\n' ' ')" = "600 700 " ]
}

cat >"$work/conf" <<'YAML'
schema: cotenantd/1
allow:
  latency: [4242, "@root"]
  max_weight: 200
  other_users: true
YAML
umask 077 # of root's shell: it is for the daemon's own files
start_daemon -c "$work/conf"
umask 022
open_door || fail "the door is closed: $(ls -ld "$COTENANT_RUNTIME_DIR" "$COTENANT_SOCKET")"

as 4243 4243 "$PEER" register --class latency >"$work/out"
says "$work/out" "refused user 4243 may not run latency programs"
as 4243 4243 "$PEER" library --class latency --seconds 2 >"$work/out"
says "$work/out" "refused user 4243 may not run latency programs"
as 4243 4243 "$PEER" register --class batch --weight 201 >"$work/out"
says "$work/out" "refused the weight 201"
as 4243 4243 "$PEER" register --class batch --weight 200 >"$work/out"
says "$work/out" registered
as 4242 4242 "$PEER" register --class latency >"$work/out"
says "$work/out" registered
as 4243 0 "$PEER" register --class latency >"$work/out" # by its group
says "$work/out" registered

# What belongs to somebody else.
background "$PEER" library --name ours >"$work/ours"
expect_value ours slice_us 2000
id=$(ps_value ours id)
as 4243 4243 "$COTENANT" freeze ours >"$work/out" 2>&1
[ $? -eq 4 ] || fail "freeze by another user: $(cat "$work/out")"
says "$work/out" "belongs to another user"
as 4243 4243 "$PEER" library --id "$id" --seconds 2 >"$work/out"
says "$work/out" "refused program $id belongs to another user"
as 4243 4243 "$PEER" library --pool --id 1 --seconds 2 >"$work/out"
says "$work/out" "refused only the daemon's own servers are pools"
as 4243 4243 "$COTENANT" ps >"$work/out" || fail "ps by another user"

# A name that another user's program has, too, means one's own.
background as 4243 4243 "$PEER" library --name ours --seconds 60 >"$work/namesake"
until_true 5 has_programs 2 || fail "$(n_programs) of 2 programs"
"$COTENANT" set ours --weight 150 >"$work/out" 2>&1 || fail "a name that another user took: $(cat "$work/out")"
[ "$("$COTENANT" ps --json | grep -c '"weight": 150')" = 1 ] || fail "which one was it?"
"$COTENANT" ps --json | grep -A12 '"name": "ours"' | grep -B12 -A12 '"weight": 150' | grep -q '"uid": 0' || fail "not one's own"
kill "$pid"

background as 4243 4243 "$PEER" library --name theirs >"$work/theirs"
expect_value theirs uid 4243
as 4243 4243 "$COTENANT" set theirs --weight 150 >"$work/out" || fail "its own program"
as 4243 4243 "$COTENANT" set theirs --class latency >"$work/out" 2>&1 && fail "up by a live change"
as 4243 4243 "$COTENANT" set theirs --weight 201 >"$work/out" 2>&1 && fail "too heavy"
expect_value theirs slice_us 2000
freezes theirs || fail "root may: $(cat "$work/out")"

# A reload opens and closes the door.
sed -i 's/other_users: true/other_users: false/' "$work/conf"
kill -HUP "$daemon_pid"
until_true 2 closed_door || fail "open after the reload"
as 4243 4243 "$COTENANT" ps >"$work/out" 2>&1 && fail "ps after the door was closed"
sed -i 's/other_users: false/other_users: true/' "$work/conf"
kill -HUP "$daemon_pid"
until_true 2 open_door || fail "closed after the reload"
as 4243 4243 "$COTENANT" ps >"$work/out" 2>&1 || fail "ps after the door was opened again"

# Half of the places are not for one user.
n_descriptors=$(stat -c %n /proc/"$daemon_pid"/fd/* | wc -l)
as 4243 4243 "$PEER" crowd 200 0.2 >"$work/out"
grep -q "^welcomed 1[0-2][0-9] " "$work/out" || fail "$(cat "$work/out")"
# The daemon gives places back when it has read that their owner left, which is after the owner's end.
first_crowd_left() {
	[ "$(stat -c %n /proc/"$daemon_pid"/fd/* 2>/dev/null | wc -l)" -le "$n_descriptors" ]
}
until_true 10 first_crowd_left || fail "places of a crowd that left are not given back"
# Two users together do not shut out root and the servers of the pools.
for user in 5001 5002; do
	background as $user $user "$PEER" crowd 128 2 >"$work/crowd$user"
done
until_true 5 grep -q welcomed "$work/crowd5001" || fail "no first crowd"
until_true 5 grep -q welcomed "$work/crowd5002" || fail "no second crowd"
# Whoever comes first, as much as each has is left for one more.
for user in 5001 5002; do
	expect_between 30 120 "$(value welcomed "$work/crowd$user")" "places of user $user"
done
as 5003 5003 "$PEER" crowd 3 0.1 >"$work/out"
says "$work/out" "welcomed 3 "
"$COTENANT" ps >"$work/out" 2>&1 || fail "root is shut out: $(cat "$work/out")"
stop_daemon
finish
