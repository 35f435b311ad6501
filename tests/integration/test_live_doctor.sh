#!/bin/sh
# cotenant doctor on the emulated GPU, and where things are missing.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator

emulated() {
	LD_PRELOAD=$EMU/libcuda.so.1 "$@"
}

# A folder of an emulated GPU in the environment means that GPU, where there is no other.
if [ ! -e /dev/nvidiactl ]; then
	"$COTENANT" doctor --offline >"$work/out" 2>&1 || fail "the emulated GPU of the environment: $(cat "$work/out")"
	says "$work/out" "ok    device"
	says "$work/out" "GPU 0: h200, emulated"
	says_not "$work/out" "FAIL"
	COTENANT_EMU_DEVICE=k20c "$COTENANT" doctor --offline >"$work/out" 2>&1
	says "$work/out" "GPU 0: k20c, emulated"
fi
machine=$COTENANT_EMU_DIR
unset COTENANT_EMU_DIR

"$COTENANT" doctor --offline >"$work/out" 2>&1 && fail "a machine without a driver is well"
says "$work/out" "FAIL  cuda"
says "$work/out" "not tried (--offline)"
[ ! -e "$work/run" ] || fail "--offline started something"

# Without a GPU nothing is started, and what helps is named.
unset COTENANT_GPUS
if [ ! -e /dev/nvidiactl ] && [ ! -e /proc/driver/nvidia ]; then
	"$COTENANT" doctor >"$work/out" 2>&1 && fail "a machine without a GPU is well"
	says "$work/out" "there is no NVIDIA GPU here"
	says "$work/out" "cotenant run --emulate h200 -- PROGRAM"
	says "$work/out" "cotenant doctor --emulate h200"
	[ ! -e "$work/run" ] || fail "without a GPU something was started"
fi
COTENANT_GPUS=1
export COTENANT_GPUS

# The emulated one is looked at by itself, with a daemon and pools of its own, which end with it.
env -u COTENANT_EMU_DIR -u COTENANT_RUNTIME_DIR -u COTENANT_SOCKET -u COTENANT_MPS_CONTROL HOME="$work" \
	timeout 60 "$COTENANT" doctor --emulate h200 >"$work/out" 2>&1 || fail "doctor --emulate: $(cat "$work/out")"
for words in "ok    driver    none is needed" "ok    cuda" "ok    daemon" "ok    slices" "ok    freeze" "ok    pool"; do
	says "$work/out" "$words"
done
"$COTENANT" doctor --emulate h2 >"$work/out" 2>&1
[ $? -eq 2 ] || fail "an unknown device: $(cat "$work/out")"

# Colour only on a terminal, and not where it is not wanted.
escape=$(printf '\033')
coloured() {
	TERM=xterm timeout 30 script -qec "$1 '$COTENANT' doctor --offline" /dev/null </dev/null >"$work/out" 2>&1
	grep -q "$escape\[31mFAIL" "$work/out"
}
if command -v script >/dev/null; then
	coloured "" || fail "no colour on a terminal: $(cat "$work/out")"
	says "$work/out" "FAIL"
	! coloured "NO_COLOR=1" || fail "colour in spite of NO_COLOR"
	says "$work/out" "FAIL  cuda"
	! coloured "TERM=dumb" || fail "colour on a dumb terminal"
	coloured "NO_COLOR=" || fail "an empty NO_COLOR forbids nothing"
fi
TERM=xterm "$COTENANT" doctor --offline >"$work/out" 2>&1
says "$work/out" "FAIL  cuda"
says_not "$work/out" "$escape"

COTENANT_EMU_DIR=$machine
export COTENANT_EMU_DIR
start_daemon
emulated "$COTENANT" doctor >"$work/out" 2>&1 || fail "doctor: $(cat "$work/out")"
for words in "ok    cuda" "ok    library" "ok    daemon" "ok    slices" "ok    freeze" "ok    pool"; do
	says "$work/out" "$words"
done
emulated "$COTENANT" doctor --json >"$work/out" 2>&1 || fail "doctor --json"
says "$work/out" '"check": "freeze"'
until_true 2 has_programs 0 || fail "the probe is left"

# Parts are measured where it is wanted, and only when nothing else uses the GPU.
says_not "$work/out" '"check": "parts"'
background env LD_PRELOAD="$EMU/libcuda.so.1" "$COTENANT" run -- sleep 60
other=$pid
until_true 5 has_programs 1 || fail "the other program is not there"
emulated "$COTENANT" doctor --parts >"$work/out" 2>&1
says "$work/out" "skip  parts"
says "$work/out" "programs use the GPU now"
kill "$other"
until_true 5 has_programs 0 || fail "the other program is left"
emulated "$COTENANT" doctor --parts --offline >"$work/out" 2>&1
says "$work/out" "was not measured (--offline)"
stop_daemon

# divided NAME QUIRKS: parts of a smaller GPU, on a machine of its own. The findings are in $work/NAME.
divided() {
	COTENANT_EMU_DIR=$work/emu-$1
	mkdir "$COTENANT_EMU_DIR"
	COTENANT_EMU_SMS=24
	COTENANT_EMU_QUIRKS=$2
	COTENANT_EMU_SCALE=2 # beside which a busy machine's delays are shorter
	export COTENANT_EMU_DIR COTENANT_EMU_SMS COTENANT_EMU_QUIRKS COTENANT_EMU_SCALE
	start_daemon
	emulated "$COTENANT" doctor --parts --json >"$work/$1" 2>&1
	until_true 5 has_programs 0 || fail "$1: the probes are left" # and would keep their server
	stop_daemon
	unset COTENANT_EMU_SMS COTENANT_EMU_QUIRKS COTENANT_EMU_SCALE
}

# rates NAME KEY LEAST MOST: both of them.
rates() {
	[ "$(grep -A2 "\"$2\"" "$work/$1" | tr -d ',' | awk -v a="$3" -v b="$4" '$1 >= a && $1 <= b' | wc -l)" -eq 2 ] ||
		fail "$2: expected from $3 to $4: $(cat "$work/$1")"
}

# A range is the same SMs for all programs: blocks there keep those of others out, and halve their rate.
divided right ""
says "$work/right" '"what": "the same ranges are the same SMs'
says "$work/right" '"same_units": 3'
says "$work/right" '"sms_in_other_units": 0'
rates right rates_on_one_part 0.3 0.7
rates right rates_on_own_parts 0.8 1.2

# Where each program counts from another SM on, doctor sees it.
divided wrong own-split
says "$work/wrong" '"what": "the same ranges are not the same SMs'
says "$work/wrong" '"same_units": 0'

# Without MPS there are none.
COTENANT_MPS_CONTROL=$work/no-mps divided alone ""
says "$work/alone" "not clients of one MPS server"

# The library is missing: said, with what to do.
COTENANT_LIBRARY=$work/none emulated "$COTENANT" doctor --offline >"$work/out" 2>&1
says "$work/out" "FAIL  library"
finish
