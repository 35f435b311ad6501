/* The fluid model: closed forms, fair shares, and what must hold for any input. */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "sim/fluid.h"
#include "test.h"

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-6 * (1.0 + fabs(b)))

struct world {
	struct cot_kernel_work work[8];
	struct cot_fluid_lane lanes[8];
	struct cot_fluid_group groups[4];
	struct cot_fluid_flow flows[2];
	struct cot_fluid f;
};

static void init(struct world *w, double width, double dram)
{
	memset(w, 0, sizeof(*w));
	w->f = (struct cot_fluid){
		.issue_width = width,
		.sm_bytes_per_cycle = 1e9,
		.dram_bytes_per_cycle = dram,
		.groups = w->groups,
		.flows = w->flows,
	};
}

static struct cot_fluid_lane *add_lane(struct world *w, uint32_t i, double warps, double cpi,
				       double mem_fraction)
{
	w->work[i] = (struct cot_kernel_work){.insts = 1,
					      .warps = 1,
					      .cpi = cpi,
					      .mem_fraction = mem_fraction,
					      .dram_bytes = 100,
					      .latency = 400,
					      .mlp = 1};
	w->lanes[i] = (struct cot_fluid_lane){
		.work = &w->work[i], .warps = warps, .stall = 1.0, .penalty = 1.0};
	return &w->lanes[i];
}

static void add_group(struct world *w, uint32_t n_sms, uint32_t first, uint32_t n)
{
	w->groups[w->f.n_groups++] = (struct cot_fluid_group){n_sms, n, &w->lanes[first]};
}

/* 8 warps, one instruction in 4 + 0.01 * 400 = 8 cycles each: 1 per cycle. */
static void few_warps_are_bound_by_latency(void **state)
{
	struct world w;

	(void)state;
	init(&w, 2, 1e9);
	(void)add_lane(&w, 0, 8, 4, 0.01);
	add_group(&w, 3, 0, 1);
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate, 1.0);
	NEAR(w.lanes[0].inst_bytes, 1.0);
	NEAR(w.lanes[0].idle_warps, 0.0);
	NEAR(w.f.dram_rate, 3.0);
}

/* 32 warps could issue 4 in a cycle and get 2: each waits 8 cycles, 16 of them at any time. */
static void many_warps_are_bound_by_slots(void **state)
{
	struct world w;

	(void)state;
	init(&w, 2, 1e9);
	(void)add_lane(&w, 0, 32, 4, 0.01);
	add_group(&w, 1, 0, 1);
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate, 2.0);
	NEAR(w.lanes[0].idle_warps, 16.0);
}

/* With the same wait w: 16 / (4 + w) + 16 / (12 + w) = 2 means
 * (4 + w)(12 + w) = 8(16 + 2w), w^2 + 16w + 48 = 128 + 16w, w = sqrt(80). */
static void kernels_on_an_sm_wait_alike(void **state)
{
	struct world w;
	double wait = sqrt(80.0);

	(void)state;
	init(&w, 2, 1e9);
	(void)add_lane(&w, 0, 16, 4, 0);
	(void)add_lane(&w, 1, 16, 12, 0);
	add_group(&w, 1, 0, 2);
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate, 16.0 / (4.0 + wait));
	NEAR(w.lanes[1].rate, 16.0 / (12.0 + wait));
}

/* Its units do half an instruction per cycle; the other kernel on the SM has the other slots. */
static void units_limit_a_kernel(void **state)
{
	struct world w;

	(void)state;
	init(&w, 2, 1e9);
	(void)add_lane(&w, 0, 32, 4, 0);
	(void)add_lane(&w, 1, 32, 4, 0);
	w.work[0].ipc_max = 0.5;
	add_group(&w, 1, 0, 2);
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate, 0.5);
	NEAR(w.lanes[1].rate, 1.5);
	/* With room for both it has what it would have anyway. */
	w.lanes[0].warps = 1;
	cot_fluid_solve(&w.f);
	assert_true(w.lanes[0].rate < 0.25 + 1e-9);
}

/* Three SMs with 4, 4 and 8 warps of a kernel that all together does 4: 1, 1 and 2. Another kernel
 * goes on beside it without waiting for a slot. A limit above what it can do is none. */
