/* Kernels that stay where the program put them although it has a part, and launches that are there.
 */
#include <string.h>

#include "guest/shim/parts.h"

/*
 * Kernels that wait for others outside of their launch: for the same ones in other processes or on
 * other GPUs. On fewer SMs than they were made for they might wait for ever.
 */
static const char *const waiting[] = {"ncclDevKernel", "ncclKernel", "nvshmem", "nvls_"};

/* By handle: what was found out from the name. */
#define CACHE 1024u

static _Atomic uint64_t cache[CACHE]; /* the handle, and in bit 0 whether it stays */

const char *cot_shim_name_of(CUfunction function)
{
	const char *name = NULL;
	CUfunction of_kernel = NULL;

	if (!COT_REAL(cuFuncGetName)(&name, function) && name)
		return name;
	if (COT_REAL(cuKernelGetFunction)(&of_kernel, (CUkernel)function) ||
	    COT_REAL(cuFuncGetName)(&name, of_kernel))
		return NULL;
	return name;
}

static bool name_says_so(CUfunction function)
{
	const char *name = cot_shim_name_of(function);
	size_t i;

	for (i = 0; name && i < COT_ARRAY_LEN(waiting); i++)
		if (strstr(name, waiting[i]))
			return true;
	return false;
}

bool cot_shim_stays(CUfunction function, enum cot_shim_why *ret_why)
{
	uint64_t handle = (uintptr_t)function & ~1ull;
	_Atomic uint64_t *place = &cache[(handle >> 4 ^ handle >> 14) % CACHE];
	uint64_t seen = atomic_load_explicit(place, memory_order_relaxed);

	if (COT_UNLIKELY((seen & ~1ull) != handle || !handle)) {
		seen = handle | (name_says_so(function) ? 1 : 0);
		atomic_store_explicit(place, seen, memory_order_relaxed);
	}
	*ret_why = COT_SHIM_WHY_PEERS;
	return seen & 1;
}

void cot_shim_stays_forget(void)
{
	unsigned i;

	for (i = 0; i < CACHE; i++)
		atomic_store_explicit(&cache[i], 0, memory_order_relaxed);
}

/* ---- launches at home ---- */

bool cot_shim_is_captured(CUstream stream, bool per_thread)
{
	CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;

	return !(per_thread ? COT_REAL(cuStreamIsCapturing_ptsz)
			    : COT_REAL(cuStreamIsCapturing))(stream, &status) &&
	       status != CU_STREAM_CAPTURE_STATUS_NONE;
}

static void take_back_early(struct cot_shim_parts *p)
{
	uint64_t n = atomic_exchange(&p->n_early, 0);

	if (n && atomic_load(&p->first) == COT_SHIM_FIRST_PART)
		cot_shim_count_early(n);
}

void cot_shim_count_first(struct cot_shim_parts *p, bool part)
{
	if (atomic_load(&p->first))
		return;
	atomic_store(&p->first, part ? COT_SHIM_FIRST_PART : COT_SHIM_FIRST_ALL);
	take_back_early(p);
}

/* With a limit it is to have a part. Without one it is right where it is, unless the daemon wants
 * it on a part first of all: then it was too early. */
static void count_with_parts(struct cot_shim_parts *p)
{
	bool early = COT_UNLIKELY(!atomic_load_explicit(&p->first, memory_order_relaxed));

	if (early && cot_shim_settings.limited) {
		cot_shim_count_stayed(COT_SHIM_WHY_NO_PART);
		return;
	}
	cot_shim_count_followed();
	if (!early)
		return;
	atomic_fetch_add(&p->n_early, 1);
	if (atomic_load(&p->first)) /* only now */
		take_back_early(p);
}

void cot_shim_count_at_home(const struct cot_shim_turn *turn, CUstream stream, bool per_thread)
{
	struct cot_shim_parts *p = turn->stream ? turn->stream->parts
				   : turn->live ? NULL
						: cot_shim_parts_current();

	if (COT_UNLIKELY(turn->strays))
		cot_shim_count_stayed(COT_SHIM_WHY_STREAM);
	else if (p)
		count_with_parts(p);
	else if (!turn->live && !cot_shim_settings.limited)
		cot_shim_count_followed();
	else if (!cot_shim_is_captured(stream, per_thread))
		cot_shim_count_stayed(COT_SHIM_WHY_CONTEXT);
}
