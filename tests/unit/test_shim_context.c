/*
 * What a context has for workers: control blocks and how they are made ready, and which streams are
 * known to be its own. The units are in a shared library, so their sources are here; the driver is
 * played.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "notes.h"
#include "shim/context.c"
#include "shim/take_context.c"

#define HANDLE(n) ((cot_cu_handle)(uintptr_t)(n))
#define FIRST	  HANDLE(0x100)
#define SECOND	  HANDLE(0x200)
#define STREAM	  HANDLE(0x310)
#define OURS	  HANDLE(0x999)
#define MEMORY	  0x10000u

struct cot_shim_settings cot_shim_settings;
_Atomic bool cot_shim_enabled = true;

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

static cot_cu_handle current, pushed;
static int capture_mode, device;
static bool has_mem_ops, has_batches, has_uuid;
static const char *fails; /* the name of a call that does */
static unsigned n_made;	  /* memory, streams: what is not given back */
static unsigned flags;
static struct cot_workers_control host_memory[COT_SHIM_SLOTS];
static void (*at_destroy)(cot_cu_handle stream);

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
	*least = 0;
	*greatest = -5;
	return 0;
}

static int stream_create(cot_cu_handle *stream, unsigned stream_flags, int priority)
{
	assert_int_equal(stream_flags, COT_CU_STREAM_NON_BLOCKING);
	assert_int_equal(priority, -5);
	if (result("stream"))
		return 2;
	*stream = OURS;
	n_made++;
	return 0;
}

static int mem_alloc(cot_cu_address *at, size_t bytes)
{
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

static int memset_words(cot_cu_address to, unsigned value, size_t n, cot_cu_handle stream)
{
	assert_ptr_equal(stream, OURS);
	if (n > 1) {
		assert_int_equal(n * 4, sizeof(host_memory));
		return result("memset");
	}
	note("set %llu=%u;", to - MEMORY, value);
	return 0;
}

static int write_word(cot_cu_handle stream, cot_cu_address at, uint32_t value, unsigned how)
{
	assert_ptr_equal(stream, OURS);
	assert_int_equal(how, 0);
	note("write %llu=%u;", at - MEMORY, value);
	return has_mem_ops ? 0 : 801;
}

static int batch(cot_cu_handle stream, unsigned n, union cot_cu_mem_op *ops, unsigned how)
{
	unsigned i;

	assert_ptr_equal(stream, OURS);
	assert_int_equal(how, 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(ops[i].operation, COT_CU_MEM_OP_WRITE_VALUE_32);
		note("%llu=%llu,", ops[i].write.address - MEMORY,
		     (unsigned long long)ops[i].write.value);
	}
	note("in one;");
	return has_batches ? 0 : 801;
}

static int synchronize(cot_cu_handle stream)
{
	assert_ptr_equal(stream, OURS);
	note("sync;");
	return result("sync");
}

static int mem_free(cot_cu_address at)
{
	assert_int_equal(at, MEMORY);
	n_made--;
	return 0;
}

static int mem_free_host(void *p)
{
	assert_ptr_equal(p, host_memory);
	n_made--;
	return 0;
}

static int stream_destroy(cot_cu_handle stream)
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
	return 0;
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
	assert_int_equal(what, COT_CU_DEVICE_SMS);
	assert_int_equal(of, device);
	assert_int_equal(capture_mode, COT_CU_CAPTURE_MODE_RELAXED);
	*value = fails && !strcmp(fails, "sms") ? 0 : 132;
	return 0;
}

static int get_current(cot_cu_handle *context)
{
	*context = current;
	return 0;
}

static int push_current(cot_cu_handle context)
{
	pushed = context;
	return 0;
}

static int pop_current(cot_cu_handle *context)
{
	*context = pushed;
	pushed = NULL;
	return 0;
}

static int copy_back(void *to, cot_cu_address from, size_t bytes, cot_cu_handle stream)
{
	assert_ptr_equal(stream, OURS);
	assert_int_equal(bytes, sizeof(host_memory[0]));
	note("copy %llu to %td;", from - MEMORY, (struct cot_workers_control *)to - host_memory);
	return result("copy");
}

static int context_ends(cot_cu_handle context)
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
static unsigned n_changes, n_closed_works;
static void (*at_wait)(void);

struct cot_shim_gpu *cot_shim_gpu_get(int which, uint32_t n_sms, const char *text)
{
	assert_int_equal(n_sms, 132);
	memcpy(uuids[which], text, COT_PROTO_NAME_MAX);
	gpus[which].device = which;
	return result("gpu") ? NULL : &gpus[which];
}

void cot_shim_works_close(const struct cot_shim_context *c)
{
	assert_true(c->closing);
	n_closed_works++;
}

