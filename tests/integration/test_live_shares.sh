#!/bin/sh
# Programs with shares: one pool for both classes, the library before the driver's, and what the
# next daemon knows of them.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "${COTENANT_LIBRARY%/*}/shim/libcuda.so.1" ] || {
	echo "no shim here"
	exit 77
}

printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/smguard.conf"
start_daemon --config "$work/smguard.conf"

# Which variables a program gets; one that was not asked to be rewritten gets none of them.
"$COTENANT" run --required --quota 50% --name env -- env >"$work/out" 2>"$work/err" || fail "run --quota"
[ -s "$work/err" ] && fail "run --quota says: $(cat "$work/err")"
says "$work/out" "COTENANT_QUOTA=50%"
says "$work/out" "COTENANT_SHIM=1"
grep -q '^LD_PRELOAD=[^:]*/shim/libcuda.so.1:' "$work/out" || fail "the shim is not preloaded first"
grep -q '^LD_LIBRARY_PATH=[^:]*/shim\(:\|$\)' "$work/out" || fail "the shim's folder is not first"
"$COTENANT" run --required --name env -- env >"$work/out" || fail "run"
says_not "$work/out" "/shim/"
says_not "$work/out" "COTENANT_QUOTA"
"$COTENANT" run --required --rewrite --name env -- env >"$work/out" || fail "run --rewrite"
says "$work/out" "/shim/libcuda.so.1"
COTENANT_RESERVE=20sm "$COTENANT" run --required --class latency -- env >"$work/out" || fail "COTENANT_RESERVE"
says "$work/out" "COTENANT_RESERVE=20sm"

# Both classes in one pool.
background "$COTENANT" run --required --class latency --reserve 30% --name request -- sleep 60
background "$COTENANT" run --required --quota 66sm --name batch -- sleep 60
expect_value request pool shared
expect_value batch pool shared
expect_value batch quota 66sm
expect_value request reserve 30%
expect_value shared tenants 2
"$COTENANT" set pool:shared --slice 3ms >"$work/out" || fail "set pool:shared"
"$COTENANT" set pool:shared --quota 5sm >"$work/out" 2>&1 && fail "a pool has a quota"
says "$work/out" "only programs have quotas"

# The next daemon knows pool and shares.
kill_daemon
start_daemon --config "$work/smguard.conf"
expect_value batch quota 66sm
expect_value request reserve 30%
expect_value request pool shared
expect_value shared mps up
kill "$pid"

# A quota that no kernel comes under is told.
shows() {
	"$COTENANT" "$1" >"$work/out" && grep -qF "$2" "$work/out"
}
background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --solo --quota 30% --name small -- \
	"$PROGS/ptx_work" --words 256 --runs 1000000
small=$pid
for what in ps stats; do
	until_true 10 shows $what "small: its quota has no effect: all its " ||
		fail "$what: $(cat "$work/out")"
done
kill "$small"
stop_daemon

# Another policy says what it does not do.
start_daemon
"$COTENANT" run --required --quota 50% -- true >"$work/out" 2>&1 || fail "run --quota under pools"
says "$work/out" "policy: smguard"
"$COTENANT" run --required -- true >"$work/out" 2>&1 || fail "run under pools"
says_not "$work/out" "smguard"
stop_daemon
finish
