/*
 * Where what a context has for workers is tested: the driver and the rest of the shim are played.
 * The units are in a shared library, so their sources are here.
 */
#ifndef COT_TESTS_SHIM_CONTEXT_STAGE_H
#define COT_TESTS_SHIM_CONTEXT_STAGE_H

#include <stdlib.h>

#include "locked.h"
#include "no_memory.h"
#include "notes.h"
#include "test.h"
static bool has_memory;

static void *played_calloc(size_t n, size_t size)
{
	return has_memory ? calloc(n, size) : NULL;
}

#define calloc played_calloc
#include "guest/shim/context.c"
#undef calloc
#include "guest/shim/entry_context.c"
#include "no_parts.h"
#include "no_requests.h"

#define HANDLE(n) ((cot_shim_handle)(uintptr_t)(n))
#define FIRST	  HANDLE(0x100)
#define SECOND	  HANDLE(0x200)
#define STREAM	  HANDLE(0x310)
#define OURS	  HANDLE(0x999)
#define EVENT	  HANDLE(0x510)
#define MEMORY	  0x10000u

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_settings cot_shim_settings;
_Atomic int cot_shim_state = COT_SHIM_ON;

bool cot_shim_begin(void)
{
	return false;
}

/* What goes into our stream comes in one order. */
static bool somebody_submits(void)
{
	struct cot_shim_context *c = contexts;

	while (c && !is_locked(&c->submit))
		c = c->next;
	return c;
}

/* ---- the driver ---- */

#define REALS(X)                             \
	X(cuDeviceGetUuid_v2)                \
	X(cuCtxGetStreamPriorityRange)       \
	X(cuStreamCreateWithPriority)        \
	X(cuMemAlloc_v2)                     \
	X(cuMemAllocHost_v2)                 \
	X(cuMemsetD32Async)                  \
	X(cuStreamWriteValue32_v2)           \
	X(cuStreamBatchMemOp_v2)             \
	X(cuStreamWaitEvent)                 \
	X(cuEventRecord)                     \
	X(cuStreamSynchronize)               \
	X(cuMemFree_v2)                      \
	X(cuMemFreeHost)                     \
	X(cuStreamDestroy)                   \
	X(cuStreamDestroy_v2)                \
	X(cuCtxGetFlags)                     \
	X(cuThreadExchangeStreamCaptureMode) \
	X(cuCtxGetDevice)                    \
	X(cuDeviceGetAttribute)              \
	X(cuCtxGetCurrent)                   \
	X(cuCtxPushCurrent_v2)               \
	X(cuCtxPopCurrent_v2)                \
	X(cuMemcpyDtoHAsync_v2)              \
	X(cuCtxDestroy)                      \
	X(cuCtxDestroy_v2)                   \
	X(cuDevicePrimaryCtxRelease)         \
	X(cuDevicePrimaryCtxRelease_v2)      \
	X(cuDevicePrimaryCtxReset)           \
	X(cuDevicePrimaryCtxReset_v2)

#define X(name) void *cot_real_##name;
REALS(X)
#undef X
/* For what has a bound of memory only. */
void *cot_real_cuDevicePrimaryCtxGetState, *cot_real_cuDevicePrimaryCtxRetain;

static cot_shim_handle current, pushed;
static int capture_mode, device;
static bool has_mem_ops, has_batches, has_uuid;
static const char *fails; /* the name of a call that does */
static unsigned n_made;	  /* memory, streams: what is not given back */
static unsigned flags;
static struct cot_workers_control host_memory[COT_SHIM_SLOTS];
static int n_sms;
static cot_shim_handle freed_in; /* the context that was current */
static void (*at_destroy)(CUstream stream);

static int result(const char *name)
{
	return fails && !strcmp(fails, name) ? 2 : 0;
}

static int uuid(void *to, int of)
{
	unsigned i;

	assert_int_equal(of, device);
	for (i = 0; i < 16; i++)
		((unsigned char *)to)[i] = (unsigned char)(0xa0 + i);
	return !has_uuid;
}

static int priorities(int *least, int *greatest)
{
	const struct cot_shim_context *c = find(current);

	/* Others who come meanwhile wait. */
	assert_true(c->making);
	assert_false(c->usable || c->closing);
	*least = 0;
	*greatest = -5;
	return 0;
}

