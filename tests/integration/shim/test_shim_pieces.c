/* Copies of a batch program give way to those of requests: which, for how long, and what becomes of
 * what is copied. The test is the daemon, which says so. */
#include <time.h>

#include "parts_stage.h"

#define MIB  ((size_t)1 << 20)
#define SIZE (5 * MIB + 123)

static const struct cot_msg_pace_counts *counts = (const void *)in.bytes;
static CUdeviceptr memory;
static unsigned char *from, *to;
static uint64_t n_copies, copies_ns; /* as the shim has said last */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void say(uint32_t way, uint64_t for_ns)
{
	struct cot_msg_copies m = {.way = way, .for_ns = for_ns};

	send_packet(&m, COT_MSG_COPIES, sizeof(m), 0);
}

static int next(int ms)
{
	int type = get(ms);

	if (type == COT_MSG_PACE_COUNTS) {
		assert_true(counts->n_copies >= n_copies && counts->copies_ns >= copies_ns);
		n_copies = counts->n_copies;
		copies_ns = counts->copies_ns;
	}
	return type;
}

/* What was said before it the shim has heard when it answers. */
static void settle(void)
{
	ask(0, 0);
	while (next(LONG_MS) != COT_MSG_PLACED)
		;
}

/* The counts come each second, if there is something new. */
static uint64_t counted(void)
{
	while (next(1300))
		;
	return n_copies;
}

static void expect_counted(uint64_t least)
{
	while (n_copies < least)
		assert_true(next(LONG_MS));
}

static void copy_in(void)
{
	OK(cuMemcpyHtoD_v2(memory, from, SIZE));
}

static void copy_out(void)
{
	memset(to, 0, SIZE);
	OK(cuMemcpyDtoH_v2(to, memory, SIZE));
	assert_memory_equal(from, to, SIZE);
}

/* Copies until one has waited: on a busy machine the time may be over before. */
static void until_one_waits(uint32_t way)
{
	uint64_t before = counted();
	unsigned i;

	for (i = 0; i < 200 && n_copies == before; i++) {
		say(way, COT_PROTO_COPIES_NS);
		settle();
		if (way == COT_WAY_IN)
			copy_in();
		else
			copy_out();
		(void)next(10);
	}
	expect_counted(before + 1);
}

/* The first test: until the daemon has ever said so, nothing changes. */
static void test_not_said(void **state)
{
	(void)state;
	copy_in();
	copy_out();
	assert_int_equal(counted(), 0);
	assert_int_equal(copies_ns, 0);
}

static void test_each_way(void **state)
{
	(void)state;
	until_one_waits(COT_WAY_IN);
	until_one_waits(COT_WAY_OUT);
	assert_true(copies_ns > 0);
	copy_out();
}

/* In the other direction, small ones, and when it is over. */
static void test_others_do_not(void **state)
{
	(void)state;
	say(COT_WAY_OUT, COT_PROTO_COPIES_NS);
	settle();
	copy_in();
	say(COT_WAY_IN, COT_PROTO_COPIES_NS);
	settle();
	OK(cuMemcpyHtoD_v2(memory, from, COT_PROTO_COPY_MIN - 1));
	say(COT_WAY_IN, 0);
	say(COT_WAY_OUT, 0);
	settle();
	copy_in();
	copy_out();
	assert_int_equal(counted(), 0);
}

/* In pieces, on whatever part and in whatever stream, the bytes are the same. */
static void test_same_bytes(void **state)
{
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		CUstream stream = i % 2 ? waits : plain;

		say(i % 2, COT_PROTO_COPIES_NS);
		placed(i % 3 ? 64 : 96, 8);
		from[i * MIB] ^= 0xff;
		from[SIZE - 1 - i] ^= 0xff;
		memset(to, 0, SIZE);
		OK(cuMemcpyHtoDAsync_v2(memory, from, SIZE, stream));
		OK(cuMemcpyDtoHAsync_v2(to, memory, SIZE, stream));
		OK(cuStreamSynchronize(stream));
		assert_memory_equal(from, to, SIZE);
	}
	OK(cuMemcpyHtoD_v2(memory, from, 0));
	assert_int_equal(cuMemcpyHtoD_v2(0, from, SIZE), CUDA_ERROR_INVALID_VALUE);
}

/* What is recorded is one copy, and nothing waits for it. */
static void test_capture(void **state)
{
	size_t n = 0;
	CUgraph graph;

	(void)state;
	say(COT_WAY_IN, COT_PROTO_COPIES_NS);
	settle();
	OK(cuStreamBeginCapture_v2(plain, CU_STREAM_CAPTURE_MODE_RELAXED));
	OK(cuMemcpyHtoDAsync_v2(memory, from, SIZE, plain));
	OK(cuStreamEndCapture(plain, &graph));
	OK(cuGraphGetNodes(graph, NULL, &n));
	assert_int_equal(n, 1);
	OK(cuGraphDestroy(graph));
	assert_int_equal(counted(), 0);
}

static _Atomic bool over;

static void *say_all_the_time(void *arg)
{
	(void)arg;
	while (!over) {
		say(COT_WAY_IN, COT_PROTO_COPIES_NS);
		usleep(2000);
	}
	return NULL;
}

/* Somebody copies all the time: the program waits about half of its time, and each wait ends. */
static void test_half_of_the_time(void **state)
{
	uint64_t began_ns = now_ns(), took_ns;
	pthread_t thread;

	(void)state;
	over = false;
	assert_int_equal(pthread_create(&thread, NULL, say_all_the_time, NULL), 0);
	while (now_ns() < began_ns + 600 * 1000000ull)
		copy_in();
	took_ns = now_ns() - began_ns;
	over = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	expect_counted(1);
	(void)counted();
	assert_in_range(copies_ns / 1000000, 1, took_ns / 1000000 * 8 / 10);
}

static int load_memory(void **state)
{
	size_t i;

	from = malloc(SIZE);
	to = malloc(SIZE);
	if (!from || !to)
		return -1;
	for (i = 0; i < SIZE; i++)
		from[i] = (unsigned char)(i * 2654435761u >> 13);
	OK(cuMemAlloc_v2(&memory, SIZE));
	return start(state);
}

static int free_memory(void **state)
{
	int rc = end(state);

	free(from);
	free(to);
	return rc;
}

#define TEST_OF(name) cmocka_unit_test_setup_teardown(name, start, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_not_said, load_memory, end),
		TEST_OF(test_others_do_not),
		TEST_OF(test_capture),
		TEST_OF(test_half_of_the_time),
		TEST_OF(test_each_way),
		cmocka_unit_test_setup_teardown(test_same_bytes, start, free_memory),
	};

	return parts_main("shim_pieces", tests, sizeof(tests) / sizeof(tests[0]));
}
