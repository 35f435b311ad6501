/*
 * Whether handing a launch over can pay: what the program's own launches take, and what handing
 * over takes its thread, as both are measured while it runs. Programs launch beside each other, so
 * what a merged launch saves a program is its own launch, no more.
 *
 * Nothing is assumed: the first launches are the program's own, the next are handed over whatever
 * that takes, and then the one that took less goes on, by the median. A launch now and then goes
 * the other way, for either may change.
 */
#include "guest/log.h"
#include "guest/shim/backend_inside.h"

/* Of each kind: a thread that has lost its CPU, or a full queue, does not move their median. */
#define KEPT	 COT_SHIM_COSTS_KEPT
#define OWN_EACH 256u	/* of launches that are handed over one is made here */
#define TRY_EACH 65536u /* of those that are not, KEPT one after the other are handed over */
#define MOST_NS	 (1u << 30)

struct costs {
	_Atomic uint32_t ns[KEPT], n;
	_Atomic uint32_t median; /* 0: too few are known */
};

static struct costs own, handed;
static _Atomic uint32_t n_handed, n_kept;

/* What is less than the median comes first, and then the median. Nobody can foresee which of two
 * takes longer: hence no branches, which would take longer than all else here. */
static uint32_t median_of(uint32_t ns[KEPT])
{
	uint32_t i, k, less, more;

	for (i = 0; i <= KEPT / 2; i++)
		for (k = i + 1; k < KEPT; k++) {
			less = ns[i] < ns[k] ? ns[i] : ns[k];
			more = ns[i] < ns[k] ? ns[k] : ns[i];
			ns[i] = less;
			ns[k] = more;
		}
	return ns[KEPT / 2];
}

/* Of two threads at a time one may be lost. */
static void keep(struct costs *c, uint64_t ns)
{
	uint32_t all[KEPT], i, n = atomic_fetch_add(&c->n, 1);

	ns = ns < MOST_NS ? ns : MOST_NS;
	atomic_store_explicit(&c->ns[n % KEPT], ns ? (uint32_t)ns : 1, memory_order_relaxed);
	for (i = 0; i < KEPT; i++) {
		all[i] = atomic_load(&c->ns[i]);
		if (!all[i])
			return;
	}
	atomic_store_explicit(&c->median, median_of(all), memory_order_relaxed);
}

uint32_t cot_shim_backend_cost_own(uint64_t ns)
{
	keep(&own, ns);
	return atomic_load(&own.median);
}

void cot_shim_backend_cost_hand(uint64_t ns)
{
	keep(&handed, ns);
}

bool cot_shim_backend_can_pay(void)
{
	uint32_t own_ns = atomic_load(&own.median);

	if (cot_shim_settings.merge_always)
		return true;
	if (!own_ns)
		return false;
	if (own_ns > atomic_load(&handed.median))
		return atomic_fetch_add(&n_handed, 1) % OWN_EACH != OWN_EACH - 1;
	return atomic_fetch_add(&n_kept, 1) % TRY_EACH >= TRY_EACH - KEPT;
}

void cot_shim_backend_cost_say(void)
{
	cot_log(COT_LOG_INFO, "a launch took %u ns, handed over %u ns", atomic_load(&own.median),
		atomic_load(&handed.median));
}
