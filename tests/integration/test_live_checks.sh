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
[ "$(grep -cE '^(service|batch)[01] ' "$work/gpus/table.txt")" = 4 ] || fail "gpus: $(cat "$work/out")"
python3 - "$work/gpus/gpus.json" <<'PY' || fail "gpus: $(cat "$work/out")"
import json, sys
rounds = json.load(open(sys.argv[1], encoding='utf-8'))['rounds']
for gpu in (0, 1):
    w = rounds[0][f'storm{gpu}']
    assert w['storm']['visitors'] and w['storm']['orders'], w
    assert all(w[f'{p}{g}']['n'] for p in ('service', 'batch') for g in (0, 1)), w
PY
python3 -B "$SOURCE_DIR/bench/live/memory.py" --emulate --build "$work/build" --out "$work/memory" >"$work/out" 2>&1 ||
	fail "memory: $(cat "$work/out")"
[ "$(grep -cE '^(plain|pitched|managed|ordered|pool) +2048 +0 ' "$work/memory/table.txt")" = 5 ] || fail "memory: $(cat "$work/out")"
finish
