/*
 * A launch on the CPU (include/cotenant/cpu.h). It keeps its place in its stream because the
 * launching thread waits: first until all that comes before has ended, then while the CPU computes.
 * So whatever goes wrong on the way, the launch can still be made on the GPU, as if nothing had
 * been tried; decisions/0015-cpu.md has the reasons. The first wait is short: a stream that is busy
 * for longer keeps its launches on the GPU.
 */
#include "guest/shim/cpu.h"

#include <errno.h>
#include <string.h>

#include "guest/log.h"
#include "guest/os.h"
#include "guest/shim/parts.h"
#include "guest/shim/wait.h"

#define SPIN_NS (50 * COT_NS_PER_US)
#define NAP_NS	(50 * COT_NS_PER_US)

static int copy_in(void *arg, void *to, uint64_t from, uint64_t bytes)
{
	return COT_REAL(cuMemcpyDtoHAsync_v2)(to, from, bytes, *(const CUstream *)arg);
}

static int copy_out(void *arg, uint64_t to, const void *from, uint64_t bytes)
{
	return COT_REAL(cuMemcpyHtoDAsync_v2)(to, from, bytes, *(const CUstream *)arg);
}

static int wait_for_copies(void *arg)
{
	CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
	int rc;

	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	rc = COT_REAL(cuStreamSynchronize)(*(const CUstream *)arg);
	(void)COT_REAL(cuThreadExchangeStreamCaptureMode)(&mode);
	return rc;
}

static int find_allocation(uint64_t address, uint64_t *ret_begin, uint64_t *ret_bytes)
{
	CUdeviceptr begin = 0;
	size_t bytes = 0;

	if (COT_REAL(cuMemGetAddressRange_v2)(&begin, &bytes, address) || !bytes)
		return -ENOENT;
	*ret_begin = begin;
	*ret_bytes = bytes;
	return 0;
}

/* ---- whether ---- */

static uint64_t product(const unsigned n[3])
{
	/* Of a launch that is too large the driver says so. */
	return (uint64_t)n[0] * n[1] > UINT32_MAX ? UINT64_MAX : (uint64_t)n[0] * n[1] * n[2];
}

static bool is_wanted(const struct cot_shim_original *asked, const struct cot_shim_cpu_kernel *k)
{
	uint64_t blocks = product(asked->config->grid), threads = product(asked->config->block);

	return blocks && threads &&
	       cot_shim_cpu_allows(cot_shim_settings.cpu_upto, k->name, threads, blocks);
}

static CUstream name_stream(const struct cot_shim_original *asked)
{
	if (asked->config->hStream)
		return asked->config->hStream;
	return asked->per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* Whether the CPU could make it: with arguments that a provider understands, at once, and where the
 * context that the calls below act in is the stream's. */
static bool is_plain(const struct cot_shim_original *asked, CUstream stream)
{
	CUcontext current = NULL, of_stream = NULL;

	if (!asked->params || asked->extra || asked->cooperative ||
	    (asked->with_attributes && asked->config->numAttrs))
		return false;
	/* A thread that records a graph may forbid all others to wait. */
	if (cot_shim_any_capture() ||
	    cot_shim_is_captured(asked->config->hStream, asked->per_thread))
		return false;
	return !COT_REAL(cuCtxGetCurrent)(&current) &&
	       !COT_REAL(cuStreamGetCtx)(stream, &of_stream) && current == of_stream;
}

/* ---- the launch ---- */

/* All that comes before it, in its stream and in those that it waits for, has ended. */
static bool wait_idle(CUstream stream)
{
	uint64_t began = cot_now_ns(), now;
	CUevent event;
	int rc;

	if (COT_REAL(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING))
		return false;
	rc = COT_REAL(cuEventRecord)(event, stream);
	while (!rc && (rc = COT_REAL(cuEventQuery)(event)) == CUDA_ERROR_NOT_READY) {
		now = cot_now_ns();
		if (now - began > cot_shim_settings.cpu_wait_ms * COT_NS_PER_MS)
			break;
		if (now - began > SPIN_NS)
			cot_shim_pause(NAP_NS);
		rc = 0;
	}
	(void)COT_REAL(cuEventDestroy_v2)(event);
	return !rc;
}

/* COT_SHIM_WHY_NOT: it has ended on the CPU, and *ret_rc is what copying back came to. */
static enum cot_shim_why run(const struct cot_shim_cpu_kernel *k, struct cot_cpu_launch *launch,
			     CUstream stream, int *ret_rc)
{
	struct cot_shim_cpu_copies copies = {copy_in, copy_out, wait_for_copies, &stream};
	enum cot_shim_why why = COT_SHIM_WHY_NOT;
	int rc;

	if (k->which->memory(k->state, launch, find_allocation) ||
	    launch->n_ranges > COT_CPU_RANGES_MAX || !cot_shim_cpu_merge(launch))
		return COT_SHIM_WHY_CPU_MEMORY;
	if (!wait_idle(stream))
		return COT_SHIM_WHY_CPU_BUSY;
	if (cot_shim_cpu_take(launch, &copies))
		return COT_SHIM_WHY_CPU_MEMORY;
	if (k->which->run(k->state, launch)) {
		why = COT_SHIM_WHY_CPU_FAILED;
	} else {
		rc = cot_shim_cpu_bring(launch, &copies);
		if (rc < 0)
			why = COT_SHIM_WHY_CPU_MEMORY;
		else
			*ret_rc = rc;
	}
	cot_shim_cpu_finish(launch);
	return why;
}

static void fill(struct cot_cpu_launch *launch, const struct cot_shim_original *asked)
{
	const CUlaunchConfig *c = asked->config;

	memset(launch, 0, sizeof(*launch));
	memcpy(launch->grid, c->grid, sizeof(launch->grid));
	memcpy(launch->block, c->block, sizeof(launch->block));
	launch->shared_bytes = c->sharedMemBytes;
	launch->params = asked->params;
}

bool cot_shim_cpu_launch(const struct cot_shim_original *asked, int *ret_rc)
{
	struct cot_shim_ref *r = cot_shim_code_ref(asked->function);
	const struct cot_shim_cpu_kernel *k;
	uint64_t began = cot_now_ns();
	struct cot_cpu_launch launch;
	struct cot_shim_turn turn;
	enum cot_shim_why why = COT_SHIM_WHY_CPU_LAUNCH;
	CUstream stream;

	if (cot_shim_settings.cpu_by_policy && !cot_shim_cpu_is_ordered())
		return false;
	k = r ? cot_shim_cpu_kernel_of(r, asked->function) : NULL;
	if (!k || !is_wanted(asked, k))
		return false;
	stream = name_stream(asked);
	if (is_plain(asked, stream)) {
		fill(&launch, asked);
		cot_shim_turn_begin_workers(&turn, asked->config->hStream, asked->per_thread);
		why = run(k, &launch, stream, ret_rc);
		cot_shim_turn_end(&turn);
		cot_shim_launch_tell(r);
	}
	cot_shim_count_cpu(why, cot_now_ns() - began);
	return why == COT_SHIM_WHY_NOT;
}
