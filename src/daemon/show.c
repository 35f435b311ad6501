/*
 * Answers to `cotenant ps`, `stats` and `doctor`, in JSON. Keys are stable: docs/protocol.md.
 */
#include "daemon/show.h"
#include "daemon/show_inside.h"

#include <jansson.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "daemon/basis.h"
#include "daemon/choose.h"
#include "daemon/conn.h"
#include "daemon/effect.h"
#include "daemon/expose.h"
#include "daemon/host_work.h"
#include "daemon/measure.h"
#include "daemon/memory.h"
#include "daemon/news.h"
#include "daemon/page.h"
#include "daemon/roster.h"
#include "text/json.h"

static const char *run_name(const struct cot_entity *e)
{
	static const char *const names[] = {"running", "freezing", "frozen", "thawing"};

	return e ? names[e->run] : "idle";
}

static json_t *mask_list(uint64_t mask)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < 64; i++)
		if (mask >> i & 1)
			json_array_append_new(list, json_integer(i));
	return list;
}

/* Freezes or thaws that fail: null, or since when and why. */
static json_t *trouble(const struct cot_host_trouble *t)
{
	json_t *o;

	if (!t->n)
		return json_null();
	o = json_object();
	put_number(o, "failures", t->n);
	put(o, "seconds", json_real(seconds_since(t->since_ns)));
	put(o, "last_seconds", json_real(seconds_since(t->last_ns)));
	put(o, "reason", json_string(cot_news_reason(t->status)));
	return o;
}

/* Slice, mode and state of what the hardware switches between. */
static void put_entity(struct conns *conns, json_t *object, uint32_t id)
{
	const struct cot_entity *e = cot_sched_entity(cot_host_sched(conns->basis->host), id);
	struct cot_host_entity_stats stats;
	struct cot_host_settings settings;

	cot_host_settings(conns->basis->host, id, &settings);
	cot_host_entity_stats(conns->basis->host, id, &stats);
	put(object, "state", json_string(run_name(e)));
	put(object, "held", json_boolean(e && e->held));
	put_number(object, "slice_us", settings.slice_us);
	put(object, "mode", json_string(cot_mode_words[settings.mode]));
	put(object, "slice_by_user", json_boolean(stats.slice_override_us != 0));
	put(object, "mode_by_user", json_boolean(stats.mode_override != COT_MODE_DRIVER));
	put_number(object, "freezes", stats.n_freezes);
	put_number(object, "thaws", stats.n_thaws);
	put_number(object, "failed_orders", stats.n_failed);
	put_number(object, "orders_waiting", stats.n_waiting);
	put_number(object, "lapsed_leases", stats.n_lapsed);
	put(object, "freeze_trouble", trouble(&stats.freeze));
	put(object, "thaw_trouble", trouble(&stats.thaw));
	put_number(object, "guests", stats.n_guests);
	put_number(object, "guests_left", stats.n_guests_left);
	put(object, "freeze_last_ms", json_real(ms(stats.freeze_last_ns)));
	put(object, "freeze_max_ms", json_real(ms(stats.freeze_max_ns)));
	put(object, "thaw_last_ms", json_real(ms(stats.thaw_last_ns)));
	put(object, "thaw_max_ms", json_real(ms(stats.thaw_max_ns)));
}

/* Whether `got` cannot be what is wanted. The driver's own slice can be any. */
static bool is_wrong(const struct cot_host_settings *wanted, int set_status, uint64_t got)
{
	return wanted->slice_us ? got != wanted->slice_us : set_status < 0;
}

static const char *why_wrong(const struct cot_host_entity_stats *stats, bool is_open)
{
	if (is_open)
		return "its library does not seal the page that it shares with the daemon (one of "
		       "an earlier release does not): it is not frozen; start it again";
	if (stats->n_waiting)
		return "an order is on its way";
	return stats->set_status < 0 ? cot_news_reason(stats->set_status)
				     : "its library has not set it yet";
}

static void put_slice(json_t *object, const struct cot_host_entity_stats *stats, pid_t wrong,
		      bool is_open)
{
	put_number(object, "slice_wrong_pid", (uint64_t)wrong);
	put(object, "slice_wrong_reason",
	    wrong ? json_string(why_wrong(stats, is_open)) : json_null());
}

