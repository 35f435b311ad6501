/* Kernels that a program has written as workers: what include/cotenant/share.h finds. */
#include <errno.h>

#include "cotenant/share.h"
#include "guest/shim/fork.h"
#include "guest/shim/launch.h"
#include "guest/shim/seen.h"

COT_EXPORT int cotenant_share_workers(const struct cot_share_workers *w, size_t size);

/* A header of a later time has a larger struct, and may leave the rest 0. */
COT_EXPORT int cotenant_share_workers(const struct cot_share_workers *w, size_t size)
{
	CUlaunchConfig config = {0};
	struct cot_shim_original asked = {.config = &config};
	enum cot_shim_why why;
	unsigned i;
	int rc;

	if (size < sizeof(*w))
		return -EINVAL;
	cot_shim_driver_load();
	if (!cot_shim_rewrites())
		return -ENOSYS;
	for (i = 0; i < 3; i++) {
		config.grid[i] = w->grid[i];
		config.block[i] = w->block[i];
	}
	config.sharedMemBytes = w->shared_bytes;
	config.hStream = w->stream;
	asked.function = w->function;
	asked.params = w->params;
	cot_shim_seen_put(config.hStream, false);
	rc = cot_shim_launch_by_hand(&asked, w->n_params, &why);
	return why == COT_SHIM_WHY_NOT ? rc : -EAGAIN;
}
