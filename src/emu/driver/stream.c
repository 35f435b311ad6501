/* Streams: queues of operations that are retired in order, by a worker or lazily; see inside.h. */
#include <stdlib.h>
#include <string.h>

#include "emu/driver/capture.h"
#include "emu/driver/green.h"
#include "emu/driver/inside.h"

static _Atomic uint64_t last_id;

int cot_emu_stream_priority(int priority)
{
	if (priority > 0)
		return 0;
	return priority < COT_EMU_HIGHEST_PRIORITY ? COT_EMU_HIGHEST_PRIORITY : priority;
}

void cot_emu_stream_ref(struct CUstream_st *s)
{
	atomic_fetch_add(&s->n_refs, 1);
}

/* Lets go of what the operation holds, also of a kernel that is still on the GPU. */
static void drop_op(struct cot_emu_op *op)
{
	if (op->kind == COT_EMU_OP_KERNEL)
		cot_emu_kernel_release(op->ticket);
	cot_emu_task_drop(&op->task);
	if (op->event)
		cot_emu_event_unref(op->event);
	if (op->other)
		cot_emu_stream_unref(op->other);
}

void cot_emu_stream_abandon(struct CUstream_st *s)
{
	pthread_mutex_lock(&s->lock);
	s->closing = true;
	s->dropping = true;
	pthread_cond_broadcast(&s->changed);
	while (s->has_worker)
		pthread_cond_wait(&s->changed, &s->lock);
	for (; s->head < s->tail; s->head++)
		drop_op(&s->ops[s->head % COT_EMU_MAX_OPS]);
	pthread_mutex_unlock(&s->lock);
}

void cot_emu_stream_unref(struct CUstream_st *s)
{
	if (!s || atomic_fetch_sub(&s->n_refs, 1) != 1)
		return;
	cot_emu_stream_abandon(s);
	cot_emu_capture_leave(s);
	cot_emu_green_unref(s->green);
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

CUresult cot_emu_stream_make(struct cot_emu_place place, unsigned flags, int priority,
			     struct CUstream_st **ret_stream)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));
	struct cot_emu_context *c = place.context;
	CUresult result = CUDA_SUCCESS;

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->n_refs = 1;
	s->context = c;
	s->green = cot_emu_green_ref(place.green);
	s->flags = flags;
	s->priority = priority;
	if (c->n_channels)
		s->channel = c->channels[atomic_fetch_add(&c->next_channel, 1) % c->n_channels];
	pthread_mutex_lock(&c->lock);
	s->id = atomic_fetch_add(&last_id, 1) + 1;
	if (c->n_streams < COT_EMU_MAX_STREAMS) {
		s->next = c->streams;
		c->streams = s;
		c->n_streams++;
	} else {
		result = CUDA_ERROR_OUT_OF_MEMORY;
	}
	pthread_mutex_unlock(&c->lock);
	if (result)
		cot_emu_stream_unref(s);
	else
		*ret_stream = s;
	return result;
}

static bool is_own(const struct CUstream_st *s, const struct CUgreenCtx_st *green)
{
	return s->per_thread && s->green == green && pthread_equal(s->owner, pthread_self());
}

static CUresult find_per_thread(struct cot_emu_place place, struct CUstream_st **ret_stream)
{
	struct cot_emu_context *c = place.context;
	struct CUstream_st *s;
	CUresult result;

	pthread_mutex_lock(&c->lock);
	for (s = c->streams; s && !is_own(s, place.green); s = s->next)
		;
	pthread_mutex_unlock(&c->lock);
	if (!s) {
		result = cot_emu_stream_make(place, 0, 0, &s);
		if (result)
			return result;
		s->owner = pthread_self();
		s->per_thread = true;
	}
	*ret_stream = s;
	return CUDA_SUCCESS;
}

static struct CUstream_st *default_of(struct cot_emu_place place)
{
	return place.green ? place.green->null_stream : place.context->null_stream;
}

struct CUstream_st *cot_emu_stream_default(const struct CUstream_st *s)
{
	return default_of((struct cot_emu_place){s->context, s->green});
}

