/*
 * A launch under the shim: when it is left as it is, how many workers it becomes, and what goes
 * into the program's stream. The unit is in a shared library, so its source is here; the driver and
 * the other units of the shim are played, and what they are asked for is written down.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "shim/launch.c"

#define HANDLE(n) ((cot_cu_handle)(uintptr_t)(n))
#define FUNCTION  HANDLE(0x100)
#define WORKERS	  HANDLE(0x200)
#define STREAM	  HANDLE(0x310)
#define CONTEXT	  HANDLE(0x400)
#define BEGIN	  HANDLE(0x500)
#define END	  HANDLE(0x600)
#define N_SMS	  10u

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_shim_settings cot_shim_settings;

/* ---- what was done ---- */

static char written[4096];

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	size_t n = strlen(written);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(written + n, sizeof(written) - n, fmt, ap);
	va_end(ap);
}

/* That, and nothing else since the last time. */
static void expect_done(const char *what)
{
	assert_string_equal(written, what);
	written[0] = '\0';
}

static const char *name(cot_cu_handle h)
{
	return h == STREAM		       ? "s"
	       : h == COT_CU_STREAM_LEGACY     ? "legacy"
	       : h == COT_CU_STREAM_PER_THREAD ? "thread"
	       : h == BEGIN		       ? "begin"
	       : h == END		       ? "end"
					       : "?";
}

/* ---- the driver ---- */

void *cot_real_cuOccupancyMaxActiveBlocksPerMultiprocessor, *cot_real_cuStreamIsCapturing,
	*cot_real_cuStreamGetCtx, *cot_real_cuLaunchKernel, *cot_real_cuLaunchKernelEx,
	*cot_real_cuEventRecord, *cot_real_cuStreamSynchronize;

static unsigned threads_per_sm, n_asked; /* occupancy */
static int capturing, launch_result;
static bool record_fails;
static cot_cu_handle context_of_stream;
static unsigned n_stream_asked;
static struct cot_workers_args launched; /* as the kernel would see them */
static unsigned char before_args[64];	 /* what lies before them in a buffer */

static int occupancy(int *n, cot_cu_handle function, int block_size, size_t shared_bytes)
{
	assert_ptr_equal(function, WORKERS);
	*n = (int)(threads_per_sm / (unsigned)block_size / (1 + (unsigned)shared_bytes / 1000));
	__atomic_fetch_add(&n_asked, 1, __ATOMIC_RELAXED);
	return 0;
}

static int is_capturing(cot_cu_handle stream, int *status)
{
	(void)stream;
	*status = capturing;
	return 0;
}

static int stream_context(cot_cu_handle stream, cot_cu_handle *context)
{
	(void)stream;
	n_stream_asked++;
	*context = context_of_stream;
	return 0;
}

static int launch_kernel(cot_cu_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			 unsigned block_x, unsigned block_y, unsigned block_z,
			 unsigned shared_bytes, cot_cu_handle stream, void **params, void **extra)
{
	assert_ptr_equal(function, WORKERS);
	assert_int_equal(grid_y * grid_z, 1);
	note("launch %u of %u,%u,%u+%u in %s", grid_x, block_x, block_y, block_z, shared_bytes,
	     name(stream));
	if (params) {
		assert_null(extra);
		memcpy(&launched, params[2], sizeof(launched));
		note(" with %d,%d;", *(int *)params[0], *(int *)params[1]);
	} else {
		size_t size = *(size_t *)extra[3];

		assert_ptr_equal(extra[0], COT_CU_PARAM_BUFFER_POINTER);
		assert_ptr_equal(extra[2], COT_CU_PARAM_BUFFER_SIZE);
		assert_ptr_equal(extra[4], COT_CU_PARAM_END);
		memcpy(before_args, extra[1], size - sizeof(launched));
		memcpy(&launched, (char *)extra[1] + size - sizeof(launched), sizeof(launched));
		note(" from %zu bytes;", size - sizeof(launched));
	}
	return launch_result;
}

static int launch_kernel_ex(const struct cot_cu_launch *c, cot_cu_handle function, void **params,
			    void **extra)
{
	assert_int_equal(c->n_attributes, 1);
	note("ex ");
	return launch_kernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
			     c->block[2], c->shared_bytes, c->stream, params, extra);
}

