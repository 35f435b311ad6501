#include "kernels/host/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/compiler.h"
#include "base/embedded.h"
#include "kernels/host/inside.h"
#include "kernels/host/ptx.h"

/*
 * In the order of the paper's table 3. Its larger program, LULESH, is between two with small
 * blocks: neighbours are fused, and its registers do not fit an SM for large ones.
 */
const struct cot_bench *const cot_bench_all[] = {
	&cot_bench_nn,
	&cot_bench_particle_filter,
	&cot_bench_pathfinder,
	&cot_bench_myocyte,
	&cot_bench_lulesh,
	&cot_bench_lava_md,
	&cot_bench_matrix_mul,
	&cot_bench_vector_add,
	&cot_bench_black_scholes,
	&cot_bench_bfs,
	&cot_bench_md5,
};
const unsigned cot_bench_n_all = COT_ARRAY_LEN(cot_bench_all);

static const char *const size_names[COT_BENCH_N_SIZES] = {
	[COT_BENCH_TEST] = "test",
	[COT_BENCH_SMALL] = "small",
	[COT_BENCH_LARGE] = "large",
	[COT_BENCH_GPU] = "gpu",
};

const struct cot_bench *cot_bench_find(const char *name)
{
	unsigned i;

	for (i = 0; i < cot_bench_n_all; i++)
		if (strcasecmp(cot_bench_all[i]->name, name) == 0)
			return cot_bench_all[i];
	for (i = 0; i < cot_bench_n_shapes; i++)
		if (strcasecmp(cot_bench_shapes[i]->name, name) == 0)
			return cot_bench_shapes[i];
	return NULL;
}

enum cot_bench_size cot_bench_find_size(const char *name)
{
	unsigned i;

	for (i = 0; i < COT_BENCH_N_SIZES; i++)
		if (strcmp(size_names[i], name) == 0)
			break;
	return (enum cot_bench_size)i;
}

const char *cot_bench_size_name(enum cot_bench_size size)
{
	return size < COT_BENCH_N_SIZES ? size_names[size] : "?";
}

const char *cot_bench_ptx(const struct cot_bench *bench, size_t *ret_length)
{
	char name[64];
	unsigned i;

	snprintf(name, sizeof(name), "ptx/%s.ptx", bench->file ? bench->file : bench->name);
	for (i = 0; i < cot_n_kernel_ptx; i++) {
		if (strcmp(cot_kernel_ptx[i].name, name))
			continue;
		*ret_length = cot_kernel_ptx[i].size;
		return (const char *)cot_kernel_ptx[i].bytes;
	}
	return NULL;
}

int cot_bench_create(struct cot_bench_instance *in, const struct cot_bench *bench,
		     enum cot_bench_size size, uint32_t n_blocks, uint64_t seed,
		     struct cot_error *err)
{
	int rc;

	*in = (struct cot_bench_instance){
		.bench = bench,
		.n_blocks = n_blocks ? n_blocks : bench->blocks[size],
		.work = bench->work[size],
		.stop_buffer = COT_BENCH_NO_BUFFER,
	};
	rc = (uint64_t)in->n_blocks * bench->n_threads > INT32_MAX ? -ERANGE
								   : bench->create(in, seed);
	if (!rc)
		return 0;
	n_blocks = in->n_blocks;
	cot_bench_destroy(in);
	if (rc == -ERANGE)
		return cot_error_set(err, rc, "%s: %u blocks are too many", bench->name, n_blocks);
	return cot_error_set(err, rc, "%s: not enough memory for %u blocks", bench->name, n_blocks);
}

void cot_bench_destroy(struct cot_bench_instance *in)
{
	uint32_t i;

	for (i = 0; i < in->n_buffers; i++)
		free(in->buffers[i].data);
	free(in->steps);
	*in = (struct cot_bench_instance){0};
}

int cot_bench_check(const struct cot_bench_instance *in, void *const *result,
		    struct cot_bench_verdict *verdict)
{
	*verdict = (struct cot_bench_verdict){0};
	return in->bench->check(in, result, verdict);
}

void cot_bench_bind(const struct cot_bench_step *step, const uint64_t *address,
		    unsigned char (*ret_values)[COT_BENCH_MAX_BYTES])
{
	uint32_t i, k;

	for (i = 0; i < step->n_args; i++) {
		const struct cot_bench_arg *arg = &step->args[i];

		memcpy(ret_values[i], arg->bytes, sizeof(arg->bytes));
		if (arg->buffer != COT_BENCH_NO_BUFFER)
			memcpy(ret_values[i], &address[arg->buffer], sizeof(uint64_t));
		for (k = 0; k < arg->n_inner; k++)
			memcpy(ret_values[i] + arg->inner_at[k], &address[arg->inner[k]],
			       sizeof(uint64_t));
	}
}
