/*
 * The pass `retreat`: blocks that stay or end by the SM they are on, with tasks that follow from
 * it. cotenant/passes.h has how the work is shared; nothing here is quick or clever, for it is what
 * workers are compared with.
 *
 *   begin:   the first thread: on an SM that is allowed? n = atomicAdd(n_arrived, 1); n < workers?
 *            then its share is n * n_allowed + rank; into shared memory
 *            barrier; all read it; none: end
 *   task:    the body; ret and exit lead to the tail
 *   tail:    one task less; block index + 1; if some are left: (barrier) -> task
 *   out:     the first thread adds up what was done
 */
#include <stddef.h>

#include "base/compiler.h"
#include "cotenant/passes.h"
#include "ptx/pass/tasks.h"

#define ARG(field) ((uint32_t)offsetof(struct cot_retreat_args, field))
#define ROW(field) ((uint32_t)offsetof(struct cot_retreat_row, field))

/* Shared memory: the share, and behind 8 bytes the address of the row. */
static void declare(struct cot_tasks *t)
{
	static const char *const labels[] = {"posted", "answer", "out", "idle"};
	struct cot_emit *e = &t->e;
	size_t i;

	cot_emit_param(e, "args", sizeof(struct cot_retreat_args));
	(void)cot_emit_reg(e, COT_PTX_B64, "%row");
	for (i = 0; i < COT_ARRAY_LEN(labels); i++)
		(void)cot_emit_label(e, labels[i]);
	cot_tasks_declare_slots(t, 4);
}

/* The first thread finds the share of its block. */
static void put_arrival(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	struct cot_emit *e = &t->e;

	cot_emit_format(e, start,
			"mov.u32 %%id, -1;\n"
			"mov.u32 %%t, %%smid; ld.param.u32 %%u, [args+%u];\n"
			"setp.ge.u32 %%p, %%t, %%u; @%%p bra posted;",
			ARG(n_rows));
	cot_emit_format(e, start,
			"mul.wide.u32 %%row, %%t, %u; ld.param.u64 %%here, [args+%u];\n"
			"cvta.to.global.u64 %%here, %%here; add.u64 %%row, %%row, %%here;\n"
			"ld.global.u32 %%u, [%%row+%u]; setp.eq.u32 %%p, %%u, -1; @%%p bra posted;",
			(unsigned)sizeof(struct cot_retreat_row), ARG(rows), ROW(rank));
	cot_emit_format(e, start,
			"atom.global.add.u32 %%v, [%%row+%u], 1; ld.param.u32 %%t, [args+%u];\n"
			"setp.ge.u32 %%p, %%v, %%t; @%%p bra posted;\n"
			"ld.param.u32 %%t, [args+%u]; mad.lo.u32 %%id, %%v, %%t, %%u;\n"
			"st.shared.u64 [slots+8], %%row;\n"
			"posted: st.shared.u32 [slots], %%id;",
			ROW(n_arrived), ARG(workers), ARG(n_allowed));
}

static void put_begin(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	struct cot_emit *e = &t->e;

	cot_tasks_put_not_leader(t, start, "answer");
	put_arrival(t, start);
	cot_emit_text(e, start, "answer:");
	cot_tasks_put_barrier(t, start);
	cot_emit_format(
		e, start,
		"ld.shared.u32 %%t, [slots]; setp.eq.u32 %%p, %%t, -1; @%%p bra idle;\n"
		"ld.param.u32 %%left, [args+%u]; ld.param.u32 %%u, [args+%u];\n"
		"mul.lo.u32 %%id, %%t, %%left; min.u32 %%v, %%t, %%u; add.u32 %%id, %%id, %%v;\n"
		"setp.lt.u32 %%p, %%t, %%u; @%%p add.u32 %%left, %%left, 1;",
		ARG(share), ARG(extra));
	cot_emit_format(e, start,
			"ld.param.u32 %%t, [args+%u]; add.u32 %%id, %%id, %%t;\n"
			"setp.eq.u32 %%p, %%left, 0; @%%p bra idle;",
			ARG(first));
	cot_tasks_put_second_entry(t, start, ARG(workers));
	cot_tasks_put_index(t, start);
	cot_emit_text(e, start, "task: .pragma \"nounroll\";");
	cot_tasks_put_task(t, start);
}

static void put_end(struct cot_tasks *t)
{
	cot_emit_text(&t->e, NULL, "out:");
	cot_tasks_put_not_leader(t, NULL, "idle");
	cot_emit_format(&t->e, NULL,
			"ld.shared.u64 %%row, [slots+8]; ld.shared.u32 %%u, [slots];\n"
			"ld.param.u32 %%t, [args+%u]; ld.param.u32 %%v, [args+%u];\n"
			"setp.lt.u32 %%p, %%u, %%v; @%%p add.u32 %%t, %%t, 1;\n"
			"red.global.add.u32 [%%row+%u], %%t;\n"
			"idle: ret;",
			ARG(share), ARG(extra), ROW(n_done));
}

int cot_pass_retreat(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		     struct cot_error *err)
{
	const struct cot_decode at = {ARG(grid), ARG(by_row), ARG(by_column)};
	struct cot_ptx_stmt *start;
	struct cot_tasks t;

	cot_tasks_init(&t, kernel, facts, &at, err);
	declare(&t);
	(void)cot_emit_reg(&t.e, COT_PTX_B64, "%here");
	cot_tasks_change_body(&t);
	start = cot_ptx_body_start(kernel);
	put_begin(&t, start);
	cot_tasks_put_tail(&t, "out");
	put_end(&t);
	return t.e.rc;
}
