/* How long a program's requests took, for `cotenant stats`. */

#include <jansson.h>
#include <stdatomic.h>

#include "daemon/conn.h"
#include "daemon/measure.h"
#include "daemon/page.h"
#include "daemon/show_inside.h"
#include "daemon/tenant.h"
#include "metrics/requests.h"

static json_t *times(const struct cot_times *t)
{
	json_t *o;

	if (!t->n)
		return json_null();
	o = json_object();
	put_number(o, "n", t->n);
	put_number(o, "missed", t->n_missed);
	put(o, "p50_ms", json_real((double)t->p50_ns / 1e6));
	put(o, "p95_ms", json_real((double)t->p95_ns / 1e6));
	put(o, "p99_ms", json_real((double)t->p99_ns / 1e6));
	return o;
}

/* A target is about responses. Of a program that does not say when its requests arrive only the
 * service is known. */
static void put_judged(json_t *o, const struct cot_requests_window *w, uint64_t aim_ns)
{
	const struct cot_times *t = w->response.n ? &w->response : &w->service;

	put(o, "judged", !t->n ? json_null() : json_string(w->response.n ? "response" : "service"));
	put(o, "missed_share",
	    t->n && aim_ns ? json_real((double)t->n_missed / (double)t->n) : json_null());
}

static json_t *window(struct cot_requests *r, uint64_t now_ns, enum cot_horizon horizon,
		      uint64_t aim_ns)
{
	static const double seconds[COT_N_HORIZONS] = {1, 10, 60};
	struct cot_requests_window w;
	json_t *o = json_object();

	cot_requests_read(r, now_ns, horizon, &w);
	put(o, "seconds", json_real(seconds[horizon]));
	put(o, "per_second", json_real((double)w.service.n / seconds[horizon]));
	put(o, "response", times(&w.response));
	put(o, "service", times(&w.service));
	put_judged(o, &w, aim_ns);
	return o;
}

/* Also what the rings of the libraries that are there have lost until now. Any number may stand in
 * one; JSON has those of 63 bits. */
static void put_lost(struct conns *conns, json_t *o, const struct tenant *t)
{
	uint64_t lost = t->n_requests_lost, rejected = t->n_requests_rejected;
	uint64_t unclear = t->n_requests_unclear;
	struct cot_ring *ring;
	struct conn *c;

	for_each_conn (c, conns) {
		ring = c->tenant == t ? cot_page_ring(c) : NULL;
		if (!ring)
			continue;
		lost += c->ring_reader.n_lost +
			atomic_load_explicit(&ring->n_dropped, memory_order_relaxed);
		rejected += c->ring_reader.n_rejected;
		unclear += atomic_load_explicit(&ring->n_unclear, memory_order_relaxed);
	}
	put_number(o, "lost", lost & INT64_MAX);
	put_number(o, "rejected", rejected & INT64_MAX);
	put_number(o, "unclear", (t->marks ? 0 : unclear) & INT64_MAX);
}

/* What a collector takes differences of. Null: there was none. */
static json_t *buckets(const struct cot_buckets *b)
{
	json_t *o, *list;
	unsigned i;

	if (!cot_buckets_count(b))
		return json_null();
	o = json_object();
	list = json_array();
	put_number(o, "n", cot_buckets_count(b));
	put(o, "sum_ms", json_real((double)b->sum_ns / 1e6));
	for (i = 0; i <= COT_BUCKETS; i++)
		(void)json_array_append_new(list, json_integer((json_int_t)b->n[i]));
	put(o, "counts", list);
	return o;
}

static json_t *totals(const struct tenant *t)
{
	json_t *o = json_object(), *list = json_array();
	unsigned i;

	put(o, "missed", t->aim_ns ? json_integer((json_int_t)t->n_missed) : json_null());
	for (i = 0; i < COT_BUCKETS; i++)
		(void)json_array_append_new(list, json_real((double)cot_bucket_max_ns[i] / 1e6));
	put(o, "up_to_ms", list);
	put(o, "response", buckets(&t->responses));
	put(o, "service", buckets(&t->services));
	return o;
}

static void put_target(json_t *tenant, const struct tenant *t)
{
	char word[COT_TARGET_WORD_MAX];
	uint64_t keeps;
	json_t *o;

	if (!t->target.kind) {
		put(tenant, "target", json_null());
		return;
	}
	o = json_object();
	put(o, "kind", json_string(cot_target_words[t->target.kind]));
	put(o, "amount", json_string(cot_target_word(t->target, word)));
	put(o, "ms", t->aim_ns ? json_real((double)t->aim_ns / 1e6) : json_null());
	put(o, "keeps",
	    t->target.kind == COT_TARGET_RATE &&
			    cot_measure_said(t, COT_SAYS_KEEPS, COT_FACT_PERMILLE, &keeps)
		    ? json_real((double)keeps / 1e3)
		    : json_null());
	put(tenant, "target", o);
}

/* How long its threads waited for the GPU. Null: not known now, or it does not wait. */
static json_t *waited(const struct tenant *t, uint64_t now_ns)
{
	const struct cot_launches *l = &t->progress.told;
	double per_s;

	if (!cot_progress_rate(t, now_ns, &per_s) || !l->n_waits)
		return json_null();
	return json_real((double)l->waited_ns / (double)l->span_ns * 1e3);
}

static const char *const sources[] = {
	[COT_REQUESTS_MARKED] = "marks", [COT_REQUESTS_BURSTS] = "bursts"};

void cot_show_requests(struct conns *conns, json_t *tenant, const struct tenant *t)
{
	uint64_t now_ns = cot_now_ns();
	json_t *o, *windows;
	unsigned i;

	put_target(tenant, t);
	if (!t->requests) {
		put(tenant, "requests", json_null());
		return;
	}
	o = json_object();
	put(o, "source", t->n_requests ? json_string(sources[cot_measure_source(t)]) : json_null());
	put_number(o, "count", t->n_requests);
	put(o, "waited_ms_per_second", waited(t, now_ns));
	put_lost(conns, o, t);
	put(o, "totals", totals(t));
	windows = json_array();
	for (i = 0; i < COT_N_HORIZONS; i++)
		(void)json_array_append_new(windows, window(t->requests, now_ns, i, t->aim_ns));
	put(o, "windows", windows);
	put(tenant, "requests", o);
}
