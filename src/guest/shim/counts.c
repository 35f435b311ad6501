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
	_Atomic uint64_t moved, followed, stayed, stays[COT_SHIM_N_WHYS], told_parts;
	_Atomic uint64_t paced, pace_waits, pace_wait_ns, pace_failed, told_pace;
	_Atomic uint64_t held, held_ns, lapsed;
	_Atomic uint64_t cpu, cpu_ns, cpu_not;
	_Atomic uint64_t copies, copies_ns;
	_Atomic uint64_t gpu_waits, gpu_wait_ns;
	_Atomic uint64_t merged, merges, unmerged, templates[COT_SHIM_N_TEMPLATE];
	_Atomic uint64_t attached, attachings; /* the second: how often the first has changed */
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

static void wake_listener(void)
{
	if (COT_UNLIKELY(atomic_load_explicit(&resting, memory_order_relaxed)) &&
	    atomic_exchange(&resting, false))
		cot_shim_wake();
}

void cot_shim_count_plain(enum cot_shim_why why)
{
	add(&counts.plain, 1);
	cot_shim_count_why(why);
	wake_listener();
}

void cot_shim_count_followed(void)
{
	add(&counts.followed, 1);
	wake_listener();
}

void cot_shim_count_stayed(enum cot_shim_why why)
{
	add(&counts.stayed, 1);
	if (atomic_fetch_add_explicit(&counts.stays[why], 1, memory_order_relaxed) == 0)
		cot_log(COT_LOG_INFO, "not on the part: %s", why_sentences[why]);
	wake_listener();
}

void cot_shim_count_early(uint64_t n)
{
	add(&counts.followed, -n);
	add(&counts.stayed, n);
	add(&counts.stays[COT_SHIM_WHY_NO_PART], n);
}

void cot_shim_count_paced(unsigned n)
{
	add(&counts.paced, n);
	wake_listener();
}

void cot_shim_count_pace_wait(uint64_t ns, bool failed)
{
	add(&counts.pace_waits, 1);
	add(&counts.pace_wait_ns, ns);
	add(&counts.pace_failed, failed);
}

void cot_shim_count_gpu_wait(uint64_t ns)
{
	atomic_store_explicit(&counts.gpu_waits, get(&counts.gpu_waits) + 1, memory_order_relaxed);
	atomic_store_explicit(&counts.gpu_wait_ns, get(&counts.gpu_wait_ns) + ns,
			      memory_order_relaxed);
}

void cot_shim_count_copy_wait(uint64_t ns)
{
	add(&counts.copies, 1);
	add(&counts.copies_ns, ns);
}

void cot_shim_count_held(uint64_t ns, bool lapsed)
{
	add(&counts.held, 1);
	add(&counts.held_ns, ns);
	add(&counts.lapsed, lapsed);
	wake_listener();
}

void cot_shim_count_cpu(enum cot_shim_why why, uint64_t ns)
{
	if (why == COT_SHIM_WHY_NOT) {
		add(&counts.cpu, 1);
		add(&counts.cpu_ns, ns);
	} else {
		add(&counts.cpu_not, 1);
		cot_shim_count_why(why);
	}
	wake_listener();
}

void cot_shim_count_merged(unsigned n)
{
	add(&counts.merged, n);
	add(&counts.merges, 1);
	wake_listener();
}

void cot_shim_count_attached(bool attached)
{
	atomic_store(&counts.attached, attached);
	add(&counts.attachings, 1);
	wake_listener();
}

void cot_shim_count_template(enum cot_shim_template what)
{
	add(&counts.templates[what], 1);
	wake_listener();
}

static uint64_t sum_of_templates(void)
{
	uint64_t n = 0;
	unsigned i;

	for (i = 0; i < COT_SHIM_N_TEMPLATE; i++)
		n += get(&counts.templates[i]);
	return n;
}

void cot_shim_count_say_merged(void)
{
	unsigned i;

	if (!get(&counts.merges) && !get(&counts.unmerged))
		return;
	cot_log(COT_LOG_INFO, "merged %llu launches into %llu; %llu went as they were",
		(unsigned long long)get(&counts.merged), (unsigned long long)get(&counts.merges),
		(unsigned long long)get(&counts.unmerged));
	cot_log(COT_LOG_INFO, "templates: %llu found, %llu made, %llu ignored, %llu not kept",
		(unsigned long long)get(&counts.templates[COT_SHIM_TEMPLATE_FOUND]),
		(unsigned long long)get(&counts.templates[COT_SHIM_TEMPLATE_MADE]),
		(unsigned long long)get(&counts.templates[COT_SHIM_TEMPLATE_IGNORED]),
		(unsigned long long)get(&counts.templates[COT_SHIM_TEMPLATE_NOT_KEPT]));
	for (i = COT_SHIM_WHY_NOT + 1; i < COT_SHIM_N_WHYS; i++)
		if (get(&counts.whys[i]))
			cot_log(COT_LOG_INFO, "%s: %llu", why_names[i],
				(unsigned long long)get(&counts.whys[i]));
}

void cot_shim_count_unmerged(enum cot_shim_why why)
{
	add(&counts.unmerged, 1);
	if (why != COT_SHIM_WHY_NOT)
		cot_shim_count_why(why);
	wake_listener();
}

