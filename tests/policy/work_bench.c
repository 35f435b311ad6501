#include "policy/work_bench.h"

static void submit(struct work_bench *wb, struct work_program *p)
{
	if (!++wb->next_id)
		wb->next_id = 1;
	p->work = wb->next_id % BENCH_MAX_IDS ? wb->next_id : ++wb->next_id;
	if (bench_work(wb->b, p->work % BENCH_MAX_IDS, p->tenant, p->n_tasks, p->per_sm, p->task_ns,
		       p->can_settle)) {
		p->work = 0;
		return;
	}
	p->work %= BENCH_MAX_IDS;
	p->left_ns = (uint64_t)p->n_tasks * p->task_ns / p->per_sm;
	p->evicted_ns = 0;
	p->waited_ns = 0;
}

static void end(struct work_bench *wb, struct work_program *p)
{
	(void)bench_work_done(wb->b, p->work, 0);
	p->n_done++;
	p->work = 0;
	p->next_ns = wb->b->now_ns + p->pause_ns;
}

/* All were told to leave: the rest waits to be granted again. */
static void come_back(struct work_bench *wb, struct work_program *p)
{
	uint64_t n_left = p->left_ns * p->per_sm / p->task_ns;

	p->evicted_ns = 0;
	(void)bench_work_done(wb->b, p->work, n_left ? (uint32_t)n_left : 1);
}

/* Workers leave after their task, which takes at most a step here. */
static void leave(struct work_bench *wb, struct work_program *p, const struct bench_work *w)
{
	const struct cot_work *known = cot_sched_work(wb->b->sched, p->work);

	if (!known || known->left == w->evicted)
		return;
	if (!p->evicted_ns) {
		p->evicted_ns = wb->b->now_ns;
		return;
	}
	p->evicted_ns = 0;
	if (w->evicted == w->granted)
		come_back(wb, p);
	else
		(void)bench_work_evicted(wb->b, p->work, w->evicted);
}

static void step(struct work_bench *wb, struct work_program *p)
{
	const struct bench_work *w = &wb->b->works[p->work];
	uint64_t does_ns = WORK_BENCH_STEP_NS * (w->granted - w->evicted);

	if (!p->work) {
		if (wb->b->now_ns >= p->next_ns)
			submit(wb, p);
		return;
	}
	if (!w->granted) {
		p->waited_ns += WORK_BENCH_STEP_NS;
		if (p->waited_ns > p->max_wait_ns)
			p->max_wait_ns = p->waited_ns;
		return;
	}
	p->waited_ns = 0;
	p->left_ns = p->left_ns > does_ns ? p->left_ns - does_ns : 0;
	if (!p->left_ns)
		end(wb, p);
	else
		leave(wb, p, w);
}

uint32_t work_bench_run(struct work_bench *wb, uint64_t for_ns)
{
	uint64_t until_ns = wb->b->now_ns + for_ns;
	uint32_t i, n = 0;

	while (wb->b->now_ns < until_ns) {
		for (i = 0; i < WORK_BENCH_PROGRAMS; i++)
			if (wb->programs[i].tenant)
				step(wb, &wb->programs[i]);
		bench_run(wb->b, WORK_BENCH_STEP_NS);
	}
	for (i = 0; i < WORK_BENCH_PROGRAMS; i++)
		n += wb->programs[i].work != 0;
	return n;
}

uint32_t work_bench_end(struct work_bench *wb, uint64_t for_ns)
{
	uint64_t until_ns = wb->b->now_ns + for_ns;
	uint32_t i, n = 1;

	for (i = 0; i < WORK_BENCH_PROGRAMS; i++)
		wb->programs[i].next_ns = UINT64_MAX;
	while (n && wb->b->now_ns < until_ns) {
		n = work_bench_run(wb, WORK_BENCH_STEP_NS);
		for (i = 0; i < WORK_BENCH_PROGRAMS; i++)
			wb->programs[i].next_ns = UINT64_MAX;
	}
	return n;
}
