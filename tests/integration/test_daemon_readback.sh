#!/bin/sh
# The slice that `stats` shows as read back: of several processes of a program one that lags
# behind, and that an order is on its way.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

start_daemon
background "$PEER" library --name a >"$work/first"
first=$pid
expect_value a slice_us 2000
background "$PEER" library --id "$(ps_value a id)" >"$work/second"
expect_value a channel_groups 8
expect_value a slice_read_back_us 2000
sleep 0.7 # both have settled
expect_value a orders_waiting 0
"$COTENANT" stats >"$work/out"
says_not "$work/out" " !"

# One process obeys and one cannot: nobody is told that all is well.
kill -STOP "$first"
"$COTENANT" set a --slice 333us >/dev/null || fail "set --slice"
until_true 2 grep -q "^set 333 " "$work/second" || fail "no order: $(cat "$work/second")"
expect_value a slice_us 333
[ "$(ps_value a slice_read_back_us)" = 2000 ] || fail "read back: $(ps_value a slice_read_back_us)"
expect_value a slice_wrong_pid "$first"
"$COTENANT" stats >"$work/out"
says "$work/out" "2000 us !"
says "$work/out" "a: process $first does not have the slice that it should have: "
until_true 5 is a orders_waiting 0 || fail "an order waits without end"
"$COTENANT" stats >"$work/out"
says "$work/out" "process $first does not have the slice that it should have: its library did not answer in time"
kill -CONT "$first"
expect_value a slice_read_back_us 333
expect_value a slice_wrong_pid 0

# The other way round.
second=$pid
kill -STOP "$second"
"$COTENANT" set a --slice 444us >/dev/null || fail "set --slice"
until_true 2 grep -q "^set 444 " "$work/first" || fail "no order: $(cat "$work/first")"
[ "$(ps_value a slice_read_back_us)" = 333 ] || fail "read back: $(ps_value a slice_read_back_us)"
kill -CONT "$second"
expect_value a slice_read_back_us 444
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
