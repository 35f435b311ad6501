/*
 * The entry points that copy between the GPU and the host, whose size counts. What gives way to
 * others is copied piece by piece: `n` bytes, `at` bytes from the beginning.
 */
#include "guest/shim/parts.h"
#include "guest/shim/seen.h"

#define SEE(way, stream, per_thread)                                   \
	((way) == COT_WAY_IN ? cot_shim_seen_input(stream, per_thread) \
			     : cot_shim_seen_put(stream, per_thread))

/* In a stream, which the host does not wait for. */
#define ASYNC(name, params, args, way, per_thread)                                   \
	CUresult name params                                                         \
	{                                                                            \
		struct cot_shim_turn turn;                                           \
		size_t at = 0, n;                                                    \
		CUstream in;                                                         \
		CUresult rc;                                                         \
                                                                                     \
		SEE(way, stream, per_thread);                                        \
		cot_shim_query_copy(bytes, way);                                     \
		do {                                                                 \
			n = cot_shim_copy_next(bytes - at, way, stream, per_thread); \
			in = cot_shim_turn_begin(&turn, stream, per_thread);         \
			rc = COT_REAL(name) args;                                    \
			cot_shim_turn_end(&turn);                                    \
			at += n;                                                     \
		} while (!rc && at < bytes);                                         \
		return rc;                                                           \
	}

ASYNC(cuMemcpyHtoDAsync_v2, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
      (to + at, (const char *)from + at, n, in), COT_WAY_IN, false)
ASYNC(cuMemcpyHtoDAsync_v2_ptsz, (CUdeviceptr to, const void *from, size_t bytes, CUstream stream),
      (to + at, (const char *)from + at, n, in), COT_WAY_IN, true)
ASYNC(cuMemcpyDtoHAsync_v2, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
      ((char *)to + at, from + at, n, in), COT_WAY_OUT, false)
ASYNC(cuMemcpyDtoHAsync_v2_ptsz, (void *to, CUdeviceptr from, size_t bytes, CUstream stream),
      ((char *)to + at, from + at, n, in), COT_WAY_OUT, true)

/* In the default stream. One that goes out has waited when it returns. */
#define SYNC(name, params, args, way, per_thread)                                  \
	CUresult name params                                                       \
	{                                                                          \
		struct cot_shim_wait wait = {.context = 0};                        \
		struct cot_shim_turn turn;                                         \
		size_t at = 0, n;                                                  \
		CUresult rc;                                                       \
                                                                                   \
		SEE(way, NULL, per_thread);                                        \
		if ((way) == COT_WAY_OUT)                                          \
			cot_shim_wait_stream(&wait, NULL, per_thread, true);       \
		cot_shim_query_copy(bytes, way);                                   \
		do {                                                               \
			n = cot_shim_copy_next(bytes - at, way, NULL, per_thread); \
			(void)cot_shim_turn_visit(&turn, NULL, per_thread);        \
			rc = COT_REAL(name) args;                                  \
			cot_shim_turn_end(&turn);                                  \
			at += n;                                                   \
		} while (!rc && at < bytes);                                       \
		cot_shim_seen_waited(&wait, rc);                                   \
		return rc;                                                         \
	}

SYNC(cuMemcpyHtoD_v2, (CUdeviceptr to, const void *from, size_t bytes),
     (to + at, (const char *)from + at, n), COT_WAY_IN, false)
SYNC(cuMemcpyHtoD_v2_ptds, (CUdeviceptr to, const void *from, size_t bytes),
     (to + at, (const char *)from + at, n), COT_WAY_IN, true)
SYNC(cuMemcpyDtoH_v2, (void *to, CUdeviceptr from, size_t bytes), ((char *)to + at, from + at, n),
     COT_WAY_OUT, false)
SYNC(cuMemcpyDtoH_v2_ptds, (void *to, CUdeviceptr from, size_t bytes),
     ((char *)to + at, from + at, n), COT_WAY_OUT, true)
