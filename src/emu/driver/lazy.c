/*
 * Kernels on the emulated GPU's own clock: queueing them when they are launched, waiting for them,
 * and retiring the operations of a stream that has no worker.
 */
#include <errno.h>
#include <string.h>

#include "emu/driver/inside.h"

void cot_emu_kernel_release(struct cot_emu_ticket ticket)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);

	if (!m)
		return;
	cot_emu_model_release(m, ticket);
	cot_emu_gpu_commit(gpu, false);
}

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

CUresult cot_emu_kernel_await(struct cot_emu_ticket ticket, bool block,
			      struct cot_emu_outcome *ret_outcome)
{
	struct wanted w = {.ticket = ticket};
	int err = cot_emu_gpu_wait(cot_emu_machine(), has_ended, &w, block ? COT_EMU_NEVER : 0);

	*ret_outcome = w.outcome;
	if (err == -ETIMEDOUT)
		return CUDA_ERROR_NOT_READY;
	return err ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}

CUresult cot_emu_kernel_result(struct cot_emu_context *c, int err)
{
	switch (-err) {
	case 0:
		return CUDA_SUCCESS;
	case EINVAL:
		return CUDA_ERROR_INVALID_VALUE;
	case ENOENT: /* an MPS server that has gone took its channels along */
		return cot_emu_context_fail(c, c->pool >= 0 ? CUDA_ERROR_MPS_RPC_FAILURE
							    : CUDA_ERROR_LAUNCH_FAILED);
	case EIO:
		return cot_emu_context_fail(c, CUDA_ERROR_LAUNCH_FAILED);
	default:
		return CUDA_ERROR_UNKNOWN;
	}
}

static CUresult end_kernel(struct CUstream_st *s, const struct cot_emu_launch *l,
			   const struct cot_emu_outcome *outcome)
{
	CUresult result;

	if (outcome->state != COT_EMU_KERNEL_DONE)
		return cot_emu_context_fail(s->context, CUDA_ERROR_LAUNCH_FAILED);
	s->last_end_ns = outcome->ended_ns;
	result = l->function->ops->run ? l->function->ops->run(l) : CUDA_SUCCESS;
	return result ? cot_emu_context_fail(s->context, result) : CUDA_SUCCESS;
}

static void retire_quick(struct CUstream_st *s, struct cot_emu_op *op)
{
	uint64_t time_ns;

	if (op->kind == COT_EMU_OP_RECORD) {
		time_ns = op->asked_ns > s->last_end_ns ? op->asked_ns : s->last_end_ns;
		cot_emu_event_done(op->event, s, op->position, time_ns);
	} else if (op->kind == COT_EMU_OP_TASK) {
		(void)cot_emu_task_run(s, &op->task);
	}
}

/* Lets go of what the operation holds. */
static void finish_op(struct cot_emu_op *op)
{
	cot_emu_task_drop(&op->task);
	if (op->event)
		cot_emu_event_unref(op->event);
	if (op->other)
		cot_emu_stream_unref(op->other);
}

/*
 * Waits, without the lock, for what the first operation needs; again if another thread was faster.
 */
CUresult cot_emu_lazy_retire_first(struct CUstream_st *s, uint64_t position, bool block)
{
	struct cot_emu_op *op = &s->ops[position % COT_EMU_MAX_OPS], copy;
	struct cot_emu_outcome outcome = {.state = COT_EMU_KERNEL_FREE};
	CUresult result = CUDA_SUCCESS;

	copy = *op;
	if (op->kind == COT_EMU_OP_WAIT)
		cot_emu_stream_ref(copy.other);
	pthread_mutex_unlock(&s->lock);
	if (copy.kind == COT_EMU_OP_KERNEL)
		result = cot_emu_kernel_await(copy.ticket, block, &outcome);
	if (copy.kind == COT_EMU_OP_WAIT) {
		result = cot_emu_stream_retire(copy.other, copy.position, block);
		cot_emu_stream_unref(copy.other);
	}
	pthread_mutex_lock(&s->lock);
	if (result || s->head != position || s->has_worker)
		return result;
	if (copy.kind == COT_EMU_OP_KERNEL) {
		result = end_kernel(s, &op->task.launch, &outcome);
		cot_emu_kernel_release(copy.ticket);
	} else {
		retire_quick(s, op);
	}
	finish_op(op);
	s->head++;
	pthread_cond_broadcast(&s->changed);
	return result;
}

/* ---- queueing ---- */

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
		  struct cot_emu_ticket after, struct cot_emu_ticket *ret_ticket)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	bool watched;
	int err;

	if (!m)
		return -ENOTRECOVERABLE;
	watched = cot_emu_model_has_open(m);
	err = cot_emu_model_submit(m, s->channel, cot_emu_gpu_client(gpu), work, after, ret_ticket);
	cot_emu_gpu_commit(gpu, watched);
	return err;
}

CUresult cot_emu_lazy_launch(struct CUstream_st *s, struct cot_emu_op *op)
{
	struct cot_emu_work work;
	CUresult result = CUDA_SUCCESS;
	int err;

	op->task.launch.function->ops->cost(&op->task.launch, &work);
	pthread_mutex_lock(&s->lock);
	while (!result && s->tail - s->head >= COT_EMU_MAX_OPS)
		result = cot_emu_lazy_retire_first(s, s->head, true);
	while (!result && (err = submit(s, &work, s->after, &op->ticket))) {
		if (err != -EAGAIN) {
			result = cot_emu_kernel_result(s->context, err);
			break;
		}
		/* Our own finished kernels fill the table until they are retired. */
		if (s->head < s->tail) {
			result = cot_emu_lazy_retire_first(s, s->head, true);
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

CUresult cot_emu_kernel_run(struct CUstream_st *s, const struct cot_emu_launch *launch)
{
	struct cot_emu_outcome outcome;
	struct cot_emu_ticket ticket;
	struct cot_emu_work work;
	CUresult result;
	int err;

	launch->function->ops->cost(launch, &work);
	while ((err = submit(s, &work, (struct cot_emu_ticket){0, 0}, &ticket)) == -EAGAIN)
		cot_emu_gpu_wait(cot_emu_machine(), has_room, s, COT_EMU_NEVER);
	if (err)
		return cot_emu_kernel_result(s->context, err);
	result = cot_emu_kernel_await(ticket, true, &outcome);
	if (!result)
		result = end_kernel(s, launch, &outcome);
	cot_emu_kernel_release(ticket);
	return result;
}
