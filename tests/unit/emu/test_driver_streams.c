/* Streams of the emulated driver that go while others are waited for. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "base/compiler.h"
#include "cuda/abi/cuda.h"
#include "emu_dir.h"
#include "test.h"

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

#define QUEUED	 256 /* fill a stream */
#define PAUSE_US 50000

/* A host function that stands until it may end. */
struct door {
	_Atomic bool open, passed;
};

static CUcontext ctx;
static CUstream oldest, middle, newest;
static struct door first, last; /* `last` is in the oldest stream */
static _Atomic bool entered, was_last;

static int group_setup(void **state)
{
	return emu_dir_setup(state) || cuInit(0);
}

static int setup(void **state)
{
	(void)state;
	atomic_store(&first.open, false);
	atomic_store(&last.open, false);
	atomic_store(&last.passed, false);
	atomic_store(&entered, false);
	return (int)cuCtxCreate(&ctx, 0, 0);
}

static int teardown(void **state)
{
	(void)state;
	return (int)cuCtxDestroy(ctx);
}

static void make_streams(unsigned flags)
{
	OK(cuStreamCreate(&oldest, flags));
	OK(cuStreamCreate(&middle, flags));
	OK(cuStreamCreate(&newest, flags));
}

static void pass(void *data)
{
	struct door *door = data;

	while (!atomic_load(&door->open))
		usleep(1000);
	atomic_store(&door->passed, true);
}

static void look(void *data)
{
	(void)data;
	atomic_store(&was_last, atomic_load(&last.passed));
}

static void do_nothing(void *data)
{
	(void)data;
}

/* Destroys the newest stream while the test stands at the middle one; lets that go on, then all. */
static void *destroy_newest(void *arg)
{
	CUresult result = cuCtxSetCurrent(ctx);

	(void)arg;
	while (!atomic_load(&entered))
		usleep(1000);
	usleep(PAUSE_US);
	result = result ? result : cuStreamDestroy(newest);
	atomic_store(&first.open, true);
	usleep(PAUSE_US);
	atomic_store(&last.open, true);
	return (void *)(uintptr_t)result;
}

static pthread_t begin_destroying(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, destroy_newest, NULL), 0);
	atomic_store(&entered, true);
	return thread;
}

static void end_destroying(pthread_t thread)
{
	void *result;

	assert_int_equal(pthread_join(thread, &result), 0);
	OK((CUresult)(uintptr_t)result);
}

static void waiting_for_a_context_misses_no_stream(void **state)
{
	pthread_t thread;
	CUresult result;

	(void)state;
	make_streams(CU_STREAM_NON_BLOCKING);
	OK(cuLaunchHostFunc(middle, pass, &first));
	OK(cuLaunchHostFunc(oldest, pass, &last));
	thread = begin_destroying();
	result = cuCtxSynchronize();
	look(NULL);
	end_destroying(thread);
	OK(result);
	assert_true(atomic_load(&was_last));
}

/* The legacy stream is full when it is to wait for the middle one. */
static void the_legacy_stream_misses_no_stream(void **state)
{
	pthread_t thread;
	CUresult result;
	unsigned i;

	(void)state;
	make_streams(0);
	OK(cuLaunchHostFunc(NULL, pass, &first));
	for (i = 1; i < QUEUED; i++)
		OK(cuLaunchHostFunc(NULL, do_nothing, NULL));
	OK(cuLaunchHostFunc(middle, do_nothing, NULL));
	OK(cuLaunchHostFunc(oldest, pass, &last));
	thread = begin_destroying();
	result = cuLaunchHostFunc(NULL, look, NULL);
	end_destroying(thread);
	OK(result);
	OK(cuStreamSynchronize(NULL));
	assert_true(atomic_load(&was_last));
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(waiting_for_a_context_misses_no_stream),
		CASE(the_legacy_stream_misses_no_stream),
	};

	return cmocka_run_group_tests(tests, group_setup, emu_dir_teardown);
}
