#!/bin/sh
# Programs that do not know that a library is with them, or two: they close descriptors, change the
# user, fork, run in sandboxes, pass bad pointers, and leave little of a thread's stack. What they
# print and their status are the same as without.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU
export LD_LIBRARY_PATH
printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/smguard.conf"
start_daemon --config "$work/smguard.conf"

# outcome FILE COMMAND...: what it prints, and its status.
outcome() {
	file=$1
	shift
	timeout 60 "$@" >"$file" 2>&1
	echo "status $?" >>"$file"
}

expect_same() {
	cmp -s "$work/alone.$1" "$work/$2.$1" ||
		fail "$1 with $2: $(cat "$work/$2.$1"); alone: $(cat "$work/alone.$1")"
}

mkdir "$work/alone"
modes=$("$PROGS/odd" list)
[ "$(echo "$modes" | wc -l)" -gt 20 ] || fail "modes: $modes"
for mode in $modes; do
	# On a GPU of its own: who closes its descriptors is dead for the others on an emulated one.
	COTENANT_EMU_DIR=$work/alone outcome "$work/alone.$mode" "$PROGS/odd" "$mode" &
	alone=$!
	outcome "$work/library.$mode" "$COTENANT" run --required --solo -- "$PROGS/odd" "$mode"
	outcome "$work/shim.$mode" "$COTENANT" run --required --solo --quota 50% -- \
		"$PROGS/odd" "$mode"
	wait "$alone"
	says "$work/alone.$mode" "done"
	expect_same "$mode" library
	case $mode in
	*-node) ;; # behind the shim, open() is not the emulated driver's
	*) expect_same "$mode" shim ;;
	esac
done
says "$work/alone.quickexit" "status 7"
says "$work/alone.badrequests-node" "Bad address"

# Stacks of 64 KiB, of which a few are left: the library's thread needs more, and gets it. With
# messages, which take most.
COTENANT_LOG=debug
export COTENANT_LOG
for program in "$PROGS"/odd-tls-*; do
	"$COTENANT" run --required --solo -- "$program" >"$work/out" 2>&1 ||
		fail "$program: status $?"
	says "$work/out" "info: tenant"
	says "$work/out" "done"
done
finish
