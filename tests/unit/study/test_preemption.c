/* The reproduction's own arithmetic: workloads, groups, crossings, the paper's tables. */
#include <string.h>

#include "study/preemption/preemption.h"
#include "study/preemption/stat.h"
#include "test.h"

#define N_APPS 10

static const uint8_t ten_apps[N_APPS] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};

static void high_priority_role_is_shared_equally(void **state)
{
	unsigned times[N_APPS] = {0}, companions[N_APPS] = {0}, places[8] = {0};
	unsigned i, j;

	(void)state;
	for (i = 0; i < 5 * N_APPS; i++) {
		struct cot_workload w = cot_workload_priority(1, ten_apps, N_APPS, 8, i);

		assert_int_equal(w.n, 8);
		assert_true(w.high < 8);
		times[w.apps[w.high]]++;
		places[w.high]++;
		for (j = 0; j < w.n; j++) {
			assert_true(w.apps[j] < N_APPS);
			companions[w.apps[j]]++;
		}
	}
	for (i = 0; i < N_APPS; i++) {
		assert_int_equal(times[i], 5);
		assert_true(companions[i] > 5); /* as a companion, too */
	}
	for (i = 0; i < 8; i++)
		assert_true(places[i] > 0);
}

static void workloads_depend_on_seed_size_and_index_only(void **state)
{
	struct cot_workload a = cot_workload_random(7, ten_apps, N_APPS, 6, 3);
	struct cot_workload b = cot_workload_random(7, ten_apps, N_APPS, 6, 3);
	struct cot_workload other_seed = cot_workload_random(8, ten_apps, N_APPS, 6, 3);
	struct cot_workload other_index = cot_workload_random(7, ten_apps, N_APPS, 6, 4);

	(void)state;
	assert_memory_equal(&a, &b, sizeof(a));
	assert_true(a.seed != other_seed.seed);
	assert_true(a.seed != other_index.seed);
	assert_true(memcmp(a.apps, other_seed.apps, sizeof(a.apps)) ||
		    memcmp(a.apps, other_index.apps, sizeof(a.apps)));
}

static void a_hundred_pairs_are_all_pairs(void **state)
{
	unsigned times[N_APPS][N_APPS] = {{0}}, i, j;

	(void)state;
	for (i = 0; i < N_APPS * N_APPS; i++) {
		struct cot_workload w = cot_workload_priority(1, ten_apps, N_APPS, 2, i);

		times[w.apps[w.high]][w.apps[1 - w.high]]++;
	}
	for (i = 0; i < N_APPS; i++)
		for (j = 0; j < N_APPS; j++)
			assert_int_equal(times[i][j], 1);
}

static void every_place_sees_every_benchmark(void **state)
{
	unsigned times[8][N_APPS] = {{0}}, n_doubles = 0, i, j;

	(void)state;
	for (i = 0; i < 3 * N_APPS; i++) {
		struct cot_workload w = cot_workload_random(5, ten_apps, N_APPS, 8, i);
		unsigned seen = 0;

		for (j = 0; j < 8; j++) {
			times[j][w.apps[j]]++;
			n_doubles += seen >> w.apps[j] & 1;
			seen |= 1u << w.apps[j];
		}
	}
	for (i = 0; i < 8; i++)
		for (j = 0; j < N_APPS; j++)
			assert_int_equal(times[i][j], 3);
	assert_true(n_doubles > 0);
}

static void workloads_draw_only_from_the_given_apps(void **state)
{
	static const uint8_t some[] = {2, 5};
	unsigned i, j;

	(void)state;
	for (i = 0; i < 20; i++) {
		struct cot_workload w = cot_workload_random(3, some, 2, COT_WORKLOAD_MAX, i);

		for (j = 0; j < w.n; j++)
			assert_true(w.apps[j] == 2 || w.apps[j] == 5);
	}
}

static void add_times(struct cot_accu *a, double x, unsigned n)
{
	while (n--)
		cot_accu_add(a, x);
}

