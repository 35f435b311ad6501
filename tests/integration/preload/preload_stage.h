/*
 * What the tests of the preloaded library share: the program under control, this program as its
 * daemon, and what the stand-in for the driver knows.
 */
#ifndef COT_TESTS_PRELOAD_STAGE_H
#define COT_TESTS_PRELOAD_STAGE_H

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cuda/rm/rm.h"
#include "fake_state.h"
#include "proto/proto.h"
#include "tenant.h"
#include "test.h"

#define MS	1000000ull
#define CHANNEL 0xc86fu
#define GROUP	0xa06cu
#define WAIT_MS 20000 /* for what should come at once, on a machine that is busy */
#define TRIES	10    /* of what a busy machine may spoil */

static char dir[] = "cotpreXXXXXX"; /* below $TMPDIR */
static char base[64], socket_path[96], state_path[96];
static struct fake_state *fake;
static int listener = -1, conn = -1;
static struct cot_page *page;
static int page_fd = -1;
static int tenant_pid, to_tenant, from_tenant;

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_ms(unsigned ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&t, NULL);
}

/* ---- the program ---- */

static void become_tenant(const char *extra)
{
	const char *value = extra ? strchr(extra, '=') : NULL;
	char text[1024];

	snprintf(text, sizeof(text), "%s %s", getenv("COTENANT_LIB"), getenv("COTENANT_FAKE_RM"));
	setenv("LD_PRELOAD", text, 1);
	setenv("COTENANT_SOCKET", socket_path, 1);
	setenv("FAKE_RM_STATE", state_path, 1);
	setenv("TENANT", "1", 1);
	setenv("COTENANT_NAME", "it", 1);
	setenv("COTENANT_WEIGHT", "7", 1);
	setenv("COTENANT_BLOCK_US", "250", 1);
	setenv("COTENANT_LOG", "warn", 1);
	setenv("COTENANT_TENANT", "42", 1);
	if (value) {
		snprintf(text, sizeof(text), "%.*s", (int)(value - extra), extra);
		setenv(text, value + 1, 1);
	}
	execl("/proc/self/exe", "tenant", (char *)NULL);
	_exit(99);
}

/* `extra`: one more variable, NAME=VALUE, or NULL. */
static void start_tenant(const char *extra)
{
	int in[2], out[2];

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	tenant_pid = fork();
	if (tenant_pid == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		become_tenant(extra);
	}
	close(in[0]);
	close(out[1]);
	to_tenant = in[1];
	from_tenant = out[0];
}

static unsigned long told(void)
{
	struct pollfd p = {.fd = from_tenant, .events = POLLIN};
	char line[32];
	ssize_t n;

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	n = read(from_tenant, line, sizeof(line) - 1);
	assert_true(n > 0);
	line[n] = '\0';
	return strtoul(line, NULL, 10);
}

static void tell(char what)
{
	char line[2] = {what, '\n'};

	assert_int_equal(write(to_tenant, line, 2), 2);
}

static unsigned long ask(char what)
{
	tell(what);
	return told();
}

/* ---- the daemon ---- */

static union {
	struct cot_msg_header h;
	struct cot_msg_hello hello;
	struct cot_msg_groups groups;
	struct cot_msg_ack ack;
	unsigned char bytes[4096];
} got;

static void start_listening(void)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};

	strcpy(a.sun_path, socket_path);
	unlink(socket_path);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 64), 0);
}

static void accept_one(int timeout_ms)
{
	struct pollfd p = {.fd = listener, .events = POLLIN};

	assert_int_equal(poll(&p, 1, timeout_ms), 1);
	conn = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(conn >= 0);
}

/* The next packet's type, 0 when none comes in time, -1 when the peer hung up. */
static int receive(int timeout_ms)
{
	struct pollfd p = {.fd = conn, .events = POLLIN};
	ssize_t n;
	int type;

	if (poll(&p, 1, timeout_ms) != 1)
		return 0;
	n = recv(conn, got.bytes, sizeof(got.bytes), 0);
	if (n <= 0)
		return -1;
	type = cot_proto_check(got.bytes, (size_t)n);
	assert_true(type > 0);
	return type;
}

static void expect(int type)
{
	int t;

	/* Counts may come as often as they change. */
	do {
		t = receive(WAIT_MS);
	} while (t == COT_MSG_GROUPS && type != COT_MSG_GROUPS);
	assert_int_equal(t, type);
}

