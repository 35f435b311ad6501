/*
 * The pace, in a real process before the emulated driver: how many kernels of a queue still run
 * outside of the program's part after a change, with a pace and without; a kernel that waits for
 * what the program does after its launches. This program is the daemon; started with PROGRAM=HOW it
 * is the one under control. Nothing is compared with the clock.
 */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/abi/cuda.h"
#include "proto/proto.h"
#include "test.h"

#define KERNELS	 60u
#define PACE_US	 2000u
#define PART_AT	 64u /* far from SM 0, where the blocks of a free GPU begin */
#define PART_SMS 8u
#define TRIES	 5 /* on a machine that stands still for a second the pace is given up */
#define ENOUGH	 2 /* launches ahead: the pace lets no more than 3 through */

/* clang-format off */
static const char text[] =
	".version 7.0\n"
	".target sm_35\n"
	".address_size 64\n"
	/* Waits until words[0] is set; then, while words[1] is, counts itself in words[2] if it is
	 * before SM 64, and in words[3] anyway. */
	".visible .entry pass(.param .u64 words)\n"
	"{\n"
	"  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<2>;\n"
	"  ld.param.u64 %rd1, [words];\n"
	"wait:\n"
	"  ld.volatile.global.u32 %r1, [%rd1];\n"
	"  setp.eq.u32 %p1, %r1, 0;\n"
	"  @%p1 bra wait;\n"
	"  ld.volatile.global.u32 %r2, [%rd1+4];\n"
	"  mov.u32 %r3, %smid;\n"
	"  setp.lt.u32 %p2, %r3, 64;\n"
	"  selp.u32 %r4, %r2, 0, %p2;\n"
	"  atom.global.add.u32 %r5, [%rd1+8], %r4;\n"
	"  atom.global.add.u32 %r6, [%rd1+12], 1;\n"
	"  ret;\n"
	"}\n";
/* clang-format on */

/* ---- the program ---- */

static _Atomic unsigned n_launched;
static _Atomic uint32_t *words;
static const char *how;

static void check(CUresult result, int line)
{
	if (!result)
		return;
	fprintf(stderr, "line %d: CUDA error %d\n", line, result);
	_exit(3);
}

#define CHECK(call) check(call, __LINE__)

static void nap(void)
{
	struct timespec t = {.tv_nsec = 1000000};

	nanosleep(&t, NULL);
}

static void next_line(void)
{
	char line[16];

	if (!fgets(line, sizeof(line), stdin))
		_exit(4);
}

/*
 * First comes the queue: all of it, or as much as the pace lets through. When the daemon has
 * changed the part, the kernels may run, and those that began outside are counted.
 */
static void *watch(void *unused)
{
	unsigned enough = strcmp(how, "free") == 0 ? KERNELS : ENOUGH;

	(void)unused;
	while (atomic_load(&n_launched) < enough)
		nap();
	printf("queued\n");
	fflush(stdout);
	next_line();
	atomic_store(&words[1], 1);
	atomic_store(&words[0], 1);
	return NULL;
}

static void launch(CUfunction pass, CUdeviceptr at, CUstream stream)
{
	void *params[] = {&at};

	CHECK(cuLaunchKernel(pass, 256, 1, 1, 1, 1, 1, 0, stream, params, NULL));
	atomic_fetch_add(&n_launched, 1);
}

static int program(void)
{
	bool deadlock = strcmp(how, "deadlock") == 0;
	CUcontext context;
	CUfunction pass;
	CUmodule module;
	pthread_t watcher;
	CUdeviceptr at;
	CUstream stream;
	unsigned i;

	CHECK(cuInit(0));
	CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	CHECK(cuCtxSetCurrent(context));
	CHECK(cuModuleLoadData(&module, text));
	CHECK(cuModuleGetFunction(&pass, module, "pass"));
	CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	CHECK(cuMemAllocHost((void **)&words, 4096));
	CHECK(cuMemHostGetDevicePointer(&at, (void *)words, 0));
	atomic_store(&words[0], 1);
	atomic_store(&words[1], 0);
	launch(pass, at, stream); /* the shim asks for its part */
	CHECK(cuStreamSynchronize(stream));
	printf("begun\n");
	fflush(stdout);
	next_line();
	atomic_store(&n_launched, 0);
	atomic_store(&words[0], 0);
	atomic_store(&words[2], 0);
	atomic_store(&words[3], 0);
	if (!deadlock && pthread_create(&watcher, NULL, watch, NULL))
		return 1;
	for (i = 0; i < KERNELS; i++)
		launch(pass, at, stream);
	if (deadlock)
		atomic_store(&words[0], 1);
	else
		pthread_join(watcher, NULL);
	CHECK(cuStreamSynchronize(stream));
	printf("outside %u of %u\n", words[2], words[3]);
	fflush(stdout);
	next_line();
	return 0;
}

/* ---- the daemon ---- */

static char folder[64], socket_path[80];
static int conn, listener;
static FILE *to, *from;
static pid_t pid;
static uint32_t seq;
static union {
	struct cot_msg_header h;
	struct cot_msg_parts parts;
	struct cot_msg_placed placed;
	struct cot_msg_pace_counts pace;
	unsigned char bytes[COT_PROTO_PACKET_MAX];
} in;
static struct cot_msg_pace_counts pace;

