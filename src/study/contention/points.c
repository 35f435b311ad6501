/* Subjects and points of a file of measurements, and errors over them. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "study/contention/check.h"

#define REPEATS_MAX 32u
#define WITHIN	    0.1

static uint32_t find_subject(struct cot_check *c, const struct cot_contention_part *part)
{
	const struct cot_contention_kernel *k = &c->file->kernels[part->kernel];
	struct cot_check_subject *s;
	uint32_t i;

	for (i = 0; i < c->n_subjects; i++) {
		s = &c->subjects[i];
		if (s->kernel == part->kernel && s->memory == part->memory &&
		    s->warps == part->warps)
			return i;
	}
	if (i == COT_CHECK_SUBJECTS_MAX)
		return UINT32_MAX;
	s = &c->subjects[c->n_subjects++];
	*s = (struct cot_check_subject){
		.kernel = part->kernel,
		.memory = part->memory,
		.warps = part->warps,
	};
	(void)snprintf(s->name, sizeof(s->name), "%s%s/%u", k->name,
		       part->memory == COT_CONTENTION_L2 ? " in L2" : "", part->warps);
	return i;
}

static bool same_mix(const struct cot_contention_run *a, const struct cot_contention_run *b)
{
	uint32_t i;

	if (a->n != b->n || a->is_power || b->is_power || a->on_rest != b->on_rest ||
	    a->shared != b->shared)
		return false;
	for (i = 0; i < a->n; i++)
		if (a->parts[i].kernel != b->parts[i].kernel ||
		    a->parts[i].memory != b->parts[i].memory ||
		    a->parts[i].warps != b->parts[i].warps || a->parts[i].sms != b->parts[i].sms)
			return false;
	return true;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts them; n > 0. */
static double median(double *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), ascending);
	return 0.5 * (values[(n - 1) / 2] + values[n / 2]);
}

/* Instructions per cycle of a part of a run. */
static double rate_of(const struct cot_check *c, const struct cot_contention_part *part)
{
	return part->mhz > 0 ? part->chunks_per_s * c->file->kernels[part->kernel].insts /
				       (part->mhz * 1e6)
			     : 0;
}

/* The repeats of a mix follow each other in the file, or come again later. */
static void gather(struct cot_check *c, uint32_t first, bool *taken, struct cot_check_point *p)
{
	const struct cot_contention_run *runs = c->file->runs, *run = &runs[first];
	double rates[COT_CONTENTION_PARTS_MAX][REPEATS_MAX], mhz[REPEATS_MAX];
	uint32_t i, j;

	for (i = first; i < c->file->n_runs; i++) {
		if (taken[i] || !same_mix(run, &runs[i]))
			continue;
		taken[i] = true;
		if (p->n_repeats == REPEATS_MAX)
			continue;
		for (j = 0; j < run->n; j++)
			rates[j][p->n_repeats] = rate_of(c, &runs[i].parts[j]);
		/* 0 where a kernel got nothing. */
		mhz[p->n_repeats++] = runs[i].parts[0].mhz > 0 ? runs[i].parts[0].mhz
							       : runs[i].parts[run->n - 1].mhz;
	}
	p->mhz = median(mhz, p->n_repeats);
	for (j = 0; j < run->n; j++) {
		p->measured[j] = median(rates[j], p->n_repeats);
		if (p->measured[j] > 0)
			p->spread = fmax(p->spread, (rates[j][p->n_repeats - 1] - rates[j][0]) /
							    p->measured[j]);
	}
}

static int add_point(struct cot_check *c, uint32_t first, bool *taken, const char *name,
		     struct cot_error *err)
{
	const struct cot_contention_run *run = &c->file->runs[first];
	struct cot_check_point *p = &c->points[c->n_points];
	uint32_t i;

	*p = (struct cot_check_point){.n = run->n, .on_rest = run->on_rest, .shared = run->shared};
	for (i = 0; i < run->n; i++) {
		p->subject[i] = find_subject(c, &run->parts[i]);
		if (p->subject[i] == UINT32_MAX)
			return cot_error_set(err, -EINVAL,
					     "%s:%u: more than %u different kernels and numbers of "
					     "warps; expected fewer",
					     name, run->line, COT_CHECK_SUBJECTS_MAX);
		p->sms[i] = run->parts[i].sms;
	}
	gather(c, first, taken, p);
	c->n_points++;
	return 0;
}

