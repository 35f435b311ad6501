#!/bin/sh
# The SMQoS study: its outputs, the same on any number of threads, and its mistakes.
. "$SOURCE_DIR/tests/cli/lib.sh"

small="reproduce smqos --quick --sms 8 --epoch 20000"

# shellcheck disable=SC2086 # words
expect 0 $small --threads 1 --json "$work/a.json" --report "$work/a.html" --mix pf,lbm --target 95
says "$work/out" "Q11"
says "$work/out" "Cases that keep their promise, per cent"
says "$work/out" "gesummv    MI"
says "$work/out" "seeds 1 to 3"
says "$work/a.json" '"seeds": 3'
# The mean of all seeds is between the ends, and a sign is told only where all seeds have it.
grep -E '"(measured|least|greatest|sign)":' "$work/a.json" | sed 's/[",:]//g' | awk '
	$1 == "measured" { mean = $2 } $1 == "least" { low = $2 } $1 == "greatest" { high = $2 }
	$1 == "sign" { n++; bad += mean < low || mean > high || $2 * low < 0 || $2 * high < 0 }
	END { exit n != 11 || bad }' || fail "means are not between the ends, or signs are not theirs"
says "$work/a.json" '"schema": "cotenant.reproduce-smqos/1"'
says "$work/a.json" '"promised_ipc"'
[ "$(grep -c '"reached"' "$work/a.json")" -eq 228 ] || fail "not 19 mixes x 4 goals x 3 systems"
[ "$(grep -c '"class": "CI"' "$work/a.json")" -eq 6 ] || fail "not six CI benchmarks"
says "$work/a.html" "Figure 4: power"
says "$work/a.html" "pf, promised 95 %, beside lbm"
grep -q '<script\|http' "$work/a.html" && fail "the page is not self-contained"

# shellcheck disable=SC2086 # words
expect 0 $small --threads 3 --json - --mix pf,lbm --target 95
cmp -s "$work/out" "$work/a.json" || fail "the outcome depends on the number of threads"
empty "$work/err"

# shellcheck disable=SC2086 # words
expect 0 $small --ablation --json "$work/c.json"
says "$work/out" "Other assumptions, all targets"
says "$work/out" "SMs change hands at no cost"
[ "$(grep -c '"settings": "' "$work/c.json")" -eq 29 ] || fail "not 29 assumptions"
# The batch task has more where SMs change hands at no cost.
moved=$(sed -n 's/^as above .* \([0-9][0-9.]*\) *[+-][0-9.]* *[+-].*/\1/p' "$work/out")
free=$(sed -n 's/^SMs change hands at no cost .* \([0-9][0-9.]*\) *[+-][0-9.]* *[+-].*/\1/p' "$work/out")
echo "$moved $free" | awk 'NF != 2 || $2 + 0 < $1 + 0 { exit 1 }' ||
	fail "throughput is $moved where SMs change hands at a cost, $free without"

expect 2 reproduce smqos --mix pf
says "$work/err" "--mix: 'pf'; expected two benchmarks such as pf,lbm"
expect 2 reproduce smqos --mix pf,bfs
says "$work/err" "--mix: no benchmark 'bfs'; expected two of bino, merge"
expect 2 reproduce smqos --target 87
says "$work/err" "--target: '87'; expected 80, 85, 90 or 95"
expect 2 reproduce smqos --sms 1
says "$work/err" "--sms: '1'; expected a whole number from 2 to 128"
expect 2 reproduce smqos --noise 0.5
says "$work/err" "--noise: '0.5'; expected a number from 0 to 0.2"
expect 2 reproduce smqos --threshold x
says "$work/err" "--threshold: 'x'; expected a number from 0.0001 to 0.5"
expect 2 reproduce smqos now
says "$work/err" "unexpected argument 'now'; expected options only"
expect 1 reproduce smqos --json "$work/no/such/folder.json"
finish
