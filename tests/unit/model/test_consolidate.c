/* Whether to consolidate: the patent's two scenarios, the runtime form, and the search for sets. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/embedded.h"
#include "report/model.h"
#include "study/consolidation/consolidation.h"
#include "test.h"

static struct cot_model_input load(const char *name)
{
	const struct cot_embedded *file = cot_embedded_find(name);
	struct cot_model_input in;
	struct cot_error err = {""};

	memset(&in, 0, sizeof(in));
	assert_non_null(file);
	if (cot_kernels_parse(name, file->bytes, file->size, &in.file, &err))
		fail_msg("%s", err.text);
	cot_model_input_init(&in);
	return in;
}

static void near(double found, double expected, double relative)
{
	if (!(fabs(found - expected) <= relative * fabs(expected)))
		fail_msg("%.12g, expected %.12g", found, expected);
}

/* Monte Carlo with encryption costs more together, BlackScholes with search less. */
static void test_printed_scenarios(void **state)
{
	struct cot_model_input one = load("models/consolidation-1.yaml");
	struct cot_model_input two = load("models/consolidation-2.yaml");
	struct cot_model_verdict v;

	(void)state;
	assert_int_equal(cot_model_judge(&one.machine, one.file.kernels, NULL, 2, &v), 0);
	assert_true(v.fits && !v.energy_ok && !v.time_ok && !v.consolidate);
	near(v.apart_s, 62.41 + 19.50, 1e-6);
	near(v.apart_j, 25595 + 7034, 0.002);
	near(v.together.seconds, 84.56, 0.03);
	near(v.together.energy_j, 33501, 0.02);
	assert_int_equal(cot_model_judge(&two.machine, two.file.kernels, NULL, 2, &v), 0);
	assert_true(v.fits && v.energy_ok && v.time_ok && v.consolidate);
	near(v.apart_s, 26.45 + 49.23, 1e-6);
	near(v.apart_j, 12220 + 19228, 0.002);
	near(v.together.seconds, 58.73, 0.07);
	near(v.together.energy_j, 26721, 0.06);
}

/* The decision itself, on the printed numbers. */
static void test_study(void **state)
{
	struct cot_consolidation *c = test_calloc(1, sizeof(*c));
	struct cot_error err = {""};
	uint32_t i, ours = 0, none = 0;

	(void)state;
	if (cot_consolidation_run(c, &err))
		fail_msg("%s", err.text);
	for (i = 0; i < c->n; i++) {
		const struct cot_consolidation_row *r = &c->rows[i];

		ours += r->has_ours;
		if (!strcmp(r->kind, "none")) {
			assert_false(r->has_ours);
			assert_true(r->note[0]);
			none++;
		} else {
			if (!r->has_ours)
				fail_msg("%s has no value of ours", r->id);
		}
		if (!strcmp(r->kind, "fitted"))
			near(r->ours, r->printed, 0.001);
		if (!strncmp(r->id, "decision", 8))
			assert_true(r->ours == r->printed);
	}
	assert_int_equal(ours + none, c->n);
	/* The coefficients that the files have are those of the training. */
	near(c->memory_w, load("models/consolidation-1.yaml").machine.power.memory_w, 1e-4);
	near(c->instruction_w, load("models/consolidation-2.yaml").machine.power.instruction_w,
	     1e-4);
	near(c->rest_w, 181 + 74.368, 1e-4);
	assert_int_equal(c->sweep.n_pairs, 180 * 180);
	assert_true(c->sweep.reject1 > 0 && c->sweep.reject1 < c->sweep.reject1_layout);
	assert_true(c->sweep.accept2 > 0.5 && c->sweep.accept2 < 1);
	test_free(c);
}

/* The same events run together and apart, so without heat the energy follows from the time. */
static void test_energy_follows_from_time(void **state)
{
	struct cot_model_input in = load("models/consolidation-2.yaml");
	const struct cot_model_power *p = &in.machine.power;
	struct cot_model_verdict v;

	(void)state;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	near(v.together.energy_j - v.apart_j,
	     (p->idle_w + p->lambda_w) * (v.together.seconds - v.apart_s), 1e-9);
}

