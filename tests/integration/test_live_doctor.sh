#!/bin/sh
# cotenant doctor on the emulated GPU, and where things are missing.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

emulated() {
	LD_PRELOAD=$EMU/libcuda.so.1 "$@"
}

"$COTENANT" doctor --offline >"$work/out" 2>&1 && fail "a machine without a driver is well"
says "$work/out" "FAIL  cuda"
says "$work/out" "not tried (--offline)"
[ ! -e "$work/run" ] || fail "--offline started something"

start_daemon
emulated "$COTENANT" doctor >"$work/out" 2>&1 || fail "doctor: $(cat "$work/out")"
for words in "ok    cuda" "ok    library" "ok    daemon" "ok    slices" "ok    freeze" "ok    pool"; do
	says "$work/out" "$words"
done
emulated "$COTENANT" doctor --json >"$work/out" 2>&1 || fail "doctor --json"
says "$work/out" '"check": "freeze"'
until_true 2 has_programs 0 || fail "the probe is left"

# The library is missing: said, with what to do.
COTENANT_LIBRARY=$work/none emulated "$COTENANT" doctor --offline >"$work/out" 2>&1
says "$work/out" "FAIL  library"
echo "schema: cotenantd/1
polcy: pools" >"$work/cotenantd.conf"
stop_daemon
finish
