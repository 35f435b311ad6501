#!/bin/sh
# How much of its requests' time a program waits for the GPU: of one whose kernels take long nearly all, however it
# waits; of one that is busy itself meanwhile hardly any. `cotenant explain` says so, and ps how long a second.
. "$SOURCE_DIR/tests/integration/daemon/lib.sh"
need_emulator
start_daemon

# part NAME: per cent, rounded down; nothing: it is not known yet.
part() {
	"$COTENANT" explain "$1" | sed -n 's/^  waits for the GPU  *\([0-9]*\).*/\1/p'
}

# is_part NAME LEAST MOST
is_part() {
	known=$(part "$1")
	[ -n "$known" ] && [ "$known" -ge "$2" ] && [ "$known" -le "$3" ]
}

# play NAME LEAST MOST OPTION...
play() {
	name=$1 least=$2 most=$3
	shift 3
	background "$COTENANT" run --name "$name" --p99 10s -- "$PROGS/serve" --gap-us 1000 --tasks 1 "$@" >"$work/$name" 2>&1
	until_true 60 is_part "$name" "$least" "$most" ||
		fail "$name: $(cat "$work/$name"; "$COTENANT" explain "$name")"
	until_true 10 waits_a_second || fail "$name: $(ps_value "$name" waited_ms_per_second)"
	kill "$pid"
	wait "$pid" || fail "$name: $(cat "$work/$name")"
}

waits_a_second() {
	case $(ps_value "$name" waited_ms_per_second) in
	'' | null) return 1 ;;
	esac
}

play waits 50 100 --block-us 5000
play asks 50 100 --block-us 5000 --poll 1
play works 0 25 --block-us 10 --own-us 5000
stop_daemon
[ "$status" = 0 ] || fail "the daemon ended with $status"
finish
