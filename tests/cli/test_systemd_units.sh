#!/bin/sh
# The units are valid, and the daemon's is as closed as docs/security.md says: at most 3.5 of systemd's 10.
. "$SOURCE_DIR/tests/cli/lib.sh"
if ! systemd-analyze security --help >/dev/null 2>&1; then
	echo "no systemd-analyze here"
	exit 77
fi
units=$work/units
for kind in system user; do
	mkdir -p "$units/$kind"
	for unit in service socket; do
		file=cotenantd.$([ $kind = system ] || echo user.)$unit
		sed 's|^Documentation=.*||; s|^ExecStart=/usr/bin/cotenantd|ExecStart=/bin/true|' \
			"$SOURCE_DIR/packaging/systemd/$file" >"$units/$kind/cotenantd.$unit"
	done
	scope=
	[ $kind = system ] || scope=--user
	# shellcheck disable=SC2086 # may be none
	XDG_RUNTIME_DIR=$work systemd-analyze $scope --man=no verify "$units/$kind/cotenantd.service" \
		"$units/$kind/cotenantd.socket" >"$work/out" 2>&1
	grep -i 'cotenantd' "$work/out" >"$work/said"
	[ ! -s "$work/said" ] || fail "$kind: $(cat "$work/said")"
done
# The number is ten times the level.
systemd-analyze security --offline=true --threshold=35 "$SOURCE_DIR/packaging/systemd/cotenantd.service" >"$work/out" 2>&1 ||
	fail "too open: $(tail -n 1 "$work/out")"
tail -n 1 "$work/out"
# It would close the GPU's devices.
grep -qE '^(ProtectClock|PrivateDevices)=yes' "$SOURCE_DIR/packaging/systemd/cotenantd.service" && fail "no devices"
finish
