#!/bin/sh
# What `cotenant record` costs, on the emulated GPU: processor time of the daemon and of the recorder, and the size of
# the recording. Prints a line for each round; ROUNDS, SECONDS_EACH and PROGRAMS may be set.
#   bench/record.sh [BUILD FOLDER] >results/record/DATE.txt
# shellcheck source=bench/emulated.sh
. "$(dirname "$0")/emulated.sh"
rounds=${ROUNDS:-3} seconds=${SECONDS_EACH:-10} programs=${PROGRAMS:-4}

# Processor time of a process so far, in ms.
cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); printf "%d", ($12 + $13) * 1000 / hz }' "/proc/$1/stat"
}

counts() {
	[ "$(ps_value "$1" count)" -gt 0 ] 2>/dev/null
}

start_daemon
n=0
while [ "$n" -lt "$programs" ]; do
	n=$((n + 1))
	background "$COTENANT" run --measure --name "train$n" -- "$PROGS/batch" --seconds 600 --block-us 5000 >"$work/train$n"
	until_true 10 counts "train$n" || fail "train$n does not start: $(cat "$work/train$n" "$work/daemon.log")"
done
echo "# cotenant record --interval 1s; $programs measured programs with kernels of 5 ms, on the emulated GPU"
echo "# round, seconds, daemon alone (ms of processor), daemon recorded (ms), recorder (ms), recording (bytes)"
round=0
while [ "$round" -lt "$rounds" ]; do
	round=$((round + 1))
	before=$(cpu_ms "$daemon_pid")
	sleep "$seconds"
	middle=$(cpu_ms "$daemon_pid")
	"$COTENANT" record -o "$work/run.cot" --interval 1s 2>"$work/said" &
	recorder=$!
	sleep "$seconds"
	after=$(cpu_ms "$daemon_pid")
	own=$(cpu_ms "$recorder")
	kill "$recorder"
	wait "$recorder" || fail "record: $(cat "$work/said")"
	echo "$round $seconds $((middle - before)) $((after - middle)) $own $(stat -c %s "$work/run.cot")"
done
finish
