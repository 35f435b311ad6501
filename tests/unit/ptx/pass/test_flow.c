/*
 * Control flow, and what is the same for all threads: on functions small enough to do by hand.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "ptx/pass/cfg.h"
#include "ptx/pass/uniform.h"
#include "test.h"

#define HEAD                                                    \
	".version 6.4\n.target sm_75\n.address_size 64\n"       \
	".visible .entry K(.param .u64 in, .param .u32 n)\n{\n" \
	".reg .pred %p<9>; .reg .b32 %r<20>; .reg .b64 %d<9>; .shared .b32 s[64];\n"

struct unit {
	struct cot_ptx_module *module;
	struct cot_ptx_func *func;
	struct cot_cfg cfg;
	struct cot_uniformity uniformity;
};

static void open_unit(struct unit *u, const char *body, bool rows)
{
	size_t size = sizeof(HEAD) + strlen(body) + 8;
	char *text = malloc(size);
	struct cot_error err = {""};

	assert_non_null(text);
	(void)snprintf(text, size, "%s%s\n}\n", HEAD, body);
	if (cot_ptx_parse(text, strlen(text), "test", &u->module, &err))
		fail_msg("%s", err.text);
	free(text);
	u->func = cot_ptx_find_func(u->module, "K");
	if (u->func->opaque)
		fail_msg("%s", u->func->reason);
	assert_int_equal(cot_cfg_build(u->func, &u->cfg), 0);
	assert_int_equal(cot_uniform_analyse(&u->cfg, true, rows, &u->uniformity), 0);
}

static void close_unit(struct unit *u)
{
	cot_uniform_finish(&u->uniformity);
	cot_cfg_finish(&u->cfg);
	cot_ptx_destroy(u->module);
}

/* The block that begins with a label. */
static uint32_t at(const struct unit *u, const char *label)
{
	uint32_t i;

	for (i = 0; i < u->func->n_labels; i++)
		if (!strcmp(u->func->labels[i]->name, label))
			return u->cfg.block_of_label[i];
	fail_msg("no label %s", label);
	return 0;
}

static uint32_t n_succs(const struct unit *u, uint32_t block)
{
	return u->cfg.blocks[block].n_succ;
}

/* ---- control flow ---- */

static void diamond(void **state)
{
	struct unit u;

	(void)state;
	open_unit(&u, "@%p1 bra A; mov.u32 %r1, 1; bra.uni B;\nA: mov.u32 %r1, 2;\nB: ret;", false);
	assert_int_equal(u.cfg.n_blocks, 4);
	assert_int_equal(n_succs(&u, 0), 2);
	assert_int_equal(u.cfg.blocks[0].pdom, at(&u, "B"));
	assert_int_equal(u.cfg.blocks[1].pdom, at(&u, "B"));
	assert_int_equal(u.cfg.blocks[at(&u, "A")].pdom, at(&u, "B"));
	assert_int_equal(u.cfg.blocks[at(&u, "B")].pdom, u.cfg.exit);
	close_unit(&u);
}

static void returns_and_tables(void **state)
{
	struct unit u;

	(void)state;
	/* A guarded return leads on and out; the end of the text is an end, too. */
	open_unit(&u,
		  "@%p1 ret;\nmov.u32 %r1, 1;\nT: .branchtargets A, B, C;\nbrx.idx %r1, T;\n"
		  "A: trap;\nB: bra.uni C;\nC: mov.u32 %r2, 1;",
		  false);
	assert_int_equal(u.cfg.blocks[0].pdom, u.cfg.exit);
	assert_int_equal(n_succs(&u, 1), 3);
	assert_int_equal(u.cfg.blocks[1].pdom, u.cfg.exit); /* by the trap */
	assert_int_equal(u.cfg.blocks[at(&u, "B")].pdom, at(&u, "C"));
	assert_int_equal(u.cfg.blocks[at(&u, "C")].pdom, u.cfg.exit);
	close_unit(&u);
}

static void endless_loop(void **state)
{
	bool seen[8];
	uint32_t stack[8];
	struct unit u;

	(void)state;
	open_unit(&u, "@%p1 bra OUT;\nL: @%p2 bra L;\nbra.uni L;\nOUT: ret;", false);
	assert_int_equal(u.cfg.blocks[at(&u, "L")].pdom, u.cfg.exit);
	cot_cfg_region(&u.cfg, 0, seen, stack);
	assert_false(seen[0]);
	assert_true(seen[at(&u, "L")]);
	close_unit(&u);
}

static void empty_body(void **state)
{
	struct unit u;

	(void)state;
	open_unit(&u, "", false);
	assert_int_equal(u.cfg.blocks[u.cfg.n_blocks - 1].pdom, u.cfg.exit);
	close_unit(&u);
}

