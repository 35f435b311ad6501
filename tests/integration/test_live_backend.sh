#!/bin/sh
# Launches of several programs that a backend makes one of: the right words, in order, and nobody waits for one that was
# killed. Each program plays until it is told to end, which it is when what was waited for has come about.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
# The backend is a program without a path of its own to the driver.
LD_LIBRARY_PATH=$EMU${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Long enough for programs that wait for a CPU.
COTENANT_MERGE_US=20000
COTENANT_MERGE=always
export LD_LIBRARY_PATH COTENANT_MERGE_US COTENANT_MERGE
start_daemon

# with NAME OPTION...: in the background, with the backend `it`; into $work/NAME and $work/NAME.err.
with() {
	name=$1
	shift
	until_true 60 is_unknown "$name" || fail "there still is a program $name"
	COTENANT_LOG=info background "$COTENANT" run --required --name "$name" --backend it -- "$PROGS/backend" --steps 1e6 \
		"$@" >"$work/$name" 2>"$work/$name.err"
	eval "pid_$name=$pid"
}

is_unknown() {
	! "$COTENANT" ps --json | grep -qF "\"name\": \"$1\""
}

pid_of() {
	eval "echo \$pid_$1"
}

# merging NAME KEY: a number of its member `merging`, as `ps --json` shows it.
merging() {
	"$COTENANT" ps --json | awk -v name="\"$1\"" -v key="\"$2\":" '
		/^    {/ { found = ""; inside = "" }
		$1 == "\"name\":" && ($2 == name "," || $2 == name) { found = 1 }
		$1 == "\"merging\":" { inside = 1 }
		found && inside && $1 == key { gsub(/[",]/, "", $2); print $2; exit }'
}

# has NAME KEY LEAST
has() {
	n=$(merging "$1" "$2")
	[ "${n:-0}" -ge "$3" ]
}

expect_merged() {
	until_true 60 has "$1" launches "${2:-3}" ||
		fail "${what:-}: $1: few launches were merged: $(merging "$1" launches), $(cat "$work/$1" "$work/$1.err")"
}

is_over() {
	! kill -0 "$1" 2>/dev/null
}

# ends NAME...: they are told to, and all words were right.
ends() {
	for p in "$@"; do
		kill -USR1 "$(pid_of "$p")"
	done
	for p in "$@"; do
		until_true 60 is_over "$(pid_of "$p")" || fail "${what:-}: $p does not end: $(cat "$work/$p.err")"
		wait "$(pid_of "$p")" || fail "${what:-}: $p: $(cat "$work/$p" "$work/$p.err")"
		says "$work/$p" "wrong 0"
	done
}

backend_pid() {
	for process in /proc/[0-9]*; do
		case $(readlink "$process/exe" 2>/dev/null) in
		*/cotenant-backend) grep -qzxsF "$work/run/backend-it.sock" "$process/cmdline" && echo "${process#/proc/}" ;;
		esac
	done
}

# Two programs with the same kernel: in a stream, in the default one, in several, with launches that follow others at
# once; and with two kernels of two modules, which become one by `fuse`.
for what in "" "--streams 0" "--streams 3" "--chain 3" "--streams 2 --chain 2"; do
	# shellcheck disable=SC2086
	with p1 $what
	# shellcheck disable=SC2086
	with p2 $what
	expect_merged p1
	expect_merged p2
	ends p1 p2
done
what=fuse
with p1 --kernel 0
with p2 --kernel 1
expect_merged p1
expect_merged p2
has p1 attached 1 || fail "p1 is not attached: $("$COTENANT" ps --json)"
ends p1 p2
says "$work/run/backend-it.log" "in one: yes"

# Nine.
what=nine
nine="n1 n2 n3 n4 n5 n6 n7 n8 n9"
for p in $nine; do
	with "$p" --pause-us 2000
done
for p in $nine; do
	expect_merged "$p" 1
done
# shellcheck disable=SC2086
ends $nine

# Memory that the backend does not have stays out.
what=outside
with p1 --outside 1
with p2
until_true 60 has p1 not 3 || fail "p1 does not launch"
ends p1 p2
says "$work/p1.err" "merge-memory"

# Someone speaks to the backend as no shim does: who is attached goes on, and nothing of it stays.
what=rude
with p1
with p2
expect_merged p1
backend=$(backend_pid)
open_files() {
	find "/proc/$backend/fd" -mindepth 1 | wc -l
}
before=$(open_files)
COTENANT_LOG=info timeout 120 "$COTENANT" run --required --name rude --backend it -- "$PROGS/backend_rude" >"$work/rude" 2>"$work/rude.err" ||
	fail "rude: $(cat "$work/rude" "$work/rude.err")"
says "$work/rude" "rude ends"
says_not "$work/rude" "rude:"
is_as_before() {
	[ "$(open_files)" -le "$before" ]
}
until_true 20 is_as_before || fail "the backend keeps open what is not its: $before, $(open_files)"
expect_merged p1 $(($(merging p1 launches) + 3))
ends p1 p2

# A program is killed: the other goes on, alone and with a third one.
what=killed
with p1 --chain 2
with p2 --chain 2
expect_merged p1
kill -9 "$(pid_of p2)"
wait "$(pid_of p2)" 2>/dev/null
before=$(merging p1 not)
until_true 60 has p1 not $((${before:-0} + 3)) || fail "p1 does not go on: $(cat "$work/p1.err")"
with p3 --chain 2
expect_merged p3
ends p1 p3

# The backend is killed: what it has begun is lost, and said; all else goes on without it.
what="backend killed"
with p1
with p2 --pause-us 1000
expect_merged p1
backend=$(backend_pid)
[ -n "$backend" ] || fail "there is no backend"
kill -9 "$backend"
for p in p1 p2; do
	until_true 60 grep -q "no backend any longer" "$work/$p.err" || fail "$p has not seen it: $(cat "$work/$p.err")"
done
for p in p1 p2; do
	kill -USR1 "$(pid_of "$p")" 2>/dev/null
	until_true 60 is_over "$(pid_of "$p")" || fail "$p does not end"
	wait "$(pid_of "$p")"
	status=$?
	# 719: a launch of its own was in there.
	if [ $status -eq 0 ]; then says "$work/$p" "wrong 0"; else says "$work/$p" "error 719"; fi
done
# The next programs have a new one.
what="next backend"
with p1
with p2
expect_merged p1
ends p1 p2

# A backend that has stopped: launches are made without it.
what=stopped
with p1
with p2
expect_merged p1
backend=$(backend_pid)
kill -STOP "$backend"
kill -USR1 "$(pid_of p1)" "$(pid_of p2)"
sleep 0.1
kill -CONT "$backend"
ends p1 p2

# A launch that faults: it is said to its program, and the backend of the others is gone at most.
what=fault
with p1
with p2 --wrong-at 300
until_true 60 is_over "$(pid_of p2)" || fail "p2 goes on after a fault"
says "$work/p2" "error 7"
kill -USR1 "$(pid_of p1)" 2>/dev/null
until_true 60 is_over "$(pid_of p1)" || fail "p1 does not end after the other's fault"

finish
