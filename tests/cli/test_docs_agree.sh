#!/bin/sh
# What the documents say of files, commands and messages is what the programs do.
. "$SOURCE_DIR/tests/cli/lib.sh"
: "${COTENANTD:?the daemon}"
docs="$SOURCE_DIR/README.md $SOURCE_DIR/CONTRIBUTING.md $SOURCE_DIR/ARCHITECTURE.md $SOURCE_DIR/docs/*.md $SOURCE_DIR/docs/how-to/*.md"

# A table is one: a row that begins one has the line of dashes below it.
for page in $docs; do
	awk -v page="$page" '
		fenced { if (/^```/) fenced = 0; before = ""; next }
		/^```/ { fenced = 1 }
		begins && !/^\|[-:| ]+\|$/ { print page ":" NR ": rows without a head" }
		{ begins = /^\|/ && before !~ /^\|/; before = $0 }' "$page"
done >"$work/tables"
[ ! -s "$work/tables" ] || fail "$(cat "$work/tables")"

# ---- ./dev ----

# Every "./dev WORD" is a command, and only those have arguments that say so in ./dev help.
"$SOURCE_DIR/dev" help >"$work/help"
# shellcheck disable=SC2086 # several pages
grep -ohE '`\./dev [a-z][^`]*`|^    \./dev [a-z].*' $docs |
	sed -e 's/`//g' -e 's/^ *//' -e 's/  .*//' -e 's/ &&.*//' | sort -u >"$work/uses"
[ -s "$work/uses" ] || fail "no uses of ./dev"
while read -r _ command arguments; do
	grep -q "^  $command " "$work/help" || fail "./dev $command: there is no such command"
	[ -z "$arguments" ] || grep -qE "\./dev $command [[A-Z]" "$work/help" ||
		fail "./dev $command $arguments: it takes no arguments"
done <"$work/uses"

# ---- scenarios ----

# keys_of TEXT: the keys that the program names where there is an unknown one.
keys_of() {
	printf 'schema: cotenant.scenario/1\n%s\n' "$1" >"$work/s.yaml"
	expect 2 sim "$work/s.yaml"
	sed -n 's/.*unknown key .zzz.; expected one of //p' "$work/err" | tr -d ' ' | tr ',' '\n'
}

# keys_in SECTION...: the keys in the first columns of its tables in docs/scenario.md.
keys_in() {
	awk -v section="$1" '
		/^#/ { inside = $0 == section }
		inside && /^\| *`/ { split($0, cell, "|"); print cell[2] }' "$SOURCE_DIR/docs/scenario.md" |
		tr ',' '\n' | sed -n 's/^ *`\([a-z0-9_]*\).*/\1/p'
}

# same_keys SECTION TEXT...: and the manual page has them all.
same_keys() {
	section=$1
	shift
	keys_in "$section" | sort -u >"$work/documented"
	for text in "$@"; do
		keys_of "$text"
	done | sort -u >"$work/known"
	[ -s "$work/known" ] || fail "$section: no keys"
	cmp -s "$work/known" "$work/documented" ||
		fail "docs/scenario.md, $section: $(diff "$work/known" "$work/documented" | grep '^[<>]')"
	while read -r key; do
		grep -qF "*$key*" "$SOURCE_DIR/docs/man/cotenant-scenario.5.scd" ||
			fail "cotenant-scenario(5) lacks $key"
	done <"$work/known"
}

apps='apps: [{name: a, program: [{cpu_us: 1}]}]'
same_keys '## The file' "zzz: 1
$apps"
same_keys '## `gpu`' "gpu: {zzz: 1}
$apps" "gpu: {power: {zzz: 1}}
$apps"
same_keys '### `stop`' "stop: {zzz: 1}
$apps"
same_keys '## `workers`' "workers: {zzz: 1}
$apps"
same_keys '## `apps`' "apps: [{zzz: 1}]"
same_keys '### `arrivals`' "apps: [{name: a, arrivals: {zzz: 1}, program: [{cpu_us: 1}]}]"
same_keys '### `qos`' "apps: [{name: a, qos: {zzz: 1}, program: [{cpu_us: 1}]}]"
same_keys '### Steps of a `program`' "apps: [{name: a, program: [{zzz: 1}]}]"
same_keys '### `kernel`' "apps: [{name: a, program: [{kernel: {zzz: 1}}]}]"

# The mistakes that the document shows, in the example that it shows.
awk '/^```yaml/ { inside = 1; next } /^```/ && inside { exit } inside' "$SOURCE_DIR/docs/scenario.md" >"$work/shared.yaml"
expect 0 sim "$work/shared.yaml"
sed 's/ blocks:/ bloks:/' "$work/shared.yaml" >"$work/1"
sed 's/blocks_per_sm: 4/blocks_per_sm: 17/' "$work/shared.yaml" >"$work/2"
for mistake in 1 2; do
	cp "$work/$mistake" "$work/shared.yaml"
	(cd "$work" && "$COTENANT" sim shared.yaml 2>err)
	grep -qxF -f "$work/err" "$SOURCE_DIR/docs/scenario.md" ||
		fail "docs/scenario.md does not show: $(cat "$work/err")"
done

# ---- the daemon ----

# A wrong configuration ends it as its page says, also when it is only checked.
echo "polcy: pools" >"$work/wrong.conf"
for file in wrong.conf none.conf; do
	for check in "" --check-config; do
		# shellcheck disable=SC2086 # none or one
		COTENANT_RUNTIME_DIR=$work/run "$COTENANTD" --config "$work/$file" $check >"$work/out" 2>&1
		[ $? -eq 2 ] || fail "cotenantd --config $file $check"
	done
done
sed -n '/^# EXIT STATUS/,/^# /p' "$SOURCE_DIR/docs/man/cotenantd.8.scd" | grep -A 1 '\*2\*' |
	grep -q "configuration" || fail "cotenantd(8) says something else of status 2"
# The default file is not right when it is not there.
mkdir "$work/home"
if [ "$(id -u)" != 0 ] || [ ! -e /etc/cotenant/cotenantd.conf ]; then
	XDG_CONFIG_HOME=$work/home "$COTENANTD" --check-config >"$work/out" 2>&1 || fail "no file, no mistake"
	grep -q "right" "$work/out" && fail "a file that is not there: $(cat "$work/out")"
	says "$work/out" "the defaults apply"
fi

# ---- what can be found ----

# Documents that manual pages point to are there; the build installs all of them.
grep -ohE 'docs/[a-z-]+\.md' "$SOURCE_DIR"/docs/man/*.scd | sort -u >"$work/pointers"
while read -r page; do
	[ -e "$SOURCE_DIR/$page" ] || fail "a manual page points to $page"
done <"$work/pointers"
# Programs in the README's command lines are found by the PATH that it sets before.
awk '/export PATH=/ { set = 1 }
	/^    (cotenant|kernels-run) / && !set { print FILENAME ":" FNR ": " $0 }' "$SOURCE_DIR/README.md" >"$work/lines"
[ ! -s "$work/lines" ] || fail "not in PATH: $(cat "$work/lines")"
finish
