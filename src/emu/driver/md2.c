#include "emu/driver/md2.h"

#include <string.h>

#define ROUNDS 18u

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

static void mix_block(struct cot_emu_md2 *m)
{
	uint8_t t = 0;
	unsigned i, k;

	for (i = 0; i < COT_EMU_MD2_BYTES; i++) {
		m->state[COT_EMU_MD2_BYTES + i] = m->block[i];
		m->state[2 * COT_EMU_MD2_BYTES + i] = m->state[i] ^ m->block[i];
	}
	for (i = 0; i < ROUNDS; i++) {
		for (k = 0; k < sizeof(m->state); k++)
			t = m->state[k] ^= pi[t];
		t = (uint8_t)(t + i);
	}
}

static void add_checksum(struct cot_emu_md2 *m)
{
	unsigned i;

	for (i = 0; i < COT_EMU_MD2_BYTES; i++)
		m->last = m->checksum[i] ^= pi[m->block[i] ^ m->last];
}

void cot_emu_md2_add(struct cot_emu_md2 *m, const void *bytes, size_t n)
{
	const uint8_t *at = bytes;

	for (; n; n--) {
		m->block[m->n++] = *at++;
		if (m->n < COT_EMU_MD2_BYTES)
			continue;
		mix_block(m);
		add_checksum(m);
		m->n = 0;
	}
}

void cot_emu_md2_end(struct cot_emu_md2 *m, uint8_t ret_digest[COT_EMU_MD2_BYTES])
{
	uint8_t padding[COT_EMU_MD2_BYTES];

	memset(padding, (int)(COT_EMU_MD2_BYTES - m->n), sizeof(padding));
	cot_emu_md2_add(m, padding, COT_EMU_MD2_BYTES - m->n);
	memcpy(m->block, m->checksum, COT_EMU_MD2_BYTES);
	mix_block(m);
	memcpy(ret_digest, m->state, COT_EMU_MD2_BYTES);
}