/* What the libraries of a tenant or pool have written into their pages. */
static void put_pages(struct conns *conns, json_t *object, const struct tenant *t,
		      const struct pool *p)
{
	uint64_t groups = 0, channels = 0, doubts = 0, expired = 0, slice = 0, got;
	uint32_t entity = p ? p->id : t->id;
	struct cot_host_entity_stats stats;
	struct cot_host_settings wanted;
	json_t *pids = json_array();
	struct cot_page *page;
	pid_t wrong = 0, open = 0;
	bool any = false;
	struct conn *c;

	cot_host_settings(conns->basis->host, entity, &wanted);
	cot_host_entity_stats(conns->basis->host, entity, &stats);
	for_each_conn (c, conns) {
		if (!c->page || c->tenant != t || c->pool != p)
			continue;
		json_array_append_new(pids, json_integer(c->pid));
		groups += c->n_groups;
		channels += c->n_channels;
		page = cot_page_of(c);
		if (!page) {
			open = c->pid;
			continue;
		}
		doubts += atomic_load_explicit(&page->n_doubts, memory_order_relaxed);
		expired += atomic_load_explicit(&page->n_lease_expired, memory_order_relaxed);
		/* Of several processes, one that has another slice than it should, if any. */
		got = atomic_load_explicit(&page->slice_us, memory_order_relaxed);
		if (c->settled && c->n_groups && is_wrong(&wanted, stats.set_status, got))
			wrong = c->pid;
		if (c->n_groups && (!any || slice == wanted.slice_us)) {
			slice = got;
			any = true;
		}
	}
	put(object, "library_pids", pids);
	put_number(object, "channel_groups", groups);
	put_number(object, "channels", channels);
	put_number(object, "slice_read_back_us", slice);
	put_slice(object, &stats, open ? open : wrong, open != 0);
	put_number(object, "doubts", doubts);
	put_number(object, "leases_expired", expired);
}

/* As the user wrote it. */
static json_t *share(uint16_t s)
{
	char word[COT_SHARE_WORD_MAX];

	return s ? json_string(cot_share_word(cot_share_unpack(s), word)) : json_null();
}

static json_t *spread(const struct cot_hist *h)
{
	json_t *o = json_object();

	put_number(o, "n", cot_hist_count(h));
	put(o, "p50", json_real(cot_hist_quantile(h, 0.50) / 1e3));
	put(o, "p99", json_real(cot_hist_quantile(h, 0.99) / 1e3));
	put(o, "max", json_real((double)cot_hist_max(h) / 1e3));
	return o;
}

static void add(json_t *o, const char *key, uint64_t n)
{
	put_number(o, key, n + (uint64_t)json_integer_value(json_object_get(o, key)));
}

/* What its shims counted. */
static void put_counts(struct conns *conns, json_t *o, const struct tenant *t)
{
	json_t *refusals = json_object();
	const struct conn *c;
	uint32_t j;

	put_number(o, "kernels_rewritten", t->n_rewritten);
	put_number(o, "kernels_refused", t->n_not_rewritten);
	put_number(o, "launches_workers", t->n_launched_workers);
	put_number(o, "launches_plain", t->n_launched_plain);
	for_each_conn (c, conns) {
		const struct cot_msg_work_counts *m = c->counts;

		if (c->tenant != t || !m)
			continue;
		add(o, "kernels_rewritten", m->n_rewritten);
		add(o, "kernels_refused", m->n_refused);
		add(o, "launches_workers", m->n_launched_workers);
		add(o, "launches_plain", m->n_launched_plain);
		for (j = 0; j < m->n_reasons; j++)
			add(refusals, m->reasons[j].name, m->reasons[j].n_kernels);
	}
	put(o, "refusals", refusals);
}

/* It has the shim for its part of the GPU; nothing of it is rewritten. */
static bool is_for_parts(const struct tenant *t)
{
	return t->parts && !t->quota && !t->reserve && !t->n_rewritten && !t->n_not_rewritten;
}

static json_t *show_method(const struct cot_host_method_stats *m)
{
	json_t *o = json_object();

	put_number(o, "requests", m->n_requests);
	put_number(o, "said", m->n_said);
	put_number(o, "has", m->has);
	put_number(o, "running", m->n_running);
	put_number(o, "waiting", m->n_waiting);
	put_number(o, "evictions", m->n_evictions);
	put_number(o, "evicted_capsms", m->n_evicted_capsms);
	return o;
}

