#!/bin/sh
# usage: bench/smguard/said.sh BIN [SECONDS]
# What it is worth that a program says how its streams share the GPU (include/cotenant/share.h): the time of requests in
# one stream while another one grinds. examples/share/two.c alone, saying nothing, and saying that the grinding has a
# quarter of the SMs, each for SECONDS (20) under the policy smguard; and without cotenant. BIN: the folder of
# cotenant and cotenantd. Writes CSV to standard output.
set -eu
bin=$(cd "${1:?the folder of cotenant}" && pwd)
seconds=${2:-20}
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
export COTENANT_RUNTIME_DIR="$work/run" COTENANT_SOCKET="$work/run/cotenantd.sock"
daemon=
# The daemon ends its pool before its folder goes.
end() {
	[ -z "$daemon" ] || {
		kill "$daemon" 2>/dev/null || true
		wait "$daemon" || true
	}
	rm -rf "$work"
}
trap end EXIT

"${CC:-cc}" -O2 -std=c11 -D_POSIX_C_SOURCE=200809L -I"$root/include" "$root/examples/share/two.c" -o "$work/two" \
	-ldl -pthread
printf 'schema: cotenantd/1\npolicy: smguard\n' >"$work/conf"
"$bin/cotenantd" --config "$work/conf" >"$work/log" 2>&1 &
daemon=$!
n=0
until "$bin/cotenant" ps >/dev/null 2>&1; do
	n=$((n + 1))
	[ $n -lt 100 ] || {
		cat "$work/log" >&2
		exit 1
	}
	sleep 0.1
done

# row WAY COMMAND...
row() {
	way=$1
	shift
	timeout $((seconds + 120)) "$@" >"$work/out"
	printf '%s,%s\n' "$way" "$(awk '
		{ sub(/:/, "", $1); launches[$1] = $2; most[$1] = $6; median[$1] = $12 }
		END { printf "%d,%d,%d,%d", launches["answers"], median["answers"], launches["grinding"],
			most["grinding"] }' "$work/out")"
}
shared() {
	row "$1" "$bin/cotenant" run --required --class latency --reserve 50% -- "$work/two" "$seconds" "$2"
}

echo "way,answers,median_us,grinding_launches,grinding_blocks_at_most"
row plain "$work/two" "$seconds" silent
shared alone alone
shared silent silent
shared told 25%
