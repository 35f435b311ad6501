/*
 * The check of the contention model against measurements: measurements that the model itself made
 * up have to give its parameters back, and what does not follow the model has to be found.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "study/contention/check.h"
#include "test.h"

#define MHZ	 2000.0
#define WIDTH	 4.0
#define PORT	 80.0
#define DRAM	 2400.0
#define QUEUEING 0.05
#define LATENCY	 700.0
#define SMS	 132u

enum { READ, MIX, FMA, CHASE, COPY, CACHED, N_KERNELS };

static const struct {
	const char *name;
	uint32_t warps, loads_ahead;
	double insts, loads, stores, bytes; /* bytes of all accesses */
	double cpi, ipc_max, dram_bytes;    /* of an access, to the model */
	enum cot_contention_memory memory;
} truth[N_KERNELS] = {
	[READ] = {"read", 64, 2, 1024, 128, 0, 65536, 3, 1.2, 512, COT_CONTENTION_DRAM},
	[MIX] = {"mix", 16, 2, 2304, 64, 0, 32768, 1.5, 0, 512, COT_CONTENTION_DRAM},
	[FMA] = {"fma", 64, 0, 16576, 0, 0, 0, 1, 0, 0, COT_CONTENTION_NONE},
	[CHASE] = {"chase", 1, 1, 416, 32, 0, 1024, 1, 0, 32, COT_CONTENTION_DRAM},
	/* Writes cost a fifth more than their bytes. */
	[COPY] = {"copy", 64, 2, 768, 128, 128, 131072, 1, 0.28, 614.4, COT_CONTENTION_DRAM},
	[CACHED] = {"read", 64, 2, 1024, 128, 0, 65536, 1, 1.24, 0, COT_CONTENTION_L2},
};

static struct cot_contention file;

/* Rates of a mix by the model, as bench_contention would have written them. */
static void add_mix(int a, uint32_t sms_a, int b, uint32_t sms_b, bool shared)
{
	const int which[] = {a, b};
	const uint32_t sms[] = {sms_a, sms_b};
	struct cot_kernel_work work[2];
	struct cot_fluid_lane lanes[2];
	struct cot_fluid_group groups[2];
	struct cot_fluid f = {
		.issue_width = WIDTH,
		.sm_bytes_per_cycle = PORT,
		.dram_bytes_per_cycle = DRAM,
		.queueing = QUEUEING,
		.load_max = 0.999,
		.groups = groups,
		.n_groups = b < 0 || shared ? 1 : 2,
	};
	struct cot_contention_run *run = &file.runs[file.n_runs++];
	uint32_t n = b < 0 ? 1 : 2, i;

	for (i = 0; i < n; i++) {
		int k = which[i];
		double accesses = truth[k].loads + truth[k].stores;

		work[i] = (struct cot_kernel_work){
			.insts = 1,
			.warps = truth[k].warps,
			.cpi = truth[k].cpi,
			.ipc_max = truth[k].ipc_max,
			.latency = LATENCY,
			.mlp = truth[k].loads_ahead ? truth[k].loads_ahead : 1,
			.mem_fraction = truth[k].dram_bytes > 0 ? accesses / truth[k].insts : 0,
			.dram_bytes = truth[k].dram_bytes,
		};
		lanes[i] = (struct cot_fluid_lane){
			.work = &work[i], .warps = truth[k].warps, .stall = 1, .penalty = 1};
		groups[i] = (struct cot_fluid_group){sms[i], 1, &lanes[i]};
	}
	if (shared)
		groups[0].n_lanes = 2;
	cot_fluid_solve(&f);
	*run = (struct cot_contention_run){.n = n, .shared = shared, .line = file.n_runs};
	for (i = 0; i < n; i++)
		run->parts[i] = (struct cot_contention_part){
			.kernel = which[i] == CACHED ? READ : (uint32_t)which[i],
			.memory = truth[which[i]].memory,
			.warps = truth[which[i]].warps,
			.sms = sms[i],
			.mhz = MHZ,
			.chunks_per_s = lanes[i].rate * sms[i] * MHZ * 1e6 / truth[which[i]].insts,
		};
}

static void add_run(int a, uint32_t sms_a, int b, uint32_t sms_b)
{
	add_mix(a, sms_a, b, sms_b, false);
}

