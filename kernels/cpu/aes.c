/* The kernel aes_encrypt. What it encrypts with comes from the GPU's memory, table and keys. */
#include <errno.h>
#include <string.h>

#include "kernels/aes.h"
#include "kernels/cpu/kernels.h"

/* Its parameters, and the threads of a block that it is written for. */
enum { PLAIN, CIPHER, TABLE, KEYS, N_ARRAYS, N = N_ARRAYS };
enum { THREADS = 256, WORDS = 4 };

static int memory(struct cot_cpu_launch *l)
{
	uint64_t n = cot_cpu_threads_up_to(l, N);
	const uint64_t words[] = {[PLAIN] = WORDS * n,
				  [CIPHER] = WORDS * n,
				  [TABLE] = COT_AES_TABLE,
				  [KEYS] = COT_AES_KEYS};
	unsigned i;

	if (l->block[0] != THREADS)
		return -EINVAL;
	for (i = 0; i < N_ARRAYS && n; i++)
		cot_cpu_uses(l, i, words[i] * sizeof(unsigned), i == CIPHER);
	return 0;
}

static int run(const struct cot_cpu_launch *l)
{
	uint64_t n = cot_cpu_threads_up_to(l, N), i;
	void *array[N_ARRAYS];
	const unsigned *plain;
	unsigned *cipher, block[WORDS];

	if (!n)
		return 0;
	if (cot_cpu_arrays(l, N_ARRAYS, array))
		return -EFAULT;
	plain = array[PLAIN];
	cipher = array[CIPHER];
	for (i = 0; i < n; i++) {
		memcpy(block, plain + WORDS * i, sizeof(block));
		cot_aes_encrypt(array[TABLE], array[KEYS], block);
		memcpy(cipher + WORDS * i, block, sizeof(block));
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_aes = {
	.name = "aes_encrypt",
	.memory = memory,
	.run = run,
};
