#!/bin/sh
# The scenario of the policy consolidate: who is slowest has more than under every policy that does not choose, as
# docs/consolidate.md says; and the same outcome with what was learned before.
. "$SOURCE_DIR/tests/cli/lib.sh"

scenario=$SOURCE_DIR/scenarios/consolidate.yaml
expect 0 compare "$scenario" --policy consolidate,parts,static,rotate
awk '$1 == "timeslice" {
		least = $4
		for (i = 5; i < NF; i++)
			if ($i < least)
				least = $i
		rate[$2] = least
	}
	END { exit !(rate["consolidate"] > 0.4 && rate["consolidate"] > 1.5 * rate["parts"] &&
		rate["consolidate"] > 1.5 * rate["static"] && rate["consolidate"] > 1.5 * rate["rotate"]) }' \
	"$work/out" || fail "it is not better: $(cat "$work/out")"
grep '^timeslice ' "$SOURCE_DIR/docs/consolidate.md" >"$work/printed"
[ "$(wc -l <"$work/printed")" -eq 4 ] || fail "docs/consolidate.md has another table"
while read -r line; do
	says "$work/out" "$line"
done <"$work/printed"

# One of them has turns alone, the others are a gang on parts of their own.
expect 0 sim "$scenario"
says "$work/out" "policy consolidate"
cp "$work/out" "$work/text"
awk '/^parts of the GPU/ { parts = 1 }
	parts && $1 == "product" { whole = $3 == 132 }
	parts && $1 ~ /^(copies|solver|solver-2)$/ { sms += $3 }
	END { exit !(whole && sms == 132) }' "$work/text" || fail "other parts: $(cat "$work/text")"
expect 0 sim "$scenario" --learn "$work/known"
cmp -s "$work/out" "$work/text" || fail "what was learned makes a difference"
expect 0 sim "$scenario" --knowledge "$work/known"
cmp -s "$work/out" "$work/text" || fail "knowledge makes a difference"
finish