static void a_kernel_has_a_limit_of_its_own(void **state)
{
	struct world w;

	(void)state;
	init(&w, 4, 1e9);
	(void)add_lane(&w, 0, 4, 1, 0);
	add_lane(&w, 1, 8, 1, 0)->work = &w.work[0];
	(void)add_lane(&w, 2, 4, 4, 0);
	w.work[0].gpu_ipc_max = 4;
	add_group(&w, 2, 0, 1);
	add_group(&w, 1, 1, 2);
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate, 1.0);
	NEAR(w.lanes[1].rate, 2.0);
	NEAR(w.lanes[2].rate, 1.0);
	w.work[0].gpu_ipc_max = 100;
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate, 4.0);
}

static void a_halted_kernel_leaves_its_slots(void **state)
{
	struct world w;

	(void)state;
	init(&w, 1, 1e9);
	add_lane(&w, 0, 16, 4, 0)->halted = true;
	(void)add_lane(&w, 1, 16, 4, 0);
	add_group(&w, 1, 0, 2);
	cot_fluid_solve(&w.f);
	assert_true(w.lanes[0].rate == 0.0);
	NEAR(w.lanes[0].idle_warps, 16.0);
	NEAR(w.lanes[1].rate, 1.0);
}

/* 40 bytes per cycle among SMs that want 10, 10, 30 and 30 and a transfer that wants 4: 8 each,
 * but 4 for the transfer, so 9 each. */
static void memory_is_shared_max_min(void **state)
{
	struct world w;

	(void)state;
	init(&w, 4, 40);
	(void)add_lane(&w, 0, 1, 10, 1);
	(void)add_lane(&w, 1, 3, 10, 1);
	w.work[0].latency = 0;
	w.work[1].latency = 0;
	add_group(&w, 2, 0, 1);
	add_group(&w, 2, 1, 1);
	w.f.n_flows = 1;
	w.flows[0].demand = 4;
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate * 100.0, 9.0);
	NEAR(w.lanes[1].rate * 100.0, 9.0);
	NEAR(w.flows[0].rate, 4.0);
	NEAR(w.f.dram_rate, 40.0);
}

/* The port of 12 bytes per cycle: 4 to the one that wants 4, the rest to the other. */
static void the_port_is_shared_max_min(void **state)
{
	struct world w;

	(void)state;
	init(&w, 4, 1e9);
	w.f.sm_bytes_per_cycle = 12;
	(void)add_lane(&w, 0, 1, 25, 1);
	(void)add_lane(&w, 1, 3, 10, 1);
	w.work[0].latency = 0;
	w.work[1].latency = 0;
	add_group(&w, 1, 0, 2);
	cot_fluid_solve(&w.f);
	NEAR(w.lanes[0].rate * 100.0, 4.0);
	NEAR(w.lanes[1].rate * 100.0, 8.0);
}

/*
 * Where latency may rise as far as it takes, nobody is held back: kernels get memory as they have
 * accesses under way, 48 warps three times as much as 16, and nearly all of it is used. (Below
 * load_max of 0.95 they are held to equal shares, as above.)
 */
static void memory_is_shared_as_accesses_wait(void **state)
{
	struct world w;

	(void)state;
	init(&w, 4, 40);
	w.f.queueing = 0.05;
	w.f.load_max = 0.999;
	(void)add_lane(&w, 0, 48, 0.001, 1);
	(void)add_lane(&w, 1, 16, 0.001, 1);
	add_group(&w, 20, 0, 1);
	add_group(&w, 20, 1, 1);
	cot_fluid_solve(&w.f);
	assert_true(w.f.dram_rate < 40.0 && w.f.dram_rate > 38.0);
	NEAR(w.f.demand, w.f.dram_rate);
	assert_true(fabs(w.lanes[0].rate / w.lanes[1].rate - 3.0) < 1e-3);
	/* Little's law. */
	NEAR(w.lanes[0].rate * 400.0 * w.f.latency_factor, 48.0);
	w.f.load_max = 0.0;
	cot_fluid_solve(&w.f);
	NEAR(w.f.dram_rate, 40.0);
	NEAR(w.lanes[0].rate, w.lanes[1].rate);
}

