/* Works: which launches share one, what the daemon takes back, and when they end. */
#include "shim_work_stage.h"

/* ---- launches in a row ---- */

static void one_grant_for_a_stream(void **state)
{
	struct cot_shim_work *w = get_new(3, 0);

	(void)state;
	assert_ptr_equal(get(), w);
	assert_int_equal(w->n_users, 2);
	cot_shim_work_put(w);
	cot_shim_work_put(w);
	assert_ptr_equal(get(), w);
	assert_int_equal(w->n_users, 1);
	expect_done("");
}

/* Another stream, another thread's default stream, another context: other works. */
static void works_are_apart(void **state)
{
	struct cot_shim_work *first = get_new(3, 0), *second, *third, *fourth;

	(void)state;
	need.stream = HANDLE(0x320);
	second = get_new(3, 0);
	need.thread = 9;
	third = get_new(3, 0);
	assert_int_equal(third->thread, 9);
	grant(20 * US, 4, 2, 0);
	fourth = cot_shim_work_get(&other_context, &need, &why);
	assert_int_equal(why, COT_SHIM_WHY_NOT);
	assert_non_null(fourth);
	assert_ptr_equal(fourth->context, &other_context);
	assert_ptr_not_equal(first, second);
	assert_ptr_not_equal(second, third);
	assert_ptr_not_equal(third, fourth);
	/* Each finds its own again. */
	assert_ptr_equal(get(), third);
	need.thread = 0;
	assert_ptr_equal(get(), second);
	need.stream = STREAM;
	assert_ptr_equal(get(), first);
}

/* Another work when the program says something else of the stream; the one before ends. */
static void what_is_said(void **state)
{
	struct cot_shim_work *first = get_new(3, 0), *second;

	(void)state;
	need.said = (struct cot_shim_said){COT_PROTO_WORK_QUOTA, 25};
	need.latency = true;
	second = get_new(2, 0);
	assert_true(second->latency && first->ending && !first->latency);
	assert_ptr_equal(get(), second);
	need.said.share = 26;
	cot_shim_work_put(second);
	cot_shim_work_put(second);
	grant(20 * US, 3, 2, 0);
	assert_ptr_equal(get(), second); /* its place is free again */
	expect_done(
		"done 2: 0 tasks, 0 remapped, 0 launches;request 3: 100 tasks, 4 on an SM, 7000 ns;");
	assert_int_equal(second->id, 3);
}

/* Where the daemon has rules for kernels, each asks for itself. */
static void one_kernel(void **state)
{
	static const int one, other;
	struct cot_shim_work *first, *second;

	(void)state;
	need.kernel = &one;
	need.name = "one";
	first = get_new(3, 0);
	need.kernel = &other;
	assert_ptr_equal(get(), first);
	cot_shim_work_put(first);
	need.stream = HANDLE(0x320);
	first = get_new(3, COT_WORK_ONE_KERNEL);
	assert_ptr_equal(get(), first);
	need.kernel = &one;
	second = get_new(3, COT_WORK_ONE_KERNEL);
	assert_true(first->ending);
	assert_ptr_equal(get(), second);
}

/* As many at a time as the daemon allows. */
static void too_many_works(void **state)
{
	struct cot_shim_work *w[4], *again;
	unsigned i;

	(void)state;
	for (i = 0; i < 4; i++) {
		need.stream = HANDLE(0x400 + 16 * i);
		w[i] = get_new(1, 0);
	}
	need.stream = HANDLE(0x800);
	assert_null(get());
	assert_int_equal(why, COT_SHIM_WHY_BUSY);
	expect_done("");
	/* One that idles gives way. */
	cot_shim_work_put(w[2]);
	grant(20 * US, 5, 1, 0);
	again = get();
	assert_ptr_equal(again, w[2]);
	expect_done("done 3: 0 tasks, 0 remapped, 0 launches;"
		    "request 5: 100 tasks, 4 on an SM, 7000 ns;");
}

