/*
 * The two threads of the shim. The listener (listen.c) reads what the daemon says and has workers
 * leave; the watcher (watch.c) waits for the ends of launches. Both start with the first launch and
 * stop when the program ends.
 */
#include <stdlib.h>
#include <sys/prctl.h>

#include "guest/shim/driver.h"
#include "guest/shim/merge.h"
#include "guest/shim/runtime.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define STOP_NS	 (200 * COT_NS_PER_MS)
#define PAUSE_NS (20 * 1000ull)

static bool started, registered; /* with the lock */
static _Atomic unsigned n_alive;

static void prepare_thread(const char *name)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;

	(void)prctl(PR_SET_NAME, name);
	/* What we do must not disturb a graph that the program is recording. */
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
}

static void *run(void *body)
{
	prepare_thread("cotenant-shim");
	pthread_mutex_lock(&cot_shim_lock);
	((void (*)(void))(uintptr_t)body)();
	pthread_mutex_unlock(&cot_shim_lock);
	atomic_fetch_sub(&n_alive, 1);
	return NULL;
}

/*
 * The program ends: the driver's own end may come next, and our threads must not be in it then.
 * One that waits for a kernel cannot be called back; it is given some time.
 */
static void stop(void)
{
	uint64_t until = cot_now_ns() + STOP_NS;
	struct cot_shim_gpu *g;
	bool merging;

	pthread_mutex_lock(&cot_shim_lock);
	merging = atomic_load(&cot_shim_merging); /* until the thread that merges is told to end */
	atomic_store(&cot_shim_stopping, true);
	for (g = cot_shim_gpus_first(); g; g = g->next)
		cot_shim_gpu_send_counts(g, cot_now_ns(), true);
	pthread_mutex_unlock(&cot_shim_lock);
	cot_shim_ring(&cot_shim_to_watch);
	cot_wake_ring(&cot_shim_to_listen);
	if (merging)
		cot_shim_merge_stop();
	while (atomic_load(&n_alive) && cot_now_ns() < until)
		cot_shim_pause(PAUSE_NS);
}

bool cot_shim_runtime_start_one(void (*body)(void))
{
	atomic_fetch_add(&n_alive, 1);
	if (cot_thread_start(COT_STACK_DRIVER, run, (void *)(uintptr_t)body) == 0)
		return true;
	atomic_fetch_sub(&n_alive, 1);
	return false;
}

bool cot_shim_runtime_start(void)
{
	if (COT_LIKELY(started))
		return !atomic_load(&cot_shim_stopping);
	if (atomic_load(&cot_shim_stopping))
		return false;
	if (!registered && atexit(stop))
		return false;
	registered = true;
	if (cot_wake_open(&cot_shim_to_listen) < 0)
		return false;
	if (!cot_shim_runtime_start_one(cot_shim_listen)) {
		cot_wake_close(&cot_shim_to_listen);
		return false;
	}
	started = true;
	if (!cot_shim_runtime_start_one(cot_shim_watch))
		atomic_store(&cot_shim_stopping, true); /* nothing more is launched as workers */
	return !atomic_load(&cot_shim_stopping);
}

void cot_shim_runtime_forget(void)
{
	started = false;
	atomic_store(&n_alive, 0);
	cot_shim_watch_forget();
}
