/*
 * Capture: a stream records its operations as nodes of a graph, instead of doing them.
 *
 * A capture begins in one stream, the origin. Another stream joins it by waiting for an event that
 * was recorded in a stream of the capture. Each stream of the capture knows the nodes that its next
 * one will need. One lock covers all captures; none of this is in a fast path, except for the check
 * whether a stream captures. Thread-safe.
 */
#ifndef COT_EMU_DRIVER_CAPTURE_H
#define COT_EMU_DRIVER_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cuda/abi/calls.h"

struct CUgraph_st;
struct CUstream_st;
struct cot_emu_nodes;
struct cot_emu_task;

/* Is the stream capturing? Then it owns the task now, also on failure. */
CUresult cot_emu_capture_task(struct CUstream_st *s, struct cot_emu_task *task, bool *ret_captured);
/* The same for an event; `external`: for the world outside of the graph. */
CUresult cot_emu_capture_record(struct CUstream_st *s, CUevent event, bool external,
				bool *ret_captured);
CUresult cot_emu_capture_wait(struct CUstream_st *s, CUevent event, bool external,
			      bool *ret_captured);
/* Before a call that a capturing stream cannot take, which spoils the capture. */
CUresult cot_emu_capture_forbid(struct CUstream_st *s);
/* Before a call that might wait for captured work: no capture may forbid it to this thread. */
CUresult cot_emu_capture_check_unsafe(void);
/* Was the event's last record in a capture that goes on? */
bool cot_emu_capture_has(CUevent event);
void cot_emu_capture_forget(CUevent event);
/* The stream is going away. */
void cot_emu_capture_leave(struct CUstream_st *s);

/* ---- for functions that capture ---- */

/* Of this thread; returns the one before. */
CUstreamCaptureMode cot_emu_capture_exchange_mode(CUstreamCaptureMode mode);
/* Into this graph, which stays the caller's; NULL: into a new one. */
CUresult cot_emu_capture_begin(struct CUstream_st *s, struct CUgraph_st *graph,
			       CUstreamCaptureMode mode);
/* The graph is the caller's. */
CUresult cot_emu_capture_end(struct CUstream_st *s, CUgraph *ret_graph);
/* Fails if a capture forbids to use the stream. */
CUresult cot_emu_capture_look(struct CUstream_st *s, CUstreamCaptureStatus *ret_status);

struct cot_emu_capture_info {
	CUstreamCaptureStatus status;
	uint64_t id; /* only of one that is active, as all below */
	CUgraph graph;
	const CUgraphNode *needs; /* of the next node */
	size_t n_needs;
};

struct cot_emu_capture_info cot_emu_capture_info(const struct CUstream_st *s);
/* The stream's next node needs these, too; `only`: and no others. */
CUresult cot_emu_capture_need(struct CUstream_st *s, const struct cot_emu_nodes *nodes, bool only);

#endif
