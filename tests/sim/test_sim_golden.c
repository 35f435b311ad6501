/*
 * Nothing changes unnoticed: all that observers are told of random scenarios, and the results to
 * the last bit, as one number for each scheduler, mechanism and kind of scenario, beside the
 * numbers in golden.txt. They are the same with every compiler. They say that something changed,
 * not what is right: that say the tests with schedules that were worked out by hand.
 *
 * Where a change of the outcome is meant: COT_GOLDEN=write writes the file anew.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support/sim_random.h"
#include "support/sim_trail.h"
#include "test.h"

#define N_SEEDS	     12u
#define MAX_INSTANTS 2000u
#define FILE_NAME    "tests/sim/golden.txt"

/* ---- what is seen ---- */

static void add_double(uint64_t *hash, double x)
{
	uint64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	trail_add(hash, bits);
}

static void run_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app, uint64_t run)
{
	trail_add(arg, begin_ps);
	trail_add(arg, end_ps);
	trail_add(arg, (uint64_t)app << 32 | run);
}

static void add_counts(uint64_t *hash, const struct cot_sim_counts *n, uint32_t n_apps)
{
	uint32_t i;

	for (i = 0; i < n_apps; i++) {
		add_double(hash, n->insts[i]);
		add_double(hash, n->bytes[i]);
	}
	add_double(hash, n->transfer_bytes);
	add_double(hash, n->energy_j);
	add_double(hash, n->gated_sm_us);
	add_double(hash, n->active_sm_us);
}

static void epoch_done(void *arg, const struct cot_sim_epoch *e)
{
	uint32_t i;

	trail_add(arg, e->index);
	trail_add(arg, e->begin_ps);
	trail_add(arg, e->end_ps);
	trail_add(arg, e->n_gated);
	for (i = 0; i < PLAY_APPS; i++)
		trail_add(arg, e->sms[i]);
	add_counts(arg, &e->counts, PLAY_APPS);
}

static const struct cot_sim_observer observer = {
	.sm_changed = trail_sm_changed,
	.app_changed = trail_app_changed,
	.kernel_done = trail_kernel_done,
	.run_done = run_done,
	.epoch_done = epoch_done,
};

static void add_result(uint64_t *hash, const struct cot_sim_result *r)
{
	uint32_t i;

	trail_add(hash, r->end_ps);
	trail_add(hash, r->block_completions);
	trail_add(hash, r->preemptions);
	trail_add(hash, r->saved_bytes);
	trail_add(hash, r->restored_bytes);
	add_double(hash, r->latency_p50_ps);
	add_double(hash, r->latency_p99_ps);
	trail_add(hash, r->latency_max_ps);
	trail_add(hash, r->refused);
	trail_add(hash, r->n_epochs);
	add_counts(hash, &r->counts, r->n_apps);
	for (i = 0; i < r->n_apps; i++) {
		trail_add(hash, r->apps[i].runs);
		trail_add(hash, r->apps[i].turnaround_sum_ps);
	}
}

/* ---- scenarios ---- */

static void build_plain(struct sim_build *b, const struct random_case *rc)
{
	random_build(b, rc);
}

static void build_long(struct sim_build *b, const struct random_case *rc)
{
	random_build_long(b, rc);
}

static double part(struct cot_rng *rng, double most)
{
	return most * (double)cot_rng_below(rng, 65) / 64;
}

/* One after the other: initialisers have no order of their own. */
static void build_work(struct cot_kernel *kernel, struct cot_rng *rng)
{
	struct cot_kernel_work *w = &kernel->work;

	w->insts = kernel->block_ps / 1000;
	w->warps = 1 + (uint32_t)cot_rng_below(rng, 8);
	w->cpi = 1 + part(rng, 12);
	w->mem_fraction = cot_rng_below(rng, 2) ? part(rng, 0.3) : 0;
	w->dram_bytes = part(rng, 128);
	w->latency = 40 + part(rng, 300);
	w->mlp = 1 + part(rng, 3);
	w->ipc_max = cot_rng_below(rng, 4) ? 0 : 0.5;
}

