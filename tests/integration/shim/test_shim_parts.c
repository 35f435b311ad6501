/* Virtual streams, one behaviour at a time: where launches run, and what waits for what when the
 * part changes between. */
#include <dirent.h>
#include <time.h>

#include "parts_stage.h"

#define FLOOD_NS 300000000ull
#define N_SINGLE 30u

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- parts ---- */

static void test_units(void **state)
{
	(void)state;
	assert_int_equal(in.placed.n, 0);
	/* Whole units around what is asked for; what is left of the last one belongs to it. */
	assert_int_equal(place(9, 1), 0);
	assert_int_equal(in.placed.first, 8);
	assert_int_equal(in.placed.n, 8);
	placed(120, 12);
	assert_int_equal(place(128, 4), 0);
	assert_int_equal(in.placed.first, 120);
	placed(0, 8);
	is_on(plain, 0, 8);
	assert_int_equal(place(8, 1000), 0);
	assert_int_equal(in.placed.n, SMS - 8);
	/* All of it is no part; what there is not is refused, and nothing changes. */
	placed(64, 8);
	assert_int_equal(place(SMS, 8), -EINVAL);
	assert_int_equal(in.placed.first, 64);
	assert_int_equal(place(1016, 8), -EINVAL);
	is_on(plain, 64, 8);
	assert_int_equal(place(0, SMS), 0);
	assert_int_equal(in.placed.n, 0);
	assert_true(in.placed.latency_ns > 0);
}

/* More than can be had at a time: the one that was not chosen for the longest time goes. */
static void test_many_parts(void **state)
{
	unsigned round, i;

	(void)state;
	for (round = 0; round < 2; round++)
		for (i = 1; i <= 12; i++) {
			placed(8 * i, 8);
			is_on(plain, 8 * i, 8);
			is_on(waits, 8 * i, 8);
			is_on(CU_STREAM_LEGACY, 8 * i, 8);
		}
}

/* As many as can be had at a time, on SM 8 and from there on. */
#define ALL 7u
static void make_all(void)
{
	unsigned i;

	for (i = 1; i <= ALL; i++)
		placed(8 * i, 8);
}

/* A stream with work leaves a part that is given up; what it has is done there. */
static void test_a_busy_stream_leaves(void **state)
{
	pthread_t thread;
	unsigned i;

	(void)state;
	make_all();
	placed(8, 8);
	launch(1, 1, plain);
	for (i = 2; i <= ALL; i++)
		placed(8 * i, 8);
	expect_nothing_yet();
	later(&thread, 1);
	placed(96, 8); /* the first one goes for it */
	launch(0, 2, plain);
	pthread_join(thread, NULL);
	expect_log(12);
	assert_in_range(host[LOG + 1], 96, 103);
}

static void *wait_for_plain(void *arg)
{
	OK(cuCtxSetCurrent(context));
	*(CUresult *)arg = cuStreamSynchronize(plain);
	return NULL;
}

/* What a thread waits for stays, although its stream has left and the part is to be given up. */
static void test_a_thread_waits_on_a_part(void **state)
{
	CUresult rc = CUDA_ERROR_UNKNOWN;
	pthread_t thread, opener;
	unsigned i, round;

	(void)state;
	make_all();
	placed(8, 8);
	launch(1, 1, plain);
	assert_int_equal(pthread_create(&thread, NULL, wait_for_plain, &rc), 0);
	usleep(A_WHILE);
	for (round = 0; round < 3; round++)
		for (i = 2; i <= ALL; i++) {
			placed(8 * i, 8);
			launch(0, 2 - round, plain);
		}
	later(&opener, 1);
	for (i = ALL + 1; i <= 12; i++)
		placed(8 * i, 8);
	pthread_join(opener, NULL);
	pthread_join(thread, NULL);
	assert_int_equal(rc, CUDA_SUCCESS);
	is_on(plain, 96, 8);
}

/* A thread's stream leaves a part for home in its thread only: another part makes room. */
static void test_one_that_cannot_leave(void **state)
{
	unsigned i;

	(void)state;
	placed(8, 8);
	is_on(CU_STREAM_PER_THREAD, 8, 8);
	for (i = 2; i <= 9; i++)
		placed(8 * i, 8);
	placed(8, 8);
	assert_int_equal(place(0, 0), 0);
	for (i = 2; i <= 9; i++) {
		placed(8 * i, 8);
		assert_int_equal(place(0, 0), 0);
	}
	placed(8, 8);
	is_on(CU_STREAM_PER_THREAD, 8, 8);
	is_on(plain, 8, 8);
}