static void test_transfers_memory_and_gain(void **state)
{
	struct cot_model_input in = load("models/consolidation-2.yaml");
	struct cot_model_verdict plain, v;

	(void)state;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &plain), 0);
	in.file.kernels[0].transfer_bytes = 5e9; /* one second */
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	near(v.together.seconds, plain.together.seconds + 1, 1e-12);
	near(v.apart_j, plain.apart_j + 181, 1e-12);
	in.file.kernels[0].memory_bytes = in.file.kernels[1].memory_bytes = 2.1e9;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	assert_true(v.energy_ok && v.time_ok && !v.fits && !v.consolidate);
	in.file.kernels[0].memory_bytes = in.file.kernels[1].memory_bytes =
		in.machine.gpu.memory_bytes / 2;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	assert_true(v.fits); /* exactly */
	in.file.kernels[1].memory_bytes = 1e9;
	in.machine.min_gain = 0.11; /* 10.7 % are saved */
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	assert_true(v.fits && v.energy_ok && !v.consolidate);
	in.machine.min_gain = 0.10;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	assert_true(v.consolidate);
	/* Merged, a block needs more than an SM has. */
	in.file.kernels[0].regs_per_block = 16384;
	in.file.kernels[1].shmem_per_block = 16384;
	in.file.kernels[1].threads_per_block = 1024;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	assert_true(!v.fits && !v.consolidate && v.together.seconds == 0 && v.apart_s > 0);
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 1, &v), -EINVAL);
	in.file.kernels[1].threads_per_block = 1025;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), -EINVAL);
}

/* A single encryption leaves SMs idle. Six copies take hardly longer and far less energy each. */
static void test_copies(void **state)
{
	struct cot_model_input in = load("models/consolidation-1.yaml");
	struct cot_model_cost one, six;
	uint32_t copies = 6;

	(void)state;
	in.file.kernels[0].n_blocks = 3;
	in.file.kernels[0].load_bytes = 64;
	assert_int_equal(cot_model_cost_of(&in.machine, in.file.kernels, NULL, 1, &one), 0);
	assert_int_equal(cot_model_cost_of(&in.machine, in.file.kernels, &copies, 1, &six), 0);
	near(six.seconds, one.seconds, 1e-9);
	assert_true(six.power_w > one.power_w && six.power_w < 1.6 * one.power_w);
	assert_true(six.energy_j / 6 < one.energy_j / 3);
}

/* Six instances are three times the two kernels, or two kernels of three times the blocks. */
static void test_more_than_the_search_mixes(void **state)
{
	struct cot_model_input in = load("models/consolidation-2.yaml");
	const uint32_t one[2] = {1, 1}, three[2] = {3, 3};
	struct cot_model_kernel larger[2];
	struct cot_model_verdict two, six, as_two;
	int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		larger[i] = in.file.kernels[i];
		larger[i].n_blocks *= 3;
		larger[i].transfer_bytes *= 3;
		larger[i].memory_bytes *= 3;
	}
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, one, 2, &two), 0);
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, three, 2, &six), 0);
	assert_int_equal(cot_model_judge(&in.machine, larger, NULL, 2, &as_two), 0);
	near(six.apart_s, 3 * two.apart_s, 1e-12);
	near(six.apart_j, 3 * two.apart_j, 1e-12);
	near(six.together.seconds, as_two.together.seconds, 1e-12);
	near(six.together.energy_j, as_two.together.energy_j, 1e-12);
}

/* ---- search ---- */

/* All candidates, each once, against counting all multisets by hand. */
static void test_candidates(void **state)
{
	const uint32_t pending[3] = {6, 1, 2};
	uint32_t copies[COT_MODEL_KINDS_MAX] = {0}, seen = 0, expected = 0, a, b, c, total;
	bool found[7][2][3] = {{{false}}};

	(void)state;
	while (cot_model_next_candidate(pending, 3, copies)) {
		assert_false(found[copies[0]][copies[1]][copies[2]]);
		found[copies[0]][copies[1]][copies[2]] = true;
		seen++;
	}
	for (a = 0; a <= 6; a++)
		for (b = 0; b <= 1; b++)
			for (c = 0; c <= 2; c++) {
				total = a + b + c;
				if (total >= 2 && (total <= 4 || total == a)) {
					assert_true(found[a][b][c]);
					expected++;
				}
			}
	assert_int_equal(seen, expected);
}

