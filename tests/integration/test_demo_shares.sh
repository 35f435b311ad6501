#!/bin/sh
# The demonstration of shares: on the emulated GPU the batch program gives SMs up and loses nothing.
set -u
: "${SOURCE_DIR:?the sources}" "${COTENANT:?the program beside which smguard-app is}" "${EMU:?the emulated GPU}"
[ -x "$(dirname "$COTENANT")/smguard-app" ] || {
	echo "smguard-app is not built"
	exit 77
}
[ ! -e /dev/nvidiactl ] || exit 77
unset COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_GPUS LD_PRELOAD
work=$(mktemp -d) || exit 1
out=$work/out
trap 'rm -rf "$work"' EXIT
# What it starts has this in its environment.
TMPDIR=$work
export TMPDIR
timeout 120 "$SOURCE_DIR/scripts/demo-shares.sh" "$(dirname "$COTENANT")" "$EMU" 2 >"$out" 2>&1 || {
	cat "$out"
	exit 1
}

# The last words of a row: "the CPU's; N of N as alone".
for program in batch request; do
	awk -v program=$program '
		$1 == program { found = 1; n = $(NF - 4); of = $(NF - 2); bad = n != of || n < 1 }
		END { exit !found || bad }' "$out" || {
		echo "FAILED: results of $program: $(cat "$out")"
		exit 1
	}
done
grep -q '^batch .* 12 of 16 ' "$out" || {
	echo "FAILED: the quota of 75 % of 16 SMs was not used: $(cat "$out")"
	exit 1
}

# An MPS server that has been told to end needs a moment.
left() {
	for environment in /proc/[0-9]*/environ; do
		process=${environment#/proc/}
		[ "${process%/environ}" != $$ ] && tr '\0' '\n' <"$environment" 2>/dev/null |
			grep -q "^CUDA_MPS_PIPE_DIRECTORY=$work/" && return
	done
	return 1
}
tries=0
while left && [ $tries -lt 100 ]; do
	tries=$((tries + 1))
	sleep 0.1
done
! left || {
	echo "FAILED: the demonstration leaves an MPS control program: process ${process%/environ}"
	kill "${process%/environ}"
	exit 1
}
