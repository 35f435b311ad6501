/*
 * The shim: a libcuda.so.1 that stands before the driver's in programs with a quota or a
 * reservation. It has kernels rewritten when they are loaded, so that a launch can be given a part
 * of the GPU and lose some of it while it runs. This header is for its own files.
 *
 *     stubs.c    every entry point of the driver, as a jump
 *     driver.c   finds and loads the driver; cache.c reads ld.so.cache
 *     entry_*.c  the entry points that do more than pass on, and cuGetProcAddress with their list,
 *                entries.c
 *     image.c    PTX out of images; rewrite.c: the pass over it
 *     code.c     which modules and kernels were rewritten; table.c: which handle is which
 *     launch.c   a launch: left as it is (original.c), or made into workers
 *     context.c  what a context has for it: control blocks, events, a stream to write flags
 *     work.c     works: what was asked of the daemon, granted and taken back
 *     end.c      waits for the end of a launch, and learns from its time
 *     wait.c     how threads wait for each other
 *     runtime.c  starts two threads: listen.c listens to the daemon and writes flags, watch.c waits
 *                for the ends of launches
 *     fork.c     how the shim begins, and what the child of a fork() forgets
 *     counts.c   what has been done
 *
 * Rules, as in src/guest/os.h; in any doubt the launch is the driver's, as the program made it, and
 * counted.
 *
 * Locks: cot_shim_lock guards contexts, works and links; the code's own lock (code.c) modules and
 * handles. Neither is held while the other is taken, nor during a call into the driver that may
 * wait for the GPU.
 */
#ifndef COT_GUEST_SHIM_SHIM_H
#define COT_GUEST_SHIM_SHIM_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"
#include "base/error.h"
#include "cotenant/passes.h"
#include "cuda/abi/calls.h"
#include "guest/env.h"
#include "guest/link.h"
#include "guest/log.h"
#include "guest/wake.h"

/* ---- stubs.c, driver.c ---- */

struct cot_shim_slot_of {
	const char *name;
	void **slot; /* holds the driver's function, once it is loaded */
};

extern const struct cot_shim_slot_of cot_shim_slots[];
extern const size_t cot_shim_n_slots;

#define ENTRY(name, since, shim, emulated, params) \
	typedef CUresult cot_fn_##name params;     \
	extern void *cot_real_##name __attribute__((visibility("hidden")));
#include "cuda/abi/api.def"

/*
 * The driver's function: COT_REAL(cuCtxGetCurrent)(&context). Loads the driver if need be. Where
 * the driver is older and has no such function, the call returns CUDA_ERROR_NOT_SUPPORTED.
 */
#define COT_REAL(name) ((cot_fn_##name *)__atomic_load_n(&cot_real_##name, __ATOMIC_RELAXED))

/* Fills all slots, once. The driver's functions, or ones that return an error. */
void cot_shim_driver_load(void);

/* Whether the program is to be controlled at all; otherwise everything is passed on. */
enum cot_shim_state { COT_SHIM_OFF, COT_SHIM_ASKED, COT_SHIM_ON };
extern _Atomic int cot_shim_state;
static inline bool cot_shim_is_asked(void)
{
	return atomic_load_explicit(&cot_shim_state, memory_order_relaxed) != COT_SHIM_OFF;
}

/* ---- fork.c ---- */

/* The first call that is not only passed on. False: a child that fork() makes could not be told. */
bool cot_shim_begin(void);
static inline bool cot_shim_is_on(void)
{
	return cot_shim_is_asked() &&
	       (COT_LIKELY(atomic_load(&cot_shim_state) == COT_SHIM_ON) || cot_shim_begin());
}

/* ---- entries.c ---- */

struct cot_shim_entry {
	const char *name;
	void **slot;
	void *ours; /* NULL: passed on */
	int since;  /* as in api.def; 0: not known */
};

extern const struct cot_shim_entry cot_shim_entries[];
extern const size_t cot_shim_n_entries;

extern struct cot_settings cot_shim_settings;

/* ---- cache.c: /etc/ld.so.cache ---- */

/*
 * The path of the `nth` library of that name for this machine in the bytes of a cache; NULL if
 * there are not so many, or the cache is damaged. It points into the bytes.
 */
const char *cot_shim_cache_find(const unsigned char *bytes, size_t n, const char *name,
				unsigned nth);

/* ---- counts.c ---- */

/* Why a launch, or the code of a whole image, is left as it is. */
enum cot_shim_why {
	COT_SHIM_WHY_NOT, /* it need not be left */
#define WHY(id, name, what) COT_SHIM_WHY_##id,
#include "proto/why.def"
#undef WHY
	COT_SHIM_N_WHYS,
};

