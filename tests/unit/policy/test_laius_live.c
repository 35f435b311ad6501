/* What `laius` does beyond the paper: kernels that cannot be taken off their SMs, and queues. */
#include "policy/queries.h"

static const uint32_t sizes[] = {16, 64, 132};

/* A request of 2, 1 or 0.9 ms. */
static const uint64_t plan_ns[] = {2 * MS, MS, MS * 9 / 10};
static const struct cot_plan plan = {3, 1, sizes, plan_ns, plan_ns, NULL};

/* On all SMs and on 8 of them; its longest kernel takes a tenth of that, or all of it. */
static void kernels(struct bench *b, uint32_t id, uint64_t all_ns, bool one)
{
	const struct cot_prediction rows[2] = {
		{.sms = 8, .duration_ns = 16 * all_ns, .kernel_ns = one ? 0 : all_ns * 16 / 10},
		{.sms = 132, .duration_ns = all_ns, .kernel_ns = one ? 0 : all_ns / 10},
	};

	predict(b, id, rows, 2);
}

/* A service, and a batch program of which nothing is known. */
static struct bench *begin_unknown(uint64_t target_us)
{
	struct bench *b = queries_begin(&cot_policy_laius, 0);

	service(b, SERVICE, target_us);
	batch(b, BATCH);
	return b;
}

/* A service, and a batch program whose only kernel takes so long on all SMs. */
static struct bench *begin(uint64_t target_us, uint64_t kernel_ns)
{
	struct bench *b = begin_unknown(target_us);

	kernels(b, BATCH, kernel_ns, true);
	return b;
}

/* How long one takes, as planned, where the service is. */
static uint64_t takes_ns(const struct bench *b)
{
	uint32_t n = b->part[SERVICE].n;

	return !n ? plan_ns[2] : n < 64 ? plan_ns[0] : plan_ns[1];
}

/* So many requests, one every gap_ns, each as long as planned; milli: in 1/1000 of that. */
static void requests_of(struct bench *b, uint64_t gap_ns, unsigned n, unsigned milli)
{
	const uint32_t id = 50;
	uint64_t ns;

	while (n--) {
		query(b, id, SERVICE, 0, &plan);
		ns = takes_ns(b) / 1000 * milli;
		bench_run(b, ns);
		query_ends(b, id);
		bench_run(b, gap_ns > ns ? gap_ns - ns : 0);
	}
}

static void requests(struct bench *b, uint64_t gap_ns, unsigned n)
{
	requests_of(b, gap_ns, n, 1000);
}

static void launches(struct bench *b, uint32_t id, uint64_t n)
{
	bench_run(b, COT_NS_PER_S);
	assert_int_equal(
		bench_event(b, (struct cot_event){.type = COT_EV_PROGRESS,
						  .id = id,
						  .launches = {.n = n, .span_ns = COT_NS_PER_S}}),
		0);
	bench_run(b, 0);
}

/* Long kernels stay off what the next request needs, before the first one as well; short ones have
 * all SMs between requests. */
static void test_who_stays_apart(void **state)
{
	static const struct {
		uint64_t all_ns;
		bool one, apart;
	} cases[] = {{5 * MS, true, true},
		     {5 * MS, false, false},
		     {40 * MS, false, true},
		     {MS, true, false}};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench *b = begin_unknown(4000);

		kernels(b, BATCH, cases[i].all_ns, cases[i].one);
		requests(b, 50 * MS, 3);
		if (cases[i].apart)
			expect_part(b, BATCH, 0, 112);
		else
			expect_part(b, BATCH, 0, 0);
		query(b, 1, SERVICE, 0, &plan);
		expect_part(b, BATCH, 0, 112);
		expect_part(b, SERVICE, 112, 20);
		query_ends(b, 1);
		queries_end(b);
	}
}

/* Nothing is known of the kernels: they may be long. */
static void test_unknown_kernels(void **state)
{
	struct bench *b = begin_unknown(4000);

	(void)state;
	requests(b, 50 * MS, 3);
	expect_part(b, BATCH, 0, 112);
	launches(b, BATCH, 10000); /* of 0.1 ms */
	requests(b, 50 * MS, 1);
	expect_part(b, BATCH, 0, 0);
	queries_end(b);
}

