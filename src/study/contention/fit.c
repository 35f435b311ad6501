/*
 * The parameters of the contention model from measurements of kernels that ran alone, and what the
 * model says of mixes.
 *
 * Of a kernel are known: its instructions, how many of them go to memory, the bytes they move, and
 * how many a warp has under way. What is not known follows from its rate on the fewest SMs, where
 * memory has room for all: with few warps, how long a warp takes for the rest (cpi); with many,
 * what the units that it needs can do (ipc_max), be it those for double precision or the way that
 * writes take. On all SMs some kernels get less of the memory than plain reads do: writes cost more
 * than their bytes, and so do sectors of which a part is used. Then each byte counts as more.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/contention/check.h"

#define STEPS	  60  /* halvings */
#define CPI_MAX	  1e6 /* cycles */
#define MLP_MAX	  1e3
#define COST_MAX  32.0
#define NEAR	  2e-3 /* what needs no parameter */
#define LOAD_MAX  0.999
#define FULL	  0.99 /* of the issue slots */
#define MANY	  32u  /* warps: half of what an SM holds */
#define GRID	  200  /* steps of the search for the bandwidth */
#define GRID_SPAN 0.2  /* how far above what was measured */

static const struct cot_contention_kernel *kernel_of(const struct cot_check *c, uint32_t subject)
{
	return &c->file->kernels[c->subjects[subject].kernel];
}

/* To or from all levels of memory, per instruction. */
static double inst_bytes(const struct cot_contention_kernel *k)
{
	return (k->read_bytes + k->written_bytes) / k->insts;
}

/* ---- prediction ---- */

/* What the model says of a mix, in place of point->predicted. */
static void predict(const struct cot_check *c, struct cot_check_point *point)
{
	struct cot_fluid_lane lanes[COT_CONTENTION_PARTS_MAX];
	struct cot_fluid_group groups[COT_CONTENTION_PARTS_MAX];
	struct cot_fluid f = {
		.issue_width = c->gpu.issue_width,
		.sm_bytes_per_cycle = c->gpu.sm_bytes,
		.dram_bytes_per_cycle = c->gpu.dram_gbps * 1e3 / point->mhz,
		.queueing = c->gpu.queueing,
		.load_max = c->gpu.load_max,
		.groups = groups,
		.n_groups = point->shared ? 1 : point->n,
	};
	double all = 0.0;
	uint32_t i;

	for (i = 0; i < point->n; i++) {
		const struct cot_check_subject *s = &c->subjects[point->subject[i]];

		lanes[i] = (struct cot_fluid_lane){
			.work = &s->work, .warps = s->warps, .stall = 1.0, .penalty = 1.0};
		groups[i] = (struct cot_fluid_group){point->sms[i], 1, &lanes[i]};
	}
	if (point->shared)
		groups[0].n_lanes = point->n;
	cot_fluid_solve(&f);
	for (i = 0; i < point->n; i++) {
		point->predicted[i] = lanes[i].rate * point->sms[i];
		all += lanes[i].rate;
	}
	point->slots_full = point->shared && all > FULL * c->gpu.issue_width;
}

/* Predicted over measured, of a point with one part. */
static double ratio(const struct cot_check *c, const struct cot_check_point *point)
{
	struct cot_check_point p = *point;

	predict(c, &p);
	return p.predicted[0] / p.measured[0];
}

/* ---- kernels ---- */

static void begin_work(struct cot_check *c, uint32_t subject)
{
	struct cot_check_subject *s = &c->subjects[subject];
	const struct cot_contention_kernel *k = kernel_of(c, subject);
	double accesses = k->loads + k->stores;

	s->work = (struct cot_kernel_work){
		.insts = 1,
		.warps = s->warps,
		.cpi = 1.0,
		.latency = c->gpu.latency,
		.mlp = k->loads_ahead ? k->loads_ahead : 1.0,
	};
	/* What is in the cache is computation to the model. */
	if (s->memory != COT_CONTENTION_DRAM || !(accesses > 0.0))
		return;
	s->work.mem_fraction = accesses / k->insts;
	s->work.dram_bytes = (k->read_bytes + k->written_bytes) / accesses;
}

/* The value between lo and hi at which the point is predicted as measured; the rate falls with
 * the value if `falls`. */
static void search(struct cot_check *c, const struct cot_check_point *point, double *value,
		   double lo, double hi, bool falls)
{
	uint32_t i;

	for (i = 0; i < STEPS; i++) {
		*value = sqrt(lo * hi);
		if ((ratio(c, point) > 1.0) == falls)
			lo = *value;
		else
			hi = *value;
	}
}

/* The same kernel with the fewest warps says how long one of them takes. */
static double cpi_of_fewest(const struct cot_check *c, uint32_t subject)
{
	const struct cot_check_subject *s = &c->subjects[subject], *other, *fewest = s;
	uint32_t i;

	for (i = 0; i < c->n_subjects; i++) {
		other = &c->subjects[i];
		if (other->fitted && other->kernel == s->kernel && other->memory == s->memory &&
		    other->warps < fewest->warps)
			fewest = other;
	}
	return fewest == s ? 1.0 : fewest->work.cpi;
}

