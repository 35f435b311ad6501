/*
 * The electrical life of heart muscle cells, one thread per cell, by the classical Runge-Kutta method
 * (as Rodinia's myocyte, solver2; the cell is the one of Beeler and Reuter, J. Physiol. 1977, with
 * eight variables). Few blocks that last long.
 */
#include "cuda_min.h"
#include "exact_math.h"

#define VARIABLES 8 /* mV; concentration of calcium, M; gates x1 m h j d f */
#define GATES	  6
#define CELL_INPUTS 4 /* stimulus in uA/cm2, its length in ms, and factors for sodium and calcium */

/* A gate opens and closes at rates of the form (c0 e^(c1 (V+c2)) + c3 (V+c4)) / (e^(c5 (V+c2)) + c6). */
static __constant__ float rates[GATES][2][7] = {
	{{0.0005f, 0.083f, 50, 0, 0, 0.057f, 1}, {0.0013f, -0.06f, 20, 0, 0, -0.04f, 1}},
	{{0, 0, 47, -1, 47, -0.1f, -1}, {40, -0.056f, 72, 0, 0, 0, 0}},
	{{0.126f, -0.25f, 77, 0, 0, 0, 0}, {1.7f, 0, 22.5f, 0, 0, -0.082f, 1}},
	{{0.055f, -0.25f, 78, 0, 0, -0.2f, 1}, {0.3f, 0, 32, 0, 0, -0.1f, 1}},
	{{0.095f, -0.01f, -5, 0, 0, -0.072f, 1}, {0.07f, -0.017f, 44, 0, 0, 0.05f, 1}},
	{{0.012f, -0.008f, 28, 0, 0, 0.15f, 1}, {0.0065f, -0.02f, 30, 0, 0, -0.2f, 1}},
};

/* At one voltage the formula is 0/0; a step to the side is as good. */
static __device__ __forceinline__ float safe(float divisor)
{
	return fabsf(divisor) < 1e-6f ? 1e-6f : divisor;
}

static __device__ float rate_of(const float *c, float v)
{
	float above = c[0] * cot_exp_f32(c[1] * (v + c[2])) + c[3] * (v + c[4]);

	return above / safe(cot_exp_f32(c[5] * (v + c[2])) + c[6]);
}

static __device__ __forceinline__ float potassium(float v)
{
	float outward = 4.0f * (cot_exp_f32(0.04f * (v + 85.0f)) - 1.0f) /
			(cot_exp_f32(0.08f * (v + 53.0f)) + cot_exp_f32(0.04f * (v + 53.0f)));
	float plateau = 0.2f * (v + 23.0f) / safe(1.0f - cot_exp_f32(-0.04f * (v + 23.0f)));

	return 0.35f * (outward + plateau);
}

/* How fast each variable changes, per ms. */
static __device__ __noinline__ void slopes(const float *y, const float *input, float t, float *dy)
{
	float v = y[0], calcium = y[1];
	const float *gate = y + 2;
	float x1 = gate[0] * 0.8f * (cot_exp_f32(0.04f * (v + 77.0f)) - 1.0f) /
		   cot_exp_f32(0.04f * (v + 35.0f));
	float sodium = (4.0f * input[2] * gate[1] * gate[1] * gate[1] * gate[2] * gate[3] + 0.003f) *
		       (v - 50.0f);
	float slow = 0.09f * input[3] * gate[4] * gate[5] *
		     (v + 82.3f + 13.0287f * cot_log_f32(calcium));
	float stimulus = t < input[1] ? input[0] : 0.0f;

	dy[0] = stimulus - (potassium(v) + x1 + sodium + slow);
	dy[1] = 0.07f * (1e-7f - calcium) - 1e-7f * slow;
	for (int i = 0; i < GATES; i++)
		dy[2 + i] = rate_of(rates[i][0], v) * (1.0f - gate[i]) - rate_of(rates[i][1], v) * gate[i];
}

/* Variable k of cell i is state[k * n_cells + i]: neighbours in a warp read neighbours in memory. */
extern "C" __global__ void solver2(float *state, const float *inputs, float begin_ms, float step_ms,
				   int n_steps, int n_cells)
{
	int cell = blockIdx.x * blockDim.x + threadIdx.x;
	float y[VARIABLES], input[CELL_INPUTS];
	float t = begin_ms;

	if (cell >= n_cells)
		return;
	for (int k = 0; k < VARIABLES; k++)
		y[k] = state[k * n_cells + cell];
	for (int k = 0; k < CELL_INPUTS; k++)
		input[k] = inputs[k * n_cells + cell];
	for (int n = 0; n < n_steps; n++) {
		float sum[VARIABLES], probe[VARIABLES], dy[VARIABLES];

		slopes(y, input, t, dy);
		for (int k = 0; k < VARIABLES; k++) {
			sum[k] = dy[k];
			probe[k] = y[k] + 0.5f * step_ms * dy[k];
		}
		for (int stage = 0; stage < 2; stage++) {
			float ahead = stage ? step_ms : 0.5f * step_ms;

			slopes(probe, input, t + 0.5f * step_ms, dy);
			for (int k = 0; k < VARIABLES; k++) {
				sum[k] = sum[k] + 2.0f * dy[k];
				probe[k] = y[k] + ahead * dy[k];
			}
		}
		slopes(probe, input, t + step_ms, dy);
		for (int k = 0; k < VARIABLES; k++)
			y[k] = y[k] + step_ms / 6.0f * (sum[k] + dy[k]);
		t = t + step_ms;
	}
	for (int k = 0; k < VARIABLES; k++)
		state[k * n_cells + cell] = y[k];
}
