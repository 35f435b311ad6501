#include <stdlib.h>
#include <string.h>

#include "record/record.h"

/* Windows with fewer requests say little of the median. */
#define BEST_REQUESTS_MIN 5u

struct many {
	double ms;
	uint64_t n;
};

static int by_time(const void *a, const void *b)
{
	double x = ((const struct many *)a)->ms, y = ((const struct many *)b)->ms;

	return (x > y) - (x < y);
}

/* How many of n requests are not above the percentile, by nearest rank. */
static uint64_t rank(uint64_t n, unsigned percent)
{
	return (n / 100) * percent + ((n % 100) * percent + 99) / 100;
}

/* Of each window so many requests are known not to be above each percentile: they count as long as
 * that, and those above the last as that one. */
static size_t spread(const struct cot_record_times *t, struct many *ret)
{
	uint64_t n50 = rank(t->n, 50), n95 = rank(t->n, 95);

	ret[0] = (struct many){t->p50_ms, n50};
	ret[1] = (struct many){t->p95_ms, n95 - n50};
	ret[2] = (struct many){t->p99_ms, t->n - n95};
	return 3;
}

static double nearest(const struct many *m, size_t n, uint64_t wanted)
{
	uint64_t seen = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		seen += m[i].n;
		if (seen >= wanted)
			return m[i].ms;
	}
	return n ? m[n - 1].ms : 0;
}

/* Windows of a second that lie behind one another. Room for all points. */
struct windows {
	struct many *m;
	size_t n;
	uint64_t n_requests;
	double free_ms;
};

static void add_window(struct windows *w, const struct cot_record_point *p, unsigned figure)
{
	const struct cot_record_times *t = &p->times[COT_RECORD_1S][figure];

	if (!w->m || !t->n || p->at_ms < w->free_ms)
		return;
	w->n += spread(t, w->m + w->n);
	w->n_requests += t->n;
	w->free_ms = p->at_ms + 950;
}

/* All of them together; releases them. */
static void put_together(struct windows *w, struct cot_record_times *ret)
{
	uint64_t n = w->n_requests;

	memset(ret, 0, sizeof(*ret));
	if (w->n) {
		qsort(w->m, w->n, sizeof(*w->m), by_time);
		ret->n = n;
		ret->p50_ms = nearest(w->m, w->n, rank(n, 50));
		ret->p95_ms = nearest(w->m, w->n, rank(n, 95));
		ret->p99_ms = nearest(w->m, w->n, rank(n, 99));
	}
	free(w->m);
}

static struct windows no_windows(const struct cot_record *r)
{
	return (struct windows){
		.m = malloc(3 * sizeof(struct many) * (r->n_points ? r->n_points : 1))};
}

static void sum_figure(const struct cot_record *r, uint32_t program, unsigned figure,
		       struct cot_record_times *ret)
{
	struct windows w = no_windows(r);
	uint32_t i;

	for (i = 0; i < r->n_points; i++)
		if (r->points[i].program == program)
			add_window(&w, &r->points[i], figure);
	put_together(&w, ret);
}

static void most(double rate, double *most_rate)
{
	if (rate > *most_rate)
		*most_rate = rate;
}

static uint32_t gpus_of(const struct cot_record *r, const struct cot_record_point *p)
{
	uint32_t gpus = r->programs[p->program].gpus;

	return gpus ? gpus : UINT32_MAX;
}

static bool shares_gpu(const struct cot_record *r, uint32_t i, uint32_t k)
{
	return gpus_of(r, &r->points[i]) & gpus_of(r, &r->points[k]);
}

/* Whether no other program was on its GPUs in this sample. Those of one sample stand together. */
static bool is_alone(const struct cot_record *r, uint32_t i)
{
	uint32_t sample = r->points[i].sample, k;

	for (k = i; k && r->points[k - 1].sample == sample; k--)
		if (shares_gpu(r, i, k - 1))
			return false;
	for (k = i + 1; k < r->n_points && r->points[k].sample == sample; k++)
		if (shares_gpu(r, i, k))
			return false;
	return true;
}

static void look(const struct cot_record_point *p, bool alone, struct windows *w,
		 struct cot_record_total *t)
{
	const struct cot_record_times *s = &p->times[COT_RECORD_1S][COT_RECORD_SERVICE];

	if (s->n >= BEST_REQUESTS_MIN && s->p50_ms > 0 &&
	    (!t->service_best.n || s->p50_ms < t->service_best.p50_ms))
		t->service_best = *s;
	if (s->n >= BEST_REQUESTS_MIN && alone)
		add_window(w, p, COT_RECORD_SERVICE);
	most(p->launches_per_s, &t->launches_best_per_s);
	if (alone)
		most(p->launches_per_s, &t->launches_alone_per_s);
}

/* A window looks back 1.1 s at most: the program must have been alone for so long. */
static void look_at_all(const struct cot_record *r, uint32_t program, struct cot_record_total *t)
{
	struct windows w = no_windows(r);
	double alone_ms = -1;
	uint32_t i;

	for (i = 0; i < r->n_points; i++) {
		const struct cot_record_point *p = &r->points[i];

		if (p->program != program)
			continue;
		if (!is_alone(r, i))
			alone_ms = -1;
		else if (alone_ms < 0)
			alone_ms = p->at_ms;
		look(p, alone_ms >= 0 && p->at_ms - alone_ms >= 1100, &w, t);
	}
	put_together(&w, &t->service_alone);
}

void cot_record_sum_up(const struct cot_record *r, uint32_t program, struct cot_record_total *ret)
{
	const struct cot_record_point *first = NULL, *last = NULL, *p;
	double launches = 0;
	uint64_t before;
	uint32_t i, n_launches = 0;
	unsigned f;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; i < r->n_points; i++) {
		p = &r->points[i];
		if (p->program != program)
			continue;
		first = first ? first : p;
		last = p;
		launches += p->launches_per_s;
		n_launches += p->launches_per_s > 0;
	}
	if (!first)
		return;
	look_at_all(r, program, ret);
	ret->from_ms = first->at_ms;
	ret->to_ms = last->at_ms;
	/* Of one that began later all requests were in the recording. */
	before = first->sample ? 0 : first->requests;
	ret->requests = last->requests >= before ? last->requests - before : 0;
	ret->missed = last->missed >= first->missed ? last->missed - first->missed : 0;
	if (ret->to_ms > ret->from_ms)
		ret->per_s = last->requests >= first->requests
				     ? (double)(last->requests - first->requests) * 1e3 /
					       (ret->to_ms - ret->from_ms)
				     : 0;
	ret->launches_per_s = n_launches ? launches / n_launches : 0;
	ret->exact =
		ret->requests && last->times[COT_RECORD_60S][COT_RECORD_SERVICE].n == ret->requests;
	for (f = 0; f < COT_RECORD_N_FIGURES; f++) {
		if (ret->exact)
			ret->times[f] = last->times[COT_RECORD_60S][f];
		else
			sum_figure(r, program, f, &ret->times[f]);
	}
}
