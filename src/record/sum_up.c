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

/* Windows of a second that lie behind one another. */
static void put_together(const struct cot_record *r, uint32_t program, unsigned figure,
			 struct cot_record_times *ret)
{
	struct many *m = malloc(3 * sizeof(*m) * (r->n_points ? r->n_points : 1));
	double free_ms = 0;
	size_t n = 0;
	uint32_t i;

	memset(ret, 0, sizeof(*ret));
	for (i = 0; m && i < r->n_points; i++) {
		const struct cot_record_point *p = &r->points[i];
		const struct cot_record_times *t = &p->times[COT_RECORD_1S][figure];

		if (p->program != program || !t->n || p->at_ms < free_ms)
			continue;
		n += spread(t, m + n);
		ret->n += t->n;
		free_ms = p->at_ms + 950;
	}
	if (n) {
		qsort(m, n, sizeof(*m), by_time);
		ret->p50_ms = nearest(m, n, rank(ret->n, 50));
		ret->p95_ms = nearest(m, n, rank(ret->n, 95));
		ret->p99_ms = nearest(m, n, rank(ret->n, 99));
	}
	free(m);
}

static void best(double ms, double *least_ms)
{
	if (ms > 0 && (*least_ms <= 0 || ms < *least_ms))
		*least_ms = ms;
}

static void most(double rate, double *most_rate)
{
	if (rate > *most_rate)
		*most_rate = rate;
}

/* Whether no other program was in this sample. Those of one sample stand together. */
static bool is_alone(const struct cot_record *r, uint32_t i)
{
	uint32_t sample = r->points[i].sample;

	return (!i || r->points[i - 1].sample != sample) &&
	       (i + 1 >= r->n_points || r->points[i + 1].sample != sample);
}

static void look(const struct cot_record *r, uint32_t i, bool alone, struct cot_record_total *t)
{
	const struct cot_record_point *p = &r->points[i];
	const struct cot_record_times *s = &p->times[COT_RECORD_1S][COT_RECORD_SERVICE];

	if (s->n >= BEST_REQUESTS_MIN) {
		best(s->p50_ms, &t->service_best_ms);
		if (alone)
			best(s->p50_ms, &t->service_alone_ms);
	}
	most(p->launches_per_s, &t->launches_best_per_s);
	if (alone)
		most(p->launches_per_s, &t->launches_alone_per_s);
}

void cot_record_sum_up(const struct cot_record *r, uint32_t program, struct cot_record_total *ret)
{
	const struct cot_record_point *first = NULL, *last = NULL, *p;
	double launches = 0, alone_ms = -1;
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
		/* A window looks back 1.1 s at most: it must have been alone for so long. */
		if (!is_alone(r, i))
			alone_ms = -1;
		else if (alone_ms < 0)
			alone_ms = p->at_ms;
		look(r, i, alone_ms >= 0 && p->at_ms - alone_ms >= 1100, ret);
		launches += p->launches_per_s;
		n_launches += p->launches_per_s > 0;
	}
	if (!first)
		return;
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
			put_together(r, program, f, &ret->times[f]);
	}
}