void cot_shim_end_unmake(struct cot_shim_slot *s)
{
	s->end = NULL;
}

void cot_shim_changed(void)
{
	n_changes++;
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
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

/* ---- tests ---- */

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
	fails = NULL;
	n_made = n_changes = n_closed_works = flags = 0;
	at_destroy = NULL;
	at_wait = NULL;
	now_ns = COT_NS_PER_S;
	return 0;
}

static struct cot_shim_context *make_context(cot_cu_handle handle)
{
	struct cot_shim_context *c;

	current = handle;
	c = cot_shim_context_current();
	assert_non_null(c);
	assert_ptr_equal(c->handle, handle);
	written[0] = '\0';
	return c;
}

/* A stream of the highest priority, and memory; made once. */
static void a_context_is_made_once(void **state)
{
	struct cot_shim_context *c;

	(void)state;
	c = cot_shim_context_current();
	assert_non_null(c);
	expect_done("write 0=0;sync;");
	assert_int_equal(n_made, 3);
	assert_int_equal(capture_mode, 7);
	assert_ptr_equal(c->handle, FIRST);
	assert_ptr_equal(c->stream, OURS);
	assert_ptr_equal(c->gpu, &gpus[0]);
	assert_string_equal(uuids[0], "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
	assert_true(c->mem_ops && c->usable);
	assert_false(c->sleeps || c->making || c->closing);
	assert_int_equal(n_changes, 1);
	assert_ptr_equal(cot_shim_context_current(), c);
	assert_int_equal(n_made, 3);
	current = NULL;
	assert_null(cot_shim_context_current());
}

static void contexts_are_apart(void **state)
{
	struct cot_shim_context *first = make_context(FIRST), *second;

	(void)state;
	device = 1;
	has_uuid = false;
	flags = COT_CU_CTX_BLOCKING_SYNC;
	second = make_context(SECOND);
	assert_ptr_not_equal(first, second);
	assert_ptr_equal(second->gpu, &gpus[1]);
	assert_string_equal(uuids[1], "1");
	assert_true(second->sleeps);
	current = FIRST;
	assert_ptr_equal(cot_shim_context_current(), first);
}

/* Whatever fails: nothing stays, and the context is not tried again. */
static void what_cannot_be_made(void **state)
{
	static const char *const calls[] = {"device", "sms",	"stream", "memory",
					    "host",   "memset", "sync"};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(calls); i++) {
		set_up(state);
		fails = calls[i];
		assert_null(cot_shim_context_current());
		assert_int_equal(n_made, 0);
		assert_int_equal(capture_mode, 7);
		assert_int_equal(n_changes, 1);
		fails = NULL;
		assert_null(cot_shim_context_current());
		assert_int_equal(n_made, 0);
	}
	set_up(state);
	fails = "gpu";
	assert_null(cot_shim_context_current());
}

/* ---- control blocks ---- */

/* Every one has its own memory, and comes again when it is given back and ready. */
static void slots(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s;
	bool seen[COT_SHIM_SLOTS] = {false};
	unsigned i;

	(void)state;
	for (i = 0; i < COT_SHIM_SLOTS; i++) {
		s = cot_shim_slot_take(c, 5);
		assert_non_null(s);
		assert_ptr_equal(s, &c->slots[s->index]);
		assert_ptr_equal(s->context, c);
		assert_int_equal(s->control, MEMORY + s->index * sizeof(host_memory[0]));
		assert_int_equal(s->state, COT_SHIM_SLOT_TAKEN);
		assert_false(seen[s->index]);
		seen[s->index] = true;
		assert_int_equal(c->n_busy, i + 1);
	}
	assert_null(cot_shim_slot_take(c, 5));
	n_changes = 0;
	s->flag = 3;
	s->timed = true;
	cot_shim_slot_give(s, false);
	assert_int_equal(s->state, COT_SHIM_SLOT_FREE);
	assert_int_equal(n_changes, 1);
	assert_int_equal(c->n_busy, COT_SHIM_SLOTS - 1);
	assert_ptr_equal(cot_shim_slot_take(c, 5), s);
	assert_int_equal(s->flag, 0);
	assert_false(s->timed);
}