static void fit_work(struct cot_check *c, uint32_t subject)
{
	struct cot_kernel_work *w = &c->subjects[subject].work;
	const struct cot_check_point *least = cot_check_alone(c, subject, 0);
	const struct cot_check_point *most = cot_check_alone(c, subject, UINT32_MAX);
	double r;

	begin_work(c, subject);
	w->cpi = cpi_of_fewest(c, subject);
	r = ratio(c, least);
	if (r > 1.0 + NEAR && w->warps >= MANY)
		w->ipc_max = least->measured[0] / least->sms[0];
	else if (r > 1.0 + NEAR)
		search(c, least, &w->cpi, w->cpi, CPI_MAX, true);
	else if (r < 1.0 - NEAR && w->mem_fraction > 0.0)
		search(c, least, &w->mlp, w->mlp, MLP_MAX, false);
	if (w->mem_fraction > 0.0 && ratio(c, most) > 1.0 + NEAR)
		search(c, most, &w->dram_bytes, w->dram_bytes, COST_MAX * w->dram_bytes, true);
}

/* ---- the GPU ---- */

/* The most that any kernel did. */
static void fit_limits(struct cot_check *c)
{
	uint32_t i, s;
	double bytes;

	for (i = 0; i < c->n_points; i++) {
		const struct cot_check_point *p = &c->points[i];
		double per_sm = p->measured[0] / p->sms[0];

		s = p->subject[0];
		if (p->n != 1 || !p->train)
			continue;
		c->gpu.issue_width = fmax(c->gpu.issue_width, per_sm);
		bytes = inst_bytes(kernel_of(c, s));
		c->gpu.sm_bytes = fmax(c->gpu.sm_bytes, per_sm * bytes);
		if (c->subjects[s].memory == COT_CONTENTION_DRAM)
			c->gpu.dram_gbps =
				fmax(c->gpu.dram_gbps, p->measured[0] * bytes * p->mhz * 1e-3);
	}
}

/* Cycles of an access of a probe. */
static double latency_of(const struct cot_check *c, const struct cot_check_point *p)
{
	const struct cot_contention_kernel *k = kernel_of(c, p->subject[0]);

	return p->sms[0] * (k->insts / k->loads) / p->measured[0];
}

/*
 * How latency rises with load: least squares of latency = unloaded * (1 + g * u / (1 - u)) over the
 * probes' latencies beside others, for one bandwidth. Returns the squared error.
 */
static double fit_queueing(struct cot_check *c, double dram_gbps, double *ret_queueing)
{
	double xx = 0.0, xy = 0.0, yy = 0.0, u, x, y;
	uint32_t i;

	for (i = 0; i < c->n_points; i++) {
		const struct cot_check_point *p = &c->points[i];

		if (p->n != 2 || !p->train)
			continue;
		u = p->measured[1] * inst_bytes(kernel_of(c, p->subject[1])) * p->mhz * 1e-3 /
		    dram_gbps;
		/* A write is more load than its bytes. */
		if (c->subjects[p->subject[1]].memory != COT_CONTENTION_DRAM || u >= LOAD_MAX ||
		    kernel_of(c, p->subject[1])->stores > 0.0)
			continue;
		x = u / (1.0 - u);
		y = latency_of(c, p) / c->gpu.latency - 1.0;
		/* Relative errors, so that the steep end does not decide alone. */
		x /= 1.0 + y;
		y /= 1.0 + y;
		xx += x * x;
		xy += x * y;
		yy += y * y;
	}
	*ret_queueing = xx > 0.0 && xy > 0.0 ? xy / xx : 0.0;
	return yy - *ret_queueing * xy;
}

static int fit_memory(struct cot_check *c, const char *name, struct cot_error *err)
{
	double measured = c->gpu.dram_gbps, dram, error, least = INFINITY, queueing;
	uint32_t i, n = 0;

	for (i = 0; i < c->n_points; i++) {
		const struct cot_check_point *p = &c->points[i];

		if (p->n == 1 && p->train && cot_check_is_probe(c, p->subject[0])) {
			c->gpu.latency = fmax(c->gpu.latency, latency_of(c, p));
			n++;
		}
	}
	if (!n || !(measured > 0.0))
		return cot_error_set(err, -EINVAL,
				     "%s: nothing in it says how long one access to memory takes; "
				     "expected 'chase' alone with one warp, and others that read",
				     name);
	for (i = 1; i <= GRID; i++) {
		dram = measured * (1.0 + GRID_SPAN * i / GRID);
		error = fit_queueing(c, dram, &queueing);
		if (error < least) {
			least = error;
			c->gpu.dram_gbps = dram;
			c->gpu.queueing = queueing;
		}
	}
	c->gpu.load_max = LOAD_MAX;
	return 0;
}

/* Parameters from the points that train. */
static int fit_parameters(struct cot_check *c, const char *name, struct cot_error *err)
{
	uint32_t warps, i;
	int rc;

	fit_limits(c);
	rc = fit_memory(c, name, err);
	for (warps = 1; warps <= COT_CONTENTION_WARPS_MAX && !rc; warps++)
		for (i = 0; i < c->n_subjects; i++)
			if (c->subjects[i].fitted && c->subjects[i].warps == warps)
				fit_work(c, i);
	return rc;
}

/* ---- all of it ---- */

int cot_check_make(const struct cot_contention *file, const char *name, struct cot_check *ret,
		   struct cot_error *err)
{
	uint32_t i, n = 0;
	int rc;

	memset(ret, 0, sizeof(*ret));
	ret->file = file;
	rc = cot_check_find(ret, name, err);
	if (!rc)
		rc = fit_parameters(ret, name, err);
	for (i = 0; i < ret->n_subjects; i++)
		n += ret->subjects[i].fitted;
	if (!rc && !n)
		rc = cot_error_set(err, -EINVAL,
				   "%s: no kernel ran alone on two numbers of SMs; expected some",
				   name);
	for (i = 0; i < ret->n_points && !rc; i++)
		predict(ret, &ret->points[i]);
	return rc;
}

void cot_check_finish(struct cot_check *c)
{
	free(c->points);
	memset(c, 0, sizeof(*c));
}
