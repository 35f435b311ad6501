#!/bin/bash
# The emulated GPU by itself, with real processes: time slices, controls by ioctl, two MPS pools,
# faults and kill -9. Times are GPU time from events, of what was handed over in one go, so a busy CPU
# does not matter.
#   emu_smoke.sh PROGRAMS_DIR EMU_LIB_DIR
set -u
progs=$(realpath "$1")
emu=$(realpath "$2")
control=$emu/nvidia-cuda-mps-control
work=$(mktemp -d)
passed=0
failed=0

export COTENANT_EMU_DIR=$work/gpu COTENANT_EMU_SCALE=${COTENANT_EMU_SCALE:-3}
export CUDA_MPS_LOG_DIRECTORY=$work
export CUDA_MPS_PIPE_DIRECTORY=$work/none

clean_up() {
	local pool
	for pool in a b; do
		[ -d "$work/$pool" ] && echo "quit -f" | in_pool $pool "$control" 2>/dev/null
	done
	rm -rf "$work"
}
trap clean_up EXIT

in_pool() {
	local pool=$1
	shift
	CUDA_MPS_PIPE_DIRECTORY=$work/$pool "$@"
}

quit() {
	echo quit | in_pool "$1" "$control"
}

fails() {
	! "$@"
}

# The value behind a name in a line of "name value name value ...".
value() {
	awk -v name="$1" '{ for (i = 1; i < NF; i++) if ($i == name) print $(i + 1) }' <<<"$2"
}

check() {
	local what=$1
	shift
	if "$@"; then
		echo "ok   $what"
		passed=$((passed + 1))
	else
		echo "FAIL $what"
		failed=$((failed + 1))
	fi
}

# between LINE NAME LEAST MOST
between() {
	local v
	v=$(value "$2" "$1")
	echo "     $2 ${v:-missing}, expected $3..$4"
	awk -v v="$v" -v a="$3" -v b="$4" 'BEGIN { exit !(v != "" && v >= a && v <= b) }'
}

is_busy() {
	"$progs/emu_state" | grep -q "queued [1-9]"
}

# soon COMMAND...: waits until it holds.
soon() {
	for _ in $(seq 1000); do
		"$@" && return 0
		sleep 0.02
	done
	return 1
}

# Waits until a batch program that was started in the background has work on the GPU.
until_busy() {
	soon is_busy
}

# beside SECONDS PROGRAM... : a request program while PROGRAM runs; prints the line of the first.
beside() {
	local seconds=$1
	shift
	"$@" --seconds 30 >"$work/batch.out" &
	local pid=$!
	until_busy
	"$progs/request" --seconds "$seconds"
	kill -TERM $pid
	wait $pid
}

echo "-- plain processes"
line=$("$progs/request" --seconds 0.2)
check "alone a request takes its own time" between "$line" gpu_p50_us 100 110

line=$(beside 0.4 "$progs/batch")
check "default slices: a request waits for the other program's slice" \
	between "$line" gpu_p99_us 1000 2500
check "... and the other program loses little" \
	between "$(cat "$work/batch.out")" gpu_share 0.85 1.01

line=$(beside 0.4 "$progs/slicer" --slice-us 100)
check "SET_TIMESLICE 100 us through ioctl: a request waits for that and one switch" \
	between "$line" gpu_p99_us 100 420
check "... and the other program still loses little" \
	between "$(cat "$work/batch.out")" gpu_share 0.80 1.01
check "... and its results are right" between "$(cat "$work/batch.out")" wrong 0 0

line=$(beside 0.4 "$progs/slicer" --slice-us 100 --mode 1)
check "draining waits for the end of long blocks" between "$line" gpu_max_us 10000 44000

line=$(beside 0.4 "$progs/slicer" --slice-us 100 --mode 1 --block-us 100)
check "draining short blocks is quick" between "$line" gpu_p99_us 100 500

"$progs/batch" --seconds 0.4 >"$work/one" &
"$progs/batch" --seconds 0.4 >"$work/two" &
wait
check "two batch programs halve the GPU (one)" between "$(cat "$work/one")" share 0.30 0.62
check "two batch programs halve the GPU (two)" between "$(cat "$work/two")" share 0.30 0.62
check "... with the same result" test "$(value checksum "$(cat "$work/one")")" = \
	"$(value checksum "$(cat "$work/two")")"

echo "-- kill -9"
"$progs/batch" --block-us 60000000 >/dev/null &
pid=$!
disown $pid
until_busy
kill -KILL $pid
line=$("$progs/request" --count 3)
check "kill -9 releases the GPU" between "$line" gpu_max_us 100 40000

seconds=${EMU_STRESS_SECONDS:-2}
end=$((SECONDS + seconds))
kills=0
while [ $SECONDS -lt $end ]; do
	pids=()
	for _ in 1 2 3 4 5; do
		"$progs/request" --gap-us 0 --block-us 3 --seconds 20 >/dev/null &
		pids+=($!)
		disown $!
	done
	sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
	for pid in "${pids[@]}"; do
		kill -KILL "$pid"
		kills=$((kills + 1))
	done
done
line=$("$progs/request" --count 10)
check "$kills programs killed at any instant leave a working GPU" \
	between "$line" gpu_p50_us 100 110
check "... and nothing behind" between "$("$progs/emu_state")" clients 0 0

echo "-- other kinds of programs"
check "fork and exec" "$progs/forker" --seconds 0.1 --exec "$progs/nocuda"
check "dlopen, driver on the library path" \
	env LD_LIBRARY_PATH="$emu" "$progs/dlopener"
