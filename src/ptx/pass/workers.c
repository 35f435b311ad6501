/*
 * The pass `workers`: few blocks that do many tasks each, and leave when asked to. How they share
 * the work stands in cotenant/passes.h.
 *
 *   begin:   id = first + worker * chunk                 nobody is asked
 *   chunk:   block index from id
 *   task:    the body; ret and exit lead to the tail
 *   tail:    one task less; block index + 1; if some are left: (barrier) -> task
 *   claim:   the first thread: asked to leave? else id = atomicAdd(next, c); into shared memory
 *            barrier; all read id and left; none left: end, else -> chunk
 *
 * What makes it cheap: the body stays inline, so its registers stay its own; what does not change
 * is in the parameter, which is constant memory; the index is counted up, and made anew only once
 * per chunk; one barrier per chunk, and one per task only if the body uses shared memory or barriers.
 * Where tasks are short, the time until a claim is answered would show: args.ahead has the next
 * chunk claimed ahead. That costs a register; a kernel with loops inside loops, whose tasks take
 * long anyway, does without.
 *
 * Two places in shared memory, each for the first task of a chunk and its size, take turns, so that
 * a fast thread cannot overwrite what a slow one has still to read: between two writes of a place
 * lies the barrier of the other. The other place has the chunk at hand, by which the size of a
 * claim is found.
 *
 * The address of a claim is one that a compiler cannot tell to be the same for all threads. It
 * would make one addition for the warp out of those of all its lanes, which needs the answer at
 * once, also where the claim is made ahead so that nobody waits.
 *
 * A compiler would move what is the same for all tasks out of the loop, which costs registers (14
 * in BlackScholes) and with them blocks per SM. It cannot do so when the loop has two entries:
 * hence the branch to the tail, never taken, at the beginning.
 *
 * Each task begins with bar.warp.sync. Without it, after something that only the first thread did,
 * the compiler let that lane run its first task apart from its warp, which took twice as long.
 *
 * Threads that return early live on, while others of their block still wait at barriers: see
 * change_barriers().
 */
#include <errno.h>
#include <stddef.h>

#include "base/compiler.h"
#include "cotenant/passes.h"
#include "ptx/pass/inside.h"

#define ARG(field) ((uint32_t)offsetof(struct cot_workers_args, field))

#define MAX_SITES 256u

struct workers {
	struct cot_emit e;
	struct cot_facts facts; /* with ctaid.x, which counts tasks in any case */
	unsigned barrier;	/* the number of our own barrier */
	bool ahead;		/* can claim its chunks ahead */
	/* Behind the barriers of the body, if threads return early. */
	struct cot_ptx_label *sites[MAX_SITES];
	unsigned n_sites;
};

/* "@%p bra LABEL" for all threads but the first one of the block. */
static void put_not_leader(struct workers *w, struct cot_ptx_stmt *before, const char *label)
{
	cot_emit_format(&w->e, before,
			"mov.u32 %%t, %%tid.x; mov.u32 %%u, %%tid.y; or.b32 %%t, %%t, %%u;\n"
			"mov.u32 %%u, %%tid.z; or.b32 %%t, %%t, %%u;\n"
			"setp.ne.u32 %%p, %%t, 0; @%%p bra %s;",
			label);
}

/* The register, tasks of a chunk that begins with %id, is cut off at the last task. Uses %t. */
static void put_cut(struct workers *w, struct cot_ptx_stmt *before, const char *size)
{
	cot_emit_format(&w->e, before,
			"ld.param.u32 %%t, [args+%u]; sub.u32 %%t, %%t, %%id; min.u32 %s, %s, %%t;",
			ARG(n_tasks), size, size);
}