const struct cot_check_point *cot_check_alone(const struct cot_check *c, uint32_t subject,
					      uint32_t sms)
{
	const struct cot_check_point *best = NULL, *p;
	uint32_t i;

	for (i = 0; i < c->n_points; i++) {
		p = &c->points[i];
		if (p->n != 1 || p->on_rest || p->subject[0] != subject)
			continue;
		if (p->sms[0] == sms)
			return p;
		if (sms == 0 && (!best || p->sms[0] < best->sms[0]))
			best = p;
		if (sms == UINT32_MAX && (!best || p->sms[0] > best->sms[0]))
			best = p;
	}
	return best;
}

/* The fewest and the most SMs that a kernel ran on alone are what is trained with, and what one
 * access took beside others. */
static void choose(struct cot_check *c)
{
	struct cot_check_point *p;
	const struct cot_check_point *least, *most;
	uint32_t i;

	for (i = 0; i < c->n_points; i++) {
		p = &c->points[i];
		least = cot_check_alone(c, p->subject[0], 0);
		most = cot_check_alone(c, p->subject[0], UINT32_MAX);
		if (p->n == 1 && !p->on_rest && least != most && (p == least || p == most)) {
			p->train = true;
			c->subjects[p->subject[0]].fitted = true;
		}
		if (p->n == 2 && !p->shared && cot_check_is_probe(c, p->subject[0]))
			p->train = true;
	}
}

bool cot_check_is_probe(const struct cot_check *c, uint32_t subject)
{
	const struct cot_check_subject *s = &c->subjects[subject];
	const struct cot_contention_kernel *k = &c->file->kernels[s->kernel];

	return s->memory == COT_CONTENTION_DRAM && s->warps == 1 && k->loads_ahead == 1;
}

/* The median of all mixes. */
static int find_clock(struct cot_check *c, struct cot_error *err)
{
	double *mhz = calloc(c->n_points + 1, sizeof(*mhz));
	uint32_t i;

	if (!mhz)
		return cot_error_set(err, -ENOMEM, "out of memory");
	for (i = 0; i < c->n_points; i++)
		mhz[i] = c->points[i].mhz;
	if (c->n_points)
		c->gpu.clock_mhz = median(mhz, c->n_points);
	free(mhz);
	return 0;
}

int cot_check_find(struct cot_check *c, const char *name, struct cot_error *err)
{
	bool *taken = calloc(c->file->n_runs + 1, sizeof(*taken));
	uint32_t i;
	int rc = 0;

	c->points = calloc(c->file->n_runs + 1, sizeof(*c->points));
	if (!taken || !c->points)
		rc = cot_error_set(err, -ENOMEM, "out of memory");
	for (i = 0; i < c->file->n_runs && !rc; i++)
		if (!taken[i] && !c->file->runs[i].is_power)
			rc = add_point(c, i, taken, name, err);
	free(taken);
	if (!rc)
		rc = find_clock(c, err);
	if (!rc)
		choose(c);
	return rc;
}

/* ---- errors ---- */

enum cot_check_group cot_check_group_of(const struct cot_check *c,
					const struct cot_check_point *point)
{
	uint32_t i;

	if (point->shared)
		return COT_CHECK_SHARED;
	for (i = 0; i < point->n; i++)
		if (c->subjects[point->subject[i]].memory == COT_CONTENTION_L2)
			return COT_CHECK_CACHE;
	if (point->train)
		return COT_CHECK_TRAINED;
	return point->n > 1 ? COT_CHECK_PAIRS : COT_CHECK_ALONE;
}

double cot_check_error_of(const struct cot_check_point *point, uint32_t part)
{
	return point->predicted[part] / point->measured[part] - 1.0;
}

static bool counts(const struct cot_check *c, const struct cot_check_point *point)
{
	uint32_t i;

	for (i = 0; i < point->n; i++)
		if (!c->subjects[point->subject[i]].fitted)
			return false;
	return true;
}

