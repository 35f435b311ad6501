/*
 * The two threads of the shim, and how threads wait for each other. The listener (listen.c) reads
 * what the daemon says and has workers leave; the watcher (watch.c) waits for the ends of launches.
 * Both start with the first launch and stop when the program ends.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/shim/runtime.h"

#define SPIN_NS	 (50 * 1000ull) /* what others do may take no longer */
#define STOP_NS	 (200 * COT_NS_PER_MS)
#define PAUSE_NS (20 * 1000ull)

struct cot_shim_bell cot_shim_to_watch;
struct cot_wake cot_shim_to_listen = {.ring = {.fd = -1}, .listen = {.fd = -1}};
_Atomic bool cot_shim_stopping;

static struct cot_shim_bell changes;
static bool started, registered; /* with the lock */
static _Atomic unsigned n_alive;

/* ---- waiting ---- */

void cot_shim_ring(struct cot_shim_bell *b)
{
	atomic_fetch_add(&b->count, 1);
	if (atomic_load(&b->n_waiting))
		(void)syscall(SYS_futex, &b->count, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

struct timespec cot_shim_span(uint64_t ns)
{
	return (struct timespec){.tv_sec = (time_t)(ns / COT_NS_PER_S),
				 .tv_nsec = (long)(ns % COT_NS_PER_S)};
}

bool cot_shim_wait_for(struct cot_shim_bell *b, uint64_t until_ns, uint64_t spin_ns)
{
	uint32_t before = atomic_load(&b->count);
	uint64_t start = cot_now_ns(), now = start;
	struct timespec t;

	if (now >= until_ns)
		return false;
	atomic_fetch_add(&b->n_waiting, 1);
	pthread_mutex_unlock(&cot_shim_lock);
	while (now < start + spin_ns && atomic_load(&b->count) == before) {
		(void)sched_yield();
		now = cot_now_ns();
	}
	if (atomic_load(&b->count) == before && now < until_ns) {
		t = cot_shim_span(until_ns - now);
		(void)syscall(SYS_futex, &b->count, FUTEX_WAIT_PRIVATE, before,
			      until_ns == COT_NEVER ? NULL : &t, NULL, 0);
	}
	pthread_mutex_lock(&cot_shim_lock);
	atomic_fetch_sub(&b->n_waiting, 1);
	return true;
}

void cot_shim_changed(void)
{
	cot_shim_ring(&changes);
}

bool cot_shim_changed_wait(uint64_t until_ns)
{
	return cot_shim_wait_for(&changes, until_ns, SPIN_NS);
}

void cot_shim_yield(void)
{
	pthread_mutex_unlock(&cot_shim_lock);
	(void)sched_yield();
	pthread_mutex_lock(&cot_shim_lock);
}

void cot_shim_pause(uint64_t ns)
{
	struct timespec t = cot_shim_span(ns);

	(void)nanosleep(&t, NULL);
}

/* ---- start and stop ---- */

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

	pthread_mutex_lock(&cot_shim_lock);
	atomic_store(&cot_shim_stopping, true);
	for (g = cot_shim_gpus_first(); g; g = g->next)
		cot_shim_gpu_send_counts(g, cot_now_ns(), true);
	pthread_mutex_unlock(&cot_shim_lock);
	cot_shim_ring(&cot_shim_to_watch);
	cot_wake_ring(&cot_shim_to_listen);
	while (atomic_load(&n_alive) && cot_now_ns() < until)
		cot_shim_pause(PAUSE_NS);
}

static bool start_one(void (*body)(void))
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
	if (!start_one(cot_shim_listen)) {
		cot_wake_close(&cot_shim_to_listen);
		return false;
	}
	started = true;
	if (!start_one(cot_shim_watch))
		atomic_store(&cot_shim_stopping, true); /* nothing more is launched as workers */
	return !atomic_load(&cot_shim_stopping);
}

void cot_shim_runtime_wake(void)
{
	if (started)
		cot_wake_ring(&cot_shim_to_listen);
}

void cot_shim_runtime_forget(void)
{
	started = false;
	atomic_store(&cot_shim_stopping, false);
	atomic_store(&n_alive, 0);
	atomic_store(&changes.n_waiting, 0);
	atomic_store(&cot_shim_to_watch.n_waiting, 0);
	cot_shim_watch_forget();
	cot_wake_close(&cot_shim_to_listen);
	atomic_store(&cot_shim_to_listen.pending, false);
}
