#!/bin/sh
# The daemon with one library: who it is, what it is told, what `ps` shows, live changes.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

"$COTENANT" ps >"$work/out" 2>&1
[ $? -eq 3 ] || fail "ps without a daemon: $(cat "$work/out")"
says "$work/out" "no cotenantd answers"

start_daemon
[ "$(stat -c %a "$work/run")" = 700 ] || fail "the folder is open"
[ "$(stat -c %a "$COTENANT_SOCKET")" = 600 ] || fail "the socket is open"
"$COTENANTD" >"$work/out" 2>&1
[ $? -eq 3 ] || fail "two daemons in one folder"
says "$work/out" "another cotenantd"

background "$PEER" library --name a --weight 50 >"$work/a"
expect_value a slice_us 2000
says "$work/a" "welcome"
says_not "$work/a" "page can be resized"
[ "$(ps_value a class)" = batch ] || fail "class"
[ "$(ps_value a weight)" = 50 ] || fail "weight"
[ "$(ps_value a state)" = running ] || fail "state"
[ "$(ps_value a channel_groups)" = 4 ] || fail "groups"
background "$PEER" library --name b --class latency >"$work/b"
b_pid=$pid
expect_value b slice_us 10000
expect_value a slice_us 20

# Live changes, within 50 ms: the library has its order before the command returns.
"$COTENANT" set a --weight 7 >"$work/out" || fail "set --weight"
[ "$(ps_value a weight)" = 7 ] || fail "the weight stayed"
"$COTENANT" set a --slice 333us --mode drain >"$work/out" || fail "set --slice"
until_true 1 grep -qx "set 333 1" "$work/a" || fail "no order: $(cat "$work/a")"
[ "$(ps_value a slice_by_user)" = true ] || fail "slice_by_user"
"$COTENANT" set a --slice auto --mode auto >"$work/out" || fail "set --slice auto"
until_true 1 grep -qx "set 20 2" "$work/a" || fail "not taken back: $(cat "$work/a")"
# With blocks that are known to be short the policy drains: said live, and taken back.
"$COTENANT" set a --block 100us >"$work/out" || fail "set --block"
until_true 1 grep -qx "set 20 1" "$work/a" || fail "not drained: $(cat "$work/a")"
[ "$(ps_value a block_us)" = 100 ] || fail "block_us"
[ "$(ps_value a mode_by_user)" = false ] || fail "mode_by_user"
n=$(grep -cx "set 20 2" "$work/a")
"$COTENANT" set a --block unknown >"$work/out" || fail "set --block unknown"
until_true 1 sh -c "[ \$(grep -cx 'set 20 2' '$work/a') -gt $n ]" || fail "still drained"
background "$PEER" library --name c --block-us 30 >"$work/c"
c_pid=$pid
until_true 2 grep -qx "set 20 1" "$work/c" || fail "c is not drained: $(cat "$work/c")"
kill -9 "$c_pid"
until_true 2 has_programs 2 || fail "c is still there"
"$COTENANT" set b --class batch >/dev/null || fail "set --class"
expect_value a slice_us 2000
"$COTENANT" set b --class latency --json >"$work/out" || fail "set --json"
says "$work/out" '"ok": true'
# A file is as what is printed, and whole: what cannot be written leaves the old one.
"$COTENANT" set b --class latency --json="$work/set.json" >"$work/printed" || fail "set --json=FILE"
[ ! -s "$work/printed" ] || fail "set --json=FILE prints: $(cat "$work/printed")"
says "$work/set.json" '"ok": true'
for command in "ps" "stats" "policy" "explain b"; do
	# shellcheck disable=SC2086 # two words
	"$COTENANT" $command --json >"$work/printed" || fail "$command --json"
	# shellcheck disable=SC2086
	"$COTENANT" $command --json="$work/file.json" >"$work/out" || fail "$command --json=FILE"
	[ ! -s "$work/out" ] || fail "$command --json=FILE prints: $(cat "$work/out")"
	[ "$(grep -c '"' "$work/printed")" = "$(grep -c '"' "$work/file.json")" ] || fail "$command: the file is another"
	grep -qF "$(grep '"schema"' "$work/printed")" "$work/file.json" || fail "$command: no schema"
	# shellcheck disable=SC2086
	"$COTENANT" $command --json="$work/no/file.json" >"$work/out" 2>&1
	[ $? -eq 1 ] || fail "$command: a file in a folder that is not there"
	says "$work/out" "cannot write $work/no/file.json"
done

# A failing order has a sentence and a status of its own.
"$COTENANT" set nobody --weight 7 >"$work/out" 2>&1
[ $? -eq 6 ] || fail "an unknown name"
says "$work/out" "no program called 'nobody'"
"$COTENANT" set a --slice 1us >"$work/out" 2>&1 && fail "a slice of 1 us"
says "$work/out" "expected 20 us to"
for block in 0 1sm 1000001ms many; do
	"$COTENANT" set a --block "$block" >"$work/out" 2>&1
	[ $? -eq 2 ] || fail "a block of $block"
	says "$work/out" "expected a time such as 100us or 2ms, or unknown"
done
"$COTENANT" set a >"$work/out" 2>&1
[ $? -eq 2 ] || fail "nothing to set"
"$COTENANT" freeze pool:batch >"$work/out" 2>&1
[ $? -eq 6 ] || fail "a pool that is not there"

freezes a || fail "freeze: $(cat "$work/out")"
grep -q "the daemon repeats the order" "$work/out" || says "$work/out" "frozen after"
stays_frozen a || fail "not held, or not frozen"
"$COTENANT" thaw a >"$work/out" || fail "thaw"
says "$work/out" "thawed after"
[ "$(ps_value a state)" = running ] || fail "not thawed"
"$COTENANT" stats >"$work/out" || fail "stats"
says "$work/out" "Policy pools"
"$COTENANT" stats --json | grep -q '"bad_packets": 0' || fail "stats --json"

# Two programs of one name: by id only.
background "$PEER" library --name a >"$work/a2"
until_true 2 has_programs 3 || fail "three programs"
"$COTENANT" set a --weight 9 >"$work/out" 2>&1 && fail "which a?"
says "$work/out" "2 programs are called 'a'"
id=$("$COTENANT" ps | awk '$2 == "b" { print $1 }')
"$COTENANT" set "$id" --weight 9 >"$work/out" || fail "by id"
[ "$(ps_value b weight)" = 9 ] || fail "the weight by id"

# One that ends is gone.
kill -9 "$b_pid"
until_true 2 has_programs 2 || fail "it is still there"

# SIGHUP reads the configuration again; a wrong one changes nothing.
kill -HUP "$daemon_pid"
until_true 2 grep -q "read .* again" "$work/daemon.log" || fail "no reload"

stop_daemon
[ "$status" -eq 0 ] || fail "status $status at the end"
[ ! -e "$COTENANT_SOCKET" ] || fail "the socket is left"
until_true 1 grep -q hangup "$work/a" || fail "the library was not told"
finish
