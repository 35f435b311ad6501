/*
 * Inside the emulated driver: contexts, streams and events. The entry points of libcuda lie over
 * them, in api/, grouped as in NVIDIA's manual; nothing here calls one.
 *
 * A stream is a queue of operations that are retired in order. There are two ways to do that:
 *
 *   by a worker   a thread of the stream's own does one operation after the other, while the
 *                 program goes on. What is done in no time, in a stream that has nothing else to
 *                 do, the caller does at once.
 *   lazily        in contexts that have only the built-in kernels: these are queued on the
 *                 emulated GPU when they are launched, and what operations do to memory is done
 *                 when the program waits for the stream. No thread is needed then, and none comes
 *                 between the model's time and the program.
 *
 * Locks: a stream's lock covers its queue and is never held while waiting; the context list has
 * its own. Order: capture lock, context, stream, event. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_INSIDE_H
#define COT_EMU_DRIVER_INSIDE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/abi/calls.h"
#include "emu/driver/function.h"
#include "emu/driver/task.h"
#include "emu/gpu/shared.h"

#define COT_EMU_CTX_CHANNELS	 8u   /* of a program's own compute group, as CUDA has by default */
#define COT_EMU_CONNECTIONS	 32u  /* at most, as a program may wish */
#define COT_EMU_POOL_CHANNELS	 128u /* at most, of a context that others share */
#define COT_EMU_COPY_GROUPS	 3u
#define COT_EMU_MAX_OPS		 256u /* queued in one stream */
#define COT_EMU_MAX_STREAMS	 1024u
#define COT_EMU_CTX_STACK	 16u
#define COT_EMU_N_LIMITS	 7u
#define COT_EMU_HIGHEST_PRIORITY (-5) /* of streams; the lowest is 0 */

enum cot_emu_op_kind {
	COT_EMU_OP_KERNEL, /* a built-in kernel that is already queued on the GPU */
	COT_EMU_OP_RECORD,
	COT_EMU_OP_WAIT,
	COT_EMU_OP_TASK,
};

struct cot_emu_op {
	enum cot_emu_op_kind kind;
	struct cot_emu_ticket ticket; /* kernel */
	struct cot_emu_task task;     /* kernel, task */
	CUevent event;		      /* record: a reference */
	uint64_t asked_ns;	      /* record */
	struct CUstream_st *other;    /* wait: a reference */
	uint64_t position;	      /* wait: in the other stream; record: of this operation */
};

struct cot_emu_context;
struct CUgreenCtx_st;

/* Where work goes: to a context, or (green) to its part of the SMs. */
struct cot_emu_place {
	struct cot_emu_context *context;
	struct CUgreenCtx_st *green; /* NULL: all SMs */
};

struct CUstream_st {
	_Atomic uint32_t n_refs;
	struct cot_emu_context *context;
	struct CUgreenCtx_st *green; /* a reference, or NULL */
	struct CUstream_st *next;    /* in its context */
	uint64_t id;
	int priority;
	unsigned flags;
	pthread_t owner; /* of a per-thread default stream */
	bool per_thread;
	pthread_mutex_t lock;
	pthread_cond_t changed; /* an operation was queued or retired, or the stream is to end */
	bool has_worker;
	bool closing; /* it accepts no more operations; the worker ends with the last one */
	_Atomic bool dropping; /* queued operations are dropped */
	uint64_t head, tail;   /* operations retired, and queued; positions never repeat */
	struct cot_emu_op ops[COT_EMU_MAX_OPS];
	struct cot_emu_channel_id channel;
	struct cot_emu_ticket last_kernel;
	struct cot_emu_ticket after; /* what the next kernel has to wait for */
	uint64_t last_end_ns;
	struct cot_emu_capture *capture; /* NULL: not capturing; see capture.h */
	struct cot_emu_nodes *capture_nodes;
};

/* What all processes have of an event. */
struct cot_emu_ipc {
	_Atomic uint64_t recorded, done; /* records so far; the last one that is done */
};

