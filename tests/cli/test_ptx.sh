#!/bin/sh
# cotenant ptx: what it reads, rewrites, refuses and says.
. "$SOURCE_DIR/tests/cli/lib.sh"

pass=$SOURCE_DIR/tests/ptx/pass
cp "$pass/golden.ptx" "$work/golden.ptx"
cd "$work" || exit 1

# Without a pass: checked and printed, and the same when read again, from a file or a pipe.
expect 0 ptx golden.ptx
cp out once.ptx
says once.ptx ".visible .entry early("
empty err
expect 0 ptx once.ptx -o twice.ptx
empty out
cmp -s once.ptx twice.ptx || fail "printed twice differs"
"$COTENANT" ptx - <once.ptx >piped.ptx || fail "standard input"
cmp -s once.ptx piped.ptx || fail "standard input gives something else"

# Each pass as it was when somebody last looked at it.
same() {
	cmp -s "$1" "$pass/$1" || fail "$1 differs: $(diff "$1" "$pass/$1" | head -20)"
}
for name in workers retreat slice count record batch; do
	expect 0 ptx golden.ptx --pass $name -o golden.$name.ptx
	same golden.$name.ptx
	says golden.$name.ptx ".entry early\$cot_$name("
	says golden.$name.ptx ".entry early("
	# What a pass made can be read again.
	expect 0 ptx golden.$name.ptx -o again.ptx
	cmp -s golden.$name.ptx again.ptx || fail "$name: printed twice differs"
done
expect 0 ptx golden.ptx --pass fuse --kernel early --kernel task -o golden.fuse.ptx
same golden.fuse.ptx
expect 0 ptx golden.ptx --pass fuse --kernel early --kernel task --kernel task --json -o three.ptx
says three.ptx ".entry early\$cot_fuse\$task\$cot_fuse\$task("
grep -q "entry early\$cot_fuse\$task(" three.ptx && fail "what was made on the way stayed"
says out '"kernel": "early+task+task"'
expect 0 ptx golden.ptx --pass record,workers --kernel early -o golden.record-workers.ptx
same golden.record-workers.ptx
grep -q 'entry early$cot_record(' golden.record-workers.ptx && fail "the kernel in between stayed"
grep -q 'entry task$cot' golden.record-workers.ptx && fail "a kernel that nobody named"

# Refused: told, and no failure while others go through; a failure when it was asked for.
expect 0 ptx golden.ptx --pass workers
says err "golden.ptx: kernel waits, line 77: spin (ld.volatile.global.u32 %r0, [total]): a loop"
grep -q 'waits$cot' out && fail "a refused kernel was rewritten"
expect 1 ptx golden.ptx --pass workers --kernel waits -o none.ptx
says err "kernel waits, line 77: spin"
expect 0 ptx golden.ptx --pass slice --kernel waits -o some.ptx
empty err

# The list.
expect 0 ptx golden.ptx --list
says out "waits            0    0 B     0 B          2  spin     spin     yes    yes   yes    yes"
says out "kernel task, line 59: calls ("
expect 0 ptx golden.ptx --list --json
says out '"schema": "cotenant.ptx/1"'
says out '"reason": "spin"'
says out '"line": 77'
expect 0 ptx golden.ptx --pass workers -o x.ptx --json
says out '"made": "early$cot_workers"'
says out '"made": null'
says out '"reason": "spin"'

# Several files are one module; what both have gets another name.
expect 0 ptx golden.ptx golden.ptx --pass fuse --kernel early --kernel 'early$cot_2' -o joined.ptx
says err "golden.ptx: 'early' is called 'early\$cot_2' in the joined module"
says joined.ptx ".entry early\$cot_fuse\$early\$cot_2("
says joined.ptx ".global .u32 total\$cot_2;"
[ "$(grep -c '^.extern .func .* vprintf(' joined.ptx)" -eq 1 ] || fail "vprintf is declared more than once"
sed 's/sm_70/sm_90a/' golden.ptx >other.ptx
expect 2 ptx golden.ptx other.ptx -o never.ptx
says err "cannot join other.ptx: the targets are sm_70 and sm_90a; expected the same, or GPUs"
[ ! -e never.ptx ] || fail "a module that cannot be joined was written"

# Mistakes.
wrong() {
	sentence=$1
	shift
	expect 2 ptx "$@"
	says err "$sentence"
	empty out
}
wrong "no PTX file given"
wrong "cannot read a: No such file or directory" a b
wrong "standard input can be read once only" - golden.ptx -
wrong "cannot read no/such.ptx: No such file or directory" no/such.ptx
wrong "unknown pass 'faster'; expected workers, retreat, slice, fuse, count, record or batch" golden.ptx --pass faster
wrong "unknown pass ''" golden.ptx --pass workers,
wrong "fuse must be the first pass" golden.ptx --pass workers,fuse
wrong "fuse needs --kernel at least twice" golden.ptx --pass fuse --kernel early
wrong "--kernel needs --pass" golden.ptx --kernel early
wrong "--list takes no other option" golden.ptx --list -o x
wrong "--json needs --list" golden.ptx --json
wrong "--json needs --list" golden.ptx --pass slice --json
wrong "--json needs --list" golden.ptx --pass slice -o x.ptx --json=./x.ptx
wrong "golden.ptx: there is no kernel 'late'" golden.ptx --pass slice --kernel late
wrong "golden.ptx: there is no kernel 'place'" golden.ptx --pass slice --kernel place
# What a pass wrote has no line.
expect 1 ptx golden.ptx --pass workers,workers
says err "\$cot_workers: spin ("
wrong "too many passes" golden.ptx --pass slice,slice,slice,slice,slice,slice,slice,slice,slice
printf 'hello\n' >bad.ptx
wrong "bad.ptx:1:" bad.ptx
wrong "" /dev/null
expect 1 ptx golden.ptx -o no/such/folder.ptx
says err "cannot write no/such/folder.ptx"
if [ -c /dev/full ]; then
	expect 1 ptx golden.ptx -o /dev/full
	says err "No space left"
	expect 1 ptx "$SOURCE_DIR/tests/ptx/samples/basics.sm_90.ptx" -o /dev/full
	says err "No space left"
fi

# The page has the table of reasons as the code has it.
sh "$pass/reasons-table" "$SOURCE_DIR" >table
[ "$(wc -l <table)" -gt 20 ] || fail "reasons-table found only $(wc -l <table) reasons"
grep '^| `' "$SOURCE_DIR/docs/ptx.md" >page
cmp -s table page || fail "docs/ptx.md has another table of reasons: $(diff page table)"
finish
