/*
 * The entry points that take a stream, or are in the default stream without saying so. Most of them
 * are a turn in their virtual stream and nothing else; they come from the one list.
 */
#include <string.h>

#include "guest/shim/backend.h"
#include "guest/shim/fork.h"
#include "guest/shim/parts.h"
#include "guest/shim/seen.h"

/* ---- those that are only handed on ---- */

/* In the arguments of the list, S() is around a stream. */
#define S(stream)                                                   \
	(IS_WORK ? cot_shim_seen_put(stream, PER_THREAD) : (void)0, \
	 cot_shim_turn_begin_for(&turn, stream, PER_THREAD, ENDS))

#define TURN(name, params, args, is_work)          \
	CUresult name params                       \
	{                                          \
		enum { IS_WORK = is_work };        \
		enum { ENDS = true };              \
		struct cot_shim_turn turn;         \
		CUresult rc = COT_REAL(name) args; \
                                                   \
		cot_shim_turn_end(&turn);          \
		return cot_shim_backend_rc(rc);    \
	}
/* The stream is about to wait: for what the program launches later, maybe. Before that the first
 * part can be made. */
static void begin_open(struct cot_shim_open *open)
{
	*open = (struct cot_shim_open){false, false};
	if (!cot_shim_settings.parts || !cot_shim_is_on())
		return;
	(void)cot_shim_part_expect();
	cot_shim_open_begin(open);
}

#define AWAIT(name, params, args)                                             \
	CUresult name params                                                  \
	{                                                                     \
		enum { IS_WORK = false };                                     \
		enum { ENDS = false };                                        \
		struct cot_shim_turn turn;                                    \
		struct cot_shim_open open;                                    \
		CUresult rc;                                                  \
                                                                              \
		begin_open(&open);                                            \
		rc = COT_REAL(name) args;                                     \
		cot_shim_open_end(&open, &turn, stream, PER_THREAD, rc != 0); \
		cot_shim_turn_end(&turn);                                     \
		return cot_shim_backend_rc(rc);                               \
	}
#define VISIT(name, params, args, goes_out)                         \
	CUresult name params                                        \
	{                                                           \
		struct cot_shim_wait wait;                          \
		struct cot_shim_turn turn;                          \
		CUresult rc;                                        \
                                                                    \
		begin_copy(&wait, goes_out, PER_THREAD);            \
		(void)cot_shim_turn_visit(&turn, NULL, PER_THREAD); \
		rc = COT_REAL(name) args;                           \
		cot_shim_turn_end(&turn);                           \
		cot_shim_seen_waited(&wait, rc);                    \
		return cot_shim_backend_rc(rc);                     \
	}

/* Without a stream. One that goes out to the host has waited when it returns. */
static void begin_copy(struct cot_shim_wait *ret_wait, bool goes_out, bool per_thread)
{
	*ret_wait = (struct cot_shim_wait){.context = 0};
	cot_shim_seen_put(NULL, per_thread);
	if (goes_out)
		cot_shim_wait_stream(ret_wait, NULL, per_thread, true);
}

static bool goes_to(CUdeviceptr to)
{
	return cot_shim_is_host(to);
}

static bool is_host(CUmemorytype type, CUdeviceptr to)
{
	return type == CU_MEMORYTYPE_HOST ||
	       (type == CU_MEMORYTYPE_UNIFIED && cot_shim_is_host(to));
}

static bool goes_as_2d(const CUDA_MEMCPY2D *copy)
{
	return copy && is_host(copy->dstMemoryType, copy->dstDevice);
}

static bool goes_as_3d(const CUDA_MEMCPY3D *copy)
{
	return copy && is_host(copy->dstMemoryType, copy->dstDevice);
}

#define FIRST_OF(first, ...) first
#define FIRST(...)	     FIRST_OF(__VA_ARGS__, 0)
#define GOES_OUT(to) \
	_Generic((to),                                                                       \
		CUdeviceptr: goes_to,                                                        \
		const CUDA_MEMCPY2D *: goes_as_2d,                                           \
		const CUDA_MEMCPY3D *: goes_as_3d)(to)

#define DEFINE_PASS(name, params, args)
#define DEFINE_TAKE(name, params, args)
#define DEFINE_ROUTE(name, params, args) TURN(name, params, args, true)
#define DEFINE_QUIET(name, params, args) TURN(name, params, args, false)
#define DEFINE_AWAIT(name, params, args) AWAIT(name, params, args)
#define DEFINE_HOME(name, params, args)	 VISIT(name, params, args, false)
#define DEFINE_OUT(name, params, args)	 VISIT(name, params, args, GOES_OUT(FIRST args))