/* Section 4.2: (3 * 1.76 + 5 * 4.6 + 2 * 63.7) / 10 = 15.57, printed as 15.6. */
static void groups_recombine_to_the_printed_average(void **state)
{
	struct cot_accu per_benchmark[N_APPS] = {0};
	bool all[N_APPS], medium[N_APPS];
	unsigned i;

	(void)state;
	for (i = 0; i < N_APPS; i++) {
		add_times(&per_benchmark[i], i < 3 ? 1.76 : i < 8 ? 4.6 : 63.7, 1 + i % 3);
		all[i] = true;
		medium[i] = i >= 3 && i < 8;
	}
	assert_float_equal(cot_mean_of_groups(per_benchmark, all, N_APPS).mean, 15.568, 1e-9);
	assert_float_equal(cot_mean_of_groups(per_benchmark, medium, N_APPS).mean, 4.6, 1e-9);
}

/* 1/4 and 9/3: the mean of the ratios is 1.625, the ratio of the means 10/7. Members with more
 * values do not weigh more. */
static void ratios_are_averaged_both_ways(void **state)
{
	struct cot_accu a[2] = {0};
	const bool both[2] = {true, true};

	(void)state;
	cot_accu_add_ratio(&a[0], 1.0, 4.0);
	cot_accu_add_ratio(&a[0], 9.0, 3.0);
	assert_float_equal(cot_accu_mean(&a[0]).mean, 1.625, 1e-12);
	assert_float_equal(cot_accu_mean(&a[0]).of_means, 10.0 / 7.0, 1e-12);
	cot_accu_add_ratio(&a[1], 1.0, 0.5);
	assert_float_equal(cot_mean_of_groups(a, both, 2).mean, (1.625 + 2.0) / 2.0, 1e-12);
	assert_float_equal(cot_mean_of_groups(a, both, 2).of_means, (5.0 + 1.0) / (3.5 + 0.5),
			   1e-12);
	cot_accu_add(&a[1], 1.0);
	assert_float_equal(cot_share_mean(0.5, 4).of_means, 0.0, 0.0);
}

static void benchmarks_without_values_do_not_count(void **state)
{
	struct cot_accu per_benchmark[3] = {0};
	const bool all[3] = {true, true, true}, none[3] = {false, true, false};

	(void)state;
	add_times(&per_benchmark[0], 2.0, 4);
	add_times(&per_benchmark[2], 4.0, 1);
	assert_float_equal(cot_mean_of_groups(per_benchmark, all, 3).mean, 3.0, 1e-12);
	assert_int_equal(cot_mean_of_groups(per_benchmark, none, 3).n, 0);
}

static void intervals_come_from_the_spread(void **state)
{
	struct cot_accu a = {0};

	(void)state;
	cot_accu_add(&a, 1.0);
	assert_float_equal(cot_accu_mean(&a).half_width, 0.0, 0.0);
	cot_accu_add(&a, 3.0);
	assert_float_equal(cot_accu_mean(&a).mean, 2.0, 1e-12);
	assert_float_equal(cot_accu_mean(&a).half_width, 1.96, 1e-9); /* variance 2, n 2 */
}

static void crossing_is_where_the_curves_swap(void **state)
{
	const double a[6] = {1.0, 2.0, 3.0, 6.0, 8.0, 9.0};
	const double b[6] = {2.0, 3.0, 4.0, 5.0, 6.0, 7.0};
	struct cot_crossing c = cot_preemption_crossing(a, b, 6);

	(void)state;
	assert_int_equal(c.rank, 3);
	assert_float_equal(c.agreement, 1.0, 0.0);
	c = cot_preemption_crossing(b, a, 6);
	assert_true(c.agreement < 1.0);
}

static void curves_that_do_not_cross(void **state)
{
	const double low[3] = {1.0, 2.0, 3.0}, high[3] = {2.0, 3.0, 4.0};

	(void)state;
	assert_int_equal(cot_preemption_crossing(low, high, 3).rank, 3);
	assert_int_equal(cot_preemption_crossing(high, low, 3).rank, 0);
	assert_int_equal(cot_preemption_crossing(low, low, 3).rank, 0);
	assert_int_equal(cot_preemption_crossing(low, high, 0).rank, 0);
}