static int event_record(cot_cu_handle event, cot_cu_handle stream)
{
	note("record %s in %s;", name(event), name(stream));
	return record_fails;
}

static int stream_synchronize(cot_cu_handle stream)
{
	note("sync %s;", name(stream));
	return 0;
}

/* ---- the rest of the shim ---- */

static struct cot_shim_kernel kernel;
static struct cot_shim_ref ref;
static struct cot_shim_gpu gpu;
static struct cot_shim_context context;
static struct cot_shim_work work;
static struct cot_shim_slot slot;
static struct cot_workers_control host_copy;
static struct cot_shim_need needed; /* as it was asked for */
static uint64_t now_ns;
static bool has_context, has_work, timed;
static unsigned n_slots_missing; /* waits before there is one */
static enum cot_shim_why why_not, counted;
static unsigned n_counted_workers, n_greetings;

/* What happens while the launch waits for its end, for a slot, or for a grant. */
static void (*at_end)(void), (*at_wait)(void);
static bool regrant_result;

struct cot_shim_ref *cot_shim_code_ref(cot_cu_handle handle)
{
	return handle == FUNCTION ? &ref : NULL;
}

void cot_shim_count_plain(enum cot_shim_why why)
{
	counted = why;
}

void cot_shim_count_workers(void)
{
	n_counted_workers++;
}

struct cot_shim_context *cot_shim_context_current(void)
{
	return has_context ? &context : NULL;
}

struct cot_shim_work *cot_shim_work_get(struct cot_shim_context *c,
					const struct cot_shim_need *need,
					enum cot_shim_why *ret_why)
{
	assert_ptr_equal(c, &context);
	needed = *need;
	*ret_why = why_not;
	return has_work ? &work : NULL;
}

void cot_shim_work_put(struct cot_shim_work *w)
{
	assert_ptr_equal(w, &work);
	note("put;");
}

bool cot_shim_work_regrant(struct cot_shim_work *w, uint32_t left)
{
	assert_ptr_equal(w, &work);
	note("regrant %u;", left);
	if (at_wait)
		at_wait();
	return regrant_result;
}

void cot_shim_gpu_want(struct cot_shim_gpu *g)
{
	assert_ptr_equal(g, &gpu);
	n_greetings++;
}

struct cot_shim_slot *cot_shim_slot_take(struct cot_shim_context *c, uint32_t next)
{
	assert_ptr_equal(c, &context);
	note("slot for %u;", next);
	return n_slots_missing ? NULL : &slot;
}

void cot_shim_slot_give(struct cot_shim_slot *s, bool used)
{
	assert_ptr_equal(s, &slot);
	note("give %s slot;", used ? "used" : "unused");
}

int cot_shim_write(const struct cot_shim_context *c, cot_cu_handle stream, cot_cu_address at,
		   uint32_t value)
{
	assert_ptr_equal(c, &context);
	note("write %u at %llu in %s;", value, at - slot.control,
	     stream == context.stream ? "ours" : name(stream));
	return 0;
}

int cot_shim_read(struct cot_shim_slot *s)
{
	assert_ptr_equal(s, &slot);
	note("read;");
	return 0;
}

int cot_shim_end_make(struct cot_shim_slot *s)
{
	s->begin = BEGIN;
	s->end = END;
	return 0;
}

bool cot_shim_end_is_timed(const struct cot_shim_slot *s)
{
	(void)s;
	return timed;
}

void cot_shim_end_wait(const struct cot_shim_slot *s)
{
	assert_ptr_equal(s, &slot);
	note("await;");
	if (at_end)
		at_end();
}

bool cot_shim_runtime_start(void)
{
	return true;
}

void cot_shim_runtime_watch(struct cot_shim_slot *s)
{
	note("watch;");
	s->state = COT_SHIM_SLOT_RUNNING;
}

void cot_shim_runtime_pause(struct cot_shim_slot *s, uint32_t left)
{
	assert_int_equal(s->state, COT_SHIM_SLOT_HELD);
	note("pause %u;", left);
}

