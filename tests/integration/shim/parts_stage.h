/*
 * What the tests of virtual streams share: this process is the program under the shim, before the
 * emulated driver, and its daemon at once. Kernels wait at gates that the test opens, and append a
 * digit to a log.
 */
#ifndef COT_TESTS_PARTS_STAGE_H
#define COT_TESTS_PARTS_STAGE_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda/abi/cuda.h"
#include "proto/proto.h"
#include "test.h"

#define SMS	132u
#define LONG_MS 20000
#define HANG_S	150
#define A_WHILE 20000 /* us: long enough for what does not wait, mostly; nothing fails if not */

/* clang-format off */
#define KERNEL(name)                                                                              \
	".visible .entry " name "(.param .u64 gate, .param .u64 log, .param .u32 digit)\n"        \
	"{\n"                                                                                     \
	"  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<4>;\n"                                \
	"  ld.param.u64 %rd1, [gate];\n"                                                          \
	"  ld.param.u64 %rd2, [log];\n"                                                           \
	"  ld.param.u32 %r1, [digit];\n"                                                          \
	"  mov.u32 %r4, %ctaid.x;\n"                                                              \
	"  setp.ne.u32 %p1, %r4, 0;\n"                                                            \
	"  @%p1 bra end;\n"                                                                       \
	"closed:\n"                                                                               \
	"  ld.volatile.global.u32 %r2, [%rd1];\n"                                                 \
	"  setp.eq.u32 %p1, %r2, 0;\n"                                                            \
	"  @%p1 bra closed;\n"                                                                    \
	"  ld.volatile.global.u32 %r3, [%rd2];\n"                                                 \
	"  mov.u32 %r2, 0;\n"                                                                     \
	"again:\n" /* what runs beside it would be lost */                                       \
	"  add.u32 %r2, %r2, 1;\n"                                                                \
	"  setp.lt.u32 %p1, %r2, 2000;\n"                                                         \
	"  @%p1 bra again;\n"                                                                     \
	"  mad.lo.u32 %r3, %r3, 10, %r1;\n"                                                       \
	"  st.volatile.global.u32 [%rd2], %r3;\n"                                                 \
	"  mov.u32 %r5, %smid;\n"                                                                 \
	"  st.volatile.global.u32 [%rd2+4], %r5;\n"                                               \
	"end: ret;\n"                                                                             \
	"}\n"
static const char text[] = ".version 7.0\n.target sm_70\n.address_size 64\n"
	KERNEL("note") KERNEL("ncclDevKernel_note");
/* clang-format on */

static union {
	struct cot_msg_header h;
	struct cot_msg_parts parts;
	struct cot_msg_placed placed;
	struct cot_msg_part_counts counts;
	unsigned char bytes[COT_PROTO_PACKET_MAX];
} in;

static int listener = -1, conn = -1;
static uint32_t last_seq;
static CUcontext context;
static CUmodule module;
static CUfunction note, nccl;
static CUstream plain, waits; /* the default stream waits for the second one */
/* In host memory: gates 0 (open) to 3, a log, and on which SM the last kernel was. */
static volatile uint32_t *host;
#define GATES 4u
#define LOG   8u

#define OK(call) assert_int_equal(call, CUDA_SUCCESS)

/* ---- the daemon ---- */

static inline void send_packet(void *packet, enum cot_msg_type type, size_t size, uint32_t seq)
{
	cot_proto_header(packet, type, (uint32_t)size, seq);
	assert_int_equal(send(conn, packet, size, MSG_NOSIGNAL), (ssize_t)size);
}

/* The next packet; 0: none came. */
static inline int get(int ms)
{
	struct pollfd p = {.fd = conn, .events = POLLIN};
	ssize_t n;

	if (poll(&p, 1, ms) != 1)
		return 0;
	n = recv(conn, in.bytes, sizeof(in.bytes), 0);
	assert_true(n > 0);
	return cot_proto_check(in.bytes, (size_t)n);
}

