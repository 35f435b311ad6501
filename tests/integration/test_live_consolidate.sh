#!/bin/sh
# The policy consolidate with real programs on the emulated GPU: two that need half of the SMs are released together and
# stay so; a third that can use all of them takes turns with them, until it takes least on the CPU: then its launches are
# there; beside a latency program nobody waits. The results are those that there are without.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

# knows NAME TIMES BYTES: what it repeats on 8, 64 and 132 SMs, and moves in a second.
knows() {
	cat >"$work/$1.yaml" <<-END
		schema: cotenant.knowledge/1
		program: parts
		class: batch
		gpu: "NVIDIA H200"
		sms: [8, 64, 132]
		repeats:
		  time_ns: [$2]
		  bytes_per_s: [$3, $3, $3]
		  power_w: 432
	END
}

knows train "8000000, 1000000, 1000000" 1000000000
knows sort "9000000, 1000000, 1000000" 1000000000
knows wide "33000000, 4125000, 2000000" 12000000000000
cat >"$work/conf" <<END
schema: cotenantd/1
policy: consolidate
linger_ms: 100
dram_gb_per_s: 4000
gangs: {gather_us: 20000, limit_w: 1000}
knowledge:
  - {name: train, file: $work/train.yaml}
  - {name: sort, file: $work/sort.yaml}
  - {name: wide, file: $work/wide.yaml}
END
COTENANT_NVML=$EMU/libnvidia-ml.so.1
export COTENANT_NVML
start_daemon --config "$work/conf"

ps_shows() {
	"$COTENANT" ps >"$work/out" || return 1
	for pattern in "$@"; do
		grep -qE -e "$pattern" "$work/out" || return 1
	done
}

# at_least NAME KEY NUMBER
at_least() {
	n=$(ps_value "$1" "$2")
	[ "${n:-0}" -ge "$3" ]
}

# explains NAME PATTERN...
explains() {
	"$COTENANT" explain "$1" >"$work/out" || return 1
	shift
	for pattern in "$@"; do
		grep -qE -e "$pattern" "$work/out" || return 1
	done
}

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}

# A gang of two on parts: nobody is held once they run.
start --name train -- "$PROGS/parts" --seconds 600 --until "$work/enough" >"$work/train"
processes=$pid
# The daemon is asked for workers of this one's kernels; it is gathered and held like the others.
start --name sort --rewrite -- "$PROGS/parts" --seconds 600 --until "$work/enough" --seed 7 >"$work/sort"
processes="$processes $pid"
# Whichever came first has the first SMs.
are_on_parts() {
	ps_shows 'train +- +64 of 132, from 0 ' 'sort +- +68 of 132, from 64 ' ||
		ps_shows 'sort +- +64 of 132, from 0 ' 'train +- +68 of 132, from 64 '
}
until_true 20 are_on_parts || fail "ps: $(cat "$work/out")"
explains train 'gangs +1$' 'programs in it +2$' 'saved by it +13\.6 %' 'together than apart, and least on SMs of its own' ||
	fail "explain: $(cat "$work/out")"

# What they took as a gang stands beside what was predicted: 118 W (base_w), and what each draws beyond that, but no more
# than the GPU draws at most.
gang_took() {
	"$COTENANT" stats >"$work/out" && grep -qE '^(train\+sort|sort\+train) +[1-9][0-9.]* J +[0-9.]+ s +[0-9.]+ W +'"$1 W" "$work/out"
}
turn=50
if [ -e "$COTENANT_NVML" ]; then
	turn=53\.95
	until_true 20 gang_took 746.0 || fail "stats: $(cat "$work/out")"
	sed -i 's/, limit_w: 1000//' "$work/conf" # as the emulated NVML says
	kill -HUP "$daemon_pid"
	until_true 20 gang_took 700.0 || fail "stats: $(cat "$work/out")"
	explains train 'saved by it +12\.5 %' || fail "explain: $(cat "$work/out")"
fi

# A third that moves so much that nobody gains beside it: it has all SMs in its turns, and they have theirs together.
# On a busy machine a copy may take longer than the ten milliseconds that a launch waits for it.
export COTENANT_CPU_WAIT_MS=1000
start --name wide --cpu interpreter --cpu-by policy -- "$PROGS/backend" --steps 1e9 --pause-us 1000 >"$work/wide"
wide=$pid
processes="$processes $pid"
until_true 20 explains wide 'gangs +2$' 'programs in it +1$' 'no set with it' || fail "explain: $(cat "$work/out")"
explains train 'gangs +2$' 'programs in it +2$' "turn +$turn ms" || fail "explain: $(cat "$work/out")"
until_true 20 ps_shows 'wide +- +all 132 ' || fail "ps: $(cat "$work/out")"
for name in train sort wide; do
	until_true 20 at_least "$name" launches_held 5 || fail "$name: held $(ps_value "$name" launches_held)"
done

# What is known and what the user wants may change while they run: as much gain is not to be had, and two would take less
# time on the CPU. One of them can be put there; it has no turns any longer.
is_launched_on_cpu() {
	at_least wide on_cpu $(($1 + 5))
}
expect_value wide on_cpu 0
echo "  cpu_time_ns: 1900000" >>"$work/wide.yaml"
echo "  cpu_time_ns: 900000" >>"$work/train.yaml"
sed -i 's/gather_us: 20000/gather_us: 0, aim: time, min_gain_permille: 600/' "$work/conf"
kill -HUP "$daemon_pid"
until_true 20 explains train 'gangs +2$' 'no set with it' 'on the CPU +it would take less' || fail "explain: $(cat "$work/out")"
explains wide 'it takes least on the CPU' || fail "explain: $(cat "$work/out")"
until_true 20 ps_shows 'train +- +all 132 ' || fail "ps: $(cat "$work/out")"
until_true 20 is_launched_on_cpu 0 || fail "wide is not on the CPU: $(cat "$work/wide")"

# Beside a latency program nobody is held, and each is on its own SMs.
start --name api --class latency -- "$PROGS/parts" --seconds 600 --until "$work/enough" --seed 3 >"$work/api"
api=$pid
until_true 20 explains train 'a latency program is active' || fail "explain: $(cat "$work/out")"
until_true 20 ps_shows 'train +- +24 of 132' 'sort +- +24 of 132' 'wide +- +16 of 132' ||
	fail "ps: $(cat "$work/out")"
# Counts come once a second, those of holds and of the CPU right behind those of parts. The first launches on its part
# come after the last on the CPU, so with the second counts of parts all of those are there.
launches_on_part() {
	followed=$(ps_value wide launches_followed)
	until_true 20 at_least wide launches_followed $((${followed:-0} + 1)) || fail "wide launches nothing on its part"
}
launches_on_part
launches_on_part
held=$(ps_value wide launches_held) before=$(ps_value wide on_cpu)
launches_on_part
expect_value wide on_cpu "$before"
expect_value wide launches_held "$held"

# The next daemon gathers them anew when it has gone.
kill -TERM "$api"
kill_daemon
start_daemon --config "$work/conf"
until_true 20 explains train 'gangs +2$' || fail "explain: $(cat "$work/out")"
until_true 20 is_launched_on_cpu "$(ps_value wide on_cpu)" || fail "wide is not on the CPU again: $(ps_value wide on_cpu)"

# All that was computed meanwhile is right.
: >"$work/enough"
kill -USR1 "$wide"
for process in $processes; do
	wait "$process" || fail "a program ended with $?"
done
for name in train sort wide; do
	says "$work/$name" "wrong 0"
done
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
