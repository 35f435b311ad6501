#!/bin/sh
# Random operations over streams, events, graphs, copies and callbacks in four threads, while the program's part changes
# all the time: the shim and the program with sanitizers. SECONDS_EACH may be set for a longer run.
work=$(mktemp -d) || exit 1
trap 'kill "$mover" 2>/dev/null; rm -rf "$work"' EXIT
seconds=${SECONDS_EACH:-2}
COTENANT_EMU_DIR=$work/emu
export COTENANT_EMU_DIR
mkdir "$COTENANT_EMU_DIR"
"$PLACER" "$work/socket" 300 1000000000 7 >"$work/moves" 2>&1 &
mover=$!
until [ -S "$work/socket" ]; do
	kill -0 "$mover" || exit 1
	sleep 0.02
done
COTENANT_SOCKET=$work/socket COTENANT_PARTS=1 COTENANT_SHIM_DRIVER=$EMU/libcuda.so.1 LD_PRELOAD=$SHIM \
	"$PROGRAM" --seconds "$seconds" --seed 70 --threads 4 >"$work/out" 2>&1
status=$?
[ $status -eq 0 ] && wait "$mover"
cat "$work/out" "$work/moves"
[ $status -eq 0 ] && grep -q "wrong 0" "$work/out" &&
	awk '{ for (i = 1; i < NF; i++) if ($i == "placed" && $(i + 1) >= 20) n++ } END { exit !n }' "$work/moves"