void cot_shim_count_moved(void)
{
	add(&counts.moved, 1);
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

/* Reasons in a packet: as many as there is room for. */
struct reasons {
	struct cot_work_reason *list;
	uint32_t n, room;
};

static struct reasons reasons_in(void *list, size_t bytes)
{
	size_t room = bytes / sizeof(struct cot_work_reason);

	return (struct reasons){
		list, 0, room < COT_PROTO_REASONS_MAX ? (uint32_t)room : COT_PROTO_REASONS_MAX};
}

static void put_reason(struct reasons *to, const char *name, uint64_t n)
{
	struct cot_work_reason *r = &to->list[to->n];

	if (!n || to->n >= to->room)
		return;
	*r = (struct cot_work_reason){.n_kernels = n};
	(void)snprintf(r->name, sizeof(r->name), "%s", name);
	to->n++;
}

static void put_whys(struct reasons *to, const _Atomic uint64_t *counts_of)
{
	unsigned i;

	for (i = COT_SHIM_WHY_NOT + 1; i < COT_SHIM_N_WHYS; i++)
		put_reason(to, why_names[i], get(&counts_of[i]));
}

static uint64_t sum(void)
{
	return get(&counts.rewritten) + get(&counts.refused) + get(&counts.workers) +
	       get(&counts.plain) + get(&counts.cpu_not) + get(&counts.unmerged) + 1;
}

static uint64_t sum_of_parts(void)
{
	return get(&counts.moved) + get(&counts.followed) + get(&counts.stayed);
}

static uint64_t sum_of_pace(void)
{
	return get(&counts.paced) + get(&counts.pace_waits) + get(&counts.pace_failed) +
	       get(&counts.held) + get(&counts.lapsed) + get(&counts.cpu) + get(&counts.cpu_not) +
	       get(&counts.copies) + get(&counts.merges) + get(&counts.unmerged) +
	       get(&counts.attachings) + get(&counts.gpu_waits) + sum_of_templates();
}

bool cot_shim_counts_changed(void)
{
	return get(&counts.told) != sum() || get(&counts.told_parts) != sum_of_parts() ||
	       get(&counts.told_pace) != sum_of_pace();
}

void cot_shim_counts_rest(void)
{
	atomic_store(&resting, true);
}

size_t cot_shim_counts_fill(void *packet, size_t size, bool always)
{
	struct cot_msg_work_counts *m = packet;
	struct reasons to = reasons_in(m->reasons, size - sizeof(*m));
	uint64_t now = sum();
	unsigned i;

	memset(m, 0, sizeof(*m));
	m->n_rewritten = get(&counts.rewritten);
	m->n_refused = get(&counts.refused);
	m->n_launched_workers = get(&counts.workers);
	m->n_launched_plain = get(&counts.plain);
	for (i = COT_REASON_NONE + 1; i < COT_N_REASONS; i++)
		put_reason(&to, cot_reason_name((enum cot_reason)i), get(&counts.reasons[i]));
	put_whys(&to, counts.whys);
	m->n_reasons = to.n;
	if (atomic_exchange(&counts.told, now) == now && !always)
		return 0;
	return sizeof(*m) + m->n_reasons * sizeof(m->reasons[0]);
}

size_t cot_shim_counts_fill_parts(void *packet, size_t size, bool always)
{
	struct cot_msg_part_counts *m = packet;
	struct reasons to = reasons_in(m->reasons, size - sizeof(*m));
	uint64_t now = sum_of_parts();

	memset(m, 0, sizeof(*m));
	m->n_changes = get(&counts.moved);
	m->n_followed = get(&counts.followed);
	m->n_stayed = get(&counts.stayed);
	put_whys(&to, counts.stays);
	m->n_reasons = to.n;
	if (atomic_exchange(&counts.told_parts, now) == now && !always)
		return 0;
	return sizeof(*m) + m->n_reasons * sizeof(m->reasons[0]);
}

size_t cot_shim_counts_fill_pace(void *packet, bool always)
{
	struct cot_msg_pace_counts *m = packet;
	uint64_t now = sum_of_pace();

	memset(m, 0, sizeof(*m));
	m->n_paced = get(&counts.paced);
	m->n_waits = get(&counts.pace_waits);
	m->wait_ns = get(&counts.pace_wait_ns);
	m->n_failed = get(&counts.pace_failed);
	m->n_held = get(&counts.held);
	m->held_ns = get(&counts.held_ns);
	m->n_lapsed = get(&counts.lapsed);
	m->n_cpu = get(&counts.cpu);
	m->cpu_ns = get(&counts.cpu_ns);
	m->n_cpu_not = get(&counts.cpu_not);
	m->n_copies = get(&counts.copies);
	m->copies_ns = get(&counts.copies_ns);
	m->n_merged = get(&counts.merged);
	m->n_merges = get(&counts.merges);
	m->n_unmerged = get(&counts.unmerged);
	m->n_templates_found = get(&counts.templates[COT_SHIM_TEMPLATE_FOUND]);
	m->n_templates_made = get(&counts.templates[COT_SHIM_TEMPLATE_MADE]);
	m->n_templates_ignored = get(&counts.templates[COT_SHIM_TEMPLATE_IGNORED]);
	m->n_templates_not_kept = get(&counts.templates[COT_SHIM_TEMPLATE_NOT_KEPT]);
	m->n_attached = get(&counts.attached);
	m->n_gpu_waits = get(&counts.gpu_waits);
	m->gpu_wait_ns = get(&counts.gpu_wait_ns);
	if (!now || (atomic_exchange(&counts.told_pace, now) == now && !always))
		return 0;
	return sizeof(*m);
}
