#!/bin/sh
# Orders: floods of one's own, and a member of a pool that fails them all. And who is who where the
# daemon does not see numbers of processes.
# shellcheck disable=SC2086 # $as_enemy is several words
. "$SOURCE_DIR/tests/attack/lib.sh"
need_emulator

# The victim is frozen and thawed again and again meanwhile.
freeze_and_thaw() {
	for _ in 1 2 3 4 5 6; do
		"$COTENANT" thaw victim >"$work/out" 2>&1 || fail "$1: $(cat "$work/out")"
		freezes victim || fail "$1: $(cat "$work/out")"
	done
}

has_channels() {
	[ "$(ps_value batch channel_groups)" -gt 0 ] 2>/dev/null
}

configure pools
start_as new
start_victim
background $as_enemy "$ATTACK" changes 5 60 mute >"$work/words"
sleep 1
freeze_and_thaw "mute library"
kill "$pid"

# Whoever is in a pool has no vote in it.
background "$COTENANT" run --name ours -- "$PROGS/batch" --seconds 60 >"$work/ours" 2>&1
until_true 20 has_channels || fail "no server of the pool: $(cat "$work/ours")"
background $as_enemy "$ATTACK" member 20 >"$work/words"
until_true 20 grep -q joined "$work/words" || fail "no member: $(cat "$work/words")"
n=0
while [ $n -lt 3 ]; do
	freezes pool:batch || fail "freeze of the pool: $(cat "$work/out")"
	"$COTENANT" thaw pool:batch >"$work/out" 2>&1 || fail "thaw of the pool: $(cat "$work/out")"
	n=$((n + 1))
done
end_victim
stop_daemon

# In a PID namespace of its own the daemon sees those outside with the number 0: each is one of its own.
unshare -pf true 2>/dev/null || finish
cat >"$work/inside" <<SH
#!/bin/sh
exec unshare -pf --mount-proc --kill-child "$COTENANTD" "\$@"
SH
chmod 755 "$work/inside"
daemon=$COTENANTD COTENANTD=$work/inside
start_daemon -c "$work/conf"
COTENANTD=$daemon
background "$PEER" library --name a >"$work/a"
background "$PEER" library --name b >"$work/b"
background $as_enemy "$PEER" library --name c >"$work/c"
for name in a b c; do
	until_true 5 has_name $name || fail "$name: $(cat "$work/$name")"
done
[ "$(ps_value a id)" != "$(ps_value b id)" ] || fail "two programs are one"
[ "$(ps_value c uid)" = 1001 ] || fail "c belongs to $(ps_value c uid)"
finish