static inline void expect(enum cot_msg_type type)
{
	int got;

	do
		got = get(LONG_MS);
	while (got == COT_MSG_WORK_COUNTS || (got == COT_MSG_PART_COUNTS && got != (int)type));
	assert_int_equal(got, type);
}

static inline void welcome(void)
{
	struct cot_msg_work_welcome m = {.tenant = 3, .works_max = COT_PROTO_WORKS_MAX};
	struct pollfd p = {.fd = listener, .events = POLLIN};

	assert_int_equal(poll(&p, 1, LONG_MS), 1);
	conn = accept(listener, NULL, NULL);
	assert_true(conn >= 0);
	expect(COT_MSG_WORK_HELLO);
	send_packet(&m, COT_MSG_WORK_WELCOME, sizeof(m), 0);
	expect(COT_MSG_PARTS);
}

static inline void ask(unsigned first, unsigned n)
{
	struct cot_msg_place m = {.first = (uint16_t)first, .n = (uint16_t)n};

	send_packet(&m, COT_MSG_PLACE, sizeof(m), ++last_seq);
}

/* The next answer to it. */
static inline int answer(void)
{
	expect(COT_MSG_PLACED);
	assert_int_equal(in.h.seq, last_seq);
	return in.placed.status;
}

/* The last answer: until then a smaller part may stand in for the one that is asked for. */
static inline int place(unsigned first, unsigned n)
{
	unsigned most = first < SMS && n > SMS - first ? SMS - first : n;

	ask(first, n);
	while (answer() == 0 && in.placed.n && in.placed.n < most)
		;
	return in.placed.status;
}

static inline void placed(unsigned first, unsigned n)
{
	assert_int_equal(place(first, n), 0);
	assert_int_equal(in.placed.first, first);
	assert_int_equal(in.placed.n, n);
}

/* ---- the driver ---- */

/* From now on all calls of this function that the shim makes for itself (fault_driver.def) fail;
 * NULL: none. */
static inline void let_fail(const char *name)
{
	setenv("FAILING", name ? name : "", 1);
}

/* From now on they begin late. */
static inline void let_be_slow(const char *name)
{
	setenv("SLOW", name ? name : "", 1);
}

/* ---- the program ---- */

static inline void *host_at(unsigned word)
{
	return (void *)(uintptr_t)&host[word];
}

static inline CUresult launch_as(CUfunction f, unsigned gate, unsigned digit, CUstream stream)
{
	void *at = host_at(gate), *log = host_at(LOG), *params[] = {&at, &log, &digit};

	return cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, stream, params, NULL);
}

/* A kernel that waits at the gate, and then appends the digit. */
static inline void launch(unsigned gate, unsigned digit, CUstream stream)
{
	OK(launch_as(note, gate, digit, stream));
}

static inline void open_gate(unsigned gate)
{
	host[gate] = 1;
}

static inline void *open_later(void *arg)
{
	usleep(A_WHILE);
	open_gate((unsigned)(uintptr_t)arg);
	return NULL;
}

static inline void later(pthread_t *ret_thread, unsigned gate)
{
	assert_int_equal(pthread_create(ret_thread, NULL, open_later, (void *)(uintptr_t)gate), 0);
}

/* Nothing else has run until now, and all of this has in the end. */
static inline void expect_log(uint32_t digits)
{
	OK(cuStreamSynchronize(plain));
	OK(cuStreamSynchronize(waits));
	OK(cuStreamSynchronize(CU_STREAM_LEGACY));
	OK(cuStreamSynchronize(CU_STREAM_PER_THREAD));
	assert_int_equal(host[LOG], digits);
}

/* So much runs by itself, without a look at the streams. */
static inline void reaches_log(uint32_t digits)
{
	unsigned tries;

	for (tries = 0; host[LOG] != digits && tries < 20000; tries++)
		usleep(1000);
	assert_int_equal(host[LOG], digits);
}

static inline void expect_nothing_yet(void)
{
	usleep(A_WHILE);
	assert_int_equal(host[LOG], 0);
}

static inline unsigned sm_of(CUstream stream)
{
	launch(0, 0, stream);
	OK(cuStreamSynchronize(stream));
	return host[LOG + 1];
}

