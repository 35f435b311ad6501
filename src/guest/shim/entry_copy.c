/* The entry points that copy between the GPU and the host, whose size counts. */
#include "guest/shim/parts.h"
#include "guest/shim/seen.h"

/* In a stream, which the host does not wait for. */
#define ASYNC(name, params, args, goes_out, per_thread)              \
	CUresult name params                                         \
	{                                                            \
		struct cot_shim_turn turn;                           \
		CUstream in;                                         \
		CUresult rc;                                         \
                                                                     \
		cot_shim_seen_put(stream, per_thread);               \
		cot_shim_query_copy(bytes, goes_out);                \
		in = cot_shim_turn_begin(&turn, stream, per_thread); \
		rc = COT_REAL(name) args;                            \
		cot_shim_turn_end(&turn);                            \
		return rc;                                           \
	}

ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
      (to, from, bytes, in), false, false)
ASYNC(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
      (to, from, bytes, in), false, true)
ASYNC(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
      (to, from, bytes, in), true, false)
ASYNC(cuMemcpyDtoHAsync_v2_ptsz, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
      (to, from, bytes, in), true, true)

/* In the default stream. One that goes out has waited when it returns. */
#define SYNC(name, params, args, goes_out, per_thread)                 \
	CUresult name params                                           \
	{                                                              \
		struct cot_shim_wait wait = {.context = 0};            \
		struct cot_shim_turn turn;                             \
		CUresult rc;                                           \
                                                                       \
		cot_shim_seen_put(NULL, per_thread);                   \
		if (goes_out)                                          \
			cot_shim_wait_stream(&wait, NULL, per_thread); \
		cot_shim_query_copy(bytes, goes_out);                  \
		(void)cot_shim_turn_visit(&turn, NULL, per_thread);    \
		rc = COT_REAL(name) args;                              \
		cot_shim_turn_end(&turn);                              \
		cot_shim_seen_waited(&wait, rc);                       \
		return rc;                                             \
	}

SYNC(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes), false,
     false)
SYNC(cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void *from, size_t bytes), (to, from, bytes),
     false, true)
SYNC(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes), true, false)
SYNC(cuMemcpyDtoH_v2_ptds, (void *to, CUdeviceptr from, size_t bytes), (to, from, bytes), true,
     true)
