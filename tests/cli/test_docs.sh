#!/bin/sh
# The manual pages and the completion know every option that --help shows, and no other.
. "$SOURCE_DIR/tests/cli/lib.sh"
: "${COTENANTD:?the daemon}"

completion=$SOURCE_DIR/packaging/completion/cotenant.bash

# The long options in a text, one per line.
options_in() {
	grep -oE -e '--[a-z][a-z-]*' | sort -u
}

# The page that has cotenant-COMMAND in the line below its NAME; several commands may share one.
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
	# A shared page has more; they are looked at with the command that gave it its name.
	case $page in
	*/cotenant-ps.1.scd) grep -xF -f "$work/help" "$work/page" >"$work/shared" && mv "$work/shared" "$work/page" ;; # stats has more
	*"/cotenant-$name.1.scd" | */cotenant.1.scd | */cotenantd.8.scd) ;;
	*) grep -xF -f "$work/help" "$work/page" >"$work/shared" && mv "$work/shared" "$work/page" ;;
	esac
	cmp -s "$work/help" "$work/page" ||
		fail "$name: --help and $page differ: $(diff "$work/help" "$work/page" | grep '^[<>]')"
	[ -n "$case_name" ] || return
	{
		sed -n '/^_cotenant_options()/,/^}/p' "$completion" |
			sed -nE "/^	([a-z]+ \| )*$case_name( \| [a-z]+)*\)/{:more;p;/;;/q;n;b more}"
		grep 'local common=' "$completion"
	} | options_in >"$work/completion"
	cmp -s "$work/help" "$work/completion" ||
		fail "$name: --help and the completion differ: $(diff "$work/help" "$work/completion" |
			grep '^[<>]')"
}

for command in run ps set freeze thaw stats explain profile doctor sim compare model inspect ptx list; do
	agree $command "$(page_of $command)" $command $command
done
agree reproduce cotenant-reproduce.1.scd reproduce reproduce preemption
agree consolidation cotenant-reproduce.1.scd "" reproduce consolidation
agree reproduce-smqos cotenant-reproduce-smqos.1.scd "" reproduce smqos
agree cotenant cotenant.1.scd ""
program=$COTENANT
COTENANT=$COTENANTD
agree cotenantd cotenantd.8.scd ""
COTENANT=$program

# Every command has a page and is completed.
expect 0 --help
sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/out" >"$work/commands"
while read -r command; do
	[ "$command" = help ] || [ -n "$(page_of "$command")" ] || fail "no page for $command"
	grep -q "_cotenant_words '[a-z ]*\<$command\>" "$completion" || fail "no completion of $command"
done <"$work/commands"
if command -v scdoc >/dev/null; then
	for page in "$SOURCE_DIR"/docs/man/*.scd; do
		scdoc <"$page" >/dev/null || fail "$page is not scdoc"
	done
fi
finish
