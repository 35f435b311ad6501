/*
 * What include/cotenant/request.h finds, and the shim for requests of programs without marks.
 * Nothing happens in a program that is not measured.
 */
#include "base/compiler.h"
#include "guest/marks.h"
#include "guest/os.h"
#include "guest/preload/control.h"

COT_EXPORT void cotenant_request_begin(uint64_t id, uint64_t arrival_ns);
COT_EXPORT void cotenant_request_end(uint64_t id);
COT_EXPORT void cotenant_request_seen(uint64_t begin_ns, uint64_t end_ns);
COT_EXPORT void cotenant_request_unclear(uint64_t n);

COT_EXPORT void cotenant_request_begin(uint64_t id, uint64_t arrival_ns)
{
	if (COT_UNLIKELY(cot_control_measures()))
		cot_marks_begin(id, arrival_ns, cot_now_ns());
}

COT_EXPORT void cotenant_request_end(uint64_t id)
{
	if (COT_UNLIKELY(cot_control_measures()))
		cot_marks_end(id, cot_now_ns());
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
