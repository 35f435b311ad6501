/* The shim of a program that is not measured, for tests of everything else. */
#ifndef COT_TESTS_NO_REQUESTS_H
#define COT_TESTS_NO_REQUESTS_H

#include "guest/shim/parts.h"
#include "guest/shim/seen.h"
#include "guest/shim/share.h"
#include "not_timed.h"
#include "test.h"

void cot_shim_seen_operation(CUstream stream, bool per_thread, enum cot_burst_kind kind)
{
	(void)stream;
	(void)per_thread;
	(void)kind;
	fail_msg("it is not measured");
}

void cot_shim_seen_stream_gone(CUstream stream)
{
	(void)stream;
}

void cot_shim_seen_context_gone(CUcontext context)
{
	(void)context;
}

void cot_shim_seen_forget(void)
{
}

void cot_shim_query_forget(void)
{
}

void cot_shim_query_want(void)
{
}

/* And says nothing of its launches. */
void cot_shim_share_stream_gone(CUstream stream)
{
	(void)stream;
}

void cot_shim_share_forget(void)
{
}

#endif
