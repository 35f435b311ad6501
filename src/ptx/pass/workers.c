/*
 * The pass `workers`: few blocks that do many tasks each, and leave when asked to. How they share
 * the work stands in cotenant/passes.h.
 *
 *   begin:   id = first + worker * chunk                 without a claim; none there: -> claim
 *   chunk:   block index from id
 *   task:    the body; ret and exit lead to the tail
 *   tail:    one task less; block index + 1; if some are left: (barrier) -> task
 *   claim:   the first thread: asked to leave? else id = atomicAdd(next, c); into shared memory
 *            barrier; all read id and left; none left: end, else -> chunk
 *   go:      leaves without having done a task: waits a while until all have come
 *
 * What makes it cheap: the body stays inline, so its registers stay its own; what does not change
 * is in the parameter, which is constant memory; the index is counted up, and computed again only
 * once per chunk; one barrier per chunk, and one per task only if the body uses shared memory or
 * barriers. Claims are not made before their answers are needed: that won one per cent for tasks of
 * a microsecond. And between what only the first thread reads from others and the next task there
 * must be a barrier, as there is here. ptxas puts a YIELD behind such a read, if it stands in a
 * branch; then the other lanes need not wait where the branch ends, and the warp goes on in parts
 * until a barrier joins it. So myocyte and particlefilter took twice as long on an H200.
 *
 * Two places in shared memory, each for the first task of a chunk and its size, take turns, so that
 * a fast thread cannot overwrite what a slow one has still to read: between two writes of a place
 * lies the barrier of the other. The other place has the chunk at hand, by which the size of a
 * claim is found.
 */
#include <stddef.h>

#include "base/compiler.h"
#include "cotenant/passes.h"
#include "ptx/pass/tasks.h"

#define ARG(field) ((uint32_t)offsetof(struct cot_workers_args, field))

/* See put_go(). On an H200 all blocks that fit are there after some microseconds. Our choices. */
#define GO_LOOKS   16u
#define GO_LOOK_NS 500u

/* The register, tasks of a chunk that begins with %id, is cut off at the last task. Uses %t. */
static void put_cut(struct cot_tasks *t, struct cot_ptx_stmt *before, const char *size)
{
	cot_emit_format(&t->e, before,
			"ld.param.u32 %%t, [args+%u]; sub.u32 %%t, %%t, %%id; min.u32 %s, %s, %%t;",
			ARG(n_tasks), size, size);
}

/* %v: how much to claim, from the chunk at hand. Uses %t. */
static void put_claim_size(struct cot_tasks *t)
{
	cot_emit_format(&t->e, NULL,
			"xor.b32 %%t, %%slot, 8; ld.shared.u32 %%t, [%%t];\n"
			"ld.param.u32 %%v, [args+%u]; sub.u32 %%t, %%v, %%t;\n"
			"ld.param.u32 %%v, [args+%u]; shr.u32 %%t, %%t, %%v;\n"
			"ld.param.u32 %%v, [args+%u]; min.u32 %%v, %%v, %%t;\n"
			"ld.param.u32 %%t, [args+%u]; max.u32 %%v, %%v, %%t;",
			ARG(n_tasks), ARG(tail_shift), ARG(chunk), ARG(least));
}

/* ---- in front of the body ---- */

static void declare(struct cot_tasks *t)
{
	static const char *const labels[] = {"chunk", "claim", "stay",	"leave", "posted", "answer",
					     "out",   "idle",  "begun", "own",	 "go",	   "look"};
	struct cot_emit *e = &t->e;
	size_t i;

	cot_emit_param(e, "args", sizeof(struct cot_workers_args));
	(void)cot_emit_reg(e, COT_PTX_B32, "%slot");
	(void)cot_emit_reg(e, COT_PTX_B32, "%w");
	(void)cot_emit_reg(e, COT_PTX_B64, "%control");
	for (i = 0; i < COT_ARRAY_LEN(labels); i++)
		(void)cot_emit_label(e, labels[i]);
	/* A claimed id and its number of tasks, by turns; then how many this worker did. */
	cot_tasks_declare_slots(t, 5);
}

/* %control: where the control block is. */
static void put_control(struct cot_tasks *t, struct cot_ptx_stmt *before)
{
	cot_emit_text(&t->e, before,
		      "ld.param.u64 %control, [args]; cvta.to.global.u64 %control, %control;");
}

