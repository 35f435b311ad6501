/*
 * Contention in whole simulations: rates as worked out by hand, and what must be conserved. The GPU
 * runs at 1 GHz, so that a cycle is a nanosecond.
 */
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/inside.h"
#include "sim/qos.h"
#include "support/sim_build.h"
#include "support/sim_random.h"
#include "test.h"

#define NEAR(a, b, rel) assert_true(fabs((a) - (b)) <= (rel) * (1e-9 + fabs(b)))

static void build_gpu(struct sim_build *b, const char *scheduler, uint32_t n_sms)
{
	build_init(b, scheduler, n_sms);
	b->sc.gpu.dram_bytes_per_s = 100000000000ull; /* 80 bytes per cycle can be had */
	b->sc.gpu.issue_width = 2;
	b->sc.gpu.sm_bytes_per_cycle = 32;
	b->sc.gpu.dram_efficiency = 0.8;
	b->sc.gpu.share_penalty = 0.2;
	b->sc.gpu.power = (struct cot_gpu_power){10, 0.1, 1.5, 4, 10, 20, 1000};
}

static struct cot_kernel *build_work(struct sim_build *b, uint32_t n_blocks, uint32_t blocks_per_sm,
				     uint64_t insts, double cpi, double mem_fraction)
{
	uint32_t app = b->sc.n_apps - 1;
	struct cot_step *s = build_kernel(b, n_blocks, 1, blocks_per_sm, 1);
	struct cot_kernel *k = &b->kernels[app][s->kernel];

	k->work = (struct cot_kernel_work){.insts = insts,
					   .warps = 8,
					   .cpi = cpi,
					   .mem_fraction = mem_fraction,
					   .dram_bytes = 100,
					   .latency = 400,
					   .mlp = 2};
	k->block_ps = insts * 1000;
	return k;
}

/* 2 blocks of 8 warps issue 16 / 16 = 1 per cycle: 4000 instructions each take 8000 cycles. On the
 * other SM 4 blocks want 2 and get them: 8000 cycles as well. */
static void issue_slots_set_the_pace(void **state)
{
	struct sim_build b;

	(void)state;
	build_gpu(&b, "dss", 2);
	(void)build_app(&b, "a");
	(void)build_work(&b, 2, 2, 4000, 16, 0);
	build_cpu(&b, 1e8);
	(void)build_app(&b, "b");
	(void)build_work(&b, 8, 4, 4000, 4, 0);
	build_cpu(&b, 1e8);
	play_expect_kernels(&b, "a 0-8, b 0-16");
}

/* On one SM the port moves 32 bytes per cycle, 0.8 instructions at 40 bytes each; four SMs share
 * the 80 of memory. */
static void memory_slows_those_that_use_it(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_gpu(&b, "fcfs", 1);
	(void)build_app(&b, "b");
	build_work(&b, 4, 4, 8000, 1, 0.4)->work.latency = 10;
	play(&p, &b);
	NEAR((double)p.result.apps[0].turnaround_sum_ps / (double)p.result.apps[0].runs,
	     4 * 8000 / 0.8 * 1000.0, 1e-5);
	play_end(&p);
	build_gpu(&b, "fcfs", 4);
	(void)build_app(&b, "b");
	build_work(&b, 16, 4, 8000, 1, 0.4)->work.latency = 10;
	play(&p, &b);
	NEAR((double)p.result.apps[0].turnaround_sum_ps / (double)p.result.apps[0].runs,
	     4 * 8000 / (20.0 / 40.0) * 1000.0, 1e-5);
	play_end(&p);
}

/*
 * On each SM two blocks of 8 warps, and slots enough for both: 4000 instructions take 8 us each. If
 * sharing costs 0.3, each loses half of that, for the half of the warps that are not its own.
 */
static void sharing_an_sm_may_cost(void **state)
{
	struct sim_build b;
	struct play p;
	uint32_t i;

	(void)state;
	for (i = 0; i < 2; i++) {
		build_gpu(&b, "rollover", 2);
		b.sc.gpu.share_stall = i ? 0.3 : 0.0;
		(void)build_app(&b, "a");
		(void)build_work(&b, 2, 1, 4000, 16, 0);
		(void)build_app(&b, "b");
		(void)build_work(&b, 2, 1, 4000, 16, 0);
		play(&p, &b);
		NEAR((double)p.result.apps[0].turnaround_sum_ps / (double)p.result.apps[0].runs,
		     i ? 8e6 / 0.85 : 8e6, 1e-6);
		play_end(&p);
	}
}

/* Beside another a kernel moves more: a fifth of the other's part of the warps that use memory. a's
 * are 8 * 0.05, b's 8 * 0.025; the third, without memory, takes no cache. */
