/*
 * How long a prediction of the analytical models takes, and a decision from predictions:
 * nanoseconds each on one core, the median of repeats.
 *
 *     bench_model [REPEATS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/embedded.h"
#include "base/rng.h"
#include "model/alloc.h"
#include "model/knn.h"
#include "model/lag.h"
#include "model/merge.h"
#include "model/quota.h"
#include "report/model.h"
#include "report/table.h"

#define CALLS	    100000
#define TASKS	    10	 /* batch tasks that what is left of a GPU is divided among */
#define UNITS	    17	 /* of SMs: those of an H200 */
#define PROBLEMS    1000 /* divisions: they differ in what they cost */
#define QUERY	    200	 /* tasks of a query */
#define SAMPLES	    1000 /* of a query's times: 100 inputs, 10 quotas */
#define REPEATS	    11
#define REPEATS_MAX 101

static struct cot_model_input one, two;
static double sink; /* keeps the compiler from leaving the work out */

static void load(const char *name, struct cot_model_input *in)
{
	const struct cot_embedded *file = cot_embedded_find(name);
	struct cot_error err;

	if (!file || cot_kernels_parse(name, file->bytes, file->size, &in->file, &err))
		exit(1);
	cot_model_input_init(in);
}

static void time_alone(void)
{
	struct cot_model_time t;

	one.file.kernels[0].comp += 1;
	(void)cot_model_time_alone(&one.machine.gpu, &one.file.kernels[0], &t);
	sink += t.cycles;
}

static void power_alone(void)
{
	struct cot_model_events events;
	struct cot_model_draw draw;

	one.file.kernels[0].comp += 1;
	cot_model_events_of(&one.file.kernels[0], &events);
	cot_model_draw_of(&one.machine.gpu, &one.machine.power, &events, 1e9, &draw);
	sink += cot_model_energy_j(&one.machine.power, draw.dynamic_w, 1);
}

static void time_beside(void)
{
	struct cot_model_time t[2];

	two.file.kernels[0].comp += 1;
	two.file.kernels[1].n_blocks = 15;
	(void)cot_model_time_beside(&two.machine.gpu, two.file.kernels, 2, t);
	sink += t[0].cycles;
}

static void time_together(void)
{
	struct cot_model_set set;

	two.file.kernels[0].comp += 1;
	two.file.kernels[1].n_blocks = 45;
	(void)cot_model_set_time(&two.machine.gpu, two.file.kernels, 2, &two.machine.options, &set);
	sink += set.cycles;
}

static void layout(void)
{
	struct cot_model_sms sms[2] = {{0, 15, {1, 1}, 0}, {15, 15, {0, 2}, 0}};

	two.file.kernels[0].comp += 1;
	sink += cot_model_layout_cycles(&two.machine.gpu, two.file.kernels, 2, sms, 2);
}

static void judge(void)
{
	struct cot_model_verdict v;

	two.file.kernels[0].comp += 1;
	two.file.kernels[1].n_blocks = 45;
	(void)cot_model_judge(&two.machine, two.file.kernels, NULL, 2, &v);
	sink += v.together.energy_j;
}

static void long_grids(void)
{
	struct cot_model_kernel k[2] = {two.file.kernels[0], two.file.kernels[1]};
	struct cot_model_set set;

	two.file.kernels[0].comp += 1;
	k[0].n_blocks = 100000;
	k[1].n_blocks = 70001;
	(void)cot_model_set_time(&two.machine.gpu, k, 2, &two.machine.options, &set);
	sink += set.cycles;
}

static uint32_t values[PROBLEMS][TASKS][UNITS], bandwidths[PROBLEMS][TASKS][UNITS];
static uint64_t task_ns[QUERY][UNITS];
static struct cot_lag lag;
static double features[SAMPLES * 2], sample_ms[SAMPLES];
static const struct cot_samples measured = {SAMPLES, 2, features, sample_ms};
static struct cot_tree_node tree[SAMPLES];
static struct cot_knn knn;

