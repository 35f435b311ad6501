#!/bin/sh
# The completion in a real bash.
. "$SOURCE_DIR/tests/cli/lib.sh"

command -v bash >/dev/null || exit 77
mkdir "$work/d" "$work/d/folder"
small_scenario >"$work/d/s.yaml"
touch "$work/d/other.txt"

# complete_as "EXPECTED" WORD...: what is offered after these words, sorted; the last one is being
# typed. bash hands over "--a=b" as three words.
complete_as() {
	expected=$1
	shift
	found=$(cd "$work/d" && bash -c '
		source "$0"
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_cotenant 2>/dev/null
		((${#COMPREPLY[@]})) && printf "%s\n" "${COMPREPLY[@]}"
	' "$SOURCE_DIR/packaging/completion/cotenant.bash" "$COTENANT" "$@" | sort | tr '\n' ' ')
	[ "${found% }" = "$expected" ] || fail "$*: offers '$found', expected '$expected'"
}

complete_as "report reproduce" rep
complete_as "--help --usage --version cdi compare doctor explain freeze help inspect list model plan policy profile ps ptx record report reproduce run scenario-from set sim stats sweep thaw top" ""
complete_as "dss dss-printed" sim --scheduler d
complete_as "ppq ppq-shared" sim --scheduler = ppq
complete_as "dss dss-printed fcfs npq ppq ppq-shared rollover rollover-elastic rollover-history rollover-naive smqos smqos-hasty smqos-printed spart spart-catchup timeslice" sim --scheduler =
complete_as "drain switch" sim --preempt = ""
complete_as "folder s.yaml" sim ""
complete_as "--scheduler= --seed= --set=" sim --s
complete_as "gpus policies schedulers traces" list ""
cp "$SOURCE_DIR/tests/ptx/pass/golden.ptx" "$work/d/k.ptx"
complete_as "folder k.ptx" ptx ""
complete_as "--pass=" ptx --p
complete_as "slice" ptx --pass = s
complete_as "80 86 89" inspect --arch = 8
complete_as "s.yaml" inspect s
complete_as "early task waits" ptx k.ptx --kernel = ""
complete_as "--list" ptx k.ptx --l
rm "$work/d/k.ptx"
complete_as "consolidation laius preemption smqos" reproduce ""
complete_as "check consolidate heat power powers time train" model ""
complete_as "folder s.yaml" model time ""
complete_as "--min-gain=" model consolidate --m
complete_as "--whole" model consolidate --w
complete_as "--quick" reproduce preemption --q
complete_as "batch latency" run --class = ""
complete_as "--name=" run --n
complete_as "--weight=" run --class = latency --w
complete_as "auto drain switch" set --mode = ""
complete_as "unknown" set --block = ""
complete_as "auto" set --slice = a
complete_as "batch latency" set --class = ""
complete_as "--weight=" set --w
complete_as "--csv --format= --help --json --usage --version --wide" stats --
complete_as "prometheus table" stats --format ""
complete_as "--block=" run --bl
complete_as "parts pools" policy p
complete_as "auto" policy a
complete_as "--json" policy --js
complete_as "--json" freeze --j
complete_as "--json" sim --j
touch "$work/d/x.json"
complete_as "folder x.json" sim --json = ""
complete_as "x.json" freeze --json = x
complete_as "s.yaml" sim --json s
rm "$work/d/x.json"
complete_as "--offline" doctor --o
complete_as "h200 k20c" doctor --emulate = ""
COTENANT_RUNTIME_DIR=$work/d complete_as "pool:batch pool:latency pool:shared" freeze pool
complete_as "batch latency shared" freeze pool :
complete_as "latency" freeze pool : l
# Behind the options of run stands another command.
complete_as "chmod" run --class = latency -- chmo
complete_as "chmod" run -n x chmo
complete_as "chmod" run --block = 20us chmo
finish
