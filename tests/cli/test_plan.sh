#!/bin/sh
# Who shares a GPU: what fits stays within its targets, the same on any number of threads; what does not is told.
. "$SOURCE_DIR/tests/cli/lib.sh"

SERVE='arrivals: {per_s: 50}, program: [{kernel: {name: k, blocks: 132, block_us: 500, blocks_per_sm: 1, regs_per_block: 16384}}, sync]'
TRAIN='program: [{kernel: {name: k, blocks: 528, block_us: 500, blocks_per_sm: 1, regs_per_block: 65536}}, sync]'

# jobs LINE...: a list of jobs.
jobs() {
	printf 'schema: cotenant.jobs/1\ngpu: h200\njobs:\n'
	for line in "$@"; do
		printf '  - {%s}\n' "$line"
	done
}

# Two that want more than half of the GPU each do not share one; a service and one of them do.
jobs "name: serve, class: latency, p99: 20ms, memory: 20GB, $SERVE" "name: train, count: 2, rate: 60%, memory: 40GB, watts: 500, $TRAIN" \
	>"$work/jobs.yaml"
expect 0 plan "$work/jobs.yaml" --gpus 4 --seconds 2 --threads 1 --csv
cp "$work/out" "$work/one.csv"
expect 0 plan "$work/jobs.yaml" --gpus 4 --seconds 2 --threads 3 --csv
cmp -s "$work/out" "$work/one.csv" || fail "threads make a difference: $(diff "$work/out" "$work/one.csv")"
[ "$(wc -l <"$work/out")" -eq 4 ] || fail "not three programs: $(cat "$work/out")"
awk -F, 'NR == 1 { next } $3 == "train" { n[$1]++ } { all[$1] } $10 && $12 < 0 { exit 1 }
	$10 == "rate" && $9 < 0.6 { exit 1 } $10 == "p99" && !($7 <= 18000) { exit 1 }
	END { for (g in all) k++; if (k != 2 || n[0] != 1 || n[1] != 1) exit 1 }' "$work/out" || fail "$(cat "$work/out")"
expect 0 plan "$work/jobs.yaml" --seconds 2
says "$work/out" "3 of 3 programs on 2 GPUs of at most 64: h200 (132 SMs), policy slo, seed 1"
expect 0 plan "$work/jobs.yaml" --seconds 2 --progress --json="$work/plan.json"
says "$work/plan.json" '"schema": "cotenant.plan/1"'
says "$work/plan.json" '"placed": 3'
says "$work/err" "planning: ended after "
expect 0 plan "$work/jobs.yaml" --seconds 2 --per-gpu 1
says "$work/out" "3 of 3 programs on 3 GPUs"

# Too few GPUs, too much memory, a target that cannot be kept.
expect 1 plan "$work/jobs.yaml" --gpus 1 --seconds 2
says "$work/out" "train: 1 of 2 not placed: no GPU has room for it"
says "$work/err" "1 of 3 programs have no place"
jobs "name: big, memory: 200GB, $TRAIN" "name: late, class: latency, p99: 400us, $SERVE" >"$work/never.yaml"
expect 1 plan "$work/never.yaml" --seconds 2
says "$work/out" "big: 1 of 1 not placed: needs more memory than a GPU has"
says "$work/out" "late: 1 of 1 not placed: misses its target even alone"

# What a profile said of a program.
cat >"$work/k.yaml" <<'YAML'
schema: cotenant.knowledge/1
program: train
gpu: NVIDIA H200
class: batch
sms: [66, 132]
repeats:
  time_ns: [2000000, 1000000]
  power_w: 400
YAML
jobs "name: known, rate: 50%, knowledge: k.yaml" >"$work/known.yaml"
expect 0 plan "$work/known.yaml" --seconds 2
grep -qE "1 +[-0-9].* 400 W" "$work/out" || fail "not the watts of the profile: $(cat "$work/out")"
sed -i 's/class: batch/class: latency/' "$work/k.yaml"
expect 2 plan "$work/known.yaml"
says "$work/err" "known.yaml:4:"

# wrong SENTENCE JOB...
wrong() {
	sentence=$1
	shift
	jobs "$@" >"$work/wrong.yaml"
	expect 2 plan "$work/wrong.yaml" --csv="$work/never.csv"
	says "$work/err" "wrong.yaml:$sentence"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than one line: $(cat "$work/err")"
	empty "$work/out"
}
wrong "4:5: the job has none of program, trace and knowledge; expected one of them" "name: a"
wrong "4:15: unknown key 'coun' (did you mean 'count'?); expected one of" "name: a, coun: 2, $TRAIN"
wrong "5:12: two jobs are named 'a'; expected a name of its own for each" "name: a, $TRAIN" "name: a, $TRAIN"
wrong "4:20: p99 is for apps of class latency" "name: a, p99: 5ms, $TRAIN"
wrong "4:15: unknown key 'solo'" "name: a, solo: true, $TRAIN"
wrong "4:26: the knowledge of 'a' cannot be used: " "name: a, knowledge: no-such-file"
jobs "name: a, memory: 1GB, $TRAIN" | sed 's/^gpu: h200/gpu: rtx2080ti/' >"$work/wrong.yaml"
expect 2 plan "$work/wrong.yaml"
says "$work/err" "how much memory a GPU has is not known; expected gpu_memory"
[ ! -e "$work/never.csv" ] || fail "wrong jobs wrote something"
expect 2 plan
says "$work/err" "no jobs given"
expect 2 plan "$work/jobs.yaml" --gpus 0
expect 2 plan "$work/no-such-file.yaml"
finish
