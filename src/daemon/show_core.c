/* What the core and the daemon as a whole did, for `cotenant stats`. */
#include <jansson.h>
#include <malloc.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/roster.h"
#include "daemon/show_inside.h"
#include "metrics/requests.h"

json_t *cot_show_core(struct conns *conns)
{
	static const char *const kinds[] = {"slice", "mode",  "freeze", "thaw",
					    "grant", "evict", "place"};
	struct cot_sched_stats s;
	json_t *o = json_object();
	unsigned i;

	cot_sched_stats(cot_host_sched(conns->basis->host), &s);
	put_number(o, "events", s.events);
	put_number(o, "wrong_actions", s.wrong_actions);
	put_number(o, "deferred", s.deferred);
	put_number(o, "late_answers", s.late_answers);
	put_number(o, "rescues", s.rescues);
	put_number(o, "works", s.works);
	put_number(o, "works_returned", s.works_returned);
	put_number(o, "fallbacks", s.fallbacks);
	put(o, "fault", json_string(cot_fault_name(s.fault)));
	for (i = 0; i < COT_ARRAY_LEN(kinds); i++) {
		uint64_t answered = s.actions[i] - s.timed_out[i];
		json_t *k = json_object();

		put_number(k, "sent", s.actions[i]);
		put_number(k, "failed", s.failed[i]);
		put_number(k, "timed_out", s.timed_out[i]);
		put(k, "mean_ms",
		    json_real(answered ? ms(s.latency_sum_ns[i]) / (double)answered : 0));
		put(k, "max_ms", json_real(ms(s.latency_max_ns[i])));
		put(o, kinds[i], k);
	}
	return o;
}

#if __GLIBC_PREREQ(2, 33)
#define HEAP mallinfo2
#else /* the same with numbers that wrap at 4 GiB */
#define HEAP mallinfo
#endif

json_t *cot_show_memory(void)
{
	struct HEAP heap = HEAP();
	json_t *o = json_object();

	put_number(o, "used_kb", ((size_t)heap.uordblks + (size_t)heap.hblkhd) / 1024);
	put_number(o, "heap_kb", ((size_t)heap.arena + (size_t)heap.hblkhd) / 1024);
	return o;
}

/* How often, and for how long not any more. */
static void put_times(json_t *o, const char *key, const char *since, uint64_t n, uint64_t last_ns)
{
	put_number(o, key, n);
	put(o, since, n ? json_real(seconds_since(last_ns)) : json_null());
}

json_t *cot_show_timers(const struct cot_lateness *l)
{
	json_t *o = json_object();

	put_times(o, "late", "late_seconds", l->n_late, l->last_ns);
	put_times(o, "waited", "waited_seconds", l->n_waited, l->last_waited_ns);
	put_times(o, "stolen", "stolen_seconds", l->n_stolen, l->last_stolen_ns);
	put(o, "worst_ms", json_real(ms(l->worst_ns)));
	put(o, "worst_own_ms", json_real(ms(l->worst_own_ns)));
	return o;
}

json_t *cot_show_users(const struct cot_account *a)
{
	static const char *const keys[] = {"connections", "programs", "works", "queries",
					   "unread_bytes"};
	json_t *list = json_array();
	unsigned i, k;

	for (i = 0; i < COT_ACCOUNT_USERS; i++) {
		json_t *o;

		if (!a->users[i].known)
			continue;
		o = json_object();
		put_number(o, "uid", a->users[i].uid);
		for (k = 0; k < COT_ARRAY_LEN(keys); k++)
			put_number(o, keys[k], a->users[i].used[k]);
		put_number(o, "refused", a->users[i].n_refused);
		json_array_append_new(list, o);
	}
	return list;
}
