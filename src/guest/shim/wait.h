/*
 * How the threads of the shim and those of the program wait for each other.
 *
 * Locks: cot_shim_lock guards contexts, works and links; the code's own lock (code.c) modules and
 * handles. No thread holds one while it takes the other, nor during a call into the driver that may
 * wait for the GPU.
 */
#ifndef COT_GUEST_SHIM_WAIT_H
#define COT_GUEST_SHIM_WAIT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/compiler.h"
#include "guest/wake.h"

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

/* What one thread waits for and others change. */
struct cot_shim_bell {
	_Atomic uint32_t count, n_waiting;
};

extern struct cot_shim_bell cot_shim_to_watch;
extern struct cot_wake cot_shim_to_listen;
extern _Atomic bool cot_shim_stopping;

void cot_shim_ring(struct cot_shim_bell *b);
/*
 * With the lock, which it lets go of. Looks at the bell without sleeping for `spin_ns` first.
 * False: it is too late.
 */
bool cot_shim_wait_for(struct cot_shim_bell *b, uint64_t until_ns, uint64_t spin_ns);
void cot_shim_pause(uint64_t ns);

/* A lock that a thread may hold for long, in the driver: nobody waits for it for ever. */
struct cot_shim_gate {
	_Atomic bool shut;
};

static inline bool cot_shim_gate_try(struct cot_shim_gate *g)
{
	return !atomic_exchange(&g->shut, true);
}

static inline void cot_shim_gate_open(struct cot_shim_gate *g)
{
	atomic_store(&g->shut, false);
}

#define COT_SHIM_GATE_NS (100 * COT_NS_PER_MS)
bool cot_shim_gate_take(struct cot_shim_gate *g); /* false: not within that time */
struct timespec cot_shim_span(uint64_t ns);

/*
 * A lock for some tens of instructions, with no call of the driver among them. One atomic operation
 * takes it and a plain write gives it back, since nobody is woken: half of what a mutex costs. Who
 * finds it taken looks again, and after a while sleeps in between, so that a thread which has it
 * and was stopped, or has a lower priority, goes on.
 */
struct cot_shim_latch {
	_Atomic bool taken;
};

void cot_shim_latch_await(struct cot_shim_latch *l);

static inline void cot_shim_latch_take(struct cot_shim_latch *l)
{
	if (COT_UNLIKELY(atomic_exchange_explicit(&l->taken, true, memory_order_acquire)))
		cot_shim_latch_await(l);
}

static inline void cot_shim_latch_give(struct cot_shim_latch *l)
{
	atomic_store_explicit(&l->taken, false, memory_order_release);
}

#endif