/* A work that is old ends, and the stream asks anew: sooner when it is idle. */
static void works_grow_old(void **state)
{
	struct cot_shim_work *w = get_new(3, 0), *other;
	uint64_t since = now_ns;

	(void)state;
	now_ns = since + 50 * COT_NS_PER_MS - 1;
	assert_ptr_equal(get(), w);
	now_ns++;
	other = get_new(3, 0);
	assert_ptr_not_equal(other, w);
	assert_true(w->ending);
	/* The old one ends with its launches. */
	cot_shim_work_put(w);
	expect_done("");
	cot_shim_work_put(w);
	expect_done("done 1: 0 tasks, 0 remapped, 0 launches;");
	cot_shim_work_put(other);
	now_ns = other->since_ns + 5 * COT_NS_PER_MS - 1;
	assert_ptr_equal(get(), other);
	cot_shim_work_put(other);
	now_ns++;
	grant(20 * US, 3, 3, 0);
	assert_non_null(get());
	expect_done("done 2: 0 tasks, 0 remapped, 0 launches;"
		    "request 3: 100 tasks, 4 on an SM, 7000 ns;");
}

/* A small work that has all that it had tasks for is too small for a larger launch. */
static void too_small(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 9; /* 3 CapSMs hold them */
	w = get_new(3, 0);
	assert_int_equal(w->needed, 3);
	need.n_tasks = 12;
	assert_ptr_equal(get(), w);
	need.n_tasks = 13;
	assert_ptr_not_equal(get_new(4, 0), w);
	assert_true(w->ending);
}

/* One that got less than it had tasks for would get no more. */
static void small_by_order(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 16;
	w = get_new(3, 0);
	assert_int_equal(w->needed, 4);
	need.n_tasks = 1000;
	assert_ptr_equal(get(), w);
}

/* And nobody gets more than all. */
static void all_of_the_gpu(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 4 * N_SMS;
	w = get_new(N_SMS, 0);
	need.n_tasks = 100000;
	assert_ptr_equal(get(), w);
}

/* What was evicted is not there for a launch. */
static void evicted_is_gone(void **state)
{
	struct cot_shim_work *w;

	(void)state;
	need.n_tasks = 12;
	w = get_new(3, COT_WORK_SETTLED);
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	need.n_tasks = 4;
	assert_ptr_equal(get(), w);
	need.n_tasks = 5;
	assert_ptr_not_equal(get_new(2, 0), w);
	set_up(state);
	w = get_new(3, COT_WORK_SETTLED);
	evict(1, 3);
	cot_shim_gpu_receive(gpu);
	assert_ptr_not_equal(get_new(3, 0), w);
}

/* ---- what the daemon says while it runs ---- */

static void grows(void **state)
{
	struct cot_shim_work *w = get_new(3, 0);

	(void)state;
	grant(0, 1, 5, 0);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->capsms, 5);
	grant(0, 1, 4, 0);
	grant(0, 77, 9, 0);
	grant(0, 0, 9, 0);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->capsms, 5);
	assert_int_equal(w->flags, 0);
	assert_int_equal(gpu->works[1].state, COT_SHIM_WORK_FREE);
	assert_int_equal(gpu->works[1].capsms, 0);
	expect_done("");
}

/* Somebody stays to finish, unless the launch waits itself. */
static void leaves(void **state)
{
	struct cot_shim_work *w = get_new(5, 0);

	(void)state;
	n_wakes = 0;
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 2);
	assert_int_equal(n_wakes, 1);
	evict(1, 1);
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 2);
	assert_int_equal(n_wakes, 1);
	evict(1, 100);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 4);
	evict(99, 1);
	cot_shim_gpu_receive(gpu);
	expect_done("");
	/* With its last user it ends: what was taken back does not come again. */
	cot_shim_work_put(w);
	expect_done("done 1: 0 tasks, 0 remapped, 0 launches;");
	set_up(state);
	w = get_new(5, COT_WORK_SETTLED);
	evict(1, 100);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->evicted, 5);
}

/* A work that nobody uses ends when some of it is wanted. */
static void leaves_idle(void **state)
{
	struct cot_shim_work *w = get_new(5, 0);

	(void)state;
	cot_shim_work_put(w);
	expect_done("");
	evict(1, 1);
	cot_shim_gpu_receive(gpu);
	expect_done("done 1: 0 tasks, 0 remapped, 0 launches;");
	assert_int_equal(w->state, COT_SHIM_WORK_FREE);
}

