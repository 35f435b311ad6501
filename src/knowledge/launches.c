#include "knowledge/launches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Kernels of the same name in two inputs are one whose times differ by no more, in 1/1000. */
#define SAME_PERMILLE 100u

/* ---- how long kernels take ---- */

static int compare(const void *a, const void *b)
{
	const struct cot_known_launch *x = a, *y = b;

	if (x->kernel != y->kernel)
		return x->kernel < y->kernel ? -1 : 1;
	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* The medians of one quota's launches, in a table of n_quotas for each kernel. */
static int take_medians(const struct cot_known_launches *l, uint32_t x, uint32_t n_quotas,
			uint64_t *medians)
{
	struct cot_known_launch *sorted;
	uint32_t n = l->n[x], first, end;

	if (!n)
		return -ENODATA;
	sorted = malloc(n * sizeof(*sorted));
	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, l->at[x], n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (first = 0; first < n; first = end) {
		end = first + 1;
		while (end < n && sorted[end].kernel == sorted[first].kernel)
			end++;
		medians[(size_t)sorted[first].kernel * n_quotas + x] =
			sorted[first + (end - first - 1) / 2].ns;
	}
	free(sorted);
	return 0;
}

/* free() them; 0 where a kernel was not timed. */
static int make_medians(const struct cot_known_launches *l, uint32_t n_quotas, uint64_t **ret)
{
	uint32_t x;
	int rc = 0;

	*ret = calloc((size_t)l->n_kernels * n_quotas + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (x = 0; x < n_quotas && !rc; x++)
		rc = take_medians(l, x, n_quotas, *ret);
	if (rc) {
		free(*ret);
		*ret = NULL;
	}
	return rc;
}

int cot_knowledge_take_longest(struct cot_knowledge *k, const struct cot_known_launches *l)
{
	uint64_t *medians, ns;
	uint32_t i, x;
	int rc = make_medians(l, k->n_quotas, &medians);

	if (rc)
		return rc;
	memset(k->kernel_ns, 0, sizeof(k->kernel_ns));
	for (i = 0; i < l->n_kernels; i++)
		for (x = 0; x < k->n_quotas; x++) {
			ns = medians[(size_t)i * k->n_quotas + x];
			if (ns > k->kernel_ns[x])
				k->kernel_ns[x] = ns;
		}
	free(medians);
	return 0;
}

/* ---- what a request runs ---- */

/* Launches from `first` on, `n` of them. */
struct request {
	const struct cot_known_launch *first;
	uint32_t n;
};

static bool is_same(const struct request *a, const struct request *b)
{
	uint32_t i;

	if (a->n != b->n)
		return false;
	for (i = 0; i < a->n; i++)
		if (a->first[i].kernel != b->first[i].kernel)
			return false;
	return true;
}

/* The requests of which all launches are there: before and behind them, too. How many. */
static uint32_t list_requests(const struct cot_known_launch *at, uint32_t n,
			      struct request *requests)
{
	const struct cot_known_launch *first = NULL;
	uint32_t i, n_requests = 0;

	for (i = 0; i < n; i++) {
		if (at[i].gap)
			first = NULL;
		if (!at[i].first)
			continue;
		if (first)
			requests[n_requests++] =
				(struct request){first, (uint32_t)(&at[i] - first)};
		first = &at[i];
	}
	return n_requests;
}

/* The one that most others equal, if at least half of all do. */
static bool choose(const struct request *requests, uint32_t n, struct request *ret)
{
	uint32_t i, j, same, most = 1;

	for (i = 0; i < n && 2 * most < n + 1; i++) {
		same = 1;
		for (j = i + 1; j < n; j++)
			same += is_same(&requests[i], &requests[j]);
		if (same > most) {
			most = same;
			*ret = requests[i];
		}
	}
	return most > 1 && 2 * most >= n;
}

static int find_request(const struct cot_known_launches *l, uint32_t x, struct request *ret)
{
	struct request *requests = malloc((l->n[x] + 1) * sizeof(*requests));
	bool found;

	if (!requests)
		return -ENOMEM;
	found = choose(requests, list_requests(l->at[x], l->n[x], requests), ret);
	free(requests);
	return found ? 0 : -ENODATA;
}

/* ---- the kernels of all inputs ---- */

static bool is_near(uint64_t a, uint64_t b)
{
	uint64_t less = a < b ? a : b, more = a < b ? b : a;

	return more - less <= less / 1000 * SAME_PERMILLE + less % 1000 * SAME_PERMILLE / 1000;
}

static bool is_known_as(const struct cot_known_kernel *kernel, const char *name,
			const uint64_t *time_ns, uint32_t n)
{
	uint32_t x;

	if (strcmp(kernel->name, name) != 0)
		return false;
	for (x = 0; x < n; x++)
		if (!is_near(kernel->rates.time_ns[x], time_ns[x]))
			return false;
	return true;
}

/* Its number in the file; k->n_kernels: it is a new one. */
static uint32_t find_kernel(const struct cot_knowledge *k, const char *name,
			    const uint64_t *time_ns)
{
	uint32_t i = 0;

	while (i < k->n_kernels && !is_known_as(k->kernels[i], name, time_ns, k->n_quotas))
		i++;
	return i;
}

/* The numbers in the file of a run's kernels. */
struct numbers {
	uint16_t of[COT_KNOWN_KERNELS_MAX];
	bool has[COT_KNOWN_KERNELS_MAX];
};

static int number(struct cot_knowledge *k, const struct cot_known_launches *l,
		  const uint64_t *medians, uint32_t kernel, struct numbers *numbers)
{
	const uint64_t *time_ns = medians + (size_t)kernel * k->n_quotas;
	struct cot_known_kernel *new;
	uint32_t at;
	int rc;

	if (numbers->has[kernel])
		return 0;
	at = find_kernel(k, l->names[kernel], time_ns);
	if (at == k->n_kernels) {
		rc = cot_knowledge_add_kernel(k, l->names[kernel], &new);
		if (rc)
			return rc;
		memcpy(new->rates.time_ns, time_ns, k->n_quotas * sizeof(*time_ns));
	}
	numbers->of[kernel] = (uint16_t)at;
	numbers->has[kernel] = true;
	return 0;
}

static bool all_are_timed(const struct request *r, const uint64_t *medians, uint32_t n_quotas)
{
	uint32_t i, x;

	for (i = 0; i < r->n; i++)
		for (x = 0; x < n_quotas; x++)
			if (!medians[(size_t)r->first[i].kernel * n_quotas + x])
				return false;
	return true;
}

static int set_tasks(struct cot_knowledge *k, struct cot_known_input *in,
		     const struct cot_known_launches *l, const struct request *r,
		     const uint64_t *medians)
{
	uint32_t n_before = k->n_kernels, i;
	uint16_t *tasks = malloc(r->n * sizeof(*tasks));
	struct numbers *numbers = calloc(1, sizeof(*numbers));
	int rc = tasks && numbers ? 0 : -ENOMEM;

	for (i = 0; i < r->n && !rc; i++) {
		rc = number(k, l, medians, r->first[i].kernel, numbers);
		tasks[i] = numbers->of[r->first[i].kernel];
	}
	rc = rc ? rc : cot_knowledge_set_tasks(k, in, tasks, r->n);
	if (rc)
		k->n_kernels = n_before;
	else
		in->n_launches = r->n;
	free(numbers);
	free(tasks);
	return rc;
}

int cot_knowledge_take_tasks(struct cot_knowledge *k, struct cot_known_input *in,
			     const struct cot_known_launches *l)
{
	uint64_t *medians = NULL;
	struct request r;
	int rc;

	if (l->n_kernels > COT_KNOWN_KERNELS_MAX)
		return -ENOSPC;
	rc = make_medians(l, k->n_quotas, &medians);
	rc = rc ? rc : find_request(l, k->n_quotas - 1, &r);
	if (!rc && !all_are_timed(&r, medians, k->n_quotas))
		rc = -ENODATA;
	rc = rc ? rc : set_tasks(k, in, l, &r, medians);
	free(medians);
	return rc;
}