/* Before the first request what is predicted says what it will need. */
static void test_before_the_first(void **state)
{
	static const struct cot_prediction rows[] = {{.sms = 16, .duration_ns = 2 * MS},
						     {.sms = 64, .duration_ns = MS},
						     {.sms = 132, .duration_ns = MS * 9 / 10}};
	struct bench *b = queries_begin(&cot_policy_laius, 0);

	(void)state;
	service(b, SERVICE, 1000);
	predict(b, SERVICE, rows, 3);
	batch(b, BATCH);
	kernels(b, BATCH, 5 * MS, true);
	expect_part(b, BATCH, 0, 64);
	bench_run(b, 61 * COT_NS_PER_S); /* and no request comes */
	expect_part(b, BATCH, 0, 0);
	queries_end(b);
}

/* Requests have gone: batch programs have all after a second, or some gaps. */
static void test_nobody_asks(void **state)
{
	struct bench *b = begin(4000, 5 * MS);

	(void)state;
	requests(b, 10 * MS, 3);
	bench_run(b, 900 * MS);
	expect_part(b, BATCH, 0, 112);
	bench_run(b, 200 * MS);
	expect_part(b, BATCH, 0, 0);
	requests(b, 2 * COT_NS_PER_S, 3);
	bench_run(b, 5 * COT_NS_PER_S);
	expect_part(b, BATCH, 0, 112);
	queries_end(b);
}

/* A request comes when batch kernels are on all SMs: it gets what is enough after it has waited for
 * them. */
static void test_free_in_time(void **state)
{
	static const uint64_t ns[] = {8 * MS, 4 * MS, 2 * MS};
	static const uint64_t half_ns[] = {4 * MS, 2 * MS, MS, 4 * MS, 2 * MS, MS};
	static const struct cot_prediction rows[] = {{.sms = 64, .duration_ns = 4 * MS},
						     {.sms = 132, .duration_ns = 2 * MS}};
	const struct cot_plan long_plans[] = {{3, 1, sizes, ns, ns, NULL},
					      {3, 2, sizes, ns, half_ns, NULL}};
	unsigned i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct bench *b = begin_unknown(9000);

		predict(b, BATCH, rows, 2); /* gone after 4 ms, or 8 on half of the SMs */
		bench_run(b, 2 * COT_NS_PER_S);
		query(b, 1, SERVICE, 0, &long_plans[i]);
		/* 4 ms until they are gone, and 4 ms on 64 SMs are 8 ms. */
		expect_part(b, SERVICE, 64, 68);
		bench_run(b, 5 * MS);
		query_ends(b, 1);
		bench_run(b, MS);
		expect_part(b, BATCH, 0, 0);
		query(b, 2, SERVICE, 0, &long_plans[i]);
		expect_part(b, BATCH, 0, 64);
		query_ends(b, 2);
		queries_end(b);
	}
}

/* Its first launch is made before a request is heard of, and a graph is nothing else: it is where
 * the program was, and batch programs stay off that until it is over. What a program of several
 * launches has done first shows that the others are where they are to be. */
static void test_launched_before(void **state)
{
	static const uint64_t half_ns[] = {MS, MS / 2, MS * 9 / 20, MS, MS / 2, MS * 9 / 20};
	const struct cot_plan two_tasks = {3, 2, sizes, plan_ns, half_ns, NULL};
	struct bench *b = begin(4000, MS);

	(void)state;
	query(b, 1, SERVICE, 0, &plan); /* on all SMs */
	expect_part(b, SERVICE, 112, 20);
	bench_run(b, MS);
	EXPECT_HELD(b, BATCH);
	query_ends(b, 1);
	query(b, 2, SERVICE, 0, &plan);
	expect_part(b, BATCH, 0, 112);
	query_ends(b, 2);
	queries_end(b);

	b = begin(4000, MS);
	query(b, 1, SERVICE, 0, &two_tasks);
	bench_run(b, MS);
	EXPECT_HELD(b, BATCH);
	tasks(b, 1, 1);
	expect_part(b, BATCH, 0, 112);
	query_ends(b, 1);
	queries_end(b);
}

/* One that waits in the program's own queue follows at once: batch programs do not take a turn
 * before it. */
static void test_next_follows(void **state)
{
	struct bench *b = begin(4000, MS);
	unsigned i;

	(void)state;
	requests(b, 50 * MS, 3);
	expect_part(b, BATCH, 0, 0);
	for (i = 10; i < 20; i++) {
		query(b, i, SERVICE, MS, &plan);
		bench_run(b, 2 * MS);
		query_ends(b, i);
		bench_run(b, 200 * US);
		assert_in_range(b->part[BATCH].n, 64, 112);
	}
	bench_run(b, 60 * US);
	expect_part(b, BATCH, 0, 0);
	queries_end(b);
}

