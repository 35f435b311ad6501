#!/bin/bash
# The steps of the first hour; scripts/walk runs them and keeps what they print as a page.
set -u
cd "$HOME" || exit 1
apt-get update -qq >/dev/null 2>&1
export DEBIAN_FRONTEND=noninteractive
whole=$(date +%s)

# step KIND COMMANDS: shows the commands, runs them here, shows what was printed (as far as it goes, 24 lines) and how
# long it took. KIND: how a test compares it.
step() {
	printf '```sh\n%s\n```\n\n' "$2"
	local begin end
	begin=$(date +%s%N)
	eval "$2" >said 2>&1 || {
		cat said
		echo "FAILED: $2"
		exit 1
	} >&2
	end=$(date +%s%N)
	if [ -s said ] && [ "$1" != silent ]; then
		printf '```%s\n' "$1"
		head -n 24 said | sed 's/ *$//'
		[ "$(wc -l <said)" -le 24 ] || echo ...
		printf '```\n\n'
	fi
	awk -v ns=$((end - begin)) 'BEGIN { printf "It took %.1f s.\n\n", ns / 1e9 }'
}

cat <<'END'
# The first hour, as it went

What a new user types who has Debian 12 and the packages, what was printed, and how long it took. `scripts/walk` ran it
in a clean Debian 12 without a GPU and wrote this page. The [tutorial](tutorial.md) explains more.

## Install

END
step silent 'apt-get install -y --no-install-recommends /packages/*.deb'
step text 'cotenant --version'
cat <<'END'
## Two policies on a mix of one's own

END
step output "cat >mix.yaml <<'END'
schema: cotenant.scenario/1
gpu: h200
stop: {at_us: 5000000}
apps:
  - name: answers
    class: latency
    p99: 3ms
    arrivals: {per_s: 200}
    program:
      - kernel: {name: answer, blocks: 132, block_us: 400, blocks_per_sm: 2, regs_per_block: 16384}
      - sync
  - name: training
    program:
      - kernel: {name: step, blocks: 1320, block_us: 900, blocks_per_sm: 1, regs_per_block: 65536}
      - sync
END
cotenant compare mix.yaml --policy timeslice,pools"
cat <<'END'
Time slicing, what a GPU does by itself, or pools: look at `answers p99` and `training rate`.

## A target beside a training, on the emulated GPU

On a machine with a GPU the same commands go without `--emulate h200`; the programs are then yours, and the service should start first
([why](how-to/target.md)). The emulated GPU computes on this machine's
processors, so how long a request takes hangs on what else they do.

END
# shellcheck disable=SC2016 # for the shell of the page
step silent 'export COTENANT_EMU_DIR=$(mktemp -d) COTENANT_EMU_SMS=16
export COTENANT_RUNTIME_DIR=$COTENANT_EMU_DIR/run
cotenant run --emulate h200 --class batch --name train -- \
	kernels-run BlackScholes --size small --repeat 1000 >train.log 2>&1 &
timeout 60 sh -c "until cotenant ps 2>&1 | grep -q train; do sleep 0.1; done"'
step silent 'cotenant run --emulate h200 --p99 100ms --name serve -- \
	kernels-run nn --blocks 1000 --repeat 1000 >serve.log 2>&1 &
timeout 60 sh -c "until cotenant stats | grep -q \"serve .*p99 100ms .* ms \"; do sleep 0.1; done"; sleep 3'
step text 'cotenant ps; cotenant stats | head -n 16'
step text 'cotenant explain serve'
# shellcheck disable=SC2016
step silent 'kill $(jobs -p); wait || true'
echo "The whole walk took $(($(date +%s) - whole)) s."
