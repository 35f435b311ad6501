/*
 * A stand-in for NVIDIA's resource manager behind the ioctl boundary: just enough of it to test
 * src/cuda/rm and src/guest/preload. Knows clients, devices, subdevices, channel groups, channels
 * and compute objects; slices, preemption modes, disabled channels. Lives in the caller's memory,
 * which may be shared between processes. One caller at a time (fake_ioctl.c locks).
 */
#ifndef COT_TESTS_FAKE_RM_H
#define COT_TESTS_FAKE_RM_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_MAX_OBJECTS  1024
#define FAKE_CLASS_SHARED 0xfffffffeu

struct fake_object {
	bool live;
	bool disabled, scheduled;
	bool hung; /* a channel that was disabled before it was scheduled: it never runs */
	int pid;
	uint32_t client, handle, parent, class_;
	uint32_t mode;
	uint64_t slice_us;
	uint64_t changed_ns; /* when `disabled` changed last */
};

struct fake_rm {
	struct fake_object objects[FAKE_MAX_OBJECTS];
	unsigned n_objects; /* entries used so far */
	uint32_t next_handle;

	unsigned n_controls, n_disable, n_set_slice, n_preempt, n_foreign;
	uint32_t largest_chunk;
	uint32_t mode_by, disable_by; /* the subdevice of the last of each */

	/* Knobs: what fails, and how (an RM status). */
	uint32_t fail_alloc, fail_get_slice, fail_set_slice, fail_preempt, fail_set_mode;
	uint32_t bad_channel; /* a DISABLE_CHANNELS that names it fails */
	int fail_errno;	      /* every request fails with it */
	unsigned ignore_sets; /* so many SET_TIMESLICEs succeed without effect */
};

/* -1 and errno, or 0 with the status in the request. `fd` is not looked at. */
int fake_rm_ioctl(struct fake_rm *f, int pid, unsigned long request, void *arg, uint64_t now_ns);

/* The live object of that name, or NULL. client 0 = any. */
struct fake_object *fake_rm_find(struct fake_rm *f, uint32_t client, uint32_t handle);

unsigned fake_rm_count(const struct fake_rm *f, uint32_t class_, bool only_disabled);

#endif
