#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/exact_math.h"
#include "kernels/host/inside.h"

enum { STATE, INPUTS };
enum { THREADS = 32, N_VARIABLES = 8, N_INPUTS = 4, CHECKED = 64 };

static const float step_ms = 0.01f;

/* The state of a cell. */
struct cell {
	float v, calcium, x1, m, h, j, d, f;
};

/* What differs between cells. */
struct inputs {
	float stimulus, stimulus_ms, sodium, slow;
};

/* Rest, as Beeler and Reuter give it. */
static const struct cell rest = {-84.624f, 1e-7f, 0.0057f, 0.0110f, 0.9877f, 0.9748f, 0.003f, 1.0f};

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t n = (size_t)in->n_blocks * THREADS - THREADS / 3, i, k;
	float *state = cot_bench_buffer(in, "state", n * N_VARIABLES, sizeof(float), true);
	float *inputs = cot_bench_buffer(in, "inputs", n * N_INPUTS, sizeof(float), false);
	float initial[N_VARIABLES];
	struct cot_bench_step *step;

	if (!state || !inputs || cot_bench_steps(in, 1))
		return -ENOMEM;
	memcpy(initial, &rest, sizeof(initial));
	for (k = 0; k < N_VARIABLES; k++)
		for (i = 0; i < n; i++)
			state[k * n + i] = initial[k];
	cot_bench_fill_f32(inputs, n, seed, 10.0f, 80.0f);
	cot_bench_fill_f32(inputs + n, n, seed + 1, 0.5f, 2.0f);
	cot_bench_fill_f32(inputs + 2 * n, 2 * n, seed + 2, 0.75f, 1.25f);
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	cot_bench_arg_buffer(step, STATE);
	cot_bench_arg_buffer(step, INPUTS);
	cot_bench_arg_f32(step, 0.0f);
	cot_bench_arg_f32(step, step_ms);
	cot_bench_arg_i32(step, (int32_t)in->work);
	cot_bench_arg_i32(step, (int32_t)n);
	in->number[0] = (int64_t)n;
	return 0;
}

static float away_from_zero(float divisor)
{
	return fabsf(divisor) < 1e-6f ? 1e-6f : divisor;
}

/* (a e^(b (v+c)) + d (v+e)) / (e^(f (v+c)) + g) */
static float rate(float v, float a, float b, float c, float d, float e, float f, float g)
{
	float numerator = a * cot_exp_f32(b * (v + c)) + d * (v + e);

	return numerator / away_from_zero(cot_exp_f32(f * (v + c)) + g);
}

static struct cell slope(const struct cell *y, const struct inputs *in, float t)
{
	float v = y->v;
	float rectifier = 4.0f * (cot_exp_f32(0.04f * (v + 85.0f)) - 1.0f) /
			  (cot_exp_f32(0.08f * (v + 53.0f)) + cot_exp_f32(0.04f * (v + 53.0f)));
	float plateau =
		0.2f * (v + 23.0f) / away_from_zero(1.0f - cot_exp_f32(-0.04f * (v + 23.0f)));
	float k1 = 0.35f * (rectifier + plateau);
	float x1 = y->x1 * 0.8f * (cot_exp_f32(0.04f * (v + 77.0f)) - 1.0f) /
		   cot_exp_f32(0.04f * (v + 35.0f));
	float na = (4.0f * in->sodium * y->m * y->m * y->m * y->h * y->j + 0.003f) * (v - 50.0f);
	float s = 0.09f * in->slow * y->d * y->f * (v + 82.3f + 13.0287f * cot_log_f32(y->calcium));
	float stimulus = t < in->stimulus_ms ? in->stimulus : 0.0f;

	return (struct cell){
		.v = stimulus - (k1 + x1 + na + s),
		.calcium = 0.07f * (1e-7f - y->calcium) - 1e-7f * s,
		.x1 = rate(v, 0.0005f, 0.083f, 50, 0, 0, 0.057f, 1) * (1.0f - y->x1) -
		      rate(v, 0.0013f, -0.06f, 20, 0, 0, -0.04f, 1) * y->x1,
		.m = rate(v, 0, 0, 47, -1, 47, -0.1f, -1) * (1.0f - y->m) -
		     rate(v, 40, -0.056f, 72, 0, 0, 0, 0) * y->m,
		.h = rate(v, 0.126f, -0.25f, 77, 0, 0, 0, 0) * (1.0f - y->h) -
		     rate(v, 1.7f, 0, 22.5f, 0, 0, -0.082f, 1) * y->h,
		.j = rate(v, 0.055f, -0.25f, 78, 0, 0, -0.2f, 1) * (1.0f - y->j) -
		     rate(v, 0.3f, 0, 32, 0, 0, -0.1f, 1) * y->j,
		.d = rate(v, 0.095f, -0.01f, -5, 0, 0, -0.072f, 1) * (1.0f - y->d) -
		     rate(v, 0.07f, -0.017f, 44, 0, 0, 0.05f, 1) * y->d,
		.f = rate(v, 0.012f, -0.008f, 28, 0, 0, 0.15f, 1) * (1.0f - y->f) -
		     rate(v, 0.0065f, -0.02f, 30, 0, 0, -0.2f, 1) * y->f,
	};
}

/* a + x * b, variable by variable. */
static struct cell plus(const struct cell *a, float x, const struct cell *b)
{
	return (struct cell){
		a->v + x * b->v,   a->calcium + x * b->calcium,
		a->x1 + x * b->x1, a->m + x * b->m,
		a->h + x * b->h,   a->j + x * b->j,
		a->d + x * b->d,   a->f + x * b->f,
	};
}

/* The classical Runge-Kutta method, as in every textbook. */
static struct cell live(struct cell y, const struct inputs *in, uint32_t n_steps)
{
	float t = 0.0f, half = 0.5f * step_ms;
	uint32_t i;

	for (i = 0; i < n_steps; i++) {
		struct cell k1 = slope(&y, in, t), at = plus(&y, half, &k1);
		struct cell k2 = slope(&at, in, t + half), k3, k4, sum;

		at = plus(&y, half, &k2);
		k3 = slope(&at, in, t + half);
		at = plus(&y, step_ms, &k3);
		k4 = slope(&at, in, t + step_ms);
		sum = plus(&k1, 2.0f, &k2);
		sum = plus(&sum, 2.0f, &k3);
		sum = plus(&sum, 1.0f, &k4);
		y = plus(&y, step_ms / 6.0f, &sum);
		t = t + step_ms;
	}
	return y;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const float *inputs = in->buffers[INPUTS].data, *got = result[STATE];
	size_t n = (size_t)in->number[0], i, k;

	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t c = cot_bench_sample(i, n, CHECKED);
		struct inputs own = {inputs[c], inputs[n + c], inputs[2 * n + c],
				     inputs[3 * n + c]};
		struct cell end = live(rest, &own, in->work);
		float want[N_VARIABLES];

		memcpy(want, &end, sizeof(want));
		for (k = 0; k < N_VARIABLES; k++)
			cot_bench_same_f32(verdict, "state", k * n + c, got[k * n + c], want[k]);
	}
	return 0;
}

const struct cot_bench cot_bench_myocyte = {
	.name = "myocyte",
	.summary = "electrical activity of heart muscle cells",
	.entry = "solver2",
	.n_threads = THREADS,
	.blocks = {7, 4, 96, 96},
	.work = {2, 2000, 2000, 2000}, /* steps of 0.01 ms */
	.create = create,
	.check = check,
};
