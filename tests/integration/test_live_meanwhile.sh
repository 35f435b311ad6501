#!/bin/sh
# `cotenant set --sms` to a part that there is not yet, for a program that has work queued in two streams all the time, on
# the emulated GPU: it acts before any of that is done, on a smaller part, and the part comes when there is time for it.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

printf 'schema: cotenantd/1\npolicy: parts\n' >"$work/parts.conf"
start_daemon --config "$work/parts.conf"

shows() {
	"$COTENANT" "$1" >"$work/out" && grep -qE -e "$2" "$work/out"
}

background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --sms 64 --name train -- "$PROGS/ptx_queued" \
	--until "$work/go" >"$work/train" 2>&1
until_true 20 grep -q queued "$work/train" || fail "train: $(cat "$work/train")"
until_true 20 shows ps 'train +64sm +64 of 132, from 0 ' || fail "ps: $(cat "$work/out")"

# A quarter, a half and three quarters of the SMs are there; others are not.
for sms in 40 104 72; do
	has=$((sms / 32 * 32))
	"$COTENANT" set train --sms $sms >"$work/out" || fail "set --sms $sms: $(cat "$work/out")"
	until_true 10 shows ps "train +${sms}sm +$has of 132, from 0 " || fail "ps: $(cat "$work/out")"
	is train sms "$has" || fail "--json: $(ps_value train sms) SMs"
	shows stats "train +$has of 132, from 0 " || fail "stats: $(cat "$work/out")"
done
until_true 10 shows ps 'train: it could not be moved to another part: so much is queued' || fail "ps: $(cat "$work/out")"
is train sms 64 || fail "--json: $(ps_value train sms) SMs"
grep -q 'done' "$work/train" && fail "what was queued has ended"

: >"$work/go"
until_true 20 shows ps 'train +72sm +72 of 132, from 0 ' || fail "ps: $(cat "$work/out")"
says_not "$work/out" "could not be moved"
shows stats 'train +72 of 132, from 0 ' || fail "stats: $(cat "$work/out")"
finish
