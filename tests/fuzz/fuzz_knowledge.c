/*
 * Knowledge of programs: whatever the bytes are, the reader gives knowledge within its limits, or
 * one sentence. From it come plans that keep to what policies rely on, and a file that says the
 * same.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge/knowledge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_times(const uint64_t *ns, uint32_t n)
{
	uint32_t i;

	for (i = 1; i < n; i++)
		REQUIRE(ns[i] <= ns[i - 1]);
}

static void check_plan(const struct cot_knowledge *k, uint64_t size)
{
	const struct cot_plan *p = cot_knowledge_plan(k, size);
	uint32_t i;

	(void)cot_knowledge_out_ns(k, size);
	if (!p)
		return;
	REQUIRE(p->n_quotas == k->n_quotas && p->n_quotas >= 1);
	REQUIRE(p->n_tasks >= 1 && p->n_tasks <= COT_KNOWN_TASKS_MAX);
	check_times(p->query_ns, p->n_quotas);
	for (i = 0; i < p->n_tasks; i++)
		check_times(&p->task_ns[(size_t)i * p->n_quotas], p->n_quotas);
}

static char *written(const struct cot_knowledge *k, size_t *ret_size)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, ret_size);

	REQUIRE(out);
	cot_knowledge_write(k, out);
	REQUIRE(!fclose(out));
	return text;
}

static void check_written(const struct cot_knowledge *k)
{
	struct cot_knowledge *again;
	struct cot_error err;
	size_t size, size_again;
	char *text = written(k, &size), *text_again;

	REQUIRE(!cot_knowledge_parse("again", text, size, &again, &err));
	text_again = written(again, &size_again);
	REQUIRE(size == size_again && !memcmp(text, text_again, size));
	free(text);
	free(text_again);
	cot_knowledge_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_knowledge *k;
	struct cot_error err = {""};
	uint32_t i;
	int rc;

	rc = cot_knowledge_parse("fuzz", data, size, &k, &err);
	if (rc) {
		REQUIRE(rc == -EINVAL && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	check_plan(k, 0);
	check_plan(k, UINT64_MAX);
	for (i = 0; i < k->n_inputs; i++) {
		check_plan(k, k->inputs[i]->size);
		check_plan(k, k->inputs[i]->size + 1);
	}
	check_written(k);
	REQUIRE(!cot_knowledge_refine(k));
	for (i = 0; i < k->n_inputs; i++)
		check_plan(k, k->inputs[i]->size);
	cot_knowledge_destroy(k);
	return 0;
}