/* %v: how much to claim, from the chunk at hand. Uses %t. */
static void put_claim_size(struct workers *w, struct cot_ptx_stmt *before)
{
	cot_emit_format(&w->e, before,
			"xor.b32 %%t, %%slot, 8; ld.shared.u32 %%t, [%%t];\n"
			"ld.param.u32 %%v, [args+%u]; sub.u32 %%t, %%v, %%t;\n"
			"ld.param.u32 %%v, [args+%u]; shr.u32 %%t, %%t, %%v;\n"
			"ld.param.u32 %%v, [args+%u]; min.u32 %%v, %%v, %%t;\n"
			"ld.param.u32 %%t, [args+%u]; max.u32 %%v, %%v, %%t;",
			ARG(n_tasks), ARG(tail_shift), ARG(chunk), ARG(least));
}

/* All threads of the block meet here; those of a warp may come from different places. */
static void put_barrier(struct workers *w)
{
	cot_emit_format(&w->e, NULL, "bar.warp.sync 0xffffffff; bar.sync %u;", w->barrier);
}

/* ---- in front of the body ---- */

static void declare(struct workers *w)
{
	static const char *const labels[] = {
		"chunk", "task",   "tail",  "claim",	"posted", "answer", "out",  "idle", "same",
		"begun", "polled", "ahead", "together", "ready",  "asked",  "meet", "met"};
	struct cot_emit *e = &w->e;
	struct cot_ptx_stmt *var = NULL;
	size_t i;

	cot_emit_param(e, "args", sizeof(struct cot_workers_args));
	(void)cot_emit_reg(e, COT_PTX_B32, "%slot");
	(void)cot_emit_reg(e, COT_PTX_PRED, "%p");
	(void)cot_emit_reg(e, COT_PTX_B32, "%id");
	(void)cot_emit_reg(e, COT_PTX_B32, "%left");
	(void)cot_emit_reg(e, COT_PTX_B32, "%t");
	(void)cot_emit_reg(e, COT_PTX_B32, "%u");
	(void)cot_emit_reg(e, COT_PTX_B32, "%v");
	(void)cot_emit_reg(e, COT_PTX_B64, "%control");
	(void)cot_emit_reg(e, COT_PTX_B64, "%here");
	if (w->ahead)
		(void)cot_emit_reg(e, COT_PTX_B32, "%next");
	if (w->facts.early_return) {
		(void)cot_emit_reg(e, COT_PTX_B32, "%site");
		(void)cot_emit_reg(e, COT_PTX_PRED, "%all");
	}
	for (i = 0; i < COT_ARRAY_LEN(labels); i++)
		(void)cot_emit_label(e, labels[i]);
	/* A claimed id and its number of tasks, by turns; then how many this worker did. */
	if (!e->rc)
		e->rc = cot_ptx_insert_text(e->func, cot_ptx_body_start(e->func),
					    ".shared .align 16 .b32 cot_slots[5];", NULL, 0, &var,
					    NULL, e->err);
	if (!e->rc)
		cot_emit_bind(e, "slots", cot_ptx_var_operand(var->var));
}

/* %control: where the control block is. */
static void put_control(struct workers *w, struct cot_ptx_stmt *before)
{
	cot_emit_text(&w->e, before,
		      "ld.param.u64 %control, [args]; cvta.to.global.u64 %control, %control;");
}

/* Goes to the label if the first chunks are all there is: then nobody needs to ask. */
static void put_nothing_to_claim(struct workers *w, struct cot_ptx_stmt *before, const char *label)
{
	cot_emit_format(&w->e, before,
			"ld.param.u32 %%t, [args+%u]; ld.param.u32 %%u, [args+%u];\n"
			"setp.ge.u32 %%p, %%t, %%u; @%%p bra %s;",
			ARG(begun), ARG(n_tasks), label);
}

static void put_poll(struct workers *w, struct cot_ptx_stmt *before, const char *reg)
{
	cot_emit_format(&w->e, before, "ld.volatile.global.u32 %s, [%%control+%zu];", reg,
			offsetof(struct cot_workers_control, evict));
}