void cot_shim_runtime_ended(struct cot_shim_slot *s)
{
	assert_int_equal(s->state, COT_SHIM_SLOT_HELD);
	note("ended;");
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
	if (now_ns >= until_ns)
		return false;
	now_ns += COT_NS_PER_S / 2;
	if (n_slots_missing)
		n_slots_missing--;
	if (at_wait)
		at_wait();
	return true;
}

uint64_t cot_now_ns(void)
{
	return now_ns;
}

/* ---- the program ---- */

static struct cot_cu_launch_attribute attributes[2];
static struct cot_cu_launch config;
static bool per_thread, with_attributes;
static int plain_result; /* the driver's */
static int numbers[2] = {11, 22};
static void *params[] = {&numbers[0], &numbers[1]};

static int as_it_is(void *arg)
{
	assert_ptr_equal(arg, &config);
	note("plain;");
	return plain_result;
}

static int launch(void)
{
	counted = COT_SHIM_N_WHYS;
	return cot_shim_launch(FUNCTION, &config, per_thread, with_attributes, params, NULL,
			       as_it_is, &config);
}

static void expect_plain(enum cot_shim_why why)
{
	plain_result = 7;
	assert_int_equal(launch(), 7);
	plain_result = 0;
	assert_int_equal(counted, why);
	expect_done("plain;");
}

#define REAL(name, played) cot_real_##name = (void *)(uintptr_t)(played)

static void set_driver(void)
{
	REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancy);
	REAL(cuStreamIsCapturing, is_capturing);
	REAL(cuStreamGetCtx, stream_context);
	REAL(cuLaunchKernel, launch_kernel);
	REAL(cuLaunchKernelEx, launch_kernel_ex);
	REAL(cuEventRecord, event_record);
	REAL(cuStreamSynchronize, stream_synchronize);
	threads_per_sm = 2048;
	n_asked = n_stream_asked = 0;
	capturing = launch_result = 0;
	record_fails = false;
	context_of_stream = CONTEXT;
}

/* 100 blocks of 512 threads: 4 fit an SM. 3 CapSMs are granted: 12 workers. */
static int set_up(void **state)
{
	(void)state;
	set_driver();
	written[0] = '\0';
	kernel = (struct cot_shim_kernel){.n_params = 2, .args_at = 16};
	ref = (struct cot_shim_ref){.handle = FUNCTION, .kernel = &kernel, .workers = WORKERS};
	gpu = (struct cot_shim_gpu){.n_sms = N_SMS};
	memset(&context, 0, sizeof(context));
	context.handle = CONTEXT;
	context.gpu = &gpu;
	context.usable = true;
	context.stream = HANDLE(0x999);
	context.host = &host_copy;
	work = (struct cot_shim_work){
		.state = COT_SHIM_WORK_GRANTED, .gpu = &gpu, .capsms = 3, .n_users = 1};
	slot = (struct cot_shim_slot){.context = &context, .control = 0x8000};
	now_ns = COT_NS_PER_S;
	has_context = has_work = regrant_result = true;
	timed = false;
	n_slots_missing = n_counted_workers = n_greetings = 0;
	cot_shim_settings = (struct cot_shim_settings){.common = {.class_ = COT_PROTO_BATCH}};
	at_end = at_wait = NULL;
	config =
		(struct cot_cu_launch){.grid = {100, 1, 1}, .block = {512, 1, 1}, .stream = STREAM};
	memset(attributes, 0, sizeof(attributes));
	per_thread = with_attributes = false;
	plain_result = 0;
	return 0;
}

/* ---- how many workers fit an SM ---- */

static uint32_t per_sm_of(unsigned x, unsigned y, unsigned z, unsigned shared_bytes)
{
	config.block[0] = x;
	config.block[1] = y;
	config.block[2] = z;
	config.shared_bytes = shared_bytes;
	(void)launch();
	written[0] = '\0';
	return counted == COT_SHIM_N_WHYS ? needed.per_sm : 0;
}

/* Each shape has its own count: of threads, in three dimensions, and of shared memory. */
static void shapes_are_apart(void **state)
{
	(void)state;
	assert_int_equal(per_sm_of(64, 1, 1, 0), 32);
	assert_int_equal(per_sm_of(1024, 1, 1, 0), 2);
	assert_int_equal(per_sm_of(64, 1, 1, 0), 32);
	assert_int_equal(per_sm_of(8, 8, 4, 0), 8);
	assert_int_equal(per_sm_of(8, 8, 8, 0), 4);
	assert_int_equal(per_sm_of(8, 8, 4, 1000), 4);
	assert_int_equal(per_sm_of(8, 8, 4, 3000), 2);
	assert_int_equal(n_asked, 7);
}

