/*
 * How kernels that run together slow each other. An SM that is asked for more than it has gives
 * each kernel its share; a kernel gets on as the average of its SMs. So kernels on the same SMs
 * slow down by the sum of their demands, and kernels on different ones do not notice each other.
 * Pure; for gpu/engine.c.
 */
#ifndef COT_EMU_GPU_LOAD_H
#define COT_EMU_GPU_LOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "emu/gpu/model.h"

struct cot_emu_load {
	uint32_t n_sms;		       /* of the GPU, as far as sets have them */
	uint64_t everywhere;	       /* demand of the kernels that may use all SMs */
	bool parted;		       /* there are others: ... */
	uint32_t on[COT_EMU_SMS_MOST]; /* ... their demand, on each SM; else not filled in */
};

/* No kernel runs yet. */
void cot_emu_load_init(struct cot_emu_load *l, uint32_t n_sms);
void cot_emu_load_add(struct cot_emu_load *l, const struct cot_emu_kernel *k);
bool cot_emu_load_is_none(const struct cot_emu_load *l);

/* How long the kernel, which is one of those that run, takes for so much of its work. */
uint64_t cot_emu_load_time(const struct cot_emu_load *l, const struct cot_emu_kernel *k,
			   uint64_t work_ns);
/* How long the SMs have work in this time, as if all were one. */
uint64_t cot_emu_load_busy(const struct cot_emu_load *l, uint64_t time_ns);

/* How much it does in this time. */
uint64_t cot_emu_load_work(const struct cot_emu_load *l, const struct cot_emu_kernel *k,
			   uint64_t time_ns);

#endif
