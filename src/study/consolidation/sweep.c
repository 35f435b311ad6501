#include "study/consolidation/sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Instructions between accesses, bytes of an access of a warp, threads of a block. */
static const double per_access[] = {1, 2, 3, 4, 6, 8, 10, 12, 14, 16, 20, 24, 30, 40, 60};
static const double load_bytes[] = {64, 128, 256, 512};
static const uint32_t threads[] = {128, 192, 256};

#define N_PER_ACCESS COT_ARRAY_LEN(per_access)
#define N_BYTES	     COT_ARRAY_LEN(load_bytes)
#define N_THREADS    COT_ARRAY_LEN(threads)
#define N_GRID	     (N_PER_ACCESS * N_BYTES * N_THREADS)

#define START_ACCESSES 1e6
#define SCALINGS       4 /* time is proportional to the counts but for one latency */

struct sweep {
	const struct cot_model_gpu *gpu;
	struct cot_model_kernel longer[N_GRID], shorter[N_GRID]; /* 45 and 15 blocks */
	double *times, *layout_times;
	double apart_s;
};

static double alone_s(const struct cot_model_gpu *gpu, const struct cot_model_kernel *k)
{
	struct cot_model_time time;

	return cot_model_time_alone(gpu, k, &time) ? 0 : time.seconds;
}

/* Kernels with other counts that take as long alone as `like`. */
static void fill(const struct cot_model_gpu *gpu, const struct cot_model_kernel *like,
		 struct cot_model_kernel *grid)
{
	double wanted = alone_s(gpu, like);
	size_t i;
	unsigned n;

	for (i = 0; i < N_GRID; i++) {
		struct cot_model_kernel *k = &grid[i];

		*k = *like;
		k->regs_per_block = k->shmem_per_block = 0;
		k->threads_per_block = threads[i / (N_PER_ACCESS * N_BYTES)];
		k->load_bytes = load_bytes[i / N_PER_ACCESS % N_BYTES];
		k->coal = START_ACCESSES;
		k->comp = START_ACCESSES * per_access[i % N_PER_ACCESS];
		for (n = 0; n < SCALINGS; n++) {
			double by = wanted / alone_s(gpu, k);

			k->coal *= by;
			k->comp *= by;
		}
	}
}

static void play(struct sweep *sw, const struct cot_model_input *in)
{
	struct cot_model_sms layout[COT_MODEL_SMS_MAX];
	struct cot_model_kernel pair[2];
	struct cot_model_set set;
	size_t i, j, n = 0;
	uint32_t g;

	sw->gpu = &in->machine.gpu;
	fill(sw->gpu, &in->file.kernels[0], sw->shorter);
	fill(sw->gpu, &in->file.kernels[1], sw->longer);
	sw->apart_s =
		alone_s(sw->gpu, &in->file.kernels[0]) + alone_s(sw->gpu, &in->file.kernels[1]);
	memset(layout, 0, sizeof(layout));
	for (g = 0; g < in->file.n_layout; g++) {
		layout[g].n = in->file.layout[g].sms;
		layout[g].blocks[0] = in->file.layout[g].blocks[0];
		layout[g].blocks[1] = in->file.layout[g].blocks[1];
	}
	for (i = 0; i < N_GRID; i++)
		for (j = 0; j < N_GRID; j++, n++) {
			pair[0] = sw->shorter[i];
			pair[1] = sw->longer[j];
			if (cot_model_set_time(sw->gpu, pair, 2, &in->machine.options, &set))
				set.seconds = 0;
			sw->times[n] = set.seconds;
			sw->layout_times[n] = cot_model_layout_cycles(sw->gpu, pair, 2, layout,
								      in->file.n_layout) /
					      (sw->gpu->clock_ghz * 1e9);
		}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The part of the pairs that are no faster together. */
static double slower(const double *times, double apart_s)
{
	size_t i, n = 0;

	for (i = 0; i < N_GRID * N_GRID; i++)
		n += !(times[i] < apart_s);
	return (double)n / (N_GRID * N_GRID);
}

static void percentiles(double *times, double *ret_low, double *ret_high)
{
	size_t n = N_GRID * N_GRID;

	qsort(times, n, sizeof(*times), compare);
	*ret_low = times[n / 20];
	*ret_high = times[n - 1 - n / 20];
}

int cot_consolidation_sweep_run(const struct cot_model_input *first,
				const struct cot_model_input *second,
				struct cot_consolidation_sweep *ret)
{
	struct sweep *sw = calloc(1, sizeof(*sw));
	int rc = -ENOMEM;

	if (!sw)
		return rc;
	sw->times = calloc(N_GRID * N_GRID, sizeof(*sw->times));
	sw->layout_times = calloc(N_GRID * N_GRID, sizeof(*sw->layout_times));
	if (sw->times && sw->layout_times) {
		ret->n_kernels = N_GRID;
		ret->n_pairs = N_GRID * N_GRID;
		play(sw, first);
		ret->reject1 = slower(sw->times, sw->apart_s);
		ret->reject1_layout = slower(sw->layout_times, sw->apart_s);
		percentiles(sw->times, &ret->low1_s, &ret->high1_s);
		play(sw, second);
		ret->accept2 = 1 - slower(sw->times, sw->apart_s);
		ret->accept2_layout = 1 - slower(sw->layout_times, sw->apart_s);
		percentiles(sw->times, &ret->low2_s, &ret->high2_s);
		rc = 0;
	}
	free(sw->times);
	free(sw->layout_times);
	free(sw);
	return rc;
}
