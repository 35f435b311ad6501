/*
 * Graphs. A graph's kernels run where their nodes say, wherever it is launched. So an executable
 * graph has one more for each part on which it is launched: made, at the first launch there, of a
 * clone that is kept, with that part's context in all nodes.
 *
 * A program that changes its executable graph, as a whole or node by node, changes the clone as
 * well. The executable graph of a part becomes like the clone at its next launch
 * (docs/decisions/0011).
 */
#include <stdlib.h>

#include "guest/shim/parts.h"
#include "guest/shim/timed.h"

#define BUCKETS	  256u
#define ALL_PARTS UINT32_MAX

struct graph {
	struct graph *next;
	CUgraphExec exec; /* the program's */
	CUgraph clone;	  /* NULL: it stays at home */
	unsigned long long flags;
	const struct cot_shim_parts *parts;
	CUgraphExec on[COT_SHIM_PARTS_MAX]; /* NULL: not made */
	uint32_t refused;		    /* a bit for each part: and cannot be */
	uint32_t stale;			    /* the same: the clone has changed since */
	uint32_t older;			    /* the same: made of an earlier clone */
	uint32_t placed;		    /* the part that the clone's nodes name; 0: none */
	CUgraphNode *disabled;		    /* the program's, malloc'ed */
	size_t n_disabled;
	bool forgot;	/* not all of them are there: it stays at home for good */
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
	g->refused &= ~(1u << part);
	if (g->placed == part)
		g->placed = 0;
}

static void drop_clone(struct graph *g)
{
	if (g->clone)
		(void)COT_REAL(cuGraphDestroy)(g->clone);
	g->clone = NULL;
	g->placed = 0;
}

/* It stays at home from now on. */
static void drop_all(struct graph *g)
{
	uint32_t i;

	for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
		drop_on(g, i);
	drop_clone(g);
}

static CUstream named(CUstream stream, bool per_thread)
{
	return stream ? stream : per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* `ended` comes after what is in this stream, of the context with these parts; NULL: of the current
 * one. If the driver has no event for that, we wait. */
static void mark_end(struct graph *g, const struct cot_shim_parts *p, CUstream stream)
{
	if (!g->ended)
		g->ended = cot_shim_parts_event(p ? p : cot_shim_parts_current());
	if (!g->ended || COT_REAL(cuEventRecord)(g->ended, stream))
		cot_shim_await_stream(stream);
}

static void wait_for_end(struct graph *g, CUstream to)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	if (!COT_REAL(cuStreamWaitEvent)(to, g->ended, 0))
		return;
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	(void)COT_REAL(cuEventSynchronize)(g->ended);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
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
		g->n_disabled = 0;
		g->forgot = false;
		g->exec = exec;
		g->flags = flags & ~(unsigned long long)CU_GRAPH_INSTANTIATE_FLAG_UPLOAD;
		g->clone = clone_of(graph);
		*at = g;
	}
	pthread_mutex_unlock(&lock);
	if (cot_shim_nodes_wait(graph))
		cot_shim_open_for_good();
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
		free(g->disabled);
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
				mark_end(g, NULL, stream);
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

/* ---- changes ---- */

void cot_shim_graph_changed(CUgraphExec exec, CUgraph graph)
{
	struct graph *g;

	if (!cot_shim_settings.parts)
		return;
	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g) {
		drop_clone(g);
		g->clone = g->forgot ? NULL : clone_of(graph);
		if (!g->clone) /* what there is for parts would not hear of later changes */
			drop_all(g);
		g->stale = g->older = ALL_PARTS;
		g->refused = 0;
	}
	pthread_mutex_unlock(&lock);
}

static bool change(struct graph *g, CUgraphNode node, cot_shim_node_setter *set, const void *params)
{
	CUgraphNode mine = cot_shim_nodes_find(g->clone, node);

	if (!mine || !set(mine, params))
		return false;
	g->stale = ALL_PARTS;
	if (g->placed && !cot_shim_node_place(mine, g->parts->part[g->placed].context))
		g->placed = 0;
	return true;
}

void cot_shim_graph_node_changed(CUgraphExec exec, CUgraphNode node, cot_shim_node_setter *set,
				 const void *params)
{
	struct graph *g;

	if (!cot_shim_settings.parts)
		return;
	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g && g->clone && !change(g, node, set, params))
		drop_all(g);
	pthread_mutex_unlock(&lock);
}

static bool note_enabled(struct graph *g, CUgraphNode node, bool enabled)
{
	CUgraphNode *more;
	size_t i;

	for (i = 0; i < g->n_disabled && g->disabled[i] != node; i++)
		;
	if (enabled == (i == g->n_disabled))
		return true;
	if (enabled) {
		g->disabled[i] = g->disabled[--g->n_disabled];
		return true;
	}
	more = realloc(g->disabled, (g->n_disabled + 1) * sizeof(CUgraphNode));
	if (!more)
		return false;
	g->disabled = more;
	g->disabled[g->n_disabled++] = node;
	return true;
}