/* One that was used is made ready first: for its next launch, with no flags. */
static void slots_are_armed(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *a = cot_shim_slot_take(c, 5), *b = cot_shim_slot_take(c, 5);

	(void)state;
	a->armed = 24;
	b->armed = 12;
	a->work = b->work = (struct cot_shim_work *)(void *)c;
	cot_shim_slot_give(a, true);
	assert_int_equal(a->state, COT_SHIM_SLOT_ARMING);
	assert_null(a->work);
	assert_int_equal(c->n_busy, 2);
	cot_shim_context_arm(c);
	expect_done("0=24,128=0,132=0,256=0,260=0,in one;sync;");
	assert_int_equal(c->n_busy, 1);
	assert_int_equal(a->state, COT_SHIM_SLOT_FREE);
	/* One that is ready for the same is taken before others. */
	cot_shim_slot_give(b, true);
	cot_shim_context_arm(c);
	expect_done("384=12,512=0,516=0,640=0,644=0,in one;sync;");
	assert_ptr_equal(cot_shim_slot_take(c, 24), a);
	assert_ptr_equal(cot_shim_slot_take(c, 24), b);
	/* Nothing to do: nothing is done. */
	cot_shim_context_arm(c);
	expect_done("");
}

/* Drivers without writes in stream order, or without several at once. */
static void other_drivers(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s = cot_shim_slot_take(c, 5);

	(void)state;
	s->armed = 7;
	has_batches = false;
	cot_shim_slot_give(s, true);
	cot_shim_context_arm(c);
	expect_done("0=7,128=0,132=0,256=0,260=0,in one;"
		    "set 0=7;set 128=0;set 132=0;set 256=0;set 260=0;sync;");
	assert_int_equal(cot_shim_write(c, OURS, MEMORY + 128, 3), 0);
	expect_done("write 128=3;");
	has_mem_ops = false;
	c = make_context(SECOND);
	assert_false(c->mem_ops);
	assert_int_equal(cot_shim_write(c, OURS, MEMORY + 128, 3), 0);
	expect_done("set 128=3;");
	s = cot_shim_slot_take(c, 5);
	cot_shim_slot_give(s, true);
	cot_shim_context_arm(c);
	expect_done("set 0=0;set 128=0;set 132=0;set 256=0;set 260=0;sync;");
}

static void reads_back(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);
	struct cot_shim_slot *s;

	(void)state;
	(void)cot_shim_slot_take(c, 5);
	s = cot_shim_slot_take(c, 5);
	assert_int_equal(cot_shim_read(s), 0);
	expect_done("copy 384 to 1;sync;");
	fails = "copy";
	assert_int_equal(cot_shim_read(s), 2);
	expect_done("copy 384 to 1;");
	fails = "sync";
	assert_int_equal(cot_shim_read(s), 2);
}

/* ---- ends ---- */

static struct cot_shim_slot *held;

static void give_back(void)
{
	if (held)
		cot_shim_slot_give(held, false);
	held = NULL;
}

/* What the program ends waits until nobody uses it; then all is given back, and can be made anew.
 */
static void contexts_end(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	held = cot_shim_slot_take(c, 5);
	at_wait = give_back;
	assert_int_equal(cuCtxDestroy_v2(FIRST), 4);
	expect_done("context 0x100 ends;");
	assert_int_equal(now_ns, 2 * COT_NS_PER_S);
	assert_int_equal(n_closed_works, 1);
	assert_int_equal(n_made, 0);
	assert_null(pushed);
	assert_null(c->handle);
	assert_false(c->usable);
	assert_ptr_equal(make_context(SECOND), c);
	assert_int_equal(cuCtxDestroy(SECOND), 4);
	assert_int_equal(n_made, 0);
	(void)cuCtxDestroy(HANDLE(0x777));
	(void)cuCtxDestroy(NULL);
	assert_int_equal(n_closed_works, 2);
}

/* With a kernel that does not end, it does not wait for ever, and touches nothing. */
static void contexts_that_stay_busy(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	held = cot_shim_slot_take(c, 5);
	cot_shim_context_close(FIRST);
	assert_int_equal(now_ns, 6 * COT_NS_PER_S);
	assert_int_equal(n_made, 3);
	assert_ptr_equal(c->handle, FIRST);
	assert_null(cot_shim_context_current());
}

/* A device's own context goes with it, and no other device's. */
static void devices_end(void **state)
{
	static int (*const ends[])(int) = {cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2,
					   cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2};
	struct cot_shim_context *first, *second;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(ends); i++) {
		set_up(state);
		first = make_context(FIRST);
		device = 1;
		second = make_context(SECOND);
		assert_int_equal(ends[i](1), 5);
		expect_done("device 1 ends;");
		assert_true(first->usable);
		assert_ptr_equal(first->handle, FIRST);
		assert_false(second->usable);
		assert_null(second->handle);
		assert_int_equal(n_made, 3);
		assert_int_equal(ends[i](1), 5);
		assert_int_equal(n_closed_works, 1);
	}
}

