/* The mixes that were measured, each in the ways that we play, with what its programs do alone. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "study/live/live.h"

static const char why_unknown[] = "a program that is not known here";
static const char why_host[] =
	"how long the kernels of a program take whose CPU is slower was not saved";
static const char why_training[] = "how a training goes on parts alone was not measured";
static const char why_alone[] = "a program was not measured alone";

/* ---- what programs do alone ---- */

static const char *base_of(const struct cot_live_program *p)
{
	return p->base ? p->base : p->name;
}

static bool has_base(const char *program, const char *base)
{
	const struct cot_live_program *p = cot_live_program_find(program);

	return p && !strcmp(base_of(p), base);
}

/* How much longer a request takes in a pool while the batch programs are paused, by all who were
 * measured so. */
static double pool_factor(const struct cot_live *l, const char *base)
{
	double factors[64], alone;
	uint32_t n = 0, i;

	for (i = 0; i < l->n_rows && n < 64; i++) {
		const struct cot_live_row *r = &l->rows[i];

		if (strcmp(r->window, "latency-only") != 0 || !has_base(r->program, base))
			continue;
		alone = cot_live_alone(l, r->run, r->group, r->program, COT_LIVE_P50);
		if (alone > 0.0 && r->p50_us > 0.0)
			factors[n++] = r->p50_us / alone;
	}
	return n ? cot_live_middle(factors, n) : 1.0;
}

/* On ever more SMs, without the host's part. */
static void find_waves(const struct cot_live *l, const char *base, double host_us,
		       struct cot_waves *ret)
{
	struct cot_waves_sample samples[COT_WAVES_MAX];
	struct cot_live_match m = {COT_LIVE_ANY_RUN, "sizes", NULL, NULL, NULL};
	char window[COT_LIVE_TEXT_MAX];
	uint32_t sms, n = 0, i;

	*ret = (struct cot_waves){.n = 0};
	for (i = 0; i < l->n_rows && !m.program; i++)
		if (!strcmp(l->rows[i].group, "sizes") && has_base(l->rows[i].program, base))
			m.program = l->rows[i].program;
	m.window = window;
	for (sms = 4; m.program && sms <= 256 && n < COT_WAVES_MAX; sms += 4) {
		double us;

		(void)snprintf(window, sizeof(window), "size:%u", sms);
		us = cot_live_median(l, &m, COT_LIVE_P50) - host_us;
		if (us > 0.0)
			samples[n++] = (struct cot_waves_sample){sms, us};
	}
	if (n)
		cot_waves_fit(samples, n, ret);
}

static const char *program_in(const struct cot_live *l, const struct cot_live_case *c,
			      const char *app)
{
	uint32_t i;

	for (i = 0; i < l->n_rows; i++) {
		const struct cot_live_row *r = &l->rows[i];

		if (r->run == c->run && !strcmp(r->group, c->group) &&
		    !strcmp(r->window, c->way->window) && !strcmp(r->app, app))
			return r->program;
	}
	return NULL;
}

/* A latency program by itself under the policy `parts`, if it was measured so: where it is the only
 * one, its window without batch programs. */
static void find_alone_on_parts(const struct cot_live *l, const struct cot_live_case *c,
				struct cot_live_app *a)
{
	const struct cot_live_match m = {c->run, c->group, "parts-latency-only", "L1", NULL};
	double p50_us = cot_live_median(l, &m, COT_LIVE_P50);

	if (program_in(l, c, "L2") || !(p50_us > 0.0))
		return;
	a->alone_us = p50_us;
	a->alone_p99_us = cot_live_median(l, &m, COT_LIVE_P99);
}

static bool find_alone(const struct cot_live *l, const struct cot_live_case *c,
		       const struct cot_live_gpu *g, struct cot_live_app *a)
{
	const char *name = a->program->name;
	bool parts = c->way->policy == COT_LIVE_PARTS;
	double rate;

	if (!a->latency) {
		rate = cot_live_alone(l, c->run, c->group, name, COT_LIVE_RATE);
		a->alone_us = rate > 0.0 ? 1e6 / rate : 0.0;
		return a->alone_us > 0.0;
	}
	a->alone_us = cot_live_alone(l, c->run, c->group, name, COT_LIVE_P50);
	a->alone_p99_us = cot_live_alone(l, c->run, c->group, name, COT_LIVE_P99);
	a->pool_factor = 1.0;
	if (c->way->policy == COT_LIVE_POOLS)
		a->pool_factor = pool_factor(l, base_of(a->program));
	if (parts)
		find_alone_on_parts(l, c, a);
	if (!parts || a->program->shape != COT_LIVE_NETWORK)
		return a->alone_us > g->host_us;
	find_waves(l, base_of(a->program), g->host_us, &a->waves);
	return a->alone_us > 0.0 && a->waves.n;
}

/* ---- one case ---- */

