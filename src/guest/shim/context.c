/* What a context has for workers; made when the first ones are launched in it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest/shim/context.h"
#include "guest/shim/driver.h"
#include "guest/shim/end.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define CLOSE_NS       (5 * COT_NS_PER_S)
#define MAKE_NS	       (10 * COT_NS_PER_S)
#define LOOK_FOR_ARMED 32u
#define CONTROL_BYTES  sizeof(struct cot_workers_control)

_Static_assert(CONTROL_BYTES % 128 == 0, "control blocks in an array are aligned");

static struct cot_shim_context *contexts;

struct cot_shim_context *cot_shim_contexts_first(void)
{
	return contexts;
}

/* ---- making and closing ---- */

void cot_shim_uuid_text(int device, char text[COT_PROTO_NAME_MAX])
{
	CUuuid uuid;
	const unsigned char *b = uuid.bytes;

	if (COT_REAL(cuDeviceGetUuid_v2)(&uuid, device)) {
		(void)snprintf(text, COT_PROTO_NAME_MAX, "%d", device);
		return;
	}
	(void)snprintf(text, COT_PROTO_NAME_MAX,
		       "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		       b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11],
		       b[12], b[13], b[14], b[15]);
}

static bool make_stream(struct cot_shim_context *c)
{
	int least = 0, greatest = 0;

	(void)COT_REAL(cuCtxGetStreamPriorityRange)(&least, &greatest);
	return !COT_REAL(cuStreamCreateWithPriority)(&c->stream, CU_STREAM_NON_BLOCKING, greatest);
}

static bool make_memory(struct cot_shim_context *c)
{
	void *host = NULL;

	if (COT_REAL(cuMemAlloc_v2)(&c->controls, COT_SHIM_SLOTS * CONTROL_BYTES))
		return false;
	if (COT_REAL(cuMemAllocHost_v2)(&host, COT_SHIM_SLOTS * CONTROL_BYTES))
		return false;
	c->host = host;
	if (COT_REAL(cuMemsetD32Async)(c->controls, 0, COT_SHIM_SLOTS * CONTROL_BYTES / 4,
				       c->stream))
		return false;
	c->mem_ops = !COT_REAL(cuStreamWriteValue32_v2)(c->stream, c->controls, 0, 0);
	return !COT_REAL(cuStreamSynchronize)(c->stream);
}

/* With its context current. */
static void unmake(struct cot_shim_context *c)
{
	unsigned i;

	for (i = 0; i < COT_SHIM_SLOTS; i++)
		cot_shim_end_unmake(&c->slots[i]);
	if (c->controls)
		(void)COT_REAL(cuMemFree_v2)(c->controls);
	if (c->host)
		(void)COT_REAL(cuMemFreeHost)(c->host);
	if (c->stream)
		(void)COT_REAL(cuStreamDestroy_v2)(c->stream);
	c->controls = 0;
	c->host = NULL;
	c->stream = NULL;
}

static void lay_out(struct cot_shim_context *c)
{
	unsigned i;

	for (i = 0; i < COT_SHIM_STREAMS; i++)
		atomic_store(&c->streams[i], NULL);
	atomic_store(&c->small, 0);
	c->free = NULL;
	c->to_arm = NULL;
	for (i = COT_SHIM_SLOTS; i-- > 0;) {
		c->slots[i] = (struct cot_shim_slot){
			.context = c,
			.index = i,
			.control = c->controls + i * CONTROL_BYTES,
			.next = c->free,
		};
		c->free = &c->slots[i];
	}
}

/* The program wants its threads to sleep while they wait. */
static bool wants_sleep(void)
{
	unsigned flags = 0;

	return !COT_REAL(cuCtxGetFlags)(&flags) && flags & CU_CTX_SCHED_BLOCKING_SYNC;
}

/* The program may be recording a graph on another thread: our calls must not disturb it. */
static bool make(struct cot_shim_context *c, struct cot_shim_gpu **ret_gpu)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int device, n_sms = 0;
	char uuid[COT_PROTO_NAME_MAX];
	bool made = false;

	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!COT_REAL(cuCtxGetDevice)(&device) &&
	    !COT_REAL(cuDeviceGetAttribute)(&n_sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
					    device) &&
	    n_sms > 0) {
		cot_shim_uuid_text(device, uuid);
		c->sleeps = wants_sleep();
		made = make_stream(c) && make_memory(c);
		if (!made)
			unmake(c);
	}
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	if (!made)
		return false;
	lay_out(c);
	pthread_mutex_lock(&cot_shim_lock);
	*ret_gpu = cot_shim_gpu_get(device, (uint32_t)n_sms, uuid);
	pthread_mutex_unlock(&cot_shim_lock);
	return *ret_gpu != NULL;
}

static struct cot_shim_context *find(CUcontext handle)
{
	struct cot_shim_context *c = contexts;

	while (c && c->handle != handle)
		c = c->next;
	return c;
}

/* A new one, or one that is free again. They are never freed: another thread may still read one. */
static struct cot_shim_context *add(CUcontext handle)
{
	struct cot_shim_context *c = find(NULL);