/* `id`: the first task of the next chunk; -1 if `evict` says that this worker has to leave. */
static void put_ask(struct workers *w, struct cot_ptx_stmt *before, const char *evict,
		    const char *id, const char *leave)
{
	cot_emit_format(&w->e, before,
			"ld.param.u32 %%t, [args+%u]; min.u32 %%u, %s, %%t;\n"
			"ld.param.u32 %%t, [args+%u]; mul.lo.u32 %%u, %%u, %%t;\n"
			"mov.u32 %s, -1;\n"
			"mov.u32 %%t, %%ctaid.x; setp.lt.u32 %%p, %%t, %%u; @%%p bra %s;",
			ARG(n_workers), evict, ARG(per_sm), id, leave);
	put_claim_size(w, before);
	/* The first thread's index is 0. */
	cot_emit_format(&w->e, before,
			"mov.u32 %%t, %%tid.x; cvt.u64.u32 %%here, %%t;\n"
			"add.u64 %%here, %%here, %%control; atom.global.add.u32 %s, [%%here+%zu], %%v;",
			id, offsetof(struct cot_workers_control, next));
}

static void put_begin(struct workers *w, struct cot_ptx_stmt *start)
{
	cot_emit_format(&w->e, start,
			"mov.u32 %%slot, slots; mov.u32 %%id, %%ctaid.x;\n"
			"ld.param.u32 %%u, [args+%u]; ld.param.u32 %%left, [args+%u];\n"
			"mad.lo.u32 %%id, %%id, %%u, %%left;\n"
			"ld.param.u32 %%t, [args+%u]; setp.ge.u32 %%p, %%id, %%t; @%%p bra idle;",
			ARG(chunk), ARG(first), ARG(n_tasks));
	cot_emit_format(&w->e, start, "ld.param.u32 %%left, [args+%u];", ARG(chunk));
	put_cut(w, start, "%left");
	put_not_leader(w, start, "begun");
	cot_emit_format(&w->e, start,
			"st.shared.v2.u32 [slots+8], {%%id, %%left}; st.shared.u32 [slots+16], %%left;\n"
			"begun:\n"
			"ld.param.u32 %%t, [args+%u]; setp.eq.u32 %%p, %%t, 0; @%%p bra tail;",
			ARG(chunk)); /* never: the second entry of the loop */
}

/*
 * Claiming ahead: the flag is read before the last task but one of a chunk, and the next chunk is
 * claimed before the last one. Both take as long as a short task, and nobody waits for them.
 */
static void put_claim_ahead(struct workers *w, struct cot_ptx_stmt *start)
{
	struct cot_emit *e = &w->e;

	cot_emit_format(e, start,
			"setp.gt.u32 %%p, %%left, 2; @%%p bra ready;\n"
			"ld.param.u32 %%t, [args+%u]; setp.eq.u32 %%p, %%t, 0; @%%p bra ready;",
			ARG(ahead));
	put_not_leader(w, start, "together");
	put_control(w, start);
	cot_emit_text(e, start, "setp.eq.u32 %p, %left, 1; @%p bra ahead;");
	put_poll(w, start, "%next");
	cot_emit_text(e, start, "bra together;\nahead:");
	put_nothing_to_claim(w, start, "together");
	put_ask(w, start, "%next", "%next", "together");
	cot_emit_text(e, start, "together:\nready:");
}

static void put_chunk(struct workers *w, struct cot_ptx_stmt *start)
{
	const struct cot_decode at = {ARG(grid), ARG(by_row), ARG(by_column)};
	struct cot_emit *e = &w->e;

	cot_emit_text(e, start, "chunk:");
	if (w->ahead) { /* a chunk of one task has no task but one in which to read the flag */
		cot_emit_text(e, start, "setp.ne.u32 %p, %left, 1; @%p bra polled;");
		put_not_leader(w, start, "polled");
		put_control(w, start);
		put_poll(w, start, "%next");
		cot_emit_text(e, start, "polled:");
	}
	cot_block_index_decode(e, start, &w->facts, &at);
	cot_emit_text(e, start, "task: .pragma \"nounroll\";");
	if (w->ahead)
		put_claim_ahead(w, start);
	cot_emit_text(e, start,
		      "bar.warp.sync 0xffffffff;"); /* see above: what the first thread did */
	cot_block_index_load_grid(e, start, &w->facts, ARG(grid));
}

