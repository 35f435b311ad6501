/* The kernel search_texts, a text after the other. */
#include <errno.h>
#include <string.h>

#include "kernels/cpu/kernels.h"

/* Its parameters, and the threads of a block that it is written for. */
enum { TEXTS, WORD, COUNTS, PLACES, N_ARRAYS, LENGTH = N_ARRAYS, WORD_LENGTH };
enum { THREADS = 256 };

/* A word that is empty, or longer than a text, is left to the GPU. */
static int memory(struct cot_cpu_launch *l)
{
	uint32_t length = (uint32_t)cot_cpu_i32(l, LENGTH);
	uint32_t word_length = (uint32_t)cot_cpu_i32(l, WORD_LENGTH);
	uint64_t n = l->grid[0];

	if (l->block[0] != THREADS || !word_length || word_length > length)
		return -EINVAL;
	cot_cpu_uses(l, TEXTS, n * length, false);
	cot_cpu_uses(l, WORD, word_length, false);
	cot_cpu_uses(l, COUNTS, n * sizeof(uint32_t), true);
	cot_cpu_uses(l, PLACES, n * sizeof(uint32_t), true);
	return 0;
}

static uint32_t search(const char *text, uint32_t length, const char *word, uint32_t word_length,
		       uint32_t *ret_place)
{
	uint32_t n = 0, at;

	*ret_place = length;
	for (at = 0; at <= length - word_length; at++) {
		if (memcmp(text + at, word, word_length) != 0)
			continue;
		if (!n++)
			*ret_place = at;
	}
	return n;
}

static int run(const struct cot_cpu_launch *l)
{
	uint32_t length = (uint32_t)cot_cpu_i32(l, LENGTH);
	uint32_t word_length = (uint32_t)cot_cpu_i32(l, WORD_LENGTH), *counts, *places, i;
	void *array[N_ARRAYS];
	const char *texts;

	if (cot_cpu_arrays(l, N_ARRAYS, array))
		return -EFAULT;
	texts = array[TEXTS];
	counts = array[COUNTS];
	places = array[PLACES];
	for (i = 0; i < l->grid[0]; i++)
		counts[i] = search(texts + (uint64_t)i * length, length, array[WORD], word_length,
				   &places[i]);
	return 0;
}

const struct cot_cpu_kernel cot_cpu_search = {
	.name = "search_texts",
	.memory = memory,
	.run = run,
};
