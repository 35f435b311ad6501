/* What a program says of its next launches, by stream and by thread. The unit is in a shared
 * library, so its source is here. */
#include <pthread.h>

#include "test.h"

#include "guest/shim/share.c"

#define STREAM(n) ((CUstream)(uintptr_t)(0x1000 + 16 * (n)))
#define PERCENT	  25u
#define SMS(n)	  (0x8000u | (n)) /* as words.h packs it */

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_settings cot_shim_settings;
_Atomic int cot_shim_state;
static bool there;

void cot_shim_driver_load(void)
{
	atomic_store(&cot_shim_state, COT_SHIM_ON);
}

bool cot_shim_begin(void)
{
	return true;
}

bool cot_shim_gpus_are_there(void)
{
	assert_int_not_equal(pthread_mutex_trylock(&cot_shim_lock), 0);
	return there;
}

static int set_up(void **state)
{
	(void)state;
	cot_shim_settings = (struct cot_settings){.class_ = COT_CLASS_LATENCY, .rewrites = true};
	cot_shim_share_forget();
	of_thread = 0;
	there = true;
	return 0;
}

static void expect_said(CUstream stream, unsigned method, unsigned share)
{
	struct cot_shim_said said = cot_shim_share_of(stream);

	assert_int_equal(said.method, method);
	assert_int_equal(said.share, share);
}

static void by_stream(void **state)
{
	(void)state;
	expect_said(STREAM(1), COT_PROTO_WORK_DEFAULT, 0);
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_QUOTA, "25%"), 0);
	assert_int_equal(cotenant_share_stream(STREAM(2), COT_SHARE_RESERVE, "40sm"), 0);
	assert_int_equal(cotenant_share_stream(NULL, COT_SHARE_QUOTA, NULL), 0);
	expect_said(STREAM(1), COT_PROTO_WORK_QUOTA, PERCENT);
	expect_said(STREAM(2), COT_PROTO_WORK_RESERVE, SMS(40));
	expect_said(CU_STREAM_LEGACY, COT_PROTO_WORK_QUOTA, 0);
	expect_said(STREAM(3), COT_PROTO_WORK_DEFAULT, 0);
	/* Said anew, and taken back. */
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_QUOTA, "1sm"), 0);
	expect_said(STREAM(1), COT_PROTO_WORK_QUOTA, SMS(1));
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_PROGRAM, NULL), 0);
	expect_said(STREAM(1), COT_PROTO_WORK_DEFAULT, 0);
	/* Another stream may get the handle. */
	cot_shim_share_stream_gone(STREAM(2));
	cot_shim_share_stream_gone(STREAM(7));
	expect_said(STREAM(2), COT_PROTO_WORK_DEFAULT, 0);
}

static void *other_thread(void *arg)
{
	(void)arg;
	expect_said(STREAM(1), COT_PROTO_WORK_QUOTA, PERCENT);
	expect_said(STREAM(2), COT_PROTO_WORK_DEFAULT, 0);
	return NULL;
}

static void by_thread(void **state)
{
	pthread_t thread;

	(void)state;
	assert_int_equal(cotenant_share_thread(COT_SHARE_RESERVE, "10%"), 0);
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_QUOTA, "25%"), 0);
	expect_said(STREAM(1), COT_PROTO_WORK_QUOTA, PERCENT); /* the stream goes before */
	expect_said(STREAM(2), COT_PROTO_WORK_RESERVE, 10);
	assert_int_equal(pthread_create(&thread, NULL, other_thread, NULL), 0);
	pthread_join(thread, NULL);
	/* As the program, whatever the thread has said; another stream may get the handle. */
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_PROGRAM, NULL), 0);
	expect_said(STREAM(1), COT_PROTO_WORK_DEFAULT, 0);
	cot_shim_share_stream_gone(STREAM(1));
	expect_said(STREAM(1), COT_PROTO_WORK_RESERVE, 10);
	assert_int_equal(cotenant_share_thread(COT_SHARE_PROGRAM, NULL), 0);
	expect_said(STREAM(2), COT_PROTO_WORK_DEFAULT, 0);
}

