/*
 * The first launch on a GPU: what the daemon hears, and how long the launch waits. The unit is in a
 * shared library, so its source is here; the driver and the rest of the shim are played.
 */
#include "no_merge.h"
#include "not_timed.h"
#include "test.h"

#include "guest/shim/follow.c"

#define CONTEXT ((CUcontext)(uintptr_t)0x1000)
#define OTHER	((CUcontext)(uintptr_t)0x2000)

void *cot_real_cuCtxGetCurrent, *cot_real_cuCtxGetDevice, *cot_real_cuDeviceGetAttribute;
struct cot_settings cot_shim_settings;
_Atomic uint32_t cot_shim_parts_live;
_Atomic(CUcontext) cot_shim_parts_looked;
struct cot_shim_gate cot_shim_parts_lock;
pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;

static CUcontext current;
static struct cot_shim_parts parts;
static struct cot_shim_gpu gpu;
static bool is_added, is_primary, may_start, no_parts, places;
static int sms, fails;
static unsigned n_wakes, n_wants, n_added, n_joined, n_waits, n_looks, tell_after;
static uint64_t now_ns;

/* ---- the driver ---- */

static CUresult get_current(CUcontext *ret_context)
{
	*ret_context = current;
	return fails == 1 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult get_device(CUdevice *ret_device)
{
	n_looks++;
	*ret_device = 3;
	return fails == 2 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult get_attribute(int *ret_value, int what, CUdevice device)
{
	assert_int_equal(what, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
	assert_int_equal(device, 3);
	*ret_value = sms;
	return fails == 3 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

/* ---- the shim ---- */

bool cot_shim_is_primary(CUcontext context, int device)
{
	assert_ptr_equal(context, current);
	assert_int_equal(device, 3);
	return is_primary;
}

void cot_shim_uuid_text(CUdevice device, char ret_text[COT_PROTO_NAME_MAX])
{
	assert_int_equal(device, 3);
	ret_text[0] = '\0';
}

struct cot_shim_parts *cot_shim_parts_of(CUcontext context)
{
	return is_added && context == CONTEXT ? &parts : NULL;
}

struct cot_shim_parts *cot_shim_parts_current(void)
{
	return cot_shim_parts_of(current);
}

struct cot_shim_parts *cot_shim_parts_add(CUcontext context, int device, uint32_t n_sms)
{
	assert_true(cot_shim_parts_lock.shut);
	assert_ptr_equal(context, CONTEXT);
	assert_int_equal(device, 3);
	assert_int_equal(n_sms, sms);
	n_added++;
	is_added = true;
	return fails == 4 ? NULL : &parts;
}

void cot_shim_streams_join(struct cot_shim_parts *p)
{
	assert_ptr_equal(p, &parts);
	n_joined++;
}

struct cot_shim_gpu *cot_shim_gpu_get(int device, uint32_t n_sms, const char *uuid)
{
	(void)device;
	(void)n_sms;
	(void)uuid;
	return fails == 5 ? NULL : &gpu;
}

bool cot_shim_runtime_start(void)
{
	return may_start;
}

void cot_shim_gpu_want(struct cot_shim_gpu *g)
{
	assert_ptr_equal(g, &gpu);
	n_wants++;
}

void cot_shim_wake(void)
{
	n_wakes++;
}

uint64_t cot_now_ns(void)
{
	return now_ns;
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
	assert_int_equal(until_ns, COT_NS_PER_S + 30 * COT_NS_PER_MS);
	n_waits++;
	now_ns += 10 * COT_NS_PER_MS;
	assert_true(atomic_load(&parts.awaited));
	if (n_waits == tell_after) {
		parts.prepared = true;
		parts.status = no_parts ? -95 : 0;
		if (places)
			atomic_store(&parts.first, COT_SHIM_FIRST_PART);
	}
	return now_ns <= until_ns;
}

/* Not used here. */
int cot_shim_original_launch(const struct cot_shim_original *o)
{
	(void)o;
	return 0;
}

struct cot_shim_stream *cot_shim_stream_find(CUstream stream, bool per_thread)
{
	(void)stream;
	(void)per_thread;
	return NULL;
}

CUstream cot_shim_turn_enter_part(struct cot_shim_turn *t, CUstream stream, bool per_thread)
{
	(void)t;
	(void)per_thread;
	return stream;
}

void cot_shim_turn_go_home(struct cot_shim_turn *t)
{
	(void)t;
}

void cot_shim_turn_leave(struct cot_shim_turn *t)
{
	(void)t;
}

uint32_t cot_shim_turn_part(const struct cot_shim_turn *t)
{
	(void)t;
	return 0;
}

void cot_shim_pace_wait(struct cot_shim_stream *s)
{
	(void)s;
}

void cot_shim_query_begin(const struct cot_shim_stream *s, bool takes_long)
{
	(void)s;
	(void)takes_long;
}

void cot_shim_query_launched(const struct cot_shim_turn *t)
{
	(void)t;
}

void cot_shim_hold_wait(struct cot_shim_stream *s)
{
	(void)s;
}

void cot_shim_pace_launched(const struct cot_shim_turn *t)
{
	(void)t;
}

bool cot_shim_stays(CUfunction function, enum cot_shim_why *ret_why)
{
	(void)function;
	(void)ret_why;
	return false;
}

void cot_shim_count_at_home(const struct cot_shim_turn *turn, CUstream stream, bool per_thread)
{
	(void)turn;
	(void)stream;
	(void)per_thread;
}

void cot_shim_count_stayed(enum cot_shim_why why)
{
	(void)why;
}

void cot_shim_count_followed(void)
{
}

/* ---- the tests ---- */

static int set_up(void **state)
{
	(void)state;
	cot_real_cuCtxGetCurrent = (void *)(uintptr_t)get_current;
	cot_real_cuCtxGetDevice = (void *)(uintptr_t)get_device;
	cot_real_cuDeviceGetAttribute = (void *)(uintptr_t)get_attribute;
	current = CONTEXT;
	parts = (struct cot_shim_parts){0};
	gpu = (struct cot_shim_gpu){0};
	is_added = no_parts = false;
	is_primary = may_start = places = true;
	sms = 132;
	fails = 0;
	n_wakes = n_wants = n_added = n_joined = n_waits = n_looks = tell_after = 0;
	now_ns = COT_NS_PER_S;
	cot_shim_settings.limited = false;
	atomic_store(&cot_shim_parts_looked, NULL);
	atomic_store(&n_awaited, 0);
	cot_shim_gate_open(&cot_shim_parts_lock);
	return 0;
}

/* The listener is woken: the daemon may know the program already, for its workers. */
static void the_daemon_hears_at_once(void **state)
{
	(void)state;
	tell_after = 1;
	assert_true(cot_shim_part_expect());
	assert_int_equal(n_wants, 1);
	assert_int_equal(n_wakes, 1);
	assert_int_equal(n_joined, 1);
	assert_ptr_equal(parts.gpu, &gpu);
	assert_false(cot_shim_parts_lock.shut);
	assert_false(cot_shim_part_expect());
	assert_int_equal(n_added, 1);
	assert_int_equal(n_looks, 1);
	assert_int_equal(n_waits, 1);
}

static void expect_unknown(unsigned looks)
{
	assert_false(cot_shim_part_expect());
	assert_int_equal(n_looks, looks);
	assert_int_equal(n_wants, 0);
	assert_int_equal(n_joined, 0);
	assert_false(cot_shim_parts_lock.shut);
}

static void what_has_no_parts(void **state)
{
	int i;

	(void)state;
	current = NULL;
	expect_unknown(0);
	current = CONTEXT;
	fails = 1;
	expect_unknown(0);
	fails = 2;
	expect_unknown(1);
	expect_unknown(1); /* once */
	for (i = 3; i <= 4; i++) {
		(void)set_up(state);
		fails = i;
		expect_unknown(1);
	}
	(void)set_up(state);
	is_primary = false;
	expect_unknown(1);
	for (i = 0; i < 2; i++) {
		(void)set_up(state);
		sms = i ? (int)COT_SMS_MAX + 1 : 0;
		expect_unknown(1);
	}
	(void)set_up(state);
	sms = (int)COT_SMS_MAX;
	assert_true(cot_shim_part_expect());
	assert_int_equal(n_wants, 1);
	(void)set_up(state);
	fails = 5;
	assert_false(cot_shim_part_expect());
	(void)set_up(state);
	may_start = false;
	assert_false(cot_shim_part_expect());
	assert_int_equal(n_wants, 0);
}

/* A part is being made: nobody waits for that, and the next launch looks again. */
static void nobody_waits_for_a_part_that_is_made(void **state)
{
	(void)state;
	assert_true(cot_shim_gate_try(&cot_shim_parts_lock));
	assert_false(cot_shim_part_expect());
	assert_int_equal(n_looks, 0);
	assert_true(cot_shim_parts_lock.shut);
	cot_shim_gate_open(&cot_shim_parts_lock);
	assert_true(cot_shim_part_expect());
	assert_int_equal(n_wants, 1);
}

/* Another context is current in between. */
static void one_that_is_known_is_not_looked_at(void **state)
{
	(void)state;
	assert_true(cot_shim_part_expect());
	atomic_store(&cot_shim_parts_looked, OTHER);
	assert_true(cot_shim_gate_try(&cot_shim_parts_lock));
	assert_false(cot_shim_part_expect());
	assert_ptr_equal(atomic_load(&cot_shim_parts_looked), CONTEXT);
	assert_int_equal(n_looks, 1);
}

/* It waits for so many looks, and later launches do not. */
static void expect_waits(unsigned n)
{
	assert_true(cot_shim_part_expect());
	assert_int_equal(n_waits, n);
	assert_false(atomic_load(&parts.awaited));
	assert_int_equal(atomic_load(&n_awaited), 0);
	parts.prepared = false;
	atomic_store(&parts.first, COT_SHIM_FIRST_UNKNOWN);
	assert_false(cot_shim_part_expect());
	assert_int_equal(n_waits, n);
}

static void set_up_limited(void **state, unsigned after)
{
	(void)set_up(state);
	cot_shim_settings.limited = true;
	tell_after = after;
}

/* Until likely parts are made; with a limit for its own, if there can be one; for 30 ms. */
static void the_first_launch_waits(void **state)
{
	tell_after = 2;
	places = false;
	expect_waits(2);
	(void)set_up(state);
	expect_waits(4);
	set_up_limited(state, 2);
	expect_waits(2);
	set_up_limited(state, 2);
	places = false;
	expect_waits(4);
	set_up_limited(state, 2);
	no_parts = true;
	places = false;
	expect_waits(2);
}

static void a_launch_in_another_context_does_not_wait(void **state)
{
	set_up_limited(state, 1);
	current = OTHER;
	is_primary = false;
	assert_false(cot_shim_part_expect());
	current = CONTEXT;
	is_primary = true;
	/* Nor while the one of the GPU does. */
	look();
	assert_int_equal(atomic_load(&n_awaited), 1);
	current = OTHER;
	is_primary = false;
	assert_false(cot_shim_part_expect());
	assert_int_equal(n_waits, 0);
	current = CONTEXT;
	expect_waits(1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_daemon_hears_at_once, set_up),
		cmocka_unit_test_setup(what_has_no_parts, set_up),
		cmocka_unit_test_setup(nobody_waits_for_a_part_that_is_made, set_up),
		cmocka_unit_test_setup(one_that_is_known_is_not_looked_at, set_up),
		cmocka_unit_test_setup(the_first_launch_waits, set_up),
		cmocka_unit_test_setup(a_launch_in_another_context_does_not_wait, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