/* The driver is asked once for launches of the same shape. */
static void a_shape_is_known(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 5; i++)
		assert_int_equal(per_sm_of(8, 8, 4, 1000), 4);
	assert_int_equal(n_asked, 1);
}

/* What fits none, or more than may be, is left as it is; and so are blocks that cannot be. */
static void what_does_not_fit(void **state)
{
	(void)state;
	threads_per_sm = 1023;
	assert_int_equal(per_sm_of(1024, 1, 1, 0), 0);
	expect_plain(COT_SHIM_WHY_NO_ROOM);
	assert_int_equal(per_sm_of(1023, 1, 1, 0), 1);
	threads_per_sm = 64 * COT_PROTO_PER_SM_MAX;
	config.grid[0] = 1000;
	assert_int_equal(per_sm_of(64, 1, 1, 0), COT_PROTO_PER_SM_MAX);
	threads_per_sm = 32 * (COT_PROTO_PER_SM_MAX + 1);
	assert_int_equal(per_sm_of(32, 1, 1, 0), 0);
	n_asked = 0;
	assert_int_equal(per_sm_of(1025, 1, 1, 0), 0);
	assert_int_equal(per_sm_of(1, 0, 1, 0), 0);
	assert_int_equal(n_asked, 0);
}

#define N_HAMMERS 4u
#define N_BLOWS	  300000u

static _Atomic unsigned n_wrong;

/* Two shapes in turn; of 64 threads 32 fit, of 1024 threads 2. */
static void *hammer(void *arg)
{
	struct cot_cu_launch shapes[2] = {{.block = {64, 1, 1}}, {.block = {1024, 1, 1}}};
	struct launch l = {.ref = &ref, .workers = WORKERS};
	unsigned i, which = (unsigned)(uintptr_t)arg;

	for (i = 0; i < N_BLOWS; i++) {
		which ^= i % 3 == 0;
		l.config = &shapes[which % 2];
		if (find_per_sm(&l) != (which % 2 ? 2u : 32u))
			atomic_fetch_add(&n_wrong, 1);
	}
	return NULL;
}

/* Threads that launch the kernel in two shapes never find one with the other's count. */
static void threads_and_shapes(void **state)
{
	pthread_t threads[N_HAMMERS];
	unsigned i;

	(void)state;
	atomic_store(&n_wrong, 0);
	for (i = 0; i < N_HAMMERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, (void *)(uintptr_t)i),
				 0);
	for (i = 0; i < N_HAMMERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&n_wrong), 0);
}

/* ---- what goes into the stream ---- */

static void workers_for_what_is_granted(void **state)
{
	(void)state;
	slot.armed = 24;
	assert_int_equal(launch(), 0);
	expect_done("slot for 24;launch 12 of 512,1,1+0 in s with 11,22;record end in s;watch;");
	assert_int_equal(needed.n_tasks, 100);
	assert_int_equal(needed.per_sm, 4);
	assert_ptr_equal(needed.stream, STREAM);
	assert_int_equal(needed.thread, 0);
	assert_int_equal(launched.n_workers, 12);
	assert_int_equal(launched.n_tasks, 100);
	assert_int_equal(launched.n_sms, N_SMS);
	assert_true(launched.control == slot.control);
	assert_int_equal(slot.n_units, 3);
	assert_ptr_equal(slot.work, &work);
	assert_ptr_equal(slot.ref, &ref);
	assert_ptr_equal(slot.handle, FUNCTION);
	assert_false(slot.original || slot.settled || slot.timed || slot.anywhere);
	assert_int_equal(slot.state, COT_SHIM_SLOT_RUNNING);
	assert_int_equal(n_counted_workers, 1);
}

/* ---- small launches ---- */

