#!/bin/sh
# Launches of different streams that become one: the same bits as without, counted, and nothing waits for itself.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
start_daemon

digest() {
	sed -n 's/.*digest //p' "$1"
}

# merging OPTION...: into $work/out and $work/err.
merging() {
	COTENANT_LOG=info COTENANT_MERGE=${always-always} timeout 120 "$COTENANT" run --emulate h200 --required --name it \
		--merge -- "$PROGS/merge" "$@" >"$work/out" 2>"$work/err" || fail "merge $*: $(cat "$work/out" "$work/err")"
}

for threads in 1 3; do
	timeout 120 "$COTENANT" run --emulate h200 -- "$PROGS/merge" --programs 60 --threads $threads >"$work/plain" ||
		fail "without merging: $(cat "$work/plain")"
	merging --programs 60 --threads $threads
	says "$work/out" "wrong 0"
	[ "$(digest "$work/out")" = "$(digest "$work/plain")" ] || fail "other bits: $(cat "$work/out" "$work/plain")"
	n=$(sed -n 's/.*merged \([0-9]*\) launches.*/\1/p' "$work/err")
	[ "${n:-0}" -ge 2 ] || fail "nothing was merged: $(cat "$work/err")"
done
says "$work/err" "kernel lurk: a loop waits"
says "$work/err" "merge-shared"

# Four kernels, one in each stream: in a launch of three and four.
COTENANT_MERGE_US=20000 merging --each 100
says "$work/out" "launches 400 checks 10 wrong 0"
sed -n 's/.*merged \([0-9]*\) launches into \([0-9]*\).*/\1 \2/p' "$work/err" >"$work/counts"
read -r launches into <"$work/counts"
[ "${launches:-0}" -gt $((2 * ${into:-0})) ] || fail "none has more than two: $(cat "$work/err")"

# The host ends a wait only when it has seen another stream's kernel end.
merging --lurk 20
says "$work/out" "wrong 0"
says "$work/err" "merge-kernel: 20"

# Threads that wait for each launch at once.
merging --at-once 200 --threads 3
says "$work/out" "launches 600 checks 30 wrong 0"

# Modules that were rewritten: once, for all processes. Files that are not ours are left out.
says "$work/err" "templates: 1 found, 0 made, 0 ignored, 0 not kept"
store=$XDG_CACHE_HOME/cotenant/templates
[ "$(stat -c %a "$store")" = 700 ] || fail "the directory's mode: $(stat -c %a "$store")"
set -- "$store"/*
[ $# = 1 ] || fail "expected one file: $*"
file=$1
damage() {
	: >"$file"
}
link() {
	mv "$file" "$work/elsewhere"
	ln -s "$work/elsewhere" "$file"
}
everyones() {
	chmod 666 "$file"
}
for harm in damage link everyones; do
	$harm
	merging --programs 5
	says "$work/out" "wrong 0"
	says "$work/err" "templates: 0 found, 1 made, 1 ignored, 0 not kept"
	merging --programs 5
	says "$work/err" "templates: 1 found, 0 made, 0 ignored, 0 not kept"
done

# No directory to be had; a store that is turned off; two processes at once.
rm -r "$store"
ln -s "$work" "$store"
merging --programs 5
says "$work/err" "templates: 0 found, 1 made, 0 ignored, 1 not kept"
rm "$store"
COTENANT_MERGE_STORE=0 merging --programs 5
says "$work/err" "templates: 0 found, 0 made, 0 ignored, 0 not kept"
[ -e "$store" ] && fail "written although it is turned off"
merging --programs 5 &
COTENANT_LOG=info timeout 120 "$COTENANT" run --emulate h200 --required --merge -- "$PROGS/merge" --programs 5 >"$work/out2" ||
	fail "beside another: $(cat "$work/out2")"
wait $! || fail "the other"
says "$work/out2" "wrong 0"
merging --programs 5
says "$work/err" "templates: 1 found, 0 made, 0 ignored, 0 not kept"

# By the model, and in a latency program, which never waits.
always=1 merging --programs 20
COTENANT_CLASS=latency merging --programs 20
grep -q "merged" "$work/err" && fail "a latency program's launches wait"

"$COTENANT" run --merge --quota 50% --emulate h200 -- true 2>"$work/err" && fail "--merge with --quota"
says "$work/err" "expected one or the other"

finish
