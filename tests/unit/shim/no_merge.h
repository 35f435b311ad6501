/* The shim of a program whose launches are not merged, for tests of everything else. */
#ifndef COT_TESTS_NO_MERGE_H
#define COT_TESTS_NO_MERGE_H

#include "guest/shim/backend.h"
#include "guest/shim/merge.h"
#include "test.h"

_Atomic bool cot_shim_merging;
_Atomic int cot_shim_backend_fault;

void cot_shim_merge_enter(CUstream stream, bool per_thread, bool ends)
{
	(void)stream;
	(void)per_thread;
	(void)ends;
	fail_msg("nothing is merged");
}

void cot_shim_merge_stay(CUstream stream)
{
	(void)stream;
	fail_msg("nothing is merged");
}

void cot_shim_merge_release_all(void)
{
	fail_msg("nothing is merged");
}

void cot_shim_merge_stream_gone(CUstream stream)
{
	(void)stream;
}

void cot_shim_merge_contexts_gone(void)
{
}

void cot_shim_merge_code_gone(void)
{
}

void cot_shim_merge_stop(void)
{
}

void cot_shim_merge_forget(void)
{
}

int cot_shim_merge_launch(const struct cot_shim_original *o)
{
	(void)o;
	fail_msg("nothing is merged");
	return 0;
}

int cot_shim_backend_launch(const struct cot_shim_original *o)
{
	(void)o;
	fail_msg("nothing is merged");
	return 0;
}

bool cot_shim_backend_alloc(CUdeviceptr *ptr, size_t bytes)
{
	(void)ptr;
	(void)bytes;
	fail_msg("there is no backend");
	return false;
}

bool cot_shim_backend_free(CUdeviceptr ptr, CUresult *ret_rc)
{
	(void)ptr;
	(void)ret_rc;
	fail_msg("there is no backend");
	return false;
}

#endif
