#include <errno.h>
#include <stdlib.h>

#include "base/rng.h"
#include "kernels/exact_math.h"
#include "kernels/host/inside.h"

enum { X, Y, SEEDS, WEIGHTS, PIXELS, DISK_X, DISK_Y, SUMS, CDF, NEW_X, NEW_Y };
enum { THREADS = 128, SIDE = 256, RADIUS = 5, BACKGROUND = 100, FOREGROUND = 228 };
enum { N, N_DISK, OFFSET }; /* in->number */

/* As the kernel takes it. */
struct picture {
	uint64_t pixels;
	int32_t width, height, n_disk;
	uint64_t disk_x, disk_y;
};

/* A disk in the middle of the picture, and noise. */
static int make_picture(struct cot_bench_instance *in, struct cot_rng *rng)
{
	uint8_t *pixels = cot_bench_buffer(in, "pixels", SIDE, SIDE, false);
	int16_t *disk_x = cot_bench_buffer(in, "disk_x", 4 * RADIUS * RADIUS, 2, false);
	int16_t *disk_y = cot_bench_buffer(in, "disk_y", 4 * RADIUS * RADIUS, 2, false);
	int x, y, n = 0;

	if (!pixels || !disk_x || !disk_y)
		return -ENOMEM;
	for (y = 0; y < SIDE; y++) {
		for (x = 0; x < SIDE; x++) {
			int dx = x - SIDE / 2, dy = y - SIDE / 2;
			int ideal = dx * dx + dy * dy < RADIUS * RADIUS ? FOREGROUND : BACKGROUND;

			pixels[y * SIDE + x] = (uint8_t)(ideal - 20 + (int)cot_rng_below(rng, 41));
		}
	}
	for (y = 1 - RADIUS; y < RADIUS; y++) {
		for (x = 1 - RADIUS; x < RADIUS; x++) {
			if (x * x + y * y >= RADIUS * RADIUS)
				continue;
			disk_x[n] = (int16_t)x;
			disk_y[n++] = (int16_t)y;
		}
	}
	in->number[N_DISK] = n;
	return 0;
}

static int make_buffers(struct cot_bench_instance *in, size_t n, uint64_t seed)
{
	struct cot_rng rng = {seed};
	float *x = cot_bench_buffer(in, "x", n, sizeof(float), true);
	float *y = cot_bench_buffer(in, "y", n, sizeof(float), true);
	uint32_t *seeds = cot_bench_buffer(in, "seeds", n, sizeof(uint32_t), true);
	size_t i;

	if (!x || !y || !seeds || !cot_bench_buffer(in, "weights", n, sizeof(uint32_t), true) ||
	    make_picture(in, &rng) ||
	    !cot_bench_buffer(in, "sums", in->n_blocks, sizeof(uint64_t), true) ||
	    !cot_bench_buffer(in, "cdf", n, sizeof(uint64_t), true) ||
	    !cot_bench_buffer(in, "new_x", n, sizeof(float), true) ||
	    !cot_bench_buffer(in, "new_y", n, sizeof(float), true))
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		x[i] = y[i] = SIDE / 2;
		seeds[i] = (uint32_t)cot_rng_next(&rng);
	}
	in->number[N] = (int64_t)n;
	in->number[OFFSET] = (int64_t)cot_rng_below(&rng, 1u << 31);
	return 0;
}

static struct cot_bench_step *step_with(struct cot_bench_instance *in, const char *entry,
					const uint32_t *buffers, unsigned n_buffers)
{
	struct cot_bench_step *step = cot_bench_step(in, entry, in->n_blocks, 1, THREADS, 1);
	unsigned i;

	for (i = 0; i < n_buffers; i++)
		cot_bench_arg_buffer(step, buffers[i]);
	return step;
}

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t n = (size_t)in->n_blocks * THREADS - THREADS / 3;
	struct cot_bench_step *step;
	struct cot_bench_arg *arg;
	struct picture picture;

	if (make_buffers(in, n, seed) || cot_bench_steps(in, 4))
		return -ENOMEM;
	picture = (struct picture){
		.width = SIDE, .height = SIDE, .n_disk = (int32_t)in->number[N_DISK]};
	step = step_with(in, "likelihood_kernel", (uint32_t[]){X, Y, SEEDS, WEIGHTS}, 4);
	arg = cot_bench_arg_bytes(step, &picture, sizeof(picture));
	arg->n_inner = 3;
	arg->inner[0] = PIXELS;
	arg->inner_at[0] = offsetof(struct picture, pixels);
	arg->inner[1] = DISK_X;
	arg->inner_at[1] = offsetof(struct picture, disk_x);
	arg->inner[2] = DISK_Y;
	arg->inner_at[2] = offsetof(struct picture, disk_y);
	cot_bench_arg_i32(step, (int32_t)n);
	step = step_with(in, "sum_kernel", (uint32_t[]){WEIGHTS, SUMS}, 2);
	cot_bench_arg_i32(step, (int32_t)n);
	step = step_with(in, "cdf_kernel", (uint32_t[]){WEIGHTS, SUMS, CDF}, 3);
	cot_bench_arg_i32(step, (int32_t)n);
	step = step_with(in, in->bench->entry, (uint32_t[]){X, Y, CDF, NEW_X, NEW_Y}, 5);
	cot_bench_arg_u32(step, (uint32_t)in->number[OFFSET]);
	cot_bench_arg_i32(step, (int32_t)n);
	return 0;
}

