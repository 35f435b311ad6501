#include <errno.h>
#include <string.h>

#include "base/rng.h"
#include "kernels/host/inside.h"

enum { KEY, DIGEST, N_FOUND, TRACES };
enum { THREADS = 384, CHECKED = 1 << 14 };
enum { N_KEYS, LENGTH, VALUES, WANTED }; /* in->number */

/* The sizes of the paper: ten values in seven bytes, 25 in six; and one for larger GPUs. */
static const struct space {
	uint32_t max_blocks, values, length, n_threads;
} spaces[] = {
	{2605, 10, 7, 1000000},
	{25432, 25, 6, 9765625},
	{96394, 78, 5, 37015056},
};
enum { N_SPACES = sizeof(spaces) / sizeof(spaces[0]) };

struct md5 {
	uint32_t word[4];
};

static uint32_t turned(uint32_t x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* Round by round as RFC 1321 prints it; T[i] = floor(2^32 |sin(i)|). */
static void md5_block(struct md5 *state, const uint32_t x[16])
{
	static const uint32_t sine[4][16] = {
		{0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
		 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
		 0xa679438e, 0x49b40821},
		{0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681,
		 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8,
		 0x676f02d9, 0x8d2a4c8a},
		{0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60,
		 0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5,
		 0x1fa27cf8, 0xc4ac5665},
		{0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d,
		 0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235,
		 0x2ad7d2bb, 0xeb86d391},
	};
	static const unsigned shift[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	static const unsigned step[4] = {1, 5, 3, 7}, start[4] = {0, 1, 5, 0};
	uint32_t r[4];
	unsigned round, i;

	memcpy(r, state->word, sizeof(r));
	for (round = 0; round < 4; round++) {
		for (i = 0; i < 16; i++) {
			/* The roles of a, b, c, d go round instead of their values. */
			uint32_t *a = &r[(16 - i) % 4], b = r[(17 - i) % 4];
			uint32_t c = r[(18 - i) % 4], d = r[(19 - i) % 4], f;

			if (round == 0)
				f = d ^ (b & (c ^ d));
			else if (round == 1)
				f = c ^ (d & (b ^ c));
			else
				f = round == 2 ? b ^ c ^ d : c ^ (b | ~d);
			*a += f + x[(start[round] + step[round] * i) % 16] + sine[round][i];
			*a = b + turned(*a, shift[round][i % 4]);
		}
	}
	for (i = 0; i < 4; i++)
		state->word[i] += r[i];
}

/* The digest of a key: `length` bytes, the first one counts most quickly. */
static struct md5 md5_of(uint64_t key, uint32_t values, uint32_t length)
{
	struct md5 state = {{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476}};
	unsigned char block[64] = {0};
	uint32_t words[16], i;

	for (i = 0; i < length; i++) {
		block[i] = (unsigned char)(key % values);
		key /= values;
	}
	block[length] = 0x80;
	block[56] = (unsigned char)(8 * length);
	for (i = 0; i < 16; i++)
		words[i] = (uint32_t)block[4 * i] | (uint32_t)block[4 * i + 1] << 8 |
			   (uint32_t)block[4 * i + 2] << 16 | (uint32_t)block[4 * i + 3] << 24;
	md5_block(&state, words);
	return state;
}

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	const struct space *space = spaces;
	uint64_t n_threads = (uint64_t)in->n_blocks * THREADS;
	struct cot_rng rng = {seed};
	struct cot_bench_step *step;
	uint64_t n_keys, wanted;
	struct md5 digest;

	while (space < spaces + N_SPACES && in->n_blocks > space->max_blocks)
		space++;
	if (space == spaces + N_SPACES)
		return -ERANGE;
	if (n_threads > space->n_threads)
		n_threads = space->n_threads;
	/* The last thread has fewer keys than the others. */
	n_keys = n_threads * space->values - space->values / 2;
	wanted = cot_rng_below(&rng, n_keys);
	digest = md5_of(wanted, space->values, space->length);

	if (!cot_bench_buffer(in, "key", 1, sizeof(uint64_t), true) ||
	    !cot_bench_buffer(in, "digest", 1, sizeof(digest), true) ||
	    !cot_bench_buffer(in, "n_found", 1, sizeof(uint32_t), true) ||
	    !cot_bench_buffer(in, "traces", n_threads, sizeof(uint32_t), true) ||
	    cot_bench_steps(in, 1))
		return -ENOMEM;
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	cot_bench_arg_bytes(step, &digest, sizeof(digest));
	cot_bench_arg_u32(step, (uint32_t)n_keys);
	cot_bench_arg_u32(step, space->length);
	cot_bench_arg_u32(step, space->values);
	cot_bench_arg_buffer(step, KEY);
	cot_bench_arg_buffer(step, DIGEST);
	cot_bench_arg_buffer(step, N_FOUND);
	cot_bench_arg_buffer(step, TRACES);
	in->number[N_KEYS] = (int64_t)n_keys;
	in->number[LENGTH] = space->length;
	in->number[VALUES] = space->values;
	in->number[WANTED] = (int64_t)wanted;
	return 0;
}

/* The exclusive or of the first words of all digests that a thread has made. */
static uint32_t trace_of(const struct cot_bench_instance *in, size_t thread)
{
	uint32_t values = (uint32_t)in->number[VALUES], length = (uint32_t)in->number[LENGTH];
	uint64_t key = (uint64_t)thread * values, end = key + values;
	uint32_t trace = 0;

	for (; key < end && key < (uint64_t)in->number[N_KEYS]; key++)
		trace ^= md5_of(key, values, length).word[0];
	return trace;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	uint64_t wanted = (uint64_t)in->number[WANTED];
	struct md5 want =
		md5_of(wanted, (uint32_t)in->number[VALUES], (uint32_t)in->number[LENGTH]);
	const struct md5 *got = result[DIGEST];
	const uint32_t *traces = result[TRACES];
	size_t i, n = in->buffers[TRACES].size_bytes / sizeof(uint32_t);

	cot_bench_same_u64(verdict, "n_found", 0, *(const uint32_t *)result[N_FOUND], 1);
	cot_bench_same_u64(verdict, "key", 0, *(const uint64_t *)result[KEY], wanted);
	for (i = 0; i < 4; i++)
		cot_bench_same_u64(verdict, "digest", i, got->word[i], want.word[i]);
	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		size_t k = cot_bench_sample(i, n, CHECKED);

		cot_bench_same_u64(verdict, "traces", k, traces[k], trace_of(in, k));
	}
	return 0;
}

const struct cot_bench cot_bench_md5 = {
	.name = "md5hash",
	.summary = "finds the key of an MD5 digest by trying all keys",
	.entry = "FindKeyWithDigest_Kernel",
	.n_threads = THREADS,
	.blocks = {5, 2605, 25432, 25432},
	.create = create,
	.check = check,
};