/* Each is one sentence of share.h. */
static void answers(void **state)
{
	static const char *const wrong[] = {"", "0%", "101%", "5", "1025sm", "much"};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_QUOTA, wrong[i]),
				 -EINVAL);
		assert_int_equal(cotenant_share_thread(COT_SHARE_QUOTA, wrong[i]), -EINVAL);
	}
	assert_int_equal(cotenant_share_stream(STREAM(1), 3, NULL), -EINVAL);
	assert_int_equal(cotenant_share_thread(-1, NULL), -EINVAL);
	assert_int_equal(cotenant_share_thread(COT_SHARE_PROGRAM, "5%"), -EINVAL);
	expect_said(STREAM(1), COT_PROTO_WORK_DEFAULT, 0);
	there = false;
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_QUOTA, "25%"), -ENOTCONN);
	expect_said(STREAM(1), COT_PROTO_WORK_QUOTA, PERCENT);
	cot_shim_settings.class_ = COT_CLASS_BATCH;
	assert_int_equal(cotenant_share_thread(COT_SHARE_RESERVE, "30%"), -EPERM);
	expect_said(STREAM(2), COT_PROTO_WORK_RESERVE, 30);
	cot_shim_settings.rewrites = false;
	assert_int_equal(cotenant_share_stream(STREAM(1), COT_SHARE_QUOTA, "5%"), -ENOSYS);
	assert_int_equal(cotenant_share_thread(COT_SHARE_QUOTA, "5%"), -ENOSYS);
	expect_said(STREAM(1), COT_PROTO_WORK_QUOTA, PERCENT);
	expect_said(STREAM(2), COT_PROTO_WORK_RESERVE, 30);
}

/* Some hundreds of streams; what is said of them is never another one's. A place is used again. */
static void many_streams(void **state)
{
	unsigned i, n = 0, again;
	int rc;

	(void)state;
	for (i = 0; i < 100000; i++) {
		rc = cotenant_share_stream(STREAM(i), COT_SHARE_QUOTA, i % 2 ? "25%" : "1sm");
		assert_true(rc == 0 || rc == -ENOSPC);
		expect_said(STREAM(i), rc ? COT_PROTO_WORK_DEFAULT : COT_PROTO_WORK_QUOTA,
			    rc	    ? 0
			    : i % 2 ? PERCENT
				    : SMS(1));
		n += !rc;
	}
	assert_int_equal(n, SETS * SET_OF);
	for (i = 0; i < 100; i++)
		if (cot_shim_share_of(STREAM(i)).method)
			cot_shim_share_stream_gone(STREAM(i));
	for (i = 0, again = 0; i < 100; i++)
		again += cotenant_share_stream(STREAM(i), COT_SHARE_QUOTA, NULL) == 0;
	assert_int_equal(again, 100);
}

/* Streams come and go in one thread, while others look: what they see was said of their stream. */
static _Atomic bool stop;

static void *look(void *arg)
{
	struct cot_shim_said said;

	while (!atomic_load(&stop)) {
		said = cot_shim_share_of(arg);
		if (said.method != COT_PROTO_WORK_QUOTA || said.share != PERCENT)
			return arg;
	}
	return NULL;
}

static void looks_without_a_lock(void **state)
{
	pthread_t thread;
	void *wrong;
	unsigned i;

	(void)state;
	assert_int_equal(cotenant_share_stream(STREAM(5), COT_SHARE_QUOTA, "25%"), 0);
	assert_int_equal(pthread_create(&thread, NULL, look, STREAM(5)), 0);
	for (i = 0; i < 200000; i++) {
		(void)cotenant_share_stream(STREAM(6 + i), COT_SHARE_RESERVE, "9sm");
		cot_shim_share_stream_gone(STREAM(6 + i));
	}
	atomic_store(&stop, true);
	pthread_join(thread, &wrong);
	assert_null(wrong);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(by_stream, set_up),
		cmocka_unit_test_setup(by_thread, set_up),
		cmocka_unit_test_setup(answers, set_up),
		cmocka_unit_test_setup(many_streams, set_up),
		cmocka_unit_test_setup(looks_without_a_lock, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
