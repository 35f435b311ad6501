#!/bin/sh
# include/cotenant/share.h: two streams of one program, one for requests and one that grinds. The example, built as
# its users build it, with the daemon, MPS and the shim on the emulated GPU; then without them.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}
cc=$(command -v cc || command -v gcc || command -v clang) || {
	echo "no C compiler here"
	exit 77
}
"$cc" -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror -I"$SOURCE_DIR/include" \
	"$SOURCE_DIR/examples/share/two.c" -o "$work/two" -ldl -pthread || fail "the example is not built"
c_plus_plus() {
	printf '#include <cotenant/share.h>\nint main() { return !cot_share_thread(COT_SHARE_QUOTA, "5%%"); }\n' >"$work/a.cc"
	"$1" -Wall -Wextra -Werror -I"$SOURCE_DIR/include" "$work/a.cc" -o "$work/a" -ldl || fail "not with $1"
	LD_PRELOAD="" "$work/a" || fail "something is heeded in a program without the shim"
}
cxx=$(command -v c++ || command -v g++ || command -v clang++) && c_plus_plus "$cxx"

cat >"$work/a.py" <<'PY'
import cotenant

print(cotenant.share(cotenant.QUOTA, "5%"), cotenant.share(cotenant.RESERVE, stream=16),
      cotenant.share(cotenant.QUOTA, "much"))
PY
python() {
	env PYTHONPATH="$SOURCE_DIR/python" PYTHONDONTWRITEBYTECODE=1 "$@" python3 "$work/a.py"
}
has_python() {
	command -v python3 >/dev/null
}
! has_python || [ "$(python)" = "-38 -38 -38" ] || fail "python: $(python)"

printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/smguard.conf"
start_daemon --config "$work/smguard.conf"

# says_in_python ANSWERS OPTION...
says_in_python() {
	answers=$1
	shift
	has_python || return 0
	got=$(python LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@")
	[ "$got" = "$answers" ] || fail "python, $*: $got, expected $answers"
}
says_in_python "0 0 -22" --class latency --rewrite
says_in_python "0 -1 -22" --quota 5%

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required "$@"
}
# row METHOD COLUMN: of the table of methods in ps, by the columns after the method.
row() {
	"$COTENANT" "${3:-ps}" --wide | awk -v m="$1" -v c="$2" '$1 == "two" && $2 == m {
		sub(" of ", "/"); print $(c + 2); exit }'
}
at_least() {
	n=$(row "$1" "$2" "${4:-ps}")
	[ "${n:-0}" -ge "$3" ] 2>/dev/null
}
has() {
	n=$(row "$1" 2)
	[ "${n%/132}" -ge "$2" ] 2>/dev/null
}

# The batch stream has a quota of 53 of 132 SMs, which it gets; never more.
start --class latency --reserve 50% --name two -- "$work/two" 100 40% >"$work/two.out" 2>&1
two=$pid
until_true 20 grep -q '^answers: told' "$work/two.out" || fail "two: $(cat "$work/two.out")"
says "$work/two.out" "grinding: told"
until_true 20 has quota 53 || fail "ps: $("$COTENANT" ps)"
until_true 20 at_least reserve 1 3 || fail "ps: $("$COTENANT" ps)"
for _ in 1 2 3 4 5 6 7 8 9 10; do
	n=$(row quota 2)
	[ "${n%/132}" -le 53 ] || fail "the batch stream has $n"
done
# More is reserved: 13 are left for it. It makes room: 40 SMs, unless on a busy machine its kernel has just ended and the
# next one begins with 13.
reserve() {
	"$COTENANT" set two --reserve "$1" >"$work/out" || fail "set: $(cat "$work/out")"
}
makes_room() {
	reserve 50%
	until_true 20 has quota 53 || fail "ps: $("$COTENANT" ps)"
	reserve 90%
	until_true 5 at_least quota 6 40 stats
}
for _ in 1 2 3 4; do
	! makes_room || break
done
at_least quota 5 1 || fail "the batch stream does not leave: $("$COTENANT" ps)"
at_least quota 6 40 stats || fail "stats: $("$COTENANT" stats --wide)"
few() {
	[ "$(row reserve 3)" -le 1 ]
}
until_true 20 few || fail "ends of requests are not seen: $("$COTENANT" ps)"
"$COTENANT" ps --json >"$work/out"
says "$work/out" '"methods": {'

