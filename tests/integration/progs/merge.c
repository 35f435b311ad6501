/*
 * Random programs of launches in several streams, ordered by events, copies, waits and the default
 * stream, whose results are known beforehand: the host does the same to a copy of each buffer. Most
 * launches come in bursts, one in each stream, which `cotenant run --merge` makes one launch.
 *
 *     merge [--seed N] [--programs N] [--threads N]
 *     merge --lurk N
 *     merge --at-once N [--threads N]     each thread launches and waits, N times
 *     merge --each N                      a launch of each of four kernels, each in a stream; N
 * times
 *
 * Prints "programs N launches N checks N wrong N digest HEX"; the digest is of all results in one
 * thread's order. Exit status 1: something was wrong.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <unistd.h>

#include "common.h"

#define WORDS	    256u
#define BUFFERS	    10u
#define STREAMS	    6u
#define THREADS_MAX 4u
#define TOLD	    5u

enum { LEGACY, BLOCKING_1, BLOCKING_2, FREE_1, FREE_2, FREE_3 };

/* clang-format off */
static const char text[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	".global .u32 added = 7;\n"
	/* words[i] = (words[i] * 1664525 + from[i]) ^ salt, of `blocks` blocks of 64 */
	".visible .entry churn(.param .u64 words, .param .u64 from, .param .u32 salt)\n"
	"{\n"
	"  .reg .b32 %r<9>; .reg .b64 %rd<7>;\n"
	"  ld.param.u64 %rd1, [words]; ld.param.u64 %rd2, [from]; ld.param.u32 %r1, [salt];\n"
	"  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %tid.x; mov.u32 %r5, %ntid.x;\n"
	"  mad.lo.u32 %r6, %r3, %r5, %r4;\n"
	"  mul.wide.u32 %rd4, %r6, 4;\n"
	"  add.u64 %rd5, %rd1, %rd4; add.u64 %rd6, %rd2, %rd4;\n"
	"  ld.global.u32 %r7, [%rd5]; ld.global.u32 %r8, [%rd6];\n"
	"  mad.lo.u32 %r7, %r7, 1664525, %r8; xor.b32 %r7, %r7, %r1;\n"
	"  st.global.u32 [%rd5], %r7;\n"
	"  ret;\n"
	"}\n"
	/* In each block of 8 x 8, words[i] += words[the next one of the block] + added * gridDim.y; threads of the
	 * last `left` rows of blocks return at once. */
	".visible .entry turn(.param .u16 left, .param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b16 %h<2>; .reg .b32 %r<16>; .reg .b64 %rd<5>;\n"
	"  .shared .align 4 .b8 tile[256];\n"
	"  ld.param.u16 %h1, [left]; ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ctaid.y;\n"
	"  mov.u32 %r5, %nctaid.x; mov.u32 %r6, %nctaid.y;\n"
	"  cvt.u32.u16 %r7, %h1; sub.u32 %r7, %r6, %r7;\n"
	"  setp.ge.u32 %p1, %r4, %r7; @%p1 ret;\n"
	"  mad.lo.u32 %r8, %r4, %r5, %r3; mad.lo.u32 %r9, %r2, 8, %r1;\n"
	"  mad.lo.u32 %r10, %r8, 64, %r9;\n"
	"  mul.wide.u32 %rd2, %r10, 4; add.u64 %rd3, %rd1, %rd2;\n"
	"  ld.global.u32 %r11, [%rd3];\n"
	"  mov.u32 %r12, tile; mad.lo.u32 %r13, %r9, 4, %r12;\n"
	"  st.shared.u32 [%r13], %r11; bar.sync 0;\n"
	"  add.u32 %r9, %r9, 1; and.b32 %r9, %r9, 63; mad.lo.u32 %r13, %r9, 4, %r12;\n"
	"  ld.shared.u32 %r14, [%r13]; ld.global.u32 %r15, [added];\n"
	"  mad.lo.u32 %r14, %r15, %r6, %r14; add.u32 %r11, %r11, %r14;\n"
	"  st.global.u32 [%rd3], %r11;\n"
	"  ret;\n"
	"}\n"
	/* words[i] = reversed bits of words[i] plus the thread's number in its block, of blocks of 4 x 3 x 2
	 * in z */
	".visible .entry flip(.param .u64 words)\n"
	"{\n"
	"  .reg .b32 %r<9>; .reg .b64 %rd<4>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z; mov.u32 %r4, %ctaid.z;\n"
	"  mad.lo.u32 %r5, %r3, 3, %r2; mad.lo.u32 %r5, %r5, 4, %r1;\n"
	"  mad.lo.u32 %r6, %r4, 24, %r5;\n"
	"  mul.wide.u32 %rd2, %r6, 4; add.u64 %rd3, %rd1, %rd2;\n"
	"  ld.global.u32 %r7, [%rd3]; brev.b32 %r7, %r7; add.u32 %r7, %r7, %r5;\n"
	"  st.global.u32 [%rd3], %r7;\n"
	"  ret;\n"
	"}\n"
	/* words[i] = words[i] * by, of `n` words, in blocks of any size; other threads return at once. */
	".visible .entry scale(.param .u8 by, .param .u32 n, .param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b16 %h<2>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"
	"  ld.param.u8 %h1, [by]; ld.param.u32 %r1, [n]; ld.param.u64 %rd1, [words];\n"
	"  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;\n"
	"  mad.lo.u32 %r5, %r2, %r3, %r4;\n"
	"  setp.ge.u32 %p1, %r5, %r1; @%p1 ret;\n"
	"  mul.wide.u32 %rd2, %r5, 4; add.u64 %rd3, %rd1, %rd2;\n"
	"  ld.global.u32 %r6, [%rd3]; cvt.u32.u16 %r7, %h1; mul.lo.u32 %r6, %r6, %r7;\n"
	"  st.global.u32 [%rd3], %r6;\n"
	"  ret;\n"
	"}\n"
	/* Waits until words[0] is not 0, which another launch or the host does: never merged. */
	".visible .entry lurk(.param .u64 flag, .param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<2>; .reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
	"  ld.param.u64 %rd1, [flag]; ld.param.u64 %rd2, [words];\n"
	"again: ld.volatile.global.u32 %r1, [%rd1]; setp.eq.u32 %p1, %r1, 0; @%p1 bra again;\n"
	"  ld.global.u32 %r2, [%rd2]; add.u32 %r2, %r2, %r1; st.global.u32 [%rd2], %r2;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

struct play {
	pthread_t thread;
	uint64_t random;
	unsigned seed;
	CUstream streams[STREAMS];
	CUdeviceptr buffer[BUFFERS];
	uint32_t mirror[BUFFERS][WORDS], *pinned;
	unsigned last[BUFFERS];
	CUevent event[STREAMS];
	uint64_t digest;
	unsigned n_programs, n_launches, n_checks, n_wrong;
};

static CUcontext context;
static CUfunction churn, turn, flip, scale, lurk;
static unsigned n_threads, n_programs, n_at_once, n_each;

static uint32_t draw(struct play *p, uint32_t n)
{
	p->random = p->random * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(p->random >> 33) % n;
}

/* ---- order ---- */

static bool waits_for_default(unsigned stream)
{
	return stream <= BLOCKING_2;
}

static void wait_on_host(struct play *p, unsigned s)
{
	switch (draw(p, 4)) {
	case 0:
		PROG_CHECK(cuStreamSynchronize(p->streams[s]));
		break;
	case 1:
		PROG_CHECK(cuEventRecord(p->event[s], p->streams[s]));
		PROG_CHECK(cuEventSynchronize(p->event[s]));
		break;
	case 2:
		while (cuStreamQuery(p->streams[s]) == CUDA_ERROR_NOT_READY)
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
	if (last == stream || (stream == LEGACY && waits_for_default(last)) ||
	    (last == LEGACY && waits_for_default(stream)))
		return;
	if (draw(p, 6) == 0) {
		wait_on_host(p, last);
		return;
	}
	PROG_CHECK(cuEventRecord(p->event[last], p->streams[last]));
	PROG_CHECK(cuStreamWaitEvent(p->streams[stream], p->event[last], 0));
}

/* ---- operations ---- */

static void do_churn(struct play *p, unsigned s, unsigned to, unsigned from)
{
	uint32_t salt = draw(p, UINT32_MAX), blocks = 1 + draw(p, 4),
		 threads = draw(p, 4) ? 64 : 32, i;
	void *params[] = {&p->buffer[to], &p->buffer[from], &salt};

	use(p, to, s);
	use(p, from, s);
	PROG_CHECK(
		cuLaunchKernel(churn, blocks, 1, 1, threads, 1, 1, 0, p->streams[s], params, NULL));
	for (i = 0; i < blocks * threads; i++)
		p->mirror[to][i] = (p->mirror[to][i] * 1664525u + p->mirror[from][i]) ^ salt;
	salt = 0; /* the launch has its own copy */
	p->n_launches++;
}

static void do_turn(struct play *p, unsigned s, unsigned to)
{
	uint16_t left = (uint16_t)draw(p, 2);
	uint32_t x = 1 + draw(p, 2), y = 1 + draw(p, 2), block, i;
	uint32_t before[64];
	void *params[] = {&left, &p->buffer[to]};

	use(p, to, s);
	PROG_CHECK(cuLaunchKernel(turn, x, y, 1, 8, 8, 1, draw(p, 12) ? 0 : 128, p->streams[s],
				  params, NULL));
	for (block = 0; block < x * (y - left); block++) {
		memcpy(before, p->mirror[to] + block * 64, sizeof(before));
		for (i = 0; i < 64; i++)
			p->mirror[to][block * 64 + i] = before[i] + before[(i + 1) % 64] + 7 * y;
	}
	left = 9;
	p->n_launches++;
}

static uint32_t reversed(uint32_t x)
{
	uint32_t to = 0, i;

	for (i = 0; i < 32; i++)
		to |= (x >> i & 1) << (31 - i);
	return to;
}

static void do_flip(struct play *p, unsigned s, unsigned to)
{
	uint32_t blocks = 1 + draw(p, 5), i;
	void *params[] = {&p->buffer[to]};

	use(p, to, s);
	PROG_CHECK(cuLaunchKernel(flip, 1, 1, blocks, 4, 3, 2, 0, p->streams[s], params, NULL));
	for (i = 0; i < blocks * 24; i++)
		p->mirror[to][i] = reversed(p->mirror[to][i]) + i % 24;
	p->n_launches++;
}

static void do_scale(struct play *p, unsigned s, unsigned to)
{
	uint32_t n = 1 + draw(p, WORDS), threads = 1 + draw(p, 200), i;
	uint8_t by = (uint8_t)(3 + 2 * draw(p, 100));
	void *params[] = {&by, &n, &p->buffer[to]};

	use(p, to, s);
	PROG_CHECK(cuLaunchKernel(scale, (n + threads - 1) / threads, 1, 1, threads, 1, 1, 0,
				  p->streams[s], params, NULL));
	for (i = 0; i < n; i++)
		p->mirror[to][i] *= by;
	p->n_launches++;
}

static void do_kernel(struct play *p, unsigned which, unsigned s, unsigned to)
{
	if (which == 0)
		do_churn(p, s, to, (to + 1) % BUFFERS);
	else if (which == 1)
		do_turn(p, s, to);
	else if (which == 2)
		do_flip(p, s, to);
	else
		do_scale(p, s, to);
}

/* In each stream one or two, on buffers of their own: of one kernel, or of any. */
static void do_burst(struct play *p)
{
	unsigned s, at = draw(p, BUFFERS), what = draw(p, 6);

	for (s = BLOCKING_1; s < STREAMS; s++) {
		unsigned to = (at + 2 * s) % BUFFERS;

		if (draw(p, 8) == 0)
			continue;
		do_kernel(p, what < 4 ? what : draw(p, 4), s, to);
	}
}

static void do_copy(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), from = (to + 1 + draw(p, BUFFERS - 1)) % BUFFERS;

	use(p, to, s);
	use(p, from, s);
	PROG_CHECK(cuMemcpyDtoDAsync(p->buffer[to], p->buffer[from], WORDS * 4, p->streams[s]));
	memcpy(p->mirror[to], p->mirror[from], WORDS * 4);
}

static void do_set(struct play *p, unsigned s)
{
	unsigned to = draw(p, BUFFERS), i;
	uint32_t value = draw(p, UINT32_MAX);

	if (draw(p, 4) == 0) {
		use(p, to, LEGACY);
		PROG_CHECK(cuMemsetD32(p->buffer[to], value, WORDS / 2));
	} else {
		use(p, to, s);
		PROG_CHECK(cuMemsetD32Async(p->buffer[to], value, WORDS / 2, p->streams[s]));
	}
	for (i = 0; i < WORDS / 2; i++)
		p->mirror[to][i] = value;
}

static void compare(struct play *p, unsigned buffer, const uint32_t *with, const char *how)
{
	unsigned i;

	p->n_checks++;
	for (i = 0; i < WORDS; i++)
		p->digest = (p->digest ^ with[i]) * 0x100000001b3u;
	if (!memcmp(with, p->mirror[buffer], WORDS * 4))
		return;
	memcpy(p->mirror[buffer], with, WORDS * 4); /* what follows is right again */
	if (p->n_wrong++ < TOLD)
		printf("wrong: %s, program %u\n", how, p->seed);
}

static void do_read(struct play *p, unsigned s)
{
	unsigned from = draw(p, BUFFERS);
	uint32_t back[WORDS];

	if (draw(p, 2)) {
		use(p, from, LEGACY);
		PROG_CHECK(cuMemcpyDtoH(back, p->buffer[from], WORDS * 4));
		compare(p, from, back, "cuMemcpyDtoH");
		return;
	}
	use(p, from, s);
	PROG_CHECK(cuMemcpyDtoHAsync(p->pinned, p->buffer[from], WORDS * 4, p->streams[s]));
	wait_on_host(p, s);
	compare(p, from, p->pinned, "cuMemcpyDtoHAsync");
}

/* What is under way uses it; the driver waits for that. */
static void do_free(struct play *p, unsigned s)
{
	unsigned of = draw(p, BUFFERS);
	CUdeviceptr fresh;

	PROG_CHECK(cuMemAlloc(&fresh, WORDS * 4));
	use(p, of, s);
	PROG_CHECK(cuMemcpyDtoDAsync(fresh, p->buffer[of], WORDS * 4, p->streams[s]));
	do_churn(p, s, of, (of + 1) % BUFFERS);
	PROG_CHECK(cuMemcpyDtoDAsync(fresh, p->buffer[of], WORDS * 4, p->streams[s]));
	do_turn(p, s, of);
	PROG_CHECK(cuMemFree(fresh));
}

static void do_renew(struct play *p, unsigned s)
{
	unsigned i;

	if (s == LEGACY)
		return;
	for (i = 0; i < BUFFERS; i++)
		if (p->last[i] == s)
			p->last[i] = LEGACY;
	PROG_CHECK(cuEventRecord(p->event[s], p->streams[s]));
	PROG_CHECK(cuStreamWaitEvent(NULL, p->event[s], 0));
	PROG_CHECK(cuStreamDestroy(p->streams[s]));
	/* All of one priority: what lurks would keep others off the GPU. */
	PROG_CHECK(cuStreamCreate(&p->streams[s], s >= FREE_1 ? CU_STREAM_NON_BLOCKING : 0));
}

static void one_program(struct play *p)
{
	unsigned n = 4 + draw(p, 10), i;
	uint32_t back[WORDS];

	while (n--) {
		unsigned s = draw(p, STREAMS);

		switch (draw(p, 16)) {
		case 0:
			do_copy(p, s);
			break;
		case 1:
			do_set(p, s);
			break;
		case 2:
			do_read(p, s);
			break;
		case 3:
			do_turn(p, s, draw(p, BUFFERS));
			break;
		case 4:
			if (draw(p, 3) == 0)
				do_free(p, s);
			break;
		case 5:
			if (draw(p, 8) == 0)
				do_renew(p, s);
			break;
		default:
			do_burst(p);
		}
	}
	i = draw(p, BUFFERS);
	use(p, i, LEGACY);
	PROG_CHECK(cuMemcpyDtoH(back, p->buffer[i], WORDS * 4));
	compare(p, i, back, "the end of a program");
	p->n_programs++;
}

/*
 * The host ends what waits in one stream only when it has seen what is in the other one end: so
 * what is behind the first must not be one launch with the second. In a process with two streams,
 * since the driver may put more into one queue.
 */
static unsigned lurk_around(unsigned n)
{
	CUstream streams[2];
	CUdeviceptr flag, words[2];
	uint32_t *host, back[2][WORDS], i, n_wrong = 0;
	uint16_t left = 0;
	void *wait[] = {&flag, &words[0]}, *both[2][2] = {{&left, &words[0]}, {&left, &words[1]}};

	PROG_CHECK(cuStreamCreate(&streams[0], CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuStreamCreate(&streams[1], CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuMemAllocHost((void **)&host, 4));
	PROG_CHECK(cuMemHostGetDevicePointer(&flag, host, 0));
	PROG_CHECK(cuMemAlloc(&words[0], WORDS * 4));
	PROG_CHECK(cuMemAlloc(&words[1], WORDS * 4));
	while (n--) {
		PROG_CHECK(cuMemsetD32(words[0], 0, WORDS));
		PROG_CHECK(cuMemsetD32(words[1], 1, WORDS));
		__atomic_store_n(host, 0, __ATOMIC_SEQ_CST);
		/* Both are known to be two that launch. */
		for (i = 0; i < 2; i++)
			PROG_CHECK(cuLaunchKernel(turn, 1, 1, 1, 8, 8, 1, 0, streams[i], both[i],
						  NULL));
		PROG_CHECK(cuStreamSynchronize(streams[1]));
		PROG_CHECK(cuLaunchKernel(lurk, 1, 1, 1, 1, 1, 1, 0, streams[0], wait, NULL));
		for (i = 0; i < 2; i++)
			PROG_CHECK(cuLaunchKernel(turn, 1, 1, 1, 8, 8, 1, 0, streams[i], both[i],
						  NULL));
		PROG_CHECK(cuStreamSynchronize(streams[1]));
		__atomic_store_n(host, 1, __ATOMIC_SEQ_CST);
		PROG_CHECK(cuStreamSynchronize(streams[0]));
		for (i = 0; i < 2; i++)
			PROG_CHECK(cuMemcpyDtoH(back[i], words[i], WORDS * 4));
		/* 7 each, and 1 by the one that waited; then each word and its neighbour, and 7. */
		n_wrong += back[0][0] != 22 || back[0][1] != 21 || back[0][63] != 22;
		n_wrong += back[1][0] != 25 || back[1][63] != 25;
	}
	printf("lurked wrong %u\n", n_wrong);
	return n_wrong;
}

/* Launches of a thread that waits for each. */
static void launch_and_wait(struct play *p)
{
	unsigned i;

	for (i = 0; i < n_at_once; i++) {
		do_churn(p, FREE_1, 0, 1);
		PROG_CHECK(cuStreamSynchronize(p->streams[FREE_1]));
	}
}

/* In streams that wait for no other, but the last one. */
static void launch_each(struct play *p)
{
	unsigned i, k;

	for (i = 0; i < n_each; i++) {
		for (k = 0; k < 4; k++)
			do_kernel(p, (k + i) % 4, BLOCKING_2 + k, 2 * k);
		PROG_CHECK(cuCtxSynchronize());
	}
}

static void *play(void *arg)
{
	struct play *p = arg;
	unsigned i, first = p->seed;
	uint32_t back[WORDS];

	PROG_CHECK(cuCtxSetCurrent(context));
	for (i = BLOCKING_1; i < STREAMS; i++)
		PROG_CHECK(
			cuStreamCreate(&p->streams[i], i >= FREE_1 ? CU_STREAM_NON_BLOCKING : 0));
	for (i = 0; i < STREAMS; i++)
		PROG_CHECK(cuEventCreate(&p->event[i], CU_EVENT_DISABLE_TIMING));
	PROG_CHECK(cuMemAllocHost((void **)&p->pinned, WORDS * 4));
	for (i = 0; i < BUFFERS; i++) {
		PROG_CHECK(cuMemAlloc(&p->buffer[i], WORDS * 4));
		PROG_CHECK(cuMemsetD32(p->buffer[i], 0, WORDS));
	}
	p->digest = 0xcbf29ce484222325u;
	launch_and_wait(p);
	launch_each(p);
	for (; p->seed < first + n_programs; p->seed++) {
		p->random = p->seed * 2654435761ull + 1;
		one_program(p);
	}
	for (i = 0; i < BUFFERS; i++) {
		use(p, i, LEGACY);
		PROG_CHECK(cuMemcpyDtoH(back, p->buffer[i], WORDS * 4));
		compare(p, i, back, "the end");
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct play plays[THREADS_MAX];
	unsigned seed = (unsigned)prog_option(argc, argv, "--seed", 1), i;
	unsigned done = 0, launches = 0, checks = 0, wrong = 0;
	uint64_t digest = 0;
	CUmodule module;

	n_threads = (unsigned)prog_option(argc, argv, "--threads", 1);
	n_threads = n_threads < 1 ? 1 : n_threads > THREADS_MAX ? THREADS_MAX : n_threads;
	n_programs = (unsigned)prog_option(argc, argv, "--programs", 100);
	n_at_once = (unsigned)prog_option(argc, argv, "--at-once", 0);
	n_each = (unsigned)prog_option(argc, argv, "--each", 0);
	n_programs = n_at_once || n_each ? 0 : n_programs;
	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&churn, module, "churn"));
	PROG_CHECK(cuModuleGetFunction(&turn, module, "turn"));
	PROG_CHECK(cuModuleGetFunction(&flip, module, "flip"));
	PROG_CHECK(cuModuleGetFunction(&scale, module, "scale"));
	PROG_CHECK(cuModuleGetFunction(&lurk, module, "lurk"));
	if (prog_option(argc, argv, "--lurk", 0) > 0)
		return lurk_around((unsigned)prog_option(argc, argv, "--lurk", 0)) != 0;
	for (i = 0; i < n_threads; i++) {
		plays[i].seed = seed + i * n_programs;
		if (pthread_create(&plays[i].thread, NULL, play, &plays[i]))
			return 2;
	}
	for (i = 0; i < n_threads; i++) {
		pthread_join(plays[i].thread, NULL);
		done += plays[i].n_programs;
		launches += plays[i].n_launches;
		checks += plays[i].n_checks;
		wrong += plays[i].n_wrong;
		digest ^= plays[i].digest;
	}
	printf("programs %u launches %u checks %u wrong %u digest %016llx\n", done, launches,
	       checks, wrong, (unsigned long long)digest);
	return wrong != 0;
}
