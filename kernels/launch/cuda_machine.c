#include "kernels/launch/cuda_machine.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct cot_cuda_machine *of(struct cot_machine *m)
{
	return (struct cot_cuda_machine *)m;
}

static int alloc(struct cot_machine *m, size_t bytes, uint64_t *ret_address, struct cot_error *err)
{
	const struct cot_cuda *cuda = of(m)->cuda;
	CUdeviceptr address = 0;
	int rc = COT_CUDA_CALL(cuda, err, cuMemAlloc_v2, &address, bytes);

	if (!rc)
		*ret_address = address;
	return rc;
}

static void release(struct cot_machine *m, uint64_t address)
{
	of(m)->cuda->api.cuMemFree_v2(address);
}

/* In the order of the stream: the calls that wait are not, for memory that is not pinned. */
static int write_bytes(struct cot_machine *m, uint64_t address, const void *from, size_t bytes,
		       struct cot_error *err)
{
	const struct cot_cuda *cuda = of(m)->cuda;

	return COT_CUDA_CALL(cuda, err, cuMemcpyHtoDAsync_v2, address, from, bytes, cuda->stream);
}

static int read_bytes(struct cot_machine *m, void *to, uint64_t address, size_t bytes,
		      struct cot_error *err)
{
	const struct cot_cuda *cuda = of(m)->cuda;
	int rc = cot_cuda_check(cuda, cuda->api.cuStreamSynchronize(cuda->stream), "a kernel", err);

	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuMemcpyDtoH_v2, to, address, bytes);
	return rc;
}

static int copy_bytes(struct cot_machine *m, uint64_t to, uint64_t from, size_t bytes,
		      struct cot_error *err)
{
	const struct cot_cuda *cuda = of(m)->cuda;

	return COT_CUDA_CALL(cuda, err, cuMemcpyDtoDAsync_v2, to, from, bytes, cuda->stream);
}

int cot_cuda_machine_function(struct cot_cuda_machine *m, const char *entry,
			      CUfunction *ret_function, struct cot_error *err)
{
	uint32_t i;
	int rc;

	for (i = 0; i < m->n_entries; i++) {
		if (strcmp(m->entries[i].name, entry) == 0) {
			*ret_function = m->entries[i].function;
			return 0;
		}
	}
	rc = m->cuda->api.cuModuleGetFunction(ret_function, m->module, entry);
	if (rc)
		return cot_error_set(err, -ENOENT, "the module has no kernel %s", entry);
	if (m->n_entries < COT_CUDA_MACHINE_ENTRIES && strlen(entry) < sizeof(m->entries[0].name)) {
		snprintf(m->entries[m->n_entries].name, sizeof(m->entries[0].name), "%s", entry);
		m->entries[m->n_entries++].function = *ret_function;
	}
	return 0;
}

static int occupancy(struct cot_machine *m, const char *entry, uint32_t n_threads,
		     uint32_t *ret_blocks, struct cot_error *err)
{
	const struct cot_cuda *cuda = of(m)->cuda;
	CUfunction function;
	int n_blocks = 0;
	int rc = cot_cuda_machine_function(of(m), entry, &function, err);

	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuOccupancyMaxActiveBlocksPerMultiprocessor,
				   &n_blocks, function, (int)n_threads, 0);
	if (rc)
		return rc;
	if (n_blocks < 1)
		return cot_error_set(err, -EINVAL,
				     "%s: a block of %u threads does not fit on an SM", entry,
				     n_threads);
	*ret_blocks = (uint32_t)n_blocks;
	return 0;
}

static int launch(struct cot_machine *m, const char *entry, const uint32_t grid[3],
		  const uint32_t block[3], const struct cot_machine_args *args,
		  struct cot_error *err)
{
	const struct cot_cuda *cuda = of(m)->cuda;
	void *values[COT_MACHINE_MAX_ARGS];
	CUfunction function;
	int rc = cot_cuda_machine_function(of(m), entry, &function, err);

	if (rc)
		return rc;
	/* The driver only reads them; its prototype does not say so. */
	memcpy(values, args->values, args->n * sizeof(values[0]));
	return cot_cuda_check(
		cuda,
		cuda->api.cuLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1],
					 block[2], args->shared_bytes, cuda->stream, values, NULL),
		entry, err);
}

static const struct cot_machine_ops cuda_ops = {
	.alloc = alloc,
	.free = release,
	.write = write_bytes,
	.read = read_bytes,
	.copy = copy_bytes,
	.occupancy = occupancy,
	.launch = launch,
};

int cot_cuda_machine_init(struct cot_cuda_machine *m, struct cot_cuda *cuda, const char *ptx,
			  struct cot_error *err)
{
	*m = (struct cot_cuda_machine){
		.base = {.ops = &cuda_ops, .n_sms = (uint32_t)cuda->n_sms},
		.cuda = cuda,
	};
	return cot_cuda_load(cuda, ptx, &m->module, err);
}

void cot_cuda_machine_finish(struct cot_cuda_machine *m)
{
	if (m->module)
		m->cuda->api.cuModuleUnload(m->module);
	*m = (struct cot_cuda_machine){0};
}
