#!/bin/sh
# The file for containers: as YAML and JSON the same, and by the rules of CDI 0.6.
. "$SOURCE_DIR/tests/cli/lib.sh"
COTENANT_RUNTIME_DIR=$work/run
export COTENANT_RUNTIME_DIR
unset COTENANT_SOCKET COTENANT_EMU_DIR

expect 0 cdi generate --json
cp "$work/out" "$work/cdi.json"
expect 0 cdi generate
cp "$work/out" "$work/cdi.yaml"
expect 0 cdi generate --output "$work/file.yaml"
cmp -s "$work/cdi.yaml" "$work/file.yaml" || fail "--output writes something else"
expect 0 cdi generate -o "$work/file.json"
cmp -s "$work/cdi.json" "$work/file.json" || fail "--output of JSON: $(cat "$work/file.json")"
python3 - "$work/cdi.json" "$work/run" >"$work/said" 2>&1 <<'END' || fail "$(cat "$work/said")"
import json, os, re, sys
spec = json.load(open(sys.argv[1]))
assert set(spec) == {'cdiVersion', 'kind', 'devices', 'containerEdits'}, set(spec)
assert spec['cdiVersion'] == '0.6.0'
assert re.fullmatch(r'[a-z][a-z0-9_.-]*/[a-z][a-z0-9_-]*', spec['kind'])
assert [d['name'] for d in spec['devices']] == ['latency', 'batch']
for edits in [spec['containerEdits']] + [d['containerEdits'] for d in spec['devices']]:
    assert set(edits) <= {'env', 'mounts'}, set(edits)
    assert all(re.fullmatch(r'[A-Z_]+=.+', e) for e in edits['env'])
    for m in edits.get('mounts', []):
        assert set(m) == {'hostPath', 'containerPath', 'options'}
        assert os.path.isabs(m['hostPath']) and os.path.isabs(m['containerPath'])
env = dict(e.split('=', 1) for e in spec['containerEdits']['env'])
mounts = {m['containerPath']: m for m in spec['containerEdits']['mounts']}
assert env['COTENANT_SOCKET'] == sys.argv[2] + '/cotenantd.sock'
assert os.path.exists(env['COTENANT_LIBRARY'])
assert os.path.dirname(env['COTENANT_LIBRARY']) in mounts and os.path.dirname(env['COTENANT_SOCKET']) in mounts
assert os.access(mounts['/opt/cotenant/bin/cotenant']['hostPath'], os.X_OK)
END
# The YAML says the same, if something can read it here.
if python3 -c 'import yaml' 2>/dev/null; then
	python3 -c 'import json, sys, yaml
assert yaml.safe_load(open(sys.argv[1])) == json.load(open(sys.argv[2]))' "$work/cdi.yaml" "$work/cdi.json" ||
		fail "YAML and JSON differ"
fi
expect 0 cdi generate --socket /run/other/d.sock
says "$work/out" '"COTENANT_SOCKET=/run/other/d.sock"'
says "$work/out" 'hostPath: "/run/other"'

for wrong in "" "make" "generate again" "generate --socket d.sock" "generate --json -o file"; do
	# shellcheck disable=SC2086 # words
	expect 2 cdi $wrong
done
says "$work/err" "one is enough"
expect 1 cdi generate -o "$work/no/file.yaml"
says "$work/err" "$work/no/file.yaml"
COTENANT_LIBRARY=/no/such.so expect 1 cdi generate
says "$work/err" "COTENANT_LIBRARY"
finish