void cot_check_errors(const struct cot_check *c, enum cot_check_group group,
		      struct cot_check_errors *ret)
{
	const struct cot_check_point *p;
	uint32_t i, j;
	double error;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < c->n_points; i++) {
		p = &c->points[i];
		if (cot_check_group_of(c, p) != group || !counts(c, p))
			continue;
		ret->n_points++;
		for (j = 0; j < p->n; j++) {
			error = fabs(cot_check_error_of(p, j));
			if (!ret->n || error > ret->worst) {
				ret->worst = error;
				ret->worst_point = i;
				ret->worst_part = j;
			}
			ret->mean += error;
			ret->n_within += error <= WITHIN;
			ret->n++;
		}
	}
	if (ret->n)
		ret->mean /= ret->n;
}

/* Of the part, by the rate of its kernel alone; 0: it was not measured, or is not in the model. */
static double part_of_alone(const struct cot_check *c, const struct cot_check_point *point,
			    uint32_t part)
{
	const struct cot_check_subject *s = &c->subjects[point->subject[part]];
	const struct cot_check_point *alone =
		cot_check_alone(c, point->subject[part], point->sms[part]);

	if (!alone || alone->sms[0] != point->sms[part] || !s->fitted ||
	    s->memory == COT_CONTENTION_L2)
		return 0.0;
	return 1.0 / alone->measured[0];
}

static void add_sharing(const struct cot_check *c, const struct cot_check_point *p,
			struct cot_check_sharing *ret)
{
	double parts[COT_CONTENTION_PARTS_MAX], error;
	uint32_t j;

	for (j = 0; j < p->n; j++) {
		parts[j] = part_of_alone(c, p, j);
		if (!(parts[j] > 0.0))
			return;
	}
	ret->n_points++;
	for (j = 0; j < p->n; j++) {
		error = parts[j] * fabs(p->predicted[j] - p->measured[j]);
		ret->measured[j] += parts[j] * p->measured[j];
		ret->predicted[j] += parts[j] * p->predicted[j];
		ret->mean += error;
		ret->n_within += error <= WITHIN;
		ret->n++;
	}
}

static double together_of(const struct cot_check_point *p)
{
	double measured = 0.0, predicted = 0.0;
	uint32_t i;

	for (i = 0; i < p->n; i++) {
		measured += p->measured[i];
		predicted += p->predicted[i];
	}
	return measured / predicted;
}

static enum cot_check_slots slots_of(const struct cot_check *c, const struct cot_check_point *p)
{
	if (!p->slots_full)
		return COT_CHECK_SLOTS_LEFT;
	return c->subjects[p->subject[1]].work.mem_fraction > 0.0 ? COT_CHECK_SLOTS_USED
								  : COT_CHECK_SLOTS_GREEDY;
}

void cot_check_sharing(const struct cot_check *c, enum cot_check_slots slots,
		       struct cot_check_sharing *ret)
{
	uint32_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < c->n_points; i++)
		if (c->points[i].shared && slots_of(c, &c->points[i]) == slots) {
			add_sharing(c, &c->points[i], ret);
			ret->together += together_of(&c->points[i]);
		}
	if (!ret->n)
		return;
	ret->together /= ret->n_points;
	ret->mean /= ret->n;
	for (i = 0; i < COT_CONTENTION_PARTS_MAX; i++) {
		ret->measured[i] /= ret->n_points;
		ret->predicted[i] /= ret->n_points;
	}
}

const char *cot_check_point_name(const struct cot_check *c, const struct cot_check_point *point,
				 char *buf, size_t size)
{
	size_t used = 0;
	uint32_t i;
	int n;

	buf[0] = '\0';
	for (i = 0; i < point->n && used < size; i++) {
		n = snprintf(buf + used, size - used, "%s%s", i ? " + " : "",
			     c->subjects[point->subject[i]].name);
		used += n > 0 ? (size_t)n : 0;
		if (used >= size || (point->shared && i + 1 < point->n))
			continue;
		n = snprintf(buf + used, size - used, " on %u SMs", point->sms[i]);
		used += n > 0 ? (size_t)n : 0;
	}
	return buf;
}