static int make_up(void **state)
{
	static const uint32_t sms[] = {SMS, 8, 64, 32, 96};
	static const int pairs[] = {READ, MIX, FMA, COPY};
	size_t i, j;
	int k;

	(void)state;
	memset(&file, 0, sizeof(file));
	file.sms = SMS;
	file.n_kernels = CACHED;
	file.runs = calloc(200, sizeof(*file.runs));
	if (!file.runs)
		return -1;
	for (k = 0; k < CACHED; k++) {
		struct cot_contention_kernel *kernel = &file.kernels[k];

		snprintf(kernel->name, sizeof(kernel->name), "%s", truth[k].name);
		kernel->insts = truth[k].insts;
		kernel->loads = truth[k].loads;
		kernel->stores = truth[k].stores;
		kernel->loads_ahead = truth[k].loads_ahead;
		kernel->read_bytes = truth[k].bytes;
	}
	for (i = 0; i < COT_ARRAY_LEN(sms); i++)
		for (k = 0; k < N_KERNELS; k++)
			add_run(k, sms[i], -1, 0);
	for (i = 0; i < COT_ARRAY_LEN(pairs); i++)
		for (j = 0; j < COT_ARRAY_LEN(pairs); j++)
			add_run(pairs[i], 64, pairs[j], 68);
	for (i = 0; i < COT_ARRAY_LEN(pairs); i++)
		add_run(CHASE, 8, pairs[i], 124);
	return 0;
}

static int forget(void **state)
{
	(void)state;
	cot_contention_finish(&file);
	return 0;
}

static struct cot_check check;

static const struct cot_check_subject *subject(const char *name)
{
	uint32_t i;

	for (i = 0; i < check.n_subjects; i++)
		if (!strcmp(check.subjects[i].name, name))
			return &check.subjects[i];
	fail_msg("there is no %s", name);
	return NULL;
}

static void near(double a, double b, double part)
{
	if (!(fabs(a - b) <= part * fabs(b)))
		fail_msg("%.10g is not near %.10g", a, b);
}

static void test_parameters(void **state)
{
	struct cot_check_errors e;
	struct cot_error err = {""};

	(void)state;
	if (cot_check_make(&file, "made-up", &check, &err))
		fail_msg("%s", err.text);
	assert_int_equal(check.n_subjects, N_KERNELS);
	near(check.gpu.clock_mhz, MHZ, 1e-9);
	near(check.gpu.issue_width, WIDTH, 1e-6);
	/* No kernel reaches the port or the last of the bandwidth. */
	assert_true(check.gpu.sm_bytes <= PORT && check.gpu.sm_bytes > 0.7 * PORT);
	near(check.gpu.dram_gbps, DRAM * MHZ * 1e-3, 0.02);
	near(check.gpu.queueing, QUEUEING, 0.25);
	near(check.gpu.latency, LATENCY, 0.03);
	near(subject("mix/16")->work.cpi, 1.5, 0.5);
	near(subject("copy/64")->work.dram_bytes, 614.4, 0.05);
	near(subject("read/64")->work.dram_bytes, 512, 0.02);
	assert_true(subject("read in L2/64")->work.dram_bytes <= 0);
	cot_check_errors(&check, COT_CHECK_ALONE, &e);
	assert_int_equal(e.n, 3 * (N_KERNELS - 1));
	assert_true(e.mean < 0.01 && e.worst < 0.04);
	cot_check_errors(&check, COT_CHECK_PAIRS, &e);
	assert_int_equal(e.n_points, 16);
	assert_int_equal(e.n, 32);
	assert_true(e.mean < 0.02 && e.worst < 0.06);
	assert_int_equal(e.n_within, 32);
	cot_check_errors(&check, COT_CHECK_CACHE, &e);
	assert_int_equal(e.n, 5);
	cot_check_finish(&check);
}

/* One rate that is three times what the model says. */
static void test_worst(void **state)
{
	struct cot_check_errors e;
	struct cot_error err = {""};
	char name[128];
	uint32_t i;

	(void)state;
	for (i = 0; file.runs[i].n != 2 || file.runs[i].parts[1].kernel != MIX; i++)
		;
	file.runs[i].parts[1].chunks_per_s *= 3;
	assert_int_equal(cot_check_make(&file, "made-up", &check, &err), 0);
	cot_check_errors(&check, COT_CHECK_PAIRS, &e);
	assert_true(e.worst > 0.6 && e.worst < 0.7);
	assert_int_equal(e.worst_part, 1);
	assert_int_equal(e.n_within, 31);
	assert_string_equal(
		cot_check_point_name(&check, &check.points[e.worst_point], name, sizeof(name)),
		"read/64 on 64 SMs + mix/16 on 68 SMs");
	cot_check_finish(&check);
}