/* Goes to the label if the first chunks are all there is: then no worker needs to claim. */
static void put_nothing_to_claim(struct cot_tasks *t, const char *label)
{
	cot_emit_format(&t->e, NULL,
			"ld.param.u32 %%t, [args+%u]; ld.param.u32 %%u, [args+%u];\n"
			"setp.ge.u32 %%p, %%t, %%u; @%%p bra %s;",
			ARG(begun), ARG(n_tasks), label);
}

/*
 * %id: the first task of the next chunk, %v: its size; %id is -1 if this worker has to leave.
 *
 * %u: how many workers are to leave, %t: the highest SM that they are on. n_sms * %u is 0 if there
 * is no n_sms, and the SM before the first one is a very high one. Who has come too late to leave
 * takes back that it was counted. Nothing of this is computed while no worker has to leave.
 */
static void put_ask(struct cot_tasks *t)
{
	cot_emit_format(&t->e, NULL,
			"mov.u32 %%id, -1;\n"
			"ld.volatile.global.u32 %%v, [%%control+%zu];\n"
			"setp.eq.u32 %%p, %%v, 0; @%%p bra stay;\n"
			"ld.param.u32 %%w, [args+%u]; ld.param.u32 %%t, [args+%u];\n"
			"and.b32 %%u, %%v, 0x7fffffff; min.u32 %%u, %%u, %%w;\n"
			"mul.lo.u32 %%u, %%u, %%t; min.u32 %%u, %%u, %%w;",
			offsetof(struct cot_workers_control, evict), ARG(n_workers), ARG(per_sm));
	cot_emit_format(&t->e, NULL,
			"setp.lt.s32 %%p, %%v, 0; @%%p bra leave;\n"
			"setp.eq.u32 %%p, %%u, %%w; @%%p bra leave;\n"
			"ld.param.u32 %%t, [args+%u]; mul.lo.u32 %%t, %%t, %%u;\n"
			"sub.u32 %%t, %%t, 1; div.u32 %%t, %%t, %%w;\n"
			"mov.u32 %%w, %%smid; setp.gt.u32 %%p, %%w, %%t; @%%p bra stay;\n"
			"leave: atom.global.add.u32 %%t, [%%control+%zu], 1;\n"
			"setp.lt.u32 %%p, %%t, %%u; @%%p bra go;\n"
			"red.global.add.u32 [%%control+%zu], -1;\n"
			"stay:",
			ARG(n_sms), offsetof(struct cot_workers_control, leaving),
			offsetof(struct cot_workers_control, leaving));
	put_claim_size(t);
	cot_emit_format(&t->e, NULL, "atom.global.add.u32 %%id, [%%control+%zu], %%v;",
			offsetof(struct cot_workers_control, next));
}

/*
 * Who leaves a gathered launch (cot_workers_gather()) without having done a task was never to stay.
 * If it left at once, a block of the same launch that is still to come would be put in its place
 * and not on the SMs that are to be filled: so it waits until all have come. Where some have ended
 * already they do not all fit, and it waits for nobody. In other launches whose workers begin with
 * a claim, one that is evicted before it has done a task cannot be told from that: it waits, too,
 * some microseconds at most.
 */
static void put_go(struct cot_tasks *t)
{
	cot_emit_format(
		&t->e, NULL,
		"go: ld.shared.u32 %%t, [slots+16]; setp.ne.u32 %%p, %%t, 0; @%%p bra posted;\n"
		"ld.param.u32 %%v, [args+%u]; mov.u32 %%w, %u;\n"
		"look: ld.volatile.global.u32 %%t, [%%control+%zu];\n"
		"setp.ge.u32 %%p, %%t, %%v; @%%p bra posted;\n"
		"ld.volatile.global.u32 %%t, [%%control+%zu];\n"
		"setp.ne.u32 %%p, %%t, 0; @%%p bra posted;\n"
		"nanosleep.u32 %u;\n"
		"sub.u32 %%w, %%w, 1; setp.ne.u32 %%p, %%w, 0; @%%p bra look;",
		ARG(n_workers), GO_LOOKS, offsetof(struct cot_workers_control, come),
		offsetof(struct cot_workers_control, ended), GO_LOOK_NS);
}

