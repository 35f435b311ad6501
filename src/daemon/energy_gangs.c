/* What gangs have taken: a gang is its programs, as long as they are in it together. */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "daemon/energy.h"
#include "daemon/measure.h"
#include "daemon/roster.h"

static unsigned gpu_of(const struct tenant *t)
{
	return t->gpu_mask ? (unsigned)__builtin_ctzll(t->gpu_mask) : 0;
}

static uint32_t said(const struct tenant *t, const char *name, enum cot_fact_unit unit)
{
	uint64_t value;

	return cot_measure_said(t, name, unit, &value) ? (uint32_t)value : 0;
}

/* The gang that `of` is in, as an entry; of the same programs it is the same one. */
static struct cot_energy_gang gang_of(const struct energy *e, const struct tenant *of)
{
	struct cot_energy_gang gang = {.gpu = gpu_of(of)};
	const struct tenant *t;
	size_t at = 0;
	int n;

	for_each_tenant (t, e->roster) {
		if (t->energy.gang != of->energy.gang || gpu_of(t) != gang.gpu)
			continue;
		gang.n++;
		gang.members += cot_mix64(t->id);
		n = snprintf(gang.names + at, sizeof(gang.names) - at, "%s%s", at ? "+" : "",
			     t->name);
		at += (size_t)n < sizeof(gang.names) - at ? (size_t)n : sizeof(gang.names) - at - 1;
	}
	return gang;
}

/* An entry of the gang; else a new one, in place of the gang that was seen longest ago. */
static unsigned entry_of(struct energy *e, const struct cot_energy_gang *gang)
{
	unsigned i, oldest = 0;

	for (i = 0; i < COT_ENERGY_GANGS_MAX; i++) {
		const struct cot_energy_gang *g = &e->gangs[i];

		if (g->n == gang->n && g->members == gang->members && g->gpu == gang->gpu)
			return i;
		if (g->seen_ns < e->gangs[oldest].seen_ns)
			oldest = i;
	}
	e->gangs[oldest] = *gang;
	return oldest;
}

/* Its programs run at the same time but for moments: the longest time is the gang's. */
static void count_time(struct cot_energy_gang *g, double look_s, uint64_t now_ns)
{
	if (g->seen_ns != now_ns)
		g->look_s = 0;
	g->seen_ns = now_ns;
	if (look_s <= g->look_s)
		return;
	g->seconds += look_s - g->look_s;
	g->look_s = look_s;
}

void cot_energy_gangs_look(struct energy *e, uint64_t now_ns)
{
	struct cot_energy_gang gang, *g;
	struct tenant *t;

	for_each_tenant (t, e->roster)
		t->energy.gang = said(t, "gang", COT_FACT_COUNT);
	for_each_tenant (t, e->roster) {
		t->energy.in = COT_ENERGY_GANGS_MAX;
		if (!t->energy.gang)
			continue;
		gang = gang_of(e, t);
		t->energy.in = entry_of(e, &gang);
		g = &e->gangs[t->energy.in];
		g->predicted_w = said(t, "predicted power", COT_FACT_W);
		count_time(g, t->energy.look_s, now_ns);
	}
}

void cot_energy_gangs_take(struct energy *e, const struct tenant *t, double joules)
{
	if (t->energy.gang && t->energy.in < COT_ENERGY_GANGS_MAX)
		e->gangs[t->energy.in].joules += joules;
}
