/* The check for races: those that are there are found, with both lines, and no others. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "test.h"
#include "unit/emu/exec/exec_helper.h"

/* The body begins in line 8 of the text. */
#define KERNEL                                                                           \
	".shared .align 4 .b8 tile[1024]; .global .u32 ticket; .global .u32 part[64];\n" \
	".visible .entry k(.param .u64 out) { .reg .pred %p<9>; .reg .b32 %r<20>;\n"     \
	".reg .b64 %rd<20>; ld.param.u64 %rd1, [out]; mov.u32 %r1, %tid.x;\n"            \
	"mov.u32 %r2, %ctaid.x; mov.u32 %r3, tile; mad.lo.u32 %r4, %r1, 4, %r3;\n"

struct race_case {
	const char *what, *text;
	uint32_t n_blocks, n_threads;
	uint32_t line, other; /* 0: no race */
};

#define LAST_BLOCK(order)                                                                      \
	KERNEL "mov.u64 %rd2, part; mul.wide.u32 %rd3, %r2, 4; add.u64 %rd2, %rd2, %rd3;\n"    \
	       "mov.u64 %rd4, ticket; setp.ne.u32 %p1, %r1, 0; @%p1 ret;\n"                    \
	       "st.global.u32 [%rd2], %r2;\n" order "setp.ne.u32 %p2, %r5, 3; @%p2 ret;\n"     \
	       "mov.u64 %rd5, part; ld.global.u32 %r6, [%rd5]; ld.global.u32 %r7, [%rd5+4];\n" \
	       "st.global.u32 [%rd1], %r6; ret; }"

static const struct race_case cases[] = {
	{"no barrier between the warps",
	 KERNEL
	 "st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r4, 128;\nld.shared.u32 %r6, [%r5]; ret; }",
	 1, 64, 10, 8},
	{"a barrier between them",
	 KERNEL
	 "st.shared.u32 [%r4], %r1; bar.sync 0;\nxor.b32 %r5, %r4, 128; ld.shared.u32 %r6, [%r5];"
	 "ret; }",
	 3, 64, 0, 0},
	{"no barrier before the next round",
	 KERNEL "st.shared.u32 [%r4], %r1; bar.sync 0; xor.b32 %r5, %r4, 128;\n"
		"ld.shared.u32 %r6, [%r5];\nst.shared.u32 [%r4], %r6; ret; }",
	 1, 64, 10, 9},
	{"lanes of a warp without a sync",
	 KERNEL "st.shared.u32 [%r4], %r1;\nxor.b32 %r5, %r4, 4;\nld.shared.u32 %r6, [%r5]; ret; }",
	 1, 32, 10, 8},
	{"lanes of a warp with a sync",
	 KERNEL "st.shared.u32 [%r4], %r1; bar.warp.sync -1; xor.b32 %r5, %r4, 4;\n"
		"ld.shared.u32 %r6, [%r5]; ret; }",
	 1, 32, 0, 0},
	{"neighbouring bytes of a word",
	 KERNEL "add.u32 %r5, %r3, %r1; st.shared.u8 [%r5], %r1; ret; }", 1, 64, 0, 0},
	{"two blocks write one word",
	 KERNEL "shr.u32 %r5, %r1, 5;\nst.global.u32 [%rd1], %r2; ret; }", 2, 1, 9, 9},
	{"two blocks add to one word", KERNEL "red.global.add.u32 [%rd1], 1; ret; }", 4, 64, 0, 0},
	{"the last block reads what the others wrote, after the ticket",
	 LAST_BLOCK("membar.gl; atom.global.add.u32 %r5, [%rd4], 1;\n"), 4, 32, 0, 0},
	{"the last block by number, which nothing orders", LAST_BLOCK("mov.u32 %r5, %r2;\n"), 4, 1,
	 13, 10},
	{"producer and consumer with named barriers",
	 KERNEL "and.b32 %r5, %r4, 0xffffff7f; setp.ge.u32 %p1, %r1, 32; @%p1 bra C;\n"
		"st.shared.u32 [%r5], %r1; bar.arrive 1, 64; bar.sync 2, 64;\n"
		"st.shared.u32 [%r5], %r2; ret;\n"
		"C: bar.sync 1, 64; ld.shared.u32 %r6, [%r5]; bar.arrive 2, 64; ret; }",
	 2, 64, 0, 0},
	{"a flag between warps of a block",
	 KERNEL
	 "setp.ge.u32 %p1, %r1, 32; @%p1 bra C; st.shared.u32 [%r4+256], %r1; bar.warp.sync -1;\n"
	 "st.volatile.shared.u32 [tile], 1; ret;\n"
	 "C: ld.volatile.shared.u32 %r5, [tile]; setp.eq.u32 %p2, %r5, 0; @%p2 bra C;\n"
	 "ld.shared.u32 %r6, [%r4+128]; ret; }",
	 1, 64, 0, 0},
	{"blocks use shared memory one after the other", KERNEL "st.shared.u32 [%r4], %r1; ret; }",
	 16, 64, 0, 0},
};

