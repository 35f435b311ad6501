/* The entry points that launch a kernel with its own arguments. */
#include "shim/entry.h"

/* What the program has asked for, in case it is left as it is. */
struct original {
	cot_cu_handle function;
	const struct cot_cu_launch *config;
	void **params, **extra;
	bool per_thread, with_attributes;
};

static int launch_original(void *arg)
{
	const struct original *o = arg;
	const struct cot_cu_launch *c = o->config;

	if (o->with_attributes)
		return (o->per_thread
				? COT_REAL(cuLaunchKernelEx_ptsz)
				: COT_REAL(cuLaunchKernelEx))(c, o->function, o->params, o->extra);
	return (o->per_thread ? COT_REAL(cuLaunchKernel_ptsz) : COT_REAL(cuLaunchKernel))(
		o->function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
		c->block[2], c->shared_bytes, c->stream, o->params, o->extra);
}

static int launch(struct original *o)
{
	return cot_shim_launch(o->function, o->config, o->per_thread, o->with_attributes, o->params,
			       o->extra, launch_original, o);
}

/*
 * Most launches under the shim are of kernels that were not rewritten, in vendor libraries for
 * instance. They go on with the arguments that they came with, but for the first one of each.
 */
static bool is_known_plain(cot_cu_handle function)
{
	const struct cot_shim_ref *r = cot_shim_table_find(function);

	return r && !r->kernel && atomic_load_explicit(&r->told, memory_order_relaxed);
}

int cuLaunchKernel(cot_cu_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		   unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
		   cot_cu_handle stream, void **params, void **extra)
{
	if (cot_shim_is_on() && !is_known_plain(function)) {
		struct cot_cu_launch config = {{grid_x, grid_y, grid_z},
					       {block_x, block_y, block_z},
					       shared_bytes,
					       stream,
					       NULL,
					       0};
		struct original o = {function, &config, params, extra, false, false};

		return launch(&o);
	}
	return COT_REAL(cuLaunchKernel)(function, grid_x, grid_y, grid_z, block_x, block_y, block_z,
					shared_bytes, stream, params, extra);
}

int cuLaunchKernel_ptsz(cot_cu_handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
			cot_cu_handle stream, void **params, void **extra)
{
	if (cot_shim_is_on() && !is_known_plain(function)) {
		struct cot_cu_launch config = {{grid_x, grid_y, grid_z},
					       {block_x, block_y, block_z},
					       shared_bytes,
					       stream,
					       NULL,
					       0};
		struct original o = {function, &config, params, extra, true, false};

		return launch(&o);
	}
	return COT_REAL(cuLaunchKernel_ptsz)(function, grid_x, grid_y, grid_z, block_x, block_y,
					     block_z, shared_bytes, stream, params, extra);
}

int cuLaunchKernelEx(const struct cot_cu_launch *config, cot_cu_handle function, void **params,
		     void **extra)
{
	struct original o = {function, config, params, extra, false, true};

	if (config && cot_shim_is_on() && !is_known_plain(function))
		return launch(&o);
	return COT_REAL(cuLaunchKernelEx)(config, function, params, extra);
}

int cuLaunchKernelEx_ptsz(const struct cot_cu_launch *config, cot_cu_handle function, void **params,
			  void **extra)
{
	struct original o = {function, config, params, extra, true, true};

	if (config && cot_shim_is_on() && !is_known_plain(function))
		return launch(&o);
	return COT_REAL(cuLaunchKernelEx_ptsz)(config, function, params, extra);
}
