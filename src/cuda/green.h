/*
 * Parts of a GPU's SMs: green contexts, which the driver has since CUDA 12.4 and with streams since
 * 12.5. A *split* divides the SMs of a GPU into groups; a green context is on the groups [from, to)
 * of one split. The kernels of the primary context run on its streams as well.
 *
 * Units: SMs where a name ends in _sms, groups otherwise. The same split means the same SMs every
 * time, in every process of one MPS server too; the SMs of two different splits overlap. In a
 * process with a share of MPS's threads below 100 % there are no splits.
 *
 * Measured on an H200 (driver 580): groups are multiples of 8 SMs. Split into groups of 8, its 132
 * SMs make 15 and leave 12 over: a caller counts the groups, since that may differ from GPU to GPU.
 * A context takes 2 ms and 10 MB, a stream tens of microseconds.
 *
 * Ownership: struct cot_green and struct cot_green_split are data of the caller's, with nothing to
 * be given back; the table of the driver's functions has to outlive them. A green context belongs
 * to the caller until cot_green_destroy().
 *
 * Errors: 0, or -errno and one sentence. -ENOSYS: the driver is too old; -EIO: it refuses, and the
 * sentence has its error; -ENOTSUP: it has no groups of that size. No lock, no state: any thread
 * may call, the same struct on one thread at a time. Needs libc only.
 */
#ifndef COT_CUDA_GREEN_H
#define COT_CUDA_GREEN_H

#include <stdint.h>

#include "cuda/driver.h"

#define COT_GREEN_GROUP_SMS  8u
#define COT_GREEN_GROUPS_MAX 32u

/* The SMs of one GPU. */
struct cot_green {
	const struct cot_driver *driver; /* not owned */
	CUdevice device;
	CUdevResource all;
};

struct cot_green_split {
	CUdevResource groups[COT_GREEN_GROUPS_MAX + 1]; /* what is left over is the last one */
	uint32_t n;
};

int cot_green_init(struct cot_green *g, const struct cot_driver *driver, CUdevice device,
		   struct cot_error *err);

/*
 * At most n_max groups of just group_sms each, and one of what is left, if anything. With the flag
 * CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, clusters of thread blocks may be as large
 * as on the whole GPU; without it a launch of large ones fails.
 */
int cot_green_split(const struct cot_green *g, uint32_t group_sms, uint32_t n_max, unsigned flags,
		    struct cot_green_split *ret_split, struct cot_error *err);

/* How many SMs the groups [from, to) have. */
uint32_t cot_green_n_sms(const struct cot_green_split *s, uint32_t from, uint32_t to);

/* On the groups [from, to), at least one. The driver does not change the split. It waits for all
 * that the primary context has been given, and holds back what comes meanwhile (measured on an
 * H200).
 */
int cot_green_create(const struct cot_green *g, struct cot_green_split *s, uint32_t from,
		     uint32_t to, CUgreenCtx *ret_green, struct cot_error *err);
/* Its streams have to be destroyed before. NULL is none. */
void cot_green_destroy(const struct cot_green *g, CUgreenCtx green);

/* The same as a context that can be made current. It goes with the green one. */
int cot_green_context(const struct cot_green *g, CUgreenCtx green, CUcontext *ret_context,
		      struct cot_error *err);

/* One that does not wait for the default stream: the driver has no others there. */
int cot_green_stream(const struct cot_green *g, CUgreenCtx green, int priority,
		     CUstream *ret_stream, struct cot_error *err);

#endif
