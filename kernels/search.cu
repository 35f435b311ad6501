/* Finds a word in texts: the patent's search. A block counts where the word stands in a text of its
 * own, and notes the first place; where there is none, that is the text's length. */
#include "cuda_min.h"

#define THREADS 256

extern "C" __global__ void search_texts(const unsigned char *texts, const unsigned char *word,
					unsigned *counts, unsigned *places, unsigned length,
					unsigned word_length)
{
	__shared__ unsigned found[THREADS], first[THREADS];
	const unsigned char *text = texts + (unsigned long long)blockIdx.x * length;
	unsigned thread = threadIdx.x, n = 0, place = length, at, half;

	for (at = thread; at + word_length <= length; at += THREADS) {
		unsigned k = 0;

		while (k < word_length && text[at + k] == word[k])
			k++;
		if (k < word_length)
			continue;
		n++;
		place = at < place ? at : place;
	}
	found[thread] = n;
	first[thread] = place;
	for (half = THREADS / 2; half; half /= 2) {
		__syncthreads();
		if (thread >= half)
			continue;
		found[thread] += found[thread + half];
		if (first[thread + half] < first[thread])
			first[thread] = first[thread + half];
	}
	if (thread == 0) {
		counts[blockIdx.x] = found[0];
		places[blockIdx.x] = first[0];
	}
}
