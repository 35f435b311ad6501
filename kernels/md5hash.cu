/*
 * Finds the key of an MD5 digest by trying all keys (SHOC's FindKeyWithDigest_Kernel). A key is up to
 * seven bytes, each below `values`; a thread tries all values of the first byte. It leaves a trace of
 * all that it has tried.
 */
#include "cuda_min.h"

struct digest {
	unsigned word[4];
};

/* RFC 1321: the integer part of 2^32 * |sin(i + 1)|. */
static __device__ const unsigned sines[64] = {
	0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613,
	0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193,
	0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d,
	0x02441453, 0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed,
	0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942, 0x8771f681, 0x6d9d6122,
	0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa,
	0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244,
	0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
	0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb,
	0xeb86d391,
};

static __device__ const unsigned char turns[16] = {7, 12, 17, 22, 5, 9,	 14, 20,
						   4, 11, 16, 23, 6, 10, 15, 21};

static __device__ __forceinline__ unsigned rotate(unsigned x, unsigned n)
{
	return x << n | x >> (32 - n);
}

/* The digest of the `length` bytes in two words; the rest of the message block is padding. */
static __device__ __forceinline__ struct digest md5_short(unsigned low, unsigned high,
							   unsigned length)
{
	unsigned a = 0x67452301, b = 0xefcdab89, c = 0x98badcfe, d = 0x10325476;
	unsigned message[16] = {low, high};

	if (length < 4)
		message[0] |= 0x80u << (8 * length);
	else
		message[1] |= 0x80u << (8 * (length - 4));
	message[14] = 8 * length;
#pragma unroll
	for (unsigned i = 0; i < 64; i++) {
		unsigned f, word, next;

		if (i < 16) {
			f = (b & c) | (~b & d);
			word = i;
		} else if (i < 32) {
			f = (d & b) | (~d & c);
			word = (5 * i + 1) % 16;
		} else if (i < 48) {
			f = b ^ c ^ d;
			word = (3 * i + 5) % 16;
		} else {
			f = c ^ (b | ~d);
			word = 7 * i % 16;
		}
		next = b + rotate(a + f + sines[i] + message[word], turns[i / 16 * 4 + i % 4]);
		a = d;
		d = c;
		c = b;
		b = next;
	}
	return {{a + 0x67452301, b + 0xefcdab89, c + 0x98badcfe, d + 0x10325476}};
}

/* found_key is the number of the key; the thread that finds the digest writes it. */
extern "C" __global__ void FindKeyWithDigest_Kernel(struct digest wanted, unsigned n_keys,
						    unsigned length, unsigned values,
						    unsigned long long *found_key,
						    struct digest *found_digest, unsigned *n_found,
						    unsigned *traces)
{
	unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned first = thread * values, rest = thread;
	unsigned low = 0, high = 0, trace = 0;

	if (first >= n_keys)
		return;
	for (unsigned i = 1; i < length; i++) {
		unsigned byte = rest % values;

		rest /= values;
		if (i < 4)
			low |= byte << (8 * i);
		else
			high |= byte << (8 * (i - 4));
	}
	for (unsigned value = 0; value < values && first + value < n_keys; value++) {
		struct digest got = md5_short(low + value, high, length);

		trace ^= got.word[0];
		if (got.word[0] == wanted.word[0] && got.word[1] == wanted.word[1] &&
		    got.word[2] == wanted.word[2] && got.word[3] == wanted.word[3]) {
			*found_key = first + value;
			*found_digest = got;
			__nvvm_atom_add_gen_i((int *)n_found, 1);
		}
	}
	traces[thread] = trace;
}