/* Requests in pairs, of which the second is queued and begins so much later. */
static void pairs(struct bench *b, unsigned n, uint64_t later_ns)
{
	const uint32_t id = 50;

	while (n--) {
		query(b, id, SERVICE, 0, &plan);
		bench_run(b, takes_ns(b));
		query_ends(b, id);
		bench_run(b, later_ns);
		query(b, id, SERVICE, later_ns + US, &plan);
		bench_run(b, takes_ns(b));
		query_ends(b, id);
		bench_run(b, 7 * MS);
	}
	bench_run(b, 10 * MS);
}

/* Where queued requests begin so late that batch kernels get in front of each, there is no room for
 * these; until they follow at once again. */
static void test_next_trails(void **state)
{
	struct bench *b = begin(6000, 2 * MS);

	(void)state;
	requests(b, 5 * MS, 20);
	expect_part(b, BATCH, 0, 0);
	pairs(b, 40, 100 * US);
	expect_part(b, BATCH, 0, 0);
	pairs(b, 40, MS);
	expect_part(b, BATCH, 0, 112);
	pairs(b, 400, 100 * US);
	expect_part(b, BATCH, 0, 0);
	queries_end(b);
}

/* What fits the target just so is not enough; where all SMs leave little, a third of that is. */
static void test_room_below_the_target(void **state)
{
	static const struct {
		uint64_t target_us;
		uint32_t n; /* that batch programs have */
	} cases[] = {{2050, 64}, {2200, 112}, {1060, 64}, {1040, 8}};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct bench *b = begin(cases[i].target_us, 50 * MS);

		requests(b, 50 * MS, 10);
		expect_part(b, BATCH, 0, cases[i].n);
		queries_end(b);
	}
}

/* A request that is behind its plan takes SMs on which batch kernels are if it is done sooner so,
 * or in time; otherwise it does without them. */
static void test_behind_its_plan(void **state)
{
	static const uint64_t query_ns[] = {16 * MS, 8 * MS, 4 * MS};
	static const uint64_t task_ns[] = {8 * MS, 4 * MS, 2 * MS, 8 * MS, 4 * MS, 2 * MS};
	static const struct {
		uint64_t kernel_ns, done_ns; /* on all SMs, it is twice as long on half of them */
		bool takes;
	} cases[] = {{MS * 5 / 4, 5 * MS, false},	/* in time with what it has */
		     {MS / 2, 15 * MS / 2, true},	/* in time though they leave late */
		     {MS * 5 / 4, 8 * MS, true},	/* late, but sooner */
		     {MS * 5 / 2, 17 * MS / 2, false}}; /* it would wait for longer than it gains */
	const struct cot_plan two_tasks = {3, 2, sizes, query_ns, task_ns, NULL};
	unsigned i;

	(void)state;
	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint64_t ns = cases[i].kernel_ns;
		const struct cot_prediction rows[] = {{.sms = 64, .duration_ns = 2 * ns},
						      {.sms = 132, .duration_ns = ns}};
		struct bench *b = begin_unknown(11900);

		predict(b, BATCH, rows, 2);
		query(b, 2, SERVICE, 0, &two_tasks);
		query_ends(b, 2);
		bench_run(b, 20 * MS);
		query(b, 1, SERVICE, 0, &two_tasks);
		expect_part(b, SERVICE, 64, 68);
		bench_run(b, cases[i].done_ns);
		tasks(b, 1, 1);
		if (cases[i].takes)
			expect_part(b, SERVICE, 0, 0);
		else
			expect_part(b, SERVICE, 64, 68);
		query_ends(b, 1);
		queries_end(b);
	}
}

/* Where a batch program does nothing, a request has everything; and again not, when it launches. */
static void test_nobody_else(void **state)
{
	struct bench *b = queries_begin(&cot_policy_laius, 0);

	(void)state;
	service(b, SERVICE, 4000);
	query(b, 1, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 0, 0);
	query_ends(b, 1);
	batch(b, BATCH);
	kernels(b, BATCH, 5 * MS, true);
	launches(b, BATCH, 100);
	query(b, 2, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 112, 20);
	query_ends(b, 2);
	launches(b, BATCH, 0);
	requests(b, 100 * MS, 15);
	query(b, 3, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 0, 0);
	expect_part(b, BATCH, 0, 112); /* where it is when it goes on */
	launches(b, BATCH, 100);
	expect_part(b, SERVICE, 112, 20);
	query_ends(b, 3);
	queries_end(b);
}

