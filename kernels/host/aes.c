#include <errno.h>
#include <string.h>

#include "kernels/aes.h"
#include "kernels/host/inside.h"

enum { PLAIN, CIPHER, TABLE, KEYS };
enum { THREADS = 256, WORDS = 4, BYTES = 16, CHECKED = 1 << 16 };

/* ---- the field of 256 elements, modulo x^8 + x^4 + x^3 + x + 1 ---- */

static uint8_t times(uint8_t a, uint8_t b)
{
	uint8_t product = 0;

	for (; b; b >>= 1) {
		if (b & 1)
			product ^= a;
		a = (uint8_t)(a << 1 ^ (a & 0x80 ? 0x1b : 0));
	}
	return product;
}

/* The inverse (0 for 0), a^254, and the affine map behind it. */
static uint8_t substitute(uint8_t a)
{
	uint8_t inverse = 1, out = 0x63;
	int i;

	for (i = 0; i < 254; i++)
		inverse = times(inverse, a);
	for (i = 0; i < 5; i++)
		out ^= (uint8_t)(inverse << i | inverse >> (8 - i));
	return out;
}

static void substitutions(uint8_t s[COT_AES_TABLE])
{
	int i;

	for (i = 0; i < COT_AES_TABLE; i++)
		s[i] = substitute((uint8_t)i);
}

static void expand(const uint8_t *s, const uint8_t key[BYTES], uint8_t *keys)
{
	uint8_t word[4], first, power = 1;
	int i, k;

	memcpy(keys, key, BYTES);
	for (i = WORDS; i < COT_AES_KEYS; i++) {
		memcpy(word, keys + 4 * (i - 1), 4);
		if (i % WORDS == 0) {
			first = word[0];
			for (k = 0; k < 3; k++)
				word[k] = s[word[k + 1]];
			word[3] = s[first];
			word[0] ^= power;
			power = times(power, 2);
		}
		for (k = 0; k < 4; k++)
			keys[4 * i + k] = keys[4 * (i - WORDS) + k] ^ word[k];
	}
}

/* As the standard describes it, byte by byte: independent of the table. */
static void encrypt(const uint8_t *s, const uint8_t *keys, uint8_t block[BYTES])
{
	uint8_t moved[BYTES];
	int round, i, row, k;

	for (i = 0; i < BYTES; i++)
		block[i] ^= keys[i];
	for (round = 1; round <= COT_AES_ROUNDS; round++) {
		for (i = 0; i < BYTES; i++)
			moved[i] = s[block[(i + 4 * (i % 4)) % BYTES]];
		for (i = 0; i < BYTES; i++) {
			row = i % 4;
			k = i - row;
			block[i] = round == COT_AES_ROUNDS
					   ? moved[i]
					   : times(moved[i], 2) ^
						     times(moved[k + (row + 1) % 4], 3) ^
						     moved[k + (row + 2) % 4] ^
						     moved[k + (row + 3) % 4];
			block[i] ^= keys[BYTES * round + i];
		}
	}
}

/* ---- the benchmark ---- */

static int create(struct cot_bench_instance *in, uint64_t seed)
{
	size_t n = (size_t)in->n_blocks * THREADS - THREADS / 3, i;
	uint32_t *plain = cot_bench_buffer(in, "plain", n * WORDS, sizeof(uint32_t), false);
	uint32_t *cipher = cot_bench_buffer(in, "cipher", n * WORDS, sizeof(uint32_t), true);
	uint32_t *table = cot_bench_buffer(in, "table", COT_AES_TABLE, sizeof(uint32_t), false);
	uint32_t *keys = cot_bench_buffer(in, "keys", COT_AES_KEYS, sizeof(uint32_t), false);
	uint8_t s[COT_AES_TABLE], key[BYTES];
	struct cot_bench_step *step;

	if (!plain || !cipher || !table || !keys || cot_bench_steps(in, 1))
		return -ENOMEM;
	if (n > INT32_MAX)
		return -ERANGE;
	cot_bench_fill_u32(plain, n * WORDS, seed, UINT32_MAX);
	substitutions(s);
	for (i = 0; i < COT_AES_TABLE; i++)
		table[i] = (uint32_t)times(s[i], 2) | (uint32_t)s[i] << 8 | (uint32_t)s[i] << 16 |
			   (uint32_t)times(s[i], 3) << 24;
	for (i = 0; i < BYTES; i++)
		key[i] = (uint8_t)(seed >> 8 * (i % 8) ^ i);
	expand(s, key, (uint8_t *)keys);
	step = cot_bench_step(in, in->bench->entry, in->n_blocks, 1, THREADS, 1);
	cot_bench_arg_buffer(step, PLAIN);
	cot_bench_arg_buffer(step, CIPHER);
	cot_bench_arg_buffer(step, TABLE);
	cot_bench_arg_buffer(step, KEYS);
	cot_bench_arg_i32(step, (int32_t)n);
	return 0;
}

static int check(const struct cot_bench_instance *in, void *const *result,
		 struct cot_bench_verdict *verdict)
{
	size_t n = in->buffers[CIPHER].size_bytes / BYTES, i, at;
	const uint8_t *plain = in->buffers[PLAIN].data, *keys = in->buffers[KEYS].data;
	const uint32_t *cipher = result[CIPHER];
	uint8_t s[COT_AES_TABLE], block[BYTES];
	uint32_t word;
	int k;

	substitutions(s);
	for (i = 0; i < cot_bench_n_samples(n, CHECKED); i++) {
		at = cot_bench_sample(i, n, CHECKED);
		memcpy(block, plain + BYTES * at, BYTES);
		encrypt(s, keys, block);
		for (k = 0; k < WORDS; k++) {
			memcpy(&word, block + 4 * k, sizeof(word));
			cot_bench_same_u64(verdict, "cipher", WORDS * at + k,
					   cipher[WORDS * at + k], word);
		}
	}
	return 0;
}

/* The patent's encryption has 12 KiB: three blocks. */
const struct cot_bench cot_bench_aes = {
	.name = "aes",
	.summary = "encryption with AES-128",
	.entry = "aes_encrypt",
	.n_threads = THREADS,
	.blocks = {3, 3, 768, 65536},
	.create = create,
	.check = check,
};
