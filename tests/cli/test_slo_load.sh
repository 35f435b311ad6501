#!/bin/sh
# The load of a latency program rises: with the usual slices it misses its target by far, and `slo` keeps it and still
# gives batch programs a share. Deterministic: simulated.
. "$SOURCE_DIR/tests/cli/lib.sh"

# play SECONDS OPTION...: the first so many seconds, 20 of them at the low load; "requests missed runs".
play() {
	seconds=$1
	shift
	sed -e "s/^stop: .*/stop: {at_us: ${seconds}000000}/" -e 's/curve_step_us: 40000000/curve_step_us: 20000000/' \
		"$SOURCE_DIR/scenarios/slo-load.yaml" >"$work/s.yaml"
	expect 0 sim "$work/s.yaml" "$@"
	awk '{ gsub(",", "") }
		$1 == "gemm" && $2 != "batch" { runs = $2 }
		$1 == "resnet" && $2 == "latency" { n = $3; missed = $3 * $(NF - 1) / 100 }
		END { printf "%d %d %d\n", n, missed, runs }' "$work/out"
}

# between FROM TO OPTION...: "share of requests that missed, in 1/1000; share of the time that gemm had, in 1/1000".
between() {
	from=$1
	to=$2
	shift 2
	play "$from" "$@" >"$work/before"
	play "$to" "$@" >"$work/after"
	cat "$work/before" "$work/after" | awk -v s=$((to - from)) '
		NR == 1 { n = $1; missed = $2; runs = $3 }
		NR == 2 { printf "%d %d\n", ($2 - missed) * 1000 / ($1 - n), ($3 - runs) * 5.47 / s }'
}

between 22 25 --policy pools >"$work/pools"
read -r missed batch <"$work/pools"
[ "$missed" -gt 100 ] || fail "the usual slices miss only $missed of 1000"
between 25 40 >"$work/slo"
read -r missed batch <"$work/slo"
[ "$missed" -le 10 ] || fail "slo misses $missed of 1000"
[ "$batch" -ge 40 ] || fail "slo gives batch programs $batch of 1000"
# A second after the step nobody waits any longer.
between 21 22 >"$work/slo"
read -r missed batch <"$work/slo"
[ "$missed" -le 10 ] || fail "a second after the step slo misses $missed of 1000"
# At the low load they have nearly all, but for a moment after 15 s in which the time alone is measured.
between 10 15 >"$work/slo"
read -r missed batch <"$work/slo"
[ "$missed" -le 10 ] || fail "slo misses $missed of 1000 at the low load"
[ "$batch" -ge 800 ] || fail "slo gives batch programs $batch of 1000 at the low load"

# Where MPS costs requests a tenth, a short target is kept outside it only.
# solo WHERE POLICY: misses of 1000 requests of the first 20 s; and of the training's rate alone, in 1/1000.
solo() {
	sed -e 's/^stop: .*/stop: {at_us: 20000000}/' -e "s/solo: true/solo: $1/" "$SOURCE_DIR/scenarios/slo-solo.yaml" >"$work/s.yaml"
	expect 0 sim "$work/s.yaml" --policy "$2"
	awk '{ gsub(",", "") }
		$1 == "training" && $2 != "batch" { runs = $2 }
		$1 == "bert" && $2 == "latency" { missed = $(NF - 1) * 10 }
		END { printf "%d %d\n", missed, runs * 5.47 / 20 }' "$work/out"
}
solo false pools >"$work/pools"
read -r missed batch <"$work/pools"
[ "$missed" -gt 60 ] || fail "pools miss only $missed of 1000"
solo true slo >"$work/slo"
read -r missed batch <"$work/slo"
[ "$missed" -le 20 ] || fail "outside MPS slo misses $missed of 1000"
[ "$batch" -ge 60 ] || fail "outside MPS slo gives batch programs $batch of 1000"

finish