CUresult cot_emu_stream_get(CUstream handle, struct CUstream_st **ret_stream)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);
	struct CUstream_st *s = handle;

	if (result)
		return result;
	if (handle == CU_STREAM_PER_THREAD)
		return find_per_thread(cot_emu_current_place(), ret_stream);
	if (!handle || handle == CU_STREAM_LEGACY)
		s = default_of(cot_emu_current_place());
	if (!s)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_stream = s;
	if (cot_emu_green_is_gone(s->green))
		return CUDA_ERROR_STREAM_DETACHED;
	return (CUresult)atomic_load(&s->context->fault);
}

/* ---- the worker ---- */

/* With the lock held, which is not held meanwhile; the operation stays the first. */
static void do_op(struct CUstream_st *s, struct cot_emu_op *op)
{
	struct cot_emu_context *c = s->context;
	CUresult result = CUDA_SUCCESS;
	uint64_t time_ns;

	pthread_mutex_unlock(&s->lock);
	switch (op->kind) {
	case COT_EMU_OP_RECORD:
		time_ns = op->asked_ns > s->last_end_ns ? op->asked_ns : s->last_end_ns;
		cot_emu_event_done(op->event, s, op->position, time_ns);
		break;
	case COT_EMU_OP_WAIT:
		(void)cot_emu_stream_retire(op->other, op->position, true);
		/* What comes next here cannot begin before. */
		if (op->other->last_end_ns > s->last_end_ns)
			s->last_end_ns = op->other->last_end_ns;
		break;
	case COT_EMU_OP_TASK:
		result = cot_emu_task_run(s, &op->task);
		break;
	default:
		break;
	}
	if (result)
		(void)cot_emu_context_fail(c, result);
	pthread_mutex_lock(&s->lock);
}

/* The kernels that were queued while the context was lazy come first. */
static bool do_first(struct CUstream_st *s)
{
	struct cot_emu_op *op = &s->ops[s->head % COT_EMU_MAX_OPS];

	if (op->kind == COT_EMU_OP_KERNEL && !s->dropping) {
		struct cot_emu_outcome outcome;

		pthread_mutex_unlock(&s->lock);
		(void)cot_emu_kernel_await(op->ticket, true, &outcome);
		if (outcome.state != COT_EMU_KERNEL_DONE)
			(void)cot_emu_context_fail(s->context, CUDA_ERROR_LAUNCH_FAILED);
		else if (op->task.launch.function->ops->run)
			(void)op->task.launch.function->ops->run(&op->task.launch);
		pthread_mutex_lock(&s->lock);
		s->last_end_ns = outcome.ended_ns;
	} else if (!s->dropping && !atomic_load(&s->context->fault)) {
		do_op(s, op);
	}
	drop_op(op);
	s->head++;
	pthread_cond_broadcast(&s->changed);
	return true;
}

/* The context holds a reference; true if it is now the caller's. */
static bool leave_context(struct CUstream_st *s)
{
	struct cot_emu_context *c = s->context;
	struct CUstream_st **at;
	bool found;

	pthread_mutex_lock(&c->lock);
	for (at = &c->streams; *at && *at != s; at = &(*at)->next)
		;
	found = *at != NULL;
	if (found) {
		*at = s->next;
		c->n_streams--;
	}
	pthread_mutex_unlock(&c->lock);
	return found;
}

