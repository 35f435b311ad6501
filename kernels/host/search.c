#include <errno.h>
#include <string.h>

#include "kernels/host/inside.h"

enum { TEXTS, WORD, COUNTS, PLACES };
enum { THREADS = 256, WORD_LENGTH = 8, CHECKED = 512 };

/* Texts of four letters, in which beginnings of the word are found often; it stands in the last. */
static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t length = in->work, n = in->n_blocks, n_bytes = n * length, i;
	uint32_t *letters = cot_bench_buffer(in, "texts", n_bytes, 1, false);
	uint8_t *word = cot_bench_buffer(in, "word", WORD_LENGTH, 1, false);
	uint32_t *counts = cot_bench_buffer(in, "counts", n, sizeof(uint32_t), true);
	uint32_t *places = cot_bench_buffer(in, "places", n, sizeof(uint32_t), true);
	struct cot_bench_step *step;

	if (!letters || !word || !counts || !places || cot_bench_steps(in, 1))
		return -ENOMEM;
	cot_bench_fill_u32(letters, n_bytes / sizeof(uint32_t), seed, UINT32_MAX);
	for (i = 0; i < n_bytes / sizeof(uint32_t); i++)
		letters[i] &= 0x03030303;
	memcpy(word, (uint8_t *)letters + n_bytes - length / 3, WORD_LENGTH);
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	for (i = TEXTS; i <= PLACES; i++)
		cot_bench_arg_buffer(step, (uint32_t)i);
	cot_bench_arg_u32(step, in->work);
	cot_bench_arg_u32(step, WORD_LENGTH);
	return 0;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	const uint8_t *texts = in->buffers[TEXTS].data, *word = in->buffers[WORD].data;
	const uint32_t *counts = result[COUNTS], *places = result[PLACES];
	size_t i, at, n = in->n_blocks, length = in->work;

	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t k = cot_bench_sample(i, n, CHECKED), first = length, n_found = 0;

		for (at = length - WORD_LENGTH + 1; at--;) {
			if (memcmp(texts + k * length + at, word, WORD_LENGTH) != 0)
				continue;
			first = at;
			n_found++;
		}
		cot_bench_same_u64(verdict, "counts", k, counts[k], n_found);
		cot_bench_same_u64(verdict, "places", k, places[k], first);
	}
	return 0;
}

/* The patent's has 15 blocks. */
const struct cot_bench cot_bench_search = {
	.name = "search",
	.summary = "finds a word in texts",
	.entry = "search_texts",
	.n_threads = THREADS,
	.blocks = {5, 15, 15, 8448},
	.work = {2048, 65536, 65536, 65536}, /* letters of a text */
	.create = create,
	.check = check,
};