static void test_every_stream_follows(void **state)
{
	(void)state;
	placed(64, 8);
	is_on(plain, 64, 8);
	is_on(waits, 64, 8);
	is_on(NULL, 64, 8);
	is_on(CU_STREAM_LEGACY, 64, 8);
	is_on(CU_STREAM_PER_THREAD, 64, 8);
	placed(72, 16);
	is_on(CU_STREAM_PER_THREAD, 72, 16);
	is_on(plain, 72, 16);
	assert_int_equal(place(0, 0), 0);
	is_on(plain, 0, 8); /* the first ones are free: it is not there any longer */
}

/* ---- order ---- */

static void order_in(CUstream stream)
{
	host[LOG] = 0;
	host[1] = 0;
	assert_int_equal(place(0, 0), 0);
	launch(1, 1, stream);
	placed(64, 8);
	launch(0, 2, stream);
	placed(96, 8);
	launch(0, 3, stream);
	assert_int_equal(place(0, 0), 0);
	launch(0, 4, stream);
	assert_int_equal(cuStreamQuery(stream), CUDA_ERROR_NOT_READY);
	expect_nothing_yet();
	open_gate(1);
	expect_log(1234);
}

static void test_a_stream_keeps_its_order(void **state)
{
	(void)state;
	order_in(plain);
	order_in(waits);
	order_in(NULL);
	order_in(CU_STREAM_LEGACY);
	order_in(CU_STREAM_PER_THREAD);
}

/* `first` is on the part where `from` is, and `then` on the one that comes. */
static void pair(CUstream first, CUstream then, unsigned from, unsigned to)
{
	host[LOG] = 0;
	host[1] = 0;
	assert_int_equal(place(from, from ? 8 : 0), 0);
	launch(1, 1, first);
	assert_int_equal(place(to, to ? 8 : 0), 0);
	launch(0, 2, then);
	expect_nothing_yet();
	open_gate(1);
	expect_log(12);
}

static void both_ways(CUstream a, CUstream b)
{
	static const unsigned froms[] = {0, 64, 0, 64, 64}, tos[] = {64, 0, 0, 64, 96};
	unsigned i;

	for (i = 0; i < sizeof(tos) / sizeof(tos[0]); i++) {
		pair(a, b, froms[i], tos[i]);
		pair(b, a, froms[i], tos[i]);
	}
}

static void test_the_default_stream_waits_and_is_waited_for(void **state)
{
	(void)state;
	both_ways(CU_STREAM_LEGACY, waits);
	both_ways(NULL, CU_STREAM_PER_THREAD);
}

/* Again and again: what has been waited for once is not all that there will be. */
static void test_more_than_once(void **state)
{
	unsigned i;

	(void)state;
	placed(64, 8);
	for (i = 0; i < 4; i++) {
		pair(i % 2 ? waits : NULL, i % 2 ? NULL : waits, 64, 64);
		pair(waits, NULL, 64, 64);
	}
}

/* Streams that nothing orders do not wait for one another. */
static void test_others_do_not_wait(void **state)
{
	(void)state;
	placed(64, 8);
	launch(1, 1, plain);
	launch(0, 2, NULL);
	OK(cuStreamSynchronize(NULL));
	launch(0, 3, waits);
	OK(cuStreamSynchronize(waits));
	launch(0, 4, CU_STREAM_PER_THREAD);
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	assert_int_equal(host[LOG], 234);
	assert_int_equal(cuStreamQuery(plain), CUDA_ERROR_NOT_READY);
	open_gate(1);
	expect_log(2341);
}

static void test_events(void **state)
{
	CUevent e;

	(void)state;
	OK(cuEventCreate(&e, 0));
	placed(64, 8);
	launch(1, 1, plain);
	OK(cuEventRecord(e, plain));
	placed(96, 8);
	OK(cuStreamWaitEvent(waits, e, 0));
	launch(0, 2, waits);
	assert_int_equal(cuEventQuery(e), CUDA_ERROR_NOT_READY);
	expect_nothing_yet();
	open_gate(1);
	expect_log(12);
	OK(cuEventDestroy(e));
}