static void send_packet(void *packet, enum cot_msg_type type, size_t size, uint32_t number)
{
	cot_proto_header(packet, type, (uint32_t)size, number);
	assert_int_equal(send(conn, packet, size, MSG_NOSIGNAL), (ssize_t)size);
}

/* False: the connection has ended. */
static bool receive(enum cot_msg_type wanted)
{
	ssize_t n;
	int type;

	do {
		n = recv(conn, &in, sizeof(in), 0);
		if (n <= 0)
			return false;
		type = cot_proto_check(&in, (size_t)n);
		assert_true(type > 0);
		if (type == COT_MSG_PACE_COUNTS)
			pace = in.pace;
	} while (type != (int)wanted);
	return true;
}

static void place(uint32_t n, uint32_t pace_us)
{
	struct cot_msg_place m = {.first = n ? PART_AT : 0, .n = (uint16_t)n, .pace_us = pace_us};

	send_packet(&m, COT_MSG_PLACE, sizeof(m), ++seq);
	assert_true(receive(COT_MSG_PLACED));
	assert_int_equal(in.placed.status, 0);
	assert_int_equal(in.placed.n, n);
}

static void hear(const char *expected)
{
	char line[64];

	assert_non_null(fgets(line, sizeof(line), from));
	line[strcspn(line, "\n")] = '\0';
	assert_string_equal(line, expected);
}

static void become(const char *what)
{
	char driver[512];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)snprintf(driver, sizeof(driver), "%s/libcuda.so.1", getenv("EMU"));
	setenv("LD_PRELOAD", getenv("COTENANT_SHIM_LIB"), 1);
	setenv("COTENANT_SHIM_DRIVER", driver, 1);
	setenv("COTENANT_SOCKET", socket_path, 1);
	setenv("COTENANT_EMU_DIR", folder, 1);
	setenv("COTENANT_PARTS", "1", 1);
	setenv("PROGRAM", what, 1);
	execl("/proc/self/exe", "program", (char *)NULL);
	_exit(99);
}

static void begin(const char *what)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	struct cot_msg_work_welcome welcome = {.tenant = 1, .works_max = 1};
	int in_pipe[2], out_pipe[2];

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s", socket_path);
	(void)unlink(socket_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(pipe2(in_pipe, O_CLOEXEC) | pipe2(out_pipe, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		dup2(in_pipe[0], 0);
		dup2(out_pipe[1], 1);
		become(what);
	}
	close(in_pipe[0]);
	close(out_pipe[1]);
	to = fdopen(in_pipe[1], "w");
	from = fdopen(out_pipe[0], "r");
	conn = accept(listener, NULL, NULL);
	seq = 0;
	memset(&pace, 0, sizeof(pace));
	assert_true(receive(COT_MSG_WORK_HELLO));
	send_packet(&welcome, COT_MSG_WORK_WELCOME, sizeof(welcome), 0);
	assert_true(receive(COT_MSG_PARTS));
	assert_int_equal(in.parts.status, 0);
	/* The part is made before, so that the change takes no time. */
	place(PART_SMS, 0);
	hear("begun");
}

static void say(void)
{
	fputc('\n', to);
	fflush(to);
}

/* How many kernels were outside; all have run. */
static unsigned outside(void)
{
	unsigned n = 0, all = 0;
	char line[64];

	assert_non_null(fgets(line, sizeof(line), from));
	assert_int_equal(sscanf(line, "outside %u of %u", &n, &all), 2);
	assert_int_equal(all, KERNELS * 256);
	return n;
}

static void end(void)
{
	int status = -1;

	say();
	(void)receive((enum cot_msg_type)0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	fclose(to);
	fclose(from);
	close(conn);
	close(listener);
}

/* How many blocks began outside after the change. */
static unsigned change(const char *what, uint32_t pace_us)
{
	unsigned n;

	begin(what);
	place(0, pace_us);
	say();
	hear("queued");
	place(PART_SMS, pace_us);
	say();
	n = outside();
	end();
	return n;
}

/* ---- what is expected ---- */

/* Without a pace all that was queued runs where it was queued. */
static void test_no_pace(void **state)
{
	(void)state;
	assert_in_range(change("free", 0), KERNELS * 256 / 4, KERNELS * 256);
	assert_int_equal(pace.n_paced, 0);
}

static void test_paced(void **state)
{
	unsigned n, i = 0;

	(void)state;
	do
		n = change("paced", PACE_US);
	while (pace.n_failed && ++i < TRIES);
	assert_int_equal(pace.n_failed, 0);
	assert_true(pace.n_waits > 0);
	/* Two groups of launches: of one, and of two. */
	assert_in_range(n, 1, (ENOUGH + 1) * 256);
}

/* The pace is given up, once, and the program goes on. */
static void test_deadlock(void **state)
{
	(void)state;
	begin("deadlock");
	place(0, PACE_US);
	say();
	assert_int_equal(outside(), 0);
	end();
	assert_int_equal(pace.n_failed, 1);
	assert_true(pace.n_paced < KERNELS / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_pace),
		cmocka_unit_test(test_paced),
		cmocka_unit_test(test_deadlock),
	};
	const char *tmp = getenv("TMPDIR");
	char command[128];
	int n_failed;

	how = getenv("PROGRAM");
	if (how)
		return program();
	(void)snprintf(folder, sizeof(folder), "%s/cotpaceXXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(socket_path, sizeof(socket_path), "%s/sock", folder);
	n_failed = cmocka_run_group_tests(tests, NULL, NULL);
	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command) ? 1 : n_failed;
}