/* The two lines, whichever access comes second. */
static bool tells(const struct cot_exec_fault *fault, uint32_t line, uint32_t other)
{
	char says[64];

	snprintf(says, sizeof(says), "in line %u by", fault->line == line ? other : line);
	return (fault->line == line || fault->line == other) && strstr(fault->text, says);
}

static bool run_case(const struct race_case *c, uint64_t seed)
{
	struct exec_test t;
	bool good;

	exec_load_body(&t, c->text);
	exec_arg_ptr(&t, 0, exec_alloc(&t, 256));
	t.launch.checks = COT_EXEC_CHECK_RACES;
	if (seed)
		exec_run_seeded(&t, c->n_blocks, c->n_threads, seed);
	else
		exec_run(&t, c->n_blocks, c->n_threads, 2);
	if (c->line)
		good = t.fault.kind == COT_EXEC_FAULT_RACE && tells(&t.fault, c->line, c->other);
	else
		good = t.fault.kind == COT_EXEC_FAULT_NONE;
	if (!good)
		print_error("%s, seed %u: %s\n", c->what, (unsigned)seed, t.fault.text);
	exec_unload(&t);
	return good;
}

static void test_races(void **state)
{
	bool good = true;
	uint64_t seed;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (seed = 0; seed < 8; seed++)
			good &= run_case(&cases[i], seed);
	assert_true(good);
}

/* Beyond its bound the check is refused, also where the number of warps would wrap around. */
static void test_limit(void **state)
{
	static const struct {
		uint32_t grid[3], block;
		bool fits;
	} grids[] = {
		{{2048, 1, 1}, 32, true},
		{{2049, 1, 1}, 32, false},
		{{1024, 2, 1}, 1, true},
		{{64, 1, 1}, 1024, true},
		{{65, 1, 1}, 1024, false},
		{{INT32_MAX, 65535, 65535}, 64, false},
		{{1u << 30, 32768, 32768}, 512, false},
	};
	struct exec_test t;
	size_t i;

	(void)state;
	exec_load_body(&t, ".visible .entry k()\n{\nret;\n}\n");
	t.launch.checks = COT_EXEC_CHECK_RACES;
	for (i = 0; i < sizeof(grids) / sizeof(grids[0]); i++) {
		struct cot_exec_run *run = NULL;
		struct cot_error err = {""};
		int rc;

		memcpy(t.launch.grid, grids[i].grid, sizeof(grids[i].grid));
		t.launch.block[0] = grids[i].block;
		t.launch.block[1] = t.launch.block[2] = 1;
		rc = cot_exec_start(&t.launch, &run, &err);
		if (grids[i].fits) {
			assert_int_equal(rc, 0);
			cot_exec_destroy(run);
			continue;
		}
		assert_int_equal(rc, -E2BIG);
		assert_non_null(strstr(err.text, "are too many for the check of races; expected at "
						 "most 2048 warps"));
	}
	exec_unload(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_races),
		cmocka_unit_test(test_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
