/*
 * What include/cotenant/request.h finds, and the shim: for requests of programs without marks, and
 * to hear of marks.
 * Nothing happens in a program that is not measured.
 */
#include <stdatomic.h>

#include "base/compiler.h"
#include "guest/marks.h"
#include "guest/os.h"
#include "guest/preload/control.h"

COT_EXPORT void cotenant_request_begin(uint64_t id, uint64_t arrival_ns);
COT_EXPORT void cotenant_request_size(uint64_t id, uint64_t size);
COT_EXPORT void cotenant_request_end(uint64_t id);
COT_EXPORT bool cotenant_request_watch(const struct cot_request_watch *w);
COT_EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns);
COT_EXPORT void cotenant_request_unclear(uint64_t n);

static _Atomic(const struct cot_request_watch *) watch;

static const struct cot_request_watch *watcher(void)
{
	return atomic_load_explicit(&watch, memory_order_acquire);
}

/* Whether the program has marked a request already. */
COT_EXPORT bool cotenant_request_watch(const struct cot_request_watch *w)
{
	atomic_store_explicit(&watch, w, memory_order_release);
	return cot_marks_any();
}

COT_EXPORT void cotenant_request_begin(uint64_t id, uint64_t arrival_ns)
{
	uint64_t now_ns;

	if (COT_LIKELY(!cot_control_measures()))
		return;
	now_ns = cot_now_ns();
	cot_marks_begin(id, arrival_ns, now_ns);
	if (COT_UNLIKELY(watcher() != NULL))
		watcher()->begin(id, arrival_ns, now_ns);
}

COT_EXPORT void cotenant_request_size(uint64_t id, uint64_t size)
{
	if (COT_UNLIKELY(watcher() != NULL))
		watcher()->size(id, size);
}

COT_EXPORT void cotenant_request_end(uint64_t id)
{
	uint64_t now_ns;

	if (COT_LIKELY(!cot_control_measures()))
		return;
	now_ns = cot_now_ns();
	cot_marks_end(id, now_ns);
	if (COT_UNLIKELY(watcher() != NULL))
		watcher()->end(id, now_ns);
}

COT_EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns)
{
	if (cot_control_measures())
		cot_marks_seen(begin_ns, end_ns);
}

COT_EXPORT void cotenant_request_unclear(uint64_t n)
{
	if (cot_control_measures())
		cot_marks_unclear(n);
}