/* It begins with a claim, as one behind a chunk of no tasks. */
static void put_no_chunk(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	cot_tasks_put_not_leader(t, start, "claim");
	put_control(t, start);
	cot_emit_format(
		&t->e, start,
		"red.global.add.u32 [%%control+%zu], 1;\n"
		"ld.param.u32 %%id, [args+%u]; mov.u32 %%left, 0;\n"
		"st.shared.v2.u32 [slots+8], {%%id, %%left}; st.shared.u32 [slots+16], %%left;\n"
		"bra claim;",
		offsetof(struct cot_workers_control, come), ARG(begun));
}

static void put_begin(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	cot_emit_format(&t->e, start,
			"mov.u32 %%slot, slots; mov.u32 %%id, %%ctaid.x;\n"
			"ld.param.u32 %%u, [args+%u]; ld.param.u32 %%left, [args+%u];\n"
			"mad.lo.u32 %%id, %%id, %%u, %%left;\n"
			"ld.param.u32 %%t, [args+%u]; setp.lt.u32 %%p, %%id, %%t; @%%p bra own;",
			ARG(chunk), ARG(first), ARG(n_tasks));
	put_no_chunk(t, start);
	cot_emit_format(&t->e, start, "own: ld.param.u32 %%left, [args+%u];", ARG(chunk));
	put_cut(t, start, "%left");
	cot_tasks_put_not_leader(t, start, "begun");
	cot_emit_text(&t->e, start,
		      "st.shared.v2.u32 [slots+8], {%id, %left}; st.shared.u32 [slots+16], %left;\n"
		      "begun:");
	cot_tasks_put_second_entry(t, start, ARG(chunk));
}

static void put_chunk(struct cot_tasks *t, struct cot_ptx_stmt *start)
{
	cot_emit_text(&t->e, start, "chunk:");
	cot_tasks_put_index(t, start);
	cot_emit_text(&t->e, start, "task: .pragma \"nounroll\";");
	cot_tasks_put_task(t, start);
}

/* ---- behind it ---- */

/* What the first thread does for the block. */
static void put_leader_claim(struct cot_tasks *t)
{
	put_control(t, NULL);
	put_ask(t);
	cot_emit_format(&t->e, NULL,
			"ld.param.u32 %%t, [args+%u]; setp.ge.u32 %%p, %%id, %%t; @%%p bra posted;",
			ARG(n_tasks));
	put_cut(t, NULL, "%v");
	cot_emit_text(
		&t->e, NULL,
		"ld.shared.u32 %u, [slots+16]; add.u32 %u, %u, %v; st.shared.u32 [slots+16], %u;\n"
		"bra posted;");
	put_go(t);
	cot_emit_text(&t->e, NULL, "posted: st.shared.v2.u32 [%slot], {%id, %v};");
}

static void put_claim(struct cot_tasks *t)
{
	struct cot_emit *e = &t->e;

	cot_emit_text(e, NULL, "claim:");
	put_nothing_to_claim(t, "out");
	cot_tasks_put_not_leader(t, NULL, "answer");
	put_leader_claim(t);
	cot_emit_text(e, NULL, "answer:");
	cot_tasks_put_barrier(t, NULL);
	cot_emit_format(e, NULL,
			"ld.shared.v2.u32 {%%id, %%left}, [%%slot]; xor.b32 %%slot, %%slot, 8;\n"
			"ld.param.u32 %%t, [args+%u]; setp.lt.u32 %%p, %%id, %%t; @%%p bra chunk;\n"
			"out:",
			ARG(n_tasks));
	cot_tasks_put_not_leader(t, NULL, "idle");
	put_control(t, NULL);
	cot_emit_format(e, NULL,
			"ld.shared.u32 %%u, [slots+16];\n"
			"red.global.add.u32 [%%control+%zu], %%u;\n"
			"red.global.add.u32 [%%control+%zu], 1;\n"
			"idle: ret;",
			offsetof(struct cot_workers_control, done),
			offsetof(struct cot_workers_control, ended));
}

/* ---- the whole ---- */

int cot_pass_workers(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		     struct cot_error *err)
{
	const struct cot_decode at = {ARG(grid), ARG(by_row), ARG(by_column)};
	struct cot_ptx_stmt *start;
	struct cot_tasks t;

	cot_pass_need_version(kernel->module, 6, 3); /* nanosleep */
	cot_tasks_init(&t, kernel, facts, &at, err);
	declare(&t);
	cot_tasks_change_body(&t);
	start = cot_ptx_body_start(kernel);
	put_begin(&t, start);
	put_chunk(&t, start);
	cot_tasks_put_tail(&t, "claim");
	put_claim(&t);
	return t.e.rc;
}