static void measure(const struct cot_live *l, const struct cot_live_case *c, const char *app,
		    struct cot_live_app *a)
{
	const struct cot_live_match m = {c->run, c->group, c->way->window, app, NULL};

	a->measured.p50_us = cot_live_median(l, &m, COT_LIVE_P50);
	a->measured.p99_us = cot_live_median(l, &m, COT_LIVE_P99);
	if (!a->latency)
		a->measured.part = cot_live_median(l, &m, COT_LIVE_RATE) * a->alone_us / 1e6;
}

static const char *why_not(const struct cot_live_case *c, const struct cot_live_app *a)
{
	if (a->program->shape == COT_LIVE_HOST)
		return why_host;
	return a->program->shape == COT_LIVE_TRAINING && c->way->policy == COT_LIVE_PARTS
		       ? why_training
		       : NULL;
}

/* False: there is none of that name. */
static bool add_app(const struct cot_live *l, const struct cot_live_gpu *g, struct cot_live_case *c,
		    const char *app)
{
	const char *name = program_in(l, c, app);
	struct cot_live_app a = {.latency = *app == 'L'};

	if (!name || c->n_apps == COT_LIVE_APPS_MAX)
		return false;
	a.program = cot_live_program_find(name);
	if (!a.program) {
		c->why = why_unknown;
		return true;
	}
	if (!c->why)
		c->why = why_not(c, &a);
	if (!find_alone(l, c, g, &a) && !c->why)
		c->why = why_alone;
	measure(l, c, app, &a);
	c->apps[c->n_apps++] = a;
	return true;
}

static void fill(const struct cot_live *l, const struct cot_live_gpu *g, struct cot_live_case *c)
{
	static const char classes[] = "LB";
	char app[COT_LIVE_TEXT_MAX];
	const char *cls;
	uint32_t i;

	for (cls = classes; *cls; cls++)
		for (i = 1; i <= COT_LIVE_APPS_MAX; i++) {
			(void)snprintf(app, sizeof(app), "%c%u", *cls, i);
			if (!add_app(l, g, c, app))
				break;
		}
}

/* ---- all ---- */

/* The last run that measured the mix so; false: none did. */
static bool last_run(const struct cot_live *l, const char *group, const char *window,
		     uint32_t *ret_run)
{
	bool any = false;
	uint32_t i;

	for (i = 0; i < l->n_rows; i++) {
		const struct cot_live_row *r = &l->rows[i];

		if (strcmp(r->group, group) != 0 || strcmp(r->window, window) != 0)
			continue;
		*ret_run = r->run;
		any = true;
	}
	return any;
}

/* The mixes whose figures the GPU is known from, and those of one program, are no cases. */
static bool is_mix(const char *group)
{
	static const char *const others[] = {"parts",	   "parts-gemm", "pair",
					     "pair-first", "slices",	 "blocks",
					     "context",	   "sizes",	 "cold"};
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strcmp(others[i], group))
			return false;
	return true;
}

static int add_cases(const struct cot_live *l, const char *group, struct cot_live_check *c,
		     struct cot_error *err)
{
	uint32_t way;

	for (way = 0; way < cot_live_n_ways; way++) {
		struct cot_live_case *to = &c->cases[c->n_cases];
		uint32_t run;

		if (!last_run(l, group, cot_live_ways[way].window, &run))
			continue;
		if (c->n_cases == COT_LIVE_CASES_MAX)
			return cot_error_set(err, -EINVAL,
					     "too many mixes and ways; expected at most 256");
		*to = (struct cot_live_case){
			.run = run, .group = group, .way = &cot_live_ways[way]};
		fill(l, &c->gpu, to);
		if (to->n_apps || to->why) /* its programs are called L1, L2 ..., B1 ... */
			c->n_cases++;
	}
	return 0;
}

int cot_live_find(const struct cot_live *l, const char *name, struct cot_live_check *ret,
		  struct cot_error *err)
{
	uint32_t i, j;
	int rc;

	ret->file = l;
	ret->n_cases = 0;
	rc = cot_live_gpu_find(l, name, &ret->gpu, err);
	for (i = 0; !rc && i < l->n_rows; i++) {
		if (i && !strcmp(l->rows[i - 1].group, l->rows[i].group))
			continue;
		for (j = 0; j < ret->n_cases; j++)
			if (!strcmp(ret->cases[j].group, l->rows[i].group))
				break;
		if (j == ret->n_cases && is_mix(l->rows[i].group))
			rc = add_cases(l, l->rows[i].group, ret, err);
	}
	return rc;
}

double cot_live_sum(const struct cot_live_case *c, bool predicted)
{
	double sum = 0.0;
	uint32_t i;

	for (i = 0; i < c->n_apps; i++)
		sum += predicted ? c->apps[i].predicted.part : c->apps[i].measured.part;
	return sum;
}
