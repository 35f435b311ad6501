/* The end of a launch: how it is waited for, and what its time tells. */
#ifndef COT_GUEST_SHIM_END_H
#define COT_GUEST_SHIM_END_H

#include <stdbool.h>
#include <stdint.h>

struct cot_shim_slot;

/* The events that the slot's launch needs. The driver's result. */
int cot_shim_end_make(struct cot_shim_slot *s);
void cot_shim_end_unmake(struct cot_shim_slot *s);
/* Counts a launch; whether its time is to be measured. */
bool cot_shim_end_is_timed(const struct cot_shim_slot *s);
/* How long it takes, if the GPU does nothing else; COT_NEVER: nobody knows. */
uint64_t cot_shim_end_expected_ns(const struct cot_shim_slot *s);
/* It has ended. */
void cot_shim_end_learn(const struct cot_shim_slot *s);
/* By the thread that made a settled launch, without the lock. */
void cot_shim_end_wait(const struct cot_shim_slot *s);

#endif
