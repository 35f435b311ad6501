/* Which launches become workers under the shim, how many fit an SM, and who is told. */
#include "shim_launch_stage.h"

/* ---- how many workers fit an SM ---- */

static uint32_t per_sm_of(unsigned x, unsigned y, unsigned z, unsigned shared_bytes)
{
	config.block[0] = x;
	config.block[1] = y;
	config.block[2] = z;
	config.sharedMemBytes = shared_bytes;
	(void)launch();
	written[0] = '\0';
	return counted == COT_SHIM_WHY_NOT ? needed.per_sm : 0;
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
	CUlaunchConfig shapes[2] = {{.block = {64, 1, 1}}, {.block = {1024, 1, 1}}};
	struct cot_shim_original o = {.function = FUNCTION};
	struct launch l = {.ref = &ref, .asked = &o, .workers = WORKERS};
	unsigned i, which = (unsigned)(uintptr_t)arg;

	for (i = 0; i < N_BLOWS; i++) {
		which ^= i % 3 == 0;
		o.config = &shapes[which % 2];
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

/* ---- whether ---- */

static void expect_workers(void)
{
	assert_int_equal(launch(), 0);
	assert_int_equal(counted, COT_SHIM_WHY_NOT);
	written[0] = '\0';
}

static void expect_too_many(void)
{
	(void)launch();
	assert_int_equal(needed.n_tasks, UINT32_MAX);
	assert_int_equal(counted, COT_SHIM_WHY_LARGE);
}

static void grids(void **state)
{
	(void)state;
	config.grid[0] = 0;
	expect_plain(COT_SHIM_WHY_LARGE);
	config.grid[0] = 100;
	config.grid[2] = 0;
	expect_plain(COT_SHIM_WHY_LARGE);
	config.grid[0] = 65536;
	config.grid[1] = 65536;
	config.grid[2] = 1;
	expect_plain(COT_SHIM_WHY_LARGE);
	config.grid[1] = 1024;
	config.grid[2] = 64;
	expect_plain(COT_SHIM_WHY_LARGE);
	config.grid[2] = 60;
	expect_workers();
	assert_int_equal(needed.n_tasks, 65536u * 1024 * 60);
	/* As many as can be counted: so many are asked for. */
	config.grid[0] = 65535;
	config.grid[1] = 65537;
	config.grid[2] = 1;
	expect_too_many();
	config.grid[1] = 1;
	config.grid[2] = 65537;
	needed.n_tasks = 0;
	expect_too_many();
}

static void attributes_that_matter(void **state)
{
	static const int harmless[] = {
		CU_LAUNCH_ATTRIBUTE_IGNORE,
		CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW,
		CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
		CU_LAUNCH_ATTRIBUTE_PRIORITY,
		CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP,
		CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN,
		CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
	};
	static const int switches[] = {CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
				       CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
	unsigned i;

	(void)state;
	config.attrs = attributes;
	config.numAttrs = 2;
	for (i = 0; i < COT_ARRAY_LEN(harmless); i++) {
		attributes[1].id = harmless[i];
		attributes[1].value.cooperative = 1;
		expect_workers();
	}
	for (i = 0; i < COT_ARRAY_LEN(switches); i++) {
		attributes[1].id = switches[i];
		attributes[1].value.cooperative = 0;
		expect_workers();
		attributes[1].value.cooperative = 1;
		expect_plain(COT_SHIM_WHY_ATTRIBUTE);
	}
	attributes[1].id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
	for (i = 0; i < 3; i++) {
		attributes[1].value.clusterDim.x = 1 + (i == 0);
		attributes[1].value.clusterDim.y = 1 + (i == 1);
		attributes[1].value.clusterDim.z = 1 + (i == 2);
		expect_plain(COT_SHIM_WHY_ATTRIBUTE);
	}
	attributes[1].value.clusterDim.z = 1;
	expect_workers();
	attributes[1].id = 99;
	expect_plain(COT_SHIM_WHY_ATTRIBUTE);
	config.numAttrs = 1;
	expect_workers();
	attributes[0].id = 99;
	expect_plain(COT_SHIM_WHY_ATTRIBUTE);
	config.numAttrs = 0;
	expect_workers();
}

/* What cannot be asked is taken for the worst. */
static void unanswered(void **state)
{
	static const struct {
		const char *fails;
		enum cot_shim_why why;
	} rows[] = {{"capturing", COT_SHIM_WHY_CAPTURED},
		    {"occupancy", COT_SHIM_WHY_NO_ROOM},
		    {"stream context", COT_SHIM_WHY_CONTEXT},
		    {"start", COT_SHIM_WHY_CONTEXT}};
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		fails = rows[i].fails;
		expect_plain(rows[i].why);
		fails = NULL;
		expect_workers(); /* nothing of it is remembered */
	}
}

/* A handle of which nothing is known, and nothing can be. */
static void unknown_functions(void **state)
{
	struct cot_shim_original o = {HANDLE(0x999), &config, params, NULL, false, false, false};

	(void)state;
	assert_int_equal(cot_shim_launch(&o), 0);
	expect_done("plain;");
	assert_int_equal(n_greetings, 0);
}

static void other_reasons(void **state)
{
	(void)state;
	capturing = 1;
	expect_plain(COT_SHIM_WHY_CAPTURED);
	capturing = 0;
	has_context = false;
	expect_plain(COT_SHIM_WHY_CONTEXT);
	has_context = true;
	context.usable = false;
	expect_plain(COT_SHIM_WHY_CONTEXT);
	context.usable = true;
	context.closing = true;
	expect_plain(COT_SHIM_WHY_CONTEXT);
	context.closing = false;
	has_work = false;
	why_not = COT_SHIM_WHY_WAITED;
	expect_plain(COT_SHIM_WHY_WAITED);
	ref.broken = true;
	expect_plain(COT_SHIM_WHY_REFUSED);
	/* The entry stands for another function by now. */
	ref.handle = HANDLE(0x101);
	expect_plain(COT_SHIM_WHY_NOT);
}

/* ---- small launches ---- */

static void launch_small(CUstream stream, bool unasked)
{
	config.grid[0] = 3;
	config.hStream = stream;
	assert_int_equal(launch(), 0);
	assert_int_equal(counted, unasked ? COT_SHIM_WHY_SMALL : COT_SHIM_WHY_NOT);
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

static void *launch_in_another(void *arg)
{
	(void)arg;
	(void)launch();
	return NULL;
}

static void small_launches_in_two_threads(void **state)
{
	pthread_t thread;

	(void)state;
	per_thread = true;
	launch_small(NULL, true);
	assert_int_equal(pthread_create(&thread, NULL, launch_in_another, NULL), 0);
	pthread_join(thread, NULL);
	assert_int_equal(counted, COT_SHIM_WHY_NOT);
	written[0] = '\0';
	launch_small(NULL, false);
}

static void small_launches_of_latency_programs(void **state)
{
	(void)state;
	cot_shim_settings.class_ = COT_CLASS_LATENCY;
	launch_small(STREAM, true);
	launch_small(HANDLE(0x320), true);
	cot_shim_settings.quota = 50;
	launch_small(STREAM, true);
	launch_small(HANDLE(0x320), false);
}

/* Of what was said: whether a launch may take from others. */
static void expect_need(bool latency)
{
	config.grid[0] = 100;
	config.hStream = STREAM;
	assert_int_equal(launch(), 0);
	written[0] = '\0';
	assert_int_equal(needed.latency, latency);
	assert_true(cot_shim_said_same(needed.said, said));
	assert_ptr_equal(needed.kernel, &ref);
	assert_string_equal(needed.name, "kernel");
}

/* A stream of a latency program that says it is a batch program's. */
static void what_is_said(void **state)
{
	(void)state;
	cot_shim_settings.class_ = COT_CLASS_LATENCY;
	expect_need(true);
	said = (struct cot_shim_said){COT_PROTO_WORK_QUOTA, 25};
	expect_need(false);
	launch_small(STREAM, true);
	launch_small(HANDLE(0x320), false);
	said.method = COT_PROTO_WORK_RESERVE;
	expect_need(true);
	launch_small(HANDLE(0x320), true);
	cot_shim_settings.class_ = COT_CLASS_BATCH;
	expect_need(false);
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
	expect_plain(COT_SHIM_WHY_NOT);
	expect_plain(COT_SHIM_WHY_NOT);
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
	context.usable = true;
	fails = "start";
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
		cmocka_unit_test_setup(grids, set_up),
		cmocka_unit_test_setup(attributes_that_matter, set_up),
		cmocka_unit_test_setup(unanswered, set_up),
		cmocka_unit_test_setup(unknown_functions, set_up),
		cmocka_unit_test_setup(other_reasons, set_up),
		cmocka_unit_test_setup(small_launches_in_streams, set_up),
		cmocka_unit_test_setup(small_launches_in_threads, set_up),
		cmocka_unit_test_setup(small_launches_in_two_threads, set_up),
		cmocka_unit_test_setup(small_launches_of_latency_programs, set_up),
		cmocka_unit_test_setup(what_is_said, set_up),
		cmocka_unit_test_setup(what_is_small, set_up),
		cmocka_unit_test_setup(the_daemon_hears_of_plain_launches, set_up),
		cmocka_unit_test_setup(the_daemon_hears_of_foreign_kernels, set_up),
		cmocka_unit_test_setup(nobody_is_told, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