static void a_stray_rank_does_not_move_the_crossing(void **state)
{
	const double a[6] = {1.0, 2.5, 3.0, 4.0, 7.0, 8.0};
	const double b[6] = {2.0, 2.0, 4.0, 5.0, 6.0, 7.0};
	struct cot_crossing c = cot_preemption_crossing(a, b, 6);

	(void)state;
	assert_int_equal(c.rank, 4);
	assert_float_equal(c.agreement, 5.0 / 6.0, 1e-12);
}

static void embedded_tables_are_complete(void **state)
{
	static struct cot_printed p;
	unsigned by_class1[COT_N_SIZES] = {0}, by_class2[COT_N_SIZES] = {0}, i;
	struct cot_error err;

	(void)state;
	assert_int_equal(cot_printed_load(&p, &err), 0);
	assert_int_equal(p.n_kernels, 24);
	assert_int_equal(p.n_benchmarks, 10);
	for (i = 0; i < p.n_benchmarks; i++) {
		by_class1[p.benchmarks[i].class1]++;
		by_class2[p.benchmarks[i].class2]++;
	}
	assert_int_equal(by_class1[COT_SIZE_SHORT], 2);
	assert_int_equal(by_class1[COT_SIZE_MEDIUM], 5);
	assert_int_equal(by_class1[COT_SIZE_LONG], 3);
	assert_int_equal(by_class2[COT_SIZE_SHORT], 3);
	assert_int_equal(by_class2[COT_SIZE_MEDIUM], 3);
	assert_int_equal(by_class2[COT_SIZE_LONG], 4);
	for (i = 0; i < p.n_entries; i++) {
		const struct cot_printed_entry *e = &p.entries[i];

		if (!strcmp(e->figure, "5") && !strcmp(e->group, "SHORT") &&
		    !strcmp(e->mechanism, "switch")) {
			assert_int_equal(e->nproc_lo, 2);
			assert_int_equal(e->nproc_hi, 8);
			assert_float_equal(e->value_lo, 5.1, 1e-12);
			assert_float_equal(e->value_hi, 63.7, 1e-12);
			return;
		}
	}
	fail_msg("Figure 5, SHORT, context switch is missing");
}

#define HEADER "id,figure,metric,mechanism,group,nproc_lo,nproc_hi,value_lo,value_hi,kind,source\n"

static int read_results(const char *text, struct cot_printed *p, struct cot_error *err)
{
	memset(p, 0, sizeof(*p));
	return cot_printed_read_results("t.csv", text, strlen(text), p, err);
}

static void bad_tables_are_told_by_line(void **state)
{
	static const char *const bad[] = {
		HEADER "a,5,m,npq,average,2,8,x,2,number,s\n",
		HEADER "a,5,m,npq,average,2,8,-1,2,number,s\n",
		HEADER "a,5,m,npq,average,8,2,1,2,number,s\n",
		HEADER "a,5,m,npq,average,0,2,1,2,number,s\n",
		HEADER "a,5,m,npq,,2,8,1,2,number,s\n",
		HEADER "a,5,m,npq,average,2,8,1,2,number\n",
	};
	static struct cot_printed p;
	struct cot_error err;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(bad); i++) {
		err.text[0] = '\0';
		assert_true(read_results(bad[i], &p, &err) < 0);
		assert_int_equal(strncmp(err.text, "t.csv:2", 7), 0);
		assert_non_null(strstr(err.text, "expected"));
	}
	assert_true(read_results("id,figure\na,5\n", &p, &err) < 0);
	assert_string_equal(err.text, "t.csv:1:1: the table has no column 'metric'; expected one");
	assert_int_equal(read_results(HEADER "a,5,m,npq,average,2,8,1.5,2,number,s\n", &p, &err),
			 0);
	assert_int_equal(p.n_entries, 1);
	assert_float_equal(p.entries[0].value_lo, 1.5, 1e-12);
}

