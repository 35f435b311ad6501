#!/bin/sh
# The dashboard and the alerts ask for what the daemon exports, by names and labels that there are.
. "$SOURCE_DIR/tests/cli/lib.sh"
board=$SOURCE_DIR/packaging/grafana/cotenant.json
rules=$SOURCE_DIR/packaging/prometheus/cotenant.rules.yml

# Of a histogram there are series with endings.
awk -F '`' '/^\| `cotenant_/ {
	print $2
	if (/\| histogram \|/) { print $2 "_bucket"; print $2 "_sum"; print $2 "_count" }
}' "$SOURCE_DIR/docs/metrics.md" | sort >"$work/exported"
[ -s "$work/exported" ] || fail "no list in docs/metrics.md"
for file in "$board" "$rules"; do
	grep -oE 'cotenant_[a-z0-9_]+' "$file" | sort -u >"$work/asked"
	[ "$(wc -l <"$work/asked")" -ge 8 ] || fail "$file asks for little: $(cat "$work/asked")"
	comm -23 "$work/asked" "$work/exported" >"$work/unknown"
	[ ! -s "$work/unknown" ] || fail "$file asks for what is not exported: $(cat "$work/unknown")"
done

if command -v promtool >/dev/null; then
	promtool check rules "$rules" >"$work/out" 2>&1 || fail "promtool: $(cat "$work/out")"
else
	echo "promtool is not here: what the rules compute is not checked"
fi

# Every alert says where, how bad, and what it is.
n=$(grep -c '^      - alert: ' "$rules")
for key in '        expr: ' '        labels:' '          severity: ' '          summary: ' '          description: '; do
	[ "$(grep -c "^$key" "$rules")" = "$n" ] || fail "not every alert has '$key'"
done

command -v python3 >/dev/null || {
	echo "python3 is not here: the dashboard is not checked"
	exit 77
}
python3 - "$board" <<'PY' >"$work/out" 2>&1 || fail "$(cat "$work/out")"
import json
import sys

board = json.load(open(sys.argv[1], encoding='utf-8'))
panels = board['panels']
assert board['title'] == 'cotenant' and len(panels) >= 6
assert len({p['id'] for p in panels}) == len(panels)
names = {v['name'] for v in board['templating']['list']}
taken = set()
for p in panels:
    assert p['title'] and p['type'] and p['targets'], p['title']
    at = p['gridPos']
    assert at['x'] + at['w'] <= 24, p['title']
    cells = {(x, y) for x in range(at['x'], at['x'] + at['w']) for y in range(at['y'], at['y'] + at['h'])}
    assert not cells & taken, 'panels lie over each other: ' + p['title']
    taken |= cells
    for t in p['targets']:
        e = t['expr']
        assert e.count('(') == e.count(')') and e.count('{') == e.count('}'), e
        assert t['datasource']['uid'] == '${datasource}', e
assert names == {'datasource', 'instance', 'gpu'}, names
PY
finish
