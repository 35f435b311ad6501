/* Plans and predictions from measurements. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "knowledge/inside.h"
#include "model/quota.h"

struct cot_known_samples *cot_known_samples_create(const struct cot_knowledge *k)
{
	struct cot_known_samples *s = malloc(sizeof(*s));
	uint32_t i, x, n = 0;

	if (!s)
		return NULL;
	for (i = 0; i < k->n_inputs; i++)
		for (x = 0; x < k->n_quotas; x++, n++) {
			s->features[(size_t)n * COT_KNOWN_N_FEATURES] = (double)k->inputs[i]->size;
			s->features[(size_t)n * COT_KNOWN_N_FEATURES + 1] = k->sms[x];
			s->time_ns[n] = (double)k->inputs[i]->time_ns[x];
			s->input[n] = i;
		}
	s->all = (struct cot_samples){n, COT_KNOWN_N_FEATURES, s->features, s->time_ns};
	return s;
}

static uint64_t *new_row(struct cot_knowledge *k, uint32_t n)
{
	return cot_arena_alloc_array(k->arena, (size_t)n * k->n_quotas, sizeof(uint64_t));
}

/* p99 is what targets are about; and more SMs never take longer. */
static void finish_query(const struct cot_knowledge *k, uint64_t *query_ns)
{
	uint32_t x;

	for (x = 0; x < k->n_quotas; x++)
		query_ns[x] = (uint64_t)((cot_u128)query_ns[x] * k->spread_milli / 1000);
	cot_quota_repair(query_ns, k->n_quotas);
}

/* As the query in the mean, unless that is not known. */
static int set_equal_bytes(struct cot_knowledge *k, struct cot_known_input *in, uint32_t n)
{
	uint64_t *bytes;
	uint32_t i, x;

	in->plan.task_bytes_per_s = NULL;
	for (x = 0; x < k->n_quotas; x++)
		if (!in->bytes_per_s[x])
			return 0;
	bytes = new_row(k, n);
	if (!bytes)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		memcpy(&bytes[(size_t)i * k->n_quotas], in->bytes_per_s,
		       k->n_quotas * sizeof(*bytes));
	in->plan.task_bytes_per_s = bytes;
	return 0;
}

static uint64_t kernels_ns(const struct cot_knowledge *k, const struct cot_known_input *in,
			   uint32_t quota)
{
	uint64_t sum_ns = 0;
	uint32_t i;

	for (i = 0; i < in->n_tasks; i++)
		sum_ns += k->kernels[in->tasks[i]]->rates.time_ns[quota];
	return sum_ns;
}

/*
 * What a query takes beside its kernels is the host's time: that does not hang on SMs, but is
 * another one each time that a program is looked at, so the mean counts.
 */
static void even_host(const struct cot_knowledge *k, struct cot_known_input *in)
{
	uint64_t host_ns = 0;
	uint32_t x;

	memcpy(in->even_ns, in->time_ns, sizeof(in->even_ns));
	for (x = 0; x < k->n_quotas; x++) {
		if (!in->n_tasks || in->time_ns[x] < kernels_ns(k, in, x))
			return;
		host_ns += (in->time_ns[x] - kernels_ns(k, in, x)) / k->n_quotas;
	}
	for (x = 0; x < k->n_quotas; x++)
		in->even_ns[x] = kernels_ns(k, in, x) + host_ns;
}

/* Task i of n, on one quota, so that all of them take as long as the query. What is left beside the
 * kernels the host takes between them, as long before each of them; where kernels run at the same
 * time, or were timed with their launches, each has its share of the query. */
static uint64_t fit(uint64_t task_ns, uint64_t sum_ns, uint64_t query_ns, uint32_t n)
{
	if (sum_ns > query_ns)
		return (uint64_t)((cot_u128)task_ns * query_ns / sum_ns);
	return task_ns + (query_ns - sum_ns) / n;
}

static void fit_tasks(const struct cot_knowledge *k, const struct cot_known_input *in,
		      uint64_t *time)
{
	uint32_t i, x;

	for (x = 0; x < k->n_quotas; x++) {
		uint64_t sum_ns = kernels_ns(k, in, x);

		for (i = 0; i < in->n_tasks; i++)
			time[(size_t)i * k->n_quotas + x] =
				fit(time[(size_t)i * k->n_quotas + x], sum_ns, in->even_ns[x],
				    in->n_tasks);
	}
	for (i = 0; i < in->n_tasks; i++)
		cot_quota_repair(&time[(size_t)i * k->n_quotas], k->n_quotas);
}

/* The kernels of a query, one after the other. */
static int set_tasks(struct cot_knowledge *k, struct cot_known_input *in)
{
	uint64_t *time = new_row(k, in->n_tasks), *bytes = new_row(k, in->n_tasks);
	uint32_t i, x;
	bool known = true;

	if (!time || !bytes)
		return -ENOMEM;
	for (i = 0; i < in->n_tasks; i++) {
		const struct cot_known_rates *r = &k->kernels[in->tasks[i]]->rates;

		for (x = 0; x < k->n_quotas; x++) {
			time[(size_t)i * k->n_quotas + x] = r->time_ns[x];
			bytes[(size_t)i * k->n_quotas + x] = r->bytes_per_s[x];
			known = known && r->bytes_per_s[x];
		}
	}
	fit_tasks(k, in, time);
	in->plan.n_tasks = in->n_tasks;
	in->plan.task_ns = time;
	in->plan.task_bytes_per_s = bytes;
	return known ? 0 : set_equal_bytes(k, in, in->n_tasks);
}

