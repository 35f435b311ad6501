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

cat >"$work/conf" <<'YAML'
schema: cotenantd/1
allow:
  latency: [4242, "@root"]
  max_weight: 200
  other_users: true
YAML
start_daemon -c "$work/conf"
[ "$(stat -c %a "$COTENANT_SOCKET")" = 666 ] || fail "the socket is closed"

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

background as 4243 4243 "$PEER" library --name theirs >"$work/theirs"
expect_value theirs uid 4243
as 4243 4243 "$COTENANT" set theirs --weight 150 >"$work/out" || fail "its own program"
as 4243 4243 "$COTENANT" set theirs --class latency >"$work/out" 2>&1 && fail "up by a live change"
as 4243 4243 "$COTENANT" set theirs --weight 201 >"$work/out" 2>&1 && fail "too heavy"
expect_value theirs slice_us 2000
"$COTENANT" freeze theirs >"$work/out" || fail "root may"

# Half of the places are not for one user.
as 4243 4243 "$PEER" crowd 200 0.2 >"$work/out"
grep -q "^welcomed 1[0-2][0-9] " "$work/out" || fail "$(cat "$work/out")"
# Two users together do not shut out root and the servers of the pools.
for user in 5001 5002; do
	background as $user $user "$PEER" crowd 128 2 >"$work/crowd$user"
done
until_true 5 grep -q welcomed "$work/crowd5001" || fail "no first crowd"
until_true 5 grep -q welcomed "$work/crowd5002" || fail "no second crowd"
says "$work/crowd5001" "welcomed 1"
"$COTENANT" ps >"$work/out" 2>&1 || fail "root is shut out: $(cat "$work/out")"
stop_daemon
finish
