#!/bin/sh
# What docs/parts.md says of the policy smqos is what the simulator says: one of its mixes.
. "$SOURCE_DIR/tests/cli/lib.sh"
command -v python3 >/dev/null || {
	echo "no python3 here"
	exit 77
}

sed -n '/^<!-- smqos/p; /^<!-- end/p' "$SOURCE_DIR/docs/parts.md" >"$work/table"
python3 "$SOURCE_DIR/bench/parts/smqos.py" --only memory-compute --cotenant "$COTENANT" "$work/table" ||
	fail "smqos.py"
[ "$(grep -c '^| memory beside compute ' "$work/table")" = 3 ] || fail "no rows: $(cat "$work/table")"
grep '^|' "$work/table" | while read -r row; do
	grep -qF "$row" "$SOURCE_DIR/docs/parts.md" || echo "$row"
done >"$work/other"
[ ! -s "$work/other" ] || fail "not in docs/parts.md: $(cat "$work/other")"
finish
