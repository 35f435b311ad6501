/*
 * Whether handing a launch over can pay: what the program's own launches take, and what handing
 * over takes its thread, as both are measured while it runs. Programs launch beside each other, so
 * what a merged launch saves a program is its own launch, no more.
 */
#include "guest/log.h"
#include "guest/shim/backend_inside.h"

/* Beyond a launch of the program's own, before one has been handed over: on an H200 about 5 us
 * (results/h200/2026-11-23/backend). What takes less is never handed over. */
#define HAND_NS 5000u
#define SMOOTH	8u
#define MOST_NS 10000000u /* of one: a thread may have lost its CPU */
/* Handing over may take less than it did: one of so many tries it. */
#define TRY_EACH 16384u

static _Atomic uint32_t own_ns, hand_ns, n_kept;

static void smooth(_Atomic uint32_t *mean, uint64_t ns)
{
	uint32_t was = atomic_load(mean), is = ns < MOST_NS ? (uint32_t)ns : MOST_NS;

	/* Of two threads at a time one may be lost. */
	atomic_store(mean, was ? was - was / SMOOTH + is / SMOOTH : is);
}

uint32_t cot_shim_backend_cost_own(uint64_t ns)
{
	smooth(&own_ns, ns);
	return atomic_load(&own_ns);
}

void cot_shim_backend_cost_hand(uint64_t ns)
{
	smooth(&hand_ns, ns);
}

bool cot_shim_backend_can_pay(void)
{
	uint32_t own = atomic_load(&own_ns);

	if (cot_shim_settings.merge_always)
		return true;
	if (own <= HAND_NS)
		return false;
	return own > atomic_load(&hand_ns) || atomic_fetch_add(&n_kept, 1) % TRY_EACH == 0;
}

void cot_shim_backend_cost_say(void)
{
	cot_log(COT_LOG_INFO, "a launch took %u ns, handed over %u ns", atomic_load(&own_ns),
		atomic_load(&hand_ns));
}
