#!/bin/sh
# cotenant top: one picture for a pipe; on terminals of three widths, when they change, by key, and when the daemon
# goes and comes back.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"

"$COTENANT" top --once >"$work/out" 2>&1
[ $? = 3 ] || fail "without a daemon: $(cat "$work/out")"
start_daemon
background "$PEER" library --name victim --daemon "$daemon_pid" >"$work/peer"
has_name() {
	[ -n "$(ps_value "$1" id)" ]
}
until_true 5 has_name victim || fail "no peer"
sleep 0.6 # until it is settled

for columns in 40 80 120; do
	COLUMNS=$columns "$COTENANT" top --once </dev/null >"$work/out" || fail "--once: $?"
	says "$work/out" victim
	says "$work/out" CLASS
	awk -v n="$columns" 'length($0) > n { exit 1 }' "$work/out" || fail "wider than $columns: $(cat "$work/out")"
done
"$COTENANT" top --sort names >"$work/out" 2>&1
[ $? = 2 ] || fail "--sort names is taken"
"$COTENANT" top --interval 1ms >"$work/out" 2>&1
[ $? = 2 ] || fail "--interval 1ms is taken"
"$COTENANT" top --once --filter nobody >"$work/out"
says_not "$work/out" victim
"$COTENANT" top --json --filter victim >"$work/out" || fail "--json: $?"
python3 - "$work/out" <<'END' || fail "--json: $(cat "$work/out")"
import json
import sys
top = json.load(open(sys.argv[1]))
assert top["schema"] == "cotenant.top/1"
victim, = top["programs"]
assert victim["name"] == "victim" and victim["weight"] >= 1 and victim["frozen"] is False
END
"$COTENANT" top --json="$work/top.json" --filter nobody >"$work/out" || fail "--json=FILE: $?"
[ ! -s "$work/out" ] || fail "--json=FILE prints, too: $(cat "$work/out")"
says "$work/top.json" '"programs": []'

if ! command -v tmux >/dev/null; then
	echo "tmux is not here: top was not tried on a terminal"
	kill "$pid"
	stop_daemon
	[ "$n_failed" = 0 ] && exit 77
	finish
fi

tmux_do() {
	tmux -S "$work/tmux" "$@"
}

# shows TEXT; and shows_not.
shows() {
	tmux_do capture-pane -p -t top >"$work/screen" && grep -qF -e "$1" "$work/screen"
}
shows_not() {
	! shows "$1"
}

state_is() {
	[ "$(ps_value victim state)" = "$1" ]
}

tmux_do -f /dev/null new-session -d -s top -x 80 -y 24 "$COTENANT top --interval 100ms; echo ended: \$?; sleep 600"
for columns in 80 40 120; do
	tmux_do resize-window -t top -x "$columns" -y 24
	until_true 10 shows victim || fail "at $columns: $(cat "$work/screen")"
	shows CLASS || fail "at $columns: $(cat "$work/screen")"
done

# A freeze asks first. The question stays when the terminal changes.
tmux_do send-keys -t top f
until_true 5 shows "Freeze victim?" || fail "no question: $(cat "$work/screen")"
tmux_do resize-window -t top -x 40 -y 24
until_true 10 shows_not FREEZES || fail "at 40: $(cat "$work/screen")"
shows "Freeze victim?" || fail "the terminal answered the question: $(cat "$work/screen")"
tmux_do resize-window -t top -x 120 -y 24
until_true 10 shows FREEZES || fail "at 120: $(cat "$work/screen")"
shows "Freeze victim?" || fail "the terminal answered the question: $(cat "$work/screen")"
tmux_do send-keys -t top n
until_true 5 shows_not "Freeze victim?" || fail "the question stays"
state_is frozen && fail "it was frozen without a yes"
tmux_do send-keys -t top f
until_true 5 shows "Freeze victim?" || fail "no question: $(cat "$work/screen")"
tmux_do send-keys -t top y
until_true 10 state_is frozen || fail "not frozen: $(tmux_do capture-pane -p -t top)"
until_true 10 shows "frozen" || fail "it does not show: $(cat "$work/screen")"
tmux_do send-keys -t top t
until_true 10 state_is running || state_is idle || fail "not thawed: $(ps_value victim state)"
tmux_do send-keys -t top w
until_true 5 shows "Weight of victim" || fail "no question: $(cat "$work/screen")"
tmux_do send-keys -t top 77 Enter
weighs() {
	[ "$(ps_value victim weight)" = 77 ]
}
until_true 10 weighs || fail "the weight: $(ps_value victim weight)"
tmux_do send-keys -t top /
until_true 5 shows "Only:" || fail "no filter"
tmux_do send-keys -t top zzz Enter
until_true 5 shows_not "latency  77" || fail "the filter"
tmux_do send-keys -t top / Enter
until_true 5 shows victim || fail "the filter stays: $(cat "$work/screen")"

# What it is sorted by, and its class; the line at the bottom says it.
background "$PEER" library --name another --daemon "$daemon_pid" >"$work/peer2"
peer2=$pid
until_true 5 has_name another || fail "no second peer"
first_is() {
	tmux_do capture-pane -p -t top >"$work/screen" && [ "$(grep -oE '(victim|another)' "$work/screen" | head -n 1)" = "$1" ]
}
until_true 10 first_is victim || fail "by id: $(cat "$work/screen")"
tmux_do send-keys -t top s
until_true 10 first_is another || fail "by name: $(cat "$work/screen")"
tmux_do send-keys -t top r
until_true 10 first_is victim || fail "the other way round: $(cat "$work/screen")"
was=$(ps_value another class)
tmux_do send-keys -t top j j j c
changed() {
	[ "$(ps_value another class)" != "$was" ] || [ "$(ps_value victim class)" != "$was" ]
}
until_true 10 changed || fail "the class: $(tmux_do capture-pane -p -t top)"

# Who is asked about ends: the yes is for nobody else.
tmux_do send-keys -t top r
until_true 10 first_is another || fail "back again: $(cat "$work/screen")"
tmux_do send-keys -t top k k k f
until_true 10 shows "Freeze another?" || fail "no question: $(cat "$work/screen")"
kill "$peer2"
until_true 10 shows "It is gone: nothing was done." || fail "the question stays: $(cat "$work/screen")"
tmux_do send-keys -t top y t
until_true 10 shows_not another || fail "it stays: $(cat "$work/screen")"
state_is frozen && fail "another one was frozen"

# Gone and back.
stop_daemon
until_true 10 shows "No cotenantd answers" || fail "the daemon is gone: $(cat "$work/screen")"
start_daemon
until_true 10 shows "policy pools" || fail "it is back: $(cat "$work/screen")"
tmux_do send-keys -t top q
until_true 10 shows "ended: 0" || fail "it does not end: $(cat "$work/screen")"
tmux_do kill-server
kill "$pid" 2>/dev/null
stop_daemon
finish
