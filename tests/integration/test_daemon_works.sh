#!/bin/sh
# Works of rewritten kernels: shims that ask, get, give back and die; quotas that change; numbers.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

shim=$PROGS/shim_peer
config=$work/works.conf
printf 'schema: cotenantd/1\npolicy: smguard\n' >"$config"
start_daemon --config "$config"

# One alone gets everything; 10 of them at once do not disturb each other.
"$shim" --name one request:1:100000:8:50000 grant:1 done:1:0 >"$work/out"
says "$work/out" "grant 1 132 1"
"$shim" --name small request:1:9:8 grant:1 done:1:0 >"$work/out"
says "$work/out" "grant 1 2 0"

# A latency program takes what it wants, all but one SM, from one that runs, and that gets it back.
background "$shim" --name batch request:7:100000000:8:50000 grant:7 evict:7 evicted:7:131 evict:7 \
	evicted:7:132 done:7:9000000 grant:7 counts "until:$work/seen" done:7:0 >"$work/batch"
until_true 5 is batch granted 132 || fail "the batch program has $(ps_value batch granted)"
"$shim" --name request --class latency request:1:524:4:10000 grant:1 sleep:0.2 done:1:0 \
	>"$work/request"
says "$work/request" "grant 1 131 0"
until_true 5 grep -qF "evict 7 132" "$work/batch" || fail "the batch program was not asked to grow"
until_true 5 is batch kernels_rewritten 3 || fail "no counts"
says "$work/batch" "evict 7 131"
until_true 5 is batch resumes 1 || fail "resumes: $(ps_value batch resumes)"
for pair in granted:132 evictions:2 evicted_capsms:132 kernels_refused:2 launches_workers:40 \
	launches_plain:5 cooperative:2 eviction_last_us:12.0 tasks:1000; do
	is batch "${pair%:*}" "${pair#*:}" || fail "$pair: $(ps_value batch "${pair%:*}")"
done
"$COTENANT" ps >"$work/out"
says "$work/out" "HAS SMS"
says "$work/out" "132 of 132"
says_not "$work/out" "no effect"
"$COTENANT" stats >"$work/out"
says "$work/out" "batch: 2 kernels not rewritten: cooperative"
: >"$work/seen"
wait "$pid"
says "$work/batch" "grant 7 132 1"

# Blocks that all run at once and for long stay: the request may be beside them, on all SMs, and is told so.
background "$shim" --name few request:1:975:24:45000000 grant:1 "until:$work/beside" done:1:0 >"$work/few"
until_true 5 is few granted 41 || fail "the program of few blocks has $(ps_value few granted)"
"$shim" --name request --class latency request:1:1056000:8:10000 grant:1 done:1:0 >"$work/request"
says "$work/request" "grant 1 132 0 crowded"
is few evictions 0 || fail "few: $(ps_value few evictions) evictions"
: >"$work/beside"
wait "$pid"

# A quota that no launch comes under is told, with the reason.
shows() {
	"$COTENANT" "$1" >"$work/out" && grep -qF "$2" "$work/out"
}
background "$shim" --name idle --quota 30 plain:launch-small:16 followed:0:16:launch-no-part sleep:20 >"$work/idle"
for what in ps stats; do
	until_true 5 shows $what "idle: its quota has no effect: all its 16 launches run as they are; \
launch-no-part (there was no part for it yet, or the GPU has none)" || fail "$what: $(cat "$work/out")"
done
says "$work/out" "idle: 16 launches as they are: launch-small (no more blocks than fit one SM)"
kill "$pid"

# A quota is lowered: what is too much leaves; raised: the next one has more.
background "$shim" --name live --quota 100 request:1:100000000:8:900000 grant:1 evict:1 evicted:1:99 \
	"until:$work/raised" done:1:0 request:2:1000000:8 grant:2 done:2:0 >"$work/live"
until_true 5 is live granted 132 || fail "live has $(ps_value live granted)"
"$COTENANT" set live --quota 33sm >"$work/out" || fail "set --quota"
until_true 5 is live evicted 99 || fail "live gave up $(ps_value live evicted)"
"$COTENANT" set live --quota 50% >"$work/out" || fail "set --quota 50%"
: >"$work/raised"
wait "$pid"
says "$work/live" "evict 1 99"
says "$work/live" "grant 2 66"

# Words that mean nothing, and what is not for batch programs.
background "$shim" --name live sleep:20 >"$work/live"
until_true 5 is live running 0 || fail "live did not come back"
for share in 50 0% 101% 0sm 1025sm sm % 5.5% -5% ''; do
	"$COTENANT" set live --quota "$share" >"$work/out" 2>&1 && fail "--quota '$share' was taken"
	says "$work/out" "such as 50% or 66sm"
done
"$COTENANT" set live --reserve 50% >"$work/out" 2>&1 && fail "a batch program has a reserve"
says "$work/out" "only a latency program"
"$COTENANT" set live --quota none >"$work/out" || fail "set --quota none"
COTENANT_QUOTA=x "$COTENANT" run --required -- true >"$work/out" 2>&1 && fail "COTENANT_QUOTA=x"
says "$work/out" "the quota is 'x'"
"$COTENANT" run --required --reserve 10% -- true >"$work/out" 2>&1 && fail "run --reserve of batch"
says "$work/out" "only a latency program"
kill "$pid"
wait "$pid" 2>/dev/null

# One that dies with everything gives it back at once.
background "$shim" --name greedy request:1:100000000:8:50000 grant:1 sleep:60 >"$work/greedy"
greedy=$pid
until_true 5 is greedy granted 132 || fail "greedy has $(ps_value greedy granted)"
background "$shim" --name heir request:1:100000000:8:50000 grant:1 sleep:0.2 >"$work/heir"
heir=$pid
until_true 5 is heir waiting 1 || is heir running 1 || fail "no heir"
kill -9 "$greedy"
wait "$heir" || fail "the heir got nothing"
says "$work/heir" "grant 1 "

# Those who break the rules lose their connection, and nobody else does.
"$shim" --name flood flood:100 hangup >"$work/out"
says "$work/out" hangup
"$shim" --name twice request:1:8:8 request:1:8:8 hangup >"$work/out"
says "$work/out" hangup
"$shim" --sms 0 --name nosms >"$work/out" 2>&1 && fail "a GPU without SMs"
"$shim" --id 999999999999 --name number >"$work/out" 2>&1 && fail "a number that no program has"
says "$work/out" "refused"

# 3000 launches, one after the other. How long one takes is for benchmarks; here: not for ever.
"$shim" --name fast time:3000 >"$work/out"
says "$work/out" "p50"

"$COTENANT" stats --json >"$work/out" || fail "stats after all that"
says "$work/out" '"policy": "smguard"'
says "$work/out" '"fallbacks": 0'
"$PEER" storm 3000 7 >"$work/out"
says "$work/out" "storm 3000"
"$COTENANT" ps >/dev/null || fail "no daemon after the storm"
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