static json_t *show_methods(const struct cot_host_work_stats *s)
{
	json_t *o = json_object();

	put(o, "reserve", show_method(&s->by_method[COT_WORK_RESERVE]));
	put(o, "quota", show_method(&s->by_method[COT_WORK_QUOTA]));
	return o;
}

static json_t *show_work(struct conns *conns, const struct tenant *t)
{
	struct cot_host_work_stats s;
	json_t *o;

	cot_host_work_stats(conns->basis->host, t->id, &s);
	if (!s.evictions || (is_for_parts(t) && !s.n_requests))
		return json_null();
	o = json_object();
	put_number(o, "n_sms", s.n_sms);
	put_number(o, "granted", s.granted);
	put_number(o, "evicted", s.evicted);
	put_number(o, "leaving", s.leaving);
	put_number(o, "running", s.n_running);
	put_number(o, "waiting", s.n_waiting);
	put_number(o, "requests", s.n_requests);
	put_number(o, "launches", s.n_launches);
	put_number(o, "tasks", s.n_tasks);
	put_number(o, "remapped", s.n_remapped);
	put_number(o, "evictions", s.n_evictions);
	put_number(o, "evicted_capsms", s.n_evicted_capsms);
	put_number(o, "resumes", s.n_returns);
	put_number(o, "failed", s.n_failed);
	put(o, "eviction_last_us", json_real((double)s.eviction_last_ns / 1e3));
	put(o, "eviction_us", spread(s.evictions));
	put(o, "order_us", spread(s.orders));
	put(o, "wait_us", spread(s.waits));
	put(o, "methods", show_methods(&s));
	put_counts(conns, o, t);
	return o;
}

