/* Executable graphs. */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/capture.h"
#include "emu/driver/graph.h"
#include "emu/driver/inside.h"

struct step {
	const struct CUgraphNode_st *node; /* what it was made from; a name only, may be gone */
	struct cot_emu_task task;
	struct cot_emu_graph_exec *child; /* a reference, or NULL */
	CUgraphNodeType type;
	bool disabled;
};

struct cot_emu_graph_exec {
	_Atomic uint32_t n_refs;
	uint64_t flags;
	struct step *steps;
	size_t n_steps;
	pthread_mutex_t lock; /* for what follows: two threads may launch it */
	/* A copy of it as it is now, which launches hold and nobody changes; NULL: none yet. */
	struct cot_emu_graph_exec *frozen;
	/* Where it was launched last, and up to where; a reference, or NULL. */
	struct CUstream_st *last;
	uint64_t last_position;
};

void cot_emu_graph_exec_ref(struct cot_emu_graph_exec *exec)
{
	atomic_fetch_add(&exec->n_refs, 1);
}

static void drop_step(struct step *step)
{
	cot_emu_task_drop(&step->task);
	if (step->child)
		cot_emu_graph_exec_unref(step->child);
}

void cot_emu_graph_exec_unref(struct cot_emu_graph_exec *exec)
{
	size_t i;

	if (!exec || atomic_fetch_sub(&exec->n_refs, 1) != 1)
		return;
	for (i = 0; i < exec->n_steps; i++)
		drop_step(&exec->steps[i]);
	free(exec->steps);
	cot_emu_graph_exec_unref(exec->frozen);
	cot_emu_stream_unref(exec->last);
	pthread_mutex_destroy(&exec->lock);
	free(exec);
}

/* ---- the order ---- */

/* In an order that keeps the dependencies; CUDA_ERROR_INVALID_VALUE if there is a cycle. A node's
 * mark: how many of its needs are still to come. */
