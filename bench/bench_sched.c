/*
 * What a decision costs: time per event of a policy core in which N works wait and run, for the
 * policies that deal out works. Programs of both classes submit and end works all the time, and
 * obey evictions.
 *
 *     bench_sched [--events N] [--only POLICY] [--works N]
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"
#include "sched/sched.h"

#define N_TENANTS    64u
#define N_SMS	     132u
#define GOAL_US	     50.0 /* the mean, with as many works as there may be; our choice */
#define LATENCY_EACH 16u  /* one tenant of so many is a latency program */

struct options {
	uint32_t n_events, n_works;
	const char *only;
};

struct bench {
	struct cot_sched *sched;
	struct cot_rng rng;
	uint64_t now_ns, n_events;
	double sum_us, max_us;
	uint32_t round[COT_SCHED_MAX_WORKS];   /* of the number of a work */
	uint32_t evicted[COT_SCHED_MAX_WORKS]; /* as it was told */
	uint32_t n_works;
};

/* Of the processor, for others may want it too. */
static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void take_actions(struct bench *b)
{
	struct cot_action a;

	while (cot_sched_next_action(b->sched, &a)) {
		struct cot_event done = {.type = COT_EV_DONE,
					 .id = a.entity,
					 .now_ns = b->now_ns,
					 .done = {.seq = a.seq}};

		if (a.kind == COT_ACTION_EVICT)
			b->evicted[a.entity % COT_SCHED_MAX_WORKS] = a.value;
		else if (a.kind != COT_ACTION_GRANT)
			(void)cot_sched_event(b->sched, &done);
	}
}

static void event(struct bench *b, struct cot_event ev)
{
	double begin_us, us;

	b->now_ns += 5 * COT_NS_PER_US;
	ev.now_ns = b->now_ns;
	begin_us = now_us();
	(void)cot_sched_event(b->sched, &ev);
	take_actions(b);
	us = now_us() - begin_us;
	b->n_events++;
	b->sum_us += us;
	if (us > b->max_us)
		b->max_us = us;
}

static bool is_latency(uint32_t tenant)
{
	return tenant % LATENCY_EACH == 0;
}

static void join(struct bench *b, uint32_t tenant)
{
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = tenant,
		.tenant = {.cls = is_latency(tenant) ? COT_CLASS_LATENCY : COT_CLASS_BATCH,
			   .weight = COT_WEIGHT_DEFAULT,
			   .gpu_mask = 1,
			   .ready = true}};

	if (is_latency(tenant))
		ev.tenant.reserve.sms = 10;
	else
		ev.tenant.quota.pct = tenant % 2 ? 0 : 30;
	event(b, ev);
}

static uint32_t id_at(const struct bench *b, uint32_t slot)
{
	return b->round[slot] * COT_SCHED_MAX_WORKS + slot;
}

static void submit(struct bench *b, uint32_t slot)
{
	uint32_t tenant = 1 + slot % N_TENANTS;

	b->round[slot]++;
	b->evicted[slot] = 0;
	event(b, (struct cot_event){
			 .type = COT_EV_WORK,
			 .id = id_at(b, slot),
			 .work = {.tenant = tenant,
				  .n_sms = N_SMS,
				  .method = is_latency(tenant) ? COT_WORK_RESERVE : COT_WORK_QUOTA,
				  .can_settle = slot % 3 == 0,
				  .n_tasks = 1 + (uint32_t)cot_rng_below(&b->rng, 1000),
				  .per_sm = 8,
				  .task_ns = slot % 5 ? 50000 : 1000000}});
}

static void leave(struct bench *b, uint32_t slot, const struct cot_work *w)
{
	uint32_t told = b->evicted[slot];

	b->evicted[slot] = 0;
	if (told == w->granted)
		event(b, (struct cot_event){.type = COT_EV_WORK_DONE, .id = w->id, .left = 100});
	else
		event(b,
		      (struct cot_event){.type = COT_EV_WORK_EVICTED, .id = w->id, .capsms = told});
}

/* One that runs ends, and so does any other now and then, as its program may. */
static void step(struct bench *b)
{
	uint32_t slot = (uint32_t)cot_rng_below(&b->rng, b->n_works);
	const struct cot_work *w = cot_sched_work(b->sched, id_at(b, slot));

	if (w && w->state == COT_WORK_RUNNING && b->evicted[slot] > w->left) {
		leave(b, slot, w);
	} else {
		event(b, (struct cot_event){.type = COT_EV_WORK_DONE, .id = id_at(b, slot)});
		submit(b, slot);
	}
	if (cot_sched_wake_ns(b->sched) <= b->now_ns)
		event(b, (struct cot_event){.type = COT_EV_TICK});
}

static int run(const struct cot_policy_ops *policy, uint32_t n_works, const struct options *o,
	       double *ret_mean_us)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct cot_error err;
	uint32_t i;

	if (!b || cot_sched_create(policy, NULL, NULL, 0, &b->sched, &err)) {
		free(b);
		return -1;
	}
	b->rng.state = 1;
	b->n_works = n_works;
	for (i = 1; i <= N_TENANTS; i++)
		join(b, i);
	for (i = 0; i < n_works; i++)
		submit(b, i);
	b->n_events = 0;
	b->sum_us = b->max_us = 0;
	while (b->n_events < o->n_events)
		step(b);
	*ret_mean_us = b->sum_us / (double)b->n_events;
	printf("%-9s  %5u  %9.2f  %8.1f\n", policy->name, n_works, *ret_mean_us, b->max_us);
	cot_sched_destroy(b->sched);
	free(b);
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 'e':
		o->n_events = (uint32_t)strtoul(arg, NULL, 0);
		return o->n_events ? 0 : EINVAL;
	case 'o':
		o->only = arg;
		return 0;
	case 'w':
		o->n_works = (uint32_t)strtoul(arg, NULL, 0);
		return o->n_works && o->n_works <= COT_SCHED_MAX_WORKS ? 0 : EINVAL;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option known[] = {
		{"events", 'e', "N", 0, "Events of each row (20000)", 0},
		{"only", 'o', "POLICY", 0, "This policy only", 0},
		{"works", 'w', "N", 0, "So many works only", 0},
		{0},
	};
	static const struct argp argp = {.options = known, .parser = parse};
	static const uint32_t sizes[] = {16, 64, 256, 1024, COT_SCHED_MAX_WORKS};
	struct options o = {.n_events = 20000};
	double mean_us = 0, worst_us = 0;
	unsigned i, j;

	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return 2;
	printf("policy     works  mean (us)  max (us)   per event\n");
	for (i = 0; i < cot_n_policies; i++) {
		if (!cot_policies[i]->one_pool || (o.only && strcmp(o.only, cot_policies[i]->name)))
			continue;
		for (j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++)
			if ((!o.n_works || o.n_works == sizes[j]) &&
			    run(cot_policies[i], sizes[j], &o, &mean_us))
				return 1;
		if (mean_us > worst_us)
			worst_us = mean_us;
	}
	printf("\nwith %u works %.1f us at most in the mean; the goal is %.0f: %s\n",
	       COT_SCHED_MAX_WORKS, worst_us, GOAL_US, worst_us <= GOAL_US ? "met" : "missed");
	return 0;
}
