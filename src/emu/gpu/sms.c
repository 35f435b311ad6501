#include "emu/gpu/sms.h"

#include <string.h>

#define N_WORDS (COT_EMU_SMS_MOST / 32)

static void put(struct cot_emu_sms *s, uint32_t sm)
{
	s->bits[sm / 32] |= 1u << sm % 32;
}

struct cot_emu_sms cot_emu_sms_first(uint32_t n)
{
	struct cot_emu_sms s = {{0}};
	uint32_t sm;

	for (sm = 0; sm < n && sm < COT_EMU_SMS_MOST; sm++)
		put(&s, sm);
	return s;
}

uint32_t cot_emu_sms_count(const struct cot_emu_sms *s)
{
	uint32_t n = 0, w;

	for (w = 0; w < N_WORDS; w++)
		n += (uint32_t)__builtin_popcount(s->bits[w]);
	return n;
}

bool cot_emu_sms_has(const struct cot_emu_sms *s, uint32_t sm)
{
	return sm < COT_EMU_SMS_MOST && s->bits[sm / 32] >> sm % 32 & 1;
}

bool cot_emu_sms_meet(const struct cot_emu_sms *a, const struct cot_emu_sms *b)
{
	uint32_t common = 0, w;

	for (w = 0; w < N_WORDS; w++)
		common |= a->bits[w] & b->bits[w];
	return common;
}

bool cot_emu_sms_equal(const struct cot_emu_sms *a, const struct cot_emu_sms *b)
{
	return !memcmp(a, b, sizeof(*a));
}

void cot_emu_sms_add(struct cot_emu_sms *s, const struct cot_emu_sms *more)
{
	uint32_t w;

	for (w = 0; w < N_WORDS; w++)
		s->bits[w] |= more->bits[w];
}

struct cot_emu_sms cot_emu_sms_take(struct cot_emu_sms *from, uint32_t n)
{
	struct cot_emu_sms taken = {{0}};
	uint32_t sm;

	for (sm = 0; n && sm < COT_EMU_SMS_MOST; sm++) {
		if (!cot_emu_sms_has(from, sm))
			continue;
		put(&taken, sm);
		from->bits[sm / 32] &= ~(1u << sm % 32);
		n--;
	}
	return taken;
}

uint32_t cot_emu_sms_list(const struct cot_emu_sms *s, uint32_t ret_list[COT_EMU_SMS_MOST])
{
	uint32_t n = 0, sm;

	for (sm = 0; sm < COT_EMU_SMS_MOST; sm++)
		if (cot_emu_sms_has(s, sm))
			ret_list[n++] = sm;
	return n;
}
