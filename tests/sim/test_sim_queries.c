/*
 * Queries in the simulator, computed by hand on a GPU of 16 SMs in units of 8: when a policy hears
 * of them, what it is told beforehand, inputs of several sizes, and parts that hold.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "sim/host.h"
#include "sim/sweep.h"
#include "support/sim_build.h"
#include "test.h"

#define US COT_NS_PER_US

enum { SERVICE = 1, BATCH = 2 };

/* What the policy was told, as text: "7 begin 1 ..." with times in microseconds. */
static struct {
	char text[8192];
	size_t n;
	/* When it holds the batch program, until when, and how often it says so. */
	uint64_t hold_ns, until_ns, every_ns;
	bool forgets; /* to let go */
	struct cot_plan plans[64];
	uint32_t n_queries;
} heard;

static void say(const char *what, const struct cot_policy *p, const struct cot_query *q)
{
	const struct cot_plan *plan = q->plan;
	size_t left = sizeof(heard.text) - heard.n;

	heard.n += (size_t)snprintf(
		heard.text + heard.n, left, "%g %s %u size=%u from=%g+%g in=%g out=%g done=%u@%g",
		(double)p->now_ns / US, what, q->id, (unsigned)q->size, (double)q->arrived_ns / US,
		(double)(q->began_ns - q->arrived_ns) / US, (double)q->in_ns / US,
		(double)q->out_ns / US, q->n_done, (double)q->done_ns / US);
	left = sizeof(heard.text) - heard.n;
	heard.n += (size_t)snprintf(heard.text + heard.n, left, plan ? " %u tasks\n" : "\n",
				    plan ? plan->n_tasks : 0);
	assert_true(heard.n < sizeof(heard.text));
}

static void begin(struct cot_policy *p, struct cot_query *q)
{
	say("begin", p, q);
	if (q->plan && heard.n_queries < 64)
		heard.plans[heard.n_queries++] = *q->plan;
}

static void task(struct cot_policy *p, struct cot_query *q)
{
	say("task", p, q);
}

static void end(struct cot_policy *p, struct cot_query *q)
{
	say("end", p, q);
}

static uint64_t tick(struct cot_policy *p)
{
	bool hold = p->now_ns >= heard.hold_ns && p->now_ns < heard.until_ns;
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_BATCH && t->part_sms &&
		    (hold || (t->part.hold && !heard.forgets)))
			(void)cot_place(p, t, (struct cot_part){.n = 8, .hold = hold});
	return heard.every_ns ? p->now_ns + heard.every_ns : COT_NEVER;
}

static const struct cot_query_ops queries = {.begin = begin, .task = task, .end = end};

static const struct cot_policy_ops listener = {
	.name = "listener",
	.summary = "writes down what it is told",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.one_pool = true,
	.places = true,
	.tick = tick,
	.queries = &queries,
};

/* Two kernels of 16 blocks of 10 us between copies of 2 and 1 bursts. */
static struct cot_app *make(struct sim_build *b, double stop_us)
{
	struct cot_app *app;

	memset(&heard, 0, sizeof(heard));
	heard.hold_ns = COT_NEVER;
	build_init(b, "timeslice", 16);
	(void)snprintf(b->sc.policy, sizeof(b->sc.policy), "pools");
	app = build_app(b, "service");
	app->cls = COT_CLASS_LATENCY;
	build_cpu(b, 100);
	build_h2d(b, 8192);
	build_kernel(b, 16, 10, 1, 0)->launches = 2;
	build_d2h(b, 4096);
	build_stop_at(b, stop_us);
	return app;
}

static struct cot_sim_host *play_with(const struct sim_build *b,
				      const struct cot_knowledge *const *known)
{
	struct cot_sim_host_options options = {.policy = &listener, .known = known};
	struct cot_sched_stats stats;
	struct cot_sim_host *h;
	struct cot_error err;

	if (cot_sim_host_create(&b->sc, &options, NULL, NULL, &h, &err))
		fail_msg("%s", err.text);
	assert_int_equal(cot_sim_host_run(h, UINT64_MAX), COT_SIM_DONE);
	cot_sched_stats(cot_sim_host_sched(h), &stats);
	assert_int_equal(stats.wrong_actions + stats.fallbacks + stats.events_refused, 0);
	return h;
}

/* A run takes 100 + 3 + 2 x 10 + 2 us. Its first operation is the copy; without arrivals it is
 * there when that begins. */
static void test_all_is_told_when_it_happens(void **state)
{
	struct sim_build b;

	(void)state;
	(void)make(&b, 240);
	cot_sim_host_destroy(play_with(&b, NULL));
	assert_string_equal(heard.text,
			    "103 begin 1 size=8192 from=100+0 in=3 out=2 done=0@0 2 tasks\n"
			    "113 task 1 size=8192 from=100+0 in=3 out=2 done=1@113 2 tasks\n"
			    "123 task 1 size=8192 from=100+0 in=3 out=2 done=2@123 2 tasks\n"
			    "125 end 1 size=8192 from=100+0 in=3 out=2 done=2@123 2 tasks\n"
			    "228 begin 2 size=8192 from=225+0 in=3 out=2 done=0@0 2 tasks\n"
			    "238 task 2 size=8192 from=225+0 in=3 out=2 done=1@238 2 tasks\n");
}

