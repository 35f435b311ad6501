/*
 * The probe of doctor_parts.c: a program that fills parts of the SMs with blocks that leave no room
 * for others beside them.
 *
 * It says "ready MPS SMS UNIT UNITS" (MPS: 1 for a client of an MPS server; UNITS counts the one of
 * what is left over), "cannot SENTENCE" or "error SENTENCE", and answers each of these lines with
 * one:
 *
 *     part A B   be on the units [A, B)                                         "ok"
 *     rate       run some kernels                                               "took US", each
 *     busy       keep the part busy from now on, until the next line            "ok"
 *     idle       have nothing to run                                            "ok", or
 *                "gaps" if it had not since it was to be busy
 *     hold MS    a block on each SM, which stays; says how many have begun
 *                when all have, or after so many milliseconds                   "here N MS"
 *     free       let them go                                                    "ok"
 */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/embedded.h"
#include "cli/doctor.h"
#include "cuda/green.h"
#include "emu/driver/builtin.h"

#define KERNEL_NS	   2000000u
#define EMULATED_KERNEL_NS 10000000u
#define EMULATED_BLOCKS	   32u /* of 32 threads fill an SM */
#define N_KERNELS	   16u /* that are timed, and that are ahead */
#define N_FIRST		   4u
#define TRIES		   10u
#define HOLD_NS		   10000000000ull /* unless doctor lets go before */
#define LOOK_US		   100u

extern const struct cot_embedded cot_doctor_ptx[];

struct fill {
	struct cot_driver cuda;
	struct cot_green green;
	struct cot_green_split split;
	CUdevice device;
	int mps, shared_bytes;
	bool emulated;
	CUfunction timed, held; /* NULL: not loaded yet */
	CUgreenCtx part;
	CUstream stream;
	uint32_t n_sms;	 /* of the part */
	uint32_t *words; /* in the host's memory: 1 = leave, then one for each block: it is here */
	CUdeviceptr words_gpu;
	CUevent events[N_KERNELS + 1];
	uint32_t n_ahead; /* kernels since it is busy */
	bool busy, gaps;
};

#define CALL(f, err, function, ...) COT_DRIVER_CALL(&(f)->cuda, err, function, __VA_ARGS__)

/* ---- setting up ---- */

static int open_gpu(struct fill *f, struct cot_error *err)
{
	CUcontext context;
	int rc = cot_driver_open(&f->cuda, err);

	if (!rc)
		rc = CALL(f, err, cuInit, 0);
	if (!rc)
		rc = CALL(f, err, cuDeviceGet, &f->device, 0);
	if (!rc)
		rc = CALL(f, err, cuDevicePrimaryCtxRetain, &context, f->device);
	if (!rc)
		rc = CALL(f, err, cuCtxSetCurrent, context);
	if (!rc)
		rc = CALL(f, err, cuDeviceGetAttribute, &f->shared_bytes,
			  CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, f->device);
	if (!rc &&
	    f->cuda.cuDeviceGetAttribute(&f->mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, f->device))
		f->mps = 0;
	f->emulated = !rc && cot_doctor_is_emulated(&f->cuda, f->device);
	return rc;
}

static int divide(struct fill *f, struct cot_error *err)
{
	int rc = cot_green_init(&f->green, &f->cuda, f->device, err);

	if (rc)
		return rc;
	return cot_green_split(&f->green, COT_GREEN_GROUP_SMS, COT_GREEN_GROUPS_MAX,
			       CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE, &f->split, err);
}

static int make_rest(struct fill *f, struct cot_error *err)
{
	size_t bytes = (1 + f->green.all.sm.smCount) * sizeof(f->words[0]);
	void *words;
	unsigned i;
	int rc = CALL(f, err, cuMemHostAlloc, &words, bytes, 0);

	if (!rc)
		rc = CALL(f, err, cuMemHostGetDevicePointer_v2, &f->words_gpu, words, 0);
	for (i = 0; !rc && i <= N_KERNELS; i++)
		rc = CALL(f, err, cuEventCreate, &f->events[i], 0);
	if (!rc)
		f->words = words;
	return rc;
}

static int load_held(struct fill *f, struct cot_error *err)
{
	CUmodule module;
	int rc;

	if (f->held)
		return 0;
	rc = CALL(f, err, cuModuleLoadData, &module, cot_doctor_ptx[0].bytes);
	if (!rc)
		rc = CALL(f, err, cuModuleGetFunction, &f->held, module, "fill");
	if (!rc)
		rc = CALL(f, err, cuFuncSetAttribute, f->held,
			  CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f->shared_bytes);
	return rc;
}

