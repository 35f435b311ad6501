/* Where calls of the program lead that a launch may wait behind: to merge.c or backend.c, once
 * there is one. */
#include "guest/shim/backend.h"
#include "guest/shim/merge.h"

_Atomic bool cot_shim_merging;
struct cot_shim_merge_hooks cot_shim_merge_hooks;
_Atomic int cot_shim_backend_fault;

void cot_shim_merge_enter(CUstream stream, bool per_thread, bool ends)
{
	cot_shim_merge_hooks.enter(stream, per_thread, ends);
}

void cot_shim_merge_stay(CUstream stream)
{
	cot_shim_merge_hooks.linger(stream);
}

void cot_shim_merge_release_all(void)
{
	cot_shim_merge_hooks.release_all();
}

void cot_shim_merge_stop(void)
{
	cot_shim_merge_hooks.stop();
}