/* Until the daemon has been told of so many groups. */
static void expect_groups(uint32_t n_groups)
{
	int t;

	do {
		t = receive(WAIT_MS);
	} while (t > 0 && !(t == COT_MSG_GROUPS && got.groups.n_groups == n_groups));
	assert_int_equal(t, COT_MSG_GROUPS);
}

static void send_packet(void *packet, enum cot_msg_type type, uint32_t size, uint32_t seq)
{
	cot_proto_header(packet, type, size, seq);
	assert_int_equal(send(conn, packet, size, MSG_NOSIGNAL), size);
}

static void make_page(bool sealed)
{
	page_fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	assert_int_equal(ftruncate(page_fd, 4096), 0);
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, page_fd, 0);
	assert_true(page != MAP_FAILED);
	page->version = COT_PAGE_VERSION;
	if (sealed)
		assert_int_equal(
			fcntl(page_fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
}

static void welcome(uint64_t slice_us, uint32_t mode)
{
	struct cot_msg_welcome m = {
		.tenant = 42, .slice_us = slice_us, .mode = mode, .page_size = 4096};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {0};
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof(room)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	cot_proto_header(&m.h, COT_MSG_WELCOME, sizeof(m), 0);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &page_fd, sizeof(int));
	assert_int_equal(sendmsg(conn, &msg, MSG_NOSIGNAL), sizeof(m));
}

static void lease_ms(unsigned ms)
{
	atomic_store(&page->lease_until_ns, now_ns() + ms * MS);
}

static int order(enum cot_msg_type type, uint32_t seq)
{
	struct cot_msg_header h;

	send_packet(&h, type, sizeof(h), seq);
	expect(COT_MSG_ACK);
	assert_int_equal(got.h.seq, seq);
	return got.ack.status;
}

static int order_set(uint64_t slice_us, uint32_t mode)
{
	struct cot_msg_set m = {.slice_us = slice_us, .mode = mode};

	send_packet(&m, COT_MSG_SET, sizeof(m), 5);
	expect(COT_MSG_ACK);
	return got.ack.status;
}

static unsigned n_disabled(void)
{
	return fake_rm_count(&fake->rm, CHANNEL, true);
}

static uint64_t first_slice(void)
{
	unsigned i;

	for (i = 0; i < fake->rm.n_objects; i++)
		if (fake->rm.objects[i].live && fake->rm.objects[i].class_ == GROUP)
			return fake->rm.objects[i].slice_us;
	return 0;
}

/* Until the condition holds, at most ms; how long it took. */
#define WAIT_FOR(condition, ms)                           \
	do {                                              \
		uint64_t until_ = now_ns() + (ms)*MS;     \
		while (!(condition) && now_ns() < until_) \
			sleep_ms(1);                      \
		assert_true(condition);                   \
	} while (0)

static void begin(void)
{
	start_tenant(NULL);
	ask('c');
	accept_one(WAIT_MS);
	expect(COT_MSG_HELLO);
	assert_int_equal(got.hello.pid, tenant_pid);
	make_page(true);
	welcome(100, COT_MODE_DRAIN);
	WAIT_FOR(first_slice() == 100, WAIT_MS);
}

/* Until it may be frozen. */
static void be_quiet(void)
{
	sleep_ms(COT_RM_QUIET_NS / 1000000 + 20);
}

static bool lease_has_ended(void)
{
	return now_ns() >= atomic_load(&page->lease_until_ns);
}

/* Again, where the machine has slept through the lease. */
static void freeze_for(unsigned ms, uint32_t seq)
{
	unsigned n = 0;
	int status;

	do {
		lease_ms(ms);
		status = order(COT_MSG_FREEZE, seq);
	} while (status == -ETIME && lease_has_ended() && ++n < TRIES);
	assert_int_equal(status, 0);
}

static void assert_frozen(void)
{
	unsigned n = n_disabled();

	assert_true(n == 1 || lease_has_ended());
}

static int setup(void **state)
{
	(void)state;
	memset(fake, 0, sizeof(*fake));
	start_listening();
	conn = -1;
	page = NULL;
	page_fd = -1;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	kill(tenant_pid, SIGKILL);
	waitpid(tenant_pid, NULL, 0);
	close(to_tenant);
	close(from_tenant);
	close(listener);
	if (conn >= 0)
		close(conn);
	if (page)
		munmap(page, 4096);
	if (page_fd >= 0)
		close(page_fd);
	return 0;
}

#endif
