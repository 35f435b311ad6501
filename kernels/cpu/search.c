/* The kernel search_texts, a text after the other. */
#include <errno.h>
#include <string.h>

#include "kernels/cpu/kernels.h"

/* Its parameters, and the threads of a block that it is written for. */
enum { TEXTS, WORD, COUNTS, PLACES, N_ARRAYS, LENGTH = N_ARRAYS, WORD_LENGTH };
enum { THREADS = 256 };

static uint32_t integer(const struct cot_cpu_launch *l, unsigned param)
{
	uint32_t value;

	memcpy(&value, l->params[param], sizeof(value));
	return value;
}

/* A word that is empty, or longer than a text, is left to the GPU. */
static int memory(struct cot_cpu_launch *l)
{
	uint64_t n = l->grid[0], length = integer(l, LENGTH), word_length = integer(l, WORD_LENGTH),
		 bytes[] = {[TEXTS] = n * length,
			    [WORD] = word_length,
			    [COUNTS] = n * sizeof(uint32_t),
			    [PLACES] = n * sizeof(uint32_t)},
		 address;
	unsigned i;

	if (l->block[0] != THREADS || !word_length || word_length > length)
		return -EINVAL;
	for (i = 0; i < N_ARRAYS; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		l->ranges[l->n_ranges++] = (struct cot_cpu_range){
			.address = address,
			.bytes = bytes[i],
			.uses = i == COUNTS || i == PLACES ? COT_CPU_WRITES : COT_CPU_READS,
		};
	}
	return 0;
}

static int run(const struct cot_cpu_launch *l)
{
	uint32_t length = integer(l, LENGTH), word_length = integer(l, WORD_LENGTH), i, at;
	void *array[N_ARRAYS];
	uint64_t address;

	for (i = 0; i < N_ARRAYS; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		array[i] = cot_cpu_host(l, address);
		if (!array[i])
			return -EFAULT;
	}
	for (i = 0; i < l->grid[0]; i++) {
		const char *text = (const char *)array[TEXTS] + (uint64_t)i * length;
		uint32_t n = 0, place = length;

		for (at = 0; at <= length - word_length; at++) {
			if (memcmp(text + at, array[WORD], word_length) != 0)
				continue;
			if (!n++)
				place = at;
		}
		((uint32_t *)array[COUNTS])[i] = n;
		((uint32_t *)array[PLACES])[i] = place;
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_search = {
	.name = "search_texts",
	.memory = memory,
	.run = run,
};
