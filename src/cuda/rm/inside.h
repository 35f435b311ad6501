/* Shared by the files of this folder only. */
#ifndef COT_CUDA_RM_INSIDE_H
#define COT_CUDA_RM_INSIDE_H

#include <stddef.h>

#include "cuda/abi/rm.h"
#include "cuda/rm/rm.h"

/* One control on an object; 0 or -errno, and RM's status when ret_status is not NULL. */
int cot_rm_send(struct cot_rm *rm, const struct cot_rm_object *o, uint32_t cmd, void *params,
		uint32_t size, uint32_t *ret_status);

/* The next object of the kind, copied under the lock. */
bool cot_rm_next(struct cot_rm *rm, enum cot_rm_kind kind, unsigned *index,
		 struct cot_rm_object *ret_object);

/* Sets and clears flags of the object if it is still in the table; false if it is not. */
bool cot_rm_mark(struct cot_rm *rm, const struct cot_rm_object *o, unsigned set, unsigned clear);

/* False when the program has freed the object or is about to: what fails then did not fail. */
bool cot_rm_is_there(struct cot_rm *rm, const struct cot_rm_object *o);

/* Around the program's request to free: what it returns goes to cot_rm_end_free(), which is called
 * with the lock held, when the table says the same as the driver again. */
unsigned cot_rm_begin_free(struct cot_rm *rm, uint32_t client, uint32_t handle);
void cot_rm_end_free(struct cot_rm *rm, unsigned slot);

/* Gives one group the wanted slice and reads it back into *ret_us. 0 or -errno. */
int cot_rm_slice_group(struct cot_rm *rm, const struct cot_rm_object *o, uint64_t *ret_us);

/* Gives one channel a preemption mode (COT_NV_PREEMPTION_...). 0 or -errno. */
int cot_rm_mode_channel(struct cot_rm *rm, const struct cot_rm_object *o, uint32_t mode);

/* Around each request of the program that sets channels up or takes them down. The first one waits
 * while the process is frozen, for as long as host.wait() says. */
void cot_rm_begin_change(struct cot_rm *rm);
void cot_rm_end_change(struct cot_rm *rm);
/* False: channels are being set up or taken down, or were a moment ago. Closed all the same. */
bool cot_rm_close_gate(struct cot_rm *rm);
void cot_rm_open_gate(struct cot_rm *rm);

void cot_rm_fail(struct cot_rm_result *res, int status);

static inline void cot_rm_doubt(struct cot_rm *rm)
{
	atomic_fetch_add_explicit(&rm->n_doubts, 1, memory_order_relaxed);
}

#endif
