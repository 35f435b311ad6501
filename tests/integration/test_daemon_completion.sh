#!/bin/sh
# The completion of bash offers the programs that run, and the pools, and nothing else.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
command -v bash >/dev/null || exit 77
need_emulator
echo "schema: cotenantd/1
policy: smguard" >"$work/shared.conf"

# offers "EXPECTED" WORD...: sorted; the last word is being typed.
offers() {
	expected=$1
	shift
	found=$(bash -c '
		source "$0"
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_cotenant 2>/dev/null
		((${#COMPREPLY[@]})) && printf "%s\n" "${COMPREPLY[@]}"
	' "$SOURCE_DIR/packaging/completion/cotenant.bash" "$COTENANT" "$@" | sort | tr '\n' ' ')
	[ "${found% }" = "$expected" ] || fail "$*: offers '$found', expected '$expected'"
}

pools="pool:batch pool:latency pool:shared"
offers "$pools" set ""
start_daemon
background "$COTENANT" run --name train -- sleep 60
background "$COTENANT" run --class latency --quota 50% --name api -- sleep 60
background "$COTENANT" run --solo --name tenants -- sleep 60
background "$COTENANT" run --solo --name "two words" -- sleep 60
until_true 30 has_programs 4 || fail "$(n_programs) of four programs"
for command in set freeze thaw; do
	offers "api $pools tenants train" $command ""
	offers "train" $command tr
done
stop_daemon
# One pool for both classes.
start_daemon --config "$work/shared.conf"
background "$COTENANT" run --name last -- sleep 60
until_true 30 is last pool shared || fail "no shared pool: $("$COTENANT" ps)"

offers "pool:shared" freeze pool:s
finish
