/*
 * Where launches under the shim are tested: the unit, the driver, which is played, and so are the
 * other units of the shim; what they are asked for is written down. The unit is in a shared
 * library, so its source is here.
 */
#ifndef COT_TESTS_SHIM_LAUNCH_STAGE_H
#define COT_TESTS_SHIM_LAUNCH_STAGE_H

#include <stdlib.h>

#include "locked.h"
#include "notes.h"
#include "test.h"
static size_t asked_bytes; /* of the last allocation */
static int n_held;	   /* not given back yet */

static void *played_malloc(size_t size)
{
	asked_bytes = size;
	n_held++;
	return malloc(size);
}

static void played_free(void *p)
{
	n_held -= p != NULL;
	free(p);
}

#define malloc played_malloc
#define free   played_free
#include "guest/shim/attributes.c"
#include "guest/shim/launch.c"
#undef malloc
#undef free

#define HANDLE(n) ((cot_shim_handle)(uintptr_t)(n))
#define FUNCTION  HANDLE(0x100)
#define WORKERS	  HANDLE(0x200)
#define STREAM	  HANDLE(0x310)
#define CONTEXT	  HANDLE(0x400)
#define BEGIN	  HANDLE(0x500)
#define END	  HANDLE(0x600)
#define N_SMS	  10u

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_settings cot_shim_settings;

static const char *name(cot_shim_handle h)
{
	return h == STREAM		   ? "s"
	       : h == CU_STREAM_LEGACY	   ? "legacy"
	       : h == CU_STREAM_PER_THREAD ? "thread"
	       : h == BEGIN		   ? "begin"
	       : h == END		   ? "end"
					   : "?";
}

static struct cot_shim_said said; /* of all streams */

struct cot_shim_said cot_shim_share_of(CUstream stream)
{
	(void)stream;
	return said;
}

/* ---- the driver ---- */

void *cot_real_cuOccupancyMaxActiveBlocksPerMultiprocessor, *cot_real_cuStreamIsCapturing,
	*cot_real_cuStreamGetCtx, *cot_real_cuFuncGetName, *cot_real_cuLaunchKernel,
	*cot_real_cuLaunchKernelEx, *cot_real_cuEventRecord, *cot_real_cuStreamSynchronize;

static unsigned threads_per_sm, n_asked; /* occupancy */
static int capturing, launch_result;
static const char *fails; /* the name of another call that does */
static struct cot_shim_kernel kernel;
static struct cot_shim_slot slot;
static bool record_fails;
static cot_shim_handle context_of_stream;
static unsigned n_stream_asked;
static struct cot_workers_args launched;    /* as the kernel would see them */
static unsigned char before_args[ARGS_MAX]; /* what lies before them in a buffer */

static int result(const char *call)
{
	return fails && !strcmp(fails, call) ? 2 : 0;
}

static int occupancy(int *n, cot_shim_handle function, int block_size, size_t shared_bytes)
{
	assert_ptr_equal(function, WORKERS);
	*n = (int)(threads_per_sm / (unsigned)block_size / (1 + (unsigned)shared_bytes / 1000));
	__atomic_fetch_add(&n_asked, 1, __ATOMIC_RELAXED);
	return result("occupancy");
}

static int is_capturing(CUstream stream, int *status)
{
	(void)stream;
	*status = capturing;
	return result("capturing");
}

static int stream_context(CUstream stream, CUcontext *context)
{
	(void)stream;
	n_stream_asked++;
	*context = context_of_stream;
	return result("stream context");
}

static int function_name(const char **ret_name, CUfunction function)
{
	assert_ptr_equal(function, WORKERS);
	*ret_name = "by hand";
	return result("name");
}

static int launch_kernel(cot_shim_handle function, unsigned grid_x, unsigned grid_y,
			 unsigned grid_z, unsigned block_x, unsigned block_y, unsigned block_z,
			 unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(function, WORKERS);
	assert_int_equal(grid_y * grid_z, 1);
	assert_int_equal(slot.state, COT_SHIM_SLOT_TAKEN);
	note("launch %u of %u,%u,%u+%u in %s", grid_x, block_x, block_y, block_z, shared_bytes,
	     name(stream));
	if (params) {
		assert_null(extra);
		uint32_t n = kernel.n_params;

		memcpy(&launched, params[n], sizeof(launched));
		if (n)
			note(" with %d,%d;", *(int *)params[0], *(int *)params[n - 1]);
		else
			note(" without;");
	} else {
		size_t size = *(size_t *)extra[3];

		assert_ptr_equal(extra[0], CU_LAUNCH_PARAM_BUFFER_POINTER);
		assert_ptr_equal(extra[2], CU_LAUNCH_PARAM_BUFFER_SIZE);
		assert_ptr_equal(extra[4], CU_LAUNCH_PARAM_END);
		memcpy(before_args, extra[1], size - sizeof(launched));
		memcpy(&launched, (char *)extra[1] + size - sizeof(launched), sizeof(launched));
		note(" from %zu bytes;", size - sizeof(launched));
	}
	return launch_result;
}