	if (!c) {
		c = calloc(1, sizeof(*c));
		if (!c)
			return NULL;
		pthread_mutex_init(&c->submit, NULL);
		c->next = contexts;
		contexts = c;
	}
	c->handle = handle;
	c->making = true;
	c->usable = c->closing = false;
	return c;
}

/* With the lock held: another thread is making it. */
static void wait_made(const struct cot_shim_context *c)
{
	uint64_t until = cot_now_ns() + MAKE_NS;

	while (c->making && cot_shim_changed_wait(until))
		;
}

struct cot_shim_context *cot_shim_context_current(void)
{
	struct cot_shim_gpu *gpu = NULL;
	struct cot_shim_context *c;
	CUcontext handle = NULL;
	bool mine, usable;

	if (COT_REAL(cuCtxGetCurrent)(&handle) || !handle)
		return NULL;
	pthread_mutex_lock(&cot_shim_lock);
	c = find(handle);
	mine = !c;
	if (mine)
		c = add(handle);
	else if (c->making)
		wait_made(c);
	usable = c && c->usable && !c->closing;
	pthread_mutex_unlock(&cot_shim_lock);
	if (!c || !mine)
		return usable ? c : NULL;
	usable = make(c, &gpu);
	pthread_mutex_lock(&cot_shim_lock);
	c->gpu = gpu;
	c->usable = usable;
	c->making = false;
	cot_shim_changed();
	pthread_mutex_unlock(&cot_shim_lock);
	return usable ? c : NULL;
}

/* With the lock. */
static void close_one(struct cot_shim_context *c)
{
	uint64_t until = cot_now_ns() + CLOSE_NS;
	CUcontext before = NULL, handle = c->handle;
	bool idle;

	c->closing = true;
	cot_shim_works_close(c);
	cot_shim_changed();
	while (c->n_busy && cot_shim_changed_wait(until))
		;
	idle = c->n_busy == 0;
	c->usable = false;
	pthread_mutex_unlock(&cot_shim_lock);
	if (idle && !COT_REAL(cuCtxPushCurrent_v2)(handle)) {
		unmake(c);
		(void)COT_REAL(cuCtxPopCurrent_v2)(&before);
	}
	pthread_mutex_lock(&cot_shim_lock);
	/* With kernels that do not end, what is left goes down with the context. */
	if (idle)
		c->handle = NULL;
}

void cot_shim_context_close(CUcontext handle)
{
	struct cot_shim_context *c;

	pthread_mutex_lock(&cot_shim_lock);
	c = handle ? find(handle) : NULL;
	if (c && c->usable)
		close_one(c);
	pthread_mutex_unlock(&cot_shim_lock);
}

void cot_shim_contexts_close_device(int device)
{
	struct cot_shim_context *c;

	pthread_mutex_lock(&cot_shim_lock);
	for (c = contexts; c; c = c->next)
		if (c->handle && c->usable && c->gpu->device == device)
			close_one(c);
	pthread_mutex_unlock(&cot_shim_lock);
}

void cot_shim_stream_gone(CUstream stream)
{
	uint64_t small = (uintptr_t)stream;
	struct cot_shim_context *c;
	unsigned i;

	pthread_mutex_lock(&cot_shim_lock);
	for (c = contexts; c; c = c->next) {
		for (i = 0; i < COT_SHIM_STREAMS; i++)
			if (atomic_load(&c->streams[i]) == stream)
				atomic_store(&c->streams[i], NULL);
		(void)atomic_compare_exchange_strong(&c->small, &small, 0);
		small = (uintptr_t)stream;
	}
	pthread_mutex_unlock(&cot_shim_lock);
}

void cot_shim_contexts_forget(void)
{
	contexts = NULL;
}

/* ---- slots ---- */

struct cot_shim_slot *cot_shim_slot_take(struct cot_shim_context *c,
					 const struct cot_workers_control *armed_for)
{
	struct cot_shim_slot **at = &c->free, **best = &c->free, *s;
	unsigned i;

	for (i = 0; *at && i < LOOK_FOR_ARMED; i++, at = &(*at)->next) {
		if ((*at)->armed == armed_for->next && (*at)->armed_flag == armed_for->evict) {
			best = at;
			break;
		}
	}
	s = *best;
	if (!s)
		return NULL;
	*best = s->next;
	s->next = NULL;
	s->state = COT_SHIM_SLOT_TAKEN;
	s->flag = s->surplus = 0;
	s->timed = false;
	c->n_busy++;
	return s;
}

void cot_shim_slot_give(struct cot_shim_slot *s, bool used)
{
	struct cot_shim_context *c = s->context;

	s->work = NULL;
	s->state = used ? COT_SHIM_SLOT_ARMING : COT_SHIM_SLOT_FREE;
	s->next = used ? c->to_arm : c->free;
	if (used) {
		c->to_arm = s;
		return; /* it is busy until it is armed */
	}
	c->free = s;
	c->n_busy--;
	cot_shim_changed();
}