/* How long a kernel of PTX takes depends on the computer where the GPU is emulated, how long a
 * built-in one takes does not. */
static int load_timed(struct fill *f, struct cot_error *err)
{
	CUmodule module;
	int rc;

	if (f->timed)
		return 0;
	if (!f->emulated) {
		rc = load_held(f, err);
		f->timed = f->held;
		return rc;
	}
	rc = CALL(f, err, cuModuleLoadData, &module, COT_EMU_BUILTIN_IMAGE);
	return rc ? rc : CALL(f, err, cuModuleGetFunction, &f->timed, module, "spin");
}

/* ---- kernels ---- */

/* A block on each SM, which stays for so long. */
static int launch_held(struct fill *f, CUfunction function, uint64_t stop, uint64_t here,
		       uint64_t ns, struct cot_error *err)
{
	void *arguments[] = {&stop, &here, &ns};

	return CALL(f, err, cuLaunchKernel, function, f->n_sms, 1, 1, 1, 1, 1,
		    (unsigned)f->shared_bytes, f->stream, arguments, NULL);
}

static int launch_timed(struct fill *f, struct cot_error *err)
{
	uint64_t block_ns = EMULATED_KERNEL_NS, counter = 0;
	void *arguments[] = {&block_ns, &counter};

	if (!f->emulated)
		return launch_held(f, f->timed, 0, 0, KERNEL_NS, err);
	return CALL(f, err, cuLaunchKernel, f->timed, f->n_sms * EMULATED_BLOCKS, 1, 1, 32, 1, 1, 0,
		    f->stream, arguments, NULL);
}

/* While the first few run, which do not count, the others are queued. */
static int launch_all(struct fill *f, bool *ret_queued, struct cot_error *err)
{
	int rc = 0;
	unsigned i;

	for (i = 0; !rc && i < N_FIRST + N_KERNELS; i++) {
		if (i == N_FIRST)
			rc = CALL(f, err, cuEventRecord, f->events[0], f->stream);
		if (!rc)
			rc = launch_timed(f, err);
	}
	if (!rc)
		rc = CALL(f, err, cuEventRecord, f->events[1], f->stream);
	*ret_queued = f->cuda.cuEventQuery(f->events[0]) == CUDA_ERROR_NOT_READY;
	return rc;
}

/* Again where a busy computer has kept us from queueing them in time. */
static int time_kernels(struct fill *f, double *ret_us, struct cot_error *err)
{
	int rc = load_timed(f, err);
	bool queued = false;
	float ms = 0;
	unsigned n;

	for (n = 0; !rc && !queued && n < TRIES; n++) {
		rc = launch_all(f, &queued, err);
		if (!rc)
			rc = CALL(f, err, cuEventSynchronize, f->events[1]);
	}
	if (!rc)
		rc = CALL(f, err, cuEventElapsedTime, &ms, f->events[0], f->events[1]);
	*ret_us = (double)ms * 1e3 / N_KERNELS;
	return rc;
}

/* One more kernel is queued when the one that is N_KERNELS ahead of it has ended. */
static int go_on(struct fill *f, struct cot_error *err)
{
	CUevent event = f->events[f->n_ahead % N_KERNELS];
	CUevent last = f->events[(f->n_ahead + N_KERNELS - 1) % N_KERNELS];
	int rc = load_timed(f, err);

	if (!rc && f->n_ahead >= N_KERNELS) {
		rc = CALL(f, err, cuEventSynchronize, event);
		f->gaps |= !f->cuda.cuEventQuery(last);
	}
	if (!rc)
		rc = launch_timed(f, err);
	if (!rc)
		rc = CALL(f, err, cuEventRecord, event, f->stream);
	f->n_ahead++;
	return rc;
}

/* Returns when its first kernel has ended. */
static int be_busy(struct fill *f, struct cot_error *err)
{
	int rc = 0;

	f->busy = true;
	f->gaps = false;
	for (f->n_ahead = 0; !rc && f->n_ahead <= N_KERNELS;)
		rc = go_on(f, err);
	return rc;
}

static int be_idle(struct fill *f, struct cot_error *err)
{
	f->busy = false;
	return CALL(f, err, cuStreamSynchronize, f->stream);
}

