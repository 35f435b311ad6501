#include "trace/kernel_work.h"

/* A warp that waits for each of its instructions, on the pipelines of these GPUs. */
#define DEFAULT_CPI	 4.0
#define DEFAULT_LATENCY	 400.0
#define DEFAULT_MLP	 1.0
#define DEFAULT_DRAM	 128.0 /* 32 threads, 4 bytes each, no cache */
#define DEFAULT_MEM_PART 0.0

bool cot_kernel_work_given(const struct cot_raw_kernel *raw)
{
	return raw->warps_per_block || raw->insts_per_warp || raw->insts_per_block || raw->cpi ||
	       raw->mem_fraction || raw->dram_bytes || raw->latency_cycles || raw->mlp ||
	       raw->ipc_max;
}

static double number(const double *given, double otherwise)
{
	return given ? *given : otherwise;
}

int cot_kernel_work_read(const struct cot_yaml *doc, const struct cot_raw_kernel *raw,
			 const char *path, struct cot_kernel_work *ret_work, struct cot_error *err)
{
	struct cot_kernel_work work = {
		.cpi = number(raw->cpi, DEFAULT_CPI),
		.mem_fraction = number(raw->mem_fraction, DEFAULT_MEM_PART),
		.dram_bytes = number(raw->dram_bytes, DEFAULT_DRAM),
		.latency = number(raw->latency_cycles, DEFAULT_LATENCY),
		.mlp = number(raw->mlp, DEFAULT_MLP),
		.ipc_max = number(raw->ipc_max, 0.0),
	};

	if (raw->block_us || raw->kernel_us)
		return cot_yaml_fail(doc, path, err,
				     "the kernel has both a measured time and instructions; "
				     "expected either block_us or kernel_us, or insts_per_warp or "
				     "insts_per_block");
	if (!raw->warps_per_block)
		return cot_yaml_fail(doc, path, err,
				     "the kernel lacks warps_per_block; expected it beside "
				     "insts_per_warp or insts_per_block");
	if (!raw->insts_per_warp == !raw->insts_per_block)
		return cot_yaml_fail(doc, path, err,
				     "the kernel has %s insts_per_warp %s insts_per_block; "
				     "expected one of them",
				     raw->insts_per_warp ? "both" : "neither",
				     raw->insts_per_warp ? "and" : "nor");
	work.warps = *raw->warps_per_block;
	work.insts =
		raw->insts_per_warp ? *raw->insts_per_warp * work.warps : *raw->insts_per_block;
	if (work.insts < work.warps || (double)work.insts > COT_INSTS_MAX)
		return cot_yaml_fail(doc, path, err,
				     "a block has %llu instructions; expected at least one for "
				     "each of its %u warps, and at most %.0f",
				     (unsigned long long)work.insts, work.warps, COT_INSTS_MAX);
	*ret_work = work;
	return 0;
}
