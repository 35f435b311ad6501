#include "bench/contention/partition.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* As in CUDA 13.0's cuda.h. */
#define RESOURCE_SM	      1
#define GREEN_DEFAULT_STREAM  1u
#define STREAM_NON_BLOCKING   1u
#define RESOURCE_BYTES_BEFORE 92
#define RESOURCE_BYTES_UNION  48

struct resource {
	int type;
	unsigned char internal[RESOURCE_BYTES_BEFORE];
	union {
		struct {
			unsigned count, least, alignment;
		} sm;
		unsigned char bytes[RESOURCE_BYTES_UNION];
	} u;
};
_Static_assert(sizeof(struct resource) == 144, "CUdevResource of ABI version 1");

#define NEEDED_CALLS(F)                                        \
	F(cuDevicePrimaryCtxRetain, (cot_cuda_context *, int)) \
	F(cuDevicePrimaryCtxRelease_v2, (int))                 \
	F(cuCtxSetCurrent, (cot_cuda_context))                 \
	F(cuDeviceGetPCIBusId, (char *, int, int))

#define GREEN_CALLS(F)                                                                          \
	F(cuDeviceGetDevResource, (int, struct resource *, int))                                \
	F(cuDevSmResourceSplitByCount, (struct resource *, unsigned *, const struct resource *, \
					struct resource *, unsigned, unsigned))                 \
	F(cuDevResourceGenerateDesc, (void **, struct resource *, unsigned))                    \
	F(cuGreenCtxCreate, (void **, void *, int, unsigned))                                   \
	F(cuGreenCtxDestroy, (void *))                                                          \
	F(cuGreenCtxStreamCreate, (cot_cuda_stream *, void *, unsigned, int))

struct cot_partition_calls {
#define F(name, parameters) int(*name) parameters;
	NEEDED_CALLS(F)
	GREEN_CALLS(F)
#undef F
	struct resource all;
};

static void *find(const struct cot_partitions *p, const char *name)
{
	return dlsym(p->cuda->library, name);
}