static int stream_create(CUstream *stream, unsigned stream_flags, int priority)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_int_equal(stream_flags, CU_STREAM_NON_BLOCKING);
	assert_int_equal(priority, -5);
	if (result("stream"))
		return 2;
	*stream = OURS;
	n_made++;
	return 0;
}

static int mem_alloc(CUdeviceptr *at, size_t bytes)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_int_equal(bytes, sizeof(host_memory));
	if (result("memory"))
		return 2;
	*at = MEMORY;
	n_made++;
	return 0;
}

static int mem_alloc_host(void **p, size_t bytes)
{
	assert_int_equal(bytes, sizeof(host_memory));
	if (result("host"))
		return 2;
	*p = host_memory;
	n_made++;
	return 0;
}

static int memset_words(CUdeviceptr to, unsigned value, size_t n, CUstream stream)
{
	assert_ptr_equal(stream, OURS);
	if (n > 1) {
		assert_int_equal(n * 4, sizeof(host_memory));
		return result("memset");
	}
	assert_int_equal(n, 1);
	note("set %llu=%u;", to - MEMORY, value);
	return 0;
}

static int write_word(CUstream stream, CUdeviceptr at, uint32_t value, unsigned how)
{
	assert_true(stream == OURS || stream == STREAM);
	assert_int_equal(how, 0);
	note("write %llu=%u%s;", at - MEMORY, value, stream == OURS ? "" : " there");
	return has_mem_ops ? result("write") : 801;
}

static int batch(CUstream stream, unsigned n, CUstreamBatchMemOpParams *ops, unsigned how)
{
	unsigned i;

	assert_true(somebody_submits());
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(stream, OURS);
	assert_int_equal(how, 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(ops[i].operation, CU_STREAM_MEM_OP_WRITE_VALUE_32);
		note("%llu=%llu,", ops[i].value.address - MEMORY,
		     (unsigned long long)ops[i].value.value);
	}
	note("in one;");
	return has_batches ? 0 : 801;
}

static int record(CUevent event, CUstream stream)
{
	assert_true(somebody_submits());
	assert_ptr_equal(event, EVENT);
	assert_ptr_equal(stream, OURS);
	note("record;");
	return result("record");
}

static int wait_event(CUstream stream, CUevent event, unsigned how)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(stream, STREAM);
	assert_ptr_equal(event, EVENT);
	assert_int_equal(how, 0);
	note("wait;");
	return result("wait");
}

static int synchronize(CUstream stream)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(stream, OURS);
	note("sync;");
	return result("sync");
}

static int mem_free(CUdeviceptr at)
{
	assert_int_equal(at, MEMORY);
	freed_in = pushed;
	n_made--;
	return 0;
}

static int mem_free_host(void *p)
{
	assert_ptr_equal(p, host_memory);
	n_made--;
	return 0;
}

static int stream_destroy(CUstream stream)
{
	if (stream == OURS)
		n_made--;
	else if (at_destroy)
		at_destroy(stream);
	return 3;
}

static int get_flags(unsigned *to)
{
	*to = flags;
	return result("flags");
}

static int exchange_mode(int *mode)
{
	int before = capture_mode;

	capture_mode = *mode;
	*mode = before;
	return 0;
}

static int get_device(int *to)
{
	*to = device;
	return result("device");
}

