#!/bin/sh
# Two GPUs: each has its own pools and slices, and what is done to one does not touch the other. A
# program for both stays outside the pools.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
COTENANT_GPUS=2
COTENANT_EMU_GPUS=2
export COTENANT_EMU_GPUS

# pool_value CLASS GPU KEY: as ps_value, of a pool on that GPU.
pool_value() {
	"$COTENANT" ps --json | awk -v name="\"$1\"," -v gpu="$2," -v key="\"$3\":" '
		/"tenants": \[/ { exit }
		/^    {/ { same = 0; value = "" }
		$1 == "\"name\":" && $2 == name { same++ }
		$1 == "\"gpu\":" && $2 == gpu { same++ }
		$1 == key { value = $2; gsub(/[",\[]/, "", value) }
		/^    }/ { if (same == 2) { print value; exit } }'
}

# shellcheck disable=SC2317 # for until_true
pool_is() {
	[ "$(pool_value "$1" "$2" "$3")" = "$4" ]
}

expect_pool() {
	until_true 5 pool_is "$1" "$2" "$3" "$4" ||
		fail "pool $1 of GPU $2: $3 is '$(pool_value "$1" "$2" "$3")', expected '$4'"
}

# shellcheck disable=SC2317 # for until_true
has_slice() {
	[ "$(ps_value "$1" slice_read_back_us)" -gt 0 ] 2>/dev/null
}

# frozen_on GPU: how many processes are frozen there.
frozen_on() {
	"$PROGS/emu_state" | awk -v gpu="$1" '
		$5 == gpu && $7 == "graphics" && $13 > 0 { n++ } END { print n + 0 }'
}

are_frozen_on() {
	[ "$(frozen_on "$1")" -eq "$2" ]
}

# gpus_of NAME: the GPUs that ps shows.
gpus_of() {
	"$COTENANT" ps --wide | awk -v name="$1" '$2 == name { print $6 }'
}

"$PROGS/batch" --seconds 0.2 >"$work/alone" || fail "batch alone"
sum=$(value checksum "$work/alone")

start_daemon
says "$work/daemon.log" "serves 2 GPUs"
background "$COTENANT" run --name b0 -- "$PROGS/batch" --seconds 60 >"$work/b0"
b0=$pid
background "$COTENANT" run --name b1 --gpu 1 -- "$PROGS/batch" --seconds 60 >"$work/b1"
b1=$pid
expect_pool batch 0 slice_read_back_us 2000
expect_pool batch 1 slice_read_back_us 2000
[ "$(gpus_of b0)" = 0 ] || fail "b0 is on GPU $(gpus_of b0)"
[ "$(gpus_of b1)" = 1 ] || fail "b1 is on GPU $(gpus_of b1)"
# The servers are where the daemon says.
for gpu in 0 1; do
	servers=$("$PROGS/emu_state" | awk -v gpu=$gpu '$5 == gpu && $7 == "graphics"' | wc -l)
	[ "$servers" -eq 1 ] || fail "$servers servers on GPU $gpu"
done

# A latency program on GPU 1 is no concern of GPU 0. CUDA's own variable says where it goes.
CUDA_VISIBLE_DEVICES=1
export CUDA_VISIBLE_DEVICES
background "$COTENANT" run --class latency --name s1 -- "$PROGS/request" --seconds 60 >"$work/s1"
s1=$pid
unset CUDA_VISIBLE_DEVICES
expect_pool batch 1 slice_read_back_us 20
expect_pool latency 1 slice_read_back_us 10000
[ "$(gpus_of s1)" = 1 ] || fail "s1 is on GPU $(gpus_of s1)"
[ "$(pool_value batch 0 slice_read_back_us)" = 2000 ] || fail "GPU 0 has short slices"
[ -z "$(pool_value latency 0 id)" ] || fail "a latency pool on GPU 0"
# Nor at the very beginning of a program, before the policy knows it.
background "$COTENANT" run --solo --name early -- "$PROGS/batch" --seconds 60 >"$work/early"
early=$pid
until_true 5 has_slice early || fail "early has no slice"
[ "$(ps_value early slice_read_back_us)" = 2000 ] ||
	fail "early begins with $(ps_value early slice_read_back_us) us"
kill "$early"

# A pool is named with its GPU; each has its own settings.
for command in "freeze pool:batch" "set pool:batch --slice 500us"; do
	# shellcheck disable=SC2086 # two words and more
	"$COTENANT" $command >"$work/out" 2>&1 && fail "$command: which of the two?"
	says "$work/out" "on 2 GPUs; add the number of one, as in pool:batch:0"
done
"$COTENANT" set pool:batch:0 --slice 700us >/dev/null || fail "set pool:batch:0"
expect_pool batch 0 slice_read_back_us 700
[ "$(pool_value batch 1 slice_read_back_us)" = 20 ] || fail "a slice for the wrong GPU"
"$COTENANT" set pool:batch:0 --slice auto >/dev/null || fail "set pool:batch:0 auto"
freezes pool:batch:1 || fail "freeze pool:batch:1: $(cat "$work/out")"
are_frozen_on 1 1 || fail "$(frozen_on 1) are frozen on GPU 1"
are_frozen_on 0 0 || fail "$(frozen_on 0) are frozen on GPU 0"
[ "$(pool_value batch 1 state)" = frozen ] || fail "the pool is not shown as frozen"
[ "$(pool_value batch 0 state)" = running ] || fail "the other pool is shown as frozen"
"$COTENANT" stats >"$work/out" || fail "stats"
grep -q "^pool:batch:0 .* 0  *-  *0 " "$work/out" || fail "stats: $(cat "$work/out")"
grep -q "^pool:batch:1 .* [1-9][0-9]*  *[0-9.]*/[0-9.]* ms  *0 " "$work/out" || fail "stats: $(cat "$work/out")"
"$COTENANT" thaw pool:batch:1 >"$work/out" || fail "thaw pool:batch:1: $(cat "$work/out")"
are_frozen_on 1 0 || fail "still frozen on GPU 1"
"$COTENANT" freeze pool:batch:2 >"$work/out" 2>&1
[ $? -eq 6 ] || fail "a pool of a GPU that is not there"

# One program on both GPUs stands alone. On GPU 1 it is a second batch entity beside a latency
# program: the two take turns, and whoever waits is off the GPU everywhere.
background "$COTENANT" run --name both --gpu 0,1 -- "$PROGS/both" --seconds 60 >"$work/both"
both=$pid
expect_value both slice_us 20
[ "$(gpus_of both)" = 0,1 ] || fail "both is on GPU $(gpus_of both)"
says "$work/daemon.log" "new batch program 'both'"
"$COTENANT" ps >"$work/out"
grep -q " both .* 0,1  *alone " "$work/out" || fail "both is in a pool: $(cat "$work/out")"
# top and metrics tell one GPU from the other; of the program on both the GPUs are a list.
for columns in 80 120; do
	COLUMNS=$columns "$COTENANT" top --once --sort gpu </dev/null >"$work/out" || fail "top: $?"
	awk '$1 == "ID" || $1 == "NAME" { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["NAME"] ~ /^(b0|b1|s1|both)$/ { print $at["NAME"] "=" $at["GPU"] }' "$work/out" | tr '\n' ' ' >"$work/order"
	[ "$(cat "$work/order")" = "b0=0 both=0,1 b1=1 s1=1 " ] || fail "top at $columns: $(cat "$work/out")"
	grep -q '^pool:batch:1 ' "$work/out" || fail "top at $columns has no pool of GPU 1: $(cat "$work/out")"
done
"$COTENANT" stats --format prometheus >"$work/metrics" || fail "stats --format prometheus"
for gpu in 0 1; do
	grep -q "^cotenant_pool_up{pool=\"batch\",gpu=\"$gpu\".* 1$" "$work/metrics" || fail "no pool of GPU $gpu"
done
grep -q '^cotenant_program_info{program="b1",.*gpu="1"' "$work/metrics" || fail "b1: $(cat "$work/metrics")"
grep '^cotenant_program_frozen{program="both",' "$work/metrics" >"$work/out" || fail "both: $(cat "$work/metrics")"
grep -q 'gpu="0,1"' "$work/out" || fail "both: $(cat "$work/out")"

# A recording knows which GPU it was, and a scenario of it has the programs of one.
"$COTENANT" record -o "$work/run.cot" --interval 100ms --for 0.4s 2>"$work/out" || fail "record: $(cat "$work/out")"
grep -q '"name":"b1",[^}]*"gpus":"1"' "$work/run.cot" || fail "record: $(head -c 2000 "$work/run.cot")"
grep -q '"name":"both",[^}]*"gpus":"0,1"' "$work/run.cot" || fail "record: $(head -c 2000 "$work/run.cot")"
"$COTENANT" scenario-from "$work/run.cot" -o "$work/two.yaml" >"$work/out" 2>&1 && fail "a scenario of two GPUs"
says "$work/out" "on GPUs 0, 1; a scenario has one"
"$COTENANT" scenario-from "$work/run.cot" --from-gpu=1 -o "$work/one.yaml" >"$work/out" 2>&1 ||
	fail "scenario-from: $(cat "$work/out")"
says "$work/one.yaml" '"b1"'
says "$work/one.yaml" '"both"'
says_not "$work/one.yaml" '"b0"'

freezes both || fail "freeze both: $(cat "$work/out")"
are_frozen_on 0 1 || fail "$(frozen_on 0) are frozen on GPU 0"
until_true 1 are_frozen_on 1 1 || fail "$(frozen_on 1) are frozen on GPU 1"
[ "$(ps_value both doubts)" = 0 ] || fail "doubts: $(ps_value both doubts)"
"$COTENANT" thaw both >"$work/out" || fail "thaw both: $(cat "$work/out")"
sleep 0.5

# A fault in a pool of one GPU.
"$COTENANT" run --name culprit --gpu 0 -- "$PROGS/trap" >"$work/culprit" 2>&1
wait "$b0" && fail "b0 lives"
kill "$s1" "$b1" "$both" # they end by themselves and say what they did
wait "$s1" || fail "s1"
expect_between 100 450 "$(value gpu_p50_us "$work/s1")" "median of a request"
wait "$b1" || fail "b1 was hurt by a fault on GPU 0"
wait "$both" || fail "both: $(cat "$work/both")"
for b in b1 both; do
	[ "$(value checksum "$work/$b")" = "$sum" ] || fail "$b computed something else"
	[ "$(value wrong "$work/$b")" = 0 ] || fail "$b: wrong results"
done

# Who names no GPU gets the first one, and one that comes by itself is where its groups are.
"$COTENANT" run --solo -- env >"$work/out" || fail "env"
grep -qx CUDA_VISIBLE_DEVICES=0 "$work/out" || fail "not the first GPU"
"$COTENANT" run --gpu all -- env >"$work/out" || fail "env on all"
grep -q ^CUDA_VISIBLE_DEVICES= "$work/out" && fail "all is not all"
CUDA_VISIBLE_DEVICES=MIG-1234 "$COTENANT" run -- env >"$work/out" || fail "env on a part"
grep -qx CUDA_VISIBLE_DEVICES=MIG-1234 "$work/out" || fail "another CUDA_VISIBLE_DEVICES"
"$COTENANT" run --gpu 2 -- true >"$work/out" 2>&1 && fail "GPU 2"
says "$work/out" "expected a number below 2"
LD_PRELOAD=$COTENANT_LIBRARY COTENANT_NAME=stray background "$PROGS/batch" --device 1 --seconds 20
expect_value stray slice_us 2000
[ "$(gpus_of stray)" = 1 ] || fail "the stray is on GPU $(gpus_of stray)"
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
