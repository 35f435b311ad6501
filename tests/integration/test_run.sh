#!/bin/sh
# cotenant run: the program's own status, that of env(1) when it cannot run, and what happens
# without a daemon.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

# expect STATUS ARGUMENT...
expect() {
	expected=$1
	shift
	"$COTENANT" run "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ "$status" -eq "$expected" ] || fail "run $*: status $status: $(cat "$work/err")"
}

# No daemon, and it is named: one line, and the program runs unchanged.
expect 7 -- sh -c 'echo "$COTENANT_TENANT.$LD_PRELOAD"; exit 7'
[ "$(cat "$work/out")" = . ] || fail "changed: $(cat "$work/out")"
[ "$(wc -l <"$work/err")" -eq 1 ] || fail "not one line: $(cat "$work/err")"
says "$work/err" "without control"
COTENANT_REQUIRED=1 expect 125 -- true
expect 125 --required -- true
COTENANT_DISABLE=1 expect 0 -- true
[ ! -s "$work/err" ] || fail "said something: $(cat "$work/err")"

# The user's mistakes.
expect 125
expect 125 --class fast -- true
expect 125 --weight 0 -- true
expect 125 --weight many -- true
for block in long -1 1sm 1000001ms; do
	expect 125 --block "$block" -- true
	says "$work/err" "expected a time such as 100us or 2ms"
done
expect 125 --no-such-option -- true

start_daemon
expect 125 --gpu 5 -- true
says "$work/err" "there is no GPU '5'"
expect 0 --help

if [ -e "${COTENANT_LIBRARY:-}" ]; then
	expect 0 --solo -- true
	[ ! -s "$work/err" ] || fail "said something: $(cat "$work/err")"
	expect 3 --solo -- sh -c 'exit 3'
	expect 127 --solo -- "$work/none"
	expect 126 --solo -- /etc/passwd
	"$COTENANT" run --solo -- sh -c 'kill -9 $$'
	[ $? -eq 137 ] || fail "a signal"
	# The rest is the program's, also what looks like ours.
	expect 0 --solo -- echo --class x
	[ "$(cat "$work/out")" = "--class x" ] || fail "arguments: $(cat "$work/out")"
	expect 0 --solo echo --weight
	[ "$(cat "$work/out")" = "--weight" ] || fail "arguments: $(cat "$work/out")"

	expect 0 --solo --class latency --name n1 --weight 42 --block 2ms --gpu 0 -- env
	for variable in "COTENANT_SOCKET=$COTENANT_SOCKET" COTENANT_CLASS=latency \
		COTENANT_NAME=n1 COTENANT_WEIGHT=42 COTENANT_BLOCK_US=2000 \
		COTENANT_GPU=0 CUDA_VISIBLE_DEVICES=0; do
		grep -qx "$variable" "$work/out" || fail "no $variable: $(grep COT "$work/out")"
	done
	grep -q "^LD_PRELOAD=.*libcotenant.so" "$work/out" || fail "no library"
	# One that only begins like ours is not ours.
	cp "$COTENANT_LIBRARY" "$work/libcotenant.so.bak" && cp "$COTENANT_LIBRARY" "$work/libcotenant.so"
	for others in "$work/libcotenant.so.bak" "/none:$work/libcotenant.so.bak"; do
		COTENANT_LIBRARY=$work/libcotenant.so LD_PRELOAD=$others expect 0 --solo -- env
		grep -qx "LD_PRELOAD=$work/libcotenant.so:$others" "$work/out" ||
			fail "not ours: $(grep ^LD_PRELOAD "$work/out")"
	done
	for others in "$work/libcotenant.so" "$work/libcotenant.so.bak $work/libcotenant.so"; do
		COTENANT_LIBRARY=$work/libcotenant.so LD_PRELOAD=$others expect 0 --solo -- env
		grep -qx "LD_PRELOAD=$others" "$work/out" || fail "twice: $(grep ^LD_PRELOAD "$work/out")"
	done
	# What CUDA is told to use is ours to understand, not to refuse.
	CUDA_VISIBLE_DEVICES=MIG-1234 expect 0 -- env
	grep -qx CUDA_VISIBLE_DEVICES=MIG-1234 "$work/out" || fail "another CUDA_VISIBLE_DEVICES"
	grep -q ^COTENANT_TENANT= "$work/out" || fail "no registration"
	COTENANT_CLASS=latency COTENANT_NAME=n2 COTENANT_SOLO=1 COTENANT_BLOCK_US=70 expect 0 -- env
	grep -qx COTENANT_BLOCK_US=70 "$work/out" || fail "COTENANT_BLOCK_US"
	grep -qx COTENANT_CLASS=latency "$work/out" || fail "COTENANT_CLASS"
	grep -qx COTENANT_NAME=n2 "$work/out" || fail "COTENANT_NAME"
	COTENANT_CLASS=latency expect 0 --solo --class batch -- env # the option goes first
	grep -qx COTENANT_CLASS=batch "$work/out" || fail "--class"

	# No MPS here: said once, and the program stands alone; the policy is rotation.
	expect 0 -- true
	says "$work/err" "MPS is not available"
	"$COTENANT" ps --json | grep -q '"policy": "rotate"' || fail "no rotation"

	# It is there while it runs, and not longer.
	background "$COTENANT" run --solo --name sleeper -- sleep 60
	until_true 2 is sleeper class batch || fail "no sleeper"
	[ "$(ps_value sleeper pid)" = "$pid" ] || fail "another pid"
	kill "$pid"
	until_true 2 has_programs 0 || fail "it is still there"

	# Programs that take no library: said, and no place for --required.
	expect 0 --solo -- "$PROGS/still"
	says "$work/err" "is linked statically, so no library can be loaded"
	expect 125 --required --solo -- "$PROGS/still"

	# A space would end the path in LD_PRELOAD.
	mkdir "$work/a b" && cp "$COTENANT_LIBRARY" "$work/a b/libcotenant.so"
	COTENANT_LIBRARY="$work/a b/libcotenant.so" expect 125 --solo -- true
