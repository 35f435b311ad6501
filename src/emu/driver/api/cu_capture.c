/* Capturing streams. */
#include "emu/driver/capture.h"
#include "emu/driver/graph.h"
#include "emu/driver/inside.h"

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	if (!mode || (unsigned)*mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	*mode = cot_emu_capture_exchange_mode(*mode);
	return CUDA_SUCCESS;
}

static CUresult begin(CUstream stream, CUgraph graph, CUstreamCaptureMode mode)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if ((unsigned)mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	/* That of a green context can be captured. */
	if (s == s->context->null_stream)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	return cot_emu_capture_begin(s, graph, mode);
}

CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
	return begin(stream, NULL, mode);
}

/* What is captured comes after these nodes of the graph. */
CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
				     const CUgraphNode *dependencies, const CUgraphEdgeData *edges,
				     size_t n, CUstreamCaptureMode mode)
{
	struct cot_emu_nodes after = {.items = (CUgraphNode *)dependencies, .n = n};
	struct CUstream_st *s;
	CUgraph ended;
	CUresult result;

	(void)edges;
	if (!graph || (n && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	result = begin(stream, graph, mode);
	if (result || !n)
		return result;
	result = cot_emu_stream_get(stream, &s);
	if (!result)
		result = cot_emu_capture_need(s, &after, true);
	if (result)
		(void)cot_emu_capture_end(s, &ended);
	return result;
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !graph)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	return cot_emu_capture_end(s, graph);
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !status)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	return cot_emu_capture_look(s, status);
}

CUresult cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
				   CUgraph *graph, const CUgraphNode **dependencies, size_t *n)
{
	struct cot_emu_capture_info info;
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result || !status)
		return result ? result : CUDA_ERROR_INVALID_VALUE;
	info = cot_emu_capture_info(s);
	*status = info.status;
	if (info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE)
		return CUDA_SUCCESS;
	if (id)
		*id = info.id;
	if (graph)
		*graph = info.graph;
	if (dependencies)
		*dependencies = info.needs;
	if (n)
		*n = info.n_needs;
	return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, uint64_t *id,
				   CUgraph *graph, const CUgraphNode **dependencies,
				   const CUgraphEdgeData **edges, size_t *n)
{
	if (edges)
		*edges = NULL; /* all dependencies are whole ones */
	return cuStreamGetCaptureInfo_v2(stream, status, id, graph, dependencies, n);
}

/* flags 0: add to what the next node needs; 1: put in its place. */
CUresult cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *dependencies, size_t n,
					   unsigned flags)
{
	struct cot_emu_nodes more = {.items = dependencies, .n = n};
	struct CUstream_st *s;
	CUresult result = cot_emu_stream_get(stream, &s);

	if (result)
		return result;
	if (flags > 1 || (n && !dependencies))
		return CUDA_ERROR_INVALID_VALUE;
	return cot_emu_capture_need(s, &more, flags);
}

CUresult cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *dependencies,
					      const CUgraphEdgeData *edges, size_t n,
					      unsigned flags)
{
	(void)edges;
	return cuStreamUpdateCaptureDependencies(stream, dependencies, n, flags);
}
