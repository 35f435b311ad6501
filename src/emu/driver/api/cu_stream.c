/* The entry points for streams. */
#include "emu/driver/capture.h"
#include "emu/driver/green.h"
#include "emu/driver/inside.h"

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	struct cot_emu_place place;
	struct CUstream_st *s;
	CUresult result = cot_emu_place_get(NULL, &place);

	if (result)
		return result;
	if (!stream || flags & ~CU_STREAM_NON_BLOCKING)
		return CUDA_ERROR_INVALID_VALUE;
	priority = cot_emu_stream_priority(priority);
	result = cot_emu_stream_make(place, flags, priority, &s);
	if (!result)
		result = cot_emu_barrier_join(place, s);
	if (!result)
		*stream = s;
	return result;
}

CUresult cuStreamCreate(CUstream *stream, unsigned flags)
{
	return cuStreamCreateWithPriority(stream, flags, 0);
}

CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
	struct cot_emu_context *c;
	CUresult result = cot_emu_current(&c);

	if (result)
		return result;
	if (least)
		*least = 0;
	if (greatest)
		*greatest = COT_EMU_HIGHEST_PRIORITY;
	return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct CUstream_st *s;
	CUresult result;

	if ((uintptr_t)stream <= 2)
		return CUDA_ERROR_INVALID_HANDLE;
	result = cot_emu_stream_get(stream, &s);
	/* Its green context has gone, but not the stream. */
	if (result == CUDA_ERROR_STREAM_DETACHED)
		result = CUDA_SUCCESS;
	return result ? result : cot_emu_stream_close(s);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (!result)
		result = cot_emu_capture_forbid(s);
	if (!result)
		result = cot_emu_capture_check_unsafe();
	/* The legacy stream is done when what it would wait for is. */
	if (!result && !atomic_load(&s->context->lazy))
		result = cot_emu_stream_order(s);
	return result ? result : cot_emu_stream_drain(s, true);
}

CUresult cuStreamQuery(CUstream stream)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (!result)
		result = cot_emu_capture_forbid(s);
	if (!result)
		result = cot_emu_capture_check_unsafe();
	return result ? result : cot_emu_stream_drain(s, false);
}

CUresult cuStreamGetPriority(CUstream stream, int *priority)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !priority)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*priority = s->priority;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream stream, unsigned *flags)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (!result)
		result = cot_emu_capture_forbid(s); /* as the driver does, without a reason */
	if (result || !flags)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*flags = s->flags;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetId(CUstream stream, unsigned long long *id)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !id)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*id = s->id;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *ctx)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !ctx)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*ctx = cot_emu_place_handle((struct cot_emu_place){s->context, s->green});
	return CUDA_SUCCESS;
}

CUresult cuStreamGetDevice(CUstream stream, CUdevice *device)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !device)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*device = s->context->device;
	return CUDA_SUCCESS;
}

/* ---- attributes: only the priority means something ---- */

CUresult cuStreamCopyAttributes(CUstream to, CUstream from)
{
	struct CUstream_st *a, *b;
	CUresult result = cot_emu_stream_get(to, &a);

	if (!result)
		result = cot_emu_stream_get(from, &b);
	if (!result && a->green != b->green)
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result)
		a->priority = b->priority;
	return result;
}

CUresult cuStreamGetAttribute(CUstream stream, int what, CUlaunchAttributeValue *value)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !value)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	*value = (CUlaunchAttributeValue){.pad = {0}};
	if (what == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		value->priority = s->priority;
	return CUDA_SUCCESS;
}

CUresult cuStreamSetAttribute(CUstream stream, int what, const CUlaunchAttributeValue *value)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !value)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	if (what == CU_LAUNCH_ATTRIBUTE_PRIORITY)
		s->priority = value->priority;
	return CUDA_SUCCESS;
}

/* ---- host functions ---- */

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data)
{
	struct cot_emu_task task = {.kind = COT_EMU_TASK_HOST};

	if (!function)
		return CUDA_ERROR_INVALID_VALUE;
	task.host.function = function;
	task.host.data = data;
	return cot_emu_stream_submit(stream, &task);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void *data, unsigned flags)
{
	struct cot_emu_task task = {.kind = COT_EMU_TASK_CALLBACK};

	if (!callback || flags)
		return CUDA_ERROR_INVALID_VALUE;
	task.host.callback = callback;
	task.host.stream = stream;
	task.host.data = data;
	return cot_emu_stream_submit(stream, &task);
}

/* ---- memory operations ---- */

static CUresult value_op(CUstream stream, enum cot_emu_task_kind kind, CUdeviceptr address,
			 uint64_t value, unsigned flags, bool wide)
{
	struct cot_emu_task task = {.kind = kind};

	if (!address || address % (wide ? 8 : 4))
		return CUDA_ERROR_INVALID_VALUE;
	task.value = (struct cot_emu_value){
		.address = address, .value = value, .flags = flags, .wide = wide};
	return cot_emu_stream_submit(stream, &task);
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
				 unsigned flags)
{
	return value_op(stream, COT_EMU_TASK_VALUE_WRITE, address, value, flags, false);
}

CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
				 unsigned flags)
{
	return value_op(stream, COT_EMU_TASK_VALUE_WRITE, address, value, flags, true);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr address, uint32_t value,
				unsigned flags)
{
	return value_op(stream, COT_EMU_TASK_VALUE_WAIT, address, value, flags, false);
}

CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr address, uint64_t value,
				unsigned flags)
{
	return value_op(stream, COT_EMU_TASK_VALUE_WAIT, address, value, flags, true);
}

static CUresult batch_op(CUstream stream, const CUstreamBatchMemOpParams *op)
{
	uint32_t low = (uint32_t)op->value.value;

	switch (op->operation) {
	case CU_STREAM_MEM_OP_WAIT_VALUE_32:
		return cuStreamWaitValue32_v2(stream, op->value.address, low, op->value.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_32:
		return cuStreamWriteValue32_v2(stream, op->value.address, low, op->value.flags);
	case CU_STREAM_MEM_OP_WAIT_VALUE_64:
		return cuStreamWaitValue64_v2(stream, op->value.address, op->value.value,
					      op->value.flags);
	case CU_STREAM_MEM_OP_WRITE_VALUE_64:
		return cuStreamWriteValue64_v2(stream, op->value.address, op->value.value,
					       op->value.flags);
	case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
	case CU_STREAM_MEM_OP_BARRIER:
		return CUDA_SUCCESS;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned n, CUstreamBatchMemOpParams *ops,
			       unsigned flags)
{
	CUresult result = CUDA_SUCCESS;
	unsigned i;

	if (flags || (n && !ops))
		return CUDA_ERROR_INVALID_VALUE;
	for (i = 0; !result && i < n; i++)
		result = batch_op(stream, &ops[i]);
	return result;
}
