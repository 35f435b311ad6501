#include "emu/driver/capture.h"

#include <pthread.h>
#include <stdlib.h>

#include "emu/driver/graph.h"
#include "emu/driver/inside.h"

struct cot_emu_capture {
	uint32_t n_refs; /* streams, events, and the call that ends it */
	uint64_t id;
	struct CUgraph_st *graph; /* ours until the capture has ended, unless */
	bool lent;		  /* it was the program's before */
	struct CUstream_st *origin;
	CUstreamCaptureMode mode;
	pthread_t thread;
	bool spoiled, ended;
	struct cot_emu_capture *next; /* of those that go on */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_emu_capture *captures; /* under the lock, as all of them */
static uint64_t last_id;
static _Atomic uint32_t n_captures; /* to look without the lock */
static _Thread_local CUstreamCaptureMode thread_mode;

/* With the lock held: it goes on no longer. */
static void retire(struct cot_emu_capture *k)
{
	struct cot_emu_capture **at;

	if (k->ended)
		return;
	for (at = &captures; *at && *at != k; at = &(*at)->next)
		;
	if (*at)
		*at = k->next;
	k->ended = true;
	atomic_fetch_sub(&n_captures, 1);
}

static void unref(struct cot_emu_capture *k)
{
	if (!k || --k->n_refs)
		return;
	if (!k->lent)
		cot_emu_graph_free(k->graph);
	free(k);
}

static bool nobody_captures(void)
{
	return !atomic_load(&n_captures);
}

/* With the lock held. */
static void join(struct CUstream_st *s, struct cot_emu_capture *k)
{
	s->capture = k;
	k->n_refs++;
}

static void leave(struct CUstream_st *s)
{
	unref(s->capture);
	s->capture = NULL;
	if (s->capture_nodes) {
		cot_emu_nodes_free(s->capture_nodes);
		free(s->capture_nodes);
		s->capture_nodes = NULL;
	}
}

void cot_emu_capture_leave(struct CUstream_st *s)
{
	if (nobody_captures() && !s->capture)
		return;
	pthread_mutex_lock(&lock);
	if (s->capture)
		s->capture->spoiled = true;
	/* No thread can end it any more. */
	if (s->capture && s->capture->origin == s)
		retire(s->capture);
	leave(s);
	pthread_mutex_unlock(&lock);
}

static void forget(CUevent event)
{
	unref(event->capture);
	event->capture = NULL;
	if (event->nodes) {
		cot_emu_nodes_free(event->nodes);
		free(event->nodes);
		event->nodes = NULL;
	}
}

void cot_emu_capture_forget(CUevent event)
{
	if (!event->capture)
		return;
	pthread_mutex_lock(&lock);
	forget(event);
	pthread_mutex_unlock(&lock);
}

bool cot_emu_capture_has(CUevent event)
{
	bool has;

	if (nobody_captures())
		return false;
	pthread_mutex_lock(&lock);
	has = event->capture && !event->capture->ended;
	pthread_mutex_unlock(&lock);
	return has;
}

/* ---- what is not allowed meanwhile ---- */

/* The legacy stream waits for blocking streams, which cannot be done with captured work. */
static struct cot_emu_capture *implied(const struct CUstream_st *s)
{
	struct cot_emu_capture *k;