struct CUevent_st {
	_Atomic uint32_t n_refs;
	pthread_mutex_t lock;
	const struct cot_emu_context *context;
	struct CUstream_st *stream; /* a reference, once recorded */
	uint64_t position;
	struct cot_emu_ticket kernel; /* the last one before the record */
	unsigned flags;
	bool done;
	uint64_t time_ns;
	struct cot_emu_ipc *ipc; /* of an event of several processes; else NULL */
	int ipc_fd;
	struct cot_emu_capture *capture; /* it was recorded in, and ... */
	struct cot_emu_nodes *nodes;	 /* ... after these */
};

typedef void (*cot_emu_slot_end)(CUcontext ctx, void *key, void *value);

/* What the runtime keeps with a context: api/runtime_tables.c. */
struct cot_emu_slot {
	void *key, *value;
	cot_emu_slot_end end;
	struct cot_emu_slot *next;
};

/* Waits for events on behalf of all streams of a place: barrier.c. */
struct cot_emu_barrier {
	struct CUstream_st *stream; /* NULL: none yet */
	uint64_t position;	    /* what the others wait for; 0: nothing */
};

struct cot_emu_context {
	CUdevice device;
	bool primary, shared;
	uint32_t n_refs; /* of a primary context */
	struct cot_emu_context *next;
	uint32_t rm_client, rm_device, rm_subdevice, rm_group;
	uint32_t n_channels;
	_Atomic uint32_t next_channel;
	struct cot_emu_channel_id channels[COT_EMU_POOL_CHANNELS];
	int pool;	   /* slot at the MPS server, or -1 */
	_Atomic int fault; /* a CUresult that all calls return from now on */
	_Atomic bool lazy; /* only built-in kernels so far; see above */
	unsigned flags;
	uint64_t id;
	pthread_mutex_t lock; /* of the lists */
	struct cot_emu_module *modules;
	struct CUstream_st *streams; /* the newest first, so the highest number */
	uint32_t n_streams;
	struct CUstream_st *null_stream;
	struct cot_emu_barrier barrier;
	struct cot_emu_slot *slots;
	size_t limits[COT_EMU_N_LIMITS];
};

/* ---- init.c ---- */

CUresult cot_emu_init(void);
/* Is the process at its end? Every kernel stops then, for good. */
bool cot_emu_ending(void);
/* CUDA_SUCCESS once cuInit has been called, in this process and not in its parent. */
CUresult cot_emu_ready(void);
struct cot_emu_gpu *cot_emu_machine(void);
/* The GPU behind a device number, or -1: CUDA_VISIBLE_DEVICES chooses and orders. */
int cot_emu_visible(CUdevice device);
int cot_emu_n_visible(void);
bool cot_emu_under_mps(void);
/* CUDA_DEVICE_MAX_CONNECTIONS: how many channels a context is to have. */
uint32_t cot_emu_connections(uint32_t fallback);
/* Of each GPU, as this process sees it: an MPS client may have a share. */
uint32_t cot_emu_n_sms(void);

/* ---- device.c ---- */

/* Of all devices, in bytes. */
uint64_t cot_emu_device_memory(void);
/* The compute capability, such as 90. */
uint32_t cot_emu_device_target(void);
int cot_emu_device_attribute(int what);
/* The same of one device, with what differs; false: there is no such attribute. */
bool cot_emu_device_ask(CUdevice device, int what, int *ret_value);
const char *cot_emu_device_name(void);
CUuuid cot_emu_device_uuid(CUdevice device);

/* ---- node.c: the control device, reached as the real driver reaches it ---- */

/* 0 or -errno. */
int cot_emu_node_open(void);
/* Allocate, control, free; a resource manager's status, or UINT32_MAX when ioctl itself failed. */
uint32_t cot_emu_node_alloc(uint32_t client, uint32_t parent, uint32_t *handle, uint32_t class_,
			    void *params, uint32_t params_size);
uint32_t cot_emu_node_control(uint32_t client, uint32_t object, uint32_t cmd, void *params,
			      uint32_t params_size);
uint32_t cot_emu_node_free(uint32_t client, uint32_t parent, uint32_t object);

/* ---- hardware.c: what a context allocates from the resource manager ---- */

