#!/bin/sh
# The manual pages and the completion know every option that --help shows, and no other.
. "$SOURCE_DIR/tests/cli/lib.sh"
: "${COTENANTD:?the daemon}"

completion=$SOURCE_DIR/packaging/completion/cotenant.bash

# The long options in a text, one per line.
options_in() {
	grep -oE -e '--[a-z][a-z-]*' | sort -u
}

# The page that has cotenant-COMMAND in the line below its NAME. Commands may share one only if they have the same options.
page_of() {
	for page in "$SOURCE_DIR"/docs/man/*.scd; do
		sed -n '/^# NAME/{n;n;p;}' "$page" | grep -qE "(^| )cotenant-$1(,| )" || continue
		echo "${page##*/}"
		return
	done
}

# agree NAME PAGE COMPLETION_CASE ARGUMENT...
agree() {
	name=$1
	page=$SOURCE_DIR/docs/man/$2
	case_name=$3
	shift 3
	expect 0 "$@" --help
	# argp puts options at the beginning of a line.
	sed -nE 's/^ +(-[^ ]+, +)*(--[a-z-]+).*/\2/p' "$work/out" | sort -u >"$work/help"
	[ -s "$work/help" ] || fail "$name: no options in --help"
	sed -n '/^# OPTIONS/,/^# [^O]/p' "$page" | grep '^\*-' | options_in >"$work/page"
	cmp -s "$work/help" "$work/page" ||
		fail "$name: --help and $page differ: $(diff "$work/help" "$work/page" | grep '^[<>]')"
	[ -n "$case_name" ] || return
	{
		sed -n '/^_cotenant_options()/,/^}/p' "$completion" |
			sed -nE "/^	([a-z-]+ \| )*$case_name( \| [a-z-]+)*\)/{:more;p;/;;/q;n;b more}"
		grep 'local common=' "$completion"
	} | options_in >"$work/completion"
	cmp -s "$work/help" "$work/completion" ||
		fail "$name: --help and the completion differ: $(diff "$work/help" "$work/completion" |
			grep '^[<>]')"
}

expect 0 --help
sed -n '/^Commands:/,/^$/s/^  \([a-z][a-z-]*\) .*/\1/p' "$work/out" | grep -vxE 'help|reproduce' >"$work/commands"
[ "$(wc -l <"$work/commands")" -ge 18 ] || fail "commands are missing: $(cat "$work/commands")"
while read -r command <&3; do
	page=$(page_of "$command")
	if [ -n "$page" ]; then
		agree "$command" "$page" "$command" "$command"
	else
		fail "no page for $command"
	fi
done 3<"$work/commands"
agree reproduce cotenant-reproduce.1.scd reproduce reproduce preemption
for study in consolidation smqos laius; do
	agree "reproduce-$study" "cotenant-reproduce-$study.1.scd" "" reproduce "$study"
done
agree cotenant cotenant.1.scd ""
program=$COTENANT
COTENANT=$COTENANTD
agree cotenantd cotenantd.8.scd ""
for name in kernels-run smguard-app; do
	COTENANT=$(dirname "$program")/$name
	agree "$name" "$name.1.scd" ""
done
COTENANT=$program

# Every command is completed.
for command in $(cat "$work/commands") reproduce; do
	grep -q "_cotenant_words '[a-z -]*\<$command\>" "$completion" || fail "no completion of $command"
done
if command -v scdoc >/dev/null; then
	for page in "$SOURCE_DIR"/docs/man/*.scd; do
		scdoc <"$page" >/dev/null || fail "$page is not scdoc"
	done
fi
finish
