#include "report/parts.h"

#include <stdlib.h>

struct app {
	uint64_t n_changes, since_ps;
	uint32_t begin, end;
	uint64_t sm_ps; /* SMs times picoseconds, until since_ps */
};

struct cot_parts {
	uint64_t end_ps;
	uint32_t n_apps;
	struct app apps[COT_MAX_APPS];
};

struct cot_parts *cot_parts_create(const struct cot_scenario *sc)
{
	struct cot_parts *p = calloc(1, sizeof(*p));
	uint32_t i;

	if (!p)
		return NULL;
	p->n_apps = sc->n_apps;
	for (i = 0; i < sc->n_apps; i++)
		p->apps[i].end = sc->gpu.n_sms;
	return p;
}

void cot_parts_destroy(struct cot_parts *p)
{
	free(p);
}

static void count(struct app *a, uint64_t t_ps)
{
	a->sm_ps += (t_ps - a->since_ps) * (a->end - a->begin);
	a->since_ps = t_ps;
}

static void on_part_changed(void *arg, uint64_t t_ps, uint32_t app, uint32_t begin, uint32_t end)
{
	struct cot_parts *p = arg;
	struct app *a = &p->apps[app];

	count(a, t_ps);
	a->begin = begin;
	a->end = end;
	a->n_changes++;
}

const struct cot_sim_observer cot_parts_observer = {.part_changed = on_part_changed};

void cot_parts_finish(struct cot_parts *p, uint64_t end_ps)
{
	uint32_t i;

	p->end_ps = end_ps;
	for (i = 0; i < p->n_apps; i++)
		count(&p->apps[i], end_ps);
}

bool cot_parts_any(const struct cot_parts *p)
{
	uint32_t i;

	for (i = 0; i < p->n_apps; i++)
		if (p->apps[i].n_changes)
			return true;
	return false;
}

struct cot_parts_app cot_parts_app(const struct cot_parts *p, uint32_t app)
{
	const struct app *a = &p->apps[app];

	return (struct cot_parts_app){
		.n_changes = a->n_changes,
		.begin = a->begin,
		.end = a->end,
		.mean_sms = p->end_ps ? (double)a->sm_ps / (double)p->end_ps : a->end - a->begin,
	};
}