#define PER_THREAD false
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params)
#define ENTRY_STREAM(name, since, shim, emulated, params, args)	 DEFINE_##shim(name, params, args)
#define ENTRY_DEFAULT(name, since, shim, emulated, params, args) DEFINE_##shim(name, params, args)
#include "cuda/abi/api.def"
#undef PER_THREAD

#define PER_THREAD true
#define ENTRY_PER_THREAD(name, suffix, since, shim, emulated, params)
#define ENTRY_STREAM(name, since, shim, emulated, params, args) \
	DEFINE_##shim(name##_ptsz, params, args)
#define ENTRY_DEFAULT(name, since, shim, emulated, params, args) \
	DEFINE_##shim(name##_ptds, params, args)
#include "cuda/abi/api.def"
#undef PER_THREAD

/* ---- those whose parameters nobody else needs ---- */

/* Ten words: what is beyond a function's own parameters it does not look at. */
#define WORDS                                                                                      \
	uint64_t a0, uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, \
		uint64_t a7, uint64_t a8, uint64_t a9
typedef CUresult function_of_words(WORDS);

/* Instead of the number of a parameter. */
enum { DEFAULT = -1, CAPTURE = -2, OUT = -3, ALL = -4 };

static void begin_capture(struct cot_shim_turn *turn, CUstream stream, bool per_thread)
{
	cot_shim_merge_flush();
	cot_shim_stream_will_capture(stream, per_thread);
	(void)cot_shim_turn_visit(turn, stream, per_thread);
	cot_shim_capture_begin();
}

static void end_begin_capture(struct cot_shim_turn *turn, CUstream stream, bool per_thread,
			      CUresult rc)
{
	if (!rc)
		cot_shim_stream_captures(stream, per_thread);
	cot_shim_capture_begun();
	cot_shim_turn_end(turn);
}

static CUresult route(void *function, int at, bool per_thread, bool waits, uint64_t *a)
{
	CUstream stream = at < 0 ? NULL : (CUstream)(uintptr_t)a[at];
	struct cot_shim_wait wait = {.context = 0};
	struct cot_shim_open open = {false, false};
	struct cot_shim_turn turn;
	CUresult rc;

	if (waits)
		begin_open(&open);
	if (at == DEFAULT || at == OUT)
		begin_copy(&wait, at == OUT, per_thread);
	else if (at >= 0)
		cot_shim_seen_put(stream, per_thread);
	cot_shim_merge_before(NULL, per_thread || at != DEFAULT, false); /* maybe a kernel */
	if (at == DEFAULT || at == OUT)
		(void)cot_shim_turn_visit(&turn, NULL, per_thread);
	else if (at == ALL)
		(void)cot_shim_turn_is_needed(&turn), cot_shim_merge_flush();
	else if (at == CAPTURE)
		begin_capture(&turn, (CUstream)(uintptr_t)a[0], per_thread);
	else
		a[at] = (uintptr_t)cot_shim_turn_begin(&turn, stream, per_thread);
	rc = ((function_of_words *)(uintptr_t)function)(a[0], a[1], a[2], a[3], a[4], a[5], a[6],
							a[7], a[8], a[9]);
	cot_shim_open_end(&open, &turn, stream, per_thread, rc != 0);
	if (at == CAPTURE)
		end_begin_capture(&turn, (CUstream)(uintptr_t)a[0], per_thread, rc);
	else
		cot_shim_turn_end(&turn);
	cot_shim_seen_waited(&wait, rc);
	return rc;
}

/* The names of those for streams of one thread end so. */
static bool is_per_thread(const char *name, size_t n)
{
	return n > 5 && name[n - 5] == '_' && name[n - 4] == 'p' && name[n - 3] == 't';
}

/* For a word in memory, or for an external semaphore. */
static bool waits(const char *name)
{
	return strstr(name, "Wait") || strstr(name, "BatchMemOp");
}