struct taken {
	struct cot_model_step steps[32];
	uint32_t n;
};

static void take(void *arg, const struct cot_model_step *step)
{
	struct taken *t = arg;

	assert_true(t->n < 32);
	t->steps[t->n++] = *step;
}

/* Monte Carlo and encryption beside search and BlackScholes: everything is done once, the first
 * step saves most, and the plan costs no more than one after another. */
static void test_plan(void **state)
{
	struct cot_model_input in = load("models/consolidation-1.yaml");
	struct cot_model_input two = load("models/consolidation-2.yaml");
	uint32_t copies[COT_MODEL_KINDS_MAX] = {0}, pending[4] = {1, 2, 1, 1}, left[4], i, k;
	struct taken t = {.n = 0};
	struct cot_model_verdict v;
	struct cot_model_cost cost;
	double best = 0, planned = 0, apart = 0;

	(void)state;
	in.file.kernels[2] = two.file.kernels[0];
	in.file.kernels[3] = two.file.kernels[1];
	memcpy(left, pending, sizeof(left));
	while (cot_model_next_candidate(pending, 4, copies)) {
		assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, copies, 4, &v), 0);
		if (v.consolidate)
			best = fmax(best, v.apart_j - v.together.energy_j);
	}
	assert_int_equal(cot_model_plan(&in.machine, in.file.kernels, pending, 4, take, &t), 0);
	assert_int_equal(t.steps[0].where, COT_MODEL_TOGETHER);
	near(t.steps[0].verdict.apart_j - t.steps[0].energy_j, best, 1e-12);
	for (i = 0; i < t.n; i++) {
		planned += t.steps[i].energy_j;
		for (k = 0; k < 4; k++) {
			assert_true(t.steps[i].copies[k] <= left[k]);
			left[k] -= t.steps[i].copies[k];
		}
	}
	for (k = 0; k < 4; k++) {
		assert_int_equal(left[k], 0);
		assert_int_equal(
			cot_model_cost_of(&in.machine, &in.file.kernels[k], NULL, 1, &cost), 0);
		apart += pending[k] * cost.energy_j;
	}
	assert_true(planned < apart);
	assert_int_equal(cot_model_plan(&in.machine, in.file.kernels, pending, 0, take, &t),
			 -EINVAL);
	pending[0] = COT_MODEL_COPIES_MAX + 1;
	assert_int_equal(cot_model_plan(&in.machine, in.file.kernels, pending, 4, take, &t),
			 -EINVAL);
}

/* ---- the CPU ---- */

static struct taken plan_of(const struct cot_model_input *in, const uint32_t *pending, uint32_t n)
{
	struct taken t = {.n = 0};

	assert_int_equal(cot_model_plan(&in->machine, in->file.kernels, pending, n, take, &t), 0);
	return t;
}

/* Two searches together take less energy than one after another on the GPU, but more than on the
 * CPU. */
static void test_cpu_takes_less(void **state)
{
	struct cot_model_input in = load("models/consolidation-2.yaml");
	const uint32_t two = 2;
	struct cot_model_verdict v;
	struct taken t = plan_of(&in, &two, 1);
	double together_j = t.steps[0].energy_j;

	(void)state;
	assert_int_equal(t.n, 1);
	assert_int_equal(t.steps[0].where, COT_MODEL_TOGETHER);

	in.file.kernels[0].cpu_s = 10;
	in.file.kernels[0].cpu_w = 200;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, &two, 1, &v), 0);
	assert_true(v.energy_ok && v.time_ok && v.fits && !v.consolidate);
	near(v.least_j, 4000, 1e-12);
	t = plan_of(&in, &two, 1);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.steps[0].where, COT_MODEL_CPU);
	near(t.steps[0].energy_j + t.steps[1].energy_j, 4000, 1e-12);

	/* Just more than together, though each less than alone on the GPU. */
	in.file.kernels[0].cpu_w = together_j / 2 / 10 * 1.001;
	t = plan_of(&in, &two, 1);
	assert_int_equal(t.n, 1);
	assert_int_equal(t.steps[0].where, COT_MODEL_TOGETHER);
	in.machine.min_gain = 0.01;
	assert_int_equal(plan_of(&in, &two, 1).steps[0].where, COT_MODEL_CPU);
}

