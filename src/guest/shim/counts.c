#include <stdio.h>
#include <string.h>

#include "cotenant/passes.h"
#include "guest/log.h"
#include "guest/shim/counts.h"
#include "guest/shim/wait.h"
#include "proto/proto.h"
#include "ptx/pass/pass.h"

struct counts {
	_Atomic uint64_t rewritten, refused, workers, plain;
	_Atomic uint64_t reasons[COT_N_REASONS], whys[COT_SHIM_N_WHYS];
	_Atomic uint64_t told; /* the sum of all, in the last message */
};

static struct counts counts;
static _Atomic bool resting; /* the listener does not look whether they change */

static const char *const why_names[] = {
#define WHY(id, name, what) [COT_SHIM_WHY_##id] = name,
#include "proto/why.def"
#undef WHY
};

static const char *const why_sentences[] = {
#define WHY(id, name, what) [COT_SHIM_WHY_##id] = what,
#include "proto/why.def"
#undef WHY
};

static void add(_Atomic uint64_t *to, uint64_t n)
{
	atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

static uint64_t get(const _Atomic uint64_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

void cot_shim_count_why(enum cot_shim_why why)
{
	if (atomic_fetch_add_explicit(&counts.whys[why], 1, memory_order_relaxed) == 0)
		cot_log(COT_LOG_INFO, "left as it is: %s", why_sentences[why]);
}

void cot_shim_count_plain(enum cot_shim_why why)
{
	add(&counts.plain, 1);
	cot_shim_count_why(why);
	if (COT_UNLIKELY(atomic_load_explicit(&resting, memory_order_relaxed)) &&
	    atomic_exchange(&resting, false))
		cot_shim_wake();
}

void cot_shim_count_workers(void)
{
	add(&counts.workers, 1);
}

void cot_shim_count_rewritten(unsigned n)
{
	add(&counts.rewritten, n);
}

void cot_shim_count_refused(unsigned reason)
{
	add(&counts.refused, 1);
	if (reason < COT_N_REASONS)
		add(&counts.reasons[reason], 1);
}

static void put_reason(struct cot_msg_work_counts *m, size_t size, const char *name, uint64_t n)
{
	struct cot_work_reason *r = &m->reasons[m->n_reasons];

	if (!n || m->n_reasons >= COT_PROTO_REASONS_MAX ||
	    sizeof(*m) + (m->n_reasons + 1) * sizeof(*r) > size)
		return;
	*r = (struct cot_work_reason){.n_kernels = n};
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
	m->n_reasons++;
}

static uint64_t sum(void)
{
	return get(&counts.rewritten) + get(&counts.refused) + get(&counts.workers) +
	       get(&counts.plain) + 1;
}

bool cot_shim_counts_changed(void)
{
	return get(&counts.told) != sum();
}

void cot_shim_counts_rest(void)
{
	atomic_store(&resting, true);
}

size_t cot_shim_counts_fill(void *packet, size_t size, bool always)
{
	struct cot_msg_work_counts *m = packet;
	uint64_t now = sum();
	unsigned i;

	memset(m, 0, sizeof(*m));
	m->n_rewritten = get(&counts.rewritten);
	m->n_refused = get(&counts.refused);
	m->n_launched_workers = get(&counts.workers);
	m->n_launched_plain = get(&counts.plain);
	for (i = COT_REASON_NONE + 1; i < COT_N_REASONS; i++)
		put_reason(m, size, cot_reason_name((enum cot_reason)i), get(&counts.reasons[i]));
	for (i = COT_SHIM_WHY_NOT + 1; i < COT_SHIM_N_WHYS; i++)
		put_reason(m, size, why_names[i], get(&counts.whys[i]));
	if (atomic_exchange(&counts.told, now) == now && !always)
		return 0;
	return sizeof(*m) + m->n_reasons * sizeof(m->reasons[0]);
}
