/*
 * What cotenant profile knows at its end, as text and as JSON.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/words.h"
#include "cli/profile.h"
#include "cli/show.h"
#include "report/json.h"

#define SEED   1u /* of the samples that predictors are tested with */
#define SCHEMA "cotenant.profile/1"

#define KERNELS_SHOWN 10u

static const char *const predictors[COT_N_PREDICTORS] = {
	[COT_PREDICTOR_TREE] = "tree",
	[COT_PREDICTOR_KNN] = "3 nearest",
	[COT_PREDICTOR_LINEAR] = "linear",
};

/* Inputs with times of their own: a batch program repeats the same. */
static uint32_t n_inputs(const struct cot_knowledge *k)
{
	return k->cls == COT_CLASS_LATENCY ? k->n_inputs : 1;
}

static double time_ms(const struct cot_knowledge *k, uint32_t input, uint32_t x)
{
	const uint64_t *times =
		k->cls == COT_CLASS_LATENCY ? k->inputs[input]->time_ns : k->repeats.time_ns;

	return (double)times[x] / 1e6;
}

/* 0: not known. */
static uint64_t bytes_per_s(const struct cot_knowledge *k, uint32_t input, uint32_t x)
{
	return k->cls == COT_CLASS_LATENCY ? k->inputs[input]->bytes_per_s[x]
					   : k->repeats.bytes_per_s[x];
}

/* 0: any size. */
static uint64_t size_of(const struct cot_knowledge *k, uint32_t input)
{
	return k->cls == COT_CLASS_LATENCY ? k->inputs[input]->size : 0;
}

void cot_profile_print_times(const struct cot_knowledge *k)
{
	const char *heads[] = {"SMS", "INPUT",
			       k->cls == COT_CLASS_LATENCY ? "A REQUEST" : "A KERNEL", "MOVES"};
	struct cot_table *t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	uint32_t i, x;

	for (x = 0; x < k->n_quotas; x++)
		for (i = 0; i < n_inputs(k); i++) {
			cot_table_cell(t, "%u", k->sms[x]);
			if (size_of(k, i))
				cot_table_cell(t, "%llu", (unsigned long long)size_of(k, i));
			else
				cot_table_text(t, "");
			cot_table_cell(t, "%.3f ms", time_ms(k, i, x));
			if (bytes_per_s(k, i, x))
				cot_table_cell(t, "%.1f GB/s", (double)bytes_per_s(k, i, x) / 1e9);
			else
				cot_table_text(t, "");
		}
	cot_table_drop_empty(t);
	cot_show_table(t);
}

/* ---- kernels ---- */

/* A kernel of a request with the largest input. */
struct share {
	const struct cot_known_kernel *kernel;
	uint32_t launches;
	uint64_t total_ns; /* on the largest part */
};

static int compare(const void *a, const void *b)
{
	const struct share *x = a, *y = b;

	return (x->total_ns < y->total_ns) - (x->total_ns > y->total_ns);
}

static uint32_t list_shares(const struct cot_knowledge *k, struct share *shares)
{
	const struct cot_known_input *in = k->inputs[k->n_inputs - 1];
	uint32_t i, n = 0;

	memset(shares, 0, k->n_kernels * sizeof(*shares));
	for (i = 0; i < in->n_tasks; i++)
		shares[in->tasks[i]].launches++;
	for (i = 0; i < k->n_kernels; i++) {
		if (!shares[i].launches)
			continue;
		shares[n].launches = shares[i].launches;
		shares[n].kernel = k->kernels[i];
		shares[n].total_ns =
			shares[n].launches * k->kernels[i]->rates.time_ns[k->n_quotas - 1];
		n++;
	}
	qsort(shares, n, sizeof(*shares), compare);
	return n;
}

static void print_shares(const struct cot_knowledge *k, const struct share *shares, uint32_t n)
{
	char least[32], most[32];
	const char *heads[] = {"KERNEL", "LAUNCHES", least, most};
	struct cot_table *t;
	uint32_t i;

	(void)snprintf(least, sizeof(least), "ON %u SMS", k->sms[0]);
	(void)snprintf(most, sizeof(most), "ON %u SMS", k->sms[k->n_quotas - 1]);
	t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	for (i = 0; i < n && i < KERNELS_SHOWN; i++) {
		const uint64_t *time_ns = shares[i].kernel->rates.time_ns;

		cot_table_cell(t, "%.60s", shares[i].kernel->name);
		cot_table_cell(t, "%u", shares[i].launches);
		cot_table_cell(t, "%.3f ms", (double)time_ns[0] / 1e6);
		cot_table_cell(t, "%.3f ms", (double)time_ns[k->n_quotas - 1] / 1e6);
	}
	(void)putchar('\n');
	cot_show_table(t);
	if (n > KERNELS_SHOWN)
		(void)printf("... and %u more kernels.\n", n - KERNELS_SHOWN);
}

