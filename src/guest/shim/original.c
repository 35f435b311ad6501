/* A launch as the program has asked for it. */
#include "guest/shim/driver.h"
#include "guest/shim/launch.h"

int cot_shim_original_launch(const struct cot_shim_original *o)
{
	const CUlaunchConfig *c = o->config;

	if (o->cooperative)
		return (o->per_thread ? COT_REAL(cuLaunchCooperativeKernel_ptsz)
				      : COT_REAL(cuLaunchCooperativeKernel))(
			o->function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
			c->block[2], c->sharedMemBytes, c->hStream, o->params);
	if (o->with_attributes)
		return (o->per_thread
				? COT_REAL(cuLaunchKernelEx_ptsz)
				: COT_REAL(cuLaunchKernelEx))(c, o->function, o->params, o->extra);
	return (o->per_thread ? COT_REAL(cuLaunchKernel_ptsz) : COT_REAL(cuLaunchKernel))(
		o->function, c->grid[0], c->grid[1], c->grid[2], c->block[0], c->block[1],
		c->block[2], c->sharedMemBytes, c->hStream, o->params, o->extra);
}
