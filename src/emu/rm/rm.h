/*
 * The emulated resource manager: what the kernel driver does with an ioctl on its control device,
 * for the requests that matter here (allocate, control, free). Thread-safe. Handles belong to the
 * process that allocated them; a child after fork() has none.
 */
#ifndef COT_EMU_RM_RM_H
#define COT_EMU_RM_RM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * As ioctl(2): 0, or -1 with errno; the resource manager's own status is in the block at `arg`.
 * Sleeps for the time that a call to the firmware takes, and for as long as a freeze or preempt
 * waits for the GPU.
 */
int cot_emu_rm_ioctl(unsigned long request, void *arg);

/* Opens an emulated /dev/nvidia* by its path; -1 with errno. ENOENT: no such device here. */
int cot_emu_rm_open(const char *path, int flags);
/* Would cot_emu_rm_open know the path? */
bool cot_emu_rm_is_node(const char *path);
/* Is this descriptor, or what it was duplicated from, one of ours? */
bool cot_emu_rm_is_ours(int fd);

#endif
