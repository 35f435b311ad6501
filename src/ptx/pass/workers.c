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
 * per chunk; one barrier per chunk, and one per task only if the body uses shared memory or
 * barriers. Where tasks are short, the time until a claim is answered would show: args.ahead has
 * the next chunk claimed ahead. That costs a register; a kernel with loops inside loops, whose
 * tasks take long anyway, does without.
 *
 * Two places in shared memory, each for the first task of a chunk and its size, take turns, so that
 * a fast thread cannot overwrite what a slow one has still to read: between two writes of a place
 * lies the barrier of the other. The other place has the chunk at hand, by which the size of a
 * claim is found.
 *
 * The address of a claim is one that a compiler cannot tell to be the same for all threads. It
 * would make one addition for the warp out of those of all its lanes, which needs the answer at
 * once, also where the claim is made ahead so that nobody waits.
 */
#include <stddef.h>

#include "base/compiler.h"
#include "cotenant/passes.h"
#include "ptx/pass/tasks.h"

#define ARG(field) ((uint32_t)offsetof(struct cot_workers_args, field))

struct workers {
	struct cot_tasks t;
	bool ahead; /* can claim its chunks ahead */
};

/* The register, tasks of a chunk that begins with %id, is cut off at the last task. Uses %t. */
static void put_cut(struct workers *w, struct cot_ptx_stmt *before, const char *size)
{
	cot_emit_format(&w->t.e, before,
			"ld.param.u32 %%t, [args+%u]; sub.u32 %%t, %%t, %%id; min.u32 %s, %s, %%t;",
			ARG(n_tasks), size, size);
}

/* %v: how much to claim, from the chunk at hand. Uses %t. */
static void put_claim_size(struct workers *w, struct cot_ptx_stmt *before)
{
	cot_emit_format(&w->t.e, before,
			"xor.b32 %%t, %%slot, 8; ld.shared.u32 %%t, [%%t];\n"
			"ld.param.u32 %%v, [args+%u]; sub.u32 %%t, %%v, %%t;\n"
			"ld.param.u32 %%v, [args+%u]; shr.u32 %%t, %%t, %%v;\n"
			"ld.param.u32 %%v, [args+%u]; min.u32 %%v, %%v, %%t;\n"
			"ld.param.u32 %%t, [args+%u]; max.u32 %%v, %%v, %%t;",
			ARG(n_tasks), ARG(tail_shift), ARG(chunk), ARG(least));
}

/* ---- in front of the body ---- */

static void declare(struct workers *w)
{
	static const char *const labels[] = {"chunk", "claim", "posted",   "answer",
					     "out",   "idle",  "begun",	   "polled",
					     "ahead", "ready", "together", "asked"};
	struct cot_emit *e = &w->t.e;
	size_t i;

	cot_emit_param(e, "args", sizeof(struct cot_workers_args));
	(void)cot_emit_reg(e, COT_PTX_B32, "%slot");
	(void)cot_emit_reg(e, COT_PTX_B64, "%control");
	(void)cot_emit_reg(e, COT_PTX_B64, "%here");
	if (w->ahead)
		(void)cot_emit_reg(e, COT_PTX_B32, "%next");
	for (i = 0; i < COT_ARRAY_LEN(labels); i++)
		(void)cot_emit_label(e, labels[i]);
	/* A claimed id and its number of tasks, by turns; then how many this worker did. */
	cot_tasks_declare_slots(&w->t, 5);
}

/* %control: where the control block is. */
static void put_control(struct workers *w, struct cot_ptx_stmt *before)
{
	cot_emit_text(&w->t.e, before,
		      "ld.param.u64 %control, [args]; cvta.to.global.u64 %control, %control;");
}

/* Goes to the label if the first chunks are all there is: then nobody needs to ask. */
static void put_nothing_to_claim(struct workers *w, struct cot_ptx_stmt *before, const char *label)
{
	cot_emit_format(&w->t.e, before,
			"ld.param.u32 %%t, [args+%u]; ld.param.u32 %%u, [args+%u];\n"
			"setp.ge.u32 %%p, %%t, %%u; @%%p bra %s;",
			ARG(begun), ARG(n_tasks), label);
}

static void put_poll(struct workers *w, struct cot_ptx_stmt *before, const char *reg)
{
	cot_emit_format(&w->t.e, before, "ld.volatile.global.u32 %s, [%%control+%zu];", reg,
			offsetof(struct cot_workers_control, evict));
}

/* `id`: the first task of the next chunk; -1 if `evict` says that this worker has to leave. */
static void put_ask(struct workers *w, struct cot_ptx_stmt *before, const char *evict,
		    const char *id, const char *leave)
{
	cot_emit_format(&w->t.e, before,
			"ld.param.u32 %%t, [args+%u]; min.u32 %%u, %s, %%t;\n"
			"ld.param.u32 %%t, [args+%u]; mul.lo.u32 %%u, %%u, %%t;\n"
			"mov.u32 %s, -1;\n"
			"mov.u32 %%t, %%ctaid.x; setp.lt.u32 %%p, %%t, %%u; @%%p bra %s;",
			ARG(n_workers), evict, ARG(per_sm), id, leave);
	put_claim_size(w, before);
	/* The first thread's index is 0. */
	cot_emit_format(
		&w->t.e, before,
		"mov.u32 %%t, %%tid.x; cvt.u64.u32 %%here, %%t;\n"
		"add.u64 %%here, %%here, %%control; atom.global.add.u32 %s, [%%here+%zu], %%v;",
		id, offsetof(struct cot_workers_control, next));
}