static int launch_kernel_ex(const CUlaunchConfig *c, cot_shim_handle function, void **params,
			    void **extra)
{
	assert_int_equal(c->numAttrs, 1);
	note("ex ");
	return launch_kernel(function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
			     c->block[2], c->sharedMemBytes, c->hStream, params, extra);
}

static int event_record(CUevent event, CUstream stream)
{
	assert_false(is_locked(&cot_shim_lock));
	note("record %s in %s;", name(event), name(stream));
	return record_fails;
}

static int stream_synchronize(CUstream stream)
{
	assert_false(is_locked(&cot_shim_lock));
	note("sync %s;", name(stream));
	return result("sync");
}

/* ---- the rest of the shim ---- */

_Atomic uint32_t cot_shim_parts_live;
static struct cot_shim_stream virtual_stream;
static bool in_turn;
static char its_name[] = "kernel";
static struct cot_shim_ref ref;
static struct cot_shim_gpu gpu;
static struct cot_shim_context context;
static struct cot_shim_work work;
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

struct cot_shim_ref *cot_shim_code_ref(cot_shim_handle handle)
{
	return handle == FUNCTION || handle == WORKERS ? &ref : NULL;
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
	assert_false(is_locked(&cot_shim_lock));
	return has_context ? &context : NULL;
}

struct cot_shim_work *cot_shim_work_get(struct cot_shim_context *c,
					const struct cot_shim_need *need,
					enum cot_shim_why *ret_why)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(c, &context);
	needed = *need;
	if (!has_work)
		*ret_why = why_not;
	return has_work ? &work : NULL;
}

void cot_shim_work_put(struct cot_shim_work *w)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(w, &work);
	note("put;");
}

bool cot_shim_work_regrant(struct cot_shim_work *w, uint32_t left)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(w, &work);
	note("regrant %u;", left);
	if (at_wait)
		at_wait();
	return regrant_result;
}

void cot_shim_gpu_want(struct cot_shim_gpu *g)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(g, &gpu);
	n_greetings++;
}

struct cot_shim_slot *cot_shim_slot_take(struct cot_shim_context *c,
					 const struct cot_workers_control *armed_for)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(c, &context);
	note("slot for %u;", armed_for->next);
	if (armed_for->evict)
		note("to evict %u;", armed_for->evict);
	return n_slots_missing ? NULL : &slot;
}

void cot_shim_slot_give(struct cot_shim_slot *s, bool used)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_ptr_equal(s, &slot);
	note("give %s slot;", used ? "used" : "unused");
}

int cot_shim_slot_ready(struct cot_shim_slot *s, CUstream before)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(s, &slot);
	assert_ptr_equal(s->end, END);
	if (s->armed != s->args.begun)
		note("write %u at 0 in %s;", s->args.begun, name(before));
	s->armed = s->args.begun;
	if (s->surplus)
		note("%u leave at once;", s->surplus);
	return result("write");
}

int cot_shim_slot_reset(struct cot_shim_slot *s)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(s, &slot);
	note("reset;");
	return result("reset");
}

int cot_shim_read(struct cot_shim_slot *s)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(s, &slot);
	note("read;");
	return result("read");
}

int cot_shim_end_make(struct cot_shim_slot *s)
{
	s->begin = BEGIN;
	s->end = END;
	return result("events");
}

bool cot_shim_end_is_timed(const struct cot_shim_slot *s)
{
	(void)s;
	return timed;
}

void cot_shim_end_wait(const struct cot_shim_slot *s)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(s, &slot);
	note("await;");
	if (at_end)
		at_end();
}

bool cot_shim_runtime_start(void)
{
	assert_true(is_locked(&cot_shim_lock));
	return !result("start");
}

void cot_shim_runtime_watch(struct cot_shim_slot *s)
{
	assert_true(is_locked(&cot_shim_lock));
	note("watch;");
	s->state = COT_SHIM_SLOT_RUNNING;
}

void cot_shim_runtime_pause(struct cot_shim_slot *s, uint32_t left)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(s->state, COT_SHIM_SLOT_HELD);
	note("pause %u;", left);
}

void cot_shim_runtime_ended(struct cot_shim_slot *s)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_not_equal(s->state, COT_SHIM_SLOT_RUNNING);
	note("ended;");
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
	assert_true(is_locked(&cot_shim_lock));
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