static void *work(void *arg)
{
	struct CUstream_st *s = arg;
	bool dropping;

	pthread_mutex_lock(&s->lock);
	for (;;) {
		if (s->head < s->tail)
			(void)do_first(s);
		else if (s->closing)
			break;
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	dropping = s->dropping;
	if (dropping)
		s->has_worker = false; /* a thread waits for that, and then frees the context */
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
	if (!dropping) {
		if (leave_context(s))
			atomic_fetch_sub(&s->n_refs, 1); /* never the last: this thread has one */
		pthread_mutex_lock(&s->lock);
		s->has_worker = false;
		pthread_cond_broadcast(&s->changed);
		pthread_mutex_unlock(&s->lock);
	}
	cot_emu_stream_unref(s);
	return NULL;
}

/* With the lock held. */
static CUresult start_worker(struct CUstream_st *s)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (s->has_worker)
		return CUDA_SUCCESS;
	if (pthread_attr_init(&attr))
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	cot_emu_stream_ref(s);
	s->has_worker = true;
	err = pthread_create(&thread, &attr, work, s);
	pthread_attr_destroy(&attr);
	if (!err)
		return CUDA_SUCCESS;
	s->has_worker = false;
	atomic_fetch_sub(&s->n_refs, 1);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* ---- queueing ---- */

/* With the lock held: room for one more, after retiring some if need be. */
static CUresult make_room(struct CUstream_st *s)
{
	CUresult result = CUDA_SUCCESS;

	while (!result && s->tail - s->head >= COT_EMU_MAX_OPS) {
		if (s->has_worker)
			pthread_cond_wait(&s->changed, &s->lock);
		else
			result = cot_emu_lazy_retire_first(s, s->head, true);
	}
	return result;
}

static bool is_quick(const struct cot_emu_op *op)
{
	return op->kind == COT_EMU_OP_RECORD ||
	       (op->kind == COT_EMU_OP_TASK && cot_emu_task_quick(&op->task));
}

/* With the lock held: does a quick operation of an idle stream here and now. */
static void do_now(struct CUstream_st *s, struct cot_emu_op *op)
{
	uint64_t time_ns;

	if (op->kind == COT_EMU_OP_RECORD) {
		time_ns = op->asked_ns > s->last_end_ns ? op->asked_ns : s->last_end_ns;
		cot_emu_event_done(op->event, s, op->position, time_ns);
	} else {
		(void)cot_emu_task_run(s, &op->task);
	}
	drop_op(op);
	s->head++;
}

static void note_record(struct CUstream_st *s, CUevent event)
{
	struct CUstream_st *before;

	cot_emu_stream_ref(s);
	pthread_mutex_lock(&event->lock);
	before = event->stream;
	event->stream = s;
	event->position = s->tail;
	event->kernel = s->last_kernel;
	event->done = false;
	pthread_mutex_unlock(&event->lock);
	if (before == s)
		atomic_fetch_sub(&s->n_refs, 1); /* never the last: we hold one */
	else
		cot_emu_stream_unref(before);
}

CUresult cot_emu_stream_push(struct CUstream_st *s, const struct cot_emu_op *op)
{
	bool lazy = atomic_load(&s->context->lazy), idle;
	struct cot_emu_op copy = *op;
	CUresult result;

	pthread_mutex_lock(&s->lock);
	result = make_room(s);
	if (!result && s->closing)
		result = CUDA_ERROR_CONTEXT_IS_DESTROYED;
	idle = s->head == s->tail;
	if (!result && !lazy && !(idle && is_quick(op)))
		result = start_worker(s);
	if (!result) {
		copy.position = op->kind == COT_EMU_OP_WAIT ? op->position : s->tail;
		s->ops[s->tail++ % COT_EMU_MAX_OPS] = copy;
		if (op->kind == COT_EMU_OP_RECORD)
			note_record(s, op->event);
		if (!lazy && idle && is_quick(op))
			do_now(s, &s->ops[s->head % COT_EMU_MAX_OPS]);
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	if (result)
		drop_op(&copy);
	return result;
}

CUresult cot_emu_stream_push_wait(struct CUstream_st *s, struct CUstream_st *other,
				  uint64_t position)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_WAIT, .other = other, .position = position};
	bool over;

	pthread_mutex_lock(&other->lock);
	over = other->head >= position;
	pthread_mutex_unlock(&other->lock);
	if (over || other == s)
		return CUDA_SUCCESS;
	cot_emu_stream_ref(other);
	return cot_emu_stream_push(s, &op);
}

bool cot_emu_stream_is_blocking(const struct CUstream_st *s)
{
	return s != cot_emu_stream_default(s) && !(s->flags & CU_STREAM_NON_BLOCKING);
}

static bool waits_for(const struct CUstream_st *legacy, const struct CUstream_st *s)
{
	return s->green == legacy->green && cot_emu_stream_is_blocking(s);
}

static CUresult wait_for_all_of(struct CUstream_st *s, struct CUstream_st *other)
{
	uint64_t tail;

	pthread_mutex_lock(&other->lock);
	tail = other->tail;
	pthread_mutex_unlock(&other->lock);
	return cot_emu_stream_push_wait(s, other, tail);
}

