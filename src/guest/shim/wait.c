/* How the threads of the shim and those of the program wait for each other, and which thread has
 * the lock. */
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "guest/shim/wait.h"

#define SPIN_NS (50 * 1000ull) /* what others do may take no longer */

pthread_mutex_t cot_shim_lock = PTHREAD_MUTEX_INITIALIZER;
struct cot_shim_bell cot_shim_to_watch;
struct cot_wake cot_shim_to_listen = {.ring = {.fd = -1}, .listen = {.fd = -1}};
_Atomic bool cot_shim_stopping;

static struct cot_shim_bell changes;

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

bool cot_shim_gate_take(struct cot_shim_gate *g)
{
	uint64_t until_ns = cot_now_ns() + COT_SHIM_GATE_NS;

	while (!cot_shim_gate_try(g)) {
		if (cot_now_ns() >= until_ns)
			return false;
		cot_shim_pause(SPIN_NS);
	}
	return true;
}

#define LATCH_LOOKS 200u /* some times as long as it is held */
#define LATCH_NS    1000u

void cot_shim_latch_await(struct cot_shim_latch *l)
{
	unsigned n = 0;

	do {
		while (atomic_load_explicit(&l->taken, memory_order_relaxed))
			if (++n > LATCH_LOOKS)
				cot_shim_pause(LATCH_NS);
	} while (atomic_exchange_explicit(&l->taken, true, memory_order_acquire));
}

void cot_shim_wake(void)
{
	if (cot_shim_to_listen.ring.fd >= 0)
		cot_wake_ring(&cot_shim_to_listen);
}

void cot_shim_wait_forget(void)
{
	cot_shim_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	atomic_store(&cot_shim_stopping, false);
	atomic_store(&changes.n_waiting, 0);
	atomic_store(&cot_shim_to_watch.n_waiting, 0);
	cot_wake_close(&cot_shim_to_listen);
	atomic_store(&cot_shim_to_listen.pending, false);
}