/* ---- behind it ---- */

static void put_next_index(struct workers *w)
{
	struct cot_emit *e = &w->e;

	cot_emit_format(e, NULL,
			"add.u32 %%bx, %%bx, 1; ld.param.u32 %%t, [args+%u];\n"
			"setp.ne.u32 %%p, %%bx, %%t; @%%p bra same;\n"
			"mov.u32 %%bx, 0;",
			ARG(grid));
	if (w->facts.ctaid & 2)
		cot_emit_format(e, NULL,
				"add.u32 %%by, %%by, 1; ld.param.u32 %%t, [args+%u];\n"
				"setp.ne.u32 %%p, %%by, %%t; @%%p bra same;\n"
				"mov.u32 %%by, 0;",
				ARG(grid) + 4);
	if (w->facts.ctaid & 4)
		cot_emit_text(e, NULL, "add.u32 %bz, %bz, 1;");
	cot_emit_text(e, NULL, "same:");
}

/* One barrier: its thread goes to where all meet, and comes back. A guard stays. */
static void put_site(struct workers *w, struct cot_ptx_stmt *s)
{
	struct cot_emit *e = &w->e;
	struct cot_ptx_label *back = w->sites[w->n_sites - 1];
	size_t n_binds = e->n_binds;

	if (e->rc)
		return;
	cot_emit_bind(e, "back", cot_ptx_label_operand(back));
	if (s->insn.guard != COT_PTX_NO_REG) {
		cot_emit_bind(e, "%guard", cot_ptx_reg_operand(s->insn.guard));
		cot_emit_format(e, s, "@%s%%guard bra back;", s->insn.guard_negated ? "" : "!");
	}
	cot_emit_format(e, s, "mov.u32 %%site, %u; bra meet;\nback:", w->n_sites);
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
static void change_barriers(struct workers *w)
{
	struct cot_emit *e = &w->e;
	struct cot_ptx_stmt *s, *next;

	for (s = e->func->first; s && !e->rc; s = next) {
		next = s->next;
		if (s->kind != COT_PTX_STMT_INSN || s->insn.n_operands != 1 ||
		    (s->insn.op != COT_PTX_OP_BAR_SYNC && s->insn.op != COT_PTX_OP_BARRIER_SYNC))
			continue;
		if (w->n_sites == MAX_SITES) {
			e->rc = cot_error_set(e->err, -E2BIG, "%s: more than %u barriers",
					      e->func->name, MAX_SITES);
			return;
		}
		w->sites[w->n_sites] = cot_emit_label(e, "back");
		e->n_binds -= e->rc ? 0 : 1; /* there will be another of that name */
		w->n_sites++;
		put_site(w, s);
	}
}

static void put_meeting(struct workers *w)
{
	struct cot_emit *e = &w->e;
	size_t n_binds = e->n_binds;
	unsigned i;

	cot_emit_text(e, NULL,
		      "mov.u32 %site, 0;\n"
		      "meet: setp.eq.u32 %all, %site, 0; bar.warp.sync 0xffffffff;\n"
		      "bar.red.and.pred %all, 0, %all; @%all bra met;\n"
		      "setp.eq.u32 %p, %site, 0; @%p bra meet;");
	for (i = 0; i < w->n_sites && !e->rc; i++) {
		cot_emit_bind(e, "back", cot_ptx_label_operand(w->sites[i]));
		if (i + 1 < w->n_sites)
			cot_emit_format(e, NULL, "setp.eq.u32 %%p, %%site, %u; @%%p bra back;",
					i + 1);
		else
			cot_emit_text(e, NULL, "bra back;");
		e->n_binds = n_binds;
	}
	cot_emit_text(e, NULL, "met:");
}

static void put_tail(struct workers *w)
{
	struct cot_emit *e = &w->e;

	cot_emit_text(e, NULL, "tail:");
	if (w->facts.async_copies)
		cot_emit_text(e, NULL, "cp.async.wait_all;");
	if (w->facts.early_return)
		put_meeting(w);
	cot_emit_text(e, NULL, "sub.u32 %left, %left, 1; setp.eq.u32 %p, %left, 0; @%p bra claim;");
	put_next_index(w);
	if (w->facts.uses_shared && !w->facts.early_return)
		put_barrier(w);
	cot_emit_text(e, NULL, "bra task;");
}

/* What the first thread does for the block; %id is -1 when the worker has to leave. */
static void put_leader_claim(struct workers *w)
{
	struct cot_emit *e = &w->e;

	if (w->ahead)
		cot_emit_format(
			e, NULL,
			"mov.u32 %%id, %%next;\n"
			"ld.param.u32 %%t, [args+%u]; setp.ne.u32 %%p, %%t, 0; @%%p bra asked;",
			ARG(ahead));
	put_control(w, NULL);
	put_poll(w, NULL, "%v");
	put_ask(w, NULL, "%v", "%id", "posted");
	cot_emit_text(e, NULL, "asked:");
	cot_emit_format(
		e, NULL,
		"ld.param.u32 %%t, [args+%u]; setp.ge.u32 %%p, %%id, %%t; @%%p bra posted;",
		ARG(n_tasks));
	if (w->ahead) /* it was claimed long before, by the same chunk at hand */
		put_claim_size(w, NULL);
	put_cut(w, NULL, "%v");
	cot_emit_text(
		e, NULL,
		"ld.shared.u32 %u, [slots+16]; add.u32 %u, %u, %v; st.shared.u32 [slots+16], %u;\n"
		"posted: st.shared.v2.u32 [%slot], {%id, %v};");
}

static void put_claim(struct workers *w)
{
	struct cot_emit *e = &w->e;

	cot_emit_text(e, NULL, "claim:");
	put_nothing_to_claim(w, NULL, "out");
	put_not_leader(w, NULL, "answer");
	put_leader_claim(w);
	cot_emit_text(e, NULL, "answer:");
	put_barrier(w);
	cot_emit_format(
		e, NULL,
		"ld.shared.v2.u32 {%%id, %%left}, [%%slot]; xor.b32 %%slot, %%slot, 8;\n"
		"ld.param.u32 %%t, [args+%u]; setp.lt.u32 %%p, %%id, %%t; @%%p bra chunk;\n"
		"out:",
		ARG(n_tasks));
	put_not_leader(w, NULL, "idle");
	put_control(w, NULL);
	cot_emit_format(e, NULL,
			"ld.shared.u32 %%u, [slots+16];\n"
			"red.global.add.u32 [%%control+%zu], %%u;\n"
			"idle: ret;",
			offsetof(struct cot_workers_control, done));
}

/* ---- the whole ---- */

static unsigned own_barrier(const struct cot_facts *facts)
{
	unsigned i;

	if (!facts->named_barriers)
		return 0; /* all threads come to the body's barriers equally often */
	for (i = 0; i < 15 && (facts->barriers >> i & 1); i++)
		continue;
	return i;
}

int cot_pass_workers(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		     struct cot_error *err)
{
	struct workers w = {
		.facts = *facts, .barrier = own_barrier(facts), .ahead = !facts->nested_loops};
	struct cot_block_index index;
	struct cot_ptx_stmt *start;

	w.facts.ctaid |= facts->ctaid & 4 ? 3 : 1;
	cot_emit_init(&w.e, kernel, err);
	declare(&w);
	cot_block_index_make(&w.e, &w.facts, &index);
	cot_block_index_replace(&w.e, &index);
	cot_pass_redirect_ends(&w.e, "tail");
	if (facts->early_return)
		change_barriers(&w);
	start = cot_ptx_body_start(kernel);
	put_begin(&w, start);
	put_chunk(&w, start);
	put_tail(&w);
	put_claim(&w);
	return w.e.rc;
}
