/*
 * AES-128 (FIPS 197), a block at a time with one table: entry x is the column that MixColumns makes
 * of the substituted byte x in the first row, that row in the lowest byte; the other rows' columns
 * are rotated. Words are columns as little-endian machines read them. C11 and CUDA.
 */
#ifndef COT_KERNELS_AES_H
#define COT_KERNELS_AES_H

#include "exact_math.h"

#define COT_AES_TABLE  256
#define COT_AES_ROUNDS 10
#define COT_AES_KEYS   (4 * (COT_AES_ROUNDS + 1)) /* words: a key for each round, and the first */

COT_EXACT unsigned cot_aes_rotate(unsigned x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* A column of a round: row r of column a, b, c, d each. */
COT_EXACT unsigned cot_aes_mix(const unsigned *table, unsigned a, unsigned b, unsigned c,
			       unsigned d)
{
	return table[a & 255] ^ cot_aes_rotate(table[b >> 8 & 255], 8) ^
	       cot_aes_rotate(table[c >> 16 & 255], 16) ^ cot_aes_rotate(table[d >> 24], 24);
}

/* The substituted byte itself is in the second row. */
COT_EXACT unsigned cot_aes_byte(const unsigned *table, unsigned x)
{
	return table[x] >> 8 & 255;
}

COT_EXACT unsigned cot_aes_last(const unsigned *table, unsigned a, unsigned b, unsigned c,
				unsigned d)
{
	return cot_aes_byte(table, a & 255) | cot_aes_byte(table, b >> 8 & 255) << 8 |
	       cot_aes_byte(table, c >> 16 & 255) << 16 | cot_aes_byte(table, d >> 24) << 24;
}

/* Encrypts the four columns of a block. */
COT_EXACT void cot_aes_encrypt(const unsigned *table, const unsigned *keys, unsigned *block)
{
	unsigned a = block[0] ^ keys[0], b = block[1] ^ keys[1], c = block[2] ^ keys[2],
		 d = block[3] ^ keys[3];
	int i;

	for (i = 1; i < COT_AES_ROUNDS; i++) {
		unsigned p = cot_aes_mix(table, a, b, c, d), q = cot_aes_mix(table, b, c, d, a);
		unsigned r = cot_aes_mix(table, c, d, a, b), s = cot_aes_mix(table, d, a, b, c);

		a = p ^ keys[4 * i];
		b = q ^ keys[4 * i + 1];
		c = r ^ keys[4 * i + 2];
		d = s ^ keys[4 * i + 3];
	}
	block[0] = cot_aes_last(table, a, b, c, d) ^ keys[4 * COT_AES_ROUNDS];
	block[1] = cot_aes_last(table, b, c, d, a) ^ keys[4 * COT_AES_ROUNDS + 1];
	block[2] = cot_aes_last(table, c, d, a, b) ^ keys[4 * COT_AES_ROUNDS + 2];
	block[3] = cot_aes_last(table, d, a, b, c) ^ keys[4 * COT_AES_ROUNDS + 3];
}

#endif