/* What warmed up came back to back, and says nothing of those who come after a pause. */
static void test_after_a_pause(void **state)
{
	struct bench *b = begin(4000, 5 * MS);
	unsigned i;

	(void)state;
	for (i = 0; i < 400; i++)
		requests(b, i % 2 ? 3500000 : 1500000, 1);
	expect_part(b, BATCH, 0, 64);
	bench_run(b, 20 * COT_NS_PER_S);
	expect_part(b, BATCH, 0, 0);
	requests(b, 50 * MS, 50); /* what was needed before is forgotten after two seconds */
	expect_part(b, BATCH, 0, 112);
	queries_end(b);
}

/* A burst needs more SMs; afterwards batch programs get them back size by size, not at once. */
static void test_smaller_in_steps(void **state)
{
	static const uint32_t fine[] = {16, 32, 48, 64, 80, 96, 112, 132};
	static const uint64_t fine_ns[] = {4 * MS,	 3 * MS,       MS * 5 / 2,   2 * MS,
					   MS * 19 / 10, MS * 19 / 10, MS * 19 / 10, MS * 19 / 10};
	const struct cot_plan steps = {8, 1, fine, fine_ns, fine_ns, NULL};
	struct bench *b = begin(6000, 5 * MS);
	uint16_t seen[8] = {0};
	unsigned i, n = 0;

	(void)state;
	for (i = 1; i <= 200; i++) {
		query(b, i, SERVICE, i <= 40 ? 3 * MS : 0, &steps);
		bench_run(b, 2 * MS);
		query_ends(b, i);
		bench_run(b, 50 * MS);
		if (i >= 40 && n < 8 && (!n || b->part[BATCH].n != seen[n - 1]))
			seen[n++] = b->part[BATCH].n;
	}
	assert_int_equal(n, 3);
	assert_int_equal(seen[0], 88);
	assert_int_equal(seen[1], 96);
	assert_int_equal(seen[2], 112);
	queries_end(b);
}

/* Alone 2 ms are enough for 4; every 2.5 ms they are not: the next one would wait too long. */
static void test_room_for_a_queue(void **state)
{
	struct bench *b = begin(4000, 5 * MS);
	unsigned i;

	(void)state;
	for (i = 0; i < 100; i++) {
		requests(b, i % 2 ? 3500000 : 1500000, 1);
		if (i == 3) /* too few to say */
			expect_part(b, BATCH, 0, 112);
	}
	expect_part(b, BATCH, 0, 64);
	query(b, 1, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 64, 68);
	query_ends(b, 1);
	queries_end(b);
}

/* Requests take twice as long as predicted, with SMs of their own: others fill the memory, say. */
static void test_slower_than_predicted(void **state)
{
	struct bench *b = begin(3500, 50 * MS);
	unsigned i;

	(void)state;
	for (i = 1; i < 40; i++) {
		query(b, i, SERVICE, 0, &plan);
		if (i == 2)
			expect_part(b, SERVICE, 112, 20);
		bench_run(b, b->part[SERVICE].n == 20 ? 4 * MS : 2 * MS);
		query_ends(b, i);
		bench_run(b, 100 * MS);
	}
	expect_part(b, BATCH, 0, 64);
	assert_int_equal(fact(b, SERVICE, "profile off"), UINT64_MAX); /* of too few */
	for (; i < 600; i++) {
		query(b, 1, SERVICE, 0, &plan);
		bench_run(b, b->part[SERVICE].n == 20 ? 4 * MS : 2 * MS);
		query_ends(b, 1);
		bench_run(b, 100 * MS);
	}
	/* Half of what they took; what was learned is right. */
	assert_in_range(fact(b, SERVICE, "profile off"), 490, 510);
	assert_in_range(fact(b, SERVICE, "predictions off"), 0, 10);
	queries_end(b);
}

/* On many SMs requests take a third longer than planned, no less than planned for half of them:
 * that does not keep them there. On fewer it is seen that they take as long as planned. */
