/*
 * What the tests of src/cuda/rm have in common: a host whose driver is fake_rm.c, and a program
 * that makes requests through cot_rm_pass().
 */
#ifndef COT_TESTS_RM_STAGE_H
#define COT_TESTS_RM_STAGE_H

#include <stdbool.h>

#include "cuda/abi/rm.h"
#include "cuda/rm/rm.h"
#include "support/fake_rm.h"
#include "test.h"

#define CHANNEL_CLASS 0xc86fu
#define COMPUTE_CLASS 0xcbc0u
#define FD	      7

extern struct fake_rm fake;
extern struct cot_rm rm;
extern unsigned n_changed;
extern struct cot_rm_identity file_of[64]; /* what fstat() would say; ino 0 = closed */
extern unsigned long last_request;
extern void (*during_disable)(void); /* called inside the next DISABLE_CHANNELS */

/* Of each test. Pointers into the first page lead nowhere. */
int setup(void **state);

uint32_t alloc_params(int fd, uint32_t client, uint32_t parent, uint32_t class_, const void *params,
		      uint32_t size);
uint32_t alloc(uint32_t client, uint32_t parent, uint32_t class_);
uint32_t control(uint32_t client, uint32_t object, uint32_t cmd, void *params, uint32_t size);
void release(uint32_t client, uint32_t object);
void schedule(uint32_t client, uint32_t group);

/* As the driver's user part makes it: a group with two channels, on one device. */
struct context {
	uint32_t client, device, subdevice, group, channel[2];
};

/* client 0: a new one. */
struct context new_context(uint32_t client, uint32_t instance);
uint64_t slice_of(const struct context *c);
bool is_disabled(const struct context *c, unsigned i);

#endif