	if (s != cot_emu_stream_default(s))
		return NULL;
	for (k = captures; k; k = k->next)
		if (k->origin->context == s->context && k->origin->green == s->green &&
		    cot_emu_stream_is_blocking(k->origin) &&
		    k->mode != CU_STREAM_CAPTURE_MODE_RELAXED)
			return k;
	return NULL;
}

/* With the lock held: the error of using this stream outside of a capture. */
static CUresult check_implied(const struct CUstream_st *s)
{
	struct cot_emu_capture *k = implied(s);

	if (!k)
		return CUDA_SUCCESS;
	k->spoiled = true;
	return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult cot_emu_capture_forbid(struct CUstream_st *s)
{
	CUresult result;

	if (nobody_captures())
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	result = check_implied(s);
	if (s->capture) {
		s->capture->spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUresult cot_emu_capture_check_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;
	struct cot_emu_capture *k;
	bool own;

	if (nobody_captures() || thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	for (k = captures; k; k = k->next) {
		own = pthread_equal(k->thread, pthread_self());
		if (k->mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
		    (!own && (k->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL ||
			      thread_mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL)))
			continue;
		k->spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUstreamCaptureMode cot_emu_capture_exchange_mode(CUstreamCaptureMode mode)
{
	CUstreamCaptureMode before = thread_mode;

	thread_mode = mode;
	return before;
}

/* ---- capturing ---- */

/* With the lock held: a node after all that the stream has so far. */
static CUresult append(struct CUstream_st *s, struct cot_emu_task *task)
{
	struct cot_emu_nodes *last = s->capture_nodes;
	struct CUgraphNode_st *node;
	CUresult result;

	result = cot_emu_graph_add(s->capture->graph, last->items, last->n, task, &node);
	if (result)
		return result;
	last->n = 0;
	return cot_emu_nodes_add(last, node);
}

CUresult cot_emu_capture_task(struct CUstream_st *s, struct cot_emu_task *task, bool *ret_captured)
{
	CUresult result;

	*ret_captured = false;
	if (nobody_captures())
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	if (!s->capture) {
		result = check_implied(s);
	} else {
		*ret_captured = true;
		if (s->capture->spoiled) {
			result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
			cot_emu_task_drop(task);
		} else {
			result = append(s, task);
		}
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* With the lock held: the event represents what the stream has so far. */
static CUresult remember(struct CUstream_st *s, CUevent event)
{
	struct cot_emu_nodes *nodes = calloc(1, sizeof(*nodes));
	CUresult result;

	if (!nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = cot_emu_nodes_add_all(nodes, s->capture_nodes);
	if (result) {
		free(nodes);
		return result;
	}
	forget(event);
	event->nodes = nodes;
	event->capture = s->capture;
	s->capture->n_refs++;
	return CUDA_SUCCESS;
}

static CUresult event_node(struct CUstream_st *s, CUevent event, enum cot_emu_task_kind kind)
{
	struct cot_emu_task task = {.kind = kind, .event = event};

	cot_emu_event_ref(event);
	return append(s, &task);
}

CUresult cot_emu_capture_record(struct CUstream_st *s, CUevent event, bool external,
				bool *ret_captured)
{
	CUresult result = CUDA_SUCCESS;

	*ret_captured = false;
	if (nobody_captures())
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	*ret_captured = s->capture != NULL;
	if (!s->capture) {
		result = check_implied(s);
		if (!result)
			forget(event);
	} else if (s->capture->spoiled) {
		result = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	} else if (external) {
		result = event_node(s, event, COT_EMU_TASK_RECORD);
	} else {
		result = remember(s, event);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* With the lock held: s waits for an event of a capture, and joins it. */
static CUresult wait_inside(struct CUstream_st *s, CUevent event)
{
	if (s->capture && s->capture != event->capture) {
		s->capture->spoiled = true;
		event->capture->spoiled = true;
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (event->capture->spoiled)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!s->capture) {
		s->capture_nodes = calloc(1, sizeof(*s->capture_nodes));
		if (!s->capture_nodes)
			return CUDA_ERROR_OUT_OF_MEMORY;
		join(s, event->capture);
	}
	return cot_emu_nodes_add_all(s->capture_nodes, event->nodes);
}

CUresult cot_emu_capture_wait(struct CUstream_st *s, CUevent event, bool external,
			      bool *ret_captured)
{
	CUresult result = CUDA_SUCCESS;
	bool inside;

	*ret_captured = false;
	if (nobody_captures())
		return CUDA_SUCCESS;
	pthread_mutex_lock(&lock);
	inside = event->capture && !event->capture->ended;
	*ret_captured = inside || s->capture;
	if (s->capture && external) {
		result = event_node(s, event, COT_EMU_TASK_WAIT);
	} else if (inside) {
		result = wait_inside(s, event);
	} else if (s->capture) {
		s->capture->spoiled = true;
		result = CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
	}
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- beginning and ending ---- */

static CUresult begin(struct CUstream_st *s, struct CUgraph_st *graph, CUstreamCaptureMode mode)
{
	struct cot_emu_capture *k = calloc(1, sizeof(*k));

	s->capture_nodes = calloc(1, sizeof(*s->capture_nodes));
	if (k) {
		k->graph = graph ? graph : calloc(1, sizeof(*k->graph));
		k->lent = graph != NULL;
	}
	if (!k || !k->graph || !s->capture_nodes) {
		free(k);
		free(s->capture_nodes);
		s->capture_nodes = NULL;
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	k->id = ++last_id;
	k->origin = s;
	k->mode = mode;
	k->thread = pthread_self();
	k->next = captures;
	captures = k;
	atomic_fetch_add(&n_captures, 1);
	join(s, k);
	return CUDA_SUCCESS;
}

CUresult cot_emu_capture_begin(struct CUstream_st *s, struct CUgraph_st *graph,
			       CUstreamCaptureMode mode)
{
	CUresult result;

	pthread_mutex_lock(&lock);
	result = s->capture ? CUDA_ERROR_ILLEGAL_STATE : begin(s, graph, mode);
	pthread_mutex_unlock(&lock);
	return result;
}

/* Marks what the nodes need, directly or not. */
static CUresult mark_needed(const struct CUgraph_st *graph, const struct cot_emu_nodes *from)
{
	struct cot_emu_nodes todo = {.items = NULL};
	CUresult result = cot_emu_nodes_add_all(&todo, from);
	struct CUgraphNode_st *node;
	size_t i;

	for (i = 0; i < graph->nodes.n; i++)
		graph->nodes.items[i]->mark = 0;
	while (!result && todo.n) {
		node = todo.items[--todo.n];
		if (node->mark)
			continue;
		node->mark = 1;
		for (i = 0; !result && i < node->needs.n; i++)
			result = cot_emu_nodes_add(&todo, node->needs.items[i]);
	}
	cot_emu_nodes_free(&todo);
	return result;
}

/* Is the work of all streams that joined something that the origin has waited for? */
static CUresult check_joined(const struct cot_emu_capture *k)
{
	struct cot_emu_context *c = k->origin->context;
	CUresult result = mark_needed(k->graph, k->origin->capture_nodes);
	struct CUstream_st *s;
	size_t i;

	pthread_mutex_lock(&c->lock);
	for (s = c->streams; !result && s; s = s->next)
		for (i = 0; s->capture == k && i < s->capture_nodes->n; i++)
			if (!s->capture_nodes->items[i]->mark)
				result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	pthread_mutex_unlock(&c->lock);
	return result;
}

static void end(struct cot_emu_capture *k)
{
	struct cot_emu_context *c = k->origin->context;
	struct CUstream_st *s;

	retire(k);
	pthread_mutex_lock(&c->lock);
	for (s = c->streams; s; s = s->next)
		if (s->capture == k)
			leave(s);
	pthread_mutex_unlock(&c->lock);
}

static CUresult finish(struct CUstream_st *s, CUgraph *graph)
{
	struct cot_emu_capture *k = s->capture;
	CUresult result;

	if (!k)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (k->origin != s)
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	if (k->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(k->thread, pthread_self()))
		return CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
	k->n_refs++;
	result = k->spoiled ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : check_joined(k);
	end(k);
	*graph = NULL;
	if (!result) {
		*graph = k->graph;
		k->graph = NULL;
	}
	unref(k);
	return result;
}

CUresult cot_emu_capture_end(struct CUstream_st *s, CUgraph *ret_graph)
{
	CUresult result;

	pthread_mutex_lock(&lock);
	result = finish(s, ret_graph);
	pthread_mutex_unlock(&lock);
	return result;
}

/* ---- asking ---- */

static CUstreamCaptureStatus status_of(const struct CUstream_st *s)
{
	if (!s->capture)
		return CU_STREAM_CAPTURE_STATUS_NONE;
	return s->capture->spoiled ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
				   : CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

CUresult cot_emu_capture_look(struct CUstream_st *s, CUstreamCaptureStatus *ret_status)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&lock);
	*ret_status = status_of(s);
	if (!s->capture && implied(s))
		result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
	pthread_mutex_unlock(&lock);
	return result;
}

struct cot_emu_capture_info cot_emu_capture_info(const struct CUstream_st *s)
{
	struct cot_emu_capture_info info;

	pthread_mutex_lock(&lock);
	info = (struct cot_emu_capture_info){.status = status_of(s)};
	if (info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) {
		info.id = s->capture->id;
		info.graph = s->capture->graph;
		info.needs = s->capture_nodes->items;
		info.n_needs = s->capture_nodes->n;
	}
	pthread_mutex_unlock(&lock);
	return info;
}

CUresult cot_emu_capture_need(struct CUstream_st *s, const struct cot_emu_nodes *nodes, bool only)
{
	CUresult result = CUDA_SUCCESS;
	size_t i;

	pthread_mutex_lock(&lock);
	if (!s->capture)
		result = CUDA_ERROR_ILLEGAL_STATE;
	for (i = 0; !result && i < nodes->n; i++)
		if (!nodes->items[i] || nodes->items[i]->graph != s->capture->graph)
			result = CUDA_ERROR_INVALID_VALUE;
	if (!result) {
		if (only)
			s->capture_nodes->n = 0;
		result = cot_emu_nodes_add_all(s->capture_nodes, nodes);
	}
	pthread_mutex_unlock(&lock);
	return result;
}
