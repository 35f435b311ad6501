#!/bin/sh
# bench_contention on the emulated GPU, with a stand-in for NVML: what can be measured is measured, the
# rest says why not, and the lines are what `cotenant model check` reads.
set -u
: "${COTENANT:?the program beside which bench_contention is}" "${EMU:?the folder of the emulated GPU}"
: "${PROGS:?the folder of the stand-in}"
bench=$(dirname "$COTENANT")/bench_contention
[ -x "$bench" ] || exit 77

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
export COTENANT_EMU_DIR="$work/gpu"
n_failed=0

fail() {
	echo "FAILED: $*" >&2
	n_failed=$((n_failed + 1))
}

# has FILE TEXT
has() {
	grep -qF -e "$2" "$1" || fail "expected '$2' in: $(head -c 3000 "$1")"
}

run() {
	LD_LIBRARY_PATH=$1 timeout 120 "$bench" --smoke --repeats 1 --window 100 -o "$work/lines" \
		--power-seconds 0.4 --only "$2" 2>"$work/err" || fail "status $?: $(cat "$work/err")"
}

# Without NVML: rates alone and on parts of the SMs, no power.
mkdir "$work/no-nvml"
for library in "$EMU"/*; do
	[ "${library##*/}" = libnvidia-ml.so.1 ] || ln -s "$library" "$work/no-nvml/"
done
run "$work/no-nvml" alone,pairs,shared,power
has "$work/err" "there is no libnvidia-ml.so.1: no power is measured"
has "$work/lines" '"green_contexts":true,"energy":false'
n=$(grep -c '"kind":"rate"' "$work/lines")
[ "$n" -ge 15 ] || fail "$n rates: $(grep failure "$work/lines")"
has "$work/lines" '"kind":"rate","stage":"pairs","repeat":0,"on_rest":false,"shared":false,"mix":[{"kernel":"chase","memory":"l2","warps":1,"sms":8,'
# Two kernels at once need no partitions.
has "$work/lines" '"kind":"rate","stage":"shared","repeat":0,"on_rest":false,"shared":true,"mix":[{"kernel":"chase"'
has "$work/lines" '"kind":"failure","stage":"power","on_rest":false,"shared":false,"mix":[],"why":"there is no libnvidia-ml'
tail -n 1 "$work/lines" | grep -q '"kind":"end","why":"done"' || fail "no last line"

# With it: 250 W within what a busy machine does to a short window; benchmarks as well.
run "$PROGS/nvml:$EMU" power,benchmarks
n=$(grep -c '"kind":"power"' "$work/lines")
[ "$n" = 13 ] || fail "$n powers: $(grep failure "$work/lines")"
sed -n 's/.*"watts":\([0-9.]*\).*/\1/p' "$work/lines" |
	awk '$1 < 225 || $1 > 275 { exit 1 }' || fail "not 250 W: $(grep -o '"watts":[0-9.]*' "$work/lines")"
has "$work/lines" '"driver":"999.1"'
has "$work/lines" '"benchmark":"md5hash"'

# What does not fit into the budget is left out; a signal ends the run with what there is.
LD_LIBRARY_PATH=$EMU timeout 60 "$bench" --smoke --budget 1 >"$work/lines" 2>/dev/null || fail "status $?"
tail -n 1 "$work/lines" | grep -q '"why":"done"' || fail "budget: $(tail -n 1 "$work/lines")"
rm "$work/lines"
LD_LIBRARY_PATH=$EMU "$bench" --smoke --window 1000 --repeats 20 >"$work/lines" 2>/dev/null &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	grep -qs '"kind":"rate"' "$work/lines" && break
	sleep 1
done
kill -TERM $pid
wait $pid || fail "status $? after a signal"
tail -n 1 "$work/lines" | grep -q '"why":"interrupted"' || fail "signal: $(tail -n 1 "$work/lines")"
[ $n_failed = 0 ]