static uint64_t counted(const json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static bool has_shim(const struct conns *conns, const struct tenant *t)
{
	const struct conn *c;

	for_each_conn (c, conns)
		if (c->tenant == t && c->counts)
			return true;
	return false;
}

/* Batch programs that cannot be put on a part, and so not kept off what `t` has reserved. */
static unsigned n_outside(const struct conns *conns, const struct tenant *t)
{
	const struct tenant *b;
	unsigned n = 0;

	for_each_tenant (b, conns->roster)
		n += t->reserve && b->cls == COT_CLASS_BATCH && (b->gpu_mask & t->gpu_mask) &&
		     !b->parts && !has_shim(conns, b);
	return n;
}

/* Null, or why its shares have no effect, or none on all of it. */
static json_t *show_effect(const struct conns *conns, const struct tenant *t,
			   const json_t *launches)
{
	const struct cot_effect e = {
		.quota = t->quota,
		.reserve = t->reserve,
		.one_pool = cot_sched_policy(cot_host_sched(conns->basis->host))->ops->one_pool,
		.lasts = cot_now_ns() - t->since_ns >= COT_EFFECT_LASTS_NS,
		.shim = has_shim(conns, t) || json_is_object(launches),
		.n_covered = counted(launches, "workers") + counted(launches, "on_part"),
		.n_elsewhere = counted(launches, "elsewhere"),
		.n_outside = n_outside(conns, t),
	};
	char text[256];

	return cot_effect_say(&e, text, sizeof(text)) ? json_string(text) : json_null();
}

/* Null where its start is not known. */
static json_t *show_age(const struct watch *w)
{
	struct timespec now;
	double seconds;

	if (!w->start_time || clock_gettime(CLOCK_BOOTTIME, &now) < 0)
		return json_null();
	seconds = (double)now.tv_sec - (double)w->start_time / (double)sysconf(_SC_CLK_TCK);
	return json_real(seconds > 0 ? seconds : 0);
}

static void put_text(json_t *o, const char *name, const char *text)
{
	put(o, name, text ? json_string(text) : json_null());
}

json_t *cot_show_tenant(struct conns *conns, const struct tenant *t)
{
	json_t *o = json_object(), *work;
	const char *reason;
	double rate;

	put_number(o, "id", t->id);
	put(o, "name", json_string(t->name));
	put(o, "class", json_string(cot_class_words[t->cls]));
	put_number(o, "weight", t->weight);
	put_number(o, "block_us", t->block_us);
	put(o, "quota", share(t->quota));
	put(o, "reserve", share(t->reserve));
	put(o, "sms", share(t->sms));
	put(o, "pace_asked_us", t->pace_us ? json_integer(t->pace_us) : json_null());
	put(o, "memory", cot_memory_show(conns, t));
	put_number(o, "pid", (uint64_t)t->watch.pid);
	put_number(o, "uid", t->uid);
	put(o, "gpus", mask_list(t->gpu_mask));
	put(o, "pool", t->pool ? json_string(t->pool->name) : json_null());
	put(o, "alone_because", t->alone_why ? json_string(t->alone_why) : json_null());
	put_text(o, "next_start", cot_measure_told(t, COT_SAYS_NEXT));
	put_text(o, "target_effect", cot_measure_told(t, COT_SAYS_TARGET));
	put(o, "seconds", json_real(seconds_since(t->since_ns)));
	put(o, "age_seconds", show_age(&t->watch));
	if (!t->pool)
		put_entity(conns, o, t->id);
	put_pages(conns, o, t, NULL);
	work = show_work(conns, t);
	cot_show_part(conns, o, t);
	put(o, "shares_effect", show_effect(conns, t, json_object_get(o, "launches")));
	reason = main_reason(json_object_get(json_object_get(o, "launches"), "reasons"));
	if (!reason)
		reason = main_reason(json_object_get(work, "refusals"));
	put(o, "shares_reason", reason ? json_string(reason) : json_null());
	put(o, "work", work);
	cot_show_requests(conns, o, t);
	cot_show_energy(conns, o, t);
	put(o, "launches_per_second",
	    cot_progress_rate(t, cot_now_ns(), &rate) ? json_real(rate) : json_null());
	return o;
}

json_t *cot_show_pool(struct conns *conns, const struct pool *p)
{
	json_t *o = json_object();

	put_number(o, "id", p->id);
	put(o, "name", json_string(p->name));
	put_number(o, "gpu", p->gpu);
	put(o, "mps", json_string(cot_pool_state_name(p->state)));
	put_number(o, "control_pid", (uint64_t)p->control.pid);
	put_number(o, "tenants", p->n_tenants);
	put_number(o, "starts", p->n_starts);
	put_number(o, "deaths", p->n_deaths);
	put(o, "pipe_directory", json_string(p->pipe));
	put(o, "log_directory", json_string(p->log));
	put_entity(conns, o, p->id);
	put_pages(conns, o, NULL, p);
	return o;
}

/* Null, or why the policy that is wanted is not at work, and when it is tried again. */
static json_t *show_fallback(struct conns *conns)
{
	struct cot_sched_fallback f;
	uint64_t now_ns = cot_now_ns();
	json_t *o;

	cot_sched_fallback(cot_host_sched(conns->basis->host), &f);
	if (f.fault == COT_FAULT_NONE)
		return json_null();
	o = json_object();
	put(o, "fault", json_string(cot_fault_name(f.fault)));
	put(o, "reason", json_string(cot_news_fault(f.fault)));
	put_number(o, "id", f.entity);
	put(o, "seconds", json_real(seconds_since(f.since_ns)));
	put(o, "retry_seconds", json_real(f.retry_ns > now_ns ? ms(f.retry_ns - now_ns) / 1e3 : 0));
	return o;
}

json_t *cot_show_daemon(struct conns *conns)
{
	struct cot_sched *s = cot_host_sched(conns->basis->host);
	json_t *o = json_object();
	const char *reason;

	put_number(o, "pid", (uint64_t)getpid());
	put_number(o, "protocol", COT_PROTO_VERSION);
	put(o, "policy", json_string(cot_sched_policy(s)->ops->name));
	put(o, "policy_wanted", json_string(cot_sched_wanted_policy(s)->name));
	put(o, "policy_chosen", json_string(conns->basis->config.policy->name));
	reason = cot_choose_reason(conns->basis);
	put(o, "policy_reason", reason ? json_string(reason) : json_null());
	put(o, "policy_fault", show_fallback(conns));
	put(o, "runtime_directory", json_string(conns->basis->runtime));
	put(o, "socket", json_string(conns->basis->socket_path));
	put(o, "seconds", json_real(seconds_since(conns->basis->start_ns)));
	put_number(o, "started", (uint64_t)conns->basis->started_s);
	return o;
}

static json_t *show_gpus(const struct conns *conns)
{
	const struct cot_gpus *gpus = &conns->basis->gpus;
	json_t *list = json_array(), *o;
	unsigned i;

	for (i = 0; i < gpus->n; i++) {
		const struct cot_gpu_info *gpu = &gpus->gpu[i];

		o = json_object();
		put_number(o, "index", i);
		put(o, "model", gpu->model[0] ? json_string(gpu->model) : json_null());
		put(o, "uuid", gpu->uuid[0] ? json_string(gpu->uuid) : json_null());
		put(o, "energy", cot_show_gpu_energy(conns, i));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *show_ps(struct conns *conns, const char *schema)
{
	json_t *o = json_object(), *tenants = json_array(), *pools = json_array();
	const struct tenant *t;
	const struct pool *p;

	put(o, "schema", json_string(schema));
	put(o, "daemon", cot_show_daemon(conns));
	put(o, "gpus", show_gpus(conns));
	for_each_pool (p, conns->roster)
		json_array_append_new(pools, cot_show_pool(conns, p));
	for_each_tenant (t, conns->roster)
		json_array_append_new(tenants, cot_show_tenant(conns, t));
	put(o, "pools", pools);
	put(o, "tenants", tenants);
	return o;
}

static json_t *show_stats(struct conns *conns, const char *schema)
{
	json_t *memory = cot_show_memory(); /* before this answer takes some */
	json_t *o = show_ps(conns, schema);
	const struct conn *c;
	unsigned n = 0;

	for_each_conn (c, conns)
		n++;
	put(o, "core", cot_show_core(conns));
	put_number(o, "connections", n);
	put_number(o, "refused", conns->n_refused);
	put_number(o, "bad_packets", conns->n_bad_packets);
	put(o, "memory", memory);
	put(o, "timers", cot_show_timers(&conns->basis->loop.lateness));
	put(o, "gangs", cot_show_gangs_energy(conns));
	put(o, "energy_reason", cot_show_energy_why(conns));
	put(o, "users", cot_show_users(&conns->basis->account));
	return o;
}

static json_t *show_doctor(struct conns *conns)
{
	char program[COT_PATH_TEXT_MAX] = "";
	json_t *o = show_stats(conns, "cotenant.daemon/1"), *gpus = json_array();
	unsigned i;

	(void)cot_paths_program(conns->basis->config.mps_program, program);
	for (i = 0; i < conns->basis->gpus.n && conns->basis->gpus.found; i++) {
		json_t *gpu = json_object();

		put_number(gpu, "index", i);
		put(gpu, "uuid", json_string(conns->basis->gpus.gpu[i].uuid));
		put(gpu, "model", json_string(conns->basis->gpus.gpu[i].model));
		json_array_append_new(gpus, gpu);
	}
	put(o, "gpus", gpus);
	put(o, "library", json_string(conns->basis->library));
	put(o, "mps_program", json_string(program));
	put(o, "mps_wanted", json_boolean(conns->basis->config.use_mps));
	put(o, "mps_failed", json_boolean(conns->roster->mps_failed));
	put(o, "configuration", json_string(conns->basis->config_path));
	return o;
}

char *cot_show_dump(json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));

	json_decref(o);
	if (text && cot_json_whole())
		return text;
	free(text);
	return NULL;
}

/* As text for Prometheus. */
static char *show_metrics(struct conns *conns)
{
	json_t *o = show_stats(conns, "cotenant.stats/1");
	char *text = cot_expose(o);

	json_decref(o);
	if (text && cot_json_whole())
		return text;
	free(text);
	return NULL;
}

char *cot_show_answer(struct conns *conns, unsigned what)
{
	json_t *o;

	(void)cot_json_whole();
	switch (what) {
	case COT_QUERY_PS:
		o = show_ps(conns, "cotenant.ps/1");
		break;
	case COT_QUERY_STATS:
		o = show_stats(conns, "cotenant.stats/1");
		break;
	case COT_QUERY_DOCTOR:
		o = show_doctor(conns);
		break;
	case COT_QUERY_METRICS:
		return show_metrics(conns);
	default:
		return NULL;
	}
	return cot_show_dump(o);
}
