#!/bin/sh
# Options of `cotenant run` that do not go together: refused in one sentence, before anything is started.
. "$SOURCE_DIR/tests/cli/lib.sh"
unset COTENANT_MERGE COTENANT_CLASS COTENANT_DISABLE

# refused SENTENCE OPTION...
refused() {
	sentence=$1
	shift
	expect 125 run "$@" -- true
	says "$work/err" "$sentence"
	[ "$(wc -l <"$work/err")" = 1 ] || fail "run $*: $(cat "$work/err")"
}
latency="a latency program hands no launches over, so --backend is for batch programs only"
refused "$latency" --backend it --class latency
refused "$latency" --backend it --p99 5ms
never="a latency program's launches wait for no others, so --merge is for batch programs only"
refused "$never" --merge --class latency
refused "$never" --merge --p99 5ms
COTENANT_CLASS=latency
export COTENANT_CLASS
refused "$latency" --backend it
refused "$never" --merge
unset COTENANT_CLASS
refused "expected one or the other" --backend it --merge
refused "expected one or the other" --backend it --sms 64
refused "expected one or the other" --backend it --quota 50%
refused "expected one or the other" --merge --quota 50%
refused "only a latency program may have a reservation" --reserve 50%

# Who inherits COTENANT_MERGE may be a latency program.
COTENANT_MERGE=1 COTENANT_RUNTIME_DIR=$work/none "$COTENANT" run --class latency -- true 2>"$work/err" ||
	fail "an inherited COTENANT_MERGE: $(cat "$work/err")"

finish