fi
stop_daemon

# Started by `run` itself when no socket is named; it ends by itself when told so.
unset COTENANT_SOCKET
exec 7>"$work/held"
expect 0 --solo -- "$PROGS/nocuda"
says "$work/out" "children 0" # what has started it is not the program's
until_true 1 test -S "$work/run/cotenantd.sock" || fail "no daemon was started"
daemon_pid=$("$COTENANT" ps --json | awk '$1 == "\"pid\":" { print $2 + 0; exit }')
readlink /proc/"$daemon_pid"/fd/* | grep -qF "$work/held" && fail "the daemon holds a file of ours"
exec 7>&-
[ "$(stat -c %a "$work/run")" = 700 ] || fail "the folder is open"
# Two at once start one daemon.
kill "$daemon_pid"
until_true 2 test ! -e "$work/run/cotenantd.sock" || fail "it does not end"
background "$COTENANT" run --solo -- sleep 1
background "$COTENANT" run --solo -- sleep 1
background "$COTENANT" run --solo -- sleep 1
until_true 3 has_programs 3 || fail "$(n_programs) of three programs"
daemon_pid=$("$COTENANT" ps --json | awk '$1 == "\"pid\":" { print $2 + 0; exit }')
kill "$daemon_pid"
daemon_pid=
until_true 5 test ! -e "$work/run/cotenantd.sock" || fail "it does not end"

# A daemon that cannot run here, say for a library that is not there, is not tried for half a minute.
mkdir "$work/bin" && cp "$COTENANT" "$work/bin/cotenant"
printf '#!/bin/sh\necho "$$" >>"$0.tries"\nexit 127\n' >"$work/bin/cotenantd"
chmod +x "$work/bin/cotenantd"
COTENANT=$work/bin/cotenant expect 0 --solo -- true
says "$work/err" "cotenantd did not start; see $work/run/cotenantd.log"
says "$work/err" "without control"
tries=$(wc -l <"$work/bin/cotenantd.tries")
if [ "$tries" -le 2 ] || [ "$tries" -gt 25 ]; then
	fail "a daemon that cannot run was tried $tries times"
fi
finish
