#!/bin/sh
# What /metrics costs the daemon at a scrape a second, on the emulated GPU: its processor time as the scheduler counts it, with
# and without. A line for each round; ROUNDS, SECONDS_EACH and PROGRAMS may be set.
#   bench/metrics.sh [BUILD FOLDER] >results/metrics/DATE.txt
# shellcheck source=bench/emulated.sh
. "$(dirname "$0")/emulated.sh"
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-20} programs=${PROGRAMS:-20} at=${work:?}/metrics.sock

# What all threads of a process have run so far, in us.
cpu_us() {
	cat "/proc/$1/task/"*/schedstat | awk '{ ns += $1 } END { printf "%d", ns / 1000 }'
}

has_counted() {
	[ "$("$COTENANT" stats --format prometheus | grep -c '^cotenant_request_service_seconds_count{.*} [1-9]')" -ge "$programs" ]
}

# scrape TIMES: one a second; prints how many bytes the last one had.
scrape() {
	python3 -B - "$at" "$1" <<-'PYTHON'
		import socket, sys, time
		n = 0
		for i in range(int(sys.argv[2])):
		    begin = time.monotonic()
		    s = socket.socket(socket.AF_UNIX)
		    s.connect(sys.argv[1])
		    s.sendall(b'GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n')
		    n = 0
		    while part := s.recv(65536):
		        n += len(part)
		    time.sleep(max(0, begin + 1 - time.monotonic()))
		print(n)
	PYTHON
}

printf 'schema: cotenantd/1\npolicy: pools\nmetrics: %s\n' "$at" >"$work/conf"
start_daemon -c "$work/conf"
n=0
while [ "$n" -lt "$programs" ]; do
	n=$((n + 1))
	background "$COTENANT" run --class latency --measure --name "serve$n" -- "$PROGS/service" --seconds 6000 --gap-us 200000 >"$work/s$n"
done
until_true 60 has_counted || fail "not all are measured: $(cat "$work/daemon.log")"
echo "# /metrics at 1 Hz; $programs measured services of 5 requests a second, on the emulated GPU; load $(cut -d ' ' -f 1 /proc/loadavg)"
echo "# round, seconds, daemon alone (us of processor), daemon scraped (us), more (% of a core), bytes of a page"
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	before=$(cpu_us "${daemon_pid:?}")
	sleep "$seconds"
	middle=$(cpu_us "${daemon_pid:?}")
	bytes=$(scrape "$seconds")
	after=$(cpu_us "${daemon_pid:?}")
	echo "$round $seconds $((middle - before)) $((after - middle)) \
$(awk -v a=$((middle - before)) -v b=$((after - middle)) -v s="$seconds" 'BEGIN { printf "%.2f", (b - a) / s / 10000 }') $bytes"
done
finish
