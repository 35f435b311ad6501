/* A program's part of a GPU, for `cotenant ps`, `stats` and `doctor`. */

#include <jansson.h>
#include <string.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/effect.h"
#include "daemon/host_part.h"
#include "daemon/host_query.h"
#include "daemon/show.h"
#include "daemon/show_inside.h"
#include "daemon/tenant.h"

struct counts {
	uint64_t n_changes, n_followed, n_stayed;
	json_t *reasons; /* why launches stayed, and how many */
	uint64_t n_paced, n_pace_waits, pace_wait_ns, n_pace_failed;
	uint64_t n_held, held_ns, n_lapsed, n_copies, copies_ns;
	uint64_t n_cpu, cpu_ns, n_cpu_not;
	uint64_t n_merged, n_merges, n_unmerged;
	uint64_t n_templates_found, n_templates_made, n_templates_ignored, n_templates_not_kept;
	uint64_t n_attached; /* processes that are now */
};

/* A shim may send any number; their sum may wrap, but is one of JSON's. */
static void add_reason(json_t *to, const struct cot_work_reason *r)
{
	uint64_t n = (uint64_t)json_integer_value(json_object_get(to, r->name));

	n = (n + r->n_kernels) & INT64_MAX;
	(void)json_object_set_new(to, r->name, json_integer((json_int_t)n));
}

static void add_reasons(json_t *to, const struct cot_msg_part_counts *m)
{
	uint32_t i;

	for (i = 0; i < m->n_reasons; i++)
		add_reason(to, &m->reasons[i]);
}

static void add_pace(struct counts *c, const struct cot_msg_pace_counts *m)
{
	c->n_paced += m->n_paced;
	c->n_pace_waits += m->n_waits;
	c->pace_wait_ns += m->wait_ns;
	c->n_pace_failed += m->n_failed;
	c->n_held += m->n_held;
	c->held_ns += m->held_ns;
	c->n_copies += m->n_copies;
	c->copies_ns += m->copies_ns;
	c->n_lapsed += m->n_lapsed;
	c->n_cpu += m->n_cpu;
	c->cpu_ns += m->cpu_ns;
	c->n_cpu_not += m->n_cpu_not;
	c->n_merged += m->n_merged;
	c->n_merges += m->n_merges;
	c->n_unmerged += m->n_unmerged;
	c->n_templates_found += m->n_templates_found;
	c->n_templates_made += m->n_templates_made;
	c->n_templates_ignored += m->n_templates_ignored;
	c->n_templates_not_kept += m->n_templates_not_kept;
	c->n_attached += m->n_attached;
}

static struct counts count(const struct conns *conns, const struct tenant *t)
{
	struct counts c = {.n_changes = t->n_part_changes,
			   .n_followed = t->n_followed,
			   .n_stayed = t->n_stayed,
			   .reasons = json_object(),
			   .n_paced = t->n_paced,
			   .n_pace_waits = t->n_pace_waits,
			   .pace_wait_ns = t->pace_wait_ns,
			   .n_pace_failed = t->n_pace_failed,
			   .n_held = t->n_held,
			   .held_ns = t->held_ns,
			   .n_copies = t->n_copies,
			   .copies_ns = t->copies_ns,
			   .n_lapsed = t->n_lapsed,
			   .n_cpu = t->n_cpu,
			   .cpu_ns = t->cpu_ns,
			   .n_cpu_not = t->n_cpu_not,
			   .n_merged = t->n_merged,
			   .n_merges = t->n_merges,
			   .n_unmerged = t->n_unmerged,
			   .n_templates_found = t->n_templates_found,
			   .n_templates_made = t->n_templates_made,
			   .n_templates_ignored = t->n_templates_ignored,
			   .n_templates_not_kept = t->n_templates_not_kept};
	const struct conn *conn;

	for_each_conn (conn, conns) {
		const struct cot_msg_part_counts *m = conn->part_counts;

		if (conn->tenant != t)
			continue;
		add_pace(&c, &conn->pace_counts);
		if (!m)
			continue;
		c.n_changes += m->n_changes;
		c.n_followed += m->n_followed;
		c.n_stayed += m->n_stayed;
		add_reasons(c.reasons, m);
	}
	return c;
}

static uint64_t workers(const struct conns *conns, const struct tenant *t)
{
	uint64_t n = t->n_launched_workers;
	const struct conn *c;

	for_each_conn (c, conns)
		if (c->tenant == t && c->counts)
			n += c->counts->n_launched_workers;
	return n;
}

/* All that it has launched. Null: no shim of it has counted anything. */
static json_t *launches(const struct counts *c, uint64_t n_workers)
{
	double covered = (double)n_workers + (double)c->n_followed;
	double all = covered + (double)c->n_stayed;
	json_t *o;

	if (all <= 0 && !c->n_cpu)
		return json_null();
	o = json_object();
	put_number(o, "workers", n_workers);
	put_number(o, "on_part", c->n_followed);
	put_number(o, "elsewhere", c->n_stayed);
	put(o, "coverage", all > 0 ? json_real(covered / all) : json_null());
	put_number(o, "on_cpu", c->n_cpu);
	put(o, "on_cpu_ms", json_real((double)c->cpu_ns / 1e6));
	put_number(o, "not_on_cpu", c->n_cpu_not);
	put(o, "reasons", json_deep_copy(c->reasons));
	return o;
}

