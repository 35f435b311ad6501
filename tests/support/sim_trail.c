#include "support/sim_trail.h"

void trail_add(uint64_t *hash, uint64_t x)
{
	*hash = cot_hash64(*hash, x);
}

void trail_sm_changed(void *arg, uint64_t t_ps, uint32_t sm, enum cot_sm_activity activity,
		      uint32_t app, const char *kernel)
{
	(void)kernel;
	trail_add(arg, t_ps);
	trail_add(arg, (uint64_t)sm << 32 | app);
	trail_add(arg, activity);
}

void trail_app_changed(void *arg, uint64_t t_ps, uint32_t app, enum cot_app_activity activity)
{
	trail_add(arg, t_ps);
	trail_add(arg, (uint64_t)app << 32 | activity);
}

void trail_kernel_done(void *arg, uint64_t begin_ps, uint64_t end_ps, uint32_t app,
		       const char *kernel)
{
	(void)kernel;
	trail_add(arg, begin_ps);
	trail_add(arg, end_ps);
	trail_add(arg, app);
}