static CUresult sort(const struct CUgraph_st *graph, struct CUgraphNode_st **ret_order)
{
	const struct cot_emu_nodes *all = &graph->nodes;
	size_t n = 0, before, i, k;
	bool ready;

	for (i = 0; i < all->n; i++)
		all->items[i]->mark = 0;
	/* Nodes mostly come after what they need, so that one walk is enough. */
	do {
		before = n;
		for (i = 0; i < all->n; i++) {
			struct CUgraphNode_st *node = all->items[i];

			ready = !node->mark;
			for (k = 0; ready && k < node->needs.n; k++)
				ready = node->needs.items[k]->mark;
			if (!ready)
				continue;
			node->mark = 1;
			ret_order[n++] = node;
		}
	} while (n > before);
	return n == all->n ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult make_exec(const struct CUgraph_st *graph, struct cot_emu_graph_exec **ret_exec);

static CUresult make_step(const struct CUgraphNode_st *node, struct step *step)
{
	CUresult result = cot_emu_task_dup(&node->task, &step->task);

	step->node = node;
	step->type = cot_emu_node_type(node);
	if (!result && node->child)
		result = make_exec(node->child, &step->child);
	return result;
}

static CUresult fill_exec(const struct CUgraph_st *graph, struct cot_emu_graph_exec *e)
{
	size_t n = graph->nodes.n, i;
	struct CUgraphNode_st **order = malloc((n + 1) * sizeof(struct CUgraphNode_st *));
	CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

	e->steps = calloc(n + 1, sizeof(*e->steps));
	if (!order || !e->steps)
		goto out;
	result = sort(graph, order);
	for (i = 0; !result && i < n; i++, e->n_steps++)
		result = make_step(order[i], &e->steps[i]);
out:
	free(order);
	return result;
}

static CUresult make_exec(const struct CUgraph_st *graph, struct cot_emu_graph_exec **ret_exec)
{
	struct cot_emu_graph_exec *e = calloc(1, sizeof(*e));
	CUresult result;

	if (!e)
		return CUDA_ERROR_OUT_OF_MEMORY;
	e->n_refs = 1;
	pthread_mutex_init(&e->lock, NULL);
	result = fill_exec(graph, e);
	if (result)
		cot_emu_graph_exec_unref(e);
	else
		*ret_exec = e;
	return result;
}

CUresult cot_emu_graph_exec_make(const struct CUgraph_st *graph, uint64_t flags,
				 struct cot_emu_graph_exec **ret_exec)
{
	CUresult result = make_exec(graph, ret_exec);

	if (!result)
		(*ret_exec)->flags = flags;
	return result;
}

uint64_t cot_emu_graph_exec_flags(const struct cot_emu_graph_exec *exec)
{
	return exec->flags;
}

/* ---- launches ---- */

static CUresult copy_exec(const struct cot_emu_graph_exec *e, struct cot_emu_graph_exec **ret_copy);

static CUresult copy_step(const struct step *step, struct step *copy)
{
	CUresult result = cot_emu_task_dup(&step->task, &copy->task);

	copy->node = step->node;
	copy->type = step->type;
	copy->disabled = step->disabled;
	if (!result && step->child)
		result = copy_exec(step->child, &copy->child);
	return result;
}

static CUresult copy_exec(const struct cot_emu_graph_exec *e, struct cot_emu_graph_exec **ret_copy)
{
	struct cot_emu_graph_exec *copy = calloc(1, sizeof(*copy));
	CUresult result = CUDA_SUCCESS;
	size_t i;

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	copy->n_refs = 1;
	pthread_mutex_init(&copy->lock, NULL);
	copy->steps = calloc(e->n_steps + 1, sizeof(*copy->steps));
	if (!copy->steps)
		result = CUDA_ERROR_OUT_OF_MEMORY;
	for (i = 0; !result && i < e->n_steps; i++, copy->n_steps++)
		result = copy_step(&e->steps[i], &copy->steps[i]);
	if (result)
		cot_emu_graph_exec_unref(copy);
	else
		*ret_copy = copy;
	return result;
}

/* A new reference. */
static CUresult freeze(struct cot_emu_graph_exec *e, struct cot_emu_graph_exec **ret_frozen)
{
	CUresult result = e->frozen ? CUDA_SUCCESS : copy_exec(e, &e->frozen);

	if (result)
		return result;
	cot_emu_graph_exec_ref(e->frozen);
	*ret_frozen = e->frozen;
	return CUDA_SUCCESS;
}

static void note_launch(struct cot_emu_graph_exec *e, struct CUstream_st *s)
{
	cot_emu_stream_ref(s);
	cot_emu_stream_unref(e->last);
	e->last = s;
	pthread_mutex_lock(&s->lock);
	e->last_position = s->tail;
	pthread_mutex_unlock(&s->lock);
}

/* A launch comes after those before it, in whatever stream. */
static CUresult submit(struct cot_emu_graph_exec *e, CUstream stream)
{
	struct cot_emu_task task = {.kind = COT_EMU_TASK_GRAPH};
	CUstreamCaptureStatus recorded = CU_STREAM_CAPTURE_STATUS_NONE;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (!result)
		result = cot_emu_capture_look(s, &recorded);
	if (!result && e->last && !recorded && !atomic_load(&s->context->lazy))
		result = cot_emu_stream_push_wait(s, e->last, e->last_position);
	if (!result)
		result = freeze(e, &task.graph);
	if (!result)
		result = cot_emu_stream_submit(stream, &task);
	if (!result && !recorded)
		note_launch(e, s);
	return result;
}

CUresult cot_emu_graph_exec_launch(struct cot_emu_graph_exec *e, CUstream stream)
{
	CUresult result;

	pthread_mutex_lock(&e->lock);
	result = submit(e, stream);
	pthread_mutex_unlock(&e->lock);
	return result;
}

/* It is about to change; launches that wait do not. */
static void thaw(struct cot_emu_graph_exec *e)
{
	struct cot_emu_graph_exec *frozen;

	pthread_mutex_lock(&e->lock);
	frozen = e->frozen;
	e->frozen = NULL;
	pthread_mutex_unlock(&e->lock);
	cot_emu_graph_exec_unref(frozen);
}

CUresult cot_emu_graph_exec_run(struct CUstream_st *s, const struct cot_emu_graph_exec *e)
{
	CUresult result = CUDA_SUCCESS;
	struct cot_emu_task task;
	const struct step *step;
	size_t i;

	for (i = 0; !result && i < e->n_steps && !atomic_load(&s->dropping); i++) {
		step = &e->steps[i];
		task = step->task;
		if (step->child && !step->disabled)
			result = cot_emu_graph_exec_run(s, step->child);
		else if (!step->disabled)
			result = cot_emu_task_run(s, &task);
	}
	return result;
}

/* ---- changing what will run ---- */

/* In the graph or in one inside it. */
static struct step *find_step(const struct cot_emu_graph_exec *e, const struct CUgraphNode_st *node)
{
	struct step *step = NULL;
	size_t i;

	for (i = 0; e && i < e->n_steps && !step; i++)
		step = e->steps[i].node == node ? &e->steps[i] : find_step(e->steps[i].child, node);
	return step;
}

/* The context of a kernel is fixed when a graph is made executable. */
static bool has_moved(const struct cot_emu_task *before, const struct cot_emu_task *task)
{
	return task->kind == COT_EMU_TASK_LAUNCH && before->kind == COT_EMU_TASK_LAUNCH &&
	       task->launch.context != before->launch.context;
}

CUresult cot_emu_graph_exec_set(struct cot_emu_graph_exec *e, const struct CUgraphNode_st *node,
				struct cot_emu_task *task)
{
	struct step *step = find_step(e, node);

	if (!step || step->task.kind != task->kind || has_moved(&step->task, task)) {
		cot_emu_task_drop(task);
		return CUDA_ERROR_INVALID_VALUE;
	}
	thaw(e);
	cot_emu_task_drop(&step->task);
	step->task = *task;
	return CUDA_SUCCESS;
}

const struct cot_emu_task *cot_emu_graph_exec_task(const struct cot_emu_graph_exec *e,
						   const struct CUgraphNode_st *node)
{
	const struct step *step = find_step(e, node);

	return step ? &step->task : NULL;
}

bool cot_emu_graph_exec_enable(struct cot_emu_graph_exec *e, const struct CUgraphNode_st *node,
			       bool enabled)
{
	struct step *step = find_step(e, node);

	if (!step)
		return false;
	thaw(e);
	step->disabled = !enabled;
	return true;
}

bool cot_emu_graph_exec_enabled(const struct cot_emu_graph_exec *e,
				const struct CUgraphNode_st *node, bool *ret_enabled)
{
	const struct step *step = find_step(e, node);

	if (step)
		*ret_enabled = !step->disabled;
	return step;
}

/* Same nodes in the same order? */
static CUgraphExecUpdateResult compare(const struct cot_emu_graph_exec *a,
				       const struct cot_emu_graph_exec *b)
{
	CUgraphExecUpdateResult result = CU_GRAPH_EXEC_UPDATE_SUCCESS;
	size_t i;

	if (a->n_steps != b->n_steps)
		return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
	for (i = 0; !result && i < a->n_steps; i++) {
		if (a->steps[i].type != b->steps[i].type)
			return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
		if (has_moved(&a->steps[i].task, &b->steps[i].task))
			return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
		if (a->steps[i].child)
			result = compare(a->steps[i].child, b->steps[i].child);
	}
	return result;
}

/* The names of the steps stay, and what is switched off. */
static void keep_names(struct cot_emu_graph_exec *to, const struct cot_emu_graph_exec *from)
{
	size_t i;

	for (i = 0; i < to->n_steps; i++) {
		to->steps[i].node = from->steps[i].node;
		to->steps[i].disabled = from->steps[i].disabled;
		if (to->steps[i].child)
			keep_names(to->steps[i].child, from->steps[i].child);
	}
}

/* With the same shape, the new steps take the place of the old ones. */
CUresult cot_emu_graph_exec_update(struct cot_emu_graph_exec *e, const struct CUgraph_st *graph,
				   CUgraphExecUpdateResult *ret_difference)
{
	struct cot_emu_graph_exec *fresh;
	CUresult result = make_exec(graph, &fresh);
	struct step *steps;

	if (result)
		return result;
	*ret_difference = compare(e, fresh);
	if (!*ret_difference) {
		thaw(e);
		keep_names(fresh, e);
		steps = e->steps;
		e->steps = fresh->steps;
		fresh->steps = steps;
	}
	cot_emu_graph_exec_unref(fresh);
	return CUDA_SUCCESS;
}

CUresult cot_emu_graph_exec_set_child(struct cot_emu_graph_exec *e,
				      const struct CUgraphNode_st *node,
				      const struct CUgraph_st *graph)
{
	CUgraphExecUpdateResult difference;
	const struct step *step = find_step(e, node);
	CUresult result;

	if (!step || !step->child)
		return CUDA_ERROR_INVALID_VALUE;
	thaw(e);
	result = cot_emu_graph_exec_update(step->child, graph, &difference);
	return result || !difference ? result : CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
}