static void test_what_many_take(void **state)
{
	static const uint32_t halves[] = {32, 64, 132};
	static const uint64_t half_ns[] = {4 * MS, 2 * MS, MS * 3 / 2};
	static const struct cot_plan slow = {3, 1, halves, half_ns, half_ns, NULL};
	struct bench *b = begin(2200, 50 * MS);
	unsigned i;

	(void)state;
	for (i = 1; i < 60; i++) { /* the first few are late, and have all SMs */
		query(b, i, SERVICE, i < 30 ? 4 * MS : 0, &slow);
		bench_run(b, 2 * MS);
		query_ends(b, i);
		bench_run(b, 100 * MS);
	}
	expect_part(b, BATCH, 0, 64);
	queries_end(b);
}

/* What is left of a request is as slow as requests were: it would be in time by the plan, and is
 * not. */
static void test_left_is_slow(void **state)
{
	static const uint64_t half_ns[] = {MS, MS / 2, MS * 9 / 20, MS, MS / 2, MS * 9 / 20};
	const struct cot_plan two_tasks = {3, 2, sizes, plan_ns, half_ns, NULL};
	unsigned i, slow;
	uint64_t raised;

	(void)state;
	for (slow = 0; slow < 2; slow++) {
		const uint64_t half = slow ? 2 * MS : MS;
		struct bench *b = begin(6000, 50 * MS);

		for (i = 0; i < 20; i++) {
			query(b, 1, SERVICE, 0, &two_tasks);
			bench_run(b, half);
			tasks(b, 1, 1);
			bench_run(b, half);
			query_ends(b, 1);
			bench_run(b, 100 * MS);
		}
		query(b, 1, SERVICE, 0, &two_tasks);
		expect_part(b, SERVICE, 112, 20);
		raised = fact(b, SERVICE, "raised");
		bench_run(b, MS * 37 / 10);
		tasks(b, 1, 1);
		assert_int_equal(fact(b, SERVICE, "raised") - raised, slow);
		query_ends(b, 1);
		queries_end(b);
	}
}

/* They come too late though the plan says that it is enough: one in four; not three in a row, which
 * a queue that keeps its target has now and then. */
static void test_late(void **state)
{
	unsigned i, all;

	(void)state;
	for (all = 0; all < 2; all++) {
		struct bench *b = begin(4000, 5 * MS);

		for (i = 1; i < 60; i++) {
			bool late = all ? !(i % 4) : i >= 40 && i < 43;

			query(b, i, SERVICE, late ? 5 * MS : 0, &plan);
			bench_run(b, takes_ns(b));
			query_ends(b, i);
			bench_run(b, 50 * MS);
		}
		assert_int_equal(b->part[BATCH].n == 112, !all);
		queries_end(b);
	}
}

/* Batch kernels are short, so that they take turns with requests; but these begin too late. Then
 * they have SMs of their own, for ten seconds. */
static void test_late_in_turns(void **state)
{
	struct bench *b = begin_unknown(4000);
	unsigned i;

	(void)state;
	kernels(b, BATCH, MS, true);
	requests(b, 50 * MS, 5);
	expect_part(b, BATCH, 0, 0);
	for (i = 1; i <= 3; i++) {
		query(b, i, SERVICE, 5 * MS, &plan);
		bench_run(b, takes_ns(b));
		query_ends(b, i);
		bench_run(b, 50 * MS);
	}
	assert_in_range(b->part[BATCH].n, 64, 112);
	requests(b, 50 * MS, 100);
	expect_part(b, BATCH, 0, 112);
	requests(b, 50 * MS, 150);
	expect_part(b, BATCH, 0, 0);
	/* It is found out again: for twice as long. */
	for (i = 1; i <= 12; i++) {
		query(b, i, SERVICE, 5 * MS, &plan);
		bench_run(b, takes_ns(b));
		query_ends(b, i);
		bench_run(b, 50 * MS);
	}
	requests(b, 50 * MS, 300);
	expect_part(b, BATCH, 0, 112);
	requests(b, 50 * MS, 150);
	expect_part(b, BATCH, 0, 0);
	queries_end(b);
}

/* A late request has many SMs. That nobody knows what it moves is no reason to keep batch programs
 * off those SMs that the next ones do not need. */
static void test_unknown_bandwidth(void **state)
{
	struct bench *b = queries_begin(&cot_policy_laius, 4000ull * GB);

	(void)state;
	service(b, SERVICE, 4000);
	batch(b, BATCH);
	kernels(b, BATCH, 5 * MS, true);
	requests(b, 50 * MS, 3);
	expect_part(b, BATCH, 0, 112);
	query(b, 1, SERVICE, 3 * MS + 500 * US, &plan);
	bench_run(b, MS);
	query_ends(b, 1);
	requests(b, 50 * MS, 1);
	expect_part(b, BATCH, 0, 112);
	queries_end(b);
}

