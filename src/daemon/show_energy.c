/* What GPUs and programs have taken, for `cotenant stats`. */
#include <jansson.h>
#include <string.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/energy.h"
#include "daemon/roster.h"
#include "daemon/show_inside.h"

#define MJ_PER_J 1e3
#define MW_PER_W 1e3

static const struct energy *energy_of(const struct conns *conns)
{
	return &conns->roster->energy;
}

json_t *cot_show_gpu_energy(const struct conns *conns, unsigned gpu)
{
	const struct cot_energy_gpu *g = &energy_of(conns)->gpu[gpu];
	double seconds = (double)(g->last_ns - g->begin_ns) / (double)COT_NS_PER_S;
	double joules = (double)(g->last_mj - g->begin_mj) / MJ_PER_J;
	json_t *o;

	if (!g->known)
		return json_null();
	o = json_object();
	put(o, "joules", json_real(joules));
	put(o, "nobody_joules", json_real(g->nobody_j));
	put(o, "seconds", json_real(seconds));
	put(o, "mean_w", seconds > 0 ? json_real(joules / seconds) : json_null());
	put(o, "power_w", json_real(g->power_mw / MW_PER_W));
	return o;
}

void cot_show_energy(struct conns *conns, json_t *tenant, const struct tenant *t)
{
	const struct cot_tenant *known =
		cot_sched_tenant(cot_host_sched(conns->basis->host), t->id);
	const struct cot_energy_share *share = &t->energy;
	bool any = false;
	unsigned gpu;
	json_t *o;

	for (gpu = 0; gpu < COT_GPUS_MAX; gpu++)
		any |= (t->gpu_mask >> gpu & 1) && energy_of(conns)->gpu[gpu].known;
	if (!any) {
		put(tenant, "energy", json_null());
		return;
	}
	o = json_object();
	put(o, "joules", json_real(share->joules));
	put(o, "seconds", json_real(share->ran_s));
	put(o, "mean_w", share->ran_s > 0 ? json_real(share->joules / share->ran_s) : json_null());
	/* Of the whole GPU with it alone: what is known from profiling it. */
	put(o, "predicted_alone_w",
	    known && known->cost.power_w ? json_integer(known->cost.power_w) : json_null());
	put(o, "gang", share->gang ? json_integer((json_int_t)share->gang) : json_null());
	put(tenant, "energy", o);
}

/* Whether a program is in it now. */
static bool is_there(const struct energy *e, unsigned entry)
{
	const struct tenant *t;

	for_each_tenant (t, e->roster)
		if (t->energy.gang && t->energy.in == entry)
			return true;
	return false;
}

json_t *cot_show_gangs_energy(const struct conns *conns)
{
	const struct energy *e = energy_of(conns);
	json_t *list = json_array(), *o;
	unsigned i;

	for (i = 0; i < COT_ENERGY_GANGS_MAX; i++) {
		const struct cot_energy_gang *g = &e->gangs[i];

		if (!g->n || !(g->joules > 0))
			continue;
		o = json_object();
		put(o, "programs", json_string(g->names));
		put(o, "n_programs", json_integer(g->n));
		put(o, "gpu", json_integer(g->gpu));
		put(o, "there", json_boolean(is_there(e, i)));
		put(o, "joules", json_real(g->joules));
		put(o, "seconds", json_real(g->seconds));
		put(o, "mean_w", g->seconds > 0 ? json_real(g->joules / g->seconds) : json_null());
		put(o, "predicted_w", g->predicted_w ? json_integer(g->predicted_w) : json_null());
		(void)json_array_append_new(list, o);
	}
	return list;
}

json_t *cot_show_energy_why(const struct conns *conns)
{
	const struct energy *e = energy_of(conns);

	return e->why_not[0] ? json_string(e->why_not) : json_null();
}