/* Most kernels say what their blocks do; half of the apps have been promised something. */
static void build_goals(struct sim_build *b, const struct random_case *rc)
{
	struct cot_rng rng = {rc->seed ^ 0x676f616c};
	struct cot_gpu *gpu = &b->sc.gpu;
	uint32_t i, k;

	random_build(b, rc);
	gpu->dram_bytes_per_s = 10000000000ull * gpu->n_sms;
	gpu->issue_width = 2;
	gpu->sm_bytes_per_cycle = 32;
	gpu->dram_efficiency = 0.8;
	gpu->queueing = part(&rng, 1);
	gpu->share_penalty = part(&rng, 1);
	gpu->share_stall = cot_rng_below(&rng, 2) ? part(&rng, 0.5) : 0;
	gpu->blocks_per_sm = 4 + (uint32_t)cot_rng_below(&rng, 5);
	gpu->power = (struct cot_gpu_power){10, 0.1, 1.5, 4, 10, 20, 1000};
	b->sc.rate_noise = cot_rng_below(&rng, 2) ? 0.1 : 0;
	b->sc.qos_batch_sms = 1;
	b->sc.epoch_cycles = 10000;
	for (i = 0; i < b->sc.n_apps; i++) {
		if (cot_rng_below(&rng, 2))
			b->sc.apps[i].qos.ipc = 0.1 + part(&rng, gpu->n_sms);
		for (k = 0; k < b->sc.apps[i].program.n_kernels; k++) {
			struct cot_kernel *kernel = &b->kernels[i][k];

			kernel->n_blocks *= 1 + (uint32_t)cot_rng_below(&rng, 8);
			if (!cot_rng_below(&rng, 5))
				continue;
			build_work(kernel, &rng);
		}
	}
	build_stop_at(b, 200);
}

static const struct {
	const char *name;
	void (*build)(struct sim_build *b, const struct random_case *rc);
} kinds[] = {{"plain", build_plain}, {"long", build_long}, {"goals", build_goals}};

static uint64_t play_case(uint32_t kind, const struct random_case *rc)
{
	uint64_t hash = rc->seed;
	struct cot_sim_result r;
	struct sim_build b;
	struct cot_sim *sim;

	kinds[kind].build(&b, rc);
	assert_int_equal(cot_sim_create(&b.sc, NULL, &observer, &hash, &sim, NULL), 0);
	trail_add(&hash, cot_sim_run(sim, MAX_INSTANTS));
	cot_sim_result(sim, &r);
	add_result(&hash, &r);
	add_double(&hash, cot_sim_power_w(sim));
	add_double(&hash, cot_sim_progress(sim));
	cot_sim_destroy(sim);
	return hash;
}

/* ---- the file ---- */

typedef void line_fn(FILE *file, const char *name, uint64_t hash);

static void write_line(FILE *file, const char *name, uint64_t hash)
{
	assert_true(fprintf(file, "%s %016llx\n", name, (unsigned long long)hash) > 0);
}

static void compare_line(FILE *file, const char *name, uint64_t hash)
{
	char line[256] = "", expected[256];

	(void)snprintf(expected, sizeof(expected), "%s %016llx\n", name, (unsigned long long)hash);
	if (!fgets(line, sizeof(line), file) || strcmp(line, expected) != 0)
		fail_msg("the outcome of %s with seeds 1 to %u is not that of " FILE_NAME
			 ":\n%sexpected\n%sIf that is meant: COT_GOLDEN=write",
			 name, N_SEEDS, expected, line);
}

static void for_each_kind(FILE *file, line_fn *fn)
{
	struct random_case rc;
	unsigned s, m, j, k;

	for (s = 0; s < hw_n_scheds; s++)
		for (m = 0; m < 2; m++)
			for (j = 0; j < 2; j++)
				for (k = 0; k < COT_ARRAY_LEN(kinds); k++) {
					char name[128];
					uint64_t hash = 0;

					rc = (struct random_case){hw_scheds[s]->name,
								  m ? COT_PREEMPT_DRAIN
								    : COT_PREEMPT_SWITCH,
								  j ? 0.3 : 0.0, 1};
					for (; rc.seed <= N_SEEDS; rc.seed++)
						trail_add(&hash, play_case(k, &rc));
					(void)snprintf(name, sizeof(name), "%s, %s, %s, %s",
						       rc.scheduler, m ? "drain" : "switch",
						       j ? "jitter" : "equal", kinds[k].name);
					fn(file, name, hash);
				}
}

static void nothing_changes(void **state)
{
	const char *mode = getenv("COT_GOLDEN");
	bool writes = mode && !strcmp(mode, "write");
	FILE *file = fopen(FILE_NAME, writes ? "w" : "r");

	(void)state;
	assert_non_null(file);
	for_each_kind(file, writes ? write_line : compare_line);
	assert_int_equal(fclose(file), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_changes)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
