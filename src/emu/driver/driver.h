/*
 * Inside the emulated driver: contexts, streams and events. The entry points of libcuda are in
 * the .c files, grouped as in NVIDIA's manual.
 *
 * Kernels are queued on the emulated GPU when they are launched; everything else in a stream takes
 * no GPU time. What operations do to memory is done when the program waits for or asks about the
 * stream, in stream order: a program cannot tell, short of reading memory without synchronising.
 *
 * Locks: a stream's lock covers its queue and is never held while waiting; the context list has
 * its own. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_DRIVER_H
#define COT_EMU_DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "emu/driver/cuda_abi.h"
#include "emu/driver/function.h"
#include "emu/gpu/shared.h"

#define COT_EMU_CTX_CHANNELS  8u   /* of a program's own compute group, as CUDA has by default */
#define COT_EMU_POOL_CHANNELS 128u /* at most, of a context that others share */
#define COT_EMU_COPY_GROUPS   3u
#define COT_EMU_MAX_OPS	      256u /* queued in one stream */
#define COT_EMU_MAX_STREAMS   1024u
#define COT_EMU_CTX_STACK     16u

enum cot_emu_op_kind {
	COT_EMU_OP_KERNEL,
	COT_EMU_OP_COPY,
	COT_EMU_OP_SET,
	COT_EMU_OP_RECORD,
	COT_EMU_OP_WAIT,
};

struct cot_emu_op {
	enum cot_emu_op_kind kind;
	struct cot_emu_ticket ticket; /* kernel */
	struct cot_emu_launch launch; /* kernel */
	void *owned;		      /* arguments, or the staged source of a copy */
	unsigned char *to;	      /* copy, set */
	const unsigned char *from;    /* copy */
	size_t n;		      /* copy: bytes; set: elements */
	uint32_t value, element;      /* set */
	CUevent event;		      /* record: a reference */
	uint64_t asked_ns;	      /* record */
	struct CUstream_st *other;    /* wait: a reference */
	uint64_t position;	      /* wait: in the other stream; record: of this operation */
};

struct CUstream_st {
	_Atomic uint32_t n_refs;
	struct cot_emu_context *context;
	struct CUstream_st *next; /* in its context */
	pthread_mutex_t lock;
	uint64_t head, tail; /* operations retired, and queued; positions never repeat */
	struct cot_emu_op ops[COT_EMU_MAX_OPS];
	struct cot_emu_channel_id channel;
	struct cot_emu_ticket last_kernel;
	struct cot_emu_ticket after; /* what the next kernel has to wait for */
	uint64_t last_end_ns;
};

struct CUevent_st {
	_Atomic uint32_t n_refs;
	pthread_mutex_t lock;
	struct CUstream_st *stream; /* a reference, once recorded */
	uint64_t position;
	struct cot_emu_ticket kernel; /* the last one before the record */
	bool done;
	uint64_t time_ns;
};

struct cot_emu_block;

struct cot_emu_context {
	CUdevice device;
	bool primary, shared;
	uint32_t n_refs; /* of a primary context */
	struct cot_emu_context *next;
	uint32_t rm_client, rm_device, rm_subdevice, rm_group;
	uint32_t n_sms;
	uint32_t n_channels;
	_Atomic uint32_t next_channel;
	struct cot_emu_channel_id channels[COT_EMU_POOL_CHANNELS];
	int pool;	      /* slot at the MPS server, or -1 */
	_Atomic int fault;    /* a CUresult that all calls return from now on */
	pthread_mutex_t lock; /* of the three lists */
	struct cot_emu_block *blocks;
	struct cot_emu_module *modules;
	struct CUstream_st *streams;
	uint32_t n_streams;
	struct CUstream_st *null_stream;
};

/* ---- init.c ---- */

/* CUDA_SUCCESS once cuInit has been called, in this process and not in its parent. */
CUresult cot_emu_ready(void);
struct cot_emu_gpu *cot_emu_machine(void);
/* The GPU behind a device number, or -1: CUDA_VISIBLE_DEVICES chooses and orders. */
int cot_emu_visible(CUdevice device);
bool cot_emu_under_mps(void);

/* ---- node.c: the control device, reached as the real driver reaches it ---- */

/* 0 or -errno. */
int cot_emu_node_open(void);
/* Allocate, control, free; a resource manager's status, or UINT32_MAX when ioctl itself failed. */
uint32_t cot_emu_node_alloc(uint32_t client, uint32_t parent, uint32_t *handle, uint32_t class_id,
			    void *params, uint32_t params_size);
uint32_t cot_emu_node_control(uint32_t client, uint32_t object, uint32_t cmd, void *params,
			      uint32_t params_size);
uint32_t cot_emu_node_free(uint32_t client, uint32_t parent, uint32_t object);

/* ---- hardware.c: what a context allocates from the resource manager ---- */

CUresult cot_emu_hardware_create(struct cot_emu_context *c);
void cot_emu_hardware_destroy(struct cot_emu_context *c);
struct cot_emu_channel_id cot_emu_channel_of_token(uint32_t token);

/* ---- context.c ---- */

/* The calling thread's context, checked: initialised, current, not faulted. */
CUresult cot_emu_current(struct cot_emu_context **ret_context);
CUresult cot_emu_context_make(CUdevice device, unsigned n_shared_channels,
			      struct cot_emu_context **ret_context);
void cot_emu_context_free(struct cot_emu_context *c);

/* ---- stream.c ---- */

CUresult cot_emu_stream_make(struct cot_emu_context *c, struct CUstream_st **ret_stream);
void cot_emu_stream_ref(struct CUstream_st *s);
void cot_emu_stream_unref(struct CUstream_st *s);
/* Drops all that is queued, on the GPU too. */
void cot_emu_stream_abandon(struct CUstream_st *s);
/* The stream behind a handle: NULL is the context's own. */
CUresult cot_emu_stream_get(CUstream handle, struct CUstream_st **ret_stream);
/* Queues a copy of *op; it owns what the operation owns from now on, also on failure. */
CUresult cot_emu_stream_push(struct CUstream_st *s, const struct cot_emu_op *op);
/* Queues a kernel: launch arguments are owned as above. */
CUresult cot_emu_stream_launch(struct CUstream_st *s, struct cot_emu_op *op,
			       const struct cot_emu_work *work);
/* Retires all before `position`. Without `block`: CUDA_ERROR_NOT_READY instead of waiting. */
CUresult cot_emu_stream_retire(struct CUstream_st *s, uint64_t position, bool block);
CUresult cot_emu_stream_drain(struct CUstream_st *s, bool block);

/* ---- memory.c, module.c: what a context still has when it is destroyed ---- */

void cot_emu_blocks_free(struct cot_emu_context *c);
void cot_emu_modules_free(struct cot_emu_context *c);

/* ---- event.c ---- */

void cot_emu_event_unref(CUevent event);
void cot_emu_event_done(CUevent event, struct CUstream_st *s, uint64_t position, uint64_t time_ns);

#endif
