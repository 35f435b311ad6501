#!/bin/sh
# Every command explains itself, and wrong arguments end with status 2 and one complaint.
. "$SOURCE_DIR/tests/cli/lib.sh"

expect 0 --help
for command in run ps set freeze thaw stats policy explain record report scenario-from profile doctor cdi sim compare sweep plan model reproduce ptx list help; do
	says "$work/out" "  $command "
done
empty "$work/err"
expect 0 help
says "$work/out" "Usage: cotenant "
expect 0 -h
expect 0 --version
grep -qE '^cotenant [0-9]+\.[0-9]+\.[0-9]+' "$work/out" || fail "--version: $(cat "$work/out")"

version=$(sed -n 's/^project(cotenant VERSION \([0-9.]*\).*/\1/p' "$SOURCE_DIR/CMakeLists.txt")
says "$work/out" "cotenant $version"

for command in run ps set freeze thaw stats policy explain record report scenario-from profile doctor cdi sim compare sweep plan model reproduce ptx list; do
	for how in --help -h; do
		expect 0 "$command" "$how"
		says "$work/out" "Usage: cotenant $command"
		empty "$work/err"
	done
	cp "$work/out" "$work/long"
	expect 0 help "$command"
	cmp -s "$work/out" "$work/long" || fail "help $command differs from $command --help"
done
# How far it is, where no terminal is, only when that is asked for.
for command in sim compare sweep plan profile "reproduce laius"; do
	# shellcheck disable=SC2086 # two words
	expect 0 $command --help
	says "$work/out" "--progress"
done
small_scenario >"$work/s.yaml"
expect 0 sim "$work/s.yaml"
empty "$work/err"
cp "$work/out" "$work/quiet"
expect 0 sim "$work/s.yaml" --progress
says "$work/err" "simulating: ended after "
cmp -s "$work/out" "$work/quiet" || fail "--progress changes the outcome"

# JSON is asked for in one way everywhere.
# (run becomes the program, and prints nothing of its own.)
expect 0 --help
sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' "$work/out" | grep -vxE 'run|help|reproduce' >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 22 ] || fail "commands are missing: $(cat "$work/commands")"
# shellcheck disable=SC2013 # words
for command in $(cat "$work/commands"); do
	expect 0 "$command" --help
	says "$work/out" "--json[=FILE]"
done
for study in preemption smqos laius consolidation; do
	expect 0 reproduce "$study" --help
	says "$work/out" "--json[=FILE]"
done
expect 0 reproduce consolidation --help
says "$work/out" "--json"
expect 0 reproduce preemption --help
says "$work/out" "--quick"

# wrong SENTENCE ARGUMENT...: status 2, the sentence on stderr, nothing on stdout.
wrong() {
	sentence=$1
	shift
	expect 2 "$@"
	says "$work/err" "$sentence"
	empty "$work/out"
}

small_scenario >"$work/s.yaml"
wrong "Usage: cotenant"
wrong "unknown command 'simulate'" simulate
# A second is a time.
COTENANT_RUNTIME_DIR=$work expect 3 set x --slice 1s
wrong "expected a time such as" set x --slice 1sm
wrong "unknown command 'sm' (did you mean 'sim'?);" sm
wrong "unknown list 'gpu' (did you mean 'gpus'?)" list gpu
wrong "unknown scheduler 'pqp' (did you mean 'ppq'?)" sim "$work/s.yaml" --scheduler pqp
wrong "unknown command 'x'" help x
wrong "unrecognized option '--bogus'" sim --bogus
wrong "there is no option '--schedler' (did you mean '--scheduler'?)" sim --schedler ppq "$work/s.yaml"
wrong "--class is 'bacth' (did you mean 'batch'?)" set x --class bacth
wrong "--class is 'latncy' (did you mean 'latency'?)" profile --class latncy -- true
wrong "unknown part 'powre' (did you mean 'power'?)" model powre
expect 125 run --class latncy -- true
says "$work/err" "the class is 'latncy' (did you mean 'latency'?)"
expect 125 run --emulate h20 -- true
says "$work/err" "the GPU to emulate is 'h20' (did you mean 'h200'?)"
expect 125 run --solp -- true
says "$work/err" "there is no option '--solp' (did you mean '--solo'?)"
wrong "there is no study 'preemtion' (did you mean 'preemption'?)" reproduce preemtion
wrong "no scenario given" sim
wrong "one scenario at a time" sim "$work/s.yaml" "$work/s.yaml"
wrong "unknown scheduler 'best'; expected one of fcfs" sim "$work/s.yaml" --scheduler best
wrong "expected switch or drain" sim "$work/s.yaml" --preempt stop
for seed in -1 x 1x 9223372036854775808 99999999999999999999 ''; do
	wrong "--seed is '$seed'" sim "$work/s.yaml" --seed="$seed"
done
wrong "needs --json" sim "$work/s.yaml" --allocation
wrong "same file" sim "$work/s.yaml" --json="$work/x" --report "$work/x"
wrong "same file" sim "$work/s.yaml" --json="$work/x" --timeline "$work/../$(basename "$work")/x"
wrong "is the scenario itself" sim "$work/s.yaml" --json="$work/s.yaml"
wrong "is the scenario itself" compare "$work/s.yaml" --json="$work/s.yaml"
wrong "standard output" sim "$work/s.yaml" --timeline -
wrong "expected schedulers, policies, gpus or traces" list
wrong "unknown list 'planets'" list planets
wrong "one list at a time" list gpus traces
wrong "" reproduce
wrong "" reproduce everything
finish
