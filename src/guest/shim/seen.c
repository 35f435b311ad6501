/* What burst.c is told: from the program's calls, with the clock and under a lock that is held for
 * no call of the driver. */
#include "guest/shim/seen.h"

#include <pthread.h>
#include <string.h>

#include "guest/os.h"
#include "guest/shim/counts.h"
#include "guest/shim/fork.h"
#include "guest/shim/parts.h"
#include "guest/shim/timed.h"

/* Those of libcotenant.so, if that is there: preload/request.c. */
#define OTHERS __attribute__((weak, visibility("default")))
extern void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns) OTHERS;
extern void cotenant_request_unclear(uint64_t n) OTHERS;

static struct cot_shim_latch lock;
static struct cot_bursts bursts;
static uint64_t n_told;		       /* of bursts.n_unclear */
static bool is_over;		       /* with the lock: a burst has ended */
static _Atomic uint32_t n_begun;       /* waits */
static _Atomic uint64_t asks_since_ns; /* a thread asks again and again; 0: none does */

static bool is_on(void)
{
	return cot_shim_settings.requests && cotenant_request_seen && cot_shim_is_on();
}

/* Whether there is anything that a wait could cover. */
static bool is_busy(void)
{
	return is_on() && atomic_load_explicit(&bursts.n_busy, memory_order_relaxed);
}

static void see(uint64_t begin_ns, uint64_t end_ns)
{
	is_over = true;
	cotenant_request_seen(begin_ns, end_ns);
}

static void begin(void)
{
	cot_shim_latch_take(&lock);
	bursts.seen = see;
	is_over = false;
}

/* Whether somebody wants to know where requests end. */
static bool is_followed(void)
{
	return COT_UNLIKELY(atomic_load_explicit(&cot_shim_queries_on, memory_order_relaxed)) ||
	       cot_shim_is_timed();
}

static void burst_over(uint64_t now_ns)
{
	if (cot_shim_is_timed())
		cot_shim_timed_burst();
	cot_shim_query_burst_over(now_ns);
}

static void end(void)
{
	uint64_t n = bursts.n_unclear - n_told;

	n_told = bursts.n_unclear;
	cot_shim_latch_give(&lock);
	if (COT_UNLIKELY(n) && cotenant_request_unclear)
		cotenant_request_unclear(n);
	if (COT_UNLIKELY(n) && is_followed())
		burst_over(cot_now_ns());
}

/* ---- streams ---- */

static uint64_t current(void)
{
	CUcontext context = NULL;

	return COT_REAL(cuCtxGetCurrent)(&context) ? 0 : (uintptr_t)context;
}

static bool is_default(CUstream stream)
{
	return !stream || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
}

/* home 0: there is no context. */
static struct cot_burst_id id_of(CUstream stream, bool per_thread)
{
	if (!is_default(stream))
		return (struct cot_burst_id){.home = (uintptr_t)stream};
	if (stream == CU_STREAM_PER_THREAD || (!stream && per_thread))
		return (struct cot_burst_id){current(), (uint64_t)pthread_self()};
	return (struct cot_burst_id){current(), COT_BURST_LEGACY};
}

struct looks {
	uint64_t context; /* 0: it is not known */
	bool blocking;
};

/* Without the lock. */
static struct looks look(CUstream stream, struct cot_burst_id id)
{
	CUcontext context = NULL;
	unsigned flags = 0;

	if (is_default(stream))
		return (struct looks){.context = id.home, .blocking = true};
	if (COT_REAL(cuStreamGetCtx)(stream, &context) ||
	    COT_REAL(cuStreamGetFlags)(stream, &flags))
		return (struct looks){.context = 0};
	return (struct looks){.context = (uintptr_t)context,
			      .blocking = !(flags & CU_STREAM_NON_BLOCKING)};
}

static struct cot_burst_stream *begin_with_new(CUstream stream, struct cot_burst_id id)
{
	struct looks l = look(stream, id);

	begin();
	if (l.context)
		return cot_burst_get(&bursts, id, l.context, l.blocking);
	cot_burst_confuse(&bursts);
	return NULL;
}

/* With the lock, which it takes; `s` is what was found. NULL: it cannot be known. */
static struct cot_burst_stream *begin_with(CUstream stream, struct cot_burst_id id,
					   struct cot_burst_stream *s)
{
	if (COT_UNLIKELY(!s))
		return begin_with_new(stream, id);
	begin();
	if (COT_LIKELY(cot_burst_is(s, id)))
		return s;
	end();
	return begin_with_new(stream, id);
}

/* What a graph that is being recorded gets is not done. */
static bool is_captured(CUstream stream, bool per_thread)
{
	return COT_UNLIKELY(cot_shim_any_capture()) && cot_shim_is_captured(stream, per_thread);
}

/* ---- operations ---- */

void cot_shim_seen_operation(CUstream stream, bool per_thread, enum cot_burst_kind kind)
{
	struct cot_burst_stream *s;
	struct cot_burst_id id;
	bool lost_input;
	uint64_t now_ns;

	if (!is_on())
		return;
	id = id_of(stream, per_thread);
	s = cot_burst_find(&bursts, id);
	if (COT_LIKELY(s && cot_burst_has_put(s, kind)))
		return;
	if (!id.home || is_captured(stream, per_thread))
		return;
	now_ns = cot_now_ns();
	s = begin_with(stream, id, s);
	if (s)
		cot_burst_put(&bursts, s, (uint64_t)pthread_self(), kind, now_ns);
	lost_input = bursts.lost_input;
	if (COT_UNLIKELY(lost_input))
		bursts.lost_input = false;
	end();
	if (COT_UNLIKELY(lost_input) && is_followed())
		burst_over(now_ns);
}