/* A work that still waits has nothing to leave. */
static void not_granted_yet(void **state)
{
	struct cot_msg_work_evict m = {.work = 1, .capsms = 2};

	(void)state;
	welcome(0);
	say(COT_NS_PER_MS, COT_MSG_WORK_EVICT, &m, sizeof(m));
	grant(2 * COT_NS_PER_MS, 1, 4, 0);
	assert_non_null(get());
	assert_int_equal(gpu->works[0].evicted, 0);
}

static void tells_who_left(void **state)
{
	struct cot_shim_work *w = get_new(5, 0);

	(void)state;
	evict(1, 2);
	cot_shim_gpu_receive(gpu);
	w->evict_ns = now_ns;
	cot_shim_work_tell_evicted(w, now_ns + 500);
	expect_done("evicted 1: 2 after 500 ns;");
	assert_int_equal(w->told, 2);
	w->evict_ns = 0;
	cot_shim_work_tell_evicted(w, now_ns + 500);
	expect_done("evicted 1: 2 after 0 ns;");
	w->evict_ns = now_ns;
	cot_shim_work_tell_evicted(w, now_ns - 1);
	expect_done("evicted 1: 2 after 0 ns;");
	w->state = COT_SHIM_WORK_LOST;
	w->evicted = 3;
	cot_shim_work_tell_evicted(w, now_ns);
	expect_done("");
	assert_int_equal(w->told, 3);
}

/* ---- ends ---- */

/* A stream that pauses keeps its grant for a moment: a shorter one if it may take from others. */
static void lingers(void **state)
{
	static const struct {
		bool latency;
		uint64_t for_us;
	} rows[] = {{false, 500}, {true, 250}};
	struct cot_shim_work *w, *busy;
	uint64_t idle;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		set_up(state);
		need.latency = rows[i].latency;
		w = get_new(3, 0);
		need.latency = false;
		need.stream = HANDLE(0x320);
		busy = get_new(3, 0);
		assert_true(cot_shim_works_expire(now_ns + COT_NS_PER_S) == COT_NEVER);
		w->n_tasks = 100;
		w->n_remapped = 7;
		w->n_launches = 2;
		now_ns += COT_NS_PER_MS;
		idle = now_ns;
		cot_shim_work_put(w);
		assert_int_equal(cot_shim_works_expire(idle), idle + rows[i].for_us * US);
		now_ns = idle + rows[i].for_us * US - 1;
		assert_int_equal(cot_shim_works_expire(now_ns), now_ns + 1);
		expect_done("");
		assert_true(cot_shim_works_expire(now_ns + 1) == COT_NEVER);
		expect_done("done 1: 100 tasks, 7 remapped, 2 launches;");
		assert_int_equal(w->state, COT_SHIM_WORK_FREE);
		assert_int_equal(busy->state, COT_SHIM_WORK_GRANTED);
	}
}

/* The first to expire says when to come again. */
static void the_first_to_expire(void **state)
{
	struct cot_shim_work *a = get_new(3, 0), *b;
	uint64_t first;

	(void)state;
	need.stream = HANDLE(0x320);
	b = get_new(3, 0);
	cot_shim_work_put(b);
	first = now_ns;
	now_ns += 100 * US;
	cot_shim_work_put(a);
	assert_int_equal(cot_shim_works_expire(now_ns), first + 500 * US);
	assert_int_equal(cot_shim_works_expire(first + 500 * US), now_ns + 500 * US);
	expect_done("done 2: 0 tasks, 0 remapped, 0 launches;");
}

