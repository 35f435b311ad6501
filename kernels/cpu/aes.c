/* The kernel aes_encrypt. What it encrypts with comes from the GPU's memory, table and keys. */
#include <errno.h>
#include <string.h>

#include "kernels/aes.h"
#include "kernels/cpu/kernels.h"

/* Its parameters, and the threads of a block that it is written for. */
enum { PLAIN, CIPHER, TABLE, KEYS, N_ARRAYS, N = N_ARRAYS };
enum { THREADS = 256, WORDS = 4 };

static uint64_t n_blocks(const struct cot_cpu_launch *l)
{
	uint64_t threads = (uint64_t)l->grid[0] * THREADS;
	int32_t n;

	memcpy(&n, l->params[N], sizeof(n));
	return n <= 0 ? 0 : threads < (uint64_t)n ? threads : (uint64_t)n;
}

static int memory(struct cot_cpu_launch *l)
{
	uint64_t words[] = {[PLAIN] = WORDS * n_blocks(l),
			    [CIPHER] = WORDS * n_blocks(l),
			    [TABLE] = COT_AES_TABLE,
			    [KEYS] = COT_AES_KEYS},
		 address;
	unsigned i;

	if (l->block[0] != THREADS)
		return -EINVAL;
	for (i = 0; i < N_ARRAYS && words[PLAIN]; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		l->ranges[l->n_ranges++] = (struct cot_cpu_range){
			.address = address,
			.bytes = words[i] * sizeof(unsigned),
			.uses = i == CIPHER ? COT_CPU_WRITES : COT_CPU_READS,
		};
	}
	return 0;
}

static int run(const struct cot_cpu_launch *l)
{
	uint64_t n = n_blocks(l), address, i;
	unsigned *array[N_ARRAYS], block[WORDS];

	for (i = 0; i < N_ARRAYS; i++) {
		memcpy(&address, l->params[i], sizeof(address));
		array[i] = cot_cpu_host(l, address);
		if (n && !array[i])
			return -EFAULT;
	}
	for (i = 0; i < n; i++) {
		memcpy(block, array[PLAIN] + WORDS * i, sizeof(block));
		cot_aes_encrypt(array[TABLE], array[KEYS], block);
		memcpy(array[CIPHER] + WORDS * i, block, sizeof(block));
	}
	return 0;
}

const struct cot_cpu_kernel cot_cpu_aes = {
	.name = "aes_encrypt",
	.memory = memory,
	.run = run,
};