static void latency_rises_with_load(void **state)
{
	struct world w;
	double last = 0.0;
	uint32_t warps;

	(void)state;
	for (warps = 1; warps < 200; warps += 7) {
		init(&w, 4, 50);
		w.f.queueing = 0.1;
		(void)add_lane(&w, 0, warps, 4, 0.2);
		add_group(&w, 4, 0, 1);
		cot_fluid_solve(&w.f);
		assert_true(w.f.latency_factor >= last);
		assert_true(w.f.latency_factor <= 1.0 + 0.1 * 19.0 + 1e-9);
		last = w.f.latency_factor;
	}
	assert_true(last > 2.8);
}

static void draw(struct world *w, uint64_t seed)
{
	struct cot_rng r = {.state = seed};
	uint32_t g, i, n = 0, n_groups = 1 + (uint32_t)cot_rng_below(&r, 4);

	init(w, 1 + (double)cot_rng_below(&r, 4), 20 + (double)cot_rng_below(&r, 300));
	w->f.sm_bytes_per_cycle = 4 + (double)cot_rng_below(&r, 60);
	w->f.queueing = 0.01 * (double)cot_rng_below(&r, 12);
	w->f.load_max = cot_rng_below(&r, 3) ? 0.0 : 0.999;
	for (g = 0; g < n_groups; g++) {
		uint32_t first = n, lanes = 1 + (uint32_t)cot_rng_below(&r, 2);

		for (i = 0; i < lanes; i++) {
			struct cot_fluid_lane *l =
				add_lane(w, n++, 1 + (double)cot_rng_below(&r, 64),
					 1 + (double)cot_rng_below(&r, 20),
					 (double)cot_rng_below(&r, 50) / 100.0);

			l->halted = !cot_rng_below(&r, 8);
			l->stall = 1.0 - (double)cot_rng_below(&r, 10) / 100.0;
		}
		add_group(w, 1 + (uint32_t)cot_rng_below(&r, 10), first, lanes);
	}
	w->f.n_flows = (uint32_t)cot_rng_below(&r, 3);
	for (i = 0; i < w->f.n_flows; i++)
		w->flows[i].demand = (double)cot_rng_below(&r, 20);
}

/* No limit is passed; memory is either used up or nobody is held back by it; the same again gives
 * the same bits. */
static void laws_hold_for_any_input(void **state)
{
	struct world w, again;
	uint64_t seed;
	uint32_t g, i;

	(void)state;
	for (seed = 1; seed <= 2000; seed++) {
		double total = 0.0;

		draw(&w, seed);
		cot_fluid_solve(&w.f);
		draw(&again, seed);
		cot_fluid_solve(&again.f);
		for (g = 0; g < w.f.n_groups; g++) {
			double insts = 0.0, bytes = 0.0;

			for (i = 0; i < w.groups[g].n_lanes; i++) {
				const struct cot_fluid_lane *l = &w.groups[g].lanes[i];

				assert_true(l->rate >= 0.0);
				assert_true(!l->halted || l->rate == 0.0);
				assert_true(l->rate <= l->warps / l->work->cpi + 1e-9);
				assert_true(l->rate == again.groups[g].lanes[i].rate);
				insts += l->rate;
				bytes += l->rate * l->inst_bytes;
			}
			assert_true(insts <= w.f.issue_width * (1.0 + 1e-6));
			assert_true(bytes <= w.f.sm_bytes_per_cycle * (1.0 + 1e-6));
			total += w.groups[g].n_sms * bytes;
		}
		for (i = 0; i < w.f.n_flows; i++)
			total += w.flows[i].rate;
		NEAR(total, w.f.dram_rate);
		assert_true(total <= w.f.dram_bytes_per_cycle * (1.0 + 1e-6));
		if (w.f.demand > w.f.dram_bytes_per_cycle)
			NEAR(total, w.f.dram_bytes_per_cycle);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(few_warps_are_bound_by_latency),
		cmocka_unit_test(many_warps_are_bound_by_slots),
		cmocka_unit_test(kernels_on_an_sm_wait_alike),
		cmocka_unit_test(units_limit_a_kernel),
		cmocka_unit_test(a_kernel_has_a_limit_of_its_own),
		cmocka_unit_test(a_halted_kernel_leaves_its_slots),
		cmocka_unit_test(memory_is_shared_max_min),
		cmocka_unit_test(the_port_is_shared_max_min),
		cmocka_unit_test(memory_is_shared_as_accesses_wait),
		cmocka_unit_test(latency_rises_with_load),
		cmocka_unit_test(laws_hold_for_any_input),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
