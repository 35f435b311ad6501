#!/bin/sh
# scripts/soak for a few seconds: programs come and go, none fails, and what it notes is whole. What grows only hours show.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
python3 "$SOURCE_DIR/scripts/soak" --hours 0.003 --out "$work/soak.json" --build "${PROGS%/progs}" >"$work/out" 2>&1
[ $? -le 1 ] || fail "soak: $(cat "$work/out")"
python3 - "$work/soak.json" >"$work/said" 2>&1 <<'END' || fail "$(cat "$work/said" "$work/out")"
import json, sys
r = json.load(open(sys.argv[1]))
assert r['schema'] == 'cotenant.soak/1' and r['whole'] and r['command'].startswith('scripts/soak --hours 0.003')
assert r['counts']['begun'] > 5 and r['counts']['failed'] == 0, (r['counts'], r['failures'])
assert len(r['notes']) >= 2 and r['notes'][-1]['at_s'] >= 10
assert all(n[who]['memory_kb'] > 0 for n in r['notes'][1:] for who in ('daemon', 'stays-batch', 'stays-latency'))
END
finish
