#!/bin/sh
# Every command of docs/tutorial.md works, and shows what the page says.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
unset COTENANT_RUNTIME_DIR COTENANT_SOCKET COTENANT_EMU_DIR COTENANT_GPUS
TMPDIR=$work
PATH=${COTENANT%/*}:$PATH
export TMPDIR PATH

# commands: the blocks of the page, and where each section begins.
awk '/^```sh$/ { inside = 1; next }
	/^```$/ { inside = 0; next }
	/^## / { print "echo \"== " substr($2, 1, 1) "\"" }
	inside' "$SOURCE_DIR/docs/tutorial.md" >"$work/commands"
[ "$(grep -c cotenant "$work/commands")" -ge 15 ] || fail "few commands: $(cat "$work/commands")"

cd "$work" || exit 1
timeout -k 5 100 bash -eu ./commands >"$work/out" 2>"$work/err" || {
	status=$?
	fail "ended with $status: $(tail -5 "$work/err" "$work/out" "$work/train.log")"
}

# section N: what its commands printed.
section() {
	awk -v n="$1" '/^== / { here = $2 == n } here' "$work/out" >"$work/section"
}

# outcome FIRST POLICY PATTERN: of the rows that begin so.
section 2
outcome() {
	grep -E "^$1 +$2 " "$work/section" | sed -n 1p | grep -qE " $3\$" ||
		fail "$2 is not $3: $(cat "$work/section")"
}
outcome timeslice timeslice missed
outcome timeslice pools kept
outcome timeslice parts@64 kept
outcome timeslice slo kept
for policy in timeslice pools parts@64 slo; do
	outcome 1000 "$policy" missed
done
says "$work/section" "the mean of 3 runs"
for page in page.html comparison.html; do
	[ -s "$page" ] || fail "no $page"
done
[ -s timeline.json ] || fail "no timeline"
section 3
says "$work/section" '"same":true'
section 4
says "$work/section" '"same":true'
says "$work/section" "quota 75% -> 50%"
for log in serve.log train.log; do
	says "$log" '"same":true'
	says_not "$log" '"same":false'
done
[ "$(tail -n 1 "$work/section")" -ge 1 ] || fail "the end: $(tail -3 "$work/section")"
finish
