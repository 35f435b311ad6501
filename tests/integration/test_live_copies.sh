#!/bin/sh
# Copies of batch programs give way to those of requests, on the emulated GPU under laius: a service copies 64 MiB in each request, a batch
# program 8 MiB all the time. What is copied is right.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
printf 'schema: cotenantd/1\npolicy: laius\n' >"$work/conf"
start_daemon --config "$work/conf"

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}
# at_least NAME KEY NUMBER
at_least() {
	n=$(ps_value "$1" "$2")
	[ "${n:-0}" -ge "$3" ]
}

start --name train -- "$PROGS/copies" --mib 8 >"$work/train"
train=$pid
until_true 20 has_programs 1 || fail "train is not there"
expect_value train copies_held 0
start --name api --class latency --p99 10s -- "$PROGS/copies" --requests 1 --mib 64 >"$work/api"
api=$pid
until_true 60 at_least train copies_held 3 || fail "copies_held: $(ps_value train copies_held)"
[ "$(ps_value api copies_held)" = 0 ] || fail "copies of requests waited: $(ps_value api copies_held)"

# Without requests nobody waits any more.
kill -TERM "$api"
wait "$api" || fail "api: $(cat "$work/api")"
says "$work/api" "wrong 0"
sleep 1
before=$(ps_value train copies_held)
sleep 1
[ "$(ps_value train copies_held)" = "$before" ] || fail "copies wait for nobody"
kill -TERM "$train"
wait "$train" || fail "train: $(cat "$work/train")"
says "$work/train" "wrong 0"
grep -qE 'copies [1-9]' "$work/train" || fail "train: $(cat "$work/train")"
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
