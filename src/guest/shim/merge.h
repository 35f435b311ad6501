/*
 * Merged launches: launches of different streams that could run at the same time become one
 * (`cotenant run --merge`). The first one waits for others, for some tens of microseconds at most;
 * a thread of ours releases what nothing else has released by then.
 *
 *     merge.c           which launches wait, what ends their waiting
 *     merge_streams.c   what may be in a stream
 *     merge_release.c   from those that have waited to launches
 *     merge_fuse.c      sets of different kernels
 *
 * Three rules keep the program's order, and keep it from waiting for itself:
 *
 *  1. Whatever the program puts into a stream comes behind its launch that waits: each call that
 *     takes a stream comes here first. What takes none, and may depend on any, releases all.
 *  2. Before the merged launch come the streams' events, behind it they wait for one event.
 *  3. A launch that waits is in a stream in which all comes to an end by itself: kernels that do
 *     not wait for memory, copies, events. Otherwise a kernel in one stream could wait, behind the
 *     merged launch, for what the host does when it has seen the kernel in the other one end.
 */
#ifndef COT_GUEST_SHIM_MERGE_H
#define COT_GUEST_SHIM_MERGE_H

#include <stdatomic.h>

#include "guest/shim/driver.h"
#include "guest/shim/launch.h"

/* From the first launch that might wait on. */
extern _Atomic bool cot_shim_merging;

/* Of merge.c, filled in before that: the files that streams stand on call it through these. */
struct cot_shim_merge_hooks {
	void (*enter)(CUstream stream, bool per_thread, bool ends);
	void (*linger)(CUstream stream);
	void (*release_all)(void);
	void (*stop)(void);
	/* Of a backend; NULL: there is none. What it knows of is gone; and after fork(). */
	void (*stream_gone)(CUstream stream);
	void (*contexts_gone)(void);
	void (*code_gone)(void);
	void (*forget)(void);
};
extern struct cot_shim_merge_hooks cot_shim_merge_hooks;

/* Something is about to be put into a stream. `ends`: it comes to an end by itself. */
void cot_shim_merge_enter(CUstream stream, bool per_thread, bool ends);
static inline void cot_shim_merge_before(CUstream stream, bool per_thread, bool ends)
{
	if (COT_UNLIKELY(atomic_load_explicit(&cot_shim_merging, memory_order_relaxed)))
		cot_shim_merge_enter(stream, per_thread, ends);
}

/* A thread is about to wait for a stream: for a moment before, if that makes launches one. */
void cot_shim_merge_stay(CUstream stream);
static inline void cot_shim_merge_linger(CUstream stream)
{
	if (COT_UNLIKELY(atomic_load_explicit(&cot_shim_merging, memory_order_relaxed)))
		cot_shim_merge_stay(stream);
}

/* An event is recorded in a stream: whether it comes by itself. A stream is about to wait for one.
 */
void cot_shim_merge_event_recorded(CUevent event, CUstream stream, bool per_thread);
bool cot_shim_merge_event_comes(CUevent event);
static inline void cot_shim_merge_record(CUevent event, CUstream stream, bool per_thread)
{
	if (COT_UNLIKELY(atomic_load_explicit(&cot_shim_merging, memory_order_relaxed)))
		cot_shim_merge_event_recorded(event, stream, per_thread);
}

/* The same for what may depend on all streams. */
void cot_shim_merge_release_all(void);
static inline void cot_shim_merge_flush(void)
{
	if (COT_UNLIKELY(atomic_load_explicit(&cot_shim_merging, memory_order_relaxed)))
		cot_shim_merge_release_all();
}

/* A stream ends; contexts end, and with them our events. */
void cot_shim_merge_stream_gone(CUstream stream);
void cot_shim_merge_contexts_gone(void);
void cot_shim_merge_code_gone(void); /* a module, before it goes; or another function may be one */
void cot_shim_merge_stop(
	void); /* while it merges, the program ends: its thread looks whether it is to, too */
void cot_shim_merge_forget(void); /* after fork() */

/* The program's launch: it waits, or is made. The driver's result. */
int cot_shim_merge_launch(const struct cot_shim_original *o);
/* What a launch that had waited failed with, once; else `rc`. For calls that may say so. */
int cot_shim_merge_late(int rc);

#endif
