#include "trace/kernel_work.h"

int cot_kernel_work_read(const struct cot_yaml *doc, const struct cot_written_kernel *written,
			 uint32_t node, struct cot_kernel_work *ret_work, struct cot_error *err)
{
	struct cot_kernel_work work = written->kernel.work;
	uint64_t per_warp = written->insts_per_warp;

	if (written->kernel.block_ps || written->kernel_ps)
		return cot_yaml_fail(doc, node, err,
				     "the kernel has both a measured time and instructions; "
				     "expected either block_us or kernel_us, or insts_per_warp or "
				     "insts_per_block");
	if (!work.warps)
		return cot_yaml_fail(doc, node, err,
				     "the kernel lacks warps_per_block; expected it beside "
				     "insts_per_warp or insts_per_block");
	if (!per_warp == !work.insts)
		return cot_yaml_fail(doc, node, err,
				     "the kernel has %s insts_per_warp %s insts_per_block; "
				     "expected one of them",
				     per_warp ? "both" : "neither", per_warp ? "and" : "nor");
	if (per_warp)
		work.insts = per_warp * work.warps;
	if (work.insts < work.warps || (double)work.insts > COT_INSTS_MAX)
		return cot_yaml_fail(doc, node, err,
				     "a block has %llu instructions; expected at least one for "
				     "each of its %u warps, and at most %.0f",
				     (unsigned long long)work.insts, work.warps, COT_INSTS_MAX);
	*ret_work = work;
	return 0;
}