CUresult cot_emu_stream_order(struct CUstream_st *s)
{
	struct CUstream_st *legacy = cot_emu_stream_default(s), *other;
	struct cot_emu_place place = {s->context, s->green};
	uint64_t id = COT_EMU_NEWEST;
	CUresult result = CUDA_SUCCESS;

	if (cot_emu_stream_is_blocking(s))
		return wait_for_all_of(s, legacy);
	if (s != legacy)
		return CUDA_SUCCESS;
	while (!result && (other = cot_emu_place_stream(place, &id))) {
		if (waits_for(legacy, other))
			result = wait_for_all_of(s, other);
		cot_emu_stream_unref(other);
	}
	return result;
}

/* What needs no thread beside the program's own. */
static bool fits_lazy(const struct cot_emu_task *task)
{
	return task->kind == COT_EMU_TASK_COPY || task->kind == COT_EMU_TASK_SET ||
	       task->kind == COT_EMU_TASK_EMPTY ||
	       (task->kind == COT_EMU_TASK_LAUNCH && !task->launch.function->ops->execute);
}

static CUresult submit(struct CUstream_st *s, struct cot_emu_task *task)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_TASK, .task = *task};
	CUresult result;

	if (!fits_lazy(task))
		atomic_store(&s->context->lazy, false);
	if (atomic_load(&s->context->lazy)) {
		if (task->kind != COT_EMU_TASK_LAUNCH)
			return cot_emu_stream_push(s, &op);
		op.kind = COT_EMU_OP_KERNEL;
		return cot_emu_lazy_launch(s, &op);
	}
	result = cot_emu_stream_order(s);
	if (result) {
		cot_emu_task_drop(task);
		return result;
	}
	return cot_emu_stream_push(s, &op);
}

CUresult cot_emu_stream_submit(CUstream handle, struct cot_emu_task *task)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(handle, &s);
	bool captured = false;

	if (!result)
		result = cot_emu_capture_task(s, task, &captured);
	if (result)
		cot_emu_task_drop(task);
	if (result || captured)
		return result;
	return submit(s, task);
}

CUresult cot_emu_stream_submit_and_wait(CUstream handle, struct cot_emu_task *task)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(handle, &s);

	if (!result)
		result = cot_emu_capture_forbid(s);
	/* Without workers, the order between streams is kept by waiting for all of them. */
	if (!result && atomic_load(&s->context->lazy))
		result = cot_emu_context_drain(s->context);
	if (result) {
		cot_emu_task_drop(task);
		return result;
	}
	result = submit(s, task);
	return result ? result : cot_emu_stream_drain(s, true);
}

/* ---- waiting ---- */

/* With the lock held. A stream may outlive its context while another one waits for it: it is
 * closing then, and what it had to do is done or dropped. */
static CUresult fault_of(const struct CUstream_st *s)
{
	return s->closing ? CUDA_SUCCESS : (CUresult)atomic_load(&s->context->fault);
}

CUresult cot_emu_stream_retire(struct CUstream_st *s, uint64_t position, bool block)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&s->lock);
	while (!result && s->head < position && s->head < s->tail) {
		if (!s->has_worker)
			result = cot_emu_lazy_retire_first(s, s->head, block);
		else if (!block)
			result = CUDA_ERROR_NOT_READY;
		else
			pthread_cond_wait(&s->changed, &s->lock);
	}
	if (!result)
		result = fault_of(s);
	pthread_mutex_unlock(&s->lock);
	return result;
}

CUresult cot_emu_stream_drain(struct CUstream_st *s, bool block)
{
	uint64_t tail;

	pthread_mutex_lock(&s->lock);
	tail = s->tail;
	pthread_mutex_unlock(&s->lock);
	return cot_emu_stream_retire(s, tail, block);
}

CUresult cot_emu_stream_close(struct CUstream_st *s)
{
	CUresult result = CUDA_SUCCESS;
	bool has_worker;

	pthread_mutex_lock(&s->lock);
	has_worker = s->has_worker;
	if (has_worker) {
		s->closing = true;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	/* Without a worker no thread would do the rest. */
	if (!has_worker) {
		result = cot_emu_stream_drain(s, true);
		pthread_mutex_lock(&s->lock);
		s->closing = true;
		pthread_mutex_unlock(&s->lock);
		if (leave_context(s))
			cot_emu_stream_unref(s);
	}
	return result;
}