static uint32_t n_here(const struct fill *f)
{
	uint32_t n = 0, i;

	for (i = 0; i < f->n_sms; i++)
		n += __atomic_load_n(&f->words[1 + i], __ATOMIC_RELAXED);
	return n;
}

static uint64_t now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static int hold(struct fill *f, unsigned ms, uint32_t *ret_here, uint64_t *ret_ms,
		struct cot_error *err)
{
	uint64_t begin_ms, end_ms;
	int rc = load_held(f, err);

	memset(f->words, 0, (1 + f->n_sms) * sizeof(f->words[0]));
	if (!rc)
		rc = launch_held(f, f->held, f->words_gpu, f->words_gpu + sizeof(f->words[0]),
				 HOLD_NS, err);
	begin_ms = now_ms();
	end_ms = begin_ms + ms;
	while (!rc && n_here(f) < f->n_sms && now_ms() < end_ms)
		(void)usleep(LOOK_US);
	*ret_here = n_here(f);
	*ret_ms = now_ms() - begin_ms;
	return rc;
}

static int let_go(struct fill *f, struct cot_error *err)
{
	__atomic_store_n(&f->words[0], 1, __ATOMIC_RELAXED);
	return CALL(f, err, cuStreamSynchronize, f->stream);
}

static int be_on(struct fill *f, unsigned from, unsigned to, struct cot_error *err)
{
	int rc;

	if (from >= to || to > f->split.n)
		return cot_error_set(err, -1, "there is no part of the units %u to %u", from, to);
	if (f->stream)
		(void)f->cuda.cuStreamDestroy_v2(f->stream);
	cot_green_destroy(&f->green, f->part);
	f->part = NULL;
	f->stream = NULL;
	rc = cot_green_create(&f->green, &f->split, from, to, &f->part, err);
	if (!rc)
		rc = cot_green_stream(&f->green, f->part, 0, &f->stream, err);
	f->n_sms = cot_green_n_sms(&f->split, from, to);
	return rc;
}

/* ---- lines ---- */

static int obey(struct fill *f, const char *line, struct cot_error *err)
{
	double us = 0, n[2];
	uint32_t here = 0;
	uint64_t ms = 0;
	int rc;

	if (cot_doctor_numbers(line, "part", 2, n))
		rc = be_on(f, (unsigned)n[0], (unsigned)n[1], err);
	else if (!strcmp(line, "rate"))
		rc = time_kernels(f, &us, err);
	else if (cot_doctor_numbers(line, "hold", 1, n))
		rc = hold(f, (unsigned)n[0], &here, &ms, err);
	else if (!strcmp(line, "free"))
		rc = let_go(f, err);
	else
		rc = !strcmp(line, "busy") ? be_busy(f, err) : be_idle(f, err);
	if (rc)
		return rc;
	if (line[0] == 'r')
		(void)printf("took %.3f\n", us);
	else if (line[0] == 'h')
		(void)printf("here %u %llu\n", here, (unsigned long long)ms);
	else
		(void)printf(line[0] == 'i' && f->gaps ? "gaps\n" : "ok\n");
	(void)fflush(stdout);
	return 0;
}

/* Whether there is a line, or the end of all lines; a busy program does not wait for it. */
static bool has_line(const struct fill *f)
{
	struct pollfd ready = {.fd = STDIN_FILENO, .events = POLLIN};

	return poll(&ready, 1, f->busy ? 0 : -1) > 0;
}

static int serve(struct fill *f, struct cot_error *err)
{
	char line[64];
	ssize_t n;
	int rc = 0;

	while (!rc) {
		if (!has_line(f)) {
			rc = go_on(f, err);
			continue;
		}
		n = read(STDIN_FILENO, line, sizeof(line) - 1);
		if (n <= 0)
			break;
		line[n] = '\0';
		rc = obey(f, line, err);
	}
	return rc;
}

int cot_doctor_fill(void)
{
	struct cot_error err = {{0}};
	struct fill f = {.words = NULL};
	int rc = open_gpu(&f, &err);

	if (!rc && divide(&f, &err)) {
		(void)printf("cannot %s\n", err.text);
		return 0;
	}
	if (!rc)
		rc = make_rest(&f, &err);
	if (!rc) {
		(void)printf("ready %d %u %u %u\n", f.mps, f.green.all.sm.smCount,
			     COT_GREEN_GROUP_SMS, f.split.n);
		(void)fflush(stdout);
		rc = serve(&f, &err);
	}
	if (rc)
		(void)printf("error %s\n", err.text);
	return rc ? 1 : 0;
}