static void print_longest(const struct cot_knowledge *k)
{
	uint32_t last = k->n_quotas - 1;

	if (k->kernel_ns[last])
		(void)printf("\nThe longest kernel takes %.3f ms on %u SMs, %.3f ms on %u.\n",
			     (double)k->kernel_ns[0] / 1e6, k->sms[0],
			     (double)k->kernel_ns[last] / 1e6, k->sms[last]);
}

void cot_profile_print_kernels(const struct cot_knowledge *k)
{
	struct share *shares;
	uint32_t n;

	if (k->cls != COT_CLASS_LATENCY) {
		print_longest(k);
		return;
	}
	shares = calloc(k->n_kernels + 1, sizeof(*shares));
	n = shares ? list_shares(k, shares) : 0;
	if (n)
		print_shares(k, shares, n);
	free(shares);
}

/* ---- errors ---- */

static int judge(const struct cot_knowledge *k, struct cot_knowledge_errors *ret)
{
	return k->n_inputs < 2 || cot_knowledge_judge(k, SEED, ret) ? -EINVAL : 0;
}

int cot_profile_print_errors(const struct cot_knowledge *k)
{
	static const char *const heads[] = {"PREDICTED BY", "MEAN ERROR", "WORST",
					    "OF OTHER INPUTS", "WORST"};
	struct cot_knowledge_errors e;
	struct cot_table *t;
	unsigned i;

	if (judge(k, &e))
		return -EINVAL;
	t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	for (i = 0; i < COT_N_PREDICTORS; i++) {
		cot_table_text(t, predictors[i]);
		cot_table_cell(t, "%.1f %%", 100 * e.random[i].mean);
		cot_table_cell(t, "%.1f %%", 100 * e.random[i].worst);
		cot_table_cell(t, "%.1f %%", 100 * e.by_input[i].mean);
		cot_table_cell(t, "%.1f %%", 100 * e.by_input[i].worst);
	}
	cot_show_table(t);
	return 0;
}

static json_t *times_json(const struct cot_knowledge *k)
{
	json_t *list = json_array(), *o;
	uint32_t i, x;

	for (x = 0; x < k->n_quotas; x++)
		for (i = 0; i < n_inputs(k); i++) {
			o = json_pack("{s:i, s:o}", "sms", (int)k->sms[x], "time_ms",
				      cot_json_number(time_ms(k, i, x)));
			if (bytes_per_s(k, i, x))
				(void)json_object_set_new(
					o, "bytes_per_s",
					json_integer((json_int_t)bytes_per_s(k, i, x)));
			if (size_of(k, i))
				(void)json_object_set_new(o, "input",
							  json_integer((json_int_t)size_of(k, i)));
			(void)json_array_append_new(list, o);
		}
	return list;
}

static json_t *kernel_json(const struct cot_knowledge *k, const struct cot_known_kernel *kernel)
{
	json_t *times = json_array();
	uint32_t x;

	for (x = 0; x < k->n_quotas; x++)
		(void)json_array_append_new(
			times, json_pack("{s:i, s:o}", "sms", (int)k->sms[x], "time_ms",
					 cot_json_number((double)kernel->rates.time_ns[x] / 1e6)));
	return json_pack("{s:s, s:o}", "name", kernel->name, "times", times);
}

static json_t *kernels_json(const struct cot_knowledge *k)
{
	json_t *list = json_array();
	uint32_t i;

	for (i = 0; i < k->n_kernels; i++)
		(void)json_array_append_new(list, kernel_json(k, k->kernels[i]));
	return list;
}

static json_t *error_json(const struct cot_predictor_error *e)
{
	return json_pack("{s:o, s:o}", "mean", cot_json_number(e->mean), "worst",
			 cot_json_number(e->worst));
}

json_t *cot_profile_json(const struct cot_knowledge *k, const char *path)
{
	struct cot_knowledge_errors e;
	json_t *list = json_array();
	unsigned i;

	if (!judge(k, &e))
		for (i = 0; i < COT_N_PREDICTORS; i++)
			(void)json_array_append_new(
				list, json_pack("{s:s, s:o, s:o}", "name", predictors[i], "error",
						error_json(&e.random[i]), "error_of_other_inputs",
						error_json(&e.by_input[i])));
	return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "schema", SCHEMA, "file", path,
			 "program", k->program, "class", cot_class_words[k->cls], "gpu", k->gpu,
			 "times", times_json(k), "kernels", kernels_json(k), "predictors", list);
}