static bool enable(struct graph *g, CUgraphNode node, bool enabled)
{
	CUgraphNode mine = cot_shim_nodes_find(g->clone, node);
	uint32_t i;

	if (!mine)
		return false;
	/* One that was made of an earlier clone knows that one's nodes. */
	for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
		if (g->on[i] && (g->older & 1u << i ||
				 COT_REAL(cuGraphNodeSetEnabled)(g->on[i], mine, enabled)))
			drop_on(g, i);
	return true;
}

void cot_shim_graph_node_enabled(CUgraphExec exec, CUgraphNode node, bool enabled)
{
	struct graph *g;

	if (!cot_shim_settings.parts)
		return;
	pthread_mutex_lock(&lock);
	g = *find(exec);
	/* An update of the whole graph makes a new clone, and leaves off what is off. */
	if (g && !note_enabled(g, node, enabled))
		g->forgot = true;
	if (g && g->clone && (g->forgot || !enable(g, node, enabled)))
		drop_all(g);
	pthread_mutex_unlock(&lock);
}

/* ---- launches ---- */

static bool make(struct graph *g, uint32_t part)
{
	CUgraphNode mine;
	size_t i;

	if (COT_REAL(cuGraphInstantiateWithFlags)(&g->on[part], g->clone, g->flags)) {
		g->on[part] = NULL;
		return false;
	}
	g->older &= ~(1u << part);
	for (i = 0; i < g->n_disabled; i++) {
		mine = cot_shim_nodes_find(g->clone, g->disabled[i]);
		if (!mine || COT_REAL(cuGraphNodeSetEnabled)(g->on[part], mine, 0))
			return false;
	}
	return true;
}

static bool update(struct graph *g, uint32_t part)
{
	CUgraphExecUpdateResultInfo info;

	if (!COT_REAL(cuGraphExecUpdate_v2)(g->on[part], g->clone, &info))
		return true;
	(void)COT_REAL(cuGraphExecDestroy)(g->on[part]);
	g->on[part] = NULL;
	return false;
}

/* What there is for this part becomes like the clone. */
static bool renew(struct graph *g, uint32_t part)
{
	if (g->placed != part && !cot_shim_nodes_place(g->clone, g->parts->part[part].context)) {
		g->placed = 0;
		return false;
	}
	g->placed = part;
	return (g->on[part] && update(g, part)) || make(g, part);
}

/* With the lock: the executable graph for this part; NULL: there can be none. */
static CUgraphExec on_part(struct graph *g, const struct cot_shim_parts *p, uint32_t part)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	uint32_t bit = 1u << part, i;

	if (g->parts != p)
		for (i = 1; i < COT_SHIM_PARTS_MAX; i++)
			drop_on(g, i);
	g->parts = p;
	if (!g->clone || g->refused & bit)
		return NULL;
	if (g->on[part] && !(g->stale & bit))
		return g->on[part];
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!renew(g, part)) {
		drop_on(g, part);
		g->refused |= bit;
	}
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	g->stale &= ~bit;
	return g->on[part];
}

/* The same graph does not run twice at a time, not on two parts either. */
static void keep_apart(struct graph *g, uint32_t where, CUstream to)
{
	if (g->last)
		mark_end(g, NULL, g->last);
	g->last = NULL;
	if (g->where != where && g->ended)
		wait_for_end(g, to);
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
	else if (t->strays)
		cot_shim_count_stayed(COT_SHIM_WHY_STREAM);
	keep_apart(g, exec ? part : 0, named(to, per_thread));
	rc = launch_exec(exec ? exec : g->exec, to, per_thread);
	if (!rc)
		mark_end(g, t->stream->parts, named(to, per_thread));
	return rc;
}

/* In a stream that is not virtual, or not yet. Another thread's stream has no name here. */
static CUresult launch_at_home(CUgraphExec exec, CUstream stream, bool per_thread)
{
	CUstream name = named(stream, per_thread);
	struct graph *g;
	CUresult rc;

	if (cot_shim_any_capture() && cot_shim_is_captured(stream, per_thread))
		return launch_exec(exec, stream, per_thread); /* which does not run it now */
	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g && g->where)
		keep_apart(g, 0, name);
	pthread_mutex_unlock(&lock);
	rc = launch_exec(exec, stream, per_thread);
	pthread_mutex_lock(&lock);
	g = *find(exec);
	if (g && name != CU_STREAM_PER_THREAD)
		g->last = name;
	else if (g && !rc)
		mark_end(g, NULL, name);
	pthread_mutex_unlock(&lock);
	return rc;
}

CUresult cot_shim_graph_launch(CUgraphExec exec, CUstream stream, bool per_thread)
{
	uint32_t live = cot_shim_launch_begin(stream, per_thread, true);
	struct cot_shim_timed timed;
	struct cot_shim_turn t;
	struct graph *g;
	CUstream to;
	CUresult rc;

	to = cot_shim_turn_begin_launch(&t, stream, per_thread);
	if (!cot_shim_turn_part(&t))
		cot_shim_count_at_home(&t, stream, per_thread);
	if (!t.stream)
		return launch_at_home(exec, stream, per_thread);
	cot_shim_timed_begin(&timed, live, &t, NULL, (uintptr_t)exec);
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
	cot_shim_timed_end(&timed, &t, rc);
	cot_shim_launch_end(live, &t, rc);
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
