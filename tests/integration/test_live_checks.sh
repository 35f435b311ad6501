#!/bin/sh
# bench/live/plans.py, gpus.py and memory.py on the emulated GPU: that they run to their end, resume, and say what they should. Whether
# targets are kept on a busy machine is not judged.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
command -v python3 >/dev/null || exit 77
unset COTENANT_EMU_DIR COTENANT_MPS_CONTROL COTENANT_SOCKET COTENANT_RUNTIME_DIR COTENANT_GPUS COTENANT_SHIM_DRIVER COTENANT_LIBRARY
# As the programs are installed: bin and lib side by side.
mkdir "$work/build"
ln -s "$(dirname "$COTENANT")" "$work/build/bin"
ln -s "$(dirname "$EMU")" "$work/build/lib"
mkdir "$work/build/release"
ln -s "$PROGS" "$work/build/release/progs"

plans() {
	python3 -B "$SOURCE_DIR/bench/live/plans.py" --emulate --build "$work/build" --out "$work/plans" --only one-service \
		--settle 1 --seconds 2 --requests 5 --budget 600 >"$work/out" 2>&1
}
plans
[ -s "$work/plans/table.txt" ] || fail "plans: $(cat "$work/out")"
grep -qE '^search +p99 6ms +[0-9.]+ +[0-9.]+ ms +[1-9]' "$work/plans/table.txt" || fail "plans: $(cat "$work/out")"
grep -qE '^train +rate 40% +0\.[0-9]+ +[0-9.]+ of alone +[1-9]' "$work/plans/table.txt" || fail "plans: $(cat "$work/out")"
first=$(cat "$work/plans/table.txt")
plans
[ "$(sed 1d "$work/plans/table.txt")" = "$(echo "$first" | sed 1d)" ] || fail "it measured again: $(cat "$work/out")"

python3 -B "$SOURCE_DIR/bench/live/gpus.py" --emulate --build "$work/build" --out "$work/gpus" --seconds 1 --rounds 1 \
	>"$work/out" 2>&1
[ "$(grep -cE '^(service|batch)[01] +[01] ' "$work/gpus/table.txt")" = 4 ] || fail "gpus: $(cat "$work/out")"
[ "$(grep -cE '^service[01] +(alone|storm) 1 +[0-9]+ +[0-9]+ of +[1-9]' "$work/gpus/table.txt")" = 4 ] || fail "gpus: $(cat "$work/out")"
python3 - "$work/gpus" <<'PY' || fail "gpus: $(cat "$work/out")"
import gzip, json, sys
result = json.load(open(f'{sys.argv[1]}/gpus.json', encoding='utf-8'))
rounds = result['rounds']
for gpu in (0, 1):
    w = rounds[0][f'storm{gpu}']
    assert w['storm']['visitors'] and w['storm']['orders'], w
    assert all(w[f'{p}{g}']['n'] for p in ('service', 'batch') for g in (0, 1)), w
# The parts of a request are its response, and the slow ones each have a reason.
raw = json.load(gzip.open(f'{sys.argv[1]}/requests.json.gz', 'rt', encoding='utf-8'))
storms = [w for w in raw['windows'] if w['window'].startswith('storm')]
assert len(storms) == 2 and all({what for _, what in w['events']} >= {'freeze', 'thaw', 'visitor begins'} for w in storms), raw
for window in raw['windows']:
    for program in window['programs'].values():
        assert program['requests'], window
        for at, response, queued, woken, gpu, waited in program['requests']:
            assert at >= 0 and queued >= 0 and woken >= 0 and gpu > 0 and queued + woken <= response and waited >= 0
for row in result['rows']:
    for w in row.get('windows', []) + row.get('alone_windows', []):
        assert sum(w['why'].values()) == w['slow'] <= w['n'] and w['slow_after_event'] <= w['slow'], w
PY
python3 -B "$SOURCE_DIR/bench/live/memory.py" --emulate --build "$work/build" --out "$work/memory" >"$work/out" 2>&1 ||
	fail "memory: $(cat "$work/out")"
[ "$(grep -cE '^(plain|pitched|managed|ordered|pool) +2048 +0 ' "$work/memory/table.txt")" = 5 ] || fail "memory: $(cat "$work/out")"
finish