/* Requests every 20 us, which take 25: the second one waits in the program, and begins at once when
 * the first is over. Nothing is known of them. */
static void test_requests_that_wait(void **state)
{
	const struct cot_knowledge *nothing[COT_MAX_APPS] = {NULL};
	struct cot_app *app;
	struct sim_build b;

	(void)state;
	app = make(&b, 80);
	b.steps[0][0].cpu_ps = 0;
	app->program.steps++;
	app->program.n_steps--;
	app->arrivals = (struct cot_arrivals){.per_s = 50000, .gaps = COT_GAPS_EVEN};
	cot_sim_host_destroy(play_with(&b, nothing));
	assert_string_equal(heard.text, "23 begin 1 size=8192 from=20+0 in=3 out=0 done=0@0\n"
					"33 task 1 size=8192 from=20+0 in=3 out=0 done=1@33\n"
					"43 task 1 size=8192 from=20+0 in=3 out=0 done=2@43\n"
					"45 end 1 size=8192 from=20+0 in=3 out=0 done=2@43\n"
					"48 begin 2 size=8192 from=40+5 in=3 out=0 done=0@0\n"
					"58 task 2 size=8192 from=40+5 in=3 out=0 done=1@58\n"
					"68 task 2 size=8192 from=40+5 in=3 out=0 done=2@68\n"
					"70 end 2 size=8192 from=40+5 in=3 out=0 done=2@68\n"
					"73 begin 3 size=8192 from=60+10 in=3 out=0 done=0@0\n");
}

static void expect_plan(const struct cot_plan *plan, uint64_t query_us_8, uint64_t query_us_16,
			uint64_t task_us_8, uint64_t task_us_16)
{
	uint32_t k;

	assert_int_equal(plan->n_quotas, 2);
	assert_int_equal(plan->sms[0], 8);
	assert_int_equal(plan->sms[1], 16);
	assert_int_equal(plan->query_ns[0], query_us_8 * US);
	assert_int_equal(plan->query_ns[1], query_us_16 * US);
	assert_int_equal(plan->n_tasks, 2);
	for (k = 0; k < 2; k++) {
		assert_int_equal(plan->task_ns[2 * k], task_us_8 * US);
		assert_int_equal(plan->task_ns[2 * k + 1], task_us_16 * US);
	}
	assert_null(plan->task_bytes_per_s);
}

/* 16 blocks are two waves on 8 SMs. A sweep is not disturbed by the other app, nor by arrivals. */
static void test_what_a_sweep_knows(void **state)
{
	struct cot_knowledge *known;
	struct cot_app *app;
	struct sim_build b;

	(void)state;
	app = make(&b, 1000);
	app->start_ps = 5000 * COT_PS_PER_US;
	app->arrivals = (struct cot_arrivals){.per_s = 1};
	build_app(&b, "batch")->cls = COT_CLASS_BATCH;
	build_kernel(&b, 32, 10, 1, 0);
	assert_int_equal(cot_sim_sweep(&b.sc, 0, &known), 0);
	assert_int_equal(known->n_inputs, 1);
	assert_int_equal(known->inputs[0]->size, 8192);
	assert_int_equal(known->n_kernels, 1);
	assert_string_equal(known->program, "service");
	expect_plan(cot_knowledge_plan(known, 8192), 40, 20, 20, 10);
	assert_int_equal(cot_knowledge_out_ns(known, 8192), 2 * US);
	assert_int_equal(known->n_quotas, 2);
	assert_int_equal(known->predictions[0].sms, 8);
	assert_int_equal(known->predictions[0].duration_ns, 40 * US);
	cot_knowledge_destroy(known);
	/* Of a batch program the rates suffice. */
	assert_int_equal(cot_sim_sweep(&b.sc, 1, &known), 0);
	assert_int_equal(known->n_inputs, 0);
	assert_int_equal(known->predictions[0].duration_ns, 40 * US);
	assert_int_equal(known->predictions[1].duration_ns, 20 * US);
	assert_int_equal(known->predictions[1].bytes_per_s, 0);
	cot_knowledge_destroy(known);
}