static inline void is_on(CUstream stream, unsigned first, unsigned n)
{
	assert_in_range(sm_of(stream), first, first + n - 1);
}

static inline void load(void)
{
	void *p;

	OK(cuDevicePrimaryCtxRetain(&context, 0));
	OK(cuCtxSetCurrent(context));
	OK(cuModuleLoadData(&module, text));
	OK(cuModuleGetFunction(&note, module, "note"));
	OK(cuModuleGetFunction(&nccl, module, "ncclDevKernel_note"));
	OK(cuMemAllocHost(&p, 64));
	host = p;
	memset(p, 0, 64);
	host[0] = 1;
}

static inline void make_streams(void)
{
	unsigned i;

	for (i = 0; i <= LOG + 1; i++)
		host[i] = i == 0;
	OK(cuStreamCreate(&plain, CU_STREAM_NON_BLOCKING));
	OK(cuStreamCreate(&waits, 0));
}

/* These parts are there: one that is not yet is made when the gates' kernels are done. */
static inline int start(void **state)
{
	(void)state;
	make_streams();
	placed(64, 8);
	placed(96, 8);
	return place(0, 0);
}

static inline int end(void **state)
{
	unsigned i;

	(void)state;
	let_fail(NULL);
	for (i = 0; i < GATES; i++)
		host[i] = 1;
	OK(cuCtxSynchronize());
	OK(cuStreamDestroy(plain));
	OK(cuStreamDestroy(waits));
	return 0;
}

/* ---- the stage ---- */

static inline void listen_at(const char *path)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 4), 0);
}

/* How a test ends that a machine which stood still has spoilt: it is run once more. */
#define SPOILT 75
#define TRIES  20

/* This program, with the shim before the driver. */
static inline int run_once(void)
{
	const char *tmp = getenv("TMPDIR");
	char dir[128], path[512];
	pid_t pid;
	int status = 1;

	snprintf(dir, sizeof(dir), "%s/cotpartsXXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	pid = fork();
	if (pid == 0) {
		snprintf(path, sizeof(path), "%s/libcuda.so.1", getenv("EMU"));
		setenv("FAULT_BEFORE", path, 1);
		setenv("COTENANT_SHIM_DRIVER", getenv("FAILING_DRIVER"), 1);
		setenv("LD_PRELOAD", getenv("COTENANT_SHIM_LIB"), 1);
		snprintf(path, sizeof(path), "%s/sock", dir);
		setenv("COTENANT_SOCKET", path, 1);
		setenv("COTENANT_EMU_DIR", dir, 1);
		setenv("COTENANT_PARTS", "1", 1);
		setenv("UNDER_SHIM", "1", 1);
		/* No two streams wait for each other because the hardware's queues are few. */
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 1);
		alarm(HANG_S);
		execl("/proc/self/exe", "parts", (char *)NULL);
		_exit(99);
	}
	(void)waitpid(pid, &status, 0);
	snprintf(path, sizeof(path), "rm -rf '%s'", dir);
	if (system(path))
		return 1;
	return WIFEXITED(status) && WEXITSTATUS(status) == SPOILT ? SPOILT : status != 0;
}

static inline int run_with_shim(void)
{
	int n = 0, status;

	do
		status = run_once();
	while (status == SPOILT && ++n < TRIES);
	return status;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, end)

static inline int parts_main(const char *name, const struct CMUnitTest *tests, size_t n)
{
	if (!getenv("UNDER_SHIM"))
		return run_with_shim();
	listen_at(getenv("COTENANT_SOCKET"));
	OK(cuInit(0));
	load();
	launch(0, 0, NULL);
	welcome();
	assert_int_equal(in.parts.status, 0);
	assert_int_equal(in.parts.n_sms, SMS);
	assert_int_equal(in.parts.unit, 8);
	assert_int_equal(cot_msg_parts_n_units(&in.parts), 15);
	return _cmocka_run_group_tests(name, tests, n, NULL, NULL) != 0;
}

#endif