#define NAME(name)
#define ROUTED(name, at, kind)                                                          \
	extern void *cot_real_##name __attribute__((visibility("hidden")));             \
	CUresult name(WORDS) __attribute__((visibility("default")));                    \
	CUresult name(WORDS)                                                            \
	{                                                                               \
		uint64_t a[] = {a0, a1, a2, a3, a4, a5, a6, a7, a8, a9};                \
                                                                                        \
		return route(__atomic_load_n(&cot_real_##name, __ATOMIC_RELAXED), at,   \
			     is_per_thread(#name, sizeof(#name) - 1), waits(#name), a); \
	}
#include "cuda/abi/api.def"

/* ---- captures: at home, so that the graph's kernels are of the whole GPU ---- */

#define BEGIN(name, per_thread, params, args)                     \
	CUresult name params                                      \
	{                                                         \
		struct cot_shim_turn turn;                        \
		CUresult rc;                                      \
                                                                  \
		begin_capture(&turn, stream, per_thread);         \
		rc = COT_REAL(name) args;                         \
		end_begin_capture(&turn, stream, per_thread, rc); \
		return rc;                                        \
	}
#define BEGIN_BOTH(name, params, args)   \
	BEGIN(name, false, params, args) \
	BEGIN(name##_ptsz, true, params, args)

BEGIN_BOTH(cuStreamBeginCapture_v2, (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
BEGIN_BOTH(cuStreamBeginCaptureToGraph,
	   (CUstream stream, CUgraph graph, const CUgraphNode *dependencies,
	    const CUgraphEdgeData *edges, size_t n, CUstreamCaptureMode mode),
	   (stream, graph, dependencies, edges, n, mode))

CUresult cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	CUresult rc = COT_REAL(cuStreamEndCapture)(stream, graph);

	cot_shim_stream_captured(rc);
	return rc;
}

CUresult cuStreamEndCapture_ptsz(CUstream stream, CUgraph *graph)
{
	CUresult rc = COT_REAL(cuStreamEndCapture_ptsz)(stream, graph);

	cot_shim_stream_captured(rc);
	return rc;
}

/* An event of a capture makes the stream that waits for it a part of that. */
static CUresult wait_event(CUstream stream, CUevent event, unsigned flags, bool per_thread)
{
	struct cot_shim_turn turn;
	bool visit = cot_shim_any_capture();
	CUstream to = visit ? cot_shim_turn_visit(&turn, stream, per_thread)
			    : cot_shim_turn_begin_for(&turn, stream, per_thread,
						      cot_shim_merge_event_comes(event));
	CUresult rc = (per_thread ? COT_REAL(cuStreamWaitEvent_ptsz)
				  : COT_REAL(cuStreamWaitEvent))(to, event, flags);

	if (visit)
		cot_shim_stream_look_for_capture(&turn);
	cot_shim_turn_end(&turn);
	if (!rc)
		cot_shim_seen_order(stream, per_thread, event);
	return rc;
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	return wait_event(stream, event, flags, false);
}

CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned flags)
{
	return wait_event(stream, event, flags, true);
}

/* ---- attributes: home has them for the program, and each shadow the same ---- */

CUresult cuStreamSetAttribute(CUstream stream, int what, const CUlaunchAttributeValue *value)
{
	CUresult rc = COT_REAL(cuStreamSetAttribute)(stream, what, value);

	if (!rc && atomic_load(&cot_shim_parts_live))
		cot_shim_stream_attribute(stream, false, what, value);
	return rc;
}

CUresult cuStreamSetAttribute_ptsz(CUstream stream, int what, const CUlaunchAttributeValue *value)
{
	CUresult rc = COT_REAL(cuStreamSetAttribute_ptsz)(stream, what, value);

	if (!rc && atomic_load(&cot_shim_parts_live))
		cot_shim_stream_attribute(stream, true, what, value);
	return rc;
}

static void copy_to_shadows(CUstream to, CUstream from, bool per_thread)
{
	CUlaunchAttributeValue value;
	int what;

	for (what = CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW;
	     what <= CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN; what++)
		if (!(per_thread ? COT_REAL(cuStreamGetAttribute_ptsz)
				 : COT_REAL(cuStreamGetAttribute))(from, what, &value))
			cot_shim_stream_attribute(to, per_thread, what, &value);
}

CUresult cuStreamCopyAttributes(CUstream to, CUstream from)
{
	CUresult rc = COT_REAL(cuStreamCopyAttributes)(to, from);

	if (!rc && atomic_load(&cot_shim_parts_live))
		copy_to_shadows(to, from, false);
	return rc;
}

CUresult cuStreamCopyAttributes_ptsz(CUstream to, CUstream from)
{
	CUresult rc = COT_REAL(cuStreamCopyAttributes_ptsz)(to, from);

	if (!rc && atomic_load(&cot_shim_parts_live))
		copy_to_shadows(to, from, true);
	return rc;
}