/* A context that ends gives its works back, and no others. */
static void contexts_give_back(void **state)
{
	struct cot_shim_context no_gpu = {.gpu = NULL};
	struct cot_shim_work *used = get_new(3, 0), *unused, *foreign;

	(void)state;
	need.stream = HANDLE(0x320);
	unused = get_new(3, 0);
	cot_shim_work_put(unused);
	grant(20 * US, 3, 2, 0);
	foreign = cot_shim_work_get(&other_context, &need, &why);
	cot_shim_work_put(foreign);
	written[0] = '\0';
	cot_shim_works_close(&no_gpu);
	cot_shim_works_close(&context);
	expect_done("done 2: 0 tasks, 0 remapped, 0 launches;");
	assert_int_equal(unused->state, COT_SHIM_WORK_FREE);
	assert_true(used->ending);
	assert_false(foreign->ending);
	assert_int_equal(foreign->state, COT_SHIM_WORK_GRANTED);
	/* What still runs gives back when it ends. */
	cot_shim_work_put(used);
	expect_done("done 1: 0 tasks, 0 remapped, 0 launches;");
}

/* ---- the rest of what was evicted ---- */

static void granted_again(void **state)
{
	struct cot_shim_work *w = get_new(5, COT_WORK_SETTLED);

	(void)state;
	evict(1, 5);
	cot_shim_gpu_receive(gpu);
	w->told = 5;
	w->n_tasks = 40;
	w->n_launches = 1;
	grant(COT_NS_PER_MS, 1, 7, COT_WORK_SETTLED);
	assert_true(cot_shim_work_regrant(w, 60));
	expect_done("done 1: 40 tasks, 0 remapped, 1 launches, 60 left;");
	assert_int_equal(w->capsms, 7);
	assert_int_equal(w->evicted + w->told, 0);
	assert_int_equal(w->n_tasks + w->n_launches, 0);
	assert_int_equal(w->n_users, 1);
}

/* No grant in time: the rest is done without, and a grant that comes later goes back. */
static void granted_again_too_late(void **state)
{
	struct cot_shim_work *w = get_new(5, COT_WORK_SETTLED);
	uint64_t before = now_ns;

	(void)state;
	assert_false(cot_shim_work_regrant(w, 60));
	assert_int_equal(now_ns, before + 10 * COT_NS_PER_S);
	assert_true(w->ending);
	written[0] = '\0';
	grant(0, 1, 3, 0);
	cot_shim_gpu_receive(gpu);
	assert_int_equal(w->state, COT_SHIM_WORK_GRANTED);
	expect_done("");
	/* Its stream asks anew meanwhile. */
	assert_ptr_not_equal(get_new(2, 0), w);
	cot_shim_work_put(w);
	expect_done("done 1: 0 tasks, 0 remapped, 0 launches;");
}

static void never_granted_again(void **state)
{
	struct cot_shim_work *w = get_new(5, COT_WORK_SETTLED);

	(void)state;
	send_result = -EPIPE;
	assert_false(cot_shim_work_regrant(w, 60));
	assert_int_equal(w->state, COT_SHIM_WORK_LOST);
	send_result = 0;
	assert_false(cot_shim_work_regrant(w, 60));
	expect_done("");
	cot_shim_work_put(w);
	assert_int_equal(w->state, COT_SHIM_WORK_FREE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(one_grant_for_a_stream, set_up),
		cmocka_unit_test_setup(works_are_apart, set_up),
		cmocka_unit_test_setup(what_is_said, set_up),
		cmocka_unit_test_setup(one_kernel, set_up),
		cmocka_unit_test_setup(too_many_works, set_up),
		cmocka_unit_test_setup(works_grow_old, set_up),
		cmocka_unit_test_setup(too_small, set_up),
		cmocka_unit_test_setup(small_by_order, set_up),
		cmocka_unit_test_setup(all_of_the_gpu, set_up),
		cmocka_unit_test_setup(evicted_is_gone, set_up),
		cmocka_unit_test_setup(grows, set_up),
		cmocka_unit_test_setup(leaves, set_up),
		cmocka_unit_test_setup(leaves_idle, set_up),
		cmocka_unit_test_setup(not_granted_yet, set_up),
		cmocka_unit_test_setup(tells_who_left, set_up),
		cmocka_unit_test_setup(lingers, set_up),
		cmocka_unit_test_setup(the_first_to_expire, set_up),
		cmocka_unit_test_setup(contexts_give_back, set_up),
		cmocka_unit_test_setup(granted_again, set_up),
		cmocka_unit_test_setup(granted_again_too_late, set_up),
		cmocka_unit_test_setup(never_granted_again, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, tear_down);
}