static CUlaunchAttribute attributes[2];
static CUlaunchConfig config;
static bool per_thread, with_attributes;
static int plain_result; /* the driver's */
static int numbers[2] = {11, 22};
static void *params[] = {&numbers[0], &numbers[1]};

int cot_shim_original_launch(const struct cot_shim_original *o)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_ptr_equal(o->config, &config);
	assert_int_equal(in_turn, atomic_load(&cot_shim_parts_live) != COT_SHIM_PLAIN);
	note("own;");
	return plain_result;
}

struct cot_shim_stream *cot_shim_stream_find(CUstream stream, bool on_thread)
{
	assert_ptr_equal(stream, config.hStream);
	assert_int_equal(on_thread, per_thread);
	return &virtual_stream;
}

void cot_shim_hold_wait(struct cot_shim_stream *s)
{
	assert_false(in_turn || is_locked(&cot_shim_lock));
	assert_ptr_equal(s, &virtual_stream);
	note("hold;");
}

/* Left as it is: on the program's part, if it has one. */
int cot_shim_part_launch(const struct cot_shim_original *o)
{
	assert_false(is_locked(&cot_shim_lock));
	assert_false(in_turn);
	assert_ptr_equal(o->config, &config);
	note("plain;");
	return plain_result;
}

void cot_shim_turn_enter_home(struct cot_shim_turn *t, CUstream stream, bool per_thread_)
{
	assert_true(stream == config.hStream && per_thread_ == per_thread);
	assert_false(in_turn);
	in_turn = true;
	t->stream = &virtual_stream;
	note("go home;");
}

void cot_shim_turn_leave(struct cot_shim_turn *t)
{
	assert_ptr_equal(t->stream, &virtual_stream);
	assert_true(in_turn);
	in_turn = false;
	note("leave;");
}

static int launch_with_arguments(void **given_params, void **extra)
{
	struct cot_shim_original o = {FUNCTION,	  &config,	   given_params, extra,
				      per_thread, with_attributes, false};

	counted = COT_SHIM_WHY_NOT;
	return cot_shim_launch(&o);
}

static int launch(void)
{
	return launch_with_arguments(params, NULL);
}

static inline void expect_plain(enum cot_shim_why why)
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
	REAL(cuFuncGetName, function_name);
	threads_per_sm = 2048;
	n_asked = n_stream_asked = 0;
	capturing = launch_result = 0;
	record_fails = false;
	fails = NULL;
	context_of_stream = CONTEXT;
}

/* 100 blocks of 512 threads: 4 fit an SM. 3 CapSMs are granted: 12 workers. */
static int set_up(void **state)
{
	(void)state;
	set_driver();
	cot_shim_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER; /* a test may have failed */
	written[0] = '\0';
	atomic_store(&cot_shim_parts_live, COT_SHIM_PLAIN);
	in_turn = false;
	kernel = (struct cot_shim_kernel){.name = its_name, .n_params = 2, .args_at = 16};
	ref = (struct cot_shim_ref){.handle = FUNCTION, .kernel = &kernel, .workers = WORKERS};
	gpu = (struct cot_shim_gpu){.n_sms = N_SMS};
	memset(&context, 0, sizeof(context));
	context.handle = CONTEXT;
	context.gpu = &gpu;
	context.usable = true;
	context.stream = HANDLE(0x999);
	context.host = &host_copy;
	work = (struct cot_shim_work){.flags = COT_WORK_WHOLE_SMS,
				      .state = COT_SHIM_WORK_GRANTED,
				      .gpu = &gpu,
				      .capsms = 3,
				      .n_users = 1};
	slot = (struct cot_shim_slot){.context = &context,
				      .state = COT_SHIM_SLOT_TAKEN,
				      .control = 0x8000,
				      .flag = 1,
				      .anywhere = true};
	n_held = 0;
	now_ns = COT_NS_PER_S;
	has_context = has_work = regrant_result = true;
	timed = false;
	n_slots_missing = n_counted_workers = n_greetings = 0;
	cot_shim_settings = (struct cot_settings){.class_ = COT_CLASS_BATCH};
	at_end = at_wait = NULL;
	said = (struct cot_shim_said){0};
	config = (CUlaunchConfig){.grid = {100, 1, 1}, .block = {512, 1, 1}, .hStream = STREAM};
	memset(attributes, 0, sizeof(attributes));
	per_thread = with_attributes = false;
	plain_result = 0;
	return 0;
}

/* A latency program's workers go where there is room. */
static inline int set_up_latency(void **state)
{
	(void)set_up(state);
	cot_shim_settings.class_ = COT_CLASS_LATENCY;
	return 0;
}

#endif
