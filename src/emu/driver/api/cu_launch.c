/* Launches. */
#include "emu/driver/inside.h"
#include "emu/driver/launch.h"

static CUresult launch(const CUlaunchConfig *config, CUfunction function, void **params,
		       void **extra, const struct cot_emu_wishes *w)
{
	struct cot_emu_task task;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(config->hStream, &s);

	if (!result)
		result = cot_emu_task_launch((struct cot_emu_place){s->context, s->green}, config,
					     function, params, extra, w, &task);
	if (!result)
		result = cot_emu_stream_submit(config->hStream, &task);
	if (!result && w->after)
		result = cuEventRecord(w->after, config->hStream);
	return result;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **params,
			  void **extra)
{
	struct cot_emu_wishes w = {.cooperative = false};
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!config)
		return CUDA_ERROR_INVALID_VALUE;
	result = cot_emu_wishes_read(config, &w);
	return result ? result : launch(config, function, params, extra, &w);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			CUstream stream, void **params, void **extra)
{
	CUlaunchConfig config = {.grid = {grid_x, grid_y, grid_z},
				 .block = {block_x, block_y, block_z},
				 .sharedMemBytes = shared_bytes,
				 .hStream = stream};
	struct cot_emu_wishes w = {.cooperative = false};

	return launch(&config, function, params, extra, &w);
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
				   unsigned grid_z, unsigned block_x, unsigned block_y,
				   unsigned block_z, unsigned shared_bytes, CUstream stream,
				   void **params)
{
	CUlaunchConfig config = {.grid = {grid_x, grid_y, grid_z},
				 .block = {block_x, block_y, block_z},
				 .sharedMemBytes = shared_bytes,
				 .hStream = stream};
	struct cot_emu_wishes w = {.cooperative = true};

	return launch(&config, function, params, NULL, &w);
}