CUresult cot_emu_hardware_create(struct cot_emu_context *c);
void cot_emu_hardware_destroy(struct cot_emu_context *c);
struct cot_emu_channel_id cot_emu_channel_of_token(uint32_t token);

/* ---- current.c ---- */

/* The calling thread's context, checked: initialised, current, not faulted. */
CUresult cot_emu_current(struct cot_emu_context **ret_context);
/* The same, whatever happened to it. */
CUresult cot_emu_current_even_faulted(struct cot_emu_context **ret_context);
/* Unchecked; false: the thread's stack of contexts is full, or empty. */
bool cot_emu_current_push(struct cot_emu_place place);
bool cot_emu_current_pop(struct cot_emu_place *ret_place);
void cot_emu_current_set(struct cot_emu_place place);
/* Unchecked; context NULL: none. */
struct cot_emu_place cot_emu_current_place(void);
/* It is no longer the thread's current one. */
void cot_emu_current_forget(const struct cot_emu_context *c);
void cot_emu_current_forget_green(const struct CUgreenCtx_st *green);

/* ---- ipc.c ---- */

CUresult cot_emu_ipc_make(CUevent event);
void cot_emu_ipc_drop(CUevent event);
CUresult cot_emu_ipc_handle(CUevent event, CUipcEventHandle *ret_handle);
/* `event` becomes the one that this handle is of. */
CUresult cot_emu_ipc_open(const CUipcEventHandle *handle, CUevent event);
CUresult cot_emu_ipc_await(CUevent event, bool block);

/* ---- barrier.c ---- */

/* The event represents all that the place's streams have so far. */
CUresult cot_emu_place_record(struct cot_emu_place place, CUevent event);
/* What its streams get from now on waits for the event. */
CUresult cot_emu_place_wait(struct cot_emu_place place, CUevent event);
/* A new stream waits for what the others of the place wait for. */
CUresult cot_emu_barrier_join(struct cot_emu_place place, struct CUstream_st *stream);

/* ---- context.c ---- */

/* The context behind a handle, also of one of its parts; NULL is the current one. */
CUresult cot_emu_context_get(CUcontext handle, struct cot_emu_context **ret_context);
/* The same, and which part it is. */
CUresult cot_emu_place_get(CUcontext handle, struct cot_emu_place *ret_place);
/* Unchecked, but for green contexts; and back. */
struct cot_emu_place cot_emu_place_of(CUcontext handle);
CUcontext cot_emu_place_handle(struct cot_emu_place place);
CUresult cot_emu_context_make(CUdevice device, unsigned n_shared_channels,
			      struct cot_emu_context **ret_context);
void cot_emu_context_free(struct cot_emu_context *c);
/* Contexts and green ones have numbers that are never used again. */
uint64_t cot_emu_context_next_id(void);
/* Waits for all that the place's streams have; those of green contexts are the context's, too. */
CUresult cot_emu_place_drain(struct cot_emu_place place);
CUresult cot_emu_context_drain(struct cot_emu_context *c);
/* The same for what is there now; what comes meanwhile begins after it. */
void cot_emu_context_settle(struct cot_emu_context *c);
/*
 * Walks through the streams of the place, from the newest on: the first one made before number *id,
 * with a reference, and *id is its number then; NULL: no more. Each stream that is there all the
 * while comes once, also when others come and go between two steps.
 */
#define COT_EMU_NEWEST UINT64_MAX
struct CUstream_st *cot_emu_place_stream(struct cot_emu_place place, uint64_t *id);
/* The device's primary context, or NULL. */
struct cot_emu_context *cot_emu_context_primary(CUdevice device);
void cot_emu_contexts_drop_library(const struct cot_emu_library *l);
/* Notes the first fault, which stays; returns the one that counts. */
CUresult cot_emu_context_fail(struct cot_emu_context *c, CUresult fault);

/* ---- primary.c: a device's primary context ---- */

CUresult cot_emu_primary_retain(CUdevice device, struct cot_emu_context **ret_context);
CUresult cot_emu_primary_release(CUdevice device);
/* The next caller that retains it gets a new one. */
CUresult cot_emu_primary_reset(CUdevice device);
/* How its threads are to wait. */
unsigned cot_emu_primary_flags(CUdevice device);
void cot_emu_primary_set_flags(CUdevice device, unsigned flags);