/* Calls that are at home, while the stream is elsewhere: after what is there, and before what
 * comes. */
static void test_visits(void **state)
{
	pthread_t thread;
	CUdeviceptr d;
	uint32_t got;

	(void)state;
	OK(cuMemAlloc(&d, 64));
	OK(cuMemcpyHtoD(d, (const uint32_t[]){0, 0}, 8));
	placed(64, 8);
	{
		void *gate = host_at(1), *params[] = {&gate, &d, &(unsigned){7}};

		OK(cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, waits, params, NULL));
		later(&thread, 1);
		OK(cuMemcpyDtoH(&got, d, 4)); /* in the default stream, which waits for the other */
		assert_int_equal(got, 7);
		pthread_join(thread, NULL);
		gate = host_at(2);
		OK(cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		later(&thread, 2);
		OK(cuMemsetD32(d, 5, 1));
		pthread_join(thread, NULL);
		gate = host_at(0);
		OK(cuLaunchKernel(note, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
		OK(cuMemcpyDtoH(&got, d, 4));
		assert_int_equal(got, 57); /* 5, and the kernel's digit */
	}
	OK(cuMemFree(d));
	/* Waiting for everything. */
	launch(3, 1, plain);
	later(&thread, 3);
	OK(cuCtxSynchronize());
	assert_int_equal(host[LOG], 1);
	pthread_join(thread, NULL);
}

/* ---- names ---- */

static _Atomic(CUstream) told;

static void called(CUstream stream, CUresult status, void *data)
{
	(void)data;
	atomic_store(&told, status ? NULL : stream);
}

static void test_a_callback_is_told_the_programs_name(void **state)
{
	(void)state;
	placed(64, 8);
	OK(cuStreamAddCallback(plain, called, NULL, 0));
	OK(cuStreamSynchronize(plain));
	assert_ptr_equal(atomic_load(&told), plain);
}

/* A handle that comes again is another stream. */
static void test_streams_come_and_go(void **state)
{
	CUstream s;
	unsigned i;

	(void)state;
	for (i = 0; i < 30; i++) {
		OK(cuStreamCreate(&s, i % 3 ? CU_STREAM_NON_BLOCKING : 0));
		placed(i % 2 ? 64 : 96, 8);
		host[LOG] = host[1] = 0;
		launch(1, 1, s);
		if (i % 3 == 0)
			launch(0, 2, NULL);
		OK(cuStreamDestroy(s));
		open_gate(1);
		OK(cuCtxSynchronize());
		assert_int_equal(host[LOG], i % 3 ? 1 : 12);
	}
}

static void *in_a_thread(void *arg)
{
	(void)arg;
	OK(cuCtxSetCurrent(context));
	is_on(CU_STREAM_PER_THREAD, 64, 8);
	placed(96, 8);
	is_on(CU_STREAM_PER_THREAD, 96, 8);
	launch(1, 1, CU_STREAM_PER_THREAD);
	return NULL;
}

static void test_a_thread_ends(void **state)
{
	pthread_t thread;

	(void)state;
	placed(64, 8);
	assert_int_equal(pthread_create(&thread, NULL, in_a_thread, NULL), 0);
	pthread_join(thread, NULL);
	expect_nothing_yet();
	open_gate(1);
	OK(cuCtxSynchronize());
	is_on(plain, 96, 8);
	is_on(NULL, 96, 8);
}

/* ---- the daemon, and the end ---- */

static void test_another_daemon(void **state)
{
	(void)state;
	placed(64, 8);
	is_on(plain, 64, 8);
	close(conn);
	is_on(plain, 64, 8);
	is_on(waits, 64, 8);
	welcome();
	assert_int_equal(in.parts.n_sms, SMS);
	assert_int_equal(in.parts.unit, 8);
	expect(COT_MSG_PLACED);
	assert_int_equal(in.h.seq, 0);
	assert_int_equal(in.placed.first, 64);
	assert_int_equal(in.placed.n, 8);
	placed(96, 8);
	is_on(plain, 96, 8);
}

static void test_a_child(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	placed(64, 8);
	launch(1, 1, plain);
	pid = fork();
	if (pid == 0)
		_exit(launch_as(note, 0, 9, plain) == CUDA_SUCCESS);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	placed(96, 8);
	launch(0, 2, plain);
	expect_nothing_yet();
	open_gate(1);
	expect_log(12);
	assert_in_range(host[LOG + 1], 96, 103);
}

/* The processor time of the shim's threads. */
static uint64_t shim_ns(void)
{
	unsigned long long ns, sum = 0;
	struct dirent *e;
	char path[300], name[32];
	DIR *tasks = opendir("/proc/self/task");
	FILE *f;

	while (tasks && (e = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f || fscanf(f, "%31s", name) != 1)
			name[0] = '\0';
		if (f)
			fclose(f);
		snprintf(path, sizeof(path), "/proc/self/task/%s/schedstat", e->d_name);
		f = strcmp(name, "cotenant-shim") ? NULL : fopen(path, "r");
		if (f && fscanf(f, "%llu", &ns) == 1)
			sum += ns;
		if (f)
			fclose(f);
	}
	if (tasks)
		closedir(tasks);
	return sum;
}

/* What an order costs the shim's threads that is answered before the next one comes. */
static uint64_t one_order_ns(void)
{
	uint64_t used_ns = shim_ns();
	unsigned i;

	for (i = 0; i < N_SINGLE; i++)
		placed(8 * (i % 15), 8);
	return (shim_ns() - used_ns) / N_SINGLE;
}

/* A daemon that asks for ever new parts: the shim makes some of them, is not kept busy with it, and
 * the last one comes. Orders that others overtake cost next to nothing, whatever slows all of it.
 */
static void test_a_flood_of_orders(void **state)
{
	uint64_t one_ns = one_order_ns(), begin_ns = now_ns(), until_ns = begin_ns + FLOOD_NS;
	uint64_t used_ns = shim_ns();
	unsigned i, n_orders = 0, n_answers = 0, n_busy = 0;

	(void)state;
	while (now_ns() < until_ns) {
		for (i = 0; i < 16; i++, n_orders++)
			ask(8 * (n_orders % 15), 8 + 8 * (n_orders / 15 % (16 - n_orders % 15)));
		while (get(0) == COT_MSG_PLACED) {
			n_answers++;
			n_busy += in.placed.status != 0;
		}
		usleep(1000);
	}
	used_ns = shim_ns() - used_ns;
	assert_true(n_answers <= n_orders / 4 && n_busy <= n_answers);
	assert_true(used_ns < 3 * one_ns * n_answers);
	/* A tenth, as a rule; five times that under a sanitizer. */
	assert_true(COT_SANITIZED || used_ns < (now_ns() - begin_ns) / 2);
	ask(72, 24);
	do
		expect(COT_MSG_PLACED);
	while (in.h.seq != last_seq);
	assert_int_equal(in.placed.status, 0);
	is_on(plain, 72, 24);
}

/* The context ends with all that is on its parts; the next one has parts again. */
static void test_another_context(void **state)
{
	(void)state;
	placed(64, 8);
	is_on(plain, 64, 8);
	is_on(NULL, 64, 8);
	is_on(CU_STREAM_PER_THREAD, 64, 8);
	OK(cuDevicePrimaryCtxRelease(0));
	load();
	make_streams();
	launch(0, 1, plain); /* only now is it known */
	OK(cuStreamSynchronize(plain));
	assert_int_equal(host[LOG], 1);
	placed(96, 8);
	is_on(plain, 96, 8);
	is_on(NULL, 96, 8);
	is_on(CU_STREAM_PER_THREAD, 96, 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_units),
		TEST(test_many_parts),
		TEST(test_a_busy_stream_leaves),
		TEST(test_a_thread_waits_on_a_part),
		TEST(test_one_that_cannot_leave),
		TEST(test_every_stream_follows),
		TEST(test_a_stream_keeps_its_order),
		TEST(test_the_default_stream_waits_and_is_waited_for),
		TEST(test_more_than_once),
		TEST(test_others_do_not_wait),
		TEST(test_events),
		TEST(test_visits),
		TEST(test_a_callback_is_told_the_programs_name),
		TEST(test_streams_come_and_go),
		TEST(test_a_thread_ends),
		TEST(test_a_flood_of_orders),
		TEST(test_another_daemon),
		TEST(test_a_child),
		TEST(test_another_context),
	};

	return parts_main("shim_parts", tests, sizeof(tests) / sizeof(tests[0]));
}
