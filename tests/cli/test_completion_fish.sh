#!/bin/sh
# The completion in a real fish.
. "$SOURCE_DIR/tests/cli/lib.sh"

command -v fish >/dev/null || exit 77
ln -s "$COTENANT" "$work/cotenant"
PATH=$work:$PATH
HOME=$work
COTENANT_RUNTIME_DIR=$work/none
export PATH HOME COTENANT_RUNTIME_DIR
unset XDG_CONFIG_HOME XDG_DATA_HOME

# offers LINE WORD: for the end of the line.
offers() {
	timeout 60 fish -N -c "source '$SOURCE_DIR/packaging/completion/cotenant.fish'; cd '$work'; complete -C '$1'" \
		>"$work/out" 2>"$work/err" </dev/null
	cut -f 1 "$work/out" | grep -qxF -e "$2" || fail "'$1': no '$2' in: $(cut -f 1 "$work/out" | tr '\n' ' ')"
	empty "$work/err"
}

offers "cotenant re" reproduce
offers "cotenant help st" stats
offers "cotenant run --cl" --class
offers "cotenant run --class " latency
offers "cotenant run --class=b" --class=batch
offers "cotenant sim --scheduler s" spart
offers "cotenant compare --policy p" pools
touch "$work/x.json"
offers "cotenant sim --timeline x" x.json
offers "cotenant list " gpus
offers "cotenant reproduce " laius
offers "cotenant model h" heat
offers "cotenant freeze pool" pool:batch
# Behind -- stands a command line of its own.
offers "cotenant run --solo -- cotenant sta" stats
finish
