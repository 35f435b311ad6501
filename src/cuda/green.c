#include "cuda/green.h"

#include <errno.h>

/* The driver's function that green contexts need and that it lacks; NULL: it has them all. */
static const char *lacks(const struct cot_driver *d)
{
#define NEED(name)    \
	if (!d->name) \
		return #name;
	NEED(cuDeviceGetDevResource)
	NEED(cuDevSmResourceSplitByCount)
	NEED(cuDevResourceGenerateDesc)
	NEED(cuGreenCtxCreate)
	NEED(cuGreenCtxDestroy)
	NEED(cuGreenCtxStreamCreate)
	NEED(cuCtxFromGreenCtx)
#undef NEED
	return NULL;
}

int cot_green_init(struct cot_green *g, const struct cot_driver *driver, CUdevice device,
		   struct cot_error *err)
{
	const char *lacking = lacks(driver);

	if (lacking)
		return cot_error_set(err, -ENOSYS,
				     "this driver has no %s, so there are no green contexts",
				     lacking);
	*g = (struct cot_green){.driver = driver, .device = device};
	return COT_DRIVER_CALL(driver, err, cuDeviceGetDevResource, device, &g->all,
			       CU_DEV_RESOURCE_TYPE_SM);
}

int cot_green_split(const struct cot_green *g, uint32_t group_sms, uint32_t n_max, unsigned flags,
		    struct cot_green_split *ret_split, struct cot_error *err)
{
	unsigned most = n_max < COT_GREEN_GROUPS_MAX ? n_max : COT_GREEN_GROUPS_MAX;
	struct cot_green_split s = {.n = most};
	CUdevResource rest = {0};
	int rc = COT_DRIVER_CALL(g->driver, err, cuDevSmResourceSplitByCount, s.groups, &s.n,
				 &g->all, &rest, flags, group_sms);

	if (rc)
		return rc;
	if (!s.n || s.n > most || s.groups[0].sm.smCount != group_sms)
		return cot_error_set(err, -ENOTSUP,
				     "the driver makes a partition of %u SMs; expected %u",
				     s.groups[0].sm.smCount, group_sms);
	if (rest.sm.smCount)
		s.groups[s.n++] = rest;
	*ret_split = s;
	return 0;
}

uint32_t cot_green_n_sms(const struct cot_green_split *s, uint32_t from, uint32_t to)
{
	uint32_t n = 0;

	for (; from < to; from++)
		n += s->groups[from].sm.smCount;
	return n;
}

int cot_green_create(const struct cot_green *g, struct cot_green_split *s, uint32_t from,
		     uint32_t to, CUgreenCtx *ret_green, struct cot_error *err)
{
	const struct cot_driver *d = g->driver;
	CUdevResourceDesc groups;
	int rc = COT_DRIVER_CALL(d, err, cuDevResourceGenerateDesc, &groups, &s->groups[from],
				 to - from);

	if (rc)
		return rc;
	return COT_DRIVER_CALL(d, err, cuGreenCtxCreate, ret_green, groups, g->device,
			       CU_GREEN_CTX_DEFAULT_STREAM);
}

void cot_green_destroy(const struct cot_green *g, CUgreenCtx green)
{
	if (green)
		(void)g->driver->cuGreenCtxDestroy(green);
}

int cot_green_context(const struct cot_green *g, CUgreenCtx green, CUcontext *ret_context,
		      struct cot_error *err)
{
	return COT_DRIVER_CALL(g->driver, err, cuCtxFromGreenCtx, ret_context, green);
}

int cot_green_stream(const struct cot_green *g, CUgreenCtx green, int priority,
		     CUstream *ret_stream, struct cot_error *err)
{
	return COT_DRIVER_CALL(g->driver, err, cuGreenCtxStreamCreate, ret_stream, green,
			       CU_STREAM_NON_BLOCKING, priority);
}
