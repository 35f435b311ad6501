#!/bin/sh
# What docs/simulator.md says of parts is what the simulator says: one of its mixes.
. "$SOURCE_DIR/tests/cli/lib.sh"
command -v python3 >/dev/null || {
	echo "no python3 here"
	exit 77
}

sed -n '/^<!-- predict/p; /^<!-- end/p' "$SOURCE_DIR/docs/simulator.md" >"$work/table"
python3 "$SOURCE_DIR/bench/parts/predict.py" --only c3 --cotenant "$COTENANT" "$work/table" || fail "predict.py"
[ "$(grep -c '^| *|' "$work/table")" -ge 2 ] || fail "no rows: $(cat "$work/table")"
grep '^|' "$work/table" | while read -r row; do
	grep -qF "$row" "$SOURCE_DIR/docs/simulator.md" || echo "$row"
done >"$work/other"
[ ! -s "$work/other" ] || fail "not in docs/simulator.md: $(cat "$work/other")"
finish
