/* Which programs should run together, by times on parts: by hand, and against all divisions. */
#include "model/gang.h"

#include "base/rng.h"
#include "test.h"

#define UNITS 4u

static const struct cot_gang_gpu gpu = {
	.n_units = UNITS, .bytes_per_s = 100, .base_w = 10, .aim = COT_MODEL_TIME};

/* Twice the units, half of the time. */
static const struct cot_gang_program scaling = {.time_s = {4, 2, 4 / 3.0, 1}};
/* No use for more than two. */
static const struct cot_gang_program narrow = {.time_s = {2, 1, 1, 1}};
/* Three quarters of its rate on a half. */
static const struct cot_gang_program flat = {.time_s = {2.5, 1.5, 1.2, 1}};

static struct cot_gang judge(const struct cot_gang_gpu *g, struct cot_gang_program a,
			     struct cot_gang_program b)
{
	struct cot_gang_program programs[] = {a, b};
	struct cot_gang gang;

	cot_gang_judge(g, programs, 3, &gang);
	return gang;
}

static void expect(double is, double expected)
{
	assert_true(is > expected - 1e-12 && is < expected + 1e-12);
}

static void test_what_scales_runs_apart(void **state)
{
	struct cot_gang g = judge(&gpu, scaling, scaling);

	(void)state;
	expect(g.parts_s, 2);
	expect(g.shared_s, 2);
	expect(g.apart_s, 2);
	assert_int_equal(g.way, COT_GANG_ALONE);
	expect(g.seconds, 2);
	assert_true(g.saved <= 0);
}

static void test_half_of_the_units_each(void **state)
{
	struct cot_gang g = judge(&gpu, narrow, narrow);

	(void)state;
	assert_int_equal(g.way, COT_GANG_PARTS);
	assert_int_equal(g.units[0], 2);
	assert_int_equal(g.units[1], 2);
	expect(g.seconds, 1);
	expect(g.shared_s, 1);
	expect(g.saved, 0.5);
	/* 10 W for one second less. */
	expect(g.apart_j - g.energy_j, 10);
}

/* On parts both have 1.5; on all SMs each takes all of them, one after the other. */
static void test_parts_beat_all_sms(void **state)
{
	struct cot_gang g = judge(&gpu, flat, flat);

	(void)state;
	assert_int_equal(g.way, COT_GANG_PARTS);
	expect(g.seconds, 1.5);
	expect(g.shared_s, 2);
}

/* One needs three units and a half of a second, the other one and a whole second: no division has
 * three and two of four, but in time they fit. */
static void test_all_sms_beat_parts(void **state)
{
	struct cot_gang_program shorter = {.time_s = {1.5, 0.75, 0.5, 0.5}};
	struct cot_gang g = judge(&gpu, shorter, narrow);

	(void)state;
	expect(g.parts_s, 1); /* two units each: 0.75 and 1 */
	assert_int_equal(g.way, COT_GANG_PARTS);
	shorter = (struct cot_gang_program){.time_s = {4, 4, 0.6, 0.6}};
	g = judge(&gpu, shorter, narrow);
	expect(g.parts_s, 2);
	expect(g.shared_s, 1);
	assert_int_equal(g.way, COT_GANG_SHARED);
}

static void test_bandwidth_is_shared(void **state)
{
	struct cot_gang_program a = narrow, b = narrow;
	struct cot_gang g;

	(void)state;
	a.bytes = 90;
	b.bytes = 60;
	g = judge(&gpu, a, b);
	expect(g.seconds, 1.5);
	b.bytes = 110;
	g = judge(&gpu, a, b);
	expect(g.parts_s, 2);
	assert_int_equal(g.way, COT_GANG_ALONE);
}