# A batch program reserves nothing: its request is one with a quota, and it is told.
kill "$two"
start --quota 30% --name two -- "$work/two" 100 5% >"$work/two.out" 2>&1
two=$pid
until_true 20 grep -q '^answers: Operation not permitted' "$work/two.out" || fail "two: $(cat "$work/two.out")"
until_true 20 at_least quota 1 3 || fail "ps: $("$COTENANT" ps)"
[ "$(row reserve 1)" = 0 ] || fail "a batch program reserves: $("$COTENANT" ps)"
kill "$two"
stop_daemon

# To its end: no more blocks at a time than fit 7 SMs, five on each, in either stream. Without a daemon, and without the
# shim, it runs the same and says so.
runs() {
	timeout 300 "$@" >"$work/out" 2>&1 || fail "status $?: $(cat "$work/out")"
	grep -q '^grinding: [1-9]' "$work/out" || fail "no grinding: $(cat "$work/out")"
	grep -q '^answers: [1-9]' "$work/out" || fail "no answers: $(cat "$work/out")"
}
most() {
	sed -n "s/^$1: .*at most \([0-9]*\) blocks.*/\1/p" "$work/out"
}
start_daemon --config "$work/smguard.conf"
LD_LIBRARY_PATH=$EMU runs "$COTENANT" run --required --class latency --reserve 50% -- "$work/two" 2 5%
[ "$(most grinding)" -le 35 ] || fail "$(cat "$work/out")"
[ "$(most answers)" -gt 35 ] || fail "$(cat "$work/out")"
stop_daemon

# A rule for the kernel goes before what the program says: 4 SMs.
printf 'kernels:\n  - {program: "ru*", kernel: "w?rk", quota: 4sm}\n' >>"$work/smguard.conf"
start_daemon --config "$work/smguard.conf"
LD_LIBRARY_PATH=$EMU runs "$COTENANT" run --required --class latency --rewrite --name ruled -- "$work/two" 1 50%
[ "$(most grinding)" -le 20 ] || fail "$(cat "$work/out")"
[ "$(most answers)" -le 20 ] || fail "$(cat "$work/out")"
stop_daemon

# What is known of the kernel, of which nothing is said: 4 SMs are as good as 132.
cat >"$work/known.yaml" <<'YAML'
schema: cotenant.knowledge/1
program: two
class: latency
gpu: "NVIDIA H200"
sms: [4, 64, 132]
inputs: [{size: 1, time_ns: [102, 101, 100], tasks: [0]}]
kernels: [{name: work, time_ns: [102, 101, 100]}]
YAML
printf 'schema: cotenantd/1\npolicy: smguard\nneed_permille: 50\nknowledge:\n  - {name: known, file: %s}\n' \
	"$work/known.yaml" >"$work/known.conf"
start_daemon --config "$work/known.conf"
LD_LIBRARY_PATH=$EMU runs "$COTENANT" run --required --class latency --rewrite --name known -- "$work/two" 1 silent
[ "$(most grinding)" -le 20 ] || fail "$(cat "$work/out")"
[ "$(most answers)" -le 20 ] || fail "$(cat "$work/out")"
stop_daemon

# What bench/smguard/said.sh measures, on a real GPU for longer.
LD_LIBRARY_PATH=$EMU timeout 600 "$SOURCE_DIR/bench/smguard/said.sh" "${COTENANT%/*}" 1 >"$work/said.csv" ||
	fail "said.sh: status $?"
for way in plain alone silent told; do
	grep -qE "^$way,[1-9][0-9]*,[1-9][0-9]*,[0-9]+,[0-9]+\$" "$work/said.csv" || fail "$way: $(cat "$work/said.csv")"
done
grep -q '^alone,.*,0,0$' "$work/said.csv" || fail "somebody grinds: $(cat "$work/said.csv")"
LD_LIBRARY_PATH=$EMU runs "$work/two" 1
says "$work/out" "grinding: nobody to tell"
[ "$(most grinding)" -gt 35 ] || fail "$(cat "$work/out")"
finish