static float random_walk(uint32_t *seed)
{
	float sum = -6.0f;
	int i;

	for (i = 0; i < 12; i++) {
		*seed = *seed * 1664525u + 1013904223u;
		sum += (float)(*seed >> 8) / 16777216.0f;
	}
	return sum;
}

static int inside(int at)
{
	if (at < 0)
		return 0;
	return at >= SIDE ? SIDE - 1 : at;
}

static uint32_t weigh(const struct cot_bench_instance *in, float x, float y)
{
	const uint8_t *pixels = in->buffers[PIXELS].data;
	const int16_t *disk_x = in->buffers[DISK_X].data, *disk_y = in->buffers[DISK_Y].data;
	int column = (int)cot_round_f32(x), row = (int)cot_round_f32(y), sum = 0, k;
	float likelihood;

	for (k = 0; k < in->number[N_DISK]; k++) {
		int pixel = pixels[inside(row + disk_y[k]) * SIDE + inside(column + disk_x[k])];
		int off = pixel - BACKGROUND, on = pixel - FOREGROUND;

		sum += off * off - on * on;
	}
	likelihood = (float)sum / (4096.0f * (float)in->number[N_DISK]);
	return 1 + (uint32_t)(65536.0f * cot_exp_f32(likelihood));
}

/* Both lists are sorted, so one walk through them is enough. */
static void check_chosen(const struct cot_bench_instance *in, void *const *result,
			 struct cot_bench_verdict *verdict)
{
	const float *x = result[X], *y = result[Y], *new_x = result[NEW_X], *new_y = result[NEW_Y];
	const uint64_t *cdf = result[CDF];
	uint64_t n = (uint64_t)in->number[N], share = cdf[n - 1] / n, i, k = 0;
	uint64_t offset = (uint64_t)in->number[OFFSET] % share;

	for (i = 0; i < n; i++) {
		while (k < n - 1 && cdf[k] <= share * i + offset)
			k++;
		cot_bench_same_f32(verdict, "new_x", i, new_x[i], x[k]);
		cot_bench_same_f32(verdict, "new_y", i, new_y[i], y[k]);
	}
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const float *x = in->buffers[X].data, *y = in->buffers[Y].data;
	const float *got_x = result[X], *got_y = result[Y];
	const uint32_t *seeds = in->buffers[SEEDS].data;
	const uint32_t *got_seeds = result[SEEDS], *weights = result[WEIGHTS];
	const uint64_t *sums = result[SUMS], *cdf = result[CDF];
	uint64_t total = 0, in_block = 0;
	size_t n = (size_t)in->number[N], i;

	for (i = 0; i < n; i++) {
		uint32_t seed = seeds[i], weight;
		float here_x = x[i] + 1.0f + 5.0f * random_walk(&seed);
		float here_y = y[i] - 2.0f + 2.0f * random_walk(&seed);

		weight = weigh(in, here_x, here_y);
		total += weight;
		in_block += weight;
		cot_bench_same_f32(verdict, "x", i, got_x[i], here_x);
		cot_bench_same_f32(verdict, "y", i, got_y[i], here_y);
		cot_bench_same_u64(verdict, "seeds", i, got_seeds[i], seed);
		cot_bench_same_u64(verdict, "weights", i, weights[i], weight);
		cot_bench_same_u64(verdict, "cdf", i, cdf[i], total);
		if (i % THREADS == THREADS - 1 || i == n - 1) {
			cot_bench_same_u64(verdict, "sums", i / THREADS, sums[i / THREADS],
					   in_block);
			in_block = 0;
		}
	}
	if (!verdict->n_wrong)
		check_chosen(in, result, verdict);
	return 0;
}

const struct cot_bench cot_bench_particle_filter = {
	.name = "particlefilter",
	.summary = "one frame of following a disk in a noisy picture",
	.entry = "kernel",
	.n_threads = THREADS,
	.blocks = {5, 79, 1563, 1563},
	.create = create,
	.check = check,
};