/*
 * Post-dominators by their definition, on random graphs: b is passed on every way from a to the
 * exit if, without b, the exit cannot be reached from a.
 */
static bool reaches_exit(const struct cot_cfg *cfg, uint32_t from, uint32_t without)
{
	bool seen[64] = {false};
	uint32_t stack[64], depth = 0, b, i, s;

	if (from == without)
		return false;
	stack[depth++] = from;
	seen[from] = true;
	while (depth) {
		b = stack[--depth];
		for (i = 0; i < cfg->blocks[b].n_succ; i++) {
			s = cfg->succs[cfg->blocks[b].succ + i];
			if (s == cfg->exit)
				return true;
			if (s != without && !seen[s]) {
				seen[s] = true;
				stack[depth++] = s;
			}
		}
	}
	return false;
}

static void random_graphs(void **state)
{
	char text[2048];
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 150; seed++) {
		struct cot_rng rng = {seed};
		uint32_t n = 3 + (uint32_t)cot_rng_below(&rng, 20), i, a, b;
		size_t used = 0;
		struct unit u;

		for (i = 0; i < n; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "L%u: @%%p1 bra L%u;\n%s", (unsigned)i,
						 (unsigned)cot_rng_below(&rng, n),
						 cot_rng_below(&rng, 4) ? "" : "ret;\n");
		open_unit(&u, text, false);
		for (a = 0; a < u.cfg.n_blocks; a++) {
			uint32_t pdom = u.cfg.blocks[a].pdom;

			if (!reaches_exit(&u.cfg, a, COT_CFG_NONE) || pdom == u.cfg.exit)
				continue;
			if (reaches_exit(&u.cfg, a, pdom))
				fail_msg("seed %u: %u is not passed from %u", (unsigned)seed, pdom,
					 a);
			/* The nearest one: every other that is passed is passed from it as well. */
			for (b = 0; b < u.cfg.n_blocks; b++)
				if (b != a && b != pdom && !reaches_exit(&u.cfg, a, b) &&
				    reaches_exit(&u.cfg, pdom, b))
					fail_msg("seed %u: %u is nearer to %u", (unsigned)seed, b,
						 a);
		}
		close_unit(&u);
	}
}

/* ---- what is the same ---- */

struct value {
	const char *body;
	uint32_t reg; /* of %r; from 100 on, of %p */
	enum cot_uniform plain, rows;
};

#define BASE                                                                                         \
	"mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; ld.param.u32 %r4, [n];\n" \
	"ld.param.u64 %d1, [in]; mad.lo.u32 %r5, %r2, %r3, %r1;\n"

