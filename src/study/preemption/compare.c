/* Printed beside measured, and the paper's claims about order and crossings as checks. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "study/preemption/preemption.h"

/* Shares can be zero; for the fit a share below this counts as this. */
#define SHARE_FLOOR 0.01
/* "The same" for a printed 1.0, and how far a share may be off. */
#define SAME_TOLERANCE	0.02
#define SHARE_TOLERANCE 0.15

static bool is_share(const struct cot_printed_entry *e)
{
	return !strcmp(e->metric, "improved_share") || !strcmp(e->metric, "crossing");
}

static bool agrees(const struct cot_printed_entry *e, double printed, double measured)
{
	if (is_share(e))
		return fabs(printed - measured) <= SHARE_TOLERANCE;
	if (printed == 1.0)
		return fabs(measured - 1.0) <= SAME_TOLERANCE;
	return printed > 1.0 ? measured > 1.0 : measured < 1.0;
}

/* The same under `dss`. */
static double lent(const struct cot_preemption_points *points, const struct cot_printed_entry *e,
		   unsigned nproc)
{
	const struct cot_preemption_point *p;
	char mechanism[2 * COT_PRINTED_WORD_MAX];

	snprintf(mechanism, sizeof(mechanism), COT_LEND "%s", e->mechanism);
	p = cot_preemption_points_find(points, e->figure, mechanism, e->group, nproc);
	return p ? p->value : NAN;
}

static double distance(const struct cot_printed_entry *e, double measured, double printed)
{
	return fabs(log(fmax(measured, is_share(e) ? SHARE_FLOOR : measured) / printed));
}

static void add_pair(struct cot_preemption_comparison *c,
		     const struct cot_preemption_points *points, const struct cot_printed_entry *e,
		     unsigned nproc, double printed)
{
	struct cot_preemption_pair *p = &c->pairs[c->n_pairs++];
	const struct cot_preemption_point *m =
		cot_preemption_points_find(points, e->figure, e->mechanism, e->group, nproc);

	*p = (struct cot_preemption_pair){
		.entry = e, .nproc = nproc, .printed = printed, .lent = lent(points, e, nproc)};
	if (!m)
		return;
	p->has_measured = true;
	p->measured = m->value;
	p->half_width = m->half_width;
	p->of_means = m->of_means;
	p->deviation_pct = 100.0 * (m->value / printed - 1.0);
	p->agrees = agrees(e, printed, m->value);
	c->n_fit++;
	c->fit += distance(e, m->value, printed);
	c->fit_of_means += distance(e, m->of_means > 0.0 ? m->of_means : m->value, printed);
}

static void make_pairs(const struct cot_printed *printed,
		       const struct cot_preemption_points *points,
		       struct cot_preemption_comparison *c)
{
	unsigned i;

	for (i = 0; i < printed->n_entries; i++) {
		const struct cot_printed_entry *e = &printed->entries[i];

		add_pair(c, points, e, e->nproc_lo, e->value_lo);
		if (e->nproc_hi != e->nproc_lo)
			add_pair(c, points, e, e->nproc_hi, e->value_hi);
	}
	if (!c->n_fit)
		return;
	c->fit /= c->n_fit;
	c->fit_of_means /= c->n_fit;
}

/* ---- shapes ---- */

struct shaper {
	struct cot_preemption_comparison *c;
	const struct cot_preemption_points *points;
};

/* A value, or NAN when that size was not run. */
static double value(const struct shaper *s, const char *figure, const char *mechanism,
		    const char *group, unsigned nproc)
{
	const struct cot_preemption_point *p =
		cot_preemption_points_find(s->points, figure, mechanism, group, nproc);

	return p ? p->value : NAN;
}

/* One claim: `n` numbers that must fall strictly (each at least as large as the next when
 * `slack` is 0). NAN anywhere means that the claim cannot be judged. */
static void claim_falls(struct shaper *s, const char *name, unsigned n, const double *x)
{
	struct cot_preemption_shape *shape = &s->c->shapes[s->c->n_shapes++];
	size_t used = 0;
	unsigned i;

	*shape = (struct cot_preemption_shape){.holds = true, .applies = true};
	snprintf(shape->name, sizeof(shape->name), "%s", name);
	for (i = 0; i < n; i++) {
		if (isnan(x[i]))
			shape->applies = false;
		if (i && !(x[i - 1] > x[i]))
			shape->holds = false;
		used += (size_t)snprintf(shape->detail + used, sizeof(shape->detail) - used,
					 "%s%.3g", i ? " > " : "", x[i]);
	}
	if (!shape->holds)
		snprintf(shape->detail + used, sizeof(shape->detail) - used, " fails");
	shape->holds = shape->holds && shape->applies;
}

static void claim_near(struct shaper *s, const char *name, double x, double lo, double hi)
{
	struct cot_preemption_shape *shape = &s->c->shapes[s->c->n_shapes++];

	*shape = (struct cot_preemption_shape){.applies = !isnan(x), .holds = x >= lo && x <= hi};
	snprintf(shape->name, sizeof(shape->name), "%s", name);
	snprintf(shape->detail, sizeof(shape->detail), "%.3g in [%.3g, %.3g]%s", x, lo, hi,
		 shape->holds ? "" : " fails");
}

#define CLAIM(s, name, ...)                                                    \
	claim_falls(s, name, sizeof((double[]){__VA_ARGS__}) / sizeof(double), \
		    (double[]){__VA_ARGS__})

