#!/bin/sh
# Requests that a program marks: the daemon counts every one, and its figures are those that the program measured.
# Who does not ask for it is not measured.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
LD_LIBRARY_PATH=$EMU # the shim looks for the driver there
export LD_LIBRARY_PATH
start_daemon

# figure WINDOW WHICH KEY: of the only program, in the window of that many seconds.
figure() {
	"$COTENANT" ps --json | awk -v window="$1" -v which="\"$2\":" -v key="\"$3\":" '
		$1 == "\"seconds\":" { in_window = ($2 + 0 == window); in_times = 0 }
		$1 == "\"response\":" || $1 == "\"service\":" { in_times = ($1 == which) }
		in_window && in_times && $1 == key { print $2 + 0; exit }'
}

counted() {
	[ "$(ps_value "$1" count)" = "$2" ]
}

# same MINE ITS WHAT: within 2 %.
same() {
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && b >= a * 0.98 && b <= a * 1.02) }' ||
		fail "$3: the program measured '$1' ms, the daemon '$2' ms"
}

background "$COTENANT" run --measure --name exact -- "$PROGS/marks" --count 400 --block-us 2000 --waited-us 3000 \
	>"$work/exact"
program=$pid
until_true 60 test -s "$work/exact" || fail "it does not end: $(cat "$work/daemon.log")"
until_true 5 counted exact 400 || fail "counted $(ps_value exact count) of 400"
same "$(value service_p50_ms "$work/exact")" "$(figure 60 service p50_ms)" "service"
same "$(value response_p50_ms "$work/exact")" "$(figure 60 response p50_ms)" "response"
[ "$(figure 60 response n)" = 400 ] || fail "responses: $(figure 60 response n)"
lost="$(ps_value exact lost) lost, $(ps_value exact rejected) rejected"
[ "$lost" = "0 lost, 0 rejected" ] || fail "$lost"
"$COTENANT" stats --wide >"$work/out"
grep -q "^exact  *-  *400 .* response, marks  *-  *0  *0 *$" "$work/out" || fail "stats: $(cat "$work/out")"

# As CSV: a head, and a line for each program; what is not known is empty. The same from both commands, also in a file.
"$COTENANT" ps --csv | awk -F, -v name=exact -v pid="$program" '
	NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = NF; next }
	NF != n { bad = 1 }
	$at["name"] == name { found = $at["pid"] == pid && $at["class"] == "batch" && $at["target"] == "" && $at["requests"] == 400 && $at["of"] == "response" }
	END { exit bad || !found }' || fail "ps --csv: $("$COTENANT" ps --csv)"
"$COTENANT" stats --csv="$work/now.csv" >"$work/out" || fail "stats --csv=FILE fails"
[ ! -s "$work/out" ] || fail "stats --csv=FILE prints: $(cat "$work/out")"
[ "$(head -n 1 "$work/now.csv")" = "$("$COTENANT" ps --csv | head -n 1)" ] || fail "heads: $(head -n 1 "$work/now.csv")"
grep -q "^[0-9]*,exact," "$work/now.csv" || fail "stats --csv: $(cat "$work/now.csv")"
"$COTENANT" stats --csv --json >"$work/out" 2>&1 && fail "two forms at once"
says "$work/out" "expected only one of --json, --csv and --format"
kill "$program"
wait "$program"

# The Python module, and a program that does not use the GPU at all.
if command -v python3 >/dev/null; then
	PYTHONPATH=$SOURCE_DIR/python background "$COTENANT" run --measure --name python -- python3 -B \
		"$SOURCE_DIR/examples/requests/serve.py" 50
	until_true 60 counted python 50 || fail "python: counted '$(ps_value python count)'"
	kill "$pid"
fi

# Without the option, and without control.
background "$COTENANT" run --name plain -- "$PROGS/marks" --count 20 >"$work/plain"
program=$pid
until_true 60 test -s "$work/plain" || fail "it does not end"
[ "$(ps_value plain requests)" = null ] || fail "it is measured: $(ps_value plain requests)"
kill "$program"
wait "$program"
background env LD_LIBRARY_PATH="$EMU" "$PROGS/marks" --count 20 >"$work/alone"
until_true 60 test -s "$work/alone" || fail "it does not run alone"
kill "$pid"
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
