#!/bin/sh
# A mistake in a scenario: one sentence with file and line, status 2, nothing written.
. "$SOURCE_DIR/tests/cli/lib.sh"

mkdir "$work/d"

# bad LINE SED_SCRIPT: changes the small scenario and expects a complaint about that line.
bad() {
	small_scenario | sed -e "$2" >"$work/bad.yaml"
	echo before >"$work/d/old.json"
	expect 2 sim "$work/bad.yaml" --json "$work/d/old.json" --timeline "$work/d/t.json" \
		--report "$work/d/r.html"
	empty "$work/out"
	says "$work/err" "bad.yaml:$1:"
	[ "$(wc -l <"$work/err")" -eq 1 ] || fail "more than a sentence: $(cat "$work/err")"
	[ "$(cat "$work/d/old.json")" = before ] || fail "a file was overwritten"
	[ "$(names_in "$work/d")" = old.json ] || fail "left: $(names_in "$work/d")"
}

bad 2 's/k20c/k99/'
bad 3 's/scheduler: ppq/scheduler: best/'
bad 4 's/preempt: switch/preempt: stop/'
bad 5 's/seed: 7/seed: -7/'
bad 7 's/stop: .*/stop: {walks: 2}/'
bad 8 's/^apps:/aps:/'
bad 14 's/blocks: 40/blocks: many/'

expect 2 sim "$work/none.yaml"
says "$work/err" "none.yaml"
finish
