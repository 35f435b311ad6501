#!/bin/sh
# The PyTorch example: its rows, and what it says where something is missing. The programs are stand-ins; that the
# real ones are Python is seen.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
example=$SOURCE_DIR/examples/pytorch
python3 - "$example/serve.py" "$example/train.py" <<'END' || fail "not Python"
import ast, sys
for path in sys.argv[1:]:
    ast.parse(open(path).read(), path)
END

cat >"$work/python" <<'END'
#!/bin/sh
say() {
	echo "steps 5 per_s $rate"
	exit 0
}
case $1 in
-c)
	exit "${NO_TORCH:-0}"
	;;
*/serve.py)
	echo serving
	sleep 0.2
	echo "requests 9 p50_ms 1.25 p99_ms 2.50"
	;;
*/train.py)
	# Alone it is told so before the first request of a service beside it.
	rate=$([ -e "$BESIDE" ] && echo 4.50 || echo 6.00)
	trap say TERM
	trap ': >"$BESIDE"' USR1
	echo training
	tries=300
	while [ $tries -gt 0 ]; do
		sleep 0.1
		tries=$((tries - 1))
	done
	exit 3
	;;
esac
END
chmod +x "$work/python"
BESIDE=$work/beside
PYTHON=$work/python
export BESIDE PYTHON

NO_TORCH=1 COTENANT=$COTENANT bash "$example/run.sh" 1 >"$work/out" 2>"$work/err" && fail "without PyTorch it went on"
says "$work/err" "has no PyTorch (PYTHON names another)"
COTENANT=$work/nothing bash "$example/run.sh" 1 >"$work/out" 2>"$work/err" && fail "without cotenant it went on"
says "$work/err" "there is no $work/nothing here"

start_daemon
timeout 60 bash "$example/run.sh" 1 >"$work/out" 2>"$work/err" || fail "run.sh: $(cat "$work/err" "$work/out")"
grep -qE '^alone +1.25 ms +2.50 ms +-$' "$work/out" || fail "alone: $(cat "$work/out")"
grep -qE '^time slicing, as usual +1.25 ms +2.50 ms +0.75$' "$work/out" || fail "time slicing: $(cat "$work/out")"
grep -qE '^MPS +1.25 ms +2.50 ms +0.75$' "$work/out" || fail "MPS: $(cat "$work/out")"
[ "$(grep -cE '^cotenant.* 1.25 ms +2.50 ms +0.75$' "$work/out")" = 2 ] || fail "cotenant: $(cat "$work/out")"
stop_daemon
finish