void cot_shim_seen_order(CUstream stream, bool per_thread, CUevent after)
{
	struct cot_burst_id id = {0};
	struct cot_burst_stream *s;

	if (is_busy())
		id = id_of(stream, per_thread);
	if (!id.home || is_captured(stream, per_thread))
		return;
	s = begin_with(stream, id, cot_burst_find(&bursts, id));
	if (s)
		cot_burst_order(&bursts, s, cot_burst_recorded(&bursts, (uintptr_t)after));
	end();
}

/* ---- waits ---- */

/* A look at the clock costs a fifth of what a request may: of so many waits one is timed, and not
 * always the same one of a request that has several. */
#define TIMED 8u

/* One that another thread begins at the same time may not count: it is the mixture that matters. */
static bool is_next_timed(void)
{
	uint32_t n = atomic_load_explicit(&n_begun, memory_order_relaxed);

	atomic_store_explicit(&n_begun, n + 1, memory_order_relaxed);
	return (uint32_t)(n * 0x9e3779b1u) < UINT32_MAX / TIMED;
}

static void begin_wait(struct cot_shim_wait *ret_wait, bool stays)
{
	ret_wait->begin_ns = stays && is_next_timed() ? cot_now_ns() : 0;
}

void cot_shim_seen_stream(struct cot_shim_wait *ret_wait, CUstream stream, bool per_thread,
			  bool stays)
{
	struct cot_burst_id id;

	if (COT_LIKELY(!is_busy()) || is_captured(stream, per_thread))
		return;
	ret_wait->context = 0;
	id = id_of(stream, per_thread);
	if (id.home)
		ret_wait->point = cot_burst_point(&bursts, id);
	begin_wait(ret_wait, stays);
}

void cot_shim_seen_context(struct cot_shim_wait *ret_wait, CUcontext context)
{
	if (COT_LIKELY(!is_busy()))
		return;
	ret_wait->context = context ? (uintptr_t)context : current();
	begin();
	ret_wait->point = cot_burst_point_of_context(&bursts, ret_wait->context);
	end();
	begin_wait(ret_wait, true);
}

void cot_shim_seen_event(struct cot_shim_wait *ret_wait, CUevent event, bool stays)
{
	if (COT_LIKELY(!is_busy()))
		return;
	ret_wait->context = 0;
	begin();
	ret_wait->point = cot_burst_recorded(&bursts, (uintptr_t)event);
	end();
	begin_wait(ret_wait, stays);
}

/* Who asks until the answer is yes waits from the first no on. What several threads do at the
 * same time is rather counted too much: then it is the GPU that they wait for. */
void cot_shim_seen_asked(void)
{
	uint64_t none = 0;

	if (!atomic_load_explicit(&asks_since_ns, memory_order_relaxed))
		(void)atomic_compare_exchange_strong(&asks_since_ns, &none, cot_now_ns());
}

/* With the lock. */
static void count_wait(const struct cot_shim_wait *wait, uint64_t now_ns)
{
	uint64_t since_ns = atomic_load_explicit(&asks_since_ns, memory_order_relaxed);
	uint64_t ns = 0;

	if (COT_UNLIKELY(since_ns))
		since_ns = atomic_exchange(&asks_since_ns, 0);
	if (since_ns)
		ns = now_ns > since_ns ? now_ns - since_ns : 0;
	else if (wait->begin_ns && now_ns > wait->begin_ns)
		ns = (now_ns - wait->begin_ns) * TIMED;
	cot_shim_count_gpu_wait(ns);
}

void cot_shim_seen_covered(const struct cot_shim_wait *wait)
{
	uint64_t now_ns = cot_now_ns();
	bool over;

	begin();
	count_wait(wait, now_ns);
	if (wait->context)
		cot_burst_covered_context(&bursts, wait->context, wait->point, now_ns);
	else
		cot_burst_covered(&bursts, wait->point, now_ns);
	over = is_over || (!is_busy() && !bursts.kept_input);
	if (COT_UNLIKELY(bursts.kept_input))
		bursts.kept_input = false;
	end();
	if (over && is_followed())
		burst_over(now_ns);
}

bool cot_shim_is_host(CUdeviceptr to)
{
	unsigned type = 0;

	return cot_shim_settings.requests &&
	       (COT_REAL(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, to) ||
		type == CU_MEMORYTYPE_HOST);
}

/* ---- events ---- */

void cot_shim_seen_event_at(CUevent event, const struct cot_shim_wait *there)
{
	if (!is_on())
		return;
	begin();
	if (there->point.position)
		cot_burst_record(&bursts, (uintptr_t)event, there->point);
	else
		cot_burst_forget(&bursts, (uintptr_t)event);
	end();
}

void cot_shim_seen_event_gone(CUevent event)
{
	if (!is_on())
		return;
	begin();
	cot_burst_forget(&bursts, (uintptr_t)event);
	end();
}

/* ---- ends ---- */

void cot_shim_seen_stream_gone(CUstream stream)
{
	struct cot_burst_stream *s;

	if (is_default(stream) || !is_on())
		return;
	begin();
	s = cot_burst_find(&bursts, id_of(stream, false));
	if (s)
		cot_burst_drop(&bursts, s);
	end();
}

void cot_shim_seen_context_gone(CUcontext context)
{
	if (!is_on())
		return;
	begin();
	cot_burst_drop_context(&bursts, (uintptr_t)context);
	end();
}

void cot_shim_seen_forget(void)
{
	cot_shim_latch_give(&lock);
	memset(&bursts, 0, sizeof(bursts));
	n_told = 0;
	atomic_store(&asks_since_ns, 0);
}
