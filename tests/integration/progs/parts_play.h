/*
 * What the random programs of parts.c are made of: buffers with a copy of each on the host,
 * streams, and the order between operations.
 */
#ifndef COT_TESTS_PARTS_PLAY_H
#define COT_TESTS_PARTS_PLAY_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "common.h"

#define WORDS	    2048u
#define BLOCKS	    32u
#define THREADS	    64u
#define BUFFERS	    6u
#define STREAMS	    6u
#define GRAPHS	    2u
#define SMS_MAX	    1024u
#define THREADS_MAX 8u
#define TOLD	    5u /* mistakes, of each thread */

/* clang-format off */
static const char text[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	/* words[i] = (words[i] * 1664525 + from[i]) ^ salt, after a while */
	".visible .entry churn(.param .u64 words, .param .u64 from, .param .u32 salt, .param .u32 spin,\n"
	"		       .param .u64 seen)\n"
	"{\n"
	"  .reg .pred %p<3>; .reg .b32 %r<14>; .reg .b64 %rd<8>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  ld.param.u64 %rd2, [from];\n"
	"  ld.param.u32 %r1, [salt];\n"
	"  ld.param.u32 %r2, [spin];\n"
	"  ld.param.u64 %rd3, [seen];\n"
	"  mov.u32 %r3, %ctaid.x;\n"
	"  mov.u32 %r4, %tid.x;\n"
	"  mad.lo.u32 %r5, %r3, 64, %r4;\n"
	"  mov.u32 %r6, 0;\n"
	"wait:\n"
	"  add.u32 %r6, %r6, 1;\n"
	"  setp.lt.u32 %p1, %r6, %r2;\n"
	"  @%p1 bra wait;\n"
	"  mul.wide.u32 %rd4, %r5, 4;\n"
	"  add.u64 %rd5, %rd1, %rd4;\n"
	"  add.u64 %rd6, %rd2, %rd4;\n"
	"  ld.global.u32 %r7, [%rd5];\n"
	"  ld.global.u32 %r8, [%rd6];\n"
	"  mad.lo.u32 %r9, %r7, 1664525, %r8;\n"
	"  xor.b32 %r9, %r9, %r1;\n"
	"  st.global.u32 [%rd5], %r9;\n"
	"  mov.u32 %r10, %smid;\n"
	"  mul.wide.u32 %rd7, %r10, 4;\n"
	"  add.u64 %rd7, %rd3, %rd7;\n"
	"  mov.u32 %r11, 1;\n"
	"  st.global.u32 [%rd7], %r11;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

_Static_assert(BLOCKS *THREADS == WORDS, "a thread for each word");

enum { LEGACY, PER_THREAD, BLOCKING_1, BLOCKING_2, FREE_1, FREE_2 };

/* Recorded. */
struct graph {
	CUgraph graph;
	CUgraphExec exec;
	unsigned to, from, set;
	uint32_t salt, value;
};

/* What the nodes of a graph that is built do. */
struct deed {
	uint32_t salt, value, inner_salt;
	bool copies_set; /* instead of what is in `from` */
};

enum { KERNEL, SET, COPY, INSIDE, NODES };

/* Built node by node, and changed so. */
struct built {
	CUgraph graph, inside; /* the second one is the model of the graph inside the first */
	CUgraphExec exec;
	CUgraphNode node[NODES], inner, model;
	bool by_kernel; /* a kernel of a library, not a function of a module */
	unsigned to, from, set, copy;
	struct deed deed; /* of the executable one; what it would be without changes: */
	struct deed first;
	bool off[INSIDE];
};

/* One thread's play: buffers of its own, streams that all share. */
struct play {
	pthread_t thread;
	uint64_t random;
	unsigned seed;
	CUdeviceptr buffer[BUFFERS];
	uint32_t mirror[BUFFERS][WORDS], back[WORDS], *pinned;
	unsigned last[BUFFERS]; /* the stream of the last operation on it */
	CUevent event[STREAMS], timing[2];
	struct graph graphs[GRAPHS];
	struct built built[GRAPHS];
	_Atomic unsigned n_called;
	unsigned n_calls, n_operations, n_checks, n_wrong;
	CUstream told; /* what a callback must name */
};

static CUcontext context;
static CUfunction churn;
static CUkernel churn_kernel; /* the same, of a library */
static CUdeviceptr seen;
static CUstream streams[STREAMS];
static uint32_t spin;
static double until_us;
static unsigned max_operations, n_threads;
static _Atomic unsigned n_bad_callbacks;

static uint32_t draw(struct play *p, uint32_t n)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(p->random >> 33) % n;
}

static bool is_blocking(unsigned stream)
{
	return stream <= BLOCKING_2;
}

/* ---- order ---- */

static void wait_on_host(struct play *p, unsigned stream)
{
	/* No other thread may be recording a graph while one waits for the whole context. */
	switch (draw(p, n_threads > 1 ? 3 : 4)) {
	case 0:
		PROG_CHECK(cuStreamSynchronize(streams[stream]));
		break;
	case 1:
		PROG_CHECK(cuEventRecord(p->event[stream], streams[stream]));
		PROG_CHECK(cuEventSynchronize(p->event[stream]));
		break;
	case 2:
		while (cuStreamQuery(streams[stream]) == CUDA_ERROR_NOT_READY)
			usleep(20);
		break;
	default:
		PROG_CHECK(cuCtxSynchronize());
	}
}

/* The next operation on this buffer is in this stream. */
static void use(struct play *p, unsigned buffer, unsigned stream)
{
	unsigned last = p->last[buffer];

	p->last[buffer] = stream;
	if (last == stream || (stream == LEGACY && is_blocking(last)) ||
	    (last == LEGACY && is_blocking(stream)))
		return; /* CUDA keeps that order by itself */
	if (draw(p, 8) == 0) {
		wait_on_host(p, last);
		return;
	}
	PROG_CHECK(cuEventRecord(p->event[last], streams[last]));
	PROG_CHECK(cuStreamWaitEvent(streams[stream], p->event[last], 0));
}

/* ---- what an operation does to the copy on the host ---- */

static void mirror_churn(struct play *p, unsigned to, unsigned from, uint32_t salt)
{
	unsigned i;

	for (i = 0; i < WORDS; i++)
		p->mirror[to][i] = (p->mirror[to][i] * 1664525u + p->mirror[from][i]) ^ salt;
}

static void launch(struct play *p, CUstream stream, unsigned to, unsigned from, uint32_t salt)
{
	void *params[] = {&p->buffer[to], &p->buffer[from], &salt, &spin, &seen};

	PROG_CHECK(cuLaunchKernel(churn, BLOCKS, 1, 1, THREADS, 1, 1, 0, stream, params, NULL));
}

static void mirror_set(struct play *p, unsigned to, uint32_t value)
{
	unsigned i;

	for (i = 0; i < WORDS / 2; i++)
		p->mirror[to][i] = value;
}

static unsigned other(struct play *p, unsigned buffer)
{
	return (buffer + 1 + draw(p, BUFFERS - 1)) % BUFFERS;
}

#endif