static void sharing_an_sm_costs_cache(void **state)
{
	static const double fraction[3] = {0.05, 0.025, 0};
	struct sim_build b;
	struct play p;
	uint32_t i;

	(void)state;
	build_gpu(&b, "rollover", 3);
	for (i = 0; i < 3; i++) {
		(void)build_app(&b, (const char *const[]){"a", "b", "c"}[i]);
		(void)build_work(&b, 100, 1, 4000, 16, fraction[i]);
	}
	build_stop_at(&b, 50);
	play(&p, &b);
	NEAR(p.result.counts.bytes[0] / p.result.counts.insts[0], 5 * (1 + 0.2 / 3), 1e-6);
	NEAR(p.result.counts.bytes[1] / p.result.counts.insts[1], 2.5 * (1 + 0.4 / 3), 1e-6);
	assert_true(p.result.counts.insts[2] > 0 && p.result.counts.bytes[2] == 0);
	play_end(&p);
}

/* A copy of 40960 bytes takes 11 us. Memory moves half as many in that time: 22 us, and 1 us of the
 * CPU. One of nothing, where it takes no time, takes none. */
static void copies_wait_for_memory(void **state)
{
	struct sim_build b;
	struct play p;

	(void)state;
	build_gpu(&b, "fcfs", 1);
	b.sc.gpu.dram_bytes_per_s = 1861818182;
	b.sc.gpu.dram_efficiency = 1;
	(void)build_app(&b, "a");
	build_h2d(&b, 40960);
	build_cpu(&b, 1);
	build_app(&b, "b")->start_ps = 900000000;
	(void)build_work(&b, 1, 1, 1000, 4, 0);
	build_stop_at(&b, 13 * 23);
	play(&p, &b);
	NEAR((double)p.result.apps[0].turnaround_sum_ps / (double)p.result.apps[0].runs, 23e6,
	     1e-6);
	NEAR(p.result.counts.transfer_bytes, 13 * 40960.0, 1e-6);
	play_end(&p);
	b.sc.gpu.pcie_latency_ps = 0;
	b.steps[0][0].bytes = 0;
	build_stop_at(&b, 20);
	play(&p, &b);
	NEAR((double)p.result.apps[0].turnaround_sum_ps / (double)p.result.apps[0].runs, 1e6, 1e-9);
	play_end(&p);
}

/* A measured kernel is as fast beside one that uses memory as without it. b's blocks issue 8 / 81
 * instructions per cycle: 81 us each; the second one starts on the SM that a leaves. */
static void measured_kernels_keep_their_time(void **state)
{
	struct sim_build b;

	(void)state;
	build_gpu(&b, "dss", 2);
	(void)build_app(&b, "a");
	(void)build_kernel(&b, 4, 10, 2, 1);
	build_cpu(&b, 1e8);
	(void)build_app(&b, "b");
	(void)build_work(&b, 2, 1, 8000, 1, 0.4);
	build_cpu(&b, 1e8);
	play_expect_kernels(&b, "a 0-20, b 0-101");
}

/* ---- conservation ---- */

struct watch {
	struct cot_sim *sim;
	double insts, energy, last_w;
	uint64_t last_ps, n_epochs;
	struct cot_sim_counts epochs; /* sums of all epochs */
	uint32_t n_apps;
};

/* Between two instants nothing changes, so energy is the sum of power times time. */
static void after_instant(struct watch *w)
{
	uint64_t now = hw_now_ps(cot_sim_hw(w->sim));

	w->energy += w->last_w * (double)(now - w->last_ps) * 1e-12;
	w->last_w = cot_sim_power_w(w->sim);
	w->last_ps = now;
}

static void epoch_done(void *arg, const struct cot_sim_epoch *e)
{
	struct watch *w = arg;
	uint32_t i;

	assert_int_equal(e->index, w->n_epochs);
	w->n_epochs++;
	for (i = 0; i < w->n_apps; i++) {
		w->epochs.insts[i] += e->counts.insts[i];
		w->epochs.bytes[i] += e->counts.bytes[i];
	}
	w->epochs.energy_j += e->counts.energy_j;
}

static const struct cot_sim_observer watcher = {.epoch_done = epoch_done};