/* Two processes: the second gains under DSS, the first loses. */
static void points_follow_from_the_times(void **state)
{
	static struct cot_printed printed;
	struct cot_preemption_sample s = {
		.n_sizes = 1, .sizes = {2}, .n_prio = {1}, .n_dss = 1, .lends = true};
	struct cot_preemption_points points;
	struct cot_error err;
	const struct cot_preemption_point *p;

	(void)state;
	assert_int_equal(cot_printed_load(&printed, &err), 0);
	assert_true(cot_preemption_sample_alloc(&s));
	s.single_us[0] = 10.0;
	s.single_us[1] = 20.0;
	s.prio[0][0] = (struct cot_preemption_case){
		.load = {.n = 2, .high = 1, .apps = {0, 1}},
		.multi_us = {[COT_PRIO_FCFS] = {20.0, 60.0},
			     [COT_PRIO_NPQ] = {20.0, 60.0},
			     [COT_PRIO_PPQ_SWITCH] = {40.0, 20.0},
			     [COT_PRIO_PPQ_DRAIN] = {40.0, 30.0},
			     [COT_PRIO_SHARED_SWITCH] = {40.0, 20.0},
			     [COT_PRIO_SHARED_DRAIN] = {40.0, 30.0}},
	};
	s.dss[0][0] = (struct cot_preemption_case){
		.load = {.n = 2, .apps = {0, 1}},
		.multi_us = {{20.0, 80.0}, {25.0, 40.0}, {40.0, 80.0}, {10.0, 20.0}, {20.0, 40.0}},
	};
	assert_int_equal(cot_preemption_points_make(&s, &printed, &points), 0);
	p = cot_preemption_points_find(&points, "5", "switch", printed.benchmarks[1].name, 2);
	assert_non_null(p);
	assert_float_equal(p->value, 3.0, 1e-12);
	/* STP: NPQ 0.5 + 1/3, PPQ 0.25 + 1. */
	p = cot_preemption_points_find(&points, "6a", "switch", "average", 2);
	assert_float_equal(p->value, (0.5 + 1.0 / 3.0) / 1.25, 1e-12);
	/* Fairness: FCFS 0.25 / 0.5, DSS 0.4 / 0.5. */
	p = cot_preemption_points_find(&points, "7b", "switch", "average", 2);
	assert_float_equal(p->value, 1.6, 1e-12);
	/* ANTT: FCFS (2 + 4) / 2, switch (2.5 + 2) / 2, drain (4 + 4) / 2. */
	p = cot_preemption_points_find(&points, "8", "switch", "workloads", 2);
	assert_float_equal(p->value, 1.0, 0.0);
	p = cot_preemption_points_find(&points, "8", "drain", "workloads", 2);
	assert_float_equal(p->value, 0.0, 0.0);
	/* Under `dss` both are as fast as alone with switching, half as fast with draining. */
	p = cot_preemption_points_find(&points, "7b", COT_LEND "switch", "average", 2);
	assert_float_equal(p->value, 2.0, 1e-12);
	p = cot_preemption_points_find(&points, "7a", COT_LEND "drain", "average", 2);
	assert_float_equal(p->value, (1.0 + 2.0) / 2.0, 1e-12);
	assert_float_equal(p->of_means, (2.0 + 4.0) / (2.0 + 2.0), 1e-12);
	cot_preemption_points_finish(&points);
	cot_preemption_sample_finish(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(high_priority_role_is_shared_equally),
		cmocka_unit_test(workloads_depend_on_seed_size_and_index_only),
		cmocka_unit_test(a_hundred_pairs_are_all_pairs),
		cmocka_unit_test(every_place_sees_every_benchmark),
		cmocka_unit_test(workloads_draw_only_from_the_given_apps),
		cmocka_unit_test(groups_recombine_to_the_printed_average),
		cmocka_unit_test(ratios_are_averaged_both_ways),
		cmocka_unit_test(benchmarks_without_values_do_not_count),
		cmocka_unit_test(intervals_come_from_the_spread),
		cmocka_unit_test(crossing_is_where_the_curves_swap),
		cmocka_unit_test(curves_that_do_not_cross),
		cmocka_unit_test(a_stray_rank_does_not_move_the_crossing),
		cmocka_unit_test(embedded_tables_are_complete),
		cmocka_unit_test(bad_tables_are_told_by_line),
		cmocka_unit_test(points_follow_from_the_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