static void shapes_priority(struct shaper *s)
{
	const double one = 1.0;

	CLAIM(s, "Fig 5, 8 processes: switch > drain > NPQ > 1",
	      value(s, "5", "switch", "average", 8), value(s, "5", "drain", "average", 8),
	      value(s, "5", "npq", "average", 8), one);
	CLAIM(s, "Fig 5, switch, 8 processes: SHORT > MEDIUM > LONG > 1",
	      value(s, "5", "switch", "SHORT", 8), value(s, "5", "switch", "MEDIUM", 8),
	      value(s, "5", "switch", "LONG", 8), one);
	CLAIM(s, "Fig 5, drain, 8 processes: SHORT > MEDIUM > LONG > 1",
	      value(s, "5", "drain", "SHORT", 8), value(s, "5", "drain", "MEDIUM", 8),
	      value(s, "5", "drain", "LONG", 8), one);
	CLAIM(s, "Fig 5, switch: the gain grows with the number of processes",
	      value(s, "5", "switch", "average", 8), value(s, "5", "switch", "average", 6),
	      value(s, "5", "switch", "average", 4), value(s, "5", "switch", "average", 2));
	CLAIM(s, "Fig 5, drain: the gain grows with the number of processes",
	      value(s, "5", "drain", "average", 8), value(s, "5", "drain", "average", 6),
	      value(s, "5", "drain", "average", 4), value(s, "5", "drain", "average", 2));
	claim_near(s, "Fig 5, 2 processes: NPQ changes nothing", value(s, "5", "npq", "average", 2),
		   1.0 - SAME_TOLERANCE, 1.0 + SAME_TOLERANCE);
	CLAIM(s, "Fig 5, SHORT, 8 processes: switch is at least twice drain",
	      value(s, "5", "switch", "SHORT", 8), 2.0 * value(s, "5", "drain", "SHORT", 8));
	CLAIM(s, "Fig 6a, 8 processes: drain costs more throughput than switch, both > 1",
	      value(s, "6a", "drain", "average", 8), value(s, "6a", "switch", "average", 8), one);
	CLAIM(s, "Fig 6a, drain: the cost grows with the number of processes",
	      value(s, "6a", "drain", "average", 8), value(s, "6a", "drain", "average", 2));
	CLAIM(s, "Fig 6, switch, 8 processes: shared access costs more than exclusive",
	      value(s, "6b", "switch", "average", 8), value(s, "6a", "switch", "average", 8));
	CLAIM(s, "Fig 6, drain, 8 processes: shared access costs more than exclusive",
	      value(s, "6b", "drain", "average", 8), value(s, "6a", "drain", "average", 8));
}

static void shapes_dss(struct shaper *s)
{
	const double one = 1.0;

	CLAIM(s, "Fig 7a, switch, 8 processes: SHORT > MEDIUM > 1 > LONG",
	      value(s, "7a", "switch", "SHORT", 8), value(s, "7a", "switch", "MEDIUM", 8), one,
	      value(s, "7a", "switch", "LONG", 8));
	CLAIM(s, "Fig 7a, drain, 8 processes: SHORT > MEDIUM > 1 > LONG",
	      value(s, "7a", "drain", "SHORT", 8), value(s, "7a", "drain", "MEDIUM", 8), one,
	      value(s, "7a", "drain", "LONG", 8));
	CLAIM(s, "Fig 7a, 8 processes: switch > drain > 1 on average",
	      value(s, "7a", "switch", "average", 8), value(s, "7a", "drain", "average", 8), one);
	CLAIM(s, "Fig 7a, LONG, switch: the loss grows with the number of processes",
	      value(s, "7a", "switch", "LONG", 2), value(s, "7a", "switch", "LONG", 8));
	CLAIM(s, "Fig 7b, 8 processes: switch > drain > 1", value(s, "7b", "switch", "average", 8),
	      value(s, "7b", "drain", "average", 8), one);
	CLAIM(s, "Fig 7b, switch: fairness gains grow with the number of processes",
	      value(s, "7b", "switch", "average", 8), value(s, "7b", "switch", "average", 4),
	      value(s, "7b", "switch", "average", 2));
	CLAIM(s, "Fig 7c, 8 processes: drain loses more throughput than switch, both > 1",
	      value(s, "7c", "drain", "average", 8), value(s, "7c", "switch", "average", 8), one);
	CLAIM(s, "Fig 7c, switch: the loss grows with the number of processes",
	      value(s, "7c", "switch", "average", 8), value(s, "7c", "switch", "average", 2));
	CLAIM(s, "Fig 8: the share of improved workloads rises from 2 to 4 to 8 processes",
	      value(s, "8", "switch", "workloads", 8), value(s, "8", "switch", "workloads", 4),
	      value(s, "8", "switch", "workloads", 2));
	claim_near(s, "Fig 8, 8 processes: switch and drain cross inside the improved workloads",
		   value(s, "8", "switch/drain", "improved", 8), 0.1, 0.9);
}

void cot_preemption_compare(const struct cot_printed *printed,
			    const struct cot_preemption_points *points,
			    struct cot_preemption_comparison *ret)
{
	struct shaper s = {.c = ret, .points = points};

	memset(ret, 0, sizeof(*ret));
	make_pairs(printed, points, ret);
	shapes_priority(&s);
	shapes_dss(&s);
}
