/* Launches that run on the CPU: include/cotenant/cpu.h, and docs/cpu.md. */
#ifndef COT_GUEST_SHIM_CPU_H
#define COT_GUEST_SHIM_CPU_H

#include <stdbool.h>

#include "cotenant/cpu.h"
#include "guest/shim/code.h"
#include "guest/shim/launch.h"

/*
 * True: the launch was made on the CPU, has ended, and *ret_rc is its result. False: it is not to
 * be there, or could not; the GPU's memory is as it was.
 */
bool cot_shim_cpu_launch(const struct cot_shim_original *asked, int *ret_rc);

/* ---- cpu_code.c: which kernels ---- */

/* What the daemon's policy wants, where the user lets it decide. */
void cot_shim_cpu_order(bool on_cpu);
bool cot_shim_cpu_is_ordered(void);

struct cot_shim_cpu_kernel {
	struct cot_shim_cpu_kernel *next;
	char *name;
	uint64_t text;			      /* a hash of its module's PTX */
	const struct cot_cpu_provider *which; /* NULL: no provider has it */
	void *state;			      /* the provider's */
};

/* NULL: no provider has it. Asks them, with a lock, where the entry is new. */
const struct cot_shim_cpu_kernel *cot_shim_cpu_kernel_of(struct cot_shim_ref *r,
							 cot_shim_handle function);
/*
 * Whether a launch of so many blocks is to be on the CPU, by a list such as
 * "search/256=12,sort/64=3": up to so many blocks of so many threads each. An empty list: any.
 */
bool cot_shim_cpu_allows(const char *list, const char *name, uint64_t n_threads, uint64_t n_blocks);
void cot_shim_cpu_forget(void); /* after fork() */

/* ---- cpu_memory.c: what a launch uses, beside the GPU ---- */

#define COT_SHIM_CPU_BYTES_MAX	(256u << 20) /* of one launch */
#define COT_SHIM_CPU_PIECES_MAX 4096u	     /* that differ, and go back one by one */

/* Ranges that overlap become one. False: one is empty, or reaches beyond all addresses. */
bool cot_shim_cpu_merge(struct cot_cpu_launch *launch);

struct cot_shim_cpu_piece {
	uint64_t at, bytes;
};

/*
 * The pieces in which `now` is not `before` any longer, with no unit of `grain` bytes in them that
 * is equal; more than `max`: -ENOSPC. `bytes` is a multiple of the grain.
 */
int cot_shim_cpu_differences(const void *before, const void *now, uint64_t bytes, uint32_t grain,
			     struct cot_shim_cpu_piece *ret, uint32_t max, uint32_t *ret_n);

/* The driver's calls, so that a test can do without one. 0, or the driver's error. */
struct cot_shim_cpu_copies {
	int (*in)(void *arg, void *to, uint64_t from, uint64_t bytes);
	int (*out)(void *arg, uint64_t to, const void *from, uint64_t bytes);
	int (*wait)(void *arg); /* for copies */
	void *arg;
};

/*
 * The merged ranges with memory of the host, filled in; -E2BIG, -ENOMEM, -EIO: nothing is there.
 * What is there, finish() frees.
 */
int cot_shim_cpu_take(struct cot_cpu_launch *launch, const struct cot_shim_cpu_copies *copies);
/* What was written goes back. -ENOSPC: too many pieces, nothing was copied; else as the copies. */
int cot_shim_cpu_bring(const struct cot_cpu_launch *launch,
		       const struct cot_shim_cpu_copies *copies);
void cot_shim_cpu_finish(struct cot_cpu_launch *launch);

#endif
