/*
 * Control of this process's own channel groups through NVIDIA's resource manager (RM), from user
 * space, on the stock driver.
 *
 * cot_rm_pass() stands in for ioctl(): it carries the request out and learns from it what the
 * process owns. The other functions send controls for those objects on the descriptors that they
 * came through. It changes only objects of this process, nothing GPU-wide.
 *
 *     slice   how long a channel group may run before the next one's turn
 *     mode    how it leaves the GPU then: `switch` (saved between instructions) or `drain` (its
 *             thread blocks end first)
 *     freeze  its channels are disabled and preempted; thaw enables them again
 *
 * The settings (slice, mode, frozen or not) are state: they apply to later groups and channels too.
 * A new group gets the slice at once, and again after the driver's user part has set its own. The
 * rest needs a cot_rm_sync() after host.changed().
 *
 * Threads: cot_rm_pass() from any number; all others from one thread at a time (the control
 * thread). The lock inside is never held while RM works. After fork(), the child calls
 * cot_rm_forget() first: it must not change the parent's objects.
 */
#ifndef COT_CUDA_RM_RM_H
#define COT_CUDA_RM_RM_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/words.h"
#include "cuda/rm/table.h"

/* What is around it. `ioctl` behaves as the system call's wrapper (-1 and errno). */
struct cot_rm_host {
	int (*ioctl)(int fd, unsigned long request, void *arg);
	/* Which file a descriptor is; false = none. NULL: descriptors are trusted. */
	bool (*identify)(int fd, struct cot_rm_identity *ret_id);
	/*
	 * Copies `n` bytes, at most 4096, of the program's memory, whatever its pointer is; keeps
	 * errno. False: they cannot be read, or may not be readable. NULL: pointers are trusted.
	 */
	bool (*copy)(void *to, const void *from, size_t n);
	/*
	 * Groups or channels came, went or were scheduled. Called by cot_rm_pass() after the
	 * request, without the lock, on the program's thread: must not wait. NULL allowed.
	 */
	void (*changed)(void);
	/* A clock, for how long ago channels were set up. NULL: as if that were long ago. */
	uint64_t (*now_ns)(void);
	/*
	 * Called by cot_rm_pass(), without the lock, on the program's thread, when a set-up begins
	 * while the process is frozen: waits a moment. False: it has waited long enough. NULL: no
	 * waiting.
	 */
	bool (*wait)(void);
};

/* A process is not frozen for so long after its channels changed: the driver's own first work on
 * new channels comes later than the last request for them, on an H200 by some 0.1 s. */
#define COT_RM_QUIET_NS 400000000ull

/*
 * An object whose free is under way: the driver may no longer know it while the table still does.
 */
struct cot_rm_freeing {
	uint32_t client, handle; /* client 0 = unused */
};

#define COT_RM_MAX_FREEING 16u /* threads that free at the same time */

struct cot_rm {
	const struct cot_rm_host *host;
	pthread_mutex_t lock; /* of the table and of what is being freed */
	struct cot_rm_table table;
	struct cot_rm_freeing freeing[COT_RM_MAX_FREEING];
	_Atomic uint32_t want_slice_us; /* 0 = the driver's own */
	_Atomic uint32_t want_mode;	/* COT_NV_PREEMPTION_...; 0 = the driver's own */
	_Atomic bool frozen;
	_Atomic bool gate_closed;    /* no set-up may begin: frozen, or about to be */
	_Atomic unsigned n_changing; /* requests that set channels up or take them down */
	_Atomic uint64_t changed_ns; /* when the last of them ended; 0 = none yet */
	_Atomic uint64_t n_doubts; /* did as the driver would, because something was not certain */
	_Atomic uint64_t n_lost;   /* objects that found no place in the table */
	struct cot_nv_disable *chunk; /* for freeze and thaw; points into chunk_space */
	uint64_t chunk_space[68];
};

struct cot_rm_result {
	int status;	   /* 0, or the first failure as -errno */
	uint32_t n_done;   /* groups or channels */
	uint32_t n_failed; /* of them */
	uint32_t n_early;  /* freeze: channels that the driver has not scheduled yet */
	uint64_t value;	   /* set_slice: the slice read back, us; one that differs if any does */
};

struct cot_rm_counts {
	uint32_t n_groups, n_channels;
	uint64_t gpus; /* bit i: groups on device instance i */
	uint64_t n_doubts;
};

/* The caller's memory; host outlives it. Static storage is best: untouched pages cost nothing. */
void cot_rm_init(struct cot_rm *rm, const struct cot_rm_host *host);

/* In the child of a fork, before anything else: as after cot_rm_init(). */
void cot_rm_forget(struct cot_rm *rm);

/* ioctl() for requests of which cot_nv_is_ours() holds. Keeps errno as the real one left it. */
int cot_rm_pass(struct cot_rm *rm, int fd, unsigned long number, void *arg);

/* Drops what belongs to descriptors that have been closed. True if there was any. */
bool cot_rm_prune(struct cot_rm *rm);

/* slice_us = 0 gives each group back the slice that the driver had wanted. */
void cot_rm_set_slice(struct cot_rm *rm, uint32_t slice_us, struct cot_rm_result *ret);
void cot_rm_set_mode(struct cot_rm *rm, enum cot_mode mode, struct cot_rm_result *ret);

/*
 * All channels or none: when one cannot be disabled, the others are enabled again and it fails.
 * -ENOSPC: more channels than the table holds. -EAGAIN: channels are being set up or taken down,
 * or were less than COT_RM_QUIET_NS ago; nothing was done. Freezing twice takes in what came in
 * between.
 */
void cot_rm_freeze(struct cot_rm *rm, struct cot_rm_result *ret);

/* Enables what we disabled. On failure the channels stay marked and another call tries again. */
void cot_rm_thaw(struct cot_rm *rm, struct cot_rm_result *ret);

/* Takes the groups off the GPU once, waiting for it; they go on with their next turn. */
void cot_rm_preempt(struct cot_rm *rm, struct cot_rm_result *ret);

/* Gives newcomers what is wanted; repairs slices that something else changed. */
void cot_rm_sync(struct cot_rm *rm, struct cot_rm_result *ret);

void cot_rm_counts(struct cot_rm *rm, struct cot_rm_counts *ret);

#endif
