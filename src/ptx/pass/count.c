/*
 * The pass `count`: instructions and bytes of memory of each block, in a row of a table in device
 * memory.
 *
 * A basic block is counted once, where it begins: how many instructions it has, and how many bytes
 * those of them without a guard read and write. Threads add up in registers, and add these to the
 * row when they end. What a guard may switch off is counted in its place, under the same guard.
 */
#include <errno.h>
#include <stddef.h>

#include "cotenant/passes.h"
#include "ptx/pass/cfg.h"
#include "ptx/pass/inside.h"

_Static_assert(sizeof(struct cot_count_row) == 8 * 11, "the counters are the row's members");

enum { READ, WRITTEN, REQUESTS, N_KINDS };

#define N_COUNTERS (2 + N_KINDS * COT_COUNT_N_SPACES)
#define THREADS	   0
#define WARPS	   1

static const char *const names[N_COUNTERS] = {
	"%threads", "%warps", "%rg", "%rs", "%rl", "%wg", "%ws", "%wl", "%qg", "%qs", "%ql",
};

struct counting {
	struct cot_emit e;
	uint32_t regs[N_COUNTERS]; /* COT_PTX_NO_REG: nothing to count */
};

static unsigned counter(unsigned kind, unsigned space)
{
	return 2 + kind * COT_COUNT_N_SPACES + space;
}

/* ---- what an instruction adds ---- */

/* Parameters and constants come from caches of their own, and are not counted. */
static int space_of(const struct cot_ptx_insn *insn)
{
	switch (insn->space) {
	case COT_PTX_SPACE_PARAM:
	case COT_PTX_SPACE_CONST:
		return -1;
	case COT_PTX_SPACE_SHARED:
	case COT_PTX_SPACE_SHARED_CLUSTER:
		return COT_COUNT_SHARED;
	case COT_PTX_SPACE_LOCAL:
		return COT_COUNT_LOCAL;
	default:
		return COT_COUNT_GLOBAL;
	}
}

/* Registers that an operand of a matrix instruction has; 1 for any other operand. */
static uint64_t n_items(const struct cot_ptx_operand *o)
{
	return o->kind == COT_PTX_OPND_VECTOR ? o->n : 1;
}

/* Bytes that one thread moves; 0 where the text does not tell (bulk copies, textures). */
static uint64_t bytes_of(const struct cot_ptx_insn *insn)
{
	uint32_t flags = cot_ptx_op_info(insn->op)->flags;
	uint32_t i;
	uint64_t n = 0;

	if (flags & (COT_PTX_F_BULK | COT_PTX_F_TEXTURE | COT_PTX_F_MBARRIER))
		return 0;
	if (insn->op == COT_PTX_OP_CP_ASYNC)
		return insn->n_operands > 2 && insn->operands[2].kind == COT_PTX_OPND_INT
			       ? (uint64_t)insn->operands[2].imm
			       : 0;
	if (flags & COT_PTX_F_WARP) { /* matrices: the registers that they fill or empty */
		for (i = 0; i < insn->n_operands; i++)
			if (insn->operands[i].kind == COT_PTX_OPND_VECTOR)
				n = n_items(&insn->operands[i]) * 4;
		return n;
	}
	return (uint64_t)cot_ptx_type_bytes(insn->types[0]) * (insn->vec ? insn->vec : 1);
}

static void add_kind(uint64_t adds[N_COUNTERS], unsigned kind, int space, uint64_t bytes)
{
	if (space < 0)
		return;
	adds[counter(kind, (unsigned)space)] += bytes;
}

static bool is_copy(const struct cot_ptx_insn *insn)
{
	return insn->op == COT_PTX_OP_CP_ASYNC;
}

static void memory_adds(const struct cot_ptx_insn *insn, uint64_t adds[N_COUNTERS])
{
	uint32_t flags = cot_ptx_op_info(insn->op)->flags;
	int space = space_of(insn);
	uint64_t bytes = bytes_of(insn);

	if (!(flags & (COT_PTX_F_READ | COT_PTX_F_WRITE)) || space < 0)
		return;
	if (is_copy(insn)) { /* from global memory into shared memory */
		add_kind(adds, READ, COT_COUNT_GLOBAL, bytes);
		add_kind(adds, WRITTEN, COT_COUNT_SHARED, bytes);
		add_kind(adds, REQUESTS, COT_COUNT_GLOBAL, 1);
		return;
	}
	if (flags & COT_PTX_F_READ)
		add_kind(adds, READ, space, bytes);
	if (flags & COT_PTX_F_WRITE)
		add_kind(adds, WRITTEN, space, bytes);
	add_kind(adds, REQUESTS, space, 1);
}

/* ---- the code that adds ---- */

static bool any(const uint64_t adds[N_COUNTERS], unsigned first, unsigned end)
{
	for (; first < end; first++)
		if (adds[first])
			return true;
	return false;
}

