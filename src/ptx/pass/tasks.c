/*
 * The loop of tasks of the passes `workers` and `retreat`; tasks.h has what it is for.
 *
 *   task:    the body; ret and exit lead to the tail
 *   tail:    one task less; none left: to the pass's own label
 *            block index + 1; (barrier) -> task
 *
 * Threads that return early live on, while others of their block still wait at barriers: see
 * change_barriers().
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>

#include "base/compiler.h"
#include "cotenant/passes.h"
#include "ptx/pass/tasks.h"

static unsigned own_barrier(const struct cot_facts *facts)
{
	unsigned i;

	if (!facts->named_barriers)
		return 0; /* all threads come to the body's barriers equally often */
	for (i = 0; i < 15 && (facts->barriers >> i & 1); i++)
		continue;
	return i;
}

void cot_tasks_init(struct cot_tasks *t, struct cot_ptx_func *kernel, const struct cot_facts *facts,
		    const struct cot_decode *at, struct cot_error *err)
{
	static const char *const words[] = {"%id", "%left", "%t", "%u", "%v"};
	static const char *const labels[] = {"task", "tail", "same", "meet", "met"};
	struct cot_emit *e = &t->e;
	size_t i;

	*t = (struct cot_tasks){.facts = *facts, .at = *at, .barrier = own_barrier(facts)};
	t->facts.ctaid |= facts->ctaid & 4 ? 3 : 1;
	cot_emit_init(e, kernel, err);
	for (i = 0; i < COT_ARRAY_LEN(words); i++)
		(void)cot_emit_reg(e, COT_PTX_B32, words[i]);
	(void)cot_emit_reg(e, COT_PTX_PRED, "%p");
	if (facts->early_return) {
		(void)cot_emit_reg(e, COT_PTX_B32, "%site");
		(void)cot_emit_reg(e, COT_PTX_PRED, "%all");
	}
	for (i = 0; i < COT_ARRAY_LEN(labels); i++)
		(void)cot_emit_label(e, labels[i]);
}

void cot_tasks_declare_slots(struct cot_tasks *t, unsigned n_words)
{
	struct cot_ptx_stmt *var = NULL;
	char text[64];

	(void)snprintf(text, sizeof(text), ".shared .align 16 .b32 cot_slots[%u];", n_words);
	if (!t->e.rc)
		t->e.rc = cot_ptx_insert_text(t->e.func, cot_ptx_body_start(t->e.func), text, NULL,
					      0, &var, NULL, t->e.err);
	if (!t->e.rc)
		cot_emit_bind(&t->e, "slots", cot_ptx_var_operand(var->var));
}

void cot_tasks_put_not_leader(struct cot_tasks *t, struct cot_ptx_stmt *before, const char *label)
{
	cot_emit_format(&t->e, before,
			"mov.u32 %%t, %%tid.x; mov.u32 %%u, %%tid.y; or.b32 %%t, %%t, %%u;\n"
			"mov.u32 %%u, %%tid.z; or.b32 %%t, %%t, %%u;\n"
			"setp.ne.u32 %%p, %%t, 0; @%%p bra %s;",
			label);
}

void cot_tasks_put_barrier(struct cot_tasks *t, struct cot_ptx_stmt *before)
{
	cot_emit_format(&t->e, before, "bar.warp.sync 0xffffffff; bar.sync %u;", t->barrier);
}

void cot_tasks_put_second_entry(struct cot_tasks *t, struct cot_ptx_stmt *start, uint32_t not_zero)
{
	if (!t->facts.early_return) /* it must not have another way in, see put_meeting() */
		cot_emit_format(
			&t->e, start,
			"ld.param.u32 %%t, [args+%u]; setp.eq.u32 %%p, %%t, 0; @%%p bra tail;",
			not_zero);
}

void cot_tasks_put_index(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	cot_block_index_decode(&t->e, start, &t->facts, &t->at);
}

/*
 * %site: where this thread is. A constant would be known behind the branch, and the compiler make a
 * meeting place for each of them, where no threads meet (so it was on an H200). A divider's shift
 * is below 32, but the compiler does not know.
 */
static void put_place(struct cot_tasks *t, struct cot_ptx_stmt *before, unsigned site)
{
	cot_emit_format(&t->e, before,
			"ld.param.u32 %%site, [args+%u]; shr.u32 %%site, %%site, 5;\n"
			"add.u32 %%site, %%site, %u;",
			t->at.by_row + (unsigned)offsetof(struct cot_divider, shift), site);
}

/*
 * Where all threads of the block meet before a task, at each of its barriers and at its end. It
 * stands in front of the body, so that all ways into the body lead through it: for a place that can
 * be come to in any other way the compiler makes copies, and then not all come to the same.
 */
