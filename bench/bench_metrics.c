/*
 * What measuring requests costs: nanoseconds for each request that is added and each window that is
 * read, the median of repeats, on one core.
 *
 *     bench_metrics [REPEATS]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "metrics/requests.h"
#include "report/table.h"

#define REPEATS	    11
#define REPEATS_MAX 101
#define N_ADDS	    1000000u
#define N_READS	    20000u

static struct cot_requests *requests;
static struct cot_rng rng = {1};
static uint64_t now_ns;
static uint64_t sink; /* keeps the compiler from leaving the work out */

/* 20 us to 10 ms, one each 50 us, with their arrivals. */
static void add(void)
{
	uint64_t service_ns = 20000 + cot_rng_below(&rng, 10000000);

	now_ns += 50 * COT_NS_PER_US;
	cot_requests_add(requests, now_ns, service_ns + 5000, service_ns);
}

static void add_service_only(void)
{
	now_ns += 50 * COT_NS_PER_US;
	cot_requests_add(requests, now_ns, COT_NEVER, 20000 + cot_rng_below(&rng, 10000000));
}

static void read_window(void)
{
	struct cot_requests_window w;

	cot_requests_read(requests, now_ns, COT_HORIZON_10S, &w);
	sink += w.response.p99_ns;
}

/* All slots are used, and every one ends. */
static void slot_ends(void)
{
	struct cot_requests_window w;

	now_ns += 6 * COT_NS_PER_S;
	cot_requests_add(requests, now_ns, 500000, 400000);
	while (cot_requests_take(requests, now_ns, &w))
		sink += w.response.p99_ns;
}

static const struct {
	const char *name;
	void (*call)(void);
	unsigned calls;
} points[] = {
	{"add a request, both figures", add, N_ADDS},
	{"add a request, service only", add_service_only, N_ADDS},
	{"read a window, both figures", read_window, N_READS},
	{"a slot of each window ends; take all three", slot_ends, N_READS},
};

static double cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double measure(void (*call)(void), unsigned calls, unsigned repeats)
{
	double samples[REPEATS_MAX], begin;
	unsigned i, j;

	for (i = 0; i < repeats; i++) {
		begin = cpu_ns();
		for (j = 0; j < calls; j++)
			call();
		samples[i] = (cpu_ns() - begin) / calls;
	}
	qsort(samples, repeats, sizeof(*samples), compare);
	return samples[repeats / 2];
}

int main(int argc, char **argv)
{
	static const struct cot_column columns[] = {
		{"metrics", COT_ALIGN_LEFT},
		{"ns", COT_ALIGN_RIGHT},
	};
	unsigned repeats = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : REPEATS, i;
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));

	requests = cot_requests_create();
	if (!t || !requests || !repeats || repeats > REPEATS_MAX)
		return 2;
	for (i = 0; i < COT_ARRAY_LEN(points); i++) {
		cot_table_text(t, points[i].name);
		cot_table_cell(t, "%.0f", measure(points[i].call, points[i].calls, repeats));
	}
	(void)cot_table_print(t, stdout);
	cot_requests_destroy(requests);
	return sink > 0 ? 0 : 1;
}