static int find_calls(struct cot_partitions *p, struct cot_error *err)
{
	void *symbol;

#define F(name, parameters)                                                                 \
	symbol = find(p, #name);                                                            \
	if (!symbol)                                                                        \
		return cot_error_set(err, -ENOSYS,                                          \
				     "libcuda.so.1 has no %s: expected the driver of CUDA " \
				     "11 or later",                                         \
				     #name);                                                \
	memcpy((void *)&p->calls->name, &symbol, sizeof(symbol));
	NEEDED_CALLS(F)
#undef F
	p->has_green = true;
#define F(name, parameters)                                                   \
	symbol = find(p, #name);                                              \
	if (!symbol && p->has_green) {                                        \
		p->has_green = false;                                         \
		cot_error_set(&p->why_not, 0,                                 \
			      "this driver has no %s, so there are no green " \
			      "contexts: measured on the whole GPU only",     \
			      #name);                                         \
	}                                                                     \
	memcpy((void *)&p->calls->name, &symbol, sizeof(symbol));
	GREEN_CALLS(F)
#undef F
	return 0;
}

static int find_sms(struct cot_partitions *p, struct cot_error *err)
{
	int result;

	if (!p->has_green)
		return 0;
	result = p->calls->cuDeviceGetDevResource(p->device, &p->calls->all, RESOURCE_SM);
	if (result) {
		p->has_green = false;
		cot_cuda_check(p->cuda, result, "cuDeviceGetDevResource", &p->why_not);
		return 0;
	}
	if (p->calls->all.u.sm.count != p->whole.n_sms)
		return cot_error_set(err, -EIO,
				     "cuDeviceGetDevResource says that there are %u SMs; expected "
				     "the %u of the GPU's attribute",
				     p->calls->all.u.sm.count, p->whole.n_sms);
	return 0;
}

int cot_partitions_init(struct cot_partitions *p, struct cot_cuda *cuda, int ordinal,
			struct cot_error *err)
{
	uint32_t i;
	int rc;

	memset(p, 0, sizeof(*p));
	p->cuda = cuda;
	p->whole.n_sms = (uint32_t)cuda->n_sms;
	p->calls = calloc(1, sizeof(*p->calls));
	if (!p->calls)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = find_calls(p, err);
	if (!rc)
		rc = cot_cuda_check(cuda, cuda->device(&p->device, ordinal), "cuDeviceGet", err);
	if (!rc)
		rc = cot_cuda_check(cuda,
				    p->calls->cuDevicePrimaryCtxRetain(&p->primary, p->device),
				    "cuDevicePrimaryCtxRetain", err);
	if (!rc)
		rc = cot_partitions_use_primary(p, err);
	for (i = 0; i < COT_PARTITION_STREAMS && !rc; i++)
		rc = cot_cuda_check(
			cuda, cuda->stream_create(&p->whole.streams[i], STREAM_NON_BLOCKING, 0),
			"cuStreamCreateWithPriority", err);
	if (!rc)
		rc = find_sms(p, err);
	if (rc)
		cot_partitions_finish(p);
	return rc;
}

static void release(struct cot_partitions *p, struct cot_partition *part)
{
	uint32_t i;

	for (i = 0; i < COT_PARTITION_STREAMS; i++)
		if (part->streams[i])
			p->cuda->stream_destroy(part->streams[i]);
	if (part->green)
		p->calls->cuGreenCtxDestroy(part->green);
	memset(part, 0, sizeof(*part));
}

void cot_partitions_finish(struct cot_partitions *p)
{
	uint32_t i;

	if (!p->calls)
		return;
	for (i = 0; i < p->n_splits; i++) {
		release(p, &p->splits[i].first);
		release(p, &p->splits[i].rest);
	}
	release(p, &p->whole);
	if (p->primary)
		p->calls->cuDevicePrimaryCtxRelease_v2(p->device);
	free(p->calls);
	memset(p, 0, sizeof(*p));
}

static int make_part(struct cot_partitions *p, struct resource *sms, struct cot_partition *part,
		     struct cot_error *err)
{
	const struct cot_partition_calls *calls = p->calls;
	void *description;
	uint32_t i;
	int rc;

	part->n_sms = sms->u.sm.count;
	rc = cot_cuda_check(p->cuda, calls->cuDevResourceGenerateDesc(&description, sms, 1),
			    "cuDevResourceGenerateDesc", err);
	if (!rc)
		rc = cot_cuda_check(p->cuda,
				    calls->cuGreenCtxCreate(&part->green, description, p->device,
							    GREEN_DEFAULT_STREAM),
				    "cuGreenCtxCreate", err);
	for (i = 0; i < COT_PARTITION_STREAMS && !rc; i++)
		rc = cot_cuda_check(p->cuda,
				    calls->cuGreenCtxStreamCreate(&part->streams[i], part->green,
								  STREAM_NON_BLOCKING, 0),
				    "cuGreenCtxStreamCreate", err);
	return rc;
}

static int make_split(struct cot_partitions *p, uint32_t n_sms, struct cot_partition_split *split,
		      struct cot_error *err)
{
	struct resource first, rest;
	unsigned n_groups = 1;
	int rc;

	memset(&first, 0, sizeof(first));
	memset(&rest, 0, sizeof(rest));
	rc = cot_cuda_check(p->cuda,
			    p->calls->cuDevSmResourceSplitByCount(&first, &n_groups, &p->calls->all,
								  &rest, 0, n_sms),
			    "cuDevSmResourceSplitByCount", err);
	if (rc)
		return rc;
	if (n_groups != 1 || first.u.sm.count != n_sms)
		return cot_error_set(err, -ENOTSUP,
				     "the driver makes a partition of %u SMs; expected %u",
				     first.u.sm.count, n_sms);
	rc = make_part(p, &first, &split->first, err);
	if (!rc && rest.u.sm.count)
		rc = make_part(p, &rest, &split->rest, err);
	return rc;
}

int cot_partitions_split(struct cot_partitions *p, uint32_t n_sms,
			 const struct cot_partition_split **ret_split, struct cot_error *err)
{
	struct cot_partition_split *split;
	uint32_t i;
	int rc;

	if (!p->has_green)
		return cot_error_set(err, -ENOTSUP, "%s", p->why_not.text);
	for (i = 0; i < p->n_splits; i++) {
		if (p->splits[i].first.n_sms == n_sms) {
			*ret_split = &p->splits[i];
			return 0;
		}
	}
	if (p->n_splits == COT_PARTITION_SPLITS)
		return cot_error_set(err, -ENOSPC, "more than %u partitions", COT_PARTITION_SPLITS);
	split = &p->splits[p->n_splits];
	memset(split, 0, sizeof(*split));
	rc = make_split(p, n_sms, split, err);
	if (rc) {
		release(p, &split->first);
		release(p, &split->rest);
		return -ENOTSUP;
	}
	p->n_splits++;
	*ret_split = split;
	return 0;
}

int cot_partitions_use_primary(struct cot_partitions *p, struct cot_error *err)
{
	return cot_cuda_check(p->cuda, p->calls->cuCtxSetCurrent(p->primary), "cuCtxSetCurrent",
			      err);
}

int cot_partitions_use_own(struct cot_partitions *p, struct cot_error *err)
{
	return cot_cuda_check(p->cuda, p->calls->cuCtxSetCurrent(p->cuda->context),
			      "cuCtxSetCurrent", err);
}

void cot_partitions_bus_id(const struct cot_partitions *p, char *ret_text, int size)
{
	if (p->calls->cuDeviceGetPCIBusId(ret_text, size, p->device))
		ret_text[0] = '\0';
}
