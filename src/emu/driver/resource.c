#include "emu/driver/resource.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "emu/driver/inside.h"

#define NOTES_MAGIC 0x534d7321u

/* Compute capability 9.0 hands SMs out in eights, and in pairs without regard for clusters. */
#define UNIT	  8u
#define FINE_UNIT 2u
/* Blocks of a cluster that a plain group, a fine one, and one for the largest clusters takes. */
#define CLUSTER	     8u
#define FINE_CLUSTER 2u
#define WIDE_CLUSTER 16u

enum kind { WHOLE, GROUP }; /* a group may not be split again */

/* What is in the internal bytes of a resource. */
struct notes {
	uint32_t magic;
	uint8_t device, kind, split_flags, reserved;
	uint32_t split; /* which one made it; 0: none */
	struct cot_emu_sms sms;
};

_Static_assert(sizeof(struct notes) == sizeof(((CUdevResource *)0)->internal), "they fill it");

struct CUdevResourceDesc_st {
	struct cot_emu_part part;
	struct CUdevResourceDesc_st *next;
};

static _Atomic uint32_t last_split;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUdevResourceDesc_st *descriptions; /* under the lock */

static uint32_t unit_of(uint32_t split_flags)
{
	return split_flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING ? FINE_UNIT : UNIT;
}

/* The SMs of a rest need not be a multiple of anything. */
static uint32_t alignment_of(const struct notes *n, uint32_t n_sms)
{
	uint32_t unit = unit_of(n->split_flags);

	return n->kind == WHOLE || !(n_sms % unit) ? unit : 1;
}

static void write_resource(const struct notes *n, CUdevResource *ret)
{
	uint32_t n_sms = cot_emu_sms_count(&n->sms);

	memset(ret, 0, sizeof(*ret));
	if (!n_sms) /* nothing was left */
		return;
	ret->type = CU_DEV_RESOURCE_TYPE_SM;
	memcpy(ret->internal, n, sizeof(*n));
	ret->sm.smCount = n_sms;
	ret->sm.minSmPartitionSize = unit_of(n->split_flags);
	ret->sm.smCoscheduledAlignment = alignment_of(n, n_sms);
}

static CUresult read_resource(const CUdevResource *r, struct notes *ret)
{
	if (r->type != CU_DEV_RESOURCE_TYPE_SM)
		return CUDA_ERROR_INVALID_RESOURCE_TYPE;
	memcpy(ret, r->internal, sizeof(*ret));
	if (ret->magic != NOTES_MAGIC || cot_emu_visible(ret->device) < 0)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	return CUDA_SUCCESS;
}

CUresult cot_emu_resource_of_device(CUdevice device, CUdevResource *ret_resource)
{
	struct notes n = {.magic = NOTES_MAGIC, .device = (uint8_t)device, .kind = WHOLE};
	uint32_t n_sms = cot_emu_n_sms();

	if (cot_emu_device_target() < 90 || n_sms > COT_EMU_SMS_MOST)
		return CUDA_ERROR_NOT_SUPPORTED;
	n.sms = cot_emu_sms_first(n_sms);
	write_resource(&n, ret_resource);
	return CUDA_SUCCESS;
}

void cot_emu_resource_of_part(const struct cot_emu_part *part, CUdevResource *ret_resource)
{
	struct notes n = {
		.magic = NOTES_MAGIC,
		.device = (uint8_t)part->device,
		.kind = WHOLE,
		.split_flags = (uint8_t)part->split_flags,
		.sms = part->sms,
	};

	write_resource(&n, ret_resource);
}

/* ---- splitting ---- */

static bool has_share(void)
{
	return cot_emu_n_sms() < cot_emu_gpu_config(cot_emu_machine())->params.n_sms;
}

/*
 * How many groups there are in so many SMs. A group of eight lies in one graphics processing
 * cluster, larger ones do not: 132 SMs of an H200 make 15 groups of 8 and 8 groups of 16.
 */
static uint32_t n_groups(uint32_t n_sms, uint32_t each)
{
	static const uint32_t clusters[] = {18, 18, 18, 16, 16, 16, 16, 14};
	uint32_t n = 0, all = 0, i;

	for (i = 0; i < COT_ARRAY_LEN(clusters); i++) {
		n += clusters[i] / UNIT;
		all += clusters[i];
	}
	return n_sms == all && each == UNIT ? n : n_sms / each;
}

static CUresult check_split(const struct notes *whole, unsigned flags, unsigned least)
{
	const unsigned both = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING |
			      CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;

	if (flags & ~both || flags == both || least > cot_emu_sms_count(&whole->sms))
		return CUDA_ERROR_INVALID_VALUE;
	/* A client of MPS with a share of the SMs does not know which they will be. */
	if (whole->kind != WHOLE || has_share())
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	return CUDA_SUCCESS;
}

