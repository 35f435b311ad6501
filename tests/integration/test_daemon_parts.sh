#!/bin/sh
# Programs on parts of a GPU: who gets which SMs, shares that change while they run, what is shown of it, and
# what the next daemon knows. The shims are played.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

shim=$PROGS/shim_peer
config=$work/parts.conf
printf 'schema: cotenantd/1\npolicy: parts\n' >"$config"
start_daemon --config "$config"

shows() {
	"$COTENANT" "$1" --wide >"$work/out" && grep -qE -e "$2" "$work/out"
}

# A batch program alone has all of the GPU; beside a latency program the first 64; then all again.
background "$shim" --name train parts:132:8:0 obey:0 obey:0 followed:49777:98:launch-attribute held:7:12:1 \
	"until:$work/gone" obey:0 obey:0 sleep:60 >"$work/train"
until_true 5 shows ps 'train +- +all 132 +-' || fail "ps: $(cat "$work/out")"
background "$shim" --name api --class latency parts:132:8:0 sleep:60 >"$work/api"
api=$pid
until_true 5 shows ps 'train +- +64 of 132, from 0 +99.80 %' || fail "ps: $(cat "$work/out")"
says "$work/out" "98 of 49875 launches did not run on its part"
shows ps 'api +- +all 132' || fail "ps: $(cat "$work/out")"
says "$work/train" "place 0+64"
[ "$(sed -n 2p "$work/train")" = "place 0+0" ] || fail "it does not hear at once where it is to be: $(cat "$work/train")"
shows stats 'train +64 of 132, from 0 +1 +49777 +98 +99.80 % +1 +0 +3/3 us' || fail "stats: $(cat "$work/out")"
says "$work/out" "train: 98 launches not on its part: launch-attribute (cooperative"
for pair in gpu_sms:132 unit:8 launches_followed:49777 launches_stayed:98 launch-attribute:98 launches_held:7 \
	held_ms:12.0 holds_lapsed:1 copies_held:14 copies_held_ms:36.0; do
	is train "${pair%:*}" "${pair#*:}" || fail "$pair: $(ps_value train "${pair%:*}")"
done
kill "$api"
: >"$work/gone"
until_true 5 shows ps 'train +- +all 132' || fail "ps: $(cat "$work/out")"

# What its user asks for goes first; with bounds.
"$COTENANT" set train --sms 32 >"$work/out" || fail "set --sms 32: $(cat "$work/out")"
says "$work/out" "train: sms none -> 32sm"
until_true 5 shows ps 'train +32sm +32 of 132, from 0' || fail "ps: $(cat "$work/out")"
says "$work/train" "place 0+32"
for share in 0 1025 0% 101% 5.5 x ''; do
	"$COTENANT" set train --sms "$share" >"$work/out" 2>&1 && fail "--sms '$share' was taken"
	says "$work/out" "expected 1 to 1024 SMs, or 1% to 100%"
done
"$COTENANT" set train --sms 133 >"$work/out" 2>&1 && fail "--sms 133 was taken"
says "$work/out" "the share is 133 SMs; expected 1 to 132, or 1% to 100%"
COTENANT_SMS=x "$COTENANT" run --required -- true >"$work/out" 2>&1 && fail "COTENANT_SMS=x"
says "$work/out" "the share of SMs is 'x'; expected 1 to 1024 SMs"

# What a program is started with; under this policy all get the shim, and none is rewritten for it.
shim_library=${COTENANT_LIBRARY%/*}/shim/libcuda.so.1
if [ -e "$shim_library" ]; then
	"$COTENANT" run --required --sms 50% -- env >"$work/out" 2>"$work/err" || fail "run --sms: $(cat "$work/err")"
	says "$work/out" "COTENANT_SMS=50%"
	says "$work/out" "COTENANT_PARTS=1"
	says "$work/out" "$shim_library"
	says_not "$work/out" "COTENANT_SHIM=1"
	"$COTENANT" run --required -- env >"$work/out" 2>"$work/err" || fail "run: $(cat "$work/err")"
	says "$work/out" "COTENANT_PARTS=1"
	says "$work/out" "$shim_library"
	says_not "$work/out" "COTENANT_SMS"
fi

# One that cannot says why; and so does a program that was not started for it.
background "$shim" --name odd parts:0:0:95 sleep:60 >/dev/null
until_true 5 shows ps 'odd: it cannot be put on a part of the GPU: the driver cannot divide this GPU' ||
	fail "ps: $(cat "$work/out")"
"$COTENANT" set odd --sms 8 >"$work/out" 2>&1 && fail "one that cannot was moved"
says "$work/out" "'cotenant stats' says why"
background "$shim" --name plain sleep:60 >/dev/null
until_true 5 is plain name plain || fail "no program 'plain'"
"$COTENANT" set plain --sms 8 >"$work/out" 2>&1 && fail "one without the shim was moved"
says "$work/out" "it was not started with --sms"

# An order that fails is tried again.
background "$shim" --name weak parts:132:8:0 obey:0 obey:12 obey:0 sleep:60 >"$work/weak"
until_true 5 is weak unit 8 || fail "weak cannot be placed"
"$COTENANT" set weak --sms 50% >"$work/out" || fail "set --sms 50%"
until_true 5 shows ps 'weak +50% +64 of 132, from 32' || fail "ps: $(cat "$work/out")"
is weak place_failed 1 || fail "place_failed: $(ps_value weak place_failed)"

# Another daemon hears of the part that a program has, and gives it what it shall have now.
kill_daemon
start_daemon --config "$config"
background "$shim" --name again found:0:32 parts:132:8:0 obey:0 sleep:60 >"$work/again"
until_true 5 shows ps 'again +- +all 132' || fail "ps: $(cat "$work/out")"
says "$work/again" "place 0+0"
# A pace of its own, on whatever part it is.
background "$shim" --name paced parts:132:8:0 serve:60 >"$work/paced"
until_true 5 is paced pace_us 0 || fail "no program 'paced'"
"$COTENANT" set paced --pace 500us >"$work/out" || fail "set --pace: $(cat "$work/out")"
says "$work/out" "paced: pace none -> 500 us"
until_true 5 is paced pace_us 500 || fail "its pace is $(ps_value paced pace_us)"
"$COTENANT" set paced --pace none >"$work/out"
until_true 5 is paced pace_us 0 || fail "its pace is $(ps_value paced pace_us)"
for pace in 0 0us 1001ms 5s -1us x ''; do
	"$COTENANT" set paced --pace "$pace" >"$work/out" 2>&1 && fail "--pace '$pace' was taken"
	says "$work/out" "--pace is '$pace'; expected a time such as 500us, up to 1000000 us, or none"
done
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