static const struct value values[] = {
	{BASE "ret;", 1, COT_UNI_DIFFERENT, COT_UNI_LANES},
	{BASE "ret;", 2, COT_UNI_BLOCK, COT_UNI_BLOCK},
	{BASE "ret;", 3, COT_UNI_BLOCK, COT_UNI_BLOCK_32},
	{BASE "ret;", 4, COT_UNI_BLOCK, COT_UNI_BLOCK},
	{BASE "ret;", 5, COT_UNI_DIFFERENT, COT_UNI_LANES},
	{BASE "shr.u32 %r6, %r5, 5; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_WARP},
	{BASE "shr.u32 %r6, %r5, 4; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "div.u32 %r6, %r1, 64; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_WARP},
	{BASE "and.b32 %r6, %r1, -32; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_WARP},
	{BASE "and.b32 %r6, %r1, 31; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "shl.b32 %r6, %r2, 8; or.b32 %r7, %r6, %r1; ret;", 7, COT_UNI_DIFFERENT,
	 COT_UNI_LANES},
	{BASE "sub.u32 %r6, %r4, %r1; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "mov.u32 %r6, %tid.y; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_WARP},
	{BASE "mov.u32 %r6, %laneid; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "mov.u32 %r6, %warpid; ret;", 6, COT_UNI_WARP, COT_UNI_WARP},
	/* Loads: as the address is; not when somebody else may write, or the memory is a thread's.
	 */
	{BASE "ld.global.u32 %r6, [%d1]; ret;", 6, COT_UNI_BLOCK, COT_UNI_BLOCK},
	{BASE "ld.volatile.global.u32 %r6, [%d1]; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "ld.u32 %r6, [%d1]; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "ld.shared.u32 %r6, [s+4]; ret;", 6, COT_UNI_BLOCK, COT_UNI_BLOCK},
	{BASE "ld.shared.u32 %r6, [%r1]; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "atom.global.add.u32 %r6, [%d1], 1; ret;", 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	/* Comparisons with the border between two warps. */
	{BASE "setp.lt.u32 %p1, %r1, 64; ret;", 101, COT_UNI_DIFFERENT, COT_UNI_WARP},
	{BASE "setp.gt.u32 %p1, %r1, 63; ret;", 101, COT_UNI_DIFFERENT, COT_UNI_WARP},
	{BASE "setp.gt.u32 %p1, %r1, 64; ret;", 101, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "setp.lt.u32 %p1, %r1, %r4; ret;", 101, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "setp.lt.u32 %p1, %r2, %r4; ret;", 101, COT_UNI_BLOCK, COT_UNI_BLOCK},
	{BASE "vote.sync.any.pred %p1, %p2, -1; ret;", 101, COT_UNI_WARP, COT_UNI_WARP},
	{BASE "setp.eq.u32 %p2, %r1, 3; bar.red.or.pred %p1, 0, %p2; ret;", 101, COT_UNI_BLOCK,
	 COT_UNI_BLOCK},
	/* A guard that differs makes what it guards differ. */
	{BASE "setp.eq.u32 %p1, %r1, 3; mov.u32 %r6, 1; @%p1 mov.u32 %r6, 2; ret;", 6,
	 COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	/* So does a way that only some threads take, but for what is written once. */
	{BASE "setp.eq.u32 %p1, %r1, 3; mov.u32 %r6, 1; @%p1 bra A; mov.u32 %r6, 2;\nA: ret;", 6,
	 COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	{BASE "setp.eq.u32 %p1, %r1, 3; @%p1 bra A; mov.u32 %r6, 2;\nA: ret;", 6, COT_UNI_BLOCK,
	 COT_UNI_BLOCK},
	{BASE "setp.eq.u32 %p1, %r2, 3; mov.u32 %r6, 1; @%p1 bra A; mov.u32 %r6, 2;\nA: ret;", 6,
	 COT_UNI_BLOCK, COT_UNI_BLOCK},
	/* Loops that all threads leave together, and one that they do not. */
	{BASE
	 "mov.u32 %r6, 0;\nL: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r4; @%p1 bra L; ret;",
	 6, COT_UNI_BLOCK, COT_UNI_BLOCK},
	{BASE
	 "mov.u32 %r6, 0;\nL: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r1; @%p1 bra L; ret;",
	 6, COT_UNI_DIFFERENT, COT_UNI_DIFFERENT},
	/* A value that a block writes itself is known there, whatever the register holds elsewhere.
	 */
	{BASE "mov.u32 %r6, 0; mov.u32 %r7, %r6; mov.u32 %r6, %r1; ret;", 7, COT_UNI_BLOCK_32,
	 COT_UNI_BLOCK_32},
};

static enum cot_uniform value_of(const struct value *v, bool rows)
{
	enum cot_uniform found;
	struct unit u;
	char name[8];

	open_unit(&u, v->body, rows);
	(void)snprintf(name, sizeof(name), v->reg < 100 ? "%%r%u" : "%%p%u",
		       (unsigned)(v->reg % 100));
	found = (enum cot_uniform)u.uniformity.regs[cot_ptx_find_reg(u.func, name)];
	close_unit(&u);
	return found;
}

static void every_value(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(values); i++) {
		enum cot_uniform plain = value_of(&values[i], false);
		enum cot_uniform rows = value_of(&values[i], true);

		if (plain != values[i].plain || rows != values[i].rows)
			fail_msg("%d and %d, expected %d and %d, for %u in\n%s", plain, rows,
				 values[i].plain, values[i].rows, (unsigned)values[i].reg,
				 values[i].body);
	}
}

static void regions(void **state)
{
	struct unit u;

	(void)state;
	open_unit(&u,
		  BASE "setp.eq.u32 %p1, %r2, 3; @%p1 bra B;\nA: bar.sync 0;\nB: mov.u32 %r7, 1;\n"
		       "setp.lt.u32 %p2, %r1, 32; @%p2 bra D;\nC: bar.sync 0;\nD: ret;",
		  true);
	assert_true(u.uniformity.blocks[at(&u, "A")] <= COT_UNI_BLOCK);
	assert_true(u.uniformity.blocks[at(&u, "B")] <= COT_UNI_BLOCK);
	assert_int_equal(u.uniformity.blocks[at(&u, "C")], COT_UNI_WARP);
	assert_true(u.uniformity.blocks[at(&u, "D")] <= COT_UNI_BLOCK);
	close_unit(&u);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(diamond),	 cmocka_unit_test(returns_and_tables),
		cmocka_unit_test(endless_loop),	 cmocka_unit_test(empty_body),
		cmocka_unit_test(random_graphs), cmocka_unit_test(every_value),
		cmocka_unit_test(regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
