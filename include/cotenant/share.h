/*
 * A program says how its next launches share the GPU: latency and batch kernels in one process.
 * Header only, C11 or C++. A program without cotenant's shim in front of the driver (it was not
 * started with `cotenant run --quota`, `--reserve` or `--rewrite`) runs the same; then these
 * functions do nothing, and return -ENOSYS.
 *
 *     cot_share_stream(answers, COT_SHARE_RESERVE, "40%");    they find 40 % of the SMs
 *     cot_share_stream(training, COT_SHARE_QUOTA, "25%");     they have at most 25 %, and leave
 *     cot_share_thread(COT_SHARE_QUOTA, NULL);                all that this thread launches
 *     cot_share_stream(training, COT_SHARE_PROGRAM, NULL);    as the program was started, again
 *
 * What is said holds for the kernels that are launched from then on, until something else is said
 * or the stream ends. What is said of a stream goes before what is said of the thread. A share is
 * written as for `cotenant run`: "25%" of the GPU's SMs, or "33sm"; NULL: all that the program may
 * have. A program gets no more by saying something: its launches have no more together than the
 * user gave it, and only a latency program (`--class latency`) takes from others.
 *
 * This is about kernels that run as workers (docs/smguard.md), and about the policies `smguard` and
 * `effisha`; under others a quota holds and nothing leaves. From any thread. Link with -ldl where
 * the C library is older than glibc 2.34.
 */
#ifndef COTENANT_SHARE_H
#define COTENANT_SHARE_H

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

enum cot_share_method {
	COT_SHARE_PROGRAM = 0, /* as the program's class says */
	COT_SHARE_QUOTA = 1,   /* batch: takes what is free, and leaves when others need it */
	COT_SHARE_RESERVE = 2, /* latency: of the program's reservation, if need be from others */
};

/*
 * What the functions return. 0: it is kept, and the daemon is asked so.
 *   -ENOSYS    there is no shim in this program, or it rewrites no kernels
 *   -EINVAL    there is no such method or share; nothing has changed
 *   -ENOSPC    something is said of too many streams (some hundreds); nothing has changed
 *   -EPERM     it is kept, but a batch program reserves nothing: that is a quota
 *   -ENOTCONN  it is kept, but there is no daemon now, and so there are no shares
 */

/*
 * A launch of a kernel that is written as workers (cotenant/workers.h). The grid is that of a
 * kernel with a block for each task. `params` are the kernel's parameters but for the last one,
 * struct cot_workers_args, which cotenant fills in.
 */
struct cot_share_workers {
	void *function, *stream;
	unsigned grid[3], block[3], shared_bytes;
	unsigned n_params;
	void **params;
};

struct cot_share_calls {
	int (*stream)(void *stream, int method, const char *share);
	int (*thread)(int method, const char *share);
	int (*workers)(const struct cot_share_workers *launch, size_t size);
	int looked; /* for them */
};

/* Looks once; that two threads do so at the same time does no harm. */
static inline const struct cot_share_calls *cot_share_find(void)
{
	static struct cot_share_calls calls;
	void *stream, *thread, *workers, *all;

	if (__atomic_load_n(&calls.looked, __ATOMIC_ACQUIRE))
		return &calls;
	all = dlopen(NULL, RTLD_LAZY);
	stream = all ? dlsym(all, "cotenant_share_stream") : NULL;
	thread = all ? dlsym(all, "cotenant_share_thread") : NULL;
	workers = all ? dlsym(all, "cotenant_share_workers") : NULL;
	if (stream && thread && workers) {
		memcpy(&calls.workers, &workers, sizeof(workers));
		memcpy(&calls.stream, &stream, sizeof(stream));
		memcpy(&calls.thread, &thread, sizeof(thread));
	}
	__atomic_store_n(&calls.looked, 1, __ATOMIC_RELEASE);
	return &calls;
}

/*
 * Of a stream of the driver API or the runtime; NULL is the legacy default stream. For
 * cudaStreamPerThread say it of the thread.
 */
static inline int cot_share_stream(void *stream, enum cot_share_method method, const char *share)
{
	const struct cot_share_calls *calls = cot_share_find();

	return calls->stream ? calls->stream(stream, (int)method, share) : -ENOSYS;
}

/* Of the calling thread, in streams of which nothing is said. */
static inline int cot_share_thread(enum cot_share_method method, const char *share)
{
	const struct cot_share_calls *calls = cot_share_find();

	return calls->thread ? calls->thread((int)method, share) : -ENOSYS;
}

/*
 * Launches workers, as many as the daemon grants, with a control block of cotenant's. They leave
 * when others need the room; what they leave is done by others, or in another launch, which this
 * call waits for. To the program it is one kernel in the stream. 0, a positive CUresult of the
 * driver; or nothing was launched, and the program launches it itself (cotenant/workers.h):
 *   -ENOSYS  there is no shim in this program, or it rewrites no kernels
 *   -EAGAIN  not this one, or not now: there is no daemon, a graph is recorded, or there are no
 *            more tasks than workers fit one SM
 */
static inline int cot_share_launch_workers(const struct cot_share_workers *launch)
{
	const struct cot_share_calls *calls = cot_share_find();

	return calls->workers ? calls->workers(launch, sizeof(*launch)) : -ENOSYS;
}

#endif
