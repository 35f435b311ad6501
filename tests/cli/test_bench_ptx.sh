#!/bin/sh
# bench/ptx/run.py: its tables from known lines, and what it does when something is wrong.
. "$SOURCE_DIR/tests/cli/lib.sh"
command -v python3 >/dev/null || exit 77

# A kernels-run that prints the file of the benchmark and size that it is asked for.
cat >"$work/kernels-run" <<'END'
#!/bin/sh
here=${0%/*}
name=$1
while [ $# -gt 1 ]; do
	[ "$1" != --size ] || size=$2
	shift
done
cat "$here/$name-$size"
[ ! -f "$here/$name-sleeps" ] || exec sleep 60
[ ! -f "$here/$name-status" ] || exit "$(cat "$here/$name-status")"
END
chmod +x "$work/kernels-run"

machine='{"gpu":"Test GPU","driver":13000,"compute_capability":90,"n_sms":132}'
plain='"blocks":7,"launches":1,"registers":20,"local_bytes":0,"shared_bytes":0,"per_sm":8'
checked() { # BENCHMARK
	echo "$machine"
	echo "{\"benchmark\":\"$1\",\"pass\":\"plain\",\"same\":true,\"right\":true,$plain}"
	echo "{\"benchmark\":\"$1\",\"pass\":\"workers\",\"same\":true,$plain}"
	echo "{\"benchmark\":\"$1\",\"pass\":\"fuse\",\"refused\":\"kernel $1, line 3: no\"}"
}
measured() { # BENCHMARK RATIO
	echo "$machine"
	echo "{\"benchmark\":\"$1\",\"pass\":\"plain\",\"same\":true,$plain,\"time\":{\"median_us\":1000}}"
	echo "{\"benchmark\":\"$1\",\"pass\":\"workers\",\"same\":true,$plain,\"chunk\":5,\"ratio\":$2,
		\"eviction\":{\"median_us\":8,\"max_us\":20,\"all_us\":[7,8,20]}}" | tr -d '\n'
	echo
}
for name in one two shapes; do
	checked $name >"$work/$name-large"
done
batched() { # BENCHMARK
	echo "$machine"
	echo "{\"benchmark\":\"$1\",\"pass\":\"batch\",\"same\":true,\"blocks\":7,\"copies\":9,
		\"launches\":2,\"apart_launches\":18,\"apart\":{\"median_us\":900},\"time\":{\"median_us\":225},
		\"apart_host_us\":36,\"host_us\":7,\"ratio\":0.25}" | tr -d '\n'
	echo
}
batched one >"$work/one-small"
: >"$work/two-small"
measured one 1.01 >"$work/one-gpu"
measured two 1.03 >"$work/two-gpu"

# bench STATUS ARGUMENT...
bench() {
	expected=$1
	shift
	python3 "$SOURCE_DIR/bench/ptx/run.py" --binary "$work/kernels-run" --out "$work/results" \
		--benchmarks one two "$@" >"$work/out" 2>"$work/err"
	status=$?
	[ $status = "$expected" ] || fail "run.py $*: status $status: $(cat "$work/err" "$work/out")"
}

bench 0
says "$work/results/table.md" "| one | 7 | 1000 us |  | +1.0 % |"
says "$work/results/table.md" "* workers: +2.00 % on average, +3.0 % at worst (two)"
says "$work/results/table.md" "the goal of 2 % and 5 % is met"
says "$work/results/table.md" "8.0 us in the median, 20.0 us at the 99th percentile"
says "$work/results/table.md" "| one | 7 | same | same |  |  |  | refused |"
says "$work/results/table.md" "| shapes | 7 | same | same |  |  |  | refused |"
says "$work/results/table.md" "| one | 7 | 9 | 900 us | 225 us | 0.25 | 18, 2 | 2.00 us, 3.50 us |"
says "$work/results/table.md" "kernel one, line 3: no"
says "$work/out" "the goal of 2 % and 5 % is met"
python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert r["summary"]["workers"]["mean"] == 1.02, r["summary"]
assert r["summary"]["problems"] == []' "$work/results/result.json" || fail "result.json"

# A mean above the goal.
measured two 1.06 >"$work/two-gpu"
bench 0
says "$work/results/table.md" "is not met"

# A wrong result.
sed -i 's/"pass":"workers","same":true/"pass":"workers","same":false,"n_different":4/' "$work/one-large"
bench 1
says "$work/out" "WRONG: one workers: 4 words differ from the plain run"
says "$work/results/table.md" "* one workers: 4 words differ from the plain run"

# One that fails, dies, hangs or prints nonsense takes nothing else along.
echo '{"benchmark":"one","failed":"cuMemAlloc failed: CUDA_ERROR_OUT_OF_MEMORY (2)"}' >"$work/one-gpu"
echo 2 >"$work/one-status"
bench 2
says "$work/out" "CUDA_ERROR_OUT_OF_MEMORY"
says "$work/results/table.md" "| two | 7 | 1000 us |  | +6.0 % |"
: >"$work/one-gpu"
bench 2
says "$work/out" "WRONG: one: exit status 2"
rm "$work/one-status"
touch "$work/one-sleeps"
bench 2 --each-limit 0.5
says "$work/out" "WRONG: one: did not end within"
says "$work/results/table.md" "| two | 7 | 1000 us |  | +6.0 % |"
rm "$work/one-sleeps"
echo nonsense >"$work/one-gpu"
bench 2
says "$work/out" "printed no JSON: nonsense"
bench 2 --time-limit 0
says "$work/out" "no time was left for it"
bench 2 --binary "$work/none"
says "$work/out" "cannot be run"
finish
