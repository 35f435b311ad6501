/* What a context has for workers: control blocks, events, a stream to write flags. */
#ifndef COT_GUEST_SHIM_CONTEXT_H
#define COT_GUEST_SHIM_CONTEXT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cotenant/passes.h"
#include "guest/shim/driver.h"
#include "proto/proto.h"

#define COT_SHIM_SLOTS	 512u
#define COT_SHIM_STREAMS 16u

#define COT_SHIM_SMALL_ASKS UINT64_MAX /* cot_shim_context.small: none of them */

struct cot_shim_context;
struct cot_shim_gpu;
struct cot_shim_work;

/*
 *    FREE --take--> TAKEN --launch--> RUNNING --end--> ARMING --> FREE
 *                     ^                  |
 *                     +----- HELD <------+   settled, and tasks are left
 */
enum cot_shim_slot_state {
	COT_SHIM_SLOT_FREE,
	COT_SHIM_SLOT_TAKEN,   /* a launch is being made */
	COT_SHIM_SLOT_RUNNING, /* launched; `event` comes after it */
	COT_SHIM_SLOT_HELD,    /* ended, and to be launched again: no flags are written */
	COT_SHIM_SLOT_ARMING,  /* its control block is being made ready again */
};

/* A control block, and the launch that uses it. */
struct cot_shim_slot {
	struct cot_shim_context *context;
	struct cot_shim_slot *next; /* of those that are free, or run, or are to be armed */
	enum cot_shim_slot_state state;
	uint32_t index;
	/* control->next and ->evict, as they are or will be made ready */
	uint32_t armed, armed_flag;
	CUdeviceptr control;
	CUevent begin, ends[2]; /* NULL: not made yet */
	CUevent end;		/* of `ends`: waited for asleep, or awake */
	bool timed;		/* `begin` was recorded */
	bool settled;		/* the launching thread waits for the end itself */
	bool original; /* the program's own kernel, since each worker would do one task only */
	struct cot_shim_ref *ref;
	cot_shim_handle handle; /* the ref's, then */
	struct cot_shim_work *work;
	struct cot_workers_args args;
	uint32_t first;	  /* the first task that was left when it was launched */
	uint32_t n_units; /* groups of per_sm workers */
	uint32_t surplus; /* of them: leave at once, so that the others are on whole SMs */
	uint32_t flag;	  /* written to control->evict: the surplus, and what is evicted */
	bool anywhere;	  /* and that they may leave from any SM */
	uint64_t flag_ns; /* since when the shim looks for the end of evicted workers; 0: not yet */
};

/* Some workers were told to leave after the launch. */
static inline bool cot_shim_slot_evicts(const struct cot_shim_slot *s)
{
	return s->flag > s->surplus;
}

/* Of the launch. */
static inline uint32_t cot_shim_slot_tasks(const struct cot_shim_slot *s)
{
	return s->args.n_tasks - s->first;
}

struct cot_shim_context {
	struct cot_shim_context *next;
	CUcontext handle; /* NULL: free for another */
	bool making, usable, closing;
	struct cot_shim_gpu *gpu;
	CUstream stream; /* of the highest priority; waits for no other */
	bool sleeps;	 /* the program wants its threads to sleep while they wait */
	bool mem_ops;	 /* the driver can write words in stream order */
	_Atomic(CUstream) streams[COT_SHIM_STREAMS]; /* known to be this context's */
	_Atomic uint64_t small; /* whose small launches go as they are; see launch.c */
	CUdeviceptr controls;
	struct cot_workers_control *host; /* pinned, one for each slot */
	struct cot_shim_slot *free, *to_arm;
	unsigned n_busy;	/* slots, and threads of ours that work for it */
	pthread_mutex_t submit; /* for what goes into `stream`; taken before the lock */
	struct cot_shim_slot slots[COT_SHIM_SLOTS];
};

/* Without the lock: that of the calling thread, made on first use; NULL: none, or not usable. */
struct cot_shim_context *cot_shim_context_current(void);
/* A GPU's UUID as the daemon names it. */
void cot_shim_uuid_text(int device, char text[COT_PROTO_NAME_MAX]);
/* With the lock. */
struct cot_shim_context *cot_shim_contexts_first(void);
/* Before the program destroys it: waits, with a bound, until no thread uses it. */
void cot_shim_context_close(CUcontext handle);
void cot_shim_contexts_close_device(int device);
/* Before the program destroys a stream: another one may get its handle. */
void cot_shim_stream_gone(CUstream stream);
void cot_shim_contexts_forget(void); /* after fork() */

/* With the lock: a slot, armed for that if there is one; NULL: none is free. */
struct cot_shim_slot *cot_shim_slot_take(struct cot_shim_context *c,
					 const struct cot_workers_control *armed_for);
/* With the lock: to be armed again for the same; or at once free, if it was not used. */
void cot_shim_slot_give(struct cot_shim_slot *s, bool used);
/*
 * Without the lock, its `end` made: before what is launched in that stream next, the control block
 * begins as s->args and s->surplus say. The driver's result.
 */
int cot_shim_slot_ready(struct cot_shim_slot *s, CUstream before);
/* Without the lock, after its launch: none of its workers is told to leave any longer. */
int cot_shim_slot_reset(struct cot_shim_slot *s);
/* Without the lock, on a thread of ours: arms what is to be armed. */
void cot_shim_context_arm(struct cot_shim_context *c);
/* Writes a word in stream order. The driver's result. */
int cot_shim_write(const struct cot_shim_context *c, CUstream stream, CUdeviceptr at,
		   uint32_t value);
/* Copies the slot's control block to c->host, and waits for it. */
int cot_shim_read(struct cot_shim_slot *s);

#endif