static void draw_scenario(struct sim_build *b, uint64_t seed)
{
	static const char *const scheds[] = {
		"fcfs",
		"npq",
		"ppq",
		"ppq-shared",
		"dss",
		"timeslice",
		"smqos",
		"smqos-hasty",
		"smqos-printed",
		"spart",
		"spart-catchup",
		"rollover",
		"rollover-naive",
		"rollover-history",
		"rollover-elastic",
	};
	struct cot_rng r = {.state = seed};
	uint32_t n_apps = 1 + (uint32_t)cot_rng_below(&r, 3), i, j;

	build_gpu(b, scheds[cot_rng_below(&r, COT_ARRAY_LEN(scheds))],
		  1 + (uint32_t)cot_rng_below(&r, 6));
	b->sc.gpu.queueing = 0.05;
	b->sc.gpu.share_stall = cot_rng_below(&r, 2) ? 0.0 : 0.3;
	b->sc.preempt = cot_rng_below(&r, 2) ? COT_PREEMPT_SWITCH : COT_PREEMPT_DRAIN;
	b->sc.block_jitter_cv = cot_rng_below(&r, 3) ? 0.0 : 0.3;
	b->sc.rate_noise = cot_rng_below(&r, 2) ? 0.0 : 0.02;
	b->sc.epoch_cycles = 5000;
	b->sc.seed = seed;
	build_stop_at(b, 400);
	for (i = 0; i < n_apps; i++) {
		char name[2] = {(char)('a' + i), 0};

		build_app(b, name)->priority = (int32_t)i;
		build_cpu(b, 1 + (double)cot_rng_below(&r, 30));
		if (cot_rng_below(&r, 2))
			build_h2d(b, 1 + cot_rng_below(&r, 100000));
		for (j = 0; j < 2; j++)
			(void)build_work(b, 1 + (uint32_t)cot_rng_below(&r, 30),
					 1 + (uint32_t)cot_rng_below(&r, 5),
					 100 + cot_rng_below(&r, 30000),
					 1 + (double)cot_rng_below(&r, 16),
					 (double)cot_rng_below(&r, 30) / 100.0);
		if (cot_rng_below(&r, 3) == 0)
			(void)build_kernel(b, 1 + (uint32_t)cot_rng_below(&r, 9), 5, 2, 1);
	}
	b->sc.apps[0].qos.ipc = 0.1 * (double)(1 + cot_rng_below(&r, 60));
	b->sc.qos_batch_sms = (uint32_t)cot_rng_below(&r, 2);
	b->sc.qos_threshold = 0.03;
}

/* Instructions that a kernel's finished launches and its blocks under way stand for. */
static double insts_by_blocks(struct cot_sim *sim, uint32_t app, double finished)
{
	struct hw_kernel *k;
	double insts = finished;
	uint32_t i, j;

	hw_for_each_active (k, cot_sim_hw(sim)) {
		const struct kernel *kernel = kernel_of(k);

		if (k->app != app || !k->desc->work.insts)
			continue;
		insts += (double)k->n_done * (double)k->desc->work.insts;
		for (j = 0; j < k->n_preempted;) {
			const struct cohort *c = NULL;

			for (i = 0; i < kernel->ptbq.n; i++) {
				c = &kernel->ptbq.ring[(kernel->ptbq.head + i) % kernel->ptbq.cap];
				j += c->n;
				insts += c->n * ((double)k->desc->work.insts -
						 (double)c->work_ps / 1000.0);
			}
		}
		for (i = 0; i < sim->n_slots; i++) {
			const struct sm *sm = &sim->sms[i];

			if (sm->hw->kernel != k)
				continue;
			for (j = 0; j < sm->n_cohorts; j++) {
				const struct cohort *c = &sm->cohorts[j];
				double left = (double)c->work_ps -
					      (c->waiting ? 0.0 : (double)sm->progress_ps);

				insts += c->n * ((double)k->desc->work.insts - left / 1000.0);
			}
		}
	}
	return insts;
}

struct finished {
	struct watch *watch;
	const struct sim_build *b;
	double insts[COT_MAX_APPS];
};

static void add_finished(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
			 const char *kernel)
{
	struct finished *f = arg;
	const struct cot_program *p = &f->b->sc.apps[app].program;
	uint32_t i;

	(void)begin_ps;
	(void)end_ps;
	for (i = 0; i < p->n_kernels; i++)
		if (p->kernels[i].name[1] == kernel[1])
			f->insts[app] +=
				(double)p->kernels[i].n_blocks * (double)p->kernels[i].work.insts;
}

static void on_epoch(void *arg, const struct cot_sim_epoch *e)
{
	epoch_done(((struct finished *)arg)->watch, e);
}

static const struct cot_sim_observer both = {.kernel_done = add_finished, .epoch_done = on_epoch};

/*
 * What is counted as the integral of rates is what the blocks have done; energy is the integral of
 * power; epochs add up to the whole; no more bytes move than memory can.
 */
