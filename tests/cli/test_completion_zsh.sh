#!/bin/sh
# The completion for zsh: what it hands to zsh's own functions, which are played here.
. "$SOURCE_DIR/tests/cli/lib.sh"

command -v zsh >/dev/null || exit 77
ln -s "$COTENANT" "$work/cotenant"
PATH=$work:$PATH
COTENANT_RUNTIME_DIR=$work/none
export PATH COTENANT_RUNTIME_DIR

# offered WORD...: what is offered for the last word, one a line; options as _arguments takes them.
offered() {
	zsh -f -c '
		_call_program() { shift; "$@" }
		compadd() { print -l -- "$@" }
		_describe() { print -l -- ${(P)2} }
		_normal() { print -l -- normal $words }
		_arguments() {
			local spec
			print -l -- "$@"
			for spec in "$@"; do
				[[ $spec == --$value=* ]] && eval ${spec##*:}
			done
			[[ -z $value && ${@[-1]} == *_cotenant_targets ]] && _cotenant_targets
		}
		file=$1 value=$2
		shift 2
		words=("$@") CURRENT=$#
		source $file 2>/dev/null
	' zsh "$SOURCE_DIR/packaging/completion/_cotenant" "$value" "$@" >"$work/out" 2>"$work/err"
	empty "$work/err"
}

value=
offered cotenant re
says "$work/out" "reproduce:repeat a published evaluation"
offered cotenant help s
says "$work/out" "stats:show slices"
offered cotenant run --
says "$work/out" "--class=[latency, or batch (the default)]:class: _cotenant_value class"
says "$work/out" "--solo[Stay outside the pools]"
offered cotenant sim --
says "$work/out" ":timeline:_files"
says "$work/out" ":learn:_files"
offered cotenant reproduce preemption --
says "$work/out" "--quick["
offered cotenant freeze ""
says "$work/out" "pool:latency"
offered cotenant run --solo -- grep --f
[ "$(tr '\n' ' ' <"$work/out")" = "normal grep --f " ] || fail "the program's own: $(cat "$work/out")"
value=class
offered cotenant run --class ""
grep -qx latency "$work/out" || fail "no values of --class: $(cat "$work/out")"
value=scheduler
offered cotenant sim --scheduler ""
grep -qx spart "$work/out" || fail "no schedulers"
finish