/*
 * Two kernels on the same SMs. As the model says, they are found right, with slots left (two that
 * wait for memory) and without; when the second gets nothing instead, that is what is seen.
 */
static void test_sharing(void **state)
{
	struct cot_check_sharing s;
	struct cot_check_errors e;
	struct cot_error err = {""};
	char name[128];
	uint32_t first = file.n_runs;

	(void)state;
	add_mix(MIX, 8, COPY, 8, true);
	add_mix(READ, SMS, MIX, SMS, true);
	add_mix(FMA, 8, MIX, 8, true);
	assert_int_equal(cot_check_make(&file, "made-up", &check, &err), 0);
	cot_check_errors(&check, COT_CHECK_PAIRS, &e);
	assert_int_equal(e.n_points, 16);
	cot_check_sharing(&check, COT_CHECK_SLOTS_LEFT, &s);
	assert_true(s.together > 0.9 && s.together < 1.1); /* the file is the model's own */
	assert_int_equal(s.n_points, 2);
	assert_int_equal(s.n_within, 4);
	assert_true(s.mean < 0.05);
	cot_check_sharing(&check, COT_CHECK_SLOTS_USED, &s);
	assert_int_equal(s.n_points, 1);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.n_within, 2);
	assert_true(s.measured[0] < 0.95 && s.measured[1] < 0.95 && s.measured[1] > 0.1);
	assert_string_equal(
		cot_check_point_name(&check, &check.points[check.n_points - 1], name, sizeof(name)),
		"fma/64 + mix/16 on 8 SMs");
	cot_check_finish(&check);

	file.runs[first + 2].parts[1].chunks_per_s = 0;
	file.runs[first + 2].parts[1].mhz = 0;
	assert_int_equal(cot_check_make(&file, "made-up", &check, &err), 0);
	near(check.points[check.n_points - 1].mhz, MHZ, 1e-9);
	cot_check_sharing(&check, COT_CHECK_SLOTS_USED, &s);
	assert_int_equal(s.n_within, 1);
	assert_true(s.measured[1] <= 0 && s.predicted[1] > 0.1);
	cot_check_sharing(&check, COT_CHECK_SLOTS_GREEDY, &s);
	assert_int_equal(s.n, 0);
	cot_check_finish(&check);
}

/* Repeats: the median counts, in whatever order they come. */
static void test_repeats(void **state)
{
	const struct cot_check_point *p;
	struct cot_contention_run again;
	struct cot_error err = {""};

	(void)state;
	again = file.runs[0];
	again.parts[0].chunks_per_s *= 1.5;
	file.runs[file.n_runs++] = again;
	again.parts[0].chunks_per_s *= 1.2;
	file.runs[file.n_runs++] = again;
	assert_int_equal(cot_check_make(&file, "made-up", &check, &err), 0);
	p = &check.points[0];
	assert_int_equal(p->n_repeats, 3);
	near(p->measured[0], 1.5 * file.runs[0].parts[0].chunks_per_s * 1024 / (MHZ * 1e6), 1e-9);
	near(p->spread, 0.8 / 1.5, 1e-9);
	cot_check_finish(&check);
}

static void test_too_little(void **state)
{
	struct cot_error err = {""};

	(void)state;
	file.n_runs = 3; /* nothing ran on two numbers of SMs */
	assert_int_equal(cot_check_make(&file, "made-up", &check, &err), -EINVAL);
	assert_non_null(strstr(err.text, "made-up: nothing in it says how long one access"));
	cot_check_finish(&check);
	file.n_runs = 0;
	assert_int_equal(cot_check_make(&file, "made-up", &check, &err), -EINVAL);
	cot_check_finish(&check);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_parameters, make_up, forget),
		cmocka_unit_test_setup_teardown(test_worst, make_up, forget),
		cmocka_unit_test_setup_teardown(test_sharing, make_up, forget),
		cmocka_unit_test_setup_teardown(test_repeats, make_up, forget),
		cmocka_unit_test_setup_teardown(test_too_little, make_up, forget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
