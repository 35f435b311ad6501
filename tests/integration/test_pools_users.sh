#!/bin/sh
# Programs of several users. With an MPS control program that can serve all of them they share the
# pool; without, the pool serves one user at a time, and nobody waits for another one's programs.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
if [ "$(id -u)" -ne 0 ] || ! setpriv --reuid 1001 --regid 1001 --clear-groups true 2>/dev/null; then
	echo "only root can play several users"
	exit 77
fi

chmod 755 "$work"
chmod 1777 "$work/emu"

# right NAME...: they end when they are told to, with the right result.
right() {
	for name in "$@"; do
		kill "$(cat "$work/$name.pid")"
	done
	for name in "$@"; do
		is_right "$name"
	done
}

is_right() {
	until_true 20 test -s "$work/$1" || fail "$1 does not end"
	[ "$(value checksum "$work/$1")" = "$sum" ] || fail "$1: $(cat "$work/$1" "$work/$1.err")"
}

# batch USER NAME
batch() {
	: >"$work/$2.err"
	background setpriv --reuid "$1" --regid "$1" --clear-groups \
		"$COTENANT" run --name "$2" -- "$PROGS/batch" --seconds 100 >"$work/$2" 2>"$work/$2.err"
	echo "$pid" >"$work/$2.pid"
}

# alone NAME: it runs outside the pool, and the reason is told.
alone() {
	expect_value "$1" slice_us 2000
	[ "$(ps_value "$1" pool)" = null ] || fail "$1 is in the pool of another user"
	"$COTENANT" ps --json >"$work/out" || fail "ps"
	says "$work/out" "the pool serves another user"
	says "$work/$1.err" "another user"
}

"$PROGS/batch" --seconds 0.4 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")
printf 'schema: cotenantd/1\nmps: {linger_s: 0}\nallow: {other_users: true}\n' >"$work/conf"
printf 'schema: cotenantd/1\nmps: {linger_s: 0, multiuser: false}\nallow: {other_users: true}\n' \
	>"$work/apart"

# One server for all of them, at the same time, under control; what the daemon's umask is, is its own.
mask=$(umask)
umask 077
start_daemon -c "$work/conf"
umask "$mask"
batch 0 root
batch 1001 first
batch 1002 second
for name in root first second; do
	expect_value "$name" pool batch
done
expect_value batch slice_read_back_us 2000
clients() {
	server=$(echo get_server_list | CUDA_MPS_PIPE_DIRECTORY=$work/run/gpu0-batch/pipe \
		"$COTENANT_MPS_CONTROL")
	echo "get_client_list $server" | CUDA_MPS_PIPE_DIRECTORY=$work/run/gpu0-batch/pipe \
		"$COTENANT_MPS_CONTROL" | wc -l
}
has_clients() {
	[ "$(clients)" -eq "$1" ]
}
until_true 15 has_clients 3 || fail "$(clients) clients at once, expected 3"
kill_daemon
start_daemon -c "$work/conf"
batch 1002 third
expect_value third pool batch
until_true 15 has_clients 4 || fail "$(clients) clients after a new daemon, expected 4"
sleep 0.5
right third root first second
says_not "$work/third.err" "another user"
says_not "$work/daemon.log" "only the daemon's own servers"
says_not "$work/daemon.log" "lost its channel groups"
until_true 15 is batch mps down || fail "the pool stays"
stop_daemon

# apart: what happens where a pool serves one user at a time.
apart() {
	batch 0 root
	expect_value root pool batch
	expect_value batch slice_read_back_us 2000
	batch 1001 first
	alone first
	right first root
	until_true 15 has_programs 0 || fail "$(n_programs) programs are left"
	# Now it is the other one's pool, with a server of that user's, under control too.
	batch 1001 second
	expect_value second pool batch
	until_true 15 has_clients 1 || fail "second is no client"
	expect_value batch slice_read_back_us 2000
	batch 0 root2
	alone root2
	is second pool batch || fail "second has lost its pool"
	right second root2
	until_true 15 has_programs 0 || fail "$(n_programs) programs are left"
}

: >"$work/daemon.log"
start_daemon -c "$work/apart"
apart
says_not "$work/daemon.log" "only the daemon's own servers"
says_not "$work/daemon.log" "lost its channel groups"

# Without a pause between the users the server of the one makes room for that of the other.
sed -i 's/linger_s: 0/linger_s: 60/' "$work/apart"
stop_daemon
start_daemon -c "$work/apart"
apart
apart
says_not "$work/daemon.log" "lost its channel groups"
stop_daemon

# A control program that does not know the option: it is tried, told, and done without.
cat >"$work/old-mps" <<END
#!/bin/sh
[ "\$2" != -M ] || { echo "unknown option" >&2; exit 1; }
exec "$EMU/nvidia-cuda-mps-control" "\$@"
END
chmod 755 "$work/old-mps"
COTENANT_MPS_CONTROL=$work/old-mps
start_daemon -c "$work/conf"
apart
says "$work/daemon.log" "trying it without"
COTENANT_MPS_CONTROL=$EMU/nvidia-cuda-mps-control
stop_daemon
finish
