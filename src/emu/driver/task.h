/*
 * What a stream does, or a node of a graph: a kernel, a copy, a fill, a host function, an event.
 * A task owns its arguments and holds references to events and graphs; streams and graphs own
 * their tasks by value. Not thread-safe by itself.
 */
#ifndef COT_EMU_DRIVER_TASK_H
#define COT_EMU_DRIVER_TASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/abi/calls.h"
#include "emu/driver/function.h"

enum cot_emu_task_kind {
	COT_EMU_TASK_EMPTY,
	COT_EMU_TASK_LAUNCH,
	COT_EMU_TASK_COPY,
	COT_EMU_TASK_SET,
	COT_EMU_TASK_HOST,
	COT_EMU_TASK_CALLBACK,
	COT_EMU_TASK_RECORD,
	COT_EMU_TASK_WAIT,
	COT_EMU_TASK_VALUE_WRITE,
	COT_EMU_TASK_VALUE_WAIT,
	COT_EMU_TASK_GRAPH,
	COT_EMU_TASK_FREE,
};

struct cot_emu_graph_exec;

/* Rows of `width` bytes; `height` rows in each of `depth` layers. */
struct cot_emu_copy {
	unsigned char *to;
	const unsigned char *from;
	size_t to_pitch, to_layer, from_pitch, from_layer; /* bytes to the next row and layer */
	size_t width, height, depth;
};

struct cot_emu_fill {
	CUdeviceptr to;
	size_t pitch, width, height; /* width: in elements */
	uint32_t value, element;     /* element: 1, 2 or 4 bytes */
};

struct cot_emu_value {
	CUdeviceptr address;
	uint64_t value;
	uint32_t flags;
	bool wide;
};

struct cot_emu_task {
	enum cot_emu_task_kind kind;
	union {
		struct cot_emu_launch launch; /* its args are `owned` */
		struct cot_emu_copy copy;
		struct cot_emu_fill fill;
		struct cot_emu_value value;
		struct {
			CUhostFn function; /* host */
			CUstreamCallback callback;
			CUstream stream; /* of the callback, as the program names it */
			void *data;
		} host;
		CUevent event;			  /* a reference; record, wait */
		struct cot_emu_graph_exec *graph; /* a reference */
		CUdeviceptr free;
	};
	void *owned; /* malloc'ed: arguments, or the staged source of a copy */
	size_t owned_bytes;
	CUDA_MEMCPY3D *given; /* a copy in a graph: as the program has described it; malloc'ed */
};

/* Both hold references of their own afterwards. */
CUresult cot_emu_task_dup(const struct cot_emu_task *task, struct cot_emu_task *ret_task);
/* Lets go of what it owns; the task is empty then. */
void cot_emu_task_drop(struct cot_emu_task *task);
/* Does it now, on behalf of the stream; returns when it is done. No lock may be held. */
CUresult cot_emu_task_run(struct CUstream_st *s, struct cot_emu_task *task);
/* Is it done in no time, by the CPU alone? */
bool cot_emu_task_quick(const struct cot_emu_task *task);

/* Where the end of a copy must lie. */
enum cot_emu_side { COT_EMU_ANYWHERE, COT_EMU_DEVICE };

CUresult cot_emu_task_flat(void *to, const void *from, size_t bytes, enum cot_emu_side to_side,
			   enum cot_emu_side from_side, struct cot_emu_task *ret_task);
/* Takes the source's bytes now. */
CUresult cot_emu_task_stage(struct cot_emu_task *task);
CUresult cot_emu_task_copy(const CUDA_MEMCPY3D *p, struct cot_emu_task *ret_task);
CUresult cot_emu_task_fill(const CUDA_MEMSET_NODE_PARAMS *p, struct cot_emu_task *ret_task);

#endif
