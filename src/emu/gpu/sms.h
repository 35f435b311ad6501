/*
 * Sets of SMs of one GPU, by their numbers. Pure values: copied byte by byte, also between
 * processes and into what a program keeps for the driver (CUdevResource).
 */
#ifndef COT_EMU_GPU_SMS_H
#define COT_EMU_GPU_SMS_H

#include <stdbool.h>
#include <stdint.h>

#define COT_EMU_SMS_MOST 640u /* numbers of SMs in a set end before this */

struct cot_emu_sms {
	uint32_t bits[COT_EMU_SMS_MOST / 32];
};

/* The SMs 0 to n - 1, at most COT_EMU_SMS_MOST of them. */
struct cot_emu_sms cot_emu_sms_first(uint32_t n);
uint32_t cot_emu_sms_count(const struct cot_emu_sms *s);
bool cot_emu_sms_has(const struct cot_emu_sms *s, uint32_t sm);
bool cot_emu_sms_meet(const struct cot_emu_sms *a, const struct cot_emu_sms *b);
bool cot_emu_sms_equal(const struct cot_emu_sms *a, const struct cot_emu_sms *b);
void cot_emu_sms_add(struct cot_emu_sms *s, const struct cot_emu_sms *more);
/* The n lowest ones, which leave *from. */
struct cot_emu_sms cot_emu_sms_take(struct cot_emu_sms *from, uint32_t n);
/* Their numbers in order; returns how many. */
uint32_t cot_emu_sms_list(const struct cot_emu_sms *s, uint32_t ret_list[COT_EMU_SMS_MOST]);

#endif
