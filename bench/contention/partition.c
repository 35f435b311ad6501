#include "bench/contention/partition.h"

#include <errno.h>
#include <string.h>

static int find_sms(struct cot_partitions *p, struct cot_error *err)
{
	struct cot_error why;
	int rc = cot_green_init(&p->green, &p->cuda->api, p->device, &why);

	p->has_green = !rc;
	if (rc)
		cot_error_set(&p->why_not, 0, "%s%s", why.text,
			      rc == -ENOSYS ? ": measured on the whole GPU only" : "");
	if (!rc && p->green.all.sm.smCount != p->whole.n_sms)
		return cot_error_set(err, -EIO,
				     "cuDeviceGetDevResource says that there are %u SMs; expected "
				     "the %u of the GPU's attribute",
				     p->green.all.sm.smCount, p->whole.n_sms);
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
	rc = COT_CUDA_CALL(cuda, err, cuDeviceGet, &p->device, ordinal);
	if (!rc)
		rc = COT_CUDA_CALL(cuda, err, cuDevicePrimaryCtxRetain, &p->primary, p->device);
	if (!rc)
		rc = cot_partitions_use_primary(p, err);
	for (i = 0; i < COT_PARTITION_STREAMS && !rc; i++)
		rc = COT_CUDA_CALL(cuda, err, cuStreamCreateWithPriority, &p->whole.streams[i],
				   CU_STREAM_NON_BLOCKING, 0);
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
			p->cuda->api.cuStreamDestroy_v2(part->streams[i]);
	cot_green_destroy(&p->green, part->green);
	memset(part, 0, sizeof(*part));
}

void cot_partitions_finish(struct cot_partitions *p)
{
	uint32_t i;

	if (!p->cuda)
		return;
	for (i = 0; i < p->n_splits; i++) {
		release(p, &p->splits[i].first);
		release(p, &p->splits[i].rest);
	}
	release(p, &p->whole);
	if (p->primary)
		p->cuda->api.cuDevicePrimaryCtxRelease_v2(p->device);
	memset(p, 0, sizeof(*p));
}

static int make_part(struct cot_partitions *p, struct cot_green_split *groups, uint32_t group,
		     struct cot_partition *part, struct cot_error *err)
{
	uint32_t i;
	int rc;

	part->n_sms = cot_green_n_sms(groups, group, group + 1);
	rc = cot_green_create(&p->green, groups, group, group + 1, &part->green, err);
	for (i = 0; i < COT_PARTITION_STREAMS && !rc; i++)
		rc = cot_green_stream(&p->green, part->green, 0, &part->streams[i], err);
	return rc;
}

static int make_split(struct cot_partitions *p, uint32_t n_sms, struct cot_partition_split *split,
		      struct cot_error *err)
{
	struct cot_green_split groups;
	int rc = cot_green_split(&p->green, n_sms, 1, 0, &groups, err);

	if (!rc)
		rc = make_part(p, &groups, 0, &split->first, err);
	if (!rc && groups.n > 1)
		rc = make_part(p, &groups, 1, &split->rest, err);
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
	return COT_CUDA_CALL(p->cuda, err, cuCtxSetCurrent, p->primary);
}

int cot_partitions_use_own(struct cot_partitions *p, struct cot_error *err)
{
	return COT_CUDA_CALL(p->cuda, err, cuCtxSetCurrent, p->cuda->context);
}

void cot_partitions_bus_id(const struct cot_partitions *p, char *ret_text, int size)
{
	if (p->cuda->api.cuDeviceGetPCIBusId(ret_text, size, p->device))
		ret_text[0] = '\0';
}