static void check_scenario(uint64_t seed, bool equal_blocks_only)
{
	struct sim_build b;
	struct watch w = {0};
	struct finished f = {.watch = &w, .b = &b};
	struct cot_sim_result r;
	enum cot_sim_status status;
	double bytes, most;
	uint32_t i;

	draw_scenario(&b, seed);
	if (equal_blocks_only)
		b.sc.block_jitter_cv = 0.0;
	w.n_apps = b.sc.n_apps;
	assert_int_equal(cot_sim_create(&b.sc, NULL, &both, &f, &w.sim, NULL), 0);
	w.last_w = 0.0;
	do {
		status = cot_sim_run(w.sim, 1);
		after_instant(&w);
	} while (status == COT_SIM_MORE);
	assert_int_equal(status, COT_SIM_DONE);
	cot_sim_result(w.sim, &r);
	assert_true(r.counted);
	bytes = r.counts.transfer_bytes;
	for (i = 0; i < b.sc.n_apps; i++) {
		double want = insts_by_blocks(w.sim, i, f.insts[i]);

		if (equal_blocks_only && fabs(r.counts.insts[i] - want) > 1e-6 * want + 1.0)
			fail_msg("seed %u, app %u: %.3f instructions counted, %.3f in blocks",
				 (unsigned)seed, i, r.counts.insts[i], want);
		bytes += r.counts.bytes[i];
		assert_true(w.epochs.insts[i] <= r.counts.insts[i] * (1 + 1e-9) + 1e-3);
	}
	most = 80.0 * (double)r.end_ps / 1000.0;
	assert_true(bytes <= most * (1 + 1e-6) + 1.0);
	assert_int_equal(r.refused, 0);
	w.energy += (double)w.sim->contend->n_wakes * 1.5e-6; /* 1 us of idle power each */
	if (fabs(w.energy - r.counts.energy_j) > 1e-6 * r.counts.energy_j)
		fail_msg("seed %u: %.9g J counted, %.9g J by power", (unsigned)seed,
			 r.counts.energy_j, w.energy);
	assert_int_equal(r.n_epochs, w.n_epochs);
	assert_int_equal(r.n_epochs, 80);
	cot_sim_destroy(w.sim);
}

static void work_and_energy_are_conserved(void **state)
{
	unsigned n = random_n_cases(150), i;

	(void)state;
	for (i = 0; i < n; i++) {
		check_scenario(random_first_seed() + i, true);
		check_scenario(random_first_seed() + i, false);
	}
}

/* The instant at which a run is cut has no part in what comes out. */
static void results_do_not_depend_on_when_one_looks(void **state)
{
	struct cot_sim_result a, c;
	struct sim_build b;
	struct cot_sim *sim;
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= 20; seed++) {
		draw_scenario(&b, seed);
		assert_int_equal(cot_sim_create(&b.sc, NULL, NULL, NULL, &sim, NULL), 0);
		(void)cot_sim_run(sim, UINT64_MAX);
		cot_sim_result(sim, &a);
		cot_sim_destroy(sim);
		assert_int_equal(cot_sim_create(&b.sc, NULL, &watcher,
						&(struct watch){.n_apps = b.sc.n_apps}, &sim, NULL),
				 0);
		(void)cot_sim_run(sim, UINT64_MAX);
		cot_sim_result(sim, &c);
		cot_sim_destroy(sim);
		assert_true(a.counts.energy_j == c.counts.energy_j);
		assert_true(a.counts.insts[0] == c.counts.insts[0]);
		assert_int_equal(a.block_completions, c.block_completions);
	}
}

/* percent of what it reaches alone, by the instructions of the named kernel. */
static void promises_are_resolved(void **state)
{
	struct sim_build b;
	double ipc;

	(void)state;
	build_gpu(&b, "dss", 2);
	b.sc.apps[0].qos.percent = 0;
	build_app(&b, "a")->qos.percent = 90;
	(void)build_work(&b, 1000, 4, 4000, 4, 0);
	assert_int_equal(cot_qos_isolated_ipc(&b.sc, 0, &ipc), 0);
	NEAR(ipc, 4.0, 1e-6);
	assert_int_equal(cot_qos_resolve(&b.sc), 0);
	NEAR(b.sc.apps[0].qos.ipc, 3.6, 1e-6);
	(void)snprintf(b.sc.apps[0].qos.kernel, COT_NAME_MAX, "other");
	assert_int_equal(cot_qos_isolated_ipc(&b.sc, 0, &ipc), 0);
	assert_true(ipc == 0.0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(issue_slots_set_the_pace),
		cmocka_unit_test(memory_slows_those_that_use_it),
		cmocka_unit_test(sharing_an_sm_may_cost),
		cmocka_unit_test(sharing_an_sm_costs_cache),
		cmocka_unit_test(copies_wait_for_memory),
		cmocka_unit_test(measured_kernels_keep_their_time),
		cmocka_unit_test(work_and_energy_are_conserved),
		cmocka_unit_test(results_do_not_depend_on_when_one_looks),
		cmocka_unit_test(promises_are_resolved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