check "dlopen, driver preloaded" env LD_PRELOAD="$emu/libcuda.so.1" "$progs/dlopener"
check "a program without CUDA" env LD_PRELOAD="$emu/libcuda.so.1" "$progs/nocuda"

echo "-- two MPS pools"
for pool in a b; do
	check "control daemon $pool starts" in_pool $pool "$control" -d
done
second_daemon() {
	in_pool a "$control" -d 2>/dev/null
}
check "a second daemon in the same directory is refused" fails second_daemon

in_pool b exec "$progs/batch" --seconds 30 >"$work/one" &
pids=($!)
in_pool b exec "$progs/batch" --seconds 30 >"$work/two" &
pids+=($!)
until_busy
server=$(echo get_server_list | in_pool b "$control")
has_two_clients() {
	[ "$(echo "get_client_list $server" | in_pool b "$control" | wc -l)" = 2 ]
}
check "a server for the pool" test -n "$server"
check "... with two clients" soon has_two_clients
check "... in the state ACTIVE" test \
	"$(echo "get_server_status $server" | in_pool b "$control")" = ACTIVE
line=$(in_pool a "$progs/request" --seconds 0.4)
check "the hardware switches between pools" between "$line" gpu_p99_us 500 2500
kill -TERM "${pids[@]}"
wait
check "inside a pool programs share the SMs (one)" between "$(cat "$work/one")" share 0.30 0.62
check "inside a pool programs share the SMs (two)" between "$(cat "$work/two")" share 0.30 0.62

echo "-- shares of the SMs in a pool"
# sees PERCENTAGE SMS: and runs on no others.
sees() {
	local line
	line=$(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$1 in_pool b "$progs/ptx_sms")
	[ "$line" = "sms $2 grid $2 nsmid $2 used $2 most $(($2 - 1))" ] && return
	echo "     $1 %: $line"
	return 1
}
for share in 100=132 50=66 15=18 14=18 13=16 12=14 10=12 9=10 8=10 7=8 1=8; do
	check "${share%=*} % are ${share#*=} SMs" sees "${share%=*}" "${share#*=}"
done
alone() {
	[ "$(CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=10 "$progs/ptx_sms" | cut -d' ' -f1,2)" = "sms 132" ]
}
check "without MPS there are no shares" alone
# A kernel on 8 of 132 SMs leaves the others to its neighbour: 1000 / 1061; else it is 1000 / 1485. The
# bound is between the two, as a busy CPU takes something of both.
beside() {
	CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=$1 in_pool b exec "$progs/ptx_loop" --seconds 60 \
		--rounds 1000 >"$work/loop" &
	local loop=$!
	until grep -q "^step" "$work/loop"; do sleep 0.02; done
	in_pool b "$progs/batch" --seconds 0.4
	kill "$loop"
	wait "$loop"
}
check "a kernel with a share of 5 % takes no more" between "$(beside 5)" gpu_share 0.80 1.01
check "... and without it does" between "$(beside 100)" share 0.40 0.79

echo "-- a fault in a pool"
soon fails is_busy # what was killed may be there for a moment
# One kernel, so that it is on the GPU when the other program's traps.
in_pool b "$progs/batch" --block-us 60000000 >"$work/one" &
until_busy
in_pool a "$progs/request" --seconds 0.3 >"$work/two" &
check "a kernel traps in pool b" in_pool b "$progs/trap"
wait
check "... which ends the other program there" grep -q LAUNCH_FAILED "$work/one"
check "... but none in pool a" between "$(cat "$work/two")" requests 10 100000
line=$(in_pool b "$progs/request" --count 3)
check "... and pool b takes programs again" between "$line" gpu_p50_us 100 110

# One that has done nothing keeps the server from taking others. When it has gone they may come, though
# the server has had no time to look: it is stopped while the one goes and the next one comes.
n_clients() {
	echo "get_client_list $server" | in_pool b "$control" | wc -l
}
clients_are() {
	[ "$(n_clients)" = "$1" ]
}
n_passed() {
	grep -c "client .* of user" "$work/control.log"
}
passed_on() {
	[ "$(n_passed)" -gt "$1" ]
}
server=$(echo get_server_list | in_pool b "$control")
in_pool b exec "$progs/trap" --after-us 60000000 >/dev/null &
pid=$!
disown $pid
soon clients_are 1
in_pool b "$progs/trap" >/dev/null
check "a program that has done nothing outlives the fault" soon clients_are 1
before=$(n_passed)
kill -STOP "$server"
kill -KILL $pid
while kill -0 $pid 2>/dev/null; do sleep 0.01; done
in_pool b "$progs/request" --count 3 >"$work/one" &
check "... another one waits to be taken" soon passed_on "$before"
kill -CONT "$server"
wait
check "... and is, when the first has gone" between "$(cat "$work/one")" gpu_p50_us 100 110

echo "-- kill -9 in a pool"
in_pool b exec "$progs/batch" --seconds 20 >"$work/one" &
pid=$!
disown $pid
until_busy
kill -KILL $pid
line=$(in_pool b "$progs/request" --count 3)
check "of a client: the others go on" between "$line" gpu_max_us 100 40000
in_pool b "$progs/batch" --seconds 20 >"$work/one" &
until_busy
kill -KILL "$(echo get_server_list | in_pool b "$control")"
wait
check "of the server: its clients see an error" grep -q "failed .* CUDA_ERROR" "$work/one"
line=$(in_pool b "$progs/request" --count 3)
check "... and the next client gets a new one" between "$line" gpu_p50_us 100 110
for pool in a b; do
	check "quit ends daemon $pool" quit $pool
done
check "nothing is left on the GPU" between "$("$progs/emu_state")" clients 0 0

echo "$passed passed, $failed failed"
[ $failed = 0 ]
