#!/bin/sh
# Programs that do not know that a library is with them: they close descriptors, change the user,
# fork, and leave little of a thread's stack.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU
export LD_LIBRARY_PATH
start_daemon

# expect_done PROGRAM ARGUMENT...: says so, and nothing else, in time.
expect_done() {
	timeout 20 "$COTENANT" run --required --solo -- "$@" >"$work/out" 2>&1 ||
		fail "$*: status $?: $(cat "$work/out")"
	[ "$(cat "$work/out")" = "done" ] || fail "$*: $(cat "$work/out")"
}

for what in closeall setuid fork vfork nothing; do
	expect_done "$PROGS/odd" $what
done

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
