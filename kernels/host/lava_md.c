#include <errno.h>

#include "base/rng.h"
#include "kernels/exact_math.h"
#include "kernels/host/inside.h"

enum { BOXES, POSITIONS, CHARGES, FORCES };
enum { THREADS = 128, PARTICLES = 100, NEIGHBOURS = 26, CHECKED = 48 };

struct vec4 {
	double v, x, y, z;
};

struct box {
	int32_t first, n_neighbours, neighbours[NEIGHBOURS];
};

/* As the kernel takes them. */
struct parameters {
	double alpha;
	int32_t n_boxes;
};

static const double alpha = 0.5;

static uint32_t cube_side(uint32_t n)
{
	uint32_t side = 1;

	while ((uint64_t)side * side * side < n)
		side++;
	return side;
}

/* The boxes lie in a cube, x first; where n is no cube, the last ones are missing. */
static void place(struct box *box, uint32_t index, uint32_t n, int32_t side)
{
	int32_t x = (int32_t)index % side, y = (int32_t)index / side % side;
	int32_t z = (int32_t)index / side / side, i;

	box->first = (int32_t)index * PARTICLES;
	for (i = 0; i < 27; i++) {
		int32_t nx = x + i % 3 - 1, ny = y + i / 3 % 3 - 1, nz = z + i / 9 - 1;
		int32_t other = (nz * side + ny) * side + nx;

		if (nx < 0 || ny < 0 || nz < 0 || nx >= side || ny >= side || nz >= side ||
		    other >= (int32_t)n || other == (int32_t)index)
			continue;
		box->neighbours[box->n_neighbours++] = other;
	}
}

static double tenth(struct cot_rng *rng)
{
	return (double)(1 + cot_rng_below(rng, 10)) / 10.0;
}

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	uint32_t n = in->n_blocks, i;
	size_t n_particles = (size_t)n * PARTICLES, k;
	struct box *boxes = cot_bench_buffer(in, "boxes", n, sizeof(*boxes), false);
	struct vec4 *at = cot_bench_buffer(in, "positions", n_particles, sizeof(*at), false);
	double *charges = cot_bench_buffer(in, "charges", n_particles, sizeof(*charges), false);
	struct vec4 *forces = cot_bench_buffer(in, "forces", n_particles, sizeof(*forces), true);
	struct parameters parameters = {.alpha = alpha, .n_boxes = (int32_t)n};
	struct cot_rng rng = {seed};
	struct cot_bench_step *step;

	if (!boxes || !at || !charges || !forces || cot_bench_steps(in, 1))
		return -ENOMEM;
	for (i = 0; i < n; i++)
		place(&boxes[i], i, n, (int32_t)cube_side(n));
	for (k = 0; k < n_particles; k++) {
		at[k] = (struct vec4){tenth(&rng), tenth(&rng), tenth(&rng), tenth(&rng)};
		charges[k] = tenth(&rng);
	}
	step = cot_bench_step(in, in->bench->entry, n, 1, THREADS, 1);
	cot_bench_arg_bytes(step, &parameters, sizeof(parameters));
	for (i = BOXES; i <= FORCES; i++)
		cot_bench_arg_buffer(step, i);
	return 0;
}

/* The force on particle `i` by those of one box. */
static void add_box(struct vec4 *sum, const struct vec4 *at, const double *charges, size_t i,
		    size_t first)
{
	double exponent = 2.0 * alpha * alpha;
	size_t j;

	for (j = first; j < first + PARTICLES; j++) {
		double product = at[i].x * at[j].x + at[i].y * at[j].y + at[i].z * at[j].z;
		double potential = cot_exp_f64(-(exponent * (at[i].v + at[j].v - product)));
		double force = 2.0 * potential;

		sum->v += charges[j] * potential;
		sum->x += charges[j] * (force * (at[i].x - at[j].x));
		sum->y += charges[j] * (force * (at[i].y - at[j].y));
		sum->z += charges[j] * (force * (at[i].z - at[j].z));
	}
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const struct box *boxes = in->buffers[BOXES].data;
	const struct vec4 *at = in->buffers[POSITIONS].data, *forces = result[FORCES];
	const double *charges = in->buffers[CHARGES].data;
	size_t b, i;
	int32_t k;

	for (b = 0; b < cot_bench_n_samples(in->n_blocks, CHECKED); b++) {
		const struct box *box = &boxes[cot_bench_sample(b, in->n_blocks, CHECKED)];

		for (i = (size_t)box->first; i < (size_t)box->first + PARTICLES; i++) {
			struct vec4 sum = {0};

			add_box(&sum, at, charges, i, (size_t)box->first);
			for (k = 0; k < box->n_neighbours; k++)
				add_box(&sum, at, charges, i,
					(size_t)boxes[box->neighbours[k]].first);
			cot_bench_same_f64(verdict, "v", i, forces[i].v, sum.v);
			cot_bench_same_f64(verdict, "x", i, forces[i].x, sum.x);
			cot_bench_same_f64(verdict, "y", i, forces[i].y, sum.y);
			cot_bench_same_f64(verdict, "z", i, forces[i].z, sum.z);
		}
	}
	return 0;
}

const struct cot_bench cot_bench_lava_md = {
	.name = "lavaMD",
	.summary = "forces between particles in neighbouring boxes",
	.entry = "kernel_gpu_cuda",
	.n_threads = THREADS,
	.blocks = {4, 64, 1000, 8000},
	.create = create,
	.check = check,
};