/* ---- stream.c ---- */

CUresult cot_emu_stream_make(struct cot_emu_place place, unsigned flags, int priority,
			     struct CUstream_st **ret_stream);
/*
 * The nearest valid priority. Kernels of one context share the SMs whatever it is; it is only kept
 * for queries.
 */
int cot_emu_stream_priority(int priority);
void cot_emu_stream_ref(struct CUstream_st *s);
void cot_emu_stream_unref(struct CUstream_st *s);
/* Drops all that is queued, on the GPU too, and waits for the worker to end. */
void cot_emu_stream_abandon(struct CUstream_st *s);
/* The stream behind a handle: NULL and CU_STREAM_LEGACY are the context's own. */
CUresult cot_emu_stream_get(CUstream handle, struct CUstream_st **ret_stream);
/* Queues a copy of *op; it owns what the operation owns from now on, also on failure. */
CUresult cot_emu_stream_push(struct CUstream_st *s, const struct cot_emu_op *op);
/* Queues a task, or does it at once; as above. Kernels and captured streams included. */
CUresult cot_emu_stream_submit(CUstream handle, struct cot_emu_task *task);
/* The same, and returns when it is done, as copies that wait do. */
CUresult cot_emu_stream_submit_and_wait(CUstream handle, struct cot_emu_task *task);
/* Retires all before `position`. Without `block`: CUDA_ERROR_NOT_READY instead of waiting. */
CUresult cot_emu_stream_retire(struct CUstream_st *s, uint64_t position, bool block);
CUresult cot_emu_stream_drain(struct CUstream_st *s, bool block);
/* Takes the stream out of its context and lets go of it when its work is done. */
CUresult cot_emu_stream_close(struct CUstream_st *s);
/* The default stream of where the stream is. */
struct CUstream_st *cot_emu_stream_default(const struct CUstream_st *s);
/* Makes the legacy stream and the blocking ones wait for each other, before an operation. */
CUresult cot_emu_stream_order(struct CUstream_st *s);
CUresult cot_emu_stream_push_wait(struct CUstream_st *s, struct CUstream_st *other,
				  uint64_t position);
bool cot_emu_stream_is_blocking(const struct CUstream_st *s);

/* ---- lazy.c: kernels that are queued on the GPU when they are launched ---- */

CUresult cot_emu_lazy_launch(struct CUstream_st *s, struct cot_emu_op *op);
CUresult cot_emu_lazy_retire_first(struct CUstream_st *s, uint64_t position, bool block);
/* Waits for a kernel on the GPU. */
CUresult cot_emu_kernel_await(struct cot_emu_ticket ticket, bool block,
			      struct cot_emu_outcome *ret_outcome);
void cot_emu_kernel_release(struct cot_emu_ticket ticket);
CUresult cot_emu_kernel_result(struct cot_emu_context *c, int err);
/* A built-in kernel from beginning to end. */
CUresult cot_emu_kernel_run(struct CUstream_st *s, const struct cot_emu_launch *launch);

/* ---- event.c ---- */

void cot_emu_event_ref(CUevent event);
void cot_emu_event_unref(CUevent event);
void cot_emu_event_done(CUevent event, struct CUstream_st *s, uint64_t position, uint64_t time_ns);
/* Now, by a graph that runs in the stream. */
void cot_emu_event_stamp(CUevent event);
CUresult cot_emu_event_await(CUevent event, bool block);
/* In a stream that does not capture. */
CUresult cot_emu_event_record(CUevent event, struct CUstream_st *s);
CUresult cot_emu_event_wait(struct CUstream_st *s, CUevent event);

/* ---- api/runtime_tables.c ---- */

CUresult cot_emu_runtime_table(const void **table, const CUuuid *id);

/* ---- log.c ---- */

/* One line on stderr, beginning with "emulated GPU: ". */
void cot_emu_complain(const char *format, ...) COT_PRINTF(1, 2);
/* The same, only with COTENANT_EMU_LOG=1. */
void cot_emu_note(const char *format, ...) COT_PRINTF(1, 2);

#endif
