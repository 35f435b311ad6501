#!/bin/sh
# Requests that are told of as no shim does, under the policy that plans for them: root's service is heard with each
# of its own, and nobody's program stands still for good.
# shellcheck disable=SC2086 # $as_enemy is several words
. "$SOURCE_DIR/tests/attack/lib.sh"

shim=$PROGS/shim_peer

# As much as can be known of a request: what a policy computes with it is most.
cat >"$work/api.yaml" <<END
schema: cotenant.knowledge/1
program: serve
class: latency
gpu: "NVIDIA H200"
sms: [8, 32, 132]
inputs:
  - size: 4
    time_ns: [90000000, 3000000, 2000000]
    tasks: [$(yes 0, | head -4095) 0]
kernels:
  - name: one
    time_ns: [20000, 700, 400]
    bytes_per_s: [60000000000, 600000000000, 900000000000]
    ipc_milli: [1, 1, 1]
END
cat >"$work/conf" <<END
schema: cotenantd/1
policy: laius
dram_gb_per_s: 4800
knowledge:
  - {name: api, file: $work/api.yaml}
allow:
  max_weight: 1000
  other_users: true
END

# count KEY: of the requests of root's service.
count() {
	"$COTENANT" ps --json | awk -v key="\"$1\":" '
		$1 == "\"name\":" { api = $2 ~ /"api"/; uid = "" }
		$1 == "\"uid\":" { uid = $2 }
		api && uid == "0," && $1 == key { gsub(/,/, "", $2); print $2; exit }'
}

more_are_planned() {
	n_planned=$(count planned)
	[ "${n_planned:-0}" -gt "$1" ]
}

# play_queries HOW SECONDS ARGUMENT...: meanwhile each request of root's service is taken, with its plan.
play_queries() {
	planned_before=$(count planned)
	begins=joined
	play queries "$2" "$@"
	between 1 200 "$(value joined "$work/words")" || fail "$*: $(cat "$work/words")"
	until_true 5 more_are_planned $((planned_before + 20)) ||
		fail "$*: of root's service $(count planned) requests had a plan, $planned_before before"
	[ "$(count left_out)" = 0 ] || fail "$*: of root's service $(count left_out) requests were left out"
}

start_as new
start_victim
background "$ATTACK" service 600 >"$work/api"
background "$shim" --name train parts:132:8:0 "serve:1000" >"$work/train"
until_true 5 more_are_planned 20 || fail "no service: $("$COTENANT" ps --json)"

# Places in the core's table are the user's budget: what is too many is left out.
play_queries endless 2 100
play_queries planned 2 20 api
# They come and go as fast as can be.
play_queries short 2 30
play_queries short 1 1 api
# Numbers that are nobody's, or another one's.
play_queries odd 2 30 api
# Who is not asked is not heard.
play_queries short 1 10 crowd batch
play_queries odd 1 10 crowd batch

"$COTENANT" stats --json >"$work/out"
says "$work/out" '"fallbacks": 0'
end_victim
stop_daemon
[ "$status" -eq 0 ] || fail "status $status"
finish