/* Where nothing is asked for, nothing is done. */
static void switched_off(void **state)
{
	(void)state;
	make_context(FIRST);
	atomic_store(&cot_shim_enabled, false);
	assert_int_equal(cuCtxDestroy_v2(FIRST), 4);
	assert_int_equal(cuCtxDestroy(FIRST), 4);
	assert_int_equal(cuDevicePrimaryCtxRelease(0), 5);
	assert_int_equal(cuDevicePrimaryCtxReset(0), 5);
	assert_int_equal(cuDevicePrimaryCtxRelease_v2(0), 5);
	assert_int_equal(cuDevicePrimaryCtxReset_v2(0), 5);
	assert_int_equal(cuStreamDestroy(STREAM), 3);
	assert_int_equal(cuStreamDestroy_v2(STREAM), 3);
	assert_int_equal(n_closed_works, 0);
	atomic_store(&cot_shim_enabled, true);
}

/* Another thread is making it: this one waits for that, with a bound. */
static struct cot_shim_context *other;

static void made_by_the_other(void)
{
	other->making = false;
	other->usable = true;
}

static void made_by_another_thread(void **state)
{
	(void)state;
	other = make_context(FIRST);
	other->making = true;
	other->usable = false;
	at_wait = made_by_the_other;
	assert_ptr_equal(cot_shim_context_current(), other);
	assert_int_equal(now_ns, 2 * COT_NS_PER_S);
	other->making = true;
	other->usable = false;
	at_wait = NULL;
	assert_null(cot_shim_context_current());
	assert_int_equal(now_ns, 12 * COT_NS_PER_S);
}

/* ---- streams ---- */

static struct cot_shim_context *knows;

static void expect_forgotten(cot_cu_handle stream)
{
	assert_ptr_equal(stream, STREAM);
	assert_null(atomic_load(&knows->streams[1]));
	assert_int_equal(atomic_load(&knows->small), 0);
}

/*
 * A stream that was destroyed is known no more when the driver destroys it: the next one, in
 * another context maybe, has the same handle.
 */
static void streams_are_forgotten(void **state)
{
	static int (*const ends[])(cot_cu_handle) = {cuStreamDestroy, cuStreamDestroy_v2};
	unsigned i;

	for (i = 0; i < 2; i++) {
		set_up(state);
		make_context(FIRST);
		knows = make_context(SECOND);
		atomic_store(&knows->streams[1], STREAM);
		atomic_store(&knows->streams[2], HANDLE(0x320));
		atomic_store(&knows->small, (uintptr_t)STREAM);
		assert_int_equal(ends[i](HANDLE(0x330)), 3);
		assert_ptr_equal(atomic_load(&knows->streams[1]), STREAM);
		assert_int_equal(atomic_load(&knows->small), (uintptr_t)STREAM);
		at_destroy = expect_forgotten;
		assert_int_equal(ends[i](STREAM), 3);
		expect_forgotten(STREAM);
		assert_ptr_equal(atomic_load(&knows->streams[2]), HANDLE(0x320));
		/* Several streams stay several. */
		at_destroy = NULL;
		atomic_store(&knows->small, COT_SHIM_SMALL_ASKS);
		(void)ends[i](STREAM);
		assert_true(atomic_load(&knows->small) == COT_SHIM_SMALL_ASKS);
	}
}

/* A context that is made anew knows no stream. */
static void a_new_context_knows_none(void **state)
{
	struct cot_shim_context *c = make_context(FIRST);

	(void)state;
	atomic_store(&c->streams[0], STREAM);
	atomic_store(&c->streams[COT_SHIM_STREAMS - 1], STREAM);
	atomic_store(&c->small, 5);
	cot_shim_context_close(FIRST);
	assert_ptr_equal(make_context(FIRST), c);
	assert_null(atomic_load(&c->streams[0]));
	assert_null(atomic_load(&c->streams[COT_SHIM_STREAMS - 1]));
	assert_int_equal(atomic_load(&c->small), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_context_is_made_once, set_up),
		cmocka_unit_test_setup(contexts_are_apart, set_up),
		cmocka_unit_test_setup(what_cannot_be_made, set_up),
		cmocka_unit_test_setup(slots, set_up),
		cmocka_unit_test_setup(slots_are_armed, set_up),
		cmocka_unit_test_setup(other_drivers, set_up),
		cmocka_unit_test_setup(reads_back, set_up),
		cmocka_unit_test_setup(contexts_end, set_up),
		cmocka_unit_test_setup(contexts_that_stay_busy, set_up),
		cmocka_unit_test_setup(devices_end, set_up),
		cmocka_unit_test_setup(switched_off, set_up),
		cmocka_unit_test_setup(made_by_another_thread, set_up),
		cmocka_unit_test_setup(streams_are_forgotten, set_up),
		cmocka_unit_test_setup(a_new_context_knows_none, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, set_up);
}
