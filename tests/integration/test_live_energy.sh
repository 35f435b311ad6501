#!/bin/sh
# The energy that a GPU took is divided among the programs, all of it, by the time that each had; without NVML nothing is
# said but why. The process that reads the counters ends with the daemon.
# shellcheck disable=SC1091,SC2154 # of lib.sh
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
[ -e "$EMU/libnvidia-ml.so.1" ] || exit 77

cat >"$work/known.yaml" <<END
schema: cotenant.knowledge/1
program: parts
class: batch
gpu: "NVIDIA H200"
sms: [8, 132]
repeats:
  time_ns: [8000000, 1000000]
  bytes_per_s: [1000000000, 1000000000]
  power_w: 432
END
cat >"$work/conf" <<END
schema: cotenantd/1
policy: consolidate
knowledge: [{name: one, file: $work/known.yaml}]
END

start() {
	background env LD_LIBRARY_PATH="$EMU" "$COTENANT" run --required --name "$1" --class batch -- \
		"$PROGS/parts" --seconds 600 --until "$work/enough" >"$work/$1"
}

# sum_is_whole: both programs have some, and the parts are all of what the GPU took.
sum_is_whole() {
	"$COTENANT" stats --json >"$work/json" || return 1
	python3 - "$work/json" <<-'PYTHON'
	import json
	import sys
	answer = json.load(open(sys.argv[1]))
	gpu = answer["gpus"][0]["energy"]
	shares = {t["name"]: t["energy"] for t in answer["tenants"]}
	good = gpu and len(shares) == 2 and all(s and s["joules"] > 1 for s in shares.values())
	if not good or answer["energy_reason"]:
	    sys.exit(1)
	whole = sum(s["joules"] for s in shares.values()) + gpu["nobody_joules"]
	assert abs(whole - gpu["joules"]) < 0.01 * gpu["joules"], answer
	assert 100 < gpu["mean_w"] <= 601 and 100 < gpu["power_w"] <= 601, gpu
	assert shares["one"]["predicted_alone_w"] == 432 and shares["two"]["predicted_alone_w"] is None
	assert shares["one"]["gang"] and shares["two"]["gang"], shares
	# Each is in a gang by itself, for nothing is known of the second: the gangs' joules are the programs' since then.
	gangs = {g["programs"]: g for g in answer["gangs"]}
	if not {"one", "two"} <= set(gangs) or not all(gangs[n]["joules"] > 1 for n in ("one", "two")):
	    sys.exit(1)
	for name in ("one", "two"):
	    assert gangs[name]["n_programs"] == 1 and gangs[name]["gpu"] == 0, gangs
	    assert gangs[name]["joules"] <= shares[name]["joules"] * 1.0001, answer
	assert gangs["one"]["predicted_w"] == 432 and gangs["two"]["predicted_w"] is None, gangs
	PYTHON
}

COTENANT_NVML=$EMU/libnvidia-ml.so.1
export COTENANT_NVML
start_daemon --config "$work/conf"
start one
programs=$pid
start two
programs="$programs $pid"
until_true 30 sum_is_whole || fail "stats: $(cat "$work/json")"
"$COTENANT" stats >"$work/out"
COLUMNS=120 "$COTENANT" top --once --sort power </dev/null >"$work/top" || fail "top: $?"
grep -qE '^GPU 0: [0-9]+ W, mean [0-9]+ W, ' "$work/top" || fail "top: $(cat "$work/top")"
says "$work/top" " POWER"
grep -qE ' one .* [1-9][0-9]* W( |$)' "$work/top" || fail "top: $(cat "$work/top")"
grep -qE '^GPU 0 +[0-9.]+ J +[0-9.]+ s +[0-9.]+ W +-' "$work/out" || fail "stats: $(cat "$work/out")"
grep -qE '^one +[0-9.]+ J +[0-9.]+ s +[0-9.]+ W +432.0 W' "$work/out" || fail "stats: $(cat "$work/out")"

# What the GPU takes while no program is there is nobody's, and not the next one's.
touch "$work/enough"
for program in $programs; do
	wait "$program" || fail "a program failed"
