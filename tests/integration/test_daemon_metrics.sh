#!/bin/sh
# /metrics: off by default, on a socket or a port of this machine; the same text as of `cotenant stats`; what programs
# do is in it; it opens, moves and closes while the daemon runs.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH
if ! command -v python3 >/dev/null; then
	echo "needs python3 for a collector"
	exit 77
fi

collector() {
	python3 -B "$SOURCE_DIR/tests/integration/daemon/collector.py" "$@"
}

# configure [AT]
configure() {
	printf 'schema: cotenantd/1\n%s\n' "${1:+metrics: $1}" >"$work/conf"
}

# scrape [PATH [METHOD]]: from $at, into $work/page; the head is in $work/head.
scrape() {
	collector get "$at" "$@" >"$work/page" 2>"$work/head"
}

refused() {
	configure "$1"
	"$COTENANTD" -c "$work/conf" --check-config >"$work/out" 2>&1 && fail "$1 is taken"
	says "$work/out" "expected 127.0.0.1:PORT, [::1]:PORT or the full path of a socket"
	says "$work/out" "conf:2:"
}

for where in 0.0.0.0:9401 10.0.0.1:9401 "'[::]:9401'" localhost 127.0.0.1 127.0.0.1:0 127.0.0.1:65536 9401 metrics.sock \
	"/$(printf '%0108d' 0)" /run/; do
	refused "$where"
done

# ---- a socket ----

at=$work/metrics.sock
configure "$at"
start_daemon -c "$work/conf"
says "$work/daemon.log" "/metrics is on $at"
[ "$(stat -c %a "$at")" = 600 ] || fail "the mode of the socket: $(stat -c %a "$at")"
scrape || fail "no answer: $(cat "$work/head")"
says "$work/head" "HTTP/1.1 200 OK"
says "$work/head" "Content-Type: text/plain; version=0.0.4; charset=utf-8"
says "$work/page" "cotenant_programs 0"

background "$COTENANT" run --class latency --measure --p99 1us --name 'the "api"' -- "$PROGS/marks" --count 400 \
	--block-us 1000 >"$work/marks"
program=$pid
until_true 60 test -s "$work/marks" || fail "it does not end: $(cat "$work/daemon.log")"
background "$PEER" library --name other --daemon "$daemon_pid" >"$work/peer"
has_name() {
	[ -n "$(ps_value "$1" id)" ]
}
until_true 5 has_name other || fail "no peer"
sleep 0.6 # until it is settled
"$COTENANT" freeze other >"$work/out" 2>&1 || fail "cannot freeze: $(cat "$work/out")"

all_there() {
	scrape && grep -q '^cotenant_request_service_seconds_count{program="the \\"api\\"",id="[0-9]*",class="latency",gpu="0"} 400$' \
		"$work/page"
}
until_true 10 all_there || fail "not all requests: $(grep request "$work/page")"
grep -q '^cotenant_request_service_seconds_bucket{.*le="+Inf"} 400$' "$work/page" || fail "no last bucket"
grep -q '^cotenant_request_target_seconds{.*} 1e-06$' "$work/page" || fail "no target: $(grep target "$work/page")"
grep -q '^cotenant_requests_missed_total{.*} 400$' "$work/page" || fail "no misses: $(grep missed "$work/page")"
grep -q '^cotenant_program_frozen{program="other".*} 1$' "$work/page" || fail "not frozen: $(grep frozen "$work/page")"
grep -q '^cotenant_program_freezes_total{program="other".*} 1$' "$work/page" || fail "freezes: $(grep freezes "$work/page")"
mean_ms=$(awk '/^cotenant_request_service_seconds_sum/ { print $NF / 400 * 1000 }' "$work/page")
measured=$(value service_p50_ms "$work/marks")
awk -v a="$mean_ms" -v b="$measured" 'BEGIN { exit !(a > b * 0.5) }' || fail "mean $mean_ms ms, median $measured ms"

collector check "$work/page" >"$work/out" 2>&1 || fail "the format: $(cat "$work/out")"
if command -v promtool >/dev/null; then
	promtool check metrics <"$work/page" >"$work/out" 2>&1 || fail "promtool: $(cat "$work/out")"
else
	echo "promtool is not here: the format was checked by our own reader only"
fi

# Byte for byte, unless something happened in between.
same() {
	scrape && "$COTENANT" stats --format prometheus >"$work/stats" && cmp -s "$work/page" "$work/stats"
}
until_true 10 same || fail "$(diff "$work/page" "$work/stats")"

scrape /metrics HEAD
says "$work/head" "HTTP/1.1 200 OK"
[ ! -s "$work/page" ] || fail "HEAD has a body"
scrape /
says "$work/head" "HTTP/1.1 404"
scrape /metrics POST
says "$work/head" "HTTP/1.1 405"
says "$work/head" "Allow: GET, HEAD"

# Every collector has its turn, even those that come while all places are taken.
collector hold "$at" 1 >"$work/hold" &
children="$children $!"
scrape || fail "no answer while others hold places: $(cat "$work/head")"

# ---- while it runs ----

log_size() {
	wc -l <"$work/daemon.log"
}

# reload TEXT: until a new line of the log says so.
reload() {
	lines=$(log_size)
	kill -HUP "$daemon_pid"
	until_true 5 reloaded || fail "the configuration was not read again"
}

reloaded() {
	tail -n "+$((lines + 1))" "$work/daemon.log" | grep -q "again: policy"
}

unset_socket=$at
at=$(collector port)
configure "127.0.0.1:$at"
reload
scrape || fail "no answer on a port: $(cat "$work/head") $(tail -5 "$work/daemon.log")"
[ ! -e "$unset_socket" ] || fail "the socket is still there"
says "$work/page" "cotenant_programs 2"
configure
reload
scrape 2>/dev/null && fail "it is still served"

# A port that is taken is no reason to end.
python3 -c 'import socket, sys, time
s = socket.socket()
s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
s.bind(("127.0.0.1", int(sys.argv[1])))
s.listen()
print("taken", flush=True)
time.sleep(600)' "$at" >"$work/taken" &
children="$children $!"
until_true 5 test -s "$work/taken"
configure "127.0.0.1:$at"
reload
says "$work/daemon.log" "no /metrics: cannot listen on port $at: Address already in use"
"$COTENANT" ps >/dev/null || fail "the daemon does not answer"

# A daemon that was killed leaves its socket; a file of somebody stays.
at=$unset_socket
configure "$at"
reload
kill -9 "$daemon_pid"
wait "$daemon_pid" 2>/dev/null
[ -S "$at" ] || fail "no socket was left"
start_daemon -c "$work/conf"
scrape || fail "no answer after a restart: $(cat "$work/head")"
kill "$program" 2>/dev/null
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
[ ! -e "$at" ] || fail "the socket was left"
echo mine >"$at"
start_daemon -c "$work/conf"
says "$work/daemon.log" "no /metrics: cannot listen on $at: Address already in use"
[ "$(cat "$at")" = mine ] || fail "a file was replaced"
stop_daemon
finish