void cot_shim_count_why(enum cot_shim_why why);
void cot_shim_count_plain(enum cot_shim_why why); /* a launch of a rewritten kernel */
void cot_shim_count_workers(void);
void cot_shim_count_rewritten(unsigned n);
void cot_shim_count_refused(unsigned reason); /* enum cot_reason */
/* Whether there are counts that have not been told. */
bool cot_shim_counts_changed(void);
/* Until the next change nobody looks: that wakes the listener. */
void cot_shim_counts_rest(void);
/* A packet of at most `size` bytes; the bytes used, 0 if nothing has changed since the last one. */
size_t cot_shim_counts_fill(void *packet, size_t size, bool always);

/* ---- image.c, rewrite.c ---- */

/*
 * The PTX of an image that the driver would run on a GPU of compute capability `target`; `n` is its
 * size, or 0 if it says so itself. malloc'ed. -ENOENT and *ret_why if there is none.
 */
int cot_shim_image_text(const void *image, size_t n, unsigned target, char **ret_text,
			size_t *ret_length, enum cot_shim_why *ret_why);
int cot_shim_image_read(const char *path, void **ret_bytes, size_t *ret_n);

struct cot_shim_kernel {
	char *name;	   /* the program's */
	uint32_t n_params; /* of its own */
	uint32_t args_at;  /* where struct cot_workers_args is among the packed arguments */
};

struct cot_shim_rewritten {
	char *text;
	struct cot_shim_kernel *kernels;
	unsigned n_kernels;
};

/*
 * 0 with at least one kernel; -ENOENT: none can be rewritten. `newest`: the version of PTX that the
 * driver knows, 90 for 9.0. Counts reasons.
 */
int cot_shim_rewrite(const char *text, size_t length, unsigned newest,
		     struct cot_shim_rewritten *ret);
void cot_shim_rewritten_finish(struct cot_shim_rewritten *r);

#define COT_SHIM_SUFFIX "$cot_workers"
bool cot_shim_is_added(const char *name); /* has the suffix */

/* ---- code.c, table.c ---- */

typedef void *cot_shim_handle; /* a function or a kernel; of an owner: a module or a library */

struct cot_shim_code; /* what was rewritten of an image */

/* What a handle of a function or kernel stands for. Never freed, only used anew. */
struct cot_shim_ref {
	_Atomic(cot_shim_handle) handle;
	_Atomic(struct cot_shim_code *) code; /* NULL: the handle's function was not rewritten */
	_Atomic(const struct cot_shim_kernel *) kernel;
	_Atomic(cot_shim_handle) owner;	  /* the module or library that it goes with */
	_Atomic(cot_shim_handle) workers; /* the rewritten function, or kernel */
	_Atomic uint64_t fit;		  /* workers that fit one SM, and their shape: launch.c */
	_Atomic uint32_t task_ns;	  /* how long a task took; 0: not known yet */
	_Atomic uint32_t n_launched, n_timed;
	_Atomic bool broken; /* the rewritten one does not launch */
	_Atomic bool told;   /* launched as it is, and the daemon hears of the program */
};

/* The entry of a handle, or NULL. Takes no lock. */
struct cot_shim_ref *cot_shim_table_find(cot_shim_handle handle);
/* Adds or changes one; under the code's lock. NULL: out of memory. */
struct cot_shim_ref *cot_shim_table_put(cot_shim_handle handle);
/* Drops the entries of an owner, and with it all of handles that were not rewritten. */
void cot_shim_table_drop(cot_shim_handle owner);
void cot_shim_table_clear(void);

/* The image was rewritten and is loaded as `owner`. Takes over *r. */
void cot_shim_code_add(cot_shim_handle owner, struct cot_shim_rewritten *r);
/* `module` is the library's, in one context. */
void cot_shim_code_alias(cot_shim_handle module, cot_shim_handle library);
void cot_shim_code_forget(cot_shim_handle owner);
/* How many functions the owner has beyond the program's own. */
unsigned cot_shim_code_n_added(cot_shim_handle owner);
/* The program has got this handle, for the function of that name. */
void cot_shim_code_function(cot_shim_handle handle, cot_shim_handle owner, const char *name,
			    bool is_kernel);
/* The program has got a function of a kernel. */
void cot_shim_code_function_of(cot_shim_handle function, cot_shim_handle kernel);
/* Its entry, made if it is seen for the first time. NULL: leave the launch as it is. */
struct cot_shim_ref *cot_shim_code_ref(cot_shim_handle handle);
void cot_shim_code_reset(void); /* after fork() */

/* ---- original.c, launch.c ---- */

/* What the program has asked for, and of which entry point. */
struct cot_shim_original {
	cot_shim_handle function;
	const CUlaunchConfig *config;
	void **params, **extra;
	bool per_thread, with_attributes;
};

/* Launches just that. The driver's result. */
int cot_shim_original_launch(const struct cot_shim_original *o);

/* The driver's result. */
int cot_shim_launch(const struct cot_shim_original *asked);

