#!/bin/sh
# cotenant model check --live: scenarios from what programs do alone, what the simulator says of them, and what was measured.
. "$SOURCE_DIR/tests/cli/lib.sh"
results=$SOURCE_DIR/tests/fuzz/corpus/live/a1

# One mix that is predicted, and one that is not.
expect 0 model check --live "$results"
says "$work/out" "a switch takes"
says "$work/out" "180 us there and 150 us back"
grep -qE '^a1 +pools +0\.300 +0\.3[01][0-9] +\+[0-9.]+ % +0\.420 .* 0\.900 +0\.89[0-9]' "$work/out" || fail "a1: $(cat "$work/out")"
grep -qE '^pools +p50 +1 +[0-9.]+ % .* a1, pools$' "$work/out" || fail "errors: $(cat "$work/out")"
grep -qE '^how long the kernels of a program take .*: g1$' "$work/out" || fail "left out: $(cat "$work/out")"
cp "$work/out" "$work/text"
"$COTENANT" model check --live - <"$results" >"$work/out" 2>"$work/err" || fail "standard input: $(cat "$work/err")"
cmp -s "$work/out" "$work/text" || fail "standard input gives another result"

expect 0 model check --live "$results" --json -
says "$work/out" '"schema": "cotenant.model.live/1"'
says "$work/out" '"switch_us": 180'
says "$work/out" '"not_predicted": "how long'

# The scenario is a file that `cotenant sim` plays, with the same outcome.
expect 0 model check --live "$results" --scenario a1/pools
says "$work/out" "policy: pools"
says "$work/out" "gaps: after"
cp "$work/out" "$work/a1.yaml"
expect 0 sim "$work/a1.yaml" --json "$work/a1.json"
# in us, without the last digits
p50_of() {
	sed -n 's/.*"p50\(_us\)\{0,1\}": \([0-9]*\.[0-9]\).*/\2/p'
}
"$COTENANT" model check --live "$results" --json - | grep -A1 '"predicted"' | p50_of >"$work/predicted"
grep -A4 '"response_us"' "$work/a1.json" | p50_of | head -n 1 >"$work/played"
if [ ! -s "$work/played" ] || ! cmp -s "$work/predicted" "$work/played"; then
	fail "predicted $(cat "$work/predicted"), played $(cat "$work/played")"
fi

# Mistakes: one sentence, and nothing is written.
expect 2 model check --live "$results" --scenario a1/rotate
says "$work/err" "no mix and way is called 'a1/rotate'; expected one that was measured"
expect 2 model check --live "$results" --scenario g1/pools
says "$work/err" "'g1/pools' is not predicted"
head -c 700 "$results" >"$work/cut"
expect 2 model check --live "$work/cut"
says "$work/err" "this is no JSON; expected a result of bench/live, unpacked"
sed 's/"group":"parts"/"group":"else"/' "$results" >"$work/less"
expect 2 model check --live "$work/less"
says "$work/err" "expected windows of the mixes 'parts' and 'parts-gemm' of bench/live"
wrong() {
	sentence=$1
	shift
	expect 2 model "$@"
	says "$work/err" "$sentence"
}
wrong "--live is for 'check'" time --live "$results"
wrong "--live is for 'check', without --points" check --live --points "$results"
wrong "--scenario is for 'check --live', without --json" check --scenario a1/pools "$results"
wrong "--scenario is for 'check --live', without --json" check --live --json - --scenario a1/pools "$results"
finish