/* Values and bandwidths that grow with the units, ever less; times that fall. */
static void draw_laius(void)
{
	struct cot_rng rng = {15};
	uint32_t i, j, m, value, bandwidth;

	for (i = 0; i < PROBLEMS; i++)
		for (j = 0; j < TASKS; j++)
			for (value = bandwidth = m = 0; m < UNITS; m++) {
				value += (uint32_t)cot_rng_below(&rng, 2000) / (m + 1);
				bandwidth += (uint32_t)cot_rng_below(&rng, 1000000) / (m + 1);
				values[i][j][m] = value;
				bandwidths[i][j][m] = bandwidth;
			}
	for (i = 0; i < QUERY; i++)
		for (m = 0; m < UNITS; m++)
			task_ns[i][m] = 10000 + cot_rng_below(&rng, 100000) / (m + 1);
	cot_lag_begin(&lag, task_ns[0], QUERY, UNITS, 4);
	for (i = 0; i < SAMPLES; i++) {
		features[i * 2] = 1 + i / 10;
		features[i * 2 + 1] = 1 + i % 10;
		sample_ms[i] = (1 + i / 10) * (1 + 10.0 / (1 + i % 10));
	}
	cot_knn_init(&knn, &measured, NULL);
}

static void grow_tree(void)
{
	static uint32_t rows[SAMPLES];

	sink += cot_tree_grow(&measured, NULL, rows, tree);
}

static const double *next_input(void)
{
	static double input[2];

	input[0] = input[0] < 100 ? input[0] + 7 : 1;
	input[1] = input[1] < 10 ? input[1] + 3 : 1;
	return input;
}

static void ask_tree(void)
{
	sink += cot_tree_predict(tree, next_input());
}

static void ask_knn(void)
{
	sink += cot_knn_predict(&knn, next_input());
}

static uint32_t next; /* problem */

static void divide(uint64_t bandwidth)
{
	struct cot_alloc_task tasks[TASKS];
	struct cot_alloc a;
	uint32_t i;

	next = (next + 1) % PROBLEMS;
	for (i = 0; i < TASKS; i++)
		tasks[i] = (struct cot_alloc_task){values[next][i], bandwidths[next][i]};
	(void)cot_alloc(tasks, TASKS, UNITS, bandwidth, &a);
	sink += (double)a.value;
}

static void divide_freely(void)
{
	divide(COT_ALLOC_NO_LIMIT);
}

static void divide_bandwidth(void)
{
	divide(3000000);
}

/* Bandwidth for every third of these programs or so. */
static void divide_scarce(void)
{
	divide(2000000);
}

static void just_enough(void)
{
	static uint64_t budget_ns;

	budget_ns = (budget_ns + 7919) % 100000;
	sink += cot_quota_just_enough(task_ns[0], UNITS, budget_ns);
}

static void begin_query(void)
{
	cot_lag_begin(&lag, task_ns[0], QUERY, UNITS, 4);
	sink += (double)lag.planned_ns;
}

/* Every other task is late, so that other quotas are looked at. */
static void end_of_a_task(void)
{
	uint32_t done = lag.n_done + 1;

	if (done > QUERY)
		begin_query();
	done = lag.n_done + 1;
	sink += cot_lag_next(&lag, done, lag.planned_ns * (done + done % 2 * 20) / QUERY);
}

/* Each time another shape: nothing is found. */
static void judge_merge(void)
{
	static struct cot_merge_verdicts verdicts;
	static uint32_t n;
	struct cot_merge_set set = {.n = 2 + n % 8,
				    .blocks = 1 + n % 1000,
				    .n_sms = 132,
				    .per_sm = 8,
				    .merged_per_sm = 7,
				    .launch_ns = 2500,
				    .event_ns = 500,
				    .n_events = 2 + n % 8};
	uint64_t key = cot_merge_key(n, 64, set.n, set.blocks);
	bool merge;

	n++;
	if (cot_merge_verdict_find(&verdicts, key, &merge))
		sink++;
	merge = cot_merge_judge(&set);
	cot_merge_verdict_put(&verdicts, key, merge);
	sink += merge;
}

static void find_verdict(void)
{
	static struct cot_merge_verdicts verdicts;
	uint64_t key = cot_merge_key(1, 64, 4, 100);
	bool merge = false;

	if (!cot_merge_verdict_find(&verdicts, key, &merge))
		cot_merge_verdict_put(&verdicts, key, true);
	sink += merge;
}