/* ---- context.c ---- */

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
	uint32_t armed; /* control->next, as it is or will be made ready */
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
	uint32_t n_units; /* groups of per_sm workers */
	uint32_t flag;	  /* written to control->evict */
	bool anywhere;	  /* and that they may leave from any SM */
	uint64_t flag_ns; /* since when those that leave are looked for; 0: not yet */
};

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
/* With the lock. */
struct cot_shim_context *cot_shim_contexts_first(void);
/* Before the program destroys it: waits, with a bound, until nobody uses it. */
void cot_shim_context_close(CUcontext handle);
void cot_shim_contexts_close_device(int device);
/* Before the program destroys a stream: another one may get its handle. */
void cot_shim_stream_gone(CUstream stream);
void cot_shim_contexts_forget(void); /* after fork() */

/* With the lock: a slot, armed for `next` if there is one; NULL: none is free. */
struct cot_shim_slot *cot_shim_slot_take(struct cot_shim_context *c, uint32_t next);
/* With the lock: to be armed again for the same; or at once free, if it was not used. */
void cot_shim_slot_give(struct cot_shim_slot *s, bool used);
/* Without the lock, on a thread of ours: arms what is to be armed. */
void cot_shim_context_arm(struct cot_shim_context *c);
/* Writes a word in stream order. The driver's result. */
int cot_shim_write(const struct cot_shim_context *c, CUstream stream, CUdeviceptr at,
		   uint32_t value);
/* Copies the slot's control block to c->host, and waits for it. */
int cot_shim_read(struct cot_shim_slot *s);

/* ---- work.c ---- */

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
	uint64_t thread;	/* of a per-thread default stream; else 0 */
	bool ending;		/* no more launches under it */
	uint32_t needed;	/* CapSMs that hold all tasks of the launch it was asked for */
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
	struct cot_shim_work works[COT_PROTO_WORKS_MAX];
};

/* All with the lock. */
struct cot_shim_gpu *cot_shim_gpu_get(int device, uint32_t n_sms, const char *uuid);
struct cot_shim_gpu *cot_shim_gpus_first(void);
void cot_shim_gpus_forget(void); /* after fork(): without the lock */
/* The daemon is to hear of the program, whether anything is asked of it or not. */
void cot_shim_gpu_want(struct cot_shim_gpu *g);
/* Introduces the program where that is wanted; returns when to come again. */
uint64_t cot_shim_gpus_greet(uint64_t now);
void cot_shim_gpu_receive(struct cot_shim_gpu *g);
void cot_shim_gpu_send_counts(struct cot_shim_gpu *g, uint64_t now, bool always);

/* What a launch needs to know before it asks. */
struct cot_shim_need {
	CUstream stream;
	uint64_t thread;
	uint32_t n_tasks, per_sm, task_ns;
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
 * Tasks are left, all workers have left: waits for the next grant, without the lock. False: there
 * is no daemon any more.
 */
bool cot_shim_work_regrant(struct cot_shim_work *w, uint32_t left);
/* The evicted workers have left. */
void cot_shim_work_tell_evicted(struct cot_shim_work *w, uint64_t now);
/* Ends works that nobody has used for a while; returns when to come again. */
uint64_t cot_shim_works_expire(uint64_t now);
void cot_shim_works_close(const struct cot_shim_context *c);

/* ---- end.c ---- */

/* The events that the slot's launch needs. The driver's result. */
int cot_shim_end_make(struct cot_shim_slot *s);
void cot_shim_end_unmake(struct cot_shim_slot *s);
/* Counts a launch; whether its time is to be measured. */
bool cot_shim_end_is_timed(const struct cot_shim_slot *s);
/* It has ended. */
void cot_shim_end_learn(const struct cot_shim_slot *s);
/* By the thread that made a settled launch, without the lock. */
void cot_shim_end_wait(const struct cot_shim_slot *s);

/* ---- runtime.c, watch.c ---- */

/* With the lock: starts the threads if they are not there; false: they cannot be started. */
bool cot_shim_runtime_start(void);
/* With the lock: the slot's launch has been made; has been ended by eviction; has ended. */
void cot_shim_runtime_watch(struct cot_shim_slot *s);
void cot_shim_runtime_pause(struct cot_shim_slot *s, uint32_t left);
void cot_shim_runtime_ended(struct cot_shim_slot *s);
void cot_shim_runtime_forget(void); /* after fork() */

/* ---- wait.c ---- */

extern pthread_mutex_t cot_shim_lock;

/* The thread that listens has something new to look at. */
void cot_shim_wake(void);
/* Something has changed that others may wait for. */
void cot_shim_changed(void);
/* With the lock: lets others have it for a moment. */
void cot_shim_yield(void);
/* With the lock, which it lets go of meanwhile: waits for a change. False: it is too late. */
bool cot_shim_changed_wait(uint64_t until_ns);
void cot_shim_wait_forget(void); /* after fork() */

#endif