int cot_shim_write(const struct cot_shim_context *c, CUstream stream, CUdeviceptr at,
		   uint32_t value)
{
	if (c->mem_ops)
		return COT_REAL(cuStreamWriteValue32_v2)(stream, at, value, 0);
	return COT_REAL(cuMemsetD32Async)(at, value, 1, stream);
}

int cot_shim_read(struct cot_shim_slot *s)
{
	struct cot_shim_context *c = s->context;
	CUresult rc;

	pthread_mutex_lock(&c->submit);
	rc = COT_REAL(cuMemcpyDtoHAsync_v2)(&c->host[s->index], s->control, CONTROL_BYTES,
					    c->stream);
	pthread_mutex_unlock(&c->submit);
	return rc ? rc : COT_REAL(cuStreamSynchronize)(c->stream);
}

/*
 * The flag goes through the stream of the listener, which may write a larger one meanwhile: the
 * lock `submit` keeps the two in order.
 */
static int put_flag(struct cot_shim_slot *s, CUstream before)
{
	struct cot_shim_context *c = s->context;
	uint32_t flag;
	int rc;

	pthread_mutex_lock(&c->submit);
	pthread_mutex_lock(&cot_shim_lock);
	flag = s->flag | (s->anywhere ? COT_WORKERS_EVICT_ANYWHERE : 0);
	s->armed_flag = s->surplus;
	pthread_mutex_unlock(&cot_shim_lock);
	rc = cot_shim_write(c, c->stream, s->control + COT_WORKERS_EVICT_OFFSET, flag);
	if (!rc)
		rc = COT_REAL(cuEventRecord)(s->end, c->stream);
	pthread_mutex_unlock(&c->submit);
	if (!rc)
		rc = COT_REAL(cuStreamWaitEvent)(before, s->end, 0);
	return rc;
}

int cot_shim_slot_ready(struct cot_shim_slot *s, CUstream before)
{
	int rc = 0;

	if (s->armed != s->args.begun)
		rc = cot_shim_write(s->context, before, s->control, s->args.begun);
	s->armed = s->args.begun;
	return !rc && s->armed_flag != s->surplus ? put_flag(s, before) : rc;
}

int cot_shim_slot_reset(struct cot_shim_slot *s)
{
	static const size_t zero[] = {offsetof(struct cot_workers_control, evict),
				      offsetof(struct cot_workers_control, leaving),
				      offsetof(struct cot_workers_control, ended),
				      offsetof(struct cot_workers_control, come)};
	struct cot_shim_context *c = s->context;
	unsigned i;

	pthread_mutex_lock(&c->submit);
	s->armed_flag = 0;
	for (i = 0; i < COT_ARRAY_LEN(zero); i++)
		(void)cot_shim_write(c, c->stream, s->control + zero[i], 0);
	pthread_mutex_unlock(&c->submit);
	return COT_REAL(cuStreamSynchronize)(c->stream);
}

static void arm_one(const struct cot_shim_slot *s)
{
	static const size_t at[] = {offsetof(struct cot_workers_control, next),
				    offsetof(struct cot_workers_control, evict),
				    offsetof(struct cot_workers_control, leaving),
				    offsetof(struct cot_workers_control, done),
				    offsetof(struct cot_workers_control, ended),
				    offsetof(struct cot_workers_control, come)};
	const struct cot_shim_context *c = s->context;
	CUstreamBatchMemOpParams ops[COT_ARRAY_LEN(at)];
	unsigned i;

	memset(ops, 0, sizeof(ops));
	for (i = 0; i < COT_ARRAY_LEN(at); i++) {
		ops[i].value.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
		ops[i].value.address = s->control + at[i];
		ops[i].value.value = i == 0 ? s->armed : i == 1 ? s->armed_flag : 0;
	}
	if (c->mem_ops && !COT_REAL(cuStreamBatchMemOp_v2)(c->stream, COT_ARRAY_LEN(at), ops, 0))
		return;
	for (i = 0; i < COT_ARRAY_LEN(at); i++)
		(void)COT_REAL(cuMemsetD32Async)(ops[i].value.address, (uint32_t)ops[i].value.value,
						 1, c->stream);
}

void cot_shim_context_arm(struct cot_shim_context *c)
{
	struct cot_shim_slot *list, *s;

	/* Flags that were meant for the launches before are in the stream already. */
	pthread_mutex_lock(&c->submit);
	pthread_mutex_lock(&cot_shim_lock);
	list = c->to_arm;
	c->to_arm = NULL;
	pthread_mutex_unlock(&cot_shim_lock);
	for (s = list; s; s = s->next)
		arm_one(s);
	pthread_mutex_unlock(&c->submit);
	if (!list)
		return;
	(void)COT_REAL(cuStreamSynchronize)(c->stream);
	pthread_mutex_lock(&cot_shim_lock);
	while ((s = list)) {
		list = s->next;
		cot_shim_slot_give(s, false);
	}
	pthread_mutex_unlock(&cot_shim_lock);
}
