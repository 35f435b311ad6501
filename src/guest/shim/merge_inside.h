/* What the files of merged launches share; see merge.h. */
#ifndef COT_GUEST_SHIM_MERGE_INSIDE_H
#define COT_GUEST_SHIM_MERGE_INSIDE_H

#include <pthread.h>

#include "cotenant/passes.h"
#include "guest/shim/code.h"
#include "guest/shim/counts.h"
#include "guest/shim/merge.h"
#include "guest/shim/rewrite.h"
#include "guest/shim/wait.h"

#define COT_SHIM_HELD_MAX	 COT_BATCH_MAX
#define COT_SHIM_HELD_PARAMS	 1024u /* bytes of a launch that waits */
#define COT_SHIM_HELD_PARAM_LIST 64u
#define COT_SHIM_MERGE_STREAMS	 512u
#define COT_SHIM_MERGE_THREADS	 1024u /* of a block */

/* A stream with launches that can be merged. Found without a lock; all else under merge_lock. */
struct cot_shim_merge_stream {
	_Atomic(CUstream) handle; /* NULL: never used; see merge_streams.c */
	_Atomic bool held;	  /* a launch of it waits */
	_Atomic bool unknown;	  /* it may hold what does not end by itself */
	bool blocking;		  /* waits for the default stream */
	int priority;
	CUcontext context;
};

struct cot_shim_held {
	struct cot_shim_merge_stream *in;
	struct cot_shim_ref *ref;
	const struct cot_shim_kernel *kernel;
	cot_shim_handle function;
	uint32_t grid[3], block[3];
	uint32_t blocks, per_sm;
	bool done; /* it has been launched */
	_Alignas(16) unsigned char params[COT_SHIM_HELD_PARAMS];
};

/* Launches that wait; one such group at a time. */
struct cot_shim_group {
	CUcontext context;
	uint32_t n_sms;
	uint32_t n;
	uint64_t blocks, until_ns;
	struct cot_shim_held held[COT_SHIM_HELD_MAX];
};

extern pthread_mutex_t cot_shim_merge_lock;
/* This thread's calls are ours. */
extern __thread bool cot_shim_merge_inside;

static inline uint32_t cot_shim_merge_threads(const struct cot_shim_held *h)
{
	return h->block[0] * h->block[1] * h->block[2];
}

/* ---- merge.c ---- */

/* Whether it can be part of a merged launch at all, whatever its stream; *h is filled in if so. */
enum cot_shim_why cot_shim_merge_shape(const struct cot_shim_original *o,
				       const struct cot_shim_ref *ref, struct cot_shim_held *h);

/* ---- merge_streams.c ---- */

/* NULL: it has no launches that can be merged, so far. Takes no lock. */
struct cot_shim_merge_stream *cot_shim_merge_stream_find(CUstream stream);
/* With the lock: the same, made if need be. NULL: there are too many, or it is not like others. */
struct cot_shim_merge_stream *cot_shim_merge_stream_of(CUstream stream);
/* With the lock: whether all that is in it ends by itself. */
bool cot_shim_merge_stream_ends(struct cot_shim_merge_stream *s);
/* With the lock: nothing is in it, and nothing that it waits for elsewhere. */
bool cot_shim_merge_stream_is_idle(const struct cot_shim_merge_stream *s);
/* Whether all that is in it is known to end by itself; of any stream, without the lock. */
bool cot_shim_merge_is_known(CUstream stream, bool per_thread);
/* The default stream has got something. */
void cot_shim_merge_default_entered(bool ends);
void cot_shim_merge_stream_drop(struct cot_shim_merge_stream *s);
void cot_shim_merge_streams_forget(void);

/* ---- merge_fuse.c ---- */

/* Different kernels in one launch. */
struct cot_shim_fused {
	struct cot_shim_held *set[COT_SHIM_FUSED_KERNELS];
	uint32_t n;
	cot_shim_handle function;
	uint32_t n_blocks, block[3];
	struct cot_fuse_args args[COT_SHIM_FUSED_KERNELS - 1];
	void *params[COT_SHIM_HELD_PARAM_LIST];
};

/* With the lock: the next set of launches that wait, `with` among them, the largest first. *form
 * counts; begin with 0. False: there is no other. */
bool cot_shim_merge_fuse(struct cot_shim_group *g, struct cot_shim_held *with, uint32_t *form,
			 struct cot_shim_fused *ret);
/* Addresses of a launch's arguments; how many. */
uint32_t cot_shim_merge_list(struct cot_shim_held *h, void **list);
void cot_shim_merge_fused_forget(void);

/* ---- merge_release.c ---- */

/* With the lock, its context current: launches all that waits, merged where that is worth it. 0, or
 * the driver's result of a launch that failed. */
int cot_shim_merge_release(struct cot_shim_group *g);
/* With the lock: our events are of another context, or have ended with theirs. */
void cot_shim_merge_events_forget(void);
void cot_shim_merge_verdicts_forget(void);

#endif