static void put_begin(struct workers *w, struct cot_ptx_stmt *start)
{
	cot_emit_format(&w->t.e, start,
			"mov.u32 %%slot, slots; mov.u32 %%id, %%ctaid.x;\n"
			"ld.param.u32 %%u, [args+%u]; ld.param.u32 %%left, [args+%u];\n"
			"mad.lo.u32 %%id, %%id, %%u, %%left;\n"
			"ld.param.u32 %%t, [args+%u]; setp.ge.u32 %%p, %%id, %%t; @%%p bra idle;",
			ARG(chunk), ARG(first), ARG(n_tasks));
	cot_emit_format(&w->t.e, start, "ld.param.u32 %%left, [args+%u];", ARG(chunk));
	put_cut(w, start, "%left");
	cot_tasks_put_not_leader(&w->t, start, "begun");
	cot_emit_text(&w->t.e, start,
		      "st.shared.v2.u32 [slots+8], {%id, %left}; st.shared.u32 [slots+16], %left;\n"
		      "begun:");
	cot_tasks_put_second_entry(&w->t, start, ARG(chunk));
}

/*
 * Claiming ahead: the flag is read before the last task but one of a chunk, and the next chunk is
 * claimed before the last one. Both take as long as a short task, and nobody waits for them.
 */
static void put_claim_ahead(struct workers *w, struct cot_ptx_stmt *start)
{
	struct cot_emit *e = &w->t.e;

	cot_emit_format(e, start,
			"setp.gt.u32 %%p, %%left, 2; @%%p bra ready;\n"
			"ld.param.u32 %%t, [args+%u]; setp.eq.u32 %%p, %%t, 0; @%%p bra ready;",
			ARG(ahead));
	cot_tasks_put_not_leader(&w->t, start, "together");
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
	struct cot_emit *e = &w->t.e;

	cot_emit_text(e, start, "chunk:");
	if (w->ahead) { /* a chunk of one task has no task but one in which to read the flag */
		cot_emit_text(e, start, "setp.ne.u32 %p, %left, 1; @%p bra polled;");
		cot_tasks_put_not_leader(&w->t, start, "polled");
		put_control(w, start);
		put_poll(w, start, "%next");
		cot_emit_text(e, start, "polled:");
	}
	cot_tasks_put_index(&w->t, start);
	cot_emit_text(e, start, "task: .pragma \"nounroll\";");
	if (w->ahead)
		put_claim_ahead(w, start);
	cot_tasks_put_task(&w->t, start);
}

/* ---- behind it ---- */

/* What the first thread does for the block; %id is -1 when the worker has to leave. */
static void put_leader_claim(struct workers *w)
{
	struct cot_emit *e = &w->t.e;

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
	cot_emit_format(e, NULL,
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
	struct cot_emit *e = &w->t.e;

	cot_emit_text(e, NULL, "claim:");
	put_nothing_to_claim(w, NULL, "out");
	cot_tasks_put_not_leader(&w->t, NULL, "answer");
	put_leader_claim(w);
	cot_emit_text(e, NULL, "answer:");
	cot_tasks_put_barrier(&w->t, NULL);
	cot_emit_format(e, NULL,
			"ld.shared.v2.u32 {%%id, %%left}, [%%slot]; xor.b32 %%slot, %%slot, 8;\n"
			"ld.param.u32 %%t, [args+%u]; setp.lt.u32 %%p, %%id, %%t; @%%p bra chunk;\n"
			"out:",
			ARG(n_tasks));
	cot_tasks_put_not_leader(&w->t, NULL, "idle");
	put_control(w, NULL);
	cot_emit_format(e, NULL,
			"ld.shared.u32 %%u, [slots+16];\n"
			"red.global.add.u32 [%%control+%zu], %%u;\n"
			"idle: ret;",
			offsetof(struct cot_workers_control, done));
}

/* ---- the whole ---- */

int cot_pass_workers(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		     struct cot_error *err)
{
	const struct cot_decode at = {ARG(grid), ARG(by_row), ARG(by_column)};
	struct workers w = {.ahead = !facts->nested_loops};
	struct cot_ptx_stmt *start;

	cot_tasks_init(&w.t, kernel, facts, &at, err);
	declare(&w);
	cot_tasks_change_body(&w.t);
	start = cot_ptx_body_start(kernel);
	put_begin(&w, start);
	put_chunk(&w, start);
	cot_tasks_put_tail(&w.t, "claim");
	put_claim(&w);
	return w.t.e.rc;
}
