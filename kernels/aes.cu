/* Encrypts blocks of 16 bytes with AES-128, one a thread: the patent's encryption. The table is in
 * shared memory. */
#include "cuda_min.h"

#include "aes.h"

#define THREADS 256

extern "C" __global__ void aes_encrypt(const unsigned *plain, unsigned *cipher,
				       const unsigned *table, const unsigned *keys, int n)
{
	__shared__ unsigned mine[COT_AES_TABLE];
	int i = (int)(blockIdx.x * THREADS + threadIdx.x), k;
	unsigned block[4];

	mine[threadIdx.x] = table[threadIdx.x];
	__syncthreads();
	if (i >= n)
		return;
	for (k = 0; k < 4; k++)
		block[k] = plain[4 * (long long)i + k];
	cot_aes_encrypt(mine, keys, block);
	for (k = 0; k < 4; k++)
		cipher[4 * (long long)i + k] = block[k];
}