static void launch_small(cot_cu_handle stream, bool unasked)
{
	config.grid[0] = 3;
	config.stream = stream;
	assert_int_equal(launch(), 0);
	assert_int_equal(counted, unasked ? COT_SHIM_WHY_SMALL : COT_SHIM_N_WHYS);
	written[0] = '\0';
}

/* In one stream they have one SM at most; in several, each asks, also in the first one. */
static void small_launches_in_streams(void **state)
{
	(void)state;
	launch_small(STREAM, true);
	launch_small(STREAM, true);
	launch_small(HANDLE(0x320), false);
	assert_int_equal(needed.n_tasks, 3);
	assert_ptr_equal(needed.stream, HANDLE(0x320));
	assert_true(slot.original);
	launch_small(STREAM, false);
	launch_small(STREAM, false);
}

/* The default stream of each thread is a stream of its own. */
static void small_launches_in_threads(void **state)
{
	(void)state;
	per_thread = true;
	launch_small(NULL, true);
	launch_small(NULL, true);
	launch_small(STREAM, false);
}

static void small_launches_of_latency_programs(void **state)
{
	(void)state;
	cot_shim_settings.common.class_ = COT_PROTO_LATENCY;
	launch_small(STREAM, true);
	launch_small(HANDLE(0x320), true);
	cot_shim_settings.quota = 50;
	launch_small(STREAM, true);
	launch_small(HANDLE(0x320), false);
}

/* As many blocks as fit one SM are small, one more is not. */
static void what_is_small(void **state)
{
	(void)state;
	config.grid[0] = 2;
	config.grid[1] = 2;
	expect_plain(COT_SHIM_WHY_SMALL);
	config.grid[0] = 5;
	config.grid[1] = 1;
	assert_int_equal(launch(), 0);
	assert_int_equal(needed.n_tasks, 5);
}

/* ---- what the daemon is told ---- */

/* It hears once of a kernel whose launches stay as they are. */
static void the_daemon_hears_of_plain_launches(void **state)
{
	(void)state;
	assert_int_equal(launch(), 0);
	written[0] = '\0';
	assert_int_equal(n_greetings, 0);
	config.grid[0] = 3;
	expect_plain(COT_SHIM_WHY_SMALL);
	expect_plain(COT_SHIM_WHY_SMALL);
	assert_int_equal(n_greetings, 1);
}

/* The same of a program that has no kernel of which there are workers. */
static void the_daemon_hears_of_foreign_kernels(void **state)
{
	(void)state;
	ref.kernel = NULL;
	expect_plain(COT_SHIM_N_WHYS);
	expect_plain(COT_SHIM_N_WHYS);
	assert_int_equal(n_greetings, 1);
}

/* Not while a graph is recorded, and not of a context that cannot be used. */
static void nobody_is_told(void **state)
{
	(void)state;
	capturing = 1;
	expect_plain(COT_SHIM_WHY_CAPTURED);
	capturing = 0;
	assert_int_equal(n_greetings, 0);
	config.grid[0] = 3;
	expect_plain(COT_SHIM_WHY_SMALL);
	assert_int_equal(n_greetings, 1);
	ref.told = false;
	context.closing = true;
	expect_plain(COT_SHIM_WHY_SMALL);
	ref.told = false;
	context.closing = false;
	context.usable = false;
	expect_plain(COT_SHIM_WHY_SMALL);
	ref.told = false;
	has_context = false;
	expect_plain(COT_SHIM_WHY_CONTEXT);
	assert_int_equal(n_greetings, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(shapes_are_apart, set_up),
		cmocka_unit_test_setup(a_shape_is_known, set_up),
		cmocka_unit_test_setup(what_does_not_fit, set_up),
		cmocka_unit_test_setup(threads_and_shapes, set_up),
		cmocka_unit_test_setup(workers_for_what_is_granted, set_up),
		cmocka_unit_test_setup(small_launches_in_streams, set_up),
		cmocka_unit_test_setup(small_launches_in_threads, set_up),
		cmocka_unit_test_setup(small_launches_of_latency_programs, set_up),
		cmocka_unit_test_setup(what_is_small, set_up),
		cmocka_unit_test_setup(the_daemon_hears_of_plain_launches, set_up),
		cmocka_unit_test_setup(the_daemon_hears_of_foreign_kernels, set_up),
		cmocka_unit_test_setup(nobody_is_told, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