/* Where only the number of launches is known, all take equally long, and move as much. */
static int set_equal_tasks(struct cot_knowledge *k, struct cot_known_input *in)
{
	uint32_t n = in->n_launches ? in->n_launches : 1, i, x;
	uint64_t *time;

	if (n > COT_KNOWN_ALL_TASKS - k->n_all_tasks)
		n = 1;
	k->n_all_tasks += n;
	time = new_row(k, n);
	if (!time)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		for (x = 0; x < k->n_quotas; x++)
			time[(size_t)i * k->n_quotas + x] = in->time_ns[x] / n;
	for (i = 0; i < n; i++)
		cot_quota_repair(&time[(size_t)i * k->n_quotas], k->n_quotas);
	in->plan.n_tasks = n;
	in->plan.task_ns = time;
	return set_equal_bytes(k, in, n);
}

static int make_plan(struct cot_knowledge *k, struct cot_known_input *in)
{
	uint64_t *query = new_row(k, 1);

	if (!query)
		return -ENOMEM;
	even_host(k, in);
	memcpy(query, in->even_ns, k->n_quotas * sizeof(*query));
	finish_query(k, query);
	in->plan = (struct cot_plan){.n_quotas = k->n_quotas, .sms = k->sms, .query_ns = query};
	return in->n_tasks ? set_tasks(k, in) : set_equal_tasks(k, in);
}

/* The tree divides sizes in the middle between two inputs: it says the same for all sizes that are
 * nearest to one. */
static int ask_tree(struct cot_knowledge *k, struct cot_known_input *in,
		    const struct cot_tree_node *nodes)
{
	uint64_t *query = new_row(k, 1);
	uint32_t x;

	if (!query)
		return -ENOMEM;
	for (x = 0; x < k->n_quotas; x++)
		query[x] =
			(uint64_t)cot_tree_predict(nodes, (double[]){(double)in->size, k->sms[x]});
	finish_query(k, query);
	in->near = in->plan;
	in->near.query_ns = query;
	return 0;
}

static int ask_trees(struct cot_knowledge *k)
{
	struct cot_known_samples *s = cot_known_samples_create(k);
	uint32_t i, x;
	int rc = 0;

	if (!s)
		return -ENOMEM;
	for (i = 0; i < k->n_inputs; i++)
		for (x = 0; x < k->n_quotas; x++)
			s->time_ns[(size_t)i * k->n_quotas + x] = (double)k->inputs[i]->even_ns[x];
	(void)cot_tree_grow(&s->all, NULL, s->rows, s->nodes);
	for (i = 0; i < k->n_inputs && !rc; i++)
		rc = ask_tree(k, k->inputs[i], s->nodes);
	free(s);
	return rc;
}

static void predict(struct cot_knowledge *k)
{
	const struct cot_plan *largest = k->n_inputs ? &k->inputs[k->n_inputs - 1]->plan : NULL;
	uint64_t time_ns[COT_KNOWN_QUOTAS_MAX];
	uint32_t x;

	memcpy(time_ns, largest ? largest->query_ns : k->repeats.time_ns,
	       k->n_quotas * sizeof(*time_ns));
	cot_quota_repair(time_ns, k->n_quotas);
	for (x = 0; x < k->n_quotas; x++)
		k->predictions[x] = (struct cot_prediction){
			.sms = k->sms[x],
			.duration_ns = time_ns[x],
			.bytes_per_s = k->repeats.bytes_per_s[x],
			.ipc_milli = k->repeats.ipc_milli[x],
			.kernel_ns = k->kernel_ns[x],
		};
}

int cot_knowledge_complete(struct cot_knowledge *k)
{
	uint32_t i;
	int rc = 0;

	for (i = 0; i < k->n_inputs && !rc; i++)
		rc = make_plan(k, k->inputs[i]);
	if (!rc && k->n_inputs >= COT_KNOWN_TREE_INPUTS)
		rc = ask_trees(k);
	if (!rc)
		predict(k);
	return rc;
}

/* The first input that is not smaller; n_inputs if there is none. Where nothing is said of sizes,
 * the only input stands for all. */
static uint32_t find(const struct cot_knowledge *k, uint64_t size)
{
	uint32_t first = 0, end = k->n_inputs, middle;

	if (end == 1 && !k->inputs[0]->size)
		return 0;
	while (first < end) {
		middle = first + (end - first) / 2;
		if (k->inputs[middle]->size < size)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

const struct cot_plan *cot_knowledge_plan(const struct cot_knowledge *k, uint64_t size)
{
	uint32_t i = find(k, size);
	const struct cot_known_input *in = i < k->n_inputs ? k->inputs[i] : NULL;

	if (!in || (!size && in->size))
		return NULL;
	if (in->size == size || !i || k->n_inputs < COT_KNOWN_TREE_INPUTS)
		return &in->plan;
	if (size - k->inputs[i - 1]->size <= in->size - size)
		in = k->inputs[i - 1];
	return &in->near;
}

uint64_t cot_knowledge_out_ns(const struct cot_knowledge *k, uint64_t size)
{
	uint32_t i = find(k, size);

	return i < k->n_inputs ? k->inputs[i]->out_ns : 0;
}

static uint32_t need_of(const struct cot_knowledge *k, const uint64_t *time_ns, uint32_t permille)
{
	uint64_t budget_ns = time_ns[k->n_quotas - 1] * (1000 + permille) / 1000;

	return k->sms[cot_quota_just_enough(time_ns, k->n_quotas, budget_ns)];
}

uint32_t cot_knowledge_need(const struct cot_knowledge *k, const char *kernel, size_t name_max,
			    uint32_t permille)
{
	uint32_t i, need = 0, most = 0;

	for (i = 0; i < k->n_kernels; i++) {
		if (strncmp(k->kernels[i]->name, kernel, name_max) != 0)
			continue;
		need = need_of(k, k->kernels[i]->rates.time_ns, permille);
		most = need > most ? need : most;
	}
	return most;
}