static const struct {
	const char *name;
	void (*call)(void);
	unsigned kernels, calls; /* 0: CALLS */
} points[] = {
	{"time of a kernel alone", time_alone, 1, 0},
	{"power and energy of a kernel", power_alone, 1, 0},
	{"two kernels side by side (first category)", time_beside, 2, 0},
	{"two kernels with blocks as given", layout, 2, 0},
	{"two kernels together (second category)", time_together, 2, 0},
	{"two long grids together", long_grids, 2, 0},
	{"decision on two kernels", judge, 2, 0},
	{"a tree grows on 1000 samples", grow_tree, 1, 10},
	{"a query's time, by the tree", ask_tree, 1, 0},
	{"a query's time, by neighbours", ask_knn, 1, PROBLEMS},
	{"just-enough quota of 17", just_enough, 1, 0},
	{"17 units among 10 batch tasks", divide_freely, TASKS, PROBLEMS},
	{"the same, bandwidth is short", divide_bandwidth, TASKS, PROBLEMS},
	{"the same, bandwidth is scarce", divide_scarce, TASKS, PROBLEMS},
	{"begin of a query of 200 tasks", begin_query, QUERY, PROBLEMS},
	{"lag after a task of it", end_of_a_task, 1, 0},
	{"merged launch, judged anew and kept", judge_merge, 1, 0},
	{"merged launch, verdict found", find_verdict, 1, 0},
};

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double measure(void (*call)(void), unsigned calls, unsigned repeats)
{
	double samples[REPEATS_MAX], begin;
	unsigned i, j;

	for (i = 0; i < repeats; i++) {
		begin = now_ns();
		for (j = 0; j < calls; j++)
			call();
		samples[i] = (now_ns() - begin) / calls;
	}
	qsort(samples, repeats, sizeof(*samples), compare);
	return samples[repeats / 2];
}

/* Of the problems the one that takes longest; of each counts its fastest repeat. */
static double slowest(void (*call)(void), unsigned repeats)
{
	static double best[PROBLEMS];
	double begin, ns, most = 0;
	unsigned i, j;

	for (i = 0; i < repeats; i++)
		for (j = 0; j < PROBLEMS; j++) {
			begin = now_ns();
			call();
			ns = now_ns() - begin;
			if (!i || ns < best[next])
				best[next] = ns;
		}
	for (j = 0; j < PROBLEMS; j++)
		most = best[j] > most ? best[j] : most;
	return most;
}

static void print_slowest(struct cot_table *t, unsigned repeats)
{
	static const struct {
		const char *name;
		void (*call)(void);
	} rows[] = {
		{"17 units among 10 batch tasks: the slowest problem", divide_freely},
		{"the same, bandwidth is short", divide_bandwidth},
		{"the same, bandwidth is scarce", divide_scarce},
	};
	double ns;
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		ns = slowest(rows[i].call, repeats);
		cot_table_text(t, rows[i].name);
		cot_table_cell(t, "%.0f", ns);
		cot_table_cell(t, "%.0f", ns / TASKS);
	}
}

int main(int argc, char **argv)
{
	static const struct cot_column columns[] = {
		{"prediction", COT_ALIGN_LEFT},
		{"ns", COT_ALIGN_RIGHT},
		{"ns per kernel", COT_ALIGN_RIGHT},
	};
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : REPEATS, i;
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	double ns;

	if (!t || !repeats || repeats > REPEATS_MAX)
		return 2;
	load("models/consolidation-1.yaml", &one);
	load("models/consolidation-2.yaml", &two);
	draw_laius();
	for (i = 0; i < COT_ARRAY_LEN(points); i++) {
		ns = measure(points[i].call, points[i].calls ? points[i].calls : CALLS, repeats);
		cot_table_text(t, points[i].name);
		cot_table_cell(t, "%.0f", ns);
		cot_table_cell(t, "%.0f", ns / points[i].kernels);
	}
	print_slowest(t, repeats);
	(void)cot_table_print(t, stdout);
	return sink > 0 ? 0 : 1;
}
