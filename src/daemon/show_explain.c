/* What the policy does with a program and why, for `cotenant explain`. */
#include <jansson.h>

#include "base/compiler.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/roster.h"
#include "daemon/show.h"
#include "daemon/show_inside.h"
#include "text/json.h"

static const char *const units[] = {
	[COT_FACT_TEXT] = "text",	  [COT_FACT_NS] = "ns",	  [COT_FACT_AT_NS] = "ns ago",
	[COT_FACT_PERMILLE] = "permille", [COT_FACT_SMS] = "sms", [COT_FACT_US] = "us",
	[COT_FACT_COUNT] = "count",	  [COT_FACT_W] = "w",
};

_Static_assert(COT_ARRAY_LEN(units) == COT_N_FACT_UNITS, "all of them");

/* JSON has numbers of 63 bits. */
static json_t *value_of(const struct cot_fact *f, uint64_t now_ns)
{
	uint64_t value = f->value;

	if (f->unit == COT_FACT_TEXT)
		return json_null();
	if (f->unit == COT_FACT_AT_NS)
		value = now_ns > value ? now_ns - value : 0;
	return json_integer((json_int_t)(value & INT64_MAX));
}

static json_t *fact(const struct cot_fact *f, uint64_t now_ns)
{
	json_t *o = json_object();

	put(o, "name", json_string(f->name));
	put(o, "text", f->text ? json_string(f->text) : json_null());
	put(o, "value", value_of(f, now_ns));
	put(o, "unit", json_string(units[f->unit]));
	return o;
}

static json_t *facts_of(struct conns *conns, const struct tenant *t)
{
	struct cot_event ev = {.type = COT_EV_TICK, .now_ns = cot_now_ns()};
	struct cot_host *host = conns->basis->host;
	struct cot_fact facts[COT_FACTS_MAX];
	json_t *list = json_array();
	unsigned i, n;

	(void)cot_host_event(host, &ev);
	n = cot_sched_explain(cot_host_sched(host), t->id, facts);
	for (i = 0; i < n; i++)
		json_array_append_new(list, fact(&facts[i], ev.now_ns));
	return list;
}

char *cot_show_explain(struct conns *conns, const struct tenant *t)
{
	json_t *o = json_object();

	(void)cot_json_whole();
	put(o, "schema", json_string("cotenant.explain/1"));
	put(o, "facts", facts_of(conns, t));
	put(o, "daemon", cot_show_daemon(conns));
	put(o, "summary",
	    json_string(cot_sched_policy(cot_host_sched(conns->basis->host))->ops->summary));
	put(o, "program", cot_show_tenant(conns, t));
	put(o, "pool", t->pool ? cot_show_pool(conns, t->pool) : json_null());
	return cot_show_dump(o);
}
