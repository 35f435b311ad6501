/* Works: what was asked of the daemon, granted and taken back. */
#ifndef COT_GUEST_SHIM_WORK_H
#define COT_GUEST_SHIM_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/types.h"
#include "guest/link.h"
#include "guest/shim/counts.h"
#include "guest/shim/share.h"

struct cot_shim_context;

enum cot_shim_work_state {
	COT_SHIM_WORK_FREE,
	COT_SHIM_WORK_ASKED,
	COT_SHIM_WORK_GRANTED,
	COT_SHIM_WORK_LOST, /* the daemon is gone; free when its last user is */
};

struct cot_shim_work {
	enum cot_shim_work_state state;
	uint64_t id;
	struct cot_shim_gpu *gpu;
	struct cot_shim_context *context;
	CUstream stream;
	uint64_t thread;	   /* of a per-thread default stream; else 0 */
	struct cot_shim_said said; /* for launches of which the same was said */
	const void *kernel;	   /* which asked for it; see COT_WORK_ONE_KERNEL */
	bool latency;
	bool ending;		/* no more launches under it */
	uint32_t needed;	/* CapSMs that hold all tasks of the launch that asked for it */
	uint32_t capsms, flags; /* granted */
	uint32_t evicted;	/* of them, that are to leave ... */
	uint32_t told;		/* ... and of which the daemon knows that they have left */
	uint64_t evict_ns;	/* when the last flag was written; 0: not yet */
	uint32_t n_users;	/* launches being made or running, and threads that wait */
	uint64_t since_ns, idle_ns;
	uint64_t n_tasks, n_remapped;
	uint32_t n_launches;
	uint32_t looked; /* in which pass of the watcher it was found to run */
};

/* One GPU, and the connection to the daemon about it. */
/* Where the daemon wants the program to be on a GPU; seq 0: nothing new. */
struct cot_shim_wish {
	uint32_t seq, first, n, pace_us;
	bool hold, leave, cpu;
	bool again; /* it has been carried out and answered in a context that is gone */
	uint64_t since_ns;
	/* While its part is not made another one stands in for it; the daemon has been told. */
	bool stands_in, told;
	int why, said; /* it is not made yet, -errno; and what the daemon knows of that */
	uint32_t part; /* that it knows */
};

/* A wish that has been carried out, and is answered when nothing is under way where the program
 * was; seq 0: there is none. */
struct cot_shim_leaving {
	uint32_t seq;
	uint64_t since_ns, latency_ns; /* since the launches go elsewhere; what that took */
};

struct cot_shim_gpu {
	struct cot_shim_gpu *next;
	int device;
	uint32_t n_sms;
	char uuid[COT_PROTO_NAME_MAX];
	struct cot_link link;
	bool wanted, welcomed, refused;
	uint64_t retry_ns, retry_after_ns, welcome_until_ns;
	uint32_t works_max;
	uint64_t last_id, counts_ns;
	bool parts_told;		   /* this daemon knows whether there are parts */
	struct cot_shim_wish wish, placed; /* the second one has been carried out */
	struct cot_shim_leaving leaving;
	bool queries,
		queries_told; /* the daemon wants to hear of them; it has just said so, or not */
	struct cot_shim_work works[COT_PROTO_WORKS_MAX];
};

/* All with the lock. */
struct cot_shim_gpu *cot_shim_gpu_get(int device, uint32_t n_sms, const char *uuid);
struct cot_shim_gpu *cot_shim_gpus_first(void);
/* Whether there is a daemon, as far as the shim knows: it has not looked, or has found one. */
bool cot_shim_gpus_are_there(void);
void cot_shim_gpus_forget(void); /* after fork(): without the lock */
/* Report the program to the daemon, even if no launch asks for CapSMs. */
void cot_shim_gpu_want(struct cot_shim_gpu *g);
/* Introduces the program where that is wanted; returns when to come again. */
uint64_t cot_shim_gpus_greet(uint64_t now);
void cot_shim_gpu_receive(struct cot_shim_gpu *g);
bool cot_shim_gpu_send(struct cot_shim_gpu *g, void *packet, enum cot_msg_type type, size_t size,
		       uint32_t seq);
void cot_shim_gpu_send_counts(struct cot_shim_gpu *g, uint64_t now, bool always);

/* What a launch needs to know before it asks. */
struct cot_shim_need {
	CUstream stream;
	uint64_t thread;
	uint32_t n_tasks, per_sm, task_ns;
	struct cot_shim_said said;
	const void *kernel; /* what tells it from others */
	const char *name;   /* NULL: not known */
	bool latency;	    /* may take from others */
};

/*
 * A work with at least one CapSM for this launch, and one user more; NULL and *ret_why. Lets go of
 * the lock while it waits.
 */
struct cot_shim_work *cot_shim_work_get(struct cot_shim_context *c,
					const struct cot_shim_need *need,
					enum cot_shim_why *ret_why);
/* One user less. */
void cot_shim_work_put(struct cot_shim_work *w);
/*
 * Tasks are left, and all workers have left: waits for the next grant, without the lock. False: the
 * daemon is gone.
 */
bool cot_shim_work_regrant(struct cot_shim_work *w, uint32_t left);
/* The evicted workers have left. */
void cot_shim_work_tell_evicted(struct cot_shim_work *w, uint64_t now);
/* Ends works that no launch has used for a while; returns when to come again. */
uint64_t cot_shim_works_expire(uint64_t now);
void cot_shim_works_close(const struct cot_shim_context *c);

#endif
