# Helpers of the tests of the program. Needs COTENANT (the program) and SOURCE_DIR.
# shellcheck shell=sh

: "${COTENANT:?the program to test}" "${SOURCE_DIR:?the source folder}"

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 1' INT TERM
LC_ALL=C
export LC_ALL
n_failed=0

fail() {
	echo "FAILED: $*" >&2
	n_failed=$((n_failed + 1))
}

# expect STATUS ARGUMENT...: runs cotenant; what it says goes to $work/out and $work/err.
expect() {
	expected=$1
	shift
	"$COTENANT" "$@" >"$work/out" 2>"$work/err" </dev/null
	status=$?
	[ "$status" -eq "$expected" ] ||
		fail "cotenant $*: status $status, expected $expected: $(cat "$work/err")"
}

# says FILE TEXT: the file has the text in it, with nothing special about its characters.
says() {
	grep -qF -e "$2" "$1" || fail "expected '$2' in: $(head -c 2000 "$1")"
}

empty() {
	[ ! -s "$1" ] || fail "expected nothing, found: $(head -c 2000 "$1")"
}

# The only names in a folder, sorted, blanks between them.
names_in() {
	(cd "$1" && for name in * .[!.]*; do [ -e "$name" ] && printf '%s ' "$name"; done) | sed 's/ $//'
}

finish() {
	[ "$n_failed" -eq 0 ] || exit 1
	exit 0
}

# A small scenario with preemptions.
small_scenario() {
	cat <<'YAML'
schema: cotenant.scenario/1
gpu: k20c
scheduler: ppq
preempt: switch
seed: 7
block_jitter_cv: 0.2
stop: {runs: 2}
apps:
  - name: urgent
    priority: 1
    program:
      - cpu_us: 50
      - h2d_bytes: 65536
      - kernel: {name: short, blocks: 40, block_us: 10, blocks_per_sm: 4, regs_per_block: 4096}
      - sync
      - d2h_bytes: 4096
  - name: batch
    program:
      - cpu_us: 10
      - kernel: {name: long, blocks: 400, block_us: 30, blocks_per_sm: 4, regs_per_block: 8192}
YAML
}

# It would take hours.
endless_scenario() {
	small_scenario | sed -e 's/^stop:.*/stop: {at_us: 900000000000}/'
}
