/*
 * The kernels of kernels.cu and what a warp does in one chunk of theirs: instructions as ptxas
 * makes them for sm_90, and bytes. Constant.
 */
#ifndef COT_BENCH_CONTENTION_FAMILY_H
#define COT_BENCH_CONTENTION_FAMILY_H

#include <stdint.h>

struct cot_family {
	const char *entry;
	uint32_t warps_max;   /* of an SM */
	uint32_t loads_ahead; /* of a warp, before it waits for the first */
	double insts;	      /* warp instructions, all together: */
	double fma, dfma, whole, special, shared, loads, stores;
	double read_bytes, written_bytes; /* of the warp's 32 lanes */
};

extern const struct cot_family cot_families[];
extern const unsigned cot_n_families;

/* NULL: there is none of that name. */
const struct cot_family *cot_family_find(const char *entry);

#endif