/* Why launches that might have been merged were not, as far as its shims are there. */
static json_t *merge_reasons(const struct conns *conns, const struct tenant *t)
{
	json_t *o = json_object();
	const struct conn *c;
	uint32_t i;

	for_each_conn (c, conns) {
		const struct cot_msg_work_counts *m = c->tenant == t ? c->counts : NULL;

		for (i = 0; m && i < m->n_reasons; i++)
			if (!strncmp(m->reasons[i].name, "merge-", 6) ||
			    !strncmp(m->reasons[i].name, "launch-", 7))
				add_reason(o, &m->reasons[i]);
	}
	return o;
}

/* Where the modules came from: the store that survives the process. */
static json_t *templates(const struct counts *c)
{
	json_t *o = json_object();

	put_number(o, "found", c->n_templates_found & INT64_MAX);
	put_number(o, "made", c->n_templates_made & INT64_MAX);
	put_number(o, "ignored", c->n_templates_ignored & INT64_MAX);
	put_number(o, "not_kept", c->n_templates_not_kept & INT64_MAX);
	return o;
}

/* Null: it does not merge launches. */
static json_t *merging(const struct conns *conns, const struct tenant *t, const struct counts *c)
{
	json_t *o;

	if (!c->n_merges && !c->n_unmerged && !c->n_templates_found && !c->n_templates_made &&
	    !c->n_attached)
		return json_null();
	o = json_object();
	put_number(o, "launches", c->n_merged & INT64_MAX);
	put_number(o, "into", c->n_merges & INT64_MAX);
	put_number(o, "not", c->n_unmerged & INT64_MAX);
	put_number(o, "attached", c->n_attached & INT64_MAX);
	put(o, "why_not", merge_reasons(conns, t));
	put(o, "templates", templates(c));
	return o;
}

static json_t *part(const struct cot_tenant *is, const struct cot_host_part_stats *stats,
		    const struct counts *c)
{
	double all = (double)c->n_followed + (double)c->n_stayed;
	json_t *o;

	if (!is || !stats->n_shims)
		return json_null();
	o = json_object();
	put(o, "can_be_placed", json_boolean(is->part_sms != 0));
	put_number(o, "first", is->part.first);
	put_number(o, "sms", is->part.n ? is->part.n : is->part_sms);
	put_number(o, "gpu_sms", is->part_sms);
	put_number(o, "unit", is->part_unit);
	put_number(o, "units", is->part_units);
	put_number(o, "changes", c->n_changes);
	put_number(o, "launches_followed", c->n_followed);
	put_number(o, "launches_stayed", c->n_stayed);
	put(o, "coverage", all > 0 ? json_real((double)c->n_followed / all) : json_null());
	put(o, "stayed", json_deep_copy(c->reasons));
	put_number(o, "pace_us", is->part.pace_us);
	put_number(o, "launches_paced", c->n_paced);
	put_number(o, "pace_waits", c->n_pace_waits);
	put(o, "pace_wait_ms", json_real((double)c->pace_wait_ns / 1e6));
	put_number(o, "pace_failed", c->n_pace_failed);
	put(o, "held", json_boolean(is->part.hold));
	put(o, "to_cpu", json_boolean(is->part.cpu));
	put_number(o, "launches_held", c->n_held);
	put(o, "held_ms", json_real((double)c->held_ns / 1e6));
	put_number(o, "copies_held", c->n_copies);
	put(o, "copies_held_ms", json_real((double)c->copies_ns / 1e6));
	put_number(o, "holds_lapsed", c->n_lapsed);
	put_number(o, "placed", stats->n_placed);
	put_number(o, "place_failed", stats->n_failed);
	put(o, "place_last_us", json_real((double)stats->last_ns / 1e3));
	put(o, "place_max_us", json_real((double)stats->max_ns / 1e3));
	return o;
}

/* Null: none was ever told. */
static json_t *queries(const struct conns *conns, const struct tenant *t)
{
	const struct cot_queries *q = &t->queries;
	json_t *o;

	if (!q->n_begun && !q->n_left_out)
		return json_null();
	o = json_object();
	put_number(o, "now", cot_host_query_count(conns->basis->host, t->id));
	put_number(o, "count", q->n_ended);
	put_number(o, "planned", q->n_planned);
	put_number(o, "left_out", q->n_left_out);
	put_number(o, "launches", q->n_tasks & INT64_MAX);
	put_number(o, "last_size", q->last_size & INT64_MAX);
	put_number(o, "last_launches", q->last_tasks);
	put(o, "last_ms", json_real((double)q->last_ns / 1e6));
	return o;
}

void cot_show_part(struct conns *conns, json_t *tenant, const struct tenant *t)
{
	const struct cot_tenant *is = cot_sched_tenant(cot_host_sched(conns->basis->host), t->id);
	struct counts c = count(conns, t);
	struct cot_host_part_stats stats;
	struct cot_part_effect e;
	char text[256];

	cot_host_part_stats(conns->basis->host, t->id, &stats);
	e = (struct cot_part_effect){
		.asked = t->sms != 0,
		.lasts = cot_now_ns() - t->since_ns >= COT_EFFECT_LASTS_NS,
		.parts = t->parts,
		.shim = stats.n_shims != 0,
		.status = stats.status,
		.place_status = stats.last_status,
		.n_followed = c.n_followed,
		.n_stayed = t->quota || t->reserve ? 0 : c.n_stayed, /* shares_effect has it */
		.stays = main_reason(c.reasons),
		.pace_failed = is && is->part.pace_us && c.n_pace_failed,
	};
	put(tenant, "launches", launches(&c, workers(conns, t)));
	put(tenant, "merging", merging(conns, t, &c));
	put(tenant, "part", part(is, &stats, &c));
	put(tenant, "queries", queries(conns, t));
	put(tenant, "part_effect",
	    cot_part_effect_say(&e, text, sizeof(text)) ? json_string(text) : json_null());
	json_decref(c.reasons);
}