static int attribute(int *value, int what, int of)
{
	assert_int_equal(what, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	assert_int_equal(of, device);
	assert_int_equal(capture_mode, CU_STREAM_CAPTURE_MODE_RELAXED);
	*value = n_sms;
	return result("sms");
}

static int get_current(CUcontext *context)
{
	assert_false(is_locked(&cot_shim_lock));
	*context = current;
	return result("current");
}

static int push_current(CUcontext context)
{
	assert_false(is_locked(&cot_shim_lock));
	if (!result("push"))
		pushed = context;
	return result("push");
}

static int pop_current(CUcontext *context)
{
	*context = pushed;
	pushed = NULL;
	return 0;
}

static int copy_back(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	assert_true(somebody_submits());
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(stream, OURS);
	assert_int_equal(bytes, sizeof(host_memory[0]));
	note("copy %llu to %td;", from - MEMORY, (struct cot_workers_control *)to - host_memory);
	return result("copy");
}

static int context_ends(CUcontext context)
{
	note("context %#tx ends;", (intptr_t)context);
	return 4;
}

static int device_ends(int which)
{
	note("device %d ends;", which);
	return 5;
}

static void set_driver(void)
{
	void *const played[] = {
		(void *)(uintptr_t)uuid,	   (void *)(uintptr_t)priorities,
		(void *)(uintptr_t)stream_create,  (void *)(uintptr_t)mem_alloc,
		(void *)(uintptr_t)mem_alloc_host, (void *)(uintptr_t)memset_words,
		(void *)(uintptr_t)write_word,	   (void *)(uintptr_t)batch,
		(void *)(uintptr_t)wait_event,	   (void *)(uintptr_t)record,
		(void *)(uintptr_t)synchronize,	   (void *)(uintptr_t)mem_free,
		(void *)(uintptr_t)mem_free_host,  (void *)(uintptr_t)stream_destroy,
		(void *)(uintptr_t)stream_destroy, (void *)(uintptr_t)get_flags,
		(void *)(uintptr_t)exchange_mode,  (void *)(uintptr_t)get_device,
		(void *)(uintptr_t)attribute,	   (void *)(uintptr_t)get_current,
		(void *)(uintptr_t)push_current,   (void *)(uintptr_t)pop_current,
		(void *)(uintptr_t)copy_back,	   (void *)(uintptr_t)context_ends,
		(void *)(uintptr_t)context_ends,   (void *)(uintptr_t)device_ends,
		(void *)(uintptr_t)device_ends,	   (void *)(uintptr_t)device_ends,
		(void *)(uintptr_t)device_ends,
	};
	unsigned i = 0;

#define X(name) cot_real_##name = played[i++];
	REALS(X)
#undef X
	assert_int_equal(i, COT_ARRAY_LEN(played));
}

/* ---- the rest of the shim ---- */

static struct cot_shim_gpu gpus[2];
static char uuids[2][COT_PROTO_NAME_MAX];
static uint64_t now_ns;
static unsigned n_changes, n_closed_works, n_unmade;
static void (*at_wait)(void);

struct cot_shim_gpu *cot_shim_gpu_get(int which, uint32_t n, const char *text)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(n, n_sms);
	memcpy(uuids[which], text, COT_PROTO_NAME_MAX);
	gpus[which].device = which;
	return result("gpu") ? NULL : &gpus[which];
}

void cot_shim_works_close(const struct cot_shim_context *c)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_true(c->closing);
	n_closed_works++;
}

void cot_shim_end_unmake(struct cot_shim_slot *s)
{
	s->end = NULL;
	n_unmade++;
}

void cot_shim_changed(void)
{
	assert_true(is_locked(&cot_shim_lock));
	n_changes++;
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
	assert_true(is_locked(&cot_shim_lock));
	if (now_ns >= until_ns)
		return false;
	now_ns += COT_NS_PER_S;
	if (at_wait)
		at_wait();
	return true;
}

uint64_t cot_now_ns(void)
{
	return now_ns;
}

/* ---- set-up ---- */

static int set_up(void **state)
{
	struct cot_shim_context *c;

	(void)state;
	set_driver();
	while ((c = contexts)) {
		contexts = c->next;
		free(c);
	}
	written[0] = '\0';
	current = FIRST;
	capture_mode = 7;
	device = 0;
	has_mem_ops = has_batches = has_uuid = true;
	has_memory = true;
	fails = NULL;
	n_sms = 132;
	n_unmade = 0;
	freed_in = NULL;
	n_made = n_changes = n_closed_works = flags = 0;
	at_destroy = NULL;
	at_wait = NULL;
	now_ns = COT_NS_PER_S;
	return 0;
}

static struct cot_shim_context *make_context(cot_shim_handle handle)
{
	struct cot_shim_context *c;

	current = handle;
	c = cot_shim_context_current();
	assert_non_null(c);
	assert_ptr_equal(c->handle, handle);
	written[0] = '\0';
	return c;
}

#endif
