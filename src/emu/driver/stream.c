/* Streams: queues of operations that are retired in order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/driver.h"

void cot_emu_stream_ref(struct CUstream_st *s)
{
	atomic_fetch_add(&s->n_refs, 1);
}

/* Lets go of what the operation holds. */
static void finish_op(struct cot_emu_op *op)
{
	free(op->owned);
	if (op->event)
		cot_emu_event_unref(op->event);
	if (op->other)
		cot_emu_stream_unref(op->other);
}

static void release(struct cot_emu_ticket ticket)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);

	if (!m)
		return;
	cot_emu_model_release(m, ticket);
	cot_emu_gpu_commit(gpu, false);
}

void cot_emu_stream_abandon(struct CUstream_st *s)
{
	struct cot_emu_op *op;

	pthread_mutex_lock(&s->lock);
	for (; s->head < s->tail; s->head++) {
		op = &s->ops[s->head % COT_EMU_MAX_OPS];
		if (op->kind == COT_EMU_OP_KERNEL)
			release(op->ticket);
		finish_op(op);
	}
	pthread_mutex_unlock(&s->lock);
}

void cot_emu_stream_unref(struct CUstream_st *s)
{
	if (!s || atomic_fetch_sub(&s->n_refs, 1) != 1)
		return;
	cot_emu_stream_abandon(s);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

CUresult cot_emu_stream_make(struct cot_emu_context *c, struct CUstream_st **ret_stream)
{
	struct CUstream_st *s = calloc(1, sizeof(*s));
	CUresult result = CUDA_SUCCESS;

	if (!s)
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_mutex_init(&s->lock, NULL);
	s->n_refs = 1;
	s->context = c;
	if (c->n_channels)
		s->channel = c->channels[atomic_fetch_add(&c->next_channel, 1) % c->n_channels];
	pthread_mutex_lock(&c->lock);
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

CUresult cot_emu_stream_get(CUstream handle, struct CUstream_st **ret_stream)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	/* 1 and 2 are the names of the legacy and the per-thread default stream. */
	*ret_stream = (uintptr_t)handle <= 2 ? c->null_stream : handle;
	return (CUresult)atomic_load(&(*ret_stream)->context->fault);
}

/* ---- waiting for a kernel ---- */

struct wanted {
	struct cot_emu_ticket ticket;
	struct cot_emu_outcome outcome;
};

static bool has_ended(const struct cot_emu_model *m, void *arg)
{
	struct wanted *w = arg;

	w->outcome = cot_emu_model_outcome(m, w->ticket);
	return w->outcome.state != COT_EMU_KERNEL_QUEUED;
}

static CUresult await(struct cot_emu_ticket ticket, bool block, struct cot_emu_outcome *ret_outcome)
{
	struct wanted w = {.ticket = ticket};
	int err = cot_emu_gpu_wait(cot_emu_machine(), has_ended, &w, block ? COT_EMU_NEVER : 0);

	*ret_outcome = w.outcome;
	if (err == -ETIMEDOUT)
		return CUDA_ERROR_NOT_READY;
	return err ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

/* ---- retiring ---- */

static void set_memory(const struct cot_emu_op *op)
{
	size_t i;

	if (op->element == 1) {
		memset(op->to, (int)op->value, op->n);
		return;
	}
	for (i = 0; i < op->n; i++)
		memcpy(op->to + i * sizeof(op->value), &op->value, sizeof(op->value));
}

static CUresult fail_context(struct cot_emu_context *c, CUresult fault)
{
	int none = CUDA_SUCCESS;

	atomic_compare_exchange_strong(&c->fault, &none, fault);
	return (CUresult)atomic_load(&c->fault);
}

/* With the lock held, for a kernel that has ended. */
static CUresult retire_kernel(struct CUstream_st *s, struct cot_emu_op *op,
			      const struct cot_emu_outcome *outcome)
{
	const struct cot_emu_function_ops *ops = op->launch.function->ops;
	CUresult result;

	if (outcome->state != COT_EMU_KERNEL_DONE)
		return fail_context(s->context, CUDA_ERROR_LAUNCH_FAILED);
	s->last_end_ns = outcome->ended_ns;
	result = ops->run ? ops->run(&op->launch) : CUDA_SUCCESS;
	return result ? fail_context(s->context, result) : CUDA_SUCCESS;
}

static void retire_quick(struct CUstream_st *s, struct cot_emu_op *op)
{
	uint64_t time_ns;

	switch (op->kind) {
	case COT_EMU_OP_COPY:
		memmove(op->to, op->from, op->n);
		break;
	case COT_EMU_OP_SET:
		set_memory(op);
		break;
	case COT_EMU_OP_RECORD:
		time_ns = op->asked_ns > s->last_end_ns ? op->asked_ns : s->last_end_ns;
		cot_emu_event_done(op->event, s, op->position, time_ns);
		break;
	default:
		break;
	}
}

/* Waits, without the lock, for what the first operation needs; again if somebody was faster. */
static CUresult retire_first(struct CUstream_st *s, uint64_t position, bool block)
{
	struct cot_emu_op *op = &s->ops[position % COT_EMU_MAX_OPS], copy;
	struct cot_emu_outcome outcome = {.state = COT_EMU_KERNEL_FREE};
	CUresult result = CUDA_SUCCESS;

	copy = *op;
	if (op->kind == COT_EMU_OP_WAIT)
		cot_emu_stream_ref(copy.other);
	pthread_mutex_unlock(&s->lock);
	if (copy.kind == COT_EMU_OP_KERNEL)
		result = await(copy.ticket, block, &outcome);
	if (copy.kind == COT_EMU_OP_WAIT) {
		result = cot_emu_stream_retire(copy.other, copy.position, block);
		cot_emu_stream_unref(copy.other);
	}
	pthread_mutex_lock(&s->lock);
	if (result || s->head != position)
		return result;
	if (copy.kind == COT_EMU_OP_KERNEL) {
		result = retire_kernel(s, op, &outcome);
		release(copy.ticket);
	} else {
		retire_quick(s, op);
	}
	finish_op(op);
	s->head++;
	return result;
}

CUresult cot_emu_stream_retire(struct CUstream_st *s, uint64_t position, bool block)
{
	CUresult result = CUDA_SUCCESS;

	pthread_mutex_lock(&s->lock);
	while (!result && s->head < position && s->head < s->tail)
		result = retire_first(s, s->head, block);
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

/* ---- queueing ---- */

/* With the lock held: room for one more, after retiring some if need be. */
static CUresult make_room(struct CUstream_st *s)
{
	CUresult result = CUDA_SUCCESS;

	while (!result && s->tail - s->head >= COT_EMU_MAX_OPS)
		result = retire_first(s, s->head, true);
	return result;
}

CUresult cot_emu_stream_push(struct CUstream_st *s, const struct cot_emu_op *op)
{
	struct cot_emu_op copy = *op;
	CUresult result;

	pthread_mutex_lock(&s->lock);
	result = make_room(s);
	if (!result) {
		copy.position = op->kind == COT_EMU_OP_WAIT ? op->position : s->tail;
		s->ops[s->tail++ % COT_EMU_MAX_OPS] = copy;
		if (op->kind == COT_EMU_OP_RECORD) {
			cot_emu_stream_ref(s);
			pthread_mutex_lock(&op->event->lock);
			cot_emu_stream_unref(op->event->stream);
			op->event->stream = s;
			op->event->position = s->tail;
			op->event->kernel = s->last_kernel;
			op->event->done = false;
			pthread_mutex_unlock(&op->event->lock);
		}
	}
	pthread_mutex_unlock(&s->lock);
	if (result)
		finish_op(&copy);
	return result;
}

static CUresult result_of_submit(struct cot_emu_context *c, int err)
{
	switch (-err) {
	case 0:
		return CUDA_SUCCESS;
	case EINVAL:
		return CUDA_ERROR_INVALID_VALUE;
	case ENOENT: /* an MPS server that has gone took its channels along */
		return fail_context(c, c->pool >= 0 ? CUDA_ERROR_MPS_RPC_FAILURE
						    : CUDA_ERROR_LAUNCH_FAILED);
	case EIO:
		return fail_context(c, CUDA_ERROR_LAUNCH_FAILED);
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

/* Will the model take one more kernel of this channel? */
static bool has_room(const struct cot_emu_model *m, void *arg)
{
	const struct CUstream_st *s = arg;
	const struct cot_emu_channel *ch = cot_emu_model_channel(m, s->channel);
	uint32_t i;

	if (!ch || ch->n_queued >= COT_EMU_MAX_QUEUED)
		return !ch;
	for (i = 0; i < m->n_kernels && m->kernels[i].serial; i++)
		;
	return i < COT_EMU_MAX_KERNELS;
}

static int submit(struct CUstream_st *s, const struct cot_emu_work *work,
		  struct cot_emu_ticket *ret_ticket)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	int err;

	if (!m)
		return -ENOTRECOVERABLE;
	err = cot_emu_model_submit(m, s->channel, cot_emu_gpu_client(gpu), work, s->after,
				   ret_ticket);
	cot_emu_gpu_commit(gpu, false);
	return err;
}

CUresult cot_emu_stream_launch(struct CUstream_st *s, struct cot_emu_op *op,
			       const struct cot_emu_work *work)
{
	CUresult result;
	int err;

	pthread_mutex_lock(&s->lock);
	result = make_room(s);
	while (!result && (err = submit(s, work, &op->ticket))) {
		if (err != -EAGAIN) {
			result = result_of_submit(s->context, err);
			break;
		}
		/* Our own finished kernels fill the table until they are retired. */
		if (s->head < s->tail) {
			result = retire_first(s, s->head, true);
			continue;
		}
		pthread_mutex_unlock(&s->lock);
		cot_emu_gpu_wait(cot_emu_machine(), has_room, s, COT_EMU_NEVER);
		pthread_mutex_lock(&s->lock);
	}
	if (!result) {
		s->last_kernel = op->ticket;
		s->after = (struct cot_emu_ticket){0, 0};
		s->ops[s->tail++ % COT_EMU_MAX_OPS] = *op;
	}
	pthread_mutex_unlock(&s->lock);
	if (result)
		finish_op(op);
	return result;
}

/* ---- entry points ---- */

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	struct cot_emu_context *c;
	struct CUstream_st *s;
	CUresult result = cot_emu_current(&c);

	(void)priority; /* kernels of one context share the SMs whatever their priority */
	if (result)
		return result;
	if (!stream || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_stream_make(c, &s);
	if (!result)
		*stream = s;
	return result;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

/* Waits for the work first, where the real one would go on in the background. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct CUstream_st *s, **at;
	struct cot_emu_context *c;
	CUresult result;

	if ((uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	result = cot_emu_stream_get(stream, &s);
	if (result)
		return result;
	result = cot_emu_stream_drain(s, true);
	c = s->context;
	pthread_mutex_lock(&c->lock);
	for (at = &c->streams; *at && *at != s; at = &(*at)->next)
		;
	if (*at) {
		*at = s->next;
		c->n_streams--;
	}
	pthread_mutex_unlock(&c->lock);
	cot_emu_stream_unref(s);
	return result;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	return result ? result : cot_emu_stream_drain(s, true);
}

CUresult cuStreamQuery(CUstream stream)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	return result ? result : cot_emu_stream_drain(s, false);
}

/* One kernel can wait for one other; a second event is waited for here and now. */
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	struct cot_emu_op op = {.kind = COT_EMU_OP_WAIT};
	struct cot_emu_ticket kernel = {0, 0};
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);
	bool busy;

	if (result)
		return result;
	if (!event || flags)
		return CUDA_ERROR_INVALID_VALUE;
	pthread_mutex_lock(&event->lock);
	busy = event->stream && !event->done && event->stream != s;
	if (busy) {
		op.other = event->stream;
		op.position = event->position;
		kernel = event->kernel;
		cot_emu_stream_ref(op.other);
	}
	pthread_mutex_unlock(&event->lock);
	if (!busy)
		return CUDA_SUCCESS;
	if (s->after.serial) {
		result = cot_emu_stream_retire(op.other, op.position, true);
		cot_emu_stream_unref(op.other);
		return result;
	}
	pthread_mutex_lock(&s->lock);
	s->after = kernel;
	pthread_mutex_unlock(&s->lock);
	return cot_emu_stream_push(s, &op);
}