/* Beyond 10 W 90 and 60 J; 100 W more are there. */
static void test_power_is_limited(void **state)
{
	struct cot_gang_program a = narrow, b = narrow;
	struct cot_gang_gpu limited = gpu;
	struct cot_gang g;

	(void)state;
	limited.limit_w = 110;
	a.more_j = 90;
	b.more_j = 60;
	g = judge(&limited, a, b);
	expect(g.parts_s, 1.5);
	expect(g.shared_s, 1.5);
	expect(g.energy_j, 150 + 10 * 1.5);
	expect(g.energy_j / g.seconds, limited.limit_w);
	a.more_j = b.more_j = 100;
	assert_int_equal(judge(&limited, a, b).way, COT_GANG_ALONE);
	limited.limit_w = 0;
	expect(judge(&limited, a, b).seconds, 1);
}

/* Profiled where more was allowed: alone it takes longer, too. */
static void test_limit_of_one(void **state)
{
	struct cot_gang_program a = narrow, b = narrow;
	struct cot_gang_gpu limited = gpu;
	struct cot_gang g;

	(void)state;
	limited.limit_w = 60;
	a.more_j = 100; /* 2 s instead of 1 */
	b.more_j = 25;
	g = judge(&limited, a, b);
	expect(g.apart_s, 3);
	expect(g.apart_j, 125 + 30);
	expect(g.seconds, 2.5);
	assert_int_equal(g.way, COT_GANG_PARTS);
}

static void test_least_gain(void **state)
{
	struct cot_gang_gpu strict = gpu;

	(void)state;
	strict.min_gain = 0.24;
	assert_int_equal(judge(&strict, flat, flat).way, COT_GANG_PARTS);
	strict.min_gain = 0.26;
	assert_int_equal(judge(&strict, flat, flat).way, COT_GANG_ALONE);
}

/* Together 10 W * 1 s and 2 * 5 J; the CPU does both for less energy, but takes longer. */
static void test_cpu_by_energy_and_time(void **state)
{
	struct cot_gang_program p = narrow;
	struct cot_gang_gpu g = gpu;

	(void)state;
	p.more_j = 5;
	p.cpu_s = 3;
	p.cpu_j = 9;
	g.aim = COT_MODEL_ENERGY;
	assert_int_equal(judge(&g, p, p).way, COT_GANG_CPU);
	g.aim = COT_MODEL_TIME;
	assert_int_equal(judge(&g, p, p).way, COT_GANG_PARTS);
	g.aim = COT_MODEL_ENERGY;
	p.cpu_j = 11;
	expect(judge(&g, p, p).energy_j, 20);
	assert_int_equal(judge(&g, p, p).way, COT_GANG_PARTS);
	expect(judge(&g, p, p).saved, 1 - 20 / 22.0);
	/* One of the two alone on the CPU takes less than what is saved together. */
	p.cpu_j = 1;
	assert_int_equal(judge(&g, p, narrow).way, COT_GANG_ALONE);
}

static void test_one_program(void **state)
{
	struct cot_gang_program p = scaling;
	struct cot_gang g;

	(void)state;
	p.more_j = 5;
	cot_gang_judge(&gpu, &p, 1, &g);
	assert_int_equal(g.way, COT_GANG_ALONE);
	assert_int_equal(g.n, 1);
	expect(g.seconds, 1);
	expect(g.energy_j, 15);
	p.cpu_s = 0.9;
	p.cpu_j = 100;
	cot_gang_judge(&gpu, &p, 1, &g);
	assert_int_equal(g.way, COT_GANG_CPU);
}

static void test_more_programs_than_units(void **state)
{
	struct cot_gang_gpu small = gpu;
	struct cot_gang g;

	(void)state;
	small.n_units = 1;
	g = judge(&small, narrow, narrow);
	assert_int_equal(g.way, COT_GANG_ALONE);
}

static void test_plan(void **state)
{
	struct cot_gang_program programs[] = {scaling, narrow, scaling, narrow};
	struct cot_gang gangs[COT_GANG_PROGRAMS_MAX];

	(void)state;
	/* Of the others, who would hold it up for long. */
	programs[0].bytes = programs[2].bytes = 1000;
	assert_int_equal(cot_gang_plan(&gpu, programs, 4, gangs), 3);
	assert_int_equal(gangs[0].set, 10);
	assert_int_equal(gangs[0].way, COT_GANG_PARTS);
	assert_int_equal(gangs[1].set, 1);
	assert_int_equal(gangs[2].set, 4);
}

