/*
 * The one emulated machine that all processes of a COTENANT_EMU_DIR share: a model in shared
 * memory behind a robust mutex, the clock that drives it, and the wait for something to happen.
 *
 * No process is in charge: the process that takes the lock first brings the model up to the
 * present. A process that waits runs a copy of the model ahead to the moment it waits for, and
 * sleeps until then; changes that could bring the moment nearer wake it. Nothing polls.
 *
 * Any process may be killed at any instruction. There are two models. A process changes the
 * inactive one, and a single store makes it the active one, so a change happens entirely or not at
 * all. The mutex is robust. Each process holds a lock on one byte of a file, which the kernel drops
 * when the process dies, even while it waits to be reaped; waiters look at these locks.
 *
 * Thread-safe. One attachment per process; a child after fork() has none until it attaches.
 */
#ifndef COT_EMU_GPU_SHARED_H
#define COT_EMU_GPU_SHARED_H

#include "emu/gpu/config.h"
#include "emu/gpu/model.h"

struct cot_emu_gpu;

/*
 * The attachment of this process, made on first use and kept. -EAGAIN in a child of a process
 * that had one; -ENOSPC: too many processes; -EPROTO: another version is in use there.
 */
int cot_emu_gpu_attach(struct cot_emu_gpu **ret_gpu);
/* The same, without becoming a client: for tools that look. Free it with detach. */
int cot_emu_gpu_observe(struct cot_emu_gpu **ret_gpu);
/* Drops everything that this process owns on the GPU. */
void cot_emu_gpu_detach(struct cot_emu_gpu *gpu);

uint32_t cot_emu_gpu_client(const struct cot_emu_gpu *gpu);
const struct cot_emu_config *cot_emu_gpu_config(const struct cot_emu_gpu *gpu);

/* Takes the lock; the model is at the present and may be changed. NULL if the lock is broken. */
struct cot_emu_model *cot_emu_gpu_begin(struct cot_emu_gpu *gpu);
/* Makes the changes active and drops the lock; `sooner`: the wait of some process may have become
 * shorter. */
void cot_emu_gpu_commit(struct cot_emu_gpu *gpu, bool sooner);

typedef bool (*cot_emu_predicate)(const struct cot_emu_model *m, void *arg);

/*
 * Waits until `done` holds. It is called with the lock held, also on models of the future, and
 * must not have side effects other than on *arg; the last call is on the present. timeout_ns is
 * GPU time, COT_EMU_NEVER waits on. 0, -ETIMEDOUT, -EIO if the lock is broken.
 */
int cot_emu_gpu_wait(struct cot_emu_gpu *gpu, cot_emu_predicate done, void *arg,
		     uint64_t timeout_ns);

/* What this process has of a GPU's memory has changed by so much; and what a client has. */
void cot_emu_gpu_note_memory(struct cot_emu_gpu *gpu, uint32_t index, int64_t bytes);
uint64_t cot_emu_gpu_memory(const struct cot_emu_gpu *gpu, uint32_t client, uint32_t index);

/* The GPU's clock. */
uint64_t cot_emu_gpu_now(const struct cot_emu_gpu *gpu);
/* Drops the clients whose processes have died, before any process notices. */
void cot_emu_gpu_bury(struct cot_emu_gpu *gpu);
/* Sleeps for so much GPU time. */
void cot_emu_gpu_sleep(const struct cot_emu_gpu *gpu, uint64_t gpu_ns);

/* Opens a file of the machine's folder by name: the emulated device nodes. A descriptor or -errno.
 */
int cot_emu_gpu_open_node(const char *name, int flags);

#endif