CUresult cot_emu_resource_split(const CUdevResource *whole, unsigned flags, unsigned least,
				CUdevResource *groups, unsigned *n, CUdevResource *rest)
{
	uint32_t unit = unit_of(flags), each = least ? (least + unit - 1) / unit * unit : unit;
	struct notes left, group;
	unsigned fit, shift, i;
	CUresult result = read_resource(whole, &left);

	if (!result)
		result = check_split(&left, flags, least);
	if (result)
		return result;
	fit = n_groups(cot_emu_sms_count(&left.sms), each);
	if (!fit)
		return CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
	if (!groups) {
		*n = fit;
		return CUDA_SUCCESS;
	}
	if (*n > fit)
		*n = fit;
	left.kind = GROUP;
	left.split_flags = (uint8_t)flags;
	left.split = atomic_fetch_add(&last_split, 1) + 1;
	shift = cot_emu_config_quirk("own-split") ? cot_emu_gpu_client(cot_emu_machine()) : 0;
	for (i = 0; i < *n; i++) {
		group = left;
		group.sms = cot_emu_sms_take(&left.sms, each);
		write_resource(&group, &groups[(i + shift) % *n]);
	}
	if (rest)
		write_resource(&left, rest);
	return CUDA_SUCCESS;
}

/* ---- describing ---- */

/*
 * On an H200 a group takes the largest clusters if its split was for that; several such groups
 * together do not.
 */
static uint32_t cluster_of(const struct cot_emu_part *part, unsigned n_resources)
{
	uint32_t most = CLUSTER;

	if (part->split_flags & CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING)
		most = FINE_CLUSTER;
	else if (part->split_flags & CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE &&
		 n_resources == 1)
		most = WIDE_CLUSTER;
	return part->n_sms < most ? part->n_sms : most;
}

/* Several must be of one split, and no SM twice. */
static CUresult gather(const CUdevResource *resources, unsigned n, struct cot_emu_part *ret_part)
{
	struct notes first = {.magic = 0}, next;
	CUresult result = CUDA_SUCCESS;
	unsigned i;

	for (i = 0; !result && i < n; i++) {
		result = read_resource(&resources[i], &next);
		if (!result && i &&
		    (next.device != first.device || !next.split || next.split != first.split ||
		     cot_emu_sms_meet(&next.sms, &first.sms)))
			result = CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION;
		if (i)
			cot_emu_sms_add(&first.sms, &next.sms);
		else
			first = next;
	}
	if (result)
		return result;
	*ret_part = (struct cot_emu_part){
		.device = first.device,
		.sms = first.sms,
		.n_sms = cot_emu_sms_count(&first.sms),
		.split_flags = first.split_flags,
	};
	ret_part->cluster = cluster_of(ret_part, n);
	return CUDA_SUCCESS;
}

static bool is_same(const struct cot_emu_part *a, const struct cot_emu_part *b)
{
	return a->device == b->device && a->split_flags == b->split_flags &&
	       a->cluster == b->cluster && cot_emu_sms_equal(&a->sms, &b->sms);
}

/* With the lock held; NULL: out of memory. */
static struct CUdevResourceDesc_st *description_of(const struct cot_emu_part *part)
{
	struct CUdevResourceDesc_st *d;

	for (d = descriptions; d; d = d->next)
		if (is_same(&d->part, part))
			return d;
	d = malloc(sizeof(*d));
	if (!d)
		return NULL;
	*d = (struct CUdevResourceDesc_st){.part = *part, .next = descriptions};
	descriptions = d;
	return d;
}

CUresult cot_emu_resource_describe(const CUdevResource *resources, unsigned n,
				   CUdevResourceDesc *ret_description)
{
	struct CUdevResourceDesc_st *d;
	struct cot_emu_part part;
	CUresult result = gather(resources, n, &part);

	if (result)
		return result;
	pthread_mutex_lock(&lock);
	d = description_of(&part);
	pthread_mutex_unlock(&lock);
	if (!d)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_description = d;
	return CUDA_SUCCESS;
}

CUresult cot_emu_resource_described(CUdevResourceDesc description, struct cot_emu_part *ret_part)
{
	struct CUdevResourceDesc_st *d;

	pthread_mutex_lock(&lock);
	for (d = descriptions; d && d != description; d = d->next)
		;
	pthread_mutex_unlock(&lock);
	if (!d)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_part = d->part; /* which never changes */
	return CUDA_SUCCESS;
}

uint32_t cot_emu_resource_cluster(void)
{
	return WIDE_CLUSTER;
}
