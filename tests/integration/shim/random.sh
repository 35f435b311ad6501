#!/bin/sh
# Random operations over streams, events, graphs, copies and callbacks in four threads, while the program's part changes
# all the time and its requests are seen: the shim and the program with sanitizers. It goes on until its part has
# changed often enough, and for SECONDS_EACH at least, which may be set for a longer run; SEED for another one.
work=$(mktemp -d) || exit 1
trap 'kill $mover $player 2>/dev/null; rm -rf "$work"' EXIT
seed=${SEED:-70}
seconds=${SECONDS_EACH:-2}
limit=$(awk "BEGIN { print $seconds + 50 }")
COTENANT_EMU_DIR=$work/emu
export COTENANT_EMU_DIR
mkdir "$COTENANT_EMU_DIR"

# Until the command says so, or 40 s are over.
await() {
	n=0
	until "$@" || [ "$((n += 1))" -gt 400 ]; do
		sleep 0.1
	done
}

is_moved_enough() {
	[ "$(od -An -tu8 "$work/sum")" -ge 40 ] || ! kill -0 "$player" 2>/dev/null
}

"$PLACER" "$work/socket" 300 1000000000 "$((seed % 63))" "$work/sum" >"$work/moves" 2>&1 &
mover=$!
await test -S "$work/socket"
timeout "$limit" env COTENANT_SOCKET="$work/socket" COTENANT_PARTS=1 COTENANT_REQUESTS=1 COTENANT_SHIM_DRIVER="$EMU/libcuda.so.1" \
	LD_PRELOAD="$SHIM" "$PROGRAM" --seconds 600 --until "$work/end" --seed "$seed" --threads 4 >"$work/out" 2>&1 &
player=$!
sleep "$seconds"
await is_moved_enough
touch "$work/end"
wait "$player"
status=$?
player=
[ $status -eq 0 ] && await test -s "$work/moves"
cat "$work/out" "$work/moves"
[ $status -eq 0 ] && grep -q "wrong 0" "$work/out" && grep -q "^requests [1-9]" "$work/out" &&
	awk '{ for (i = 1; i < NF; i++) if ($i == "placed" && $(i + 1) >= 20) n++ } END { exit !n }' "$work/moves"