/* ---- against all divisions, and all plans by their laws ---- */

static struct cot_gang_program some_program(struct cot_rng *rng)
{
	struct cot_gang_program p = {.bytes = (double)cot_rng_below(rng, 60),
				     .more_j = (double)cot_rng_below(rng, 20)};
	double s = 0.1 + (double)cot_rng_below(rng, 20) / 10;
	uint32_t u;

	for (u = UNITS; u--;) {
		p.time_s[u] = s;
		s += (double)cot_rng_below(rng, 20) / 10;
	}
	if (!cot_rng_below(rng, 3)) {
		p.cpu_s = 1 + (double)cot_rng_below(rng, 5);
		p.cpu_j = 5 + (double)cot_rng_below(rng, 50);
	}
	return p;
}

static double best_division(const struct cot_gang_program *p)
{
	double best = 1e9, s;
	uint32_t a;

	for (a = 1; a < UNITS; a++) {
		s = p[0].time_s[a - 1];
		if (p[1].time_s[UNITS - a - 1] > s)
			s = p[1].time_s[UNITS - a - 1];
		if (s < best)
			best = s;
	}
	s = (p[0].bytes + p[1].bytes) / gpu.bytes_per_s;
	return s > best ? s : best;
}

static void test_division_is_the_best(void **state)
{
	struct cot_rng rng = {20261123};
	struct cot_gang_program p[2];
	struct cot_gang g;
	unsigned i;

	(void)state;
	for (i = 0; i < 3000; i++) {
		p[0] = some_program(&rng);
		p[1] = some_program(&rng);
		cot_gang_judge(&gpu, p, 3, &g);
		expect(g.parts_s, best_division(p));
		assert_int_equal(g.units[0] + g.units[1], UNITS);
	}
}

static void test_plans_keep_the_laws(void **state)
{
	struct cot_rng rng = {7};
	struct cot_gang_program p[COT_GANG_PROGRAMS_MAX];
	struct cot_gang gangs[COT_GANG_PROGRAMS_MAX];
	struct cot_gang_gpu g = gpu;
	unsigned i, k, n, n_gangs, set;

	(void)state;
	for (i = 0; i < 500; i++) {
		n = 1 + (unsigned)cot_rng_below(&rng, COT_GANG_PROGRAMS_MAX);
		for (k = 0; k < n; k++)
			p[k] = some_program(&rng);
		g.aim = i % 2 ? COT_MODEL_ENERGY : COT_MODEL_TIME;
		g.limit_w = i % 3 ? 0 : 30;
		n_gangs = cot_gang_plan(&g, p, n, gangs);
		for (set = 0, k = 0; k < n_gangs; k++) {
			assert_int_equal(set & gangs[k].set, 0);
			set |= gangs[k].set;
			assert_in_range(gangs[k].n, 1, COT_GANG_MAX);
			assert_true(gangs[k].seconds <= gangs[k].apart_s);
			assert_true(gangs[k].energy_j <= gangs[k].apart_j);
			assert_int_equal(gangs[k].n > 1, gangs[k].saved > 0);
			if (g.limit_w > 0)
				assert_true(gangs[k].energy_j <=
					    g.limit_w * gangs[k].seconds * (1 + 1e-9));
		}
		assert_int_equal(set, (1u << n) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_scales_runs_apart),
		cmocka_unit_test(test_half_of_the_units_each),
		cmocka_unit_test(test_parts_beat_all_sms),
		cmocka_unit_test(test_all_sms_beat_parts),
		cmocka_unit_test(test_bandwidth_is_shared),
		cmocka_unit_test(test_power_is_limited),
		cmocka_unit_test(test_limit_of_one),
		cmocka_unit_test(test_least_gain),
		cmocka_unit_test(test_cpu_by_energy_and_time),
		cmocka_unit_test(test_one_program),
		cmocka_unit_test(test_more_programs_than_units),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_division_is_the_best),
		cmocka_unit_test(test_plans_keep_the_laws),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
