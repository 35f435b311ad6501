#!/bin/bash
# The third part of ./dev demo: a real CUDA program, run as it is and again with its kernels
# rewritten as workers that are asked to leave in the middle of their work. On a machine without a
# GPU it runs on the emulated one, which executes the kernels' PTX.
#   demo-kernels.sh BIN_DIR [BENCHMARK]
set -eu
cotenant=$1/cotenant
program=$1/kernels-run
benchmark=${2:-BlackScholes}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The same program twice: --evict 66@20 has half of the workers leave after 20 ms, all@100 all of them
# after 100 ms; what they leave is launched again.
arguments=("$benchmark" --size small --pass workers --evict "66@20,all@100")
if [ -e /dev/nvidiactl ]; then
	gpu="the GPU of this machine"
	run=("$program")
	shown="kernels-run ${arguments[*]}"
else
	gpu="an emulated H200"
	run=("$cotenant" run --emulate h200 -- "$program")
	shown="cotenant run --emulate h200 -- kernels-run ${arguments[*]}"
fi

cat <<END

Now a CUDA program on $gpu, plain and with its kernels as workers that are evicted
(left: thread blocks that they leave; again: launches of what is left):

  $shown

END
"${run[@]}" "${arguments[@]}" --output "$work/lines" 2>"$work/errors" || {
	cat "$work/errors" "$work/lines" 2>/dev/null
	exit 1
}

# field NAME LINE: the value of a key in a line of JSON.
field() {
	sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p" <<<"$2"
}

printf '%-26s %8s %9s %9s %9s   %s\n' "" blocks launches left again "result"
while read -r line; do
	case $(field pass "$line") in
	plain)
		right=differs
		[ "$(field n_wrong "$line")" != 0 ] || right="same as the CPU's"
		printf '%-26s %8s %9s %9s %9s   %s\n' "plain" "$(field blocks "$line")" \
			"$(field launches "$line")" - - "$right"
		;;
	workers)
		same=differs
		[ "$(field n_different "$line")" != 0 ] || same="same as plain, bit for bit"
		printf '%-26s %8s %9s %9s %9s   %s\n' "workers, evicted" "$(field blocks "$line")" \
			"$(field launches "$line")" "$(field left_over "$line")" \
			"$(field resumed "$line")" "$same"
		;;
	esac
done <"$work/lines"
cat <<'END'

Next: cotenant ptx FILE.ptx --pass workers             rewrite a kernel and look at it
      kernels-run --help                               other kernels, passes and quotas
END
