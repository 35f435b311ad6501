/*
 * Graphs. A graph's kernels run where their nodes say, wherever it is launched. So an executable
 * graph has one more for each part on which it is launched: made, at the first launch there, of a
 * clone that is kept, with that part's context in all nodes.
 */
#include <stdlib.h>

#include "guest/shim/parts.h"

#define BUCKETS	  256u
#define MAX_DEPTH 8u /* of graphs in graphs */

struct graph {
	struct graph *next;
	CUgraphExec exec; /* the program's */
	CUgraph clone;	  /* NULL: it stays at home */
	unsigned long long flags;
	CUgraphExec on[COT_SHIM_PARTS_MAX]; /* NULL: not made */
	bool refused[COT_SHIM_PARTS_MAX];   /* and cannot be */
	const struct cot_shim_parts *parts;
	CUevent ended;	/* of the last launch, from the first change of parts on */
	CUstream last;	/* before that: where it was launched; NULL: nowhere */
	uint32_t where; /* the part of the last launch */
};

static struct graph *buckets[BUCKETS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* All with the lock. */
static struct graph **find(CUgraphExec exec)
{
	struct graph **at = &buckets[((uintptr_t)exec >> 4) % BUCKETS];

	while (*at && (*at)->exec != exec)
		at = &(*at)->next;
	return at;
}

static void drop_on(struct graph *g, uint32_t part)
{
	if (g->on[part])
		(void)COT_REAL(cuGraphExecDestroy)(g->on[part]);
	g->on[part] = NULL;
	g->refused[part] = false;
}

static void drop_all(struct graph *g)
{
	uint32_t i;

	for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
		drop_on(g, i);
	if (g->clone)
		(void)COT_REAL(cuGraphDestroy)(g->clone);
	g->clone = NULL;
}

static CUstream named(CUstream stream, bool per_thread)
{
	return stream ? stream : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* `ended` comes after what is in this stream; if the driver has no event for that, we wait. */
static void mark_end(struct graph *g, CUstream stream)
{
	if (!g->ended && COT_REAL(cuEventCreate)(&g->ended, CU_EVENT_DISABLE_TIMING))
		g->ended = NULL;
	if (!g->ended || COT_REAL(cuEventRecord)(g->ended, stream))
		(void)COT_REAL(cuStreamSynchronize)(stream);
}

static CUgraph clone_of(CUgraph graph)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	CUgraph clone = NULL;

	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (COT_REAL(cuGraphClone)(&clone, graph))
		clone = NULL;
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return clone;
}

void cot_shim_graph_made(CUgraphExec exec, CUgraph graph, unsigned long long flags)
{
	struct graph **at, *g;

	if (!cot_shim_settings.parts || flags & CU_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
		return;
	pthread_mutex_lock(&lock);
	at = find(exec);
	g = *at ? *at : calloc(1, sizeof(*g));
	if (g) {
		if (*at)
			drop_all(g);
		g->exec = exec;
		g->flags = flags & ~(unsigned long long)CU_GRAPH_INSTANTIATE_FLAG_UPLOAD;
		g->clone = clone_of(graph);
		*at = g;
	}
	pthread_mutex_unlock(&lock);
}

void cot_shim_graph_changed(CUgraphExec exec, CUgraph graph)
{
	struct graph *g;

	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g) {
		drop_all(g);
		g->clone = graph ? clone_of(graph) : NULL;
	}
	pthread_mutex_unlock(&lock);
}

void cot_shim_graph_gone(CUgraphExec exec)
{
	struct graph **at, *g;

	pthread_mutex_lock(&lock);
	at = find(exec);
	g = *at;
	if (g) {
		*at = g->next;
		drop_all(g);
		if (g->ended)
			(void)COT_REAL(cuEventDestroy_v2)(g->ended);
		free(g);
	}
	pthread_mutex_unlock(&lock);
}

void cot_shim_graphs_leave(CUstream stream)
{
	struct graph *g;
	unsigned i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (g = buckets[i]; g; g = g->next)
			if (g->last == stream) {
				mark_end(g, stream);
				g->last = NULL;
			}
	pthread_mutex_unlock(&lock);
}

void cot_shim_graphs_clear(const struct cot_shim_parts *p, uint32_t part)
{
	struct graph *g;
	unsigned i;

	pthread_mutex_lock(&lock);
	for (i = 0; i < BUCKETS; i++)
		for (g = buckets[i]; g; g = g->next)
			if (g->parts == p)
				drop_on(g, part);
	pthread_mutex_unlock(&lock);
}

/* ---- the nodes ---- */

/* A function alone goes with its own context: the driver looks at `ctx` for kernels only. */
static bool place_kernel(CUgraphNode node, CUcontext context)
{
	CUDA_KERNEL_NODE_PARAMS params = {0};
	enum cot_shim_why why;
	CUcontext before = NULL;
	bool placed;

	if (COT_REAL(cuGraphKernelNodeGetParams_v2)(node, &params))
		return false;
	if (params.func && cot_shim_stays(params.func, &why))
		return false;
	if (params.kern)
		params.func = NULL;
	params.ctx = context;
	if (COT_REAL(cuCtxPushCurrent_v2)(context))
		return false;
	placed = !COT_REAL(cuGraphKernelNodeSetParams_v2)(node, &params);
	(void)COT_REAL(cuCtxPopCurrent_v2)(&before);
	if (!placed || COT_REAL(cuGraphKernelNodeGetParams_v2)(node, &params))
		return false;
	return params.ctx == context;
}

static bool place_graph(CUgraph graph, CUcontext context, unsigned depth);

static bool place_node(CUgraphNode node, CUcontext context, unsigned depth)
{
	CUgraphNodeType type;
	CUgraph child = NULL;

	if (COT_REAL(cuGraphNodeGetType)(node, &type))
		return false;
	switch (type) {
	case CU_GRAPH_NODE_TYPE_KERNEL:
		return place_kernel(node, context);
	case CU_GRAPH_NODE_TYPE_GRAPH:
		return !COT_REAL(cuGraphChildGraphNodeGetGraph)(node, &child) &&
		       place_graph(child, context, depth + 1);
	case CU_GRAPH_NODE_TYPE_MEMCPY:
	case CU_GRAPH_NODE_TYPE_MEMSET:
	case CU_GRAPH_NODE_TYPE_HOST:
	case CU_GRAPH_NODE_TYPE_EMPTY:
	case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
	case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
		return true;
	default:
		return false; /* of its own memory, conditional, or not known */
	}
}

static bool place_graph(CUgraph graph, CUcontext context, unsigned depth)
{
	CUgraphNode *nodes;
	size_t n = 0, i;
	bool placed;

	if (depth > MAX_DEPTH || COT_REAL(cuGraphGetNodes)(graph, NULL, &n))
		return false;
	nodes = calloc(n + 1, sizeof(CUgraphNode));
	placed = nodes && !COT_REAL(cuGraphGetNodes)(graph, nodes, &n);
	for (i = 0; i < n && placed; i++)
		placed = place_node(nodes[i], context, depth);
	free(nodes);
	return placed;
}

/* ---- launches ---- */

/* With the lock: the executable graph for this part; NULL: there can be none. */
static CUgraphExec on_part(struct graph *g, const struct cot_shim_parts *p, uint32_t part)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint32_t i;

	if (g->parts != p)
		for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
			drop_on(g, i);
	g->parts = p;
	if (g->on[part] || g->refused[part] || !g->clone)
		return g->on[part];
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!place_graph(g->clone, p->part[part].context, 0) ||
	    COT_REAL(cuGraphInstantiateWithFlags)(&g->on[part], g->clone, g->flags)) {
		g->on[part] = NULL;
		g->refused[part] = true;
	}
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return g->on[part];
}

