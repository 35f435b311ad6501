#include "stage.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tenant.h"

union stage_packet in;
int listener = -1, conn = -1;

static char dir[128], socket_path[160], ptx_path[160];
static pid_t tenant;
static FILE *to_tenant, *from_tenant;

/* ---- the program ---- */

static void become_tenant(void)
{
	char driver[512];

	snprintf(driver, sizeof(driver), "%s/libcuda.so.1", getenv("EMU"));
	setenv("LD_PRELOAD", getenv("COTENANT_SHIM_LIB"), 1);
	setenv("COTENANT_SHIM_DRIVER", driver, 1);
	setenv("COTENANT_SOCKET", socket_path, 1);
	setenv("COTENANT_EMU_DIR", dir, 1);
	setenv("COTENANT_SHIM", "1", 1);
	setenv("COTENANT_QUOTA", "25%", 1);
	setenv("COTENANT_CLASS", "batch", 1);
	setenv("COTENANT_NAME", "it", 1);
	setenv("TENANT", "1", 1);
	execl("/proc/self/exe", "tenant", (char *)NULL);
	_exit(99);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(to_tenant, fmt, ap);
	va_end(ap);
	fputc('\n', to_tenant);
	fflush(to_tenant);
}

const char *hear(void)
{
	static char line[512];
	struct pollfd p = {.fd = fileno(from_tenant), .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	assert_non_null(fgets(line, sizeof(line), from_tenant));
	line[strcspn(line, "\n")] = '\0';
	return line;
}

void expect_line(const char *expected)
{
	assert_string_equal(hear(), expected);
}

bool answers(void)
{
	struct pollfd p = {.fd = fileno(from_tenant), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

unsigned expect_right(void)
{
	unsigned wrong, most;

	say("wait");
	assert_int_equal(sscanf(hear(), "wrong %u most %u", &wrong, &most), 2);
	assert_int_equal(wrong, 0);
	return most;
}

/* ---- the daemon ---- */

static void listen_again(void)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", socket_path);
	unlink(socket_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(listen(listener, 4), 0);
}

void send_packet(void *packet, enum cot_msg_type type, size_t size)
{
	cot_proto_header(packet, type, (uint32_t)size, 0);
	assert_int_equal(send(conn, packet, size, MSG_NOSIGNAL), (ssize_t)size);
}

static int any_packet(int ms)
{
	struct pollfd p = {.fd = conn, .events = POLLIN};
	ssize_t n;
	int type;

	if (poll(&p, 1, ms) != 1)
		return 0;
	n = recv(conn, in.bytes, sizeof(in.bytes), 0);
	if (n <= 0)
		return -1;
	type = cot_proto_check(in.bytes, (size_t)n);
	assert_true(type > 0);
	return type;
}

int next_packet(int ms)
{
	int type;

	do
		type = any_packet(ms);
	while (type == COT_MSG_WORK_COUNTS || type == COT_MSG_PART_COUNTS);
	return type;
}

void expect_counts(void)
{
	int type;

	do
		type = any_packet(WAIT_MS);
	while (type == COT_MSG_PART_COUNTS);
	assert_int_equal(type, COT_MSG_WORK_COUNTS);
}

void expect_packet(enum cot_msg_type type)
{
	assert_int_equal(next_packet(WAIT_MS), type);
}

void accept_tenant(void)
{
	struct cot_msg_work_welcome welcome = {.tenant = 3, .works_max = COT_PROTO_WORKS_MAX};
	struct pollfd p = {.fd = listener, .events = POLLIN};

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	conn = accept(listener, NULL, NULL);
	assert_true(conn >= 0);
	expect_packet(COT_MSG_WORK_HELLO);
	assert_int_equal(in.hello.pid, tenant);
	assert_int_equal(in.hello.quota, 25);
	assert_int_equal(in.hello.n_sms, 132);
	assert_string_equal(in.hello.name, "it");
	assert_memory_equal(in.hello.gpu, "GPU-", 4);
	send_packet(&welcome, COT_MSG_WORK_WELCOME, sizeof(welcome));
}

void grant(uint64_t work, uint32_t capsms, uint32_t flags)
{
	struct cot_msg_work_grant m = {.work = work, .capsms = capsms, .flags = flags};

	send_packet(&m, COT_MSG_WORK_GRANT, sizeof(m));
}

void evict(uint64_t work, uint32_t capsms)
{
	struct cot_msg_work_evict m = {.work = work, .capsms = capsms};

	send_packet(&m, COT_MSG_WORK_EVICT, sizeof(m));
}

uint64_t expect_request(uint32_t n_tasks)
{
	expect_packet(COT_MSG_WORK_REQUEST);
	assert_int_equal(in.request.n_tasks, n_tasks);
	assert_true(in.request.per_sm >= 1);
	assert_true(in.request.flags & COT_WORK_CAN_SETTLE);
	return in.request.work;
}

void expect_done(uint64_t work, uint64_t n_tasks, uint32_t n_launches)
{
	expect_packet(COT_MSG_WORK_DONE);
	assert_int_equal(in.done.work, work);
	assert_int_equal(in.done.status, 0);
	assert_int_equal(in.done.left, 0);
	assert_int_equal(in.done.n_tasks, n_tasks);
	assert_int_equal(in.done.n_launches, n_launches);
}

uint32_t expect_rest(uint64_t work)
{
	int type;

	do
		type = next_packet(WAIT_MS);
	while (type == COT_MSG_WORK_EVICTED);
	assert_int_equal(type, COT_MSG_WORK_DONE);
	assert_int_equal(in.done.work, work);
	assert_true(in.done.left > 0);
	return in.done.left;
}

void sleep_ms(unsigned ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* ---- around each test ---- */

int start(void **state)
{
	int in_pipe[2], out_pipe[2];

	(void)state;
	listen_again();
	if (pipe(in_pipe) || pipe(out_pipe))
		return -1;
	tenant = fork();
	if (tenant == 0) {
		dup2(in_pipe[0], 0);
		dup2(out_pipe[1], 1);
		for (int i = 3; i < 64; i++)
			close(i);
		become_tenant();
	}
	close(in_pipe[0]);
	close(out_pipe[1]);
	to_tenant = fdopen(in_pipe[1], "w");
	from_tenant = fdopen(out_pipe[0], "r");
	return tenant < 0;
}

int end(void **state)
{
	int status = -1;

	(void)state;
	if (conn >= 0)
		close(conn);
	if (listener >= 0)
		close(listener);
	conn = listener = -1;
	say("quit");
	if (waitpid(tenant, &status, 0) != tenant || status)
		fprintf(stderr, "the tenant's end: %#x\n", (unsigned)status);
	fclose(to_tenant);
	fclose(from_tenant);
	return status;
}

void load(const char *way)
{
	say("load %s %s", way, strcmp(way, "file") == 0 ? ptx_path : "");
	expect_line("loaded");
}

static void remove_folder(void)
{
	DIR *folder = opendir(dir);
	struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			(void)unlinkat(dirfd(folder), entry->d_name, 0);
	if (folder)
		closedir(folder);
	(void)rmdir(dir);
}

int stage_main(const char *name, const struct CMUnitTest *tests, size_t n)
{
	const char *tmp = getenv("TMPDIR");
	int n_failed;

	if (getenv("TENANT"))
		return tenant_main();
	snprintf(dir, sizeof(dir), "%s/cotshimXXXXXX", tmp ? tmp : "/tmp");
	if (!mkdtemp(dir))
		return 1;
	snprintf(socket_path, sizeof(socket_path), "%s/sock", dir);
	snprintf(ptx_path, sizeof(ptx_path), "%s/task.ptx", dir);
	n_failed = _cmocka_run_group_tests(name, tests, n, NULL, NULL);
	remove_folder();
	return n_failed;
}