/* One that is cheap on the CPU is no reason to take the other, which is not, along. */
static void test_cpu_in_a_mixed_set(void **state)
{
	struct cot_model_input in = load("models/consolidation-2.yaml");
	const uint32_t one_each[2] = {1, 1};
	struct cot_model_verdict v;
	struct taken t;

	(void)state;
	in.file.kernels[1].cpu_s = 5;
	in.file.kernels[1].cpu_w = 100;
	t = plan_of(&in, one_each, 2);
	assert_int_equal(t.n, 2);
	assert_int_equal(t.steps[0].where, COT_MODEL_GPU);
	assert_int_equal(t.steps[1].where, COT_MODEL_CPU);
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	near(v.least_j, t.steps[0].energy_j + 500, 1e-12);
	/* Fig. 4 compares with the GPU: a set that is slower there stays apart, whatever the CPU
	 * takes. */
	in = load("models/consolidation-1.yaml");
	in.file.kernels[0].cpu_s = in.file.kernels[1].cpu_s = 1000;
	in.file.kernels[0].cpu_w = in.file.kernels[1].cpu_w = 1000;
	assert_int_equal(cot_model_judge(&in.machine, in.file.kernels, NULL, 2, &v), 0);
	assert_true(!v.energy_ok && !v.time_ok && !v.consolidate);
	near(v.least_j, v.apart_j, 1e-12);
}

/* The last size of the first ones that are cheaper on the CPU, found in another way. */
static void test_cpu_up_to(void **state)
{
	struct cot_model_input in = load("models/consolidation-1.yaml");
	struct cot_model_kernel k = in.file.kernels[0], sized;
	struct cot_model_cost gpu;
	enum cot_model_aim aim;
	uint32_t blocks, n;

	(void)state;
	for (aim = COT_MODEL_ENERGY; aim <= COT_MODEL_TIME; aim++) {
		assert_int_equal(cot_model_cost_of(&in.machine, &k, NULL, 1, &gpu), 0);
		/* All blocks take three times as long as on the GPU; a few, less. */
		k.cpu_s = gpu.seconds * 3;
		k.cpu_w = gpu.energy_j / gpu.seconds;
		assert_int_equal(cot_model_cpu_up_to(&in.machine, &k, aim, 1000, &blocks), 0);
		assert_in_range(blocks, 1, k.n_blocks - 1);
		for (n = 1; n <= blocks + 1; n++) {
			double cpu_s = k.cpu_s * n / k.n_blocks, cpu_j = cpu_s * k.cpu_w;

			sized = k;
			sized.n_blocks = n;
			sized.transfer_bytes = k.transfer_bytes * n / k.n_blocks;
			assert_int_equal(cot_model_cost_of(&in.machine, &sized, NULL, 1, &gpu), 0);
			assert_int_equal(aim == COT_MODEL_TIME ? cpu_s < gpu.seconds
							       : cpu_j < gpu.energy_j,
					 n <= blocks);
		}
		assert_int_equal(cot_model_cpu_up_to(&in.machine, &k, aim, blocks - 1, &n), 0);
		assert_int_equal(n, blocks - 1);
		/* It cannot be there. */
		k.cpu_s = k.cpu_w = 0;
		assert_int_equal(cot_model_cpu_up_to(&in.machine, &k, aim, 1000, &blocks), 0);
		assert_int_equal(blocks, 0);
	}
	k.regs_per_block = UINT32_MAX;
	assert_int_equal(cot_model_cpu_up_to(&in.machine, &k, COT_MODEL_TIME, 1000, &blocks),
			 -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_printed_scenarios),
		cmocka_unit_test(test_study),
		cmocka_unit_test(test_energy_follows_from_time),
		cmocka_unit_test(test_transfers_memory_and_gain),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_more_than_the_search_mixes),
		cmocka_unit_test(test_candidates),
		cmocka_unit_test(test_plan),
		cmocka_unit_test(test_cpu_takes_less),
		cmocka_unit_test(test_cpu_in_a_mixed_set),
		cmocka_unit_test(test_cpu_up_to),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