/* A batch program that was stopped, and launches nothing, before the policy came: it is at rest,
 * and requests have all SMs. */
static void test_stopped_before(void **state)
{
	struct bench *b = queries_begin(&cot_policy_parts, 0);
	struct cot_error err;

	(void)state;
	service(b, SERVICE, 4000);
	batch(b, BATCH);
	kernels(b, BATCH, 5 * MS, true);
	launches(b, BATCH, 100); /* and is not heard of again */
	assert_int_equal(cot_sched_set_policy(b->sched, &cot_policy_laius,
					      cot_sched_policy(b->sched)->config, b->now_ns, &err),
			 0);
	requests(b, 100 * MS, 5);
	expect_part(b, SERVICE, 112, 20); /* it may launch something yet */
	requests(b, 100 * MS, 30);
	expect_part(b, SERVICE, 0, 0);
	launches(b, BATCH, 0); /* it says again that it does nothing */
	query(b, 1, SERVICE, 0, &plan);
	expect_part(b, SERVICE, 0, 0);
	query_ends(b, 1);
	queries_end(b);
}

/* Requests that come and go as fast as can be, of which nothing is known: the policy is not what is
 * wrong, and the last wish is carried out. What they need is learned: then batch programs have the
 * rest. */
static void test_a_flood(void **state)
{
	struct bench *b = begin_unknown(4000);
	unsigned i;

	(void)state;
	query(b, 50, SERVICE, 0, NULL);
	bench_run(b, 20 * US);
	EXPECT_HELD(b, BATCH);
	query_ends(b, 50);
	for (i = 0; i < 20000; i++) {
		query(b, 50, SERVICE, 0, NULL);
		bench_run(b, 20 * US);
		query_ends(b, 50);
		bench_run(b, 20 * US);
	}
	query(b, 50, SERVICE, 0, NULL);
	bench_run(b, 20 * US);
	assert_false(b->part[BATCH].hold);
	assert_in_range(b->part[BATCH].n, 8, 116);
	assert_ptr_equal(cot_sched_policy(b->sched)->ops, &cot_policy_laius);
	queries_end(b);
}

/* Two services: batch programs stay off what both need. */
static void test_two_services(void **state)
{
	struct bench *b = queries_begin(&cot_policy_laius, 0);

	(void)state;
	service(b, SERVICE, 4000);
	service(b, SERVICE2, 1100);
	batch(b, BATCH);
	batch(b, BATCH2);
	kernels(b, BATCH, 5 * MS, true);
	kernels(b, BATCH2, 5 * MS, true);
	query(b, 1, SERVICE, 0, &plan);
	query(b, 2, SERVICE2, 0, &plan);
	query_ends(b, 1);
	query_ends(b, 2);
	bench_run(b, 900 * MS); /* until what was launched before is gone */
	expect_part(b, BATCH, 0, 24);
	expect_part(b, BATCH2, 24, 24);
	query(b, 3, SERVICE2, 0, &plan);
	expect_part(b, SERVICE2, 48, 84); /* all that nobody else uses */
	query(b, 4, SERVICE, 0, &plan);
	expect_part(b, SERVICE2, 64, 68);
	expect_part(b, SERVICE, 48, 16);
	expect_part(b, BATCH, 0, 24);
	query_ends(b, 3);
	query_ends(b, 4);
	queries_end(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_stays_apart),
		cmocka_unit_test(test_unknown_kernels),
		cmocka_unit_test(test_before_the_first),
		cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_free_in_time),
		cmocka_unit_test(test_launched_before),
		cmocka_unit_test(test_next_follows),
		cmocka_unit_test(test_next_trails),
		cmocka_unit_test(test_room_below_the_target),
		cmocka_unit_test(test_behind_its_plan),
		cmocka_unit_test(test_nobody_else),
		cmocka_unit_test(test_after_a_pause),
		cmocka_unit_test(test_smaller_in_steps),
		cmocka_unit_test(test_room_for_a_queue),
		cmocka_unit_test(test_slower_than_predicted),
		cmocka_unit_test(test_left_is_slow),
		cmocka_unit_test(test_what_many_take),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_late_in_turns),
		cmocka_unit_test(test_unknown_bandwidth),
		cmocka_unit_test(test_stopped_before),
		cmocka_unit_test(test_two_services),
		cmocka_unit_test(test_a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