/* Of half the size there are half as many blocks and bytes, rounded up. */
static void test_sizes(void **state)
{
	const struct cot_knowledge *known[COT_MAX_APPS] = {NULL};
	struct cot_knowledge *own;
	struct cot_sim_host *h;
	struct cot_app *app;
	struct sim_build b;
	double us;

	(void)state;
	app = make(&b, 200);
	app->n_sizes = 2;
	app->sizes[0] = app->sizes[1] = 3;
	app->full_size = 8;
	assert_int_equal(cot_sim_sweep(&b.sc, 0, &own), 0);
	assert_int_equal(own->n_inputs, 1);
	expect_plan(cot_knowledge_plan(own, 3), 20, 20, 10, 10); /* 6 blocks */
	known[0] = own;
	h = play_with(&b, known);
	/* 3072 and 1536 bytes are a burst each. */
	assert_string_equal(heard.text,
			    "102 begin 1 size=3 from=100+0 in=2 out=2 done=0@0 2 tasks\n"
			    "112 task 1 size=3 from=100+0 in=2 out=2 done=1@112 2 tasks\n"
			    "122 task 1 size=3 from=100+0 in=2 out=2 done=2@122 2 tasks\n"
			    "124 end 1 size=3 from=100+0 in=2 out=2 done=2@122 2 tasks\n");
	cot_sim_host_destroy(h);
	cot_knowledge_destroy(own);
	/* Alone, one run of each size counts: with 16 blocks on 16 SMs, and with 32. */
	app->sizes[0] = 8;
	app->sizes[1] = 16;
	app->full_size = 8;
	b.kernels[0][0].n_blocks = 16;
	app->full_size = 16;
	b.kernels[0][0].n_blocks = 32;
	assert_int_equal(cot_sim_isolated_us(&b.sc, 0, NULL, NULL, &us), 0);
	assert_true(us > 134.4 && us < 134.6); /* (100 + 2 + 20 + 2 + 100 + 3 + 40 + 2) / 2 */
}

/* Each run draws one of the sizes, and the same ones again. */
static void test_sizes_are_drawn(void **state)
{
	unsigned n[4] = {0}, i;
	struct cot_app *app;
	struct sim_build b;
	char *first, *at;

	(void)state;
	app = make(&b, 4000);
	app->n_sizes = 4;
	for (i = 0; i < 4; i++)
		app->sizes[i] = i + 1;
	app->full_size = 4;
	cot_sim_host_destroy(play_with(&b, NULL));
	for (at = heard.text; (at = strstr(at, "begin")); at++)
		n[strstr(at, "size=")[5] - '1']++;
	for (i = 0; i < 4; i++)
		assert_in_range(n[i], 2, 20);
	first = strdup(heard.text);
	(void)make(&b, 4000);
	app = &b.sc.apps[0];
	app->n_sizes = 4;
	for (i = 0; i < 4; i++)
		app->sizes[i] = i + 1;
	app->full_size = 4;
	cot_sim_host_destroy(play_with(&b, NULL));
	assert_string_equal(heard.text, first);
	free(first);
}

/* ---- parts that hold ---- */

static uint64_t runs_of(const struct cot_sim_host *h, uint32_t app)
{
	struct cot_sim_host_times times;

	cot_sim_host_times(h, app, &times);
	return times.n_runs;
}

/* A batch program of 100 us a kernel on all 16 SMs, held from 1 ms on. */
static uint64_t batch_runs(double stop_us, uint64_t until_ns, uint64_t every_ns, bool forgets)
{
	struct cot_sim_host *h;
	struct sim_build b;
	uint64_t n;

	memset(&heard, 0, sizeof(heard));
	heard.hold_ns = 1000 * US;
	heard.until_ns = until_ns;
	heard.every_ns = every_ns;
	heard.forgets = forgets;
	build_init(&b, "timeslice", 16);
	(void)snprintf(b.sc.policy, sizeof(b.sc.policy), "pools");
	build_app(&b, "batch")->cls = COT_CLASS_BATCH;
	build_kernel(&b, 16, 100, 1, 0);
	build_stop_at(&b, stop_us);
	h = play_with(&b, NULL);
	n = runs_of(h, 0);
	cot_sim_host_destroy(h);
	return n;
}

static void test_what_is_held_does_not_launch(void **state)
{
	(void)state;
	/* The order is there after 20 us; the kernel that runs then ends. */
	assert_int_equal(batch_runs(1000, COT_NEVER, 0, false), 10);
	assert_int_equal(batch_runs(20000, COT_NEVER, 500 * US, false), 11);
	/* Until the next order at 5 ms: two waves of 8 SMs each then. */
	assert_int_equal(batch_runs(10100, 5000 * US, 500 * US, false), 11 + 25);
}

static void test_a_hold_ends_by_itself(void **state)
{
	(void)state;
	/* 50 ms after 1 ms, though nobody says so; on 8 SMs. */
	assert_int_equal(batch_runs(71100, 1100 * US, 1000 * US, true), 11 + 100);
	/* Who says so again holds on. */
	assert_int_equal(batch_runs(200000, COT_NEVER, 1000 * US, true), 11);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_is_told_when_it_happens),
		cmocka_unit_test(test_requests_that_wait),
		cmocka_unit_test(test_what_a_sweep_knows),
		cmocka_unit_test(test_sizes),
		cmocka_unit_test(test_sizes_are_drawn),
		cmocka_unit_test(test_what_is_held_does_not_launch),
		cmocka_unit_test(test_a_hold_ends_by_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