/* One group of threads that is here together counts once: by its lowest lane. */
static bool by_group(unsigned c)
{
	return c == WARPS || c >= counter(REQUESTS, 0);
}

static void need_counter(struct counting *k, unsigned c)
{
	if (k->regs[c] != COT_PTX_NO_REG)
		return;
	k->regs[c] = cot_emit_reg(&k->e, COT_PTX_B64, names[c]);
	cot_emit_format(&k->e, cot_ptx_body_start(k->e.func), "mov.u64 %s, 0;", names[c]);
}

static void put_adds(struct counting *k, struct cot_ptx_stmt *before,
		     const uint64_t adds[N_COUNTERS])
{
	unsigned c;

	if (any(adds, WARPS, WARPS + 1) || any(adds, counter(REQUESTS, 0), N_COUNTERS))
		cot_emit_text(&k->e, before,
			      "activemask.b32 %lanes; and.b32 %lanes, %lanes, %below;\n"
			      "setp.eq.u32 %lowest, %lanes, 0;");
	for (c = 0; c < N_COUNTERS; c++) {
		if (!adds[c])
			continue;
		need_counter(k, c);
		cot_emit_format(&k->e, before, "%sadd.u64 %s, %s, %llu;",
				by_group(c) ? "@%lowest " : "", names[c], names[c],
				(unsigned long long)adds[c]);
	}
}

/* The same for one instruction with a guard. */
static void put_guarded_adds(struct counting *k, struct cot_ptx_stmt *s)
{
	uint64_t adds[N_COUNTERS] = {0};
	size_t n_binds = k->e.n_binds;
	struct cot_ptx_label *label;

	memory_adds(&s->insn, adds);
	if (!any(adds, 0, N_COUNTERS))
		return;
	label = cot_emit_label(&k->e, "skip");
	cot_emit_bind(&k->e, "%guard", cot_ptx_reg_operand(s->insn.guard));
	cot_emit_format(&k->e, s, "@%s%%guard bra skip;", s->insn.guard_negated ? "" : "!");
	k->e.n_binds = n_binds; /* what new counters add stays bound */
	put_adds(k, s, adds);
	n_binds = k->e.n_binds;
	if (label)
		cot_emit_bind(&k->e, "skip", cot_ptx_label_operand(label));
	cot_emit_text(&k->e, s, "skip:");
	k->e.n_binds = n_binds;
}

static void put_block(struct counting *k, const struct cot_cfg_block *b)
{
	struct cot_ptx_stmt *s, *first = NULL, *end = b->last->next;
	uint64_t adds[N_COUNTERS] = {0};

	for (s = b->first; s != end; s = s->next) {
		if (s->kind != COT_PTX_STMT_INSN)
			continue;
		first = first ? first : s;
		adds[THREADS]++;
		adds[WARPS]++;
		if (s->insn.guard == COT_PTX_NO_REG)
			memory_adds(&s->insn, adds);
		else
			put_guarded_adds(k, s);
	}
	if (first)
		put_adds(k, first, adds);
}

static void put_end(struct counting *k)
{
	unsigned c;

	cot_emit_text(&k->e, NULL, "end:");
	cot_pass_row(&k->e, NULL, sizeof(struct cot_count_row));
	for (c = 0; c < N_COUNTERS; c++)
		if (k->regs[c] != COT_PTX_NO_REG)
			cot_emit_format(&k->e, NULL, "red.global.add.u64 [%%row+%u], %s;", 8 * c,
					names[c]);
	cot_emit_text(&k->e, NULL, "ret;");
}

int cot_pass_count(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err)
{
	struct counting k;
	struct cot_cfg cfg;
	uint32_t i;
	int rc = cot_cfg_build(kernel, &cfg);

	(void)facts;
	if (rc)
		return cot_error_set(err, rc, "%s: %s", kernel->name,
				     rc == -ENOMEM ? "out of memory" : "too many branches");
	cot_emit_init(&k.e, kernel, err);
	for (i = 0; i < N_COUNTERS; i++)
		k.regs[i] = COT_PTX_NO_REG;
	cot_pass_need_version(kernel->module, 6, 2); /* activemask */
	cot_emit_param(&k.e, "args", 8);
	(void)cot_emit_reg(&k.e, COT_PTX_B64, "%row");
	(void)cot_emit_reg(&k.e, COT_PTX_B32, "%lanes");
	(void)cot_emit_reg(&k.e, COT_PTX_B32, "%below");
	(void)cot_emit_reg(&k.e, COT_PTX_PRED, "%lowest");
	(void)cot_emit_label(&k.e, "end");
	for (i = 0; i < cfg.n_blocks; i++)
		put_block(&k, &cfg.blocks[i]);
	cot_emit_text(&k.e, cot_ptx_body_start(kernel), "mov.u32 %below, %lanemask_lt;");
	cot_pass_redirect_ends(&k.e, "end");
	put_end(&k);
	cot_cfg_finish(&cfg);
	return k.e.rc;
}