/* The same graph does not run twice at a time, not on two parts either. */
static void keep_apart(struct graph *g, uint32_t where, CUstream to)
{
	if (g->last)
		mark_end(g, g->last);
	g->last = NULL;
	if (g->where != where && g->ended && COT_REAL(cuStreamWaitEvent)(to, g->ended, 0))
		(void)COT_REAL(cuEventSynchronize)(g->ended);
	g->where = where;
}

static CUresult launch_exec(CUgraphExec exec, CUstream stream, bool per_thread)
{
	return (per_thread ? COT_REAL(cuGraphLaunch_ptsz) : COT_REAL(cuGraphLaunch))(exec, stream);
}

static CUresult launch_known(struct graph *g, const struct cot_shim_turn *t, CUstream to,
			     bool per_thread)
{
	uint32_t part = cot_shim_turn_part(t);
	CUgraphExec exec = part ? on_part(g, t->stream->parts, part) : NULL;
	CUresult rc;

	if (part && exec)
		cot_shim_count_followed();
	else if (part)
		cot_shim_count_stayed(COT_SHIM_WHY_GRAPH);
	keep_apart(g, exec ? part : 0, named(to, per_thread));
	rc = launch_exec(exec ? exec : g->exec, to, per_thread);
	if (!rc)
		mark_end(g, named(to, per_thread));
	return rc;
}

/* While streams are not virtual yet. Another thread's stream has no name here. */
static CUresult launch_at_home(CUgraphExec exec, CUstream stream, bool per_thread)
{
	CUstream name = named(stream, per_thread);
	CUresult rc = launch_exec(exec, stream, per_thread);
	struct graph *g;

	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g && name != CU_STREAM_PER_THREAD)
		g->last = name;
	else if (g && !rc)
		mark_end(g, name);
	pthread_mutex_unlock(&lock);
	return rc;
}

CUresult cot_shim_graph_launch(CUgraphExec exec, CUstream stream, bool per_thread)
{
	struct cot_shim_turn t;
	CUstream to = cot_shim_turn_begin(&t, stream, per_thread);
	struct graph *g;
	CUresult rc;

	if (!t.stream)
		return launch_at_home(exec, stream, per_thread);
	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g) {
		rc = launch_known(g, &t, to, per_thread);
	} else {
		if (cot_shim_turn_part(&t))
			cot_shim_count_stayed(COT_SHIM_WHY_GRAPH);
		rc = launch_exec(exec, to, per_thread);
	}
	pthread_mutex_unlock(&lock);
	cot_shim_turn_end(&t);
	return rc;
}

void cot_shim_graphs_forget(void)
{
	unsigned i;

	for (i = 0; i < BUCKETS; i++)
		buckets[i] = NULL;
	lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}