done
rm "$work/enough"
nobody_has() {
	"$COTENANT" stats --json | python3 -c '
import json, sys
a = json.load(sys.stdin)
sys.exit(not (a["gpus"][0]["energy"]["nobody_joules"] >= float(sys.argv[1]) and
              all(t["energy"] and t["energy"]["joules"] > 1 for t in a["tenants"])))' "$1"
}
none_is_there() {
	"$COTENANT" stats --json | grep -q '"tenants": *\[\]'
}
until_true 20 none_is_there || fail "programs stay"
before=$("$COTENANT" stats --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["gpus"][0]["energy"]["nobody_joules"])')
sleep 2
start three
programs=$pid
until_true 30 nobody_has "$(python3 -c "print($before + 200)")" ||
	fail "two seconds of an idle GPU: $("$COTENANT" stats --json)"

# The process that reads the counters: it dies, and the daemon says so; it ends with the daemon.
reader() {
	tr ' ' '\n' <"/proc/$daemon_pid/task/$daemon_pid/children" | while read -r child; do
		[ "$(cat "/proc/$child/comm")" = cotenant-meter ] && echo "$child"
	done
}
child=$(reader)
[ -n "$child" ] || fail "nobody reads the counters"
kill -9 "$child"
reason_is() {
	"$COTENANT" stats --json | grep -q "\"energy_reason\": *\"$1\""
}
until_true 20 reason_is "the process that reads NVML has ended" || fail "no reason"
touch "$work/enough"
for program in $programs; do
	wait "$program" || fail "a program failed"
done
stop_daemon

# Turns of 50 ms, two of which are as long as the time between two looks: two equal gangs have equal shares, and so
# have two equal programs under `rotate`.
#
# shares_are_equal GANGS LEAST: both have run for so many seconds, about as long, and with about the same joules.
# Those of whom nothing is said about gangs are judged as programs.
shares_are_equal() {
	"$COTENANT" stats --json >"$work/json" || return 1
	python3 - "$work/json" "$1" "$2" <<-'PYTHON'
	import json
	import sys
	answer = json.load(open(sys.argv[1]))
	if int(sys.argv[2]):
	    shares = [g for g in answer["gangs"] if g["there"]]
	else:
	    shares = [t["energy"] for t in answer["tenants"]]
	if len(shares) != 2 or not all(shares) or min(s["seconds"] for s in shares) < float(sys.argv[3]):
	    sys.exit(1)
	for what in ("seconds", "joules"):
	    least, most = sorted(s[what] for s in shares)
	    if not least > 0.75 * most:
	        sys.exit(1)
	PYTHON
}

# Each has use for all SMs: together they take as long as one after the other.
sed 's/time_ns: .*/time_ns: [16500000, 1000000]/' "$work/known.yaml" >"$work/whole.yaml"

# turns POLICY GANGS
turns() {
	rm -f "$work/enough"
	cat >"$work/turns.conf" <<-END
		schema: cotenantd/1
		policy: $1
		knowledge: [{name: one, file: $work/whole.yaml}, {name: two, file: $work/whole.yaml}]
	END
	start_daemon --config "$work/turns.conf"
	start one
	programs=$pid
	start two
	programs="$programs $pid"
	until_true 30 shares_are_equal "$2" 2 || fail "$1: $(cat "$work/json")"
	touch "$work/enough"
	for program in $programs; do
		wait "$program" || fail "$1: a program failed"
	done
	stop_daemon
}
turns consolidate 1
mps=$COTENANT_MPS_CONTROL
COTENANT_MPS_CONTROL=$work/none # they stand alone
turns rotate 0
COTENANT_MPS_CONTROL=$mps

# Without the library.
rm "$work/enough"
COTENANT_NVML=$work/none
start_daemon --config "$work/conf"
start one
programs=$pid
until_true 20 reason_is "there is no libnvidia-ml.so.1" || fail "no reason"
"$COTENANT" stats --json | grep -q '"energy": *null' || fail "energy without a counter"
"$COTENANT" stats | grep -q 'ENERGY OF' && fail "a table of nothing"
touch "$work/enough"
wait "$programs" || fail "a program failed"
stop_daemon
finish
