#include "emu/driver/validity.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "emu/driver/driver.h"

#define MD2_BLOCK  16u
#define MD2_ROUNDS 18u

/* ---- MD2, RFC 1319 ---- */

/* The digits of pi as a permutation, from the RFC. */
static const uint8_t pi[256] = {
	41,  46,  67,  201, 162, 216, 124, 1,	61,  54,  84,  161, 236, 240, 6,   19,	98,  167,
	5,   243, 192, 199, 115, 140, 152, 147, 43,  217, 188, 76,  130, 202, 30,  155, 87,  60,
	253, 212, 224, 22,  103, 66,  111, 24,	138, 23,  229, 18,  190, 78,  196, 214, 218, 158,
	222, 73,  160, 251, 245, 142, 187, 47,	238, 122, 169, 104, 121, 145, 21,  178, 7,   63,
	148, 194, 16,  137, 11,	 34,  95,  33,	128, 127, 93,  154, 90,	 144, 50,  39,	53,  62,
	204, 231, 191, 247, 151, 3,   255, 25,	48,  179, 72,  165, 181, 209, 215, 94,	146, 42,
	172, 86,  170, 198, 79,	 184, 56,  210, 150, 164, 125, 182, 118, 252, 107, 226, 156, 116,
	4,   241, 69,  157, 112, 89,  100, 113, 135, 32,  134, 91,  207, 101, 230, 45,	168, 2,
	27,  96,  37,  173, 174, 176, 185, 246, 28,  70,  97,  105, 52,	 64,  126, 15,	85,  71,
	163, 35,  221, 81,  175, 58,  195, 92,	249, 206, 186, 197, 234, 38,  44,  83,	13,  110,
	133, 40,  132, 9,   211, 223, 205, 244, 65,  129, 77,  82,  106, 220, 55,  200, 108, 193,
	171, 250, 36,  225, 123, 8,   12,  189, 177, 74,  120, 136, 149, 139, 227, 99,	232, 109,
	233, 203, 213, 254, 59,	 0,   29,  57,	242, 239, 183, 14,  102, 88,  208, 228, 166, 119,
	114, 248, 235, 117, 75,	 10,  49,  68,	80,  180, 143, 237, 31,	 26,  219, 153, 141, 51,
	159, 17,  131, 20,
};

struct md2 {
	uint8_t state[3 * MD2_BLOCK];
	uint8_t checksum[MD2_BLOCK], block[MD2_BLOCK];
	uint8_t last; /* of the checksum */
	unsigned n;   /* bytes in the block */
};

static void mix_block(struct md2 *m)
{
	uint8_t t = 0;
	unsigned i, k;

	for (i = 0; i < MD2_BLOCK; i++) {
		m->state[MD2_BLOCK + i] = m->block[i];
		m->state[2 * MD2_BLOCK + i] = m->state[i] ^ m->block[i];
	}
	for (i = 0; i < MD2_ROUNDS; i++) {
		for (k = 0; k < sizeof(m->state); k++)
			t = m->state[k] ^= pi[t];
		t = (uint8_t)(t + i);
	}
}

static void add_checksum(struct md2 *m)
{
	unsigned i;

	for (i = 0; i < MD2_BLOCK; i++)
		m->last = m->checksum[i] ^= pi[m->block[i] ^ m->last];
}

static void md2_add(struct md2 *m, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	for (; n; n--) {
		m->block[m->n++] = *at++;
		if (m->n < MD2_BLOCK)
			continue;
		mix_block(m);
		add_checksum(m);
		m->n = 0;
	}
}

static void md2_end(struct md2 *m, uint8_t ret_digest[MD2_BLOCK])
{
	uint8_t padding[MD2_BLOCK];

	memset(padding, (int)(MD2_BLOCK - m->n), sizeof(padding));
	md2_add(m, padding, MD2_BLOCK - m->n);
	memcpy(m->block, m->checksum, MD2_BLOCK);
	mix_block(m);
	memcpy(ret_digest, m->state, MD2_BLOCK);
}

/* ---- the number ---- */

/* The key is as long as a block, so it is used as it is. */
static const uint8_t key[MD2_BLOCK] = {0x14, 0x6a, 0xdd, 0xae, 0x53, 0xa9, 0xa7, 0x52,
				       0xaa, 0x08, 0x41, 0x36, 0x0b, 0xf5, 0x5a, 0x9f};

static void add_key(struct md2 *m, uint8_t mask)
{
	uint8_t masked[MD2_BLOCK];
	unsigned i;

	for (i = 0; i < MD2_BLOCK; i++)
		masked[i] = key[i] ^ mask;
	md2_add(m, masked, sizeof(masked));
}

static CUresult add_device(struct md2 *m, CUdevice device)
{
	enum { BUS = 33, SLOT = 34, DOMAIN = 50 };
	const int what[] = {DOMAIN, BUS, SLOT};
	int32_t place[COT_ARRAY_LEN(what)];
	CUuuid uuid;
	CUresult result = cuDeviceGetUuid(&uuid, device);
	size_t i;

	for (i = 0; !result && i < COT_ARRAY_LEN(what); i++)
		result = cuDeviceGetAttribute(&place[i], (CUdevice_attribute)what[i], device);
	if (result)
		return result;
	md2_add(m, uuid.bytes, sizeof(uuid.bytes));
	md2_add(m, place, sizeof(place));
	return CUDA_SUCCESS;
}

CUresult cot_emu_validity_show(const struct cot_emu_validity *v, uint64_t ret_number[2])
{
	uint32_t head[4] = {COT_CUDA_VERSION, v->runtime_version, (uint32_t)getpid(),
			    (uint32_t)(uintptr_t)pthread_self()};
	uint64_t tail[4] = {v->runtime_table, v->validity_table, v->function, v->seconds};
	struct md2 inner = {.n = 0}, outer = {.n = 0};
	uint8_t digest[MD2_BLOCK];
	CUresult result = CUDA_SUCCESS;
	int i;

	add_key(&inner, 0x36);
	md2_add(&inner, head, sizeof(head));
	md2_add(&inner, tail, sizeof(tail));
	for (i = 0; !result && i < cot_emu_n_visible(); i++)
		result = add_device(&inner, i);
	if (result)
		return result;
	md2_end(&inner, digest);
	add_key(&outer, 0x5c);
	md2_add(&outer, digest, sizeof(digest));
	md2_end(&outer, digest);
	memcpy(ret_number, digest, sizeof(digest));
	return CUDA_SUCCESS;
}
