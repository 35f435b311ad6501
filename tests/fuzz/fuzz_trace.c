/*
 * Trace files and their tables of kernels: an input that begins with "schema" or '#' is a trace,
 * everything else a table.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/gpu.h"
#include "trace/trace.h"
#include "trace/trace_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void fuzz_trace(const uint8_t *data, size_t size)
{
	struct cot_error err = {""};
	struct cot_trace *trace = NULL;
	/* The table is the one of the built-in trace of this name. */
	int rc = cot_trace_parse("traces/parboil/lbm.yaml", data, size, &trace, &err);

	if (rc)
		REQUIRE(!trace && err.text[0] && !strchr(err.text, '\n'));
	else
		REQUIRE(trace->name[0] && trace->gpu && trace->n_kernels);
	cot_trace_destroy(trace);
}

static void fuzz_table(const uint8_t *data, size_t size)
{
	const struct cot_gpu *gpu = cot_gpu_find(COT_GPU_DEFAULT);
	struct cot_trace_kernel *kernels = NULL;
	struct cot_error err = {""};
	uint32_t n = 0, i;
	int rc = cot_trace_table_read("fuzz", data, size, "lbm", &kernels, &n, &err);

	if (rc)
		REQUIRE(!kernels && err.text[0] && !strchr(err.text, '\n'));
	for (i = 0; i < n; i++) {
		REQUIRE(kernels[i].name[0] && kernels[i].n_blocks && kernels[i].blocks_per_sm);
		REQUIRE(cot_trace_block_ps(&kernels[i], COT_BLOCK_TIME_WAVE, gpu) >= 1);
		REQUIRE(cot_trace_block_ps(&kernels[i], COT_BLOCK_TIME_SMOOTH, gpu) >= 1);
		REQUIRE(cot_trace_block_ps(&kernels[i], COT_BLOCK_TIME_PRINTED, gpu) >= 1);
	}
	free(kernels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size && (data[0] == 's' || data[0] == '#'))
		fuzz_trace(data, size);
	else
		fuzz_table(data, size);
	return 0;
}