static void put_meeting(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	struct cot_emit *e = &t->e;
	size_t n_binds = e->n_binds;
	unsigned i;

	put_place(t, start, t->n_sites + 1);
	cot_emit_text(e, start,
		      "meet: setp.eq.u32 %all, %site, 0; bar.warp.sync 0xffffffff;\n"
		      "bar.red.and.pred %all, 0, %all; @%all bra met;\n"
		      "setp.eq.u32 %p, %site, 0; @%p bra meet;");
	for (i = 0; i < t->n_sites && !e->rc; i++) {
		cot_emit_bind(e, "back", cot_ptx_label_operand(t->sites[i]));
		cot_emit_format(e, start, "setp.eq.u32 %%p, %%site, %u; @%%p bra back;", i + 1);
		e->n_binds = n_binds;
	}
}

void cot_tasks_put_task(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	if (t->facts.early_return)
		put_meeting(t, start);
	else
		cot_emit_text(&t->e, start, "bar.warp.sync 0xffffffff;");
	cot_block_index_load_grid(&t->e, start, &t->facts, t->at.extents);
}

/* ---- the body ---- */

/* One barrier: its thread goes to where all meet, and comes back. A guard stays. */
static void put_site(struct cot_tasks *t, struct cot_ptx_stmt *s)
{
	struct cot_emit *e = &t->e;
	struct cot_ptx_label *back = t->sites[t->n_sites - 1];
	size_t n_binds = e->n_binds;

	if (e->rc)
		return;
	cot_emit_bind(e, "back", cot_ptx_label_operand(back));
	if (s->insn.guard != COT_PTX_NO_REG) {
		cot_emit_bind(e, "%guard", cot_ptx_reg_operand(s->insn.guard));
		cot_emit_format(e, s, "@%s%%guard bra back;", s->insn.guard_negated ? "" : "!");
	}
	put_place(t, s, t->n_sites);
	cot_emit_text(e, s, "bra meet;\nback:");
	e->n_binds = n_binds;
	if (!e->rc)
		cot_ptx_unlink(e->func, s);
}

/*
 * Barriers of a body from which threads return early. Each thread notes where it is: 0 has
 * returned, k waits at the k-th barrier. All go to one place, where first the warp and then the
 * block meet, and vote "have all returned?". Those who wait then go back to where they were, those
 * who returned go on when all have. So no warp ever comes to a barrier in parts.
 */
static void change_barriers(struct cot_tasks *t)
{
	struct cot_emit *e = &t->e;
	struct cot_ptx_stmt *s, *next;

	for (s = e->func->first; s && !e->rc; s = next) {
		next = s->next;
		if (s->kind != COT_PTX_STMT_INSN || s->insn.n_operands != 1 ||
		    (s->insn.op != COT_PTX_OP_BAR_SYNC && s->insn.op != COT_PTX_OP_BARRIER_SYNC))
			continue;
		if (t->n_sites == COT_TASKS_MAX_SITES) {
			e->rc = cot_error_set(e->err, -E2BIG, "%s: more than %u barriers",
					      e->func->name, COT_TASKS_MAX_SITES);
			return;
		}
		t->sites[t->n_sites] = cot_emit_label(e, "back");
		e->n_binds -= e->rc ? 0 : 1; /* there will be another of that name */
		t->n_sites++;
		put_site(t, s);
	}
}

void cot_tasks_change_body(struct cot_tasks *t)
{
	struct cot_block_index index;

	cot_block_index_make(&t->e, &t->facts, &index);
	cot_block_index_replace(&t->e, &index);
	cot_pass_redirect_ends(&t->e, "tail");
	if (t->facts.early_return)
		change_barriers(t);
}

/* ---- behind it ---- */

static void put_next_index(struct cot_tasks *t)
{
	struct cot_emit *e = &t->e;

	cot_emit_format(e, NULL,
			"add.u32 %%bx, %%bx, 1; ld.param.u32 %%t, [args+%u];\n"
			"setp.ne.u32 %%p, %%bx, %%t; @%%p bra same;\n"
			"mov.u32 %%bx, 0;",
			t->at.extents);
	if (t->facts.ctaid & 2)
		cot_emit_format(e, NULL,
				"add.u32 %%by, %%by, 1; ld.param.u32 %%t, [args+%u];\n"
				"setp.ne.u32 %%p, %%by, %%t; @%%p bra same;\n"
				"mov.u32 %%by, 0;",
				t->at.extents + 4);
	if (t->facts.ctaid & 4)
		cot_emit_text(e, NULL, "add.u32 %bz, %bz, 1;");
	cot_emit_text(e, NULL, "same:");
}

void cot_tasks_put_tail(struct cot_tasks *t, const char *none_left)
{
	struct cot_emit *e = &t->e;

	cot_emit_text(e, NULL, "tail:");
	if (t->facts.async_copies)
		cot_emit_text(e, NULL, "cp.async.wait_all;");
	if (t->facts.early_return) {
		put_place(t, NULL, 0);
		cot_emit_text(e, NULL, "bra meet;\nmet:");
	}
	cot_emit_format(e, NULL,
			"sub.u32 %%left, %%left, 1; setp.eq.u32 %%p, %%left, 0; @%%p bra %s;",
			none_left);
	put_next_index(t);
	if (t->facts.uses_shared && !t->facts.early_return)
		cot_tasks_put_barrier(t, NULL);
	cot_emit_text(e, NULL, "bra task;");
}
