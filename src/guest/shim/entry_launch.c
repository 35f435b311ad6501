/* The entry points that launch a kernel with its own arguments. */
#include "guest/shim/backend.h"
#include "guest/shim/cpu.h"
#include "guest/shim/driver.h"
#include "guest/shim/fork.h"
#include "guest/shim/launch.h"
#include "guest/shim/parts.h"
#include "guest/shim/seen.h"

/* Before a launch: whether it is any other than the driver's. */
static bool begin(CUstream stream, bool per_thread)
{
	cot_shim_seen_put(stream, per_thread);
	return cot_shim_is_asked() && cot_shim_settings.parts;
}

static int launch(const struct cot_shim_original *o)
{
	int rc = CUDA_SUCCESS;

	if (!cot_shim_is_on())
		return cot_shim_original_launch(o);
	if (COT_UNLIKELY(cot_shim_settings.cpu[0]) && cot_shim_cpu_launch(o, &rc))
		return rc;
	if (cot_shim_settings.rewrites && !o->cooperative)
		return cot_shim_launch(o);
	if (cot_shim_backend_is_asked())
		return cot_shim_backend_launch(o);
	if (COT_UNLIKELY(cot_shim_settings.merges))
		return cot_shim_merge_launch(o);
	return cot_shim_part_launch(o);
}

static CUlaunchConfig config_of(unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
				unsigned block_y, unsigned block_z, unsigned shared_bytes,
				CUstream stream)
{
	return (CUlaunchConfig){.grid = {grid_x, grid_y, grid_z},
				.block = {block_x, block_y, block_z},
				.sharedMemBytes = shared_bytes,
				.hStream = stream};
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			CUstream stream, void **params, void **extra)
{
	if (begin(stream, false)) {
		CUlaunchConfig config = config_of(grid_x, grid_y, grid_z, block_x, block_y, block_z,
						  shared_bytes, stream);
		struct cot_shim_original o = {function, &config, params, extra,
					      false,	false,	 false};

		return launch(&o);
	}
	return COT_REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
					shared_bytes, stream, params, extra);
}

CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			     unsigned block_x, unsigned block_y, unsigned block_z,
			     unsigned shared_bytes, CUstream stream, void **params, void **extra)
{
	if (begin(stream, true)) {
		CUlaunchConfig config = config_of(grid_x, grid_y, grid_z, block_x, block_y, block_z,
						  shared_bytes, stream);
		struct cot_shim_original o = {function, &config, params, extra, true, false, false};

		return launch(&o);
	}
	return COT_REAL(cuLaunchKernel_ptsz)(function, grid_x, grid_y, grid_z, block_x, block_y,
					     block_z, shared_bytes, stream, params, extra);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
			  void **extra)
{
	struct cot_shim_original o = {function, config, params, extra, false, true, false};

	if (config && begin(config->hStream, false))
		return launch(&o);
	return COT_REAL(cuLaunchKernelEx)(config, function, params, extra);
}

CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig *config, CUfunction function, void **params,
			       void **extra)
{
	struct cot_shim_original o = {function, config, params, extra, true, true, false};

	if (config && begin(config->hStream, true))
		return launch(&o);
	return COT_REAL(cuLaunchKernelEx_ptsz)(config, function, params, extra);
}

static CUresult launch_cooperative(CUfunction function, CUlaunchConfig config, void **params,
				   bool per_thread)
{
	struct cot_shim_original o = {function, &config, params, NULL, per_thread, false, true};

	return begin(config.hStream, per_thread) ? launch(&o) : cot_shim_original_launch(&o);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
				   unsigned grid_z, unsigned block_x, unsigned block_y,
				   unsigned block_z, unsigned shared_bytes, CUstream stream,
				   void **params)
{
	return launch_cooperative(
		function,
		config_of(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream),
		params, false);
}

CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned grid_x, unsigned grid_y,
					unsigned grid_z, unsigned block_x, unsigned block_y,
					unsigned block_z, unsigned shared_bytes, CUstream stream,
					void **params)
{
	return launch_cooperative(
		function,
		config_of(grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream),
		params, true);
}
