/* The mapping that a profiled program fills: whatever it holds, what is read lies within bounds,
 * and what is known from it is written and read again as the same. */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "knowledge/launches.h"
#include "proto/timed.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#define QUOTAS 3u

/* Four bytes of input are a launch: they reach what bytes for all of it would hardly fill. */
static void fill(struct cot_timed *t, const uint8_t *data, size_t size)
{
	size_t n = size / 4, i;

	for (i = 0; i < COT_TIMED_KERNELS && i < 8; i++)
		memset(t->kernels[i].name, size ? data[i % size] : 0,
		       i < 4 ? sizeof(t->kernels[i].name) : 3);
	atomic_store(&t->n_kernels, size ? data[0] : 0);
	for (i = 0; i < n; i++) {
		const uint8_t *b = data + 4 * i;
		struct cot_timed_round *r = &t->rounds[b[3] % QUOTAS];
		uint32_t at = atomic_load(&r->n);

		r->launches[at % COT_TIMED_LAUNCHES] = (struct cot_timed_launch){
			.ns = b[0] == 255 ? UINT64_MAX : b[0], .kernel = b[1], .flags = b[2]};
		atomic_store(&r->n, b[2] == 255 ? UINT32_MAX : at + 1);
	}
}

static void read_all(const struct cot_timed *t, struct cot_known_launches *l,
		     struct cot_known_launch (*launches)[COT_TIMED_LAUNCHES],
		     char (*names)[COT_KNOWN_NAME_MAX])
{
	static struct cot_timed_launch buffer[COT_TIMED_LAUNCHES];
	uint32_t x, i;

	for (x = 0; x < QUOTAS; x++) {
		l->n[x] = cot_timed_read(t, x + 1, buffer, COT_TIMED_LAUNCHES);
		l->at[x] = launches[x];
		for (i = 0; i < l->n[x]; i++) {
			REQUIRE(buffer[i].ns && buffer[i].ns <= COT_TIMED_NS_MAX);
			REQUIRE(buffer[i].kernel < cot_timed_n_kernels(t));
			launches[x][i] =
				(struct cot_known_launch){buffer[i].ns, buffer[i].kernel,
							  (buffer[i].flags & COT_TIMED_FIRST) != 0,
							  (buffer[i].flags & COT_TIMED_GAP) != 0};
		}
	}
	l->n_kernels = cot_timed_n_kernels(t);
	for (i = 0; i < l->n_kernels; i++)
		cot_timed_name(t, i, names[i]);
}

/* What is written is read. */
static void check_file(struct cot_knowledge *k)
{
	struct cot_knowledge *again = NULL;
	struct cot_error err = {""};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	REQUIRE(out && !cot_knowledge_complete(k));
	cot_knowledge_write(k, out);
	REQUIRE(!fclose(out));
	REQUIRE(!cot_knowledge_parse("timed", text, size, &again, &err));
	REQUIRE(again->n_kernels == k->n_kernels);
	cot_knowledge_destroy(again);
	free(text);
}

static void check(const struct cot_known_launches *l)
{
	struct cot_knowledge *k = cot_knowledge_create();
	struct cot_known_input *in;
	uint32_t x;

	REQUIRE(k);
	k->cls = COT_CLASS_LATENCY;
	(void)strcpy(k->program, "serve");
	(void)strcpy(k->gpu, "a GPU");
	k->n_quotas = QUOTAS;
	REQUIRE(!cot_knowledge_add_input(k, 0, &in));
	for (x = 0; x < QUOTAS; x++) {
		k->sms[x] = x + 1;
		in->time_ns[x] = 1000;
	}
	if (!cot_knowledge_take_tasks(k, in, l))
		REQUIRE(in->n_tasks && k->n_kernels);
	else
		REQUIRE(!in->n_tasks && !k->n_kernels);
	check_file(k);
	(void)cot_knowledge_take_longest(k, l);
	cot_knowledge_destroy(k);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct cot_known_launch launches[QUOTAS][COT_TIMED_LAUNCHES];
	static char names[COT_TIMED_KERNELS][COT_KNOWN_NAME_MAX];
	struct cot_known_launches l = {.names = (const char(*)[COT_KNOWN_NAME_MAX])names};
	struct cot_timed *t = calloc(1, sizeof(*t));

	if (!t)
		return 0;
	fill(t, data, size);
	read_all(t, &l, launches, names);
	check(&l);
	free(t);
	return 0;
}
