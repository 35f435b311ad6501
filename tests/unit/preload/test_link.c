/*
 * What of the library touches the operating system: its socket and the page that comes through it,
 * the bell, descriptors that the program closes, and lines on standard error. The units are in a
 * shared library, so their sources are here.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "guest/link.c"
#include "guest/log.c"
#include "guest/marks.c"
#include "guest/wake.c"
#include "test.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* ---- os.c, but for its threads ---- */

static uint64_t now_ns = 100 * COT_NS_PER_S;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

static bool identify(int fd, struct cot_rm_identity *ret_id)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	*ret_id = (struct cot_rm_identity){st.st_dev, st.st_ino, st.st_rdev};
	return true;
}

void cot_own_fd_take(struct cot_own_fd *own, int fd)
{
	own->fd = fd;
	if (fd >= 0)
		assert_true(identify(fd, &own->id));
}

bool cot_own_fd_valid(const struct cot_own_fd *own)
{
	struct cot_rm_identity now;

	return own->fd >= 0 && identify(own->fd, &now) && now.ino == own->id.ino &&
	       now.dev == own->id.dev;
}

void cot_own_fd_close(struct cot_own_fd *own)
{
	if (cot_own_fd_valid(own))
		close(own->fd);
	own->fd = -1;
}

/* ---- a daemon ---- */

static struct cot_link l;
static struct cot_link_packet got;
static int peer, n_before;

static int count_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	assert_non_null(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static int set_up(void **state)
{
	int fds[2];

	(void)state;
	n_before = count_descriptors();
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, fds), 0);
	cot_link_init(&l);
	assert_int_equal(l.sock.fd, -1);
	cot_own_fd_take(&l.sock, fds[0]);
	peer = fds[1];
	cot_log_level_set(COT_LOG_NONE);
	return 0;
}

/* Nothing is left behind, whatever came. */
static int tear_down(void **state)
{
	(void)state;
	cot_link_close(&l);
	assert_int_equal(l.sock.fd, -1);
	assert_null(l.page);
	close(peer);
	assert_int_equal(count_descriptors(), n_before);
	return 0;
}

static int make_page(size_t size, bool sealed, uint32_t version)
{
	int fd = memfd_create("page", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	if (size >= sizeof(version))
		assert_int_equal(pwrite(fd, &version, sizeof(version), 0), sizeof(version));
	if (sealed)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
	return fd;
}

/* On a disk, where there are no seals. */
static int make_file(size_t size)
{
	char path[] = "page-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0 && !unlink(path));
	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	assert_int_equal(pwrite(fd, &(const uint32_t){COT_PAGE_VERSION}, sizeof(uint32_t), 0),
			 sizeof(uint32_t));
	return fd;
}

/* With so many descriptors, the first one of which is `fd`. */
static void send_welcome(int fd, unsigned n, uint32_t page_size)
{
	struct cot_msg_welcome m = {.tenant = 3, .page_size = page_size};
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(8 * sizeof(int))] = {0};
	struct iovec iov = {&m, sizeof(m)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *c;
	int fds[8];
	unsigned i;

	cot_proto_header(&m.h, COT_MSG_WELCOME, sizeof(m), 0);
	for (i = 0; i < n; i++)
		fds[i] = i ? 0 : fd;
	if (n) {
		msg.msg_control = room;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	assert_int_equal(sendmsg(peer, &msg, 0), sizeof(m));
}

static void welcome(int fd, unsigned n, uint32_t page_size)
{
	send_welcome(fd, n, page_size);
	if (fd >= 0)
		close(fd);
	assert_int_equal(cot_link_receive(&l, &got), 1);
	assert_int_equal(got.type, COT_MSG_WELCOME);
	assert_true(l.welcomed);
}

/* ---- the page ---- */

static void takes_the_page(void **state)
{
	int fd = make_page(4096, true, COT_PAGE_VERSION), ours = dup(fd);
	struct cot_page *first;

	(void)state;
	welcome(fd, 1, 4096);
	assert_non_null(l.page);
	/* Nobody can punch holes into it, or map it to write, from now on. */
	assert_int_equal(fcntl(ours, F_GET_SEALS) & F_SEAL_FUTURE_WRITE, F_SEAL_FUTURE_WRITE);
	atomic_store(&l.page->slice_us, 7);
	(void)close(ours);
	assert_int_equal(l.page_size, 4096);
	/* Another one takes its place; what cannot be used does not. */
	first = l.page;
	welcome(make_page(8192, true, COT_PAGE_VERSION), 1, 8192);
	assert_int_equal(l.page_size, 8192);
	assert_non_null(first);
	welcome(make_page(4096, false, COT_PAGE_VERSION), 1, 4096);
	assert_int_equal(l.page_size, 8192);
}

/* Several descriptors, or too many of them: one is used, and all are closed. */
static void too_many_descriptors(void **state)
{
	unsigned n;

	(void)state;
	for (n = 1; n <= 8; n++)
		welcome(make_page(4096, true, COT_PAGE_VERSION), n, 4096);
	assert_non_null(l.page);
}

/* In a program that has closed its standard input, what comes may have its number. */
static void a_page_in_place_of_input(void **state)
{
	int saved = dup(0), page = make_page(4096, true, COT_PAGE_VERSION);

	(void)state;
	send_welcome(page, 1, 4096);
	close(page);
	close(0);
	assert_int_equal(cot_link_receive(&l, &got), 1);
	assert_true(fcntl(0, F_GETFD) < 0);
	dup2(saved, 0);
	close(saved);
	assert_non_null(l.page);
}

static void pages_that_cannot_be_used(void **state)
{
	(void)state;
	welcome(-1, 0, 4096);
	assert_null(l.page);
	welcome(make_page(4096, false, COT_PAGE_VERSION), 1, 4096); /* it may shrink */
	assert_null(l.page);
	welcome(make_page(4095, true, COT_PAGE_VERSION), 1, 4096); /* it is shorter than said */
	assert_null(l.page);
	welcome(make_page(4096, true, COT_PAGE_VERSION), 1, sizeof(struct cot_page) - 1);
	assert_null(l.page);
	welcome(make_page(PAGE_SIZE_MAX + 4096, true, COT_PAGE_VERSION), 1, PAGE_SIZE_MAX + 1);
	assert_null(l.page);
	welcome(make_page(4096, true, COT_PAGE_VERSION + 1), 1, 4096);
	assert_null(l.page);
	welcome(open("/dev/null", O_RDWR), 1, 4096);
	assert_null(l.page);
	welcome(make_file(4096), 1, 4096); /* it cannot be sealed */
	assert_null(l.page);
	welcome(make_page(PAGE_SIZE_MAX, true, COT_PAGE_VERSION), 1, PAGE_SIZE_MAX);
	assert_non_null(l.page);
	cot_link_close(&l);
	assert_null(l.page);
}

/* ---- packets ---- */

static void receives(void **state)
{
	struct cot_msg_set m = {.slice_us = 77};

	(void)state;
	assert_int_equal(cot_link_receive(&l, &got), 0);
	cot_proto_header(&m.h, COT_MSG_SET, sizeof(m), 9);
	assert_int_equal(send(peer, &m, sizeof(m), 0), sizeof(m));
	assert_int_equal(cot_link_receive(&l, &got), 1);
	assert_int_equal(got.type, COT_MSG_SET);
	assert_int_equal(got.size, sizeof(m));
	assert_int_equal(got.u.set.slice_us, 77);
	assert_int_equal(got.u.h.seq, 9);
	assert_false(l.welcomed);
	assert_int_equal(cot_link_receive(&l, &got), 0);
	assert_int_equal(send(peer, &m, sizeof(m) - 8, 0), sizeof(m) - 8);
	assert_int_equal(cot_link_receive(&l, &got), -EBADMSG);
	close(peer);
	peer = -1;
	assert_int_equal(cot_link_receive(&l, &got), -ECONNRESET);
}

/* A packet that is longer than we read is one of a newer daemon's. */
static void long_packets(void **state)
{
	static unsigned char bytes[sizeof(got.u.bytes) + 8];

	(void)state;
	cot_proto_header((struct cot_msg_header *)(void *)bytes, COT_MSG_SET, sizeof(bytes), 0);
	assert_int_equal(send(peer, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(cot_link_receive(&l, &got), 1);
	assert_int_equal(got.type, 0);
	assert_int_equal(cot_link_receive(&l, &got), 0);
}

static void sends(void **state)
{
	struct cot_msg_groups m = {.n_groups = 3}, back;
	unsigned n = 0;
	int rc;

	(void)state;
	assert_int_equal(cot_link_send(&l, &m, COT_MSG_GROUPS, sizeof(m), 4), 0);
	assert_int_equal(recv(peer, &back, sizeof(back), 0), sizeof(back));
	assert_int_equal(cot_proto_check(&back, sizeof(back)), COT_MSG_GROUPS);
	assert_int_equal(back.h.seq, 4);
	assert_int_equal(back.n_groups, 3);
	/* A daemon that does not read: it is not waited for. */
	do
		rc = cot_link_send(&l, &m, COT_MSG_GROUPS, sizeof(m), 4);
	while (!rc && n++ < 1000000);
	assert_int_equal(rc, -EAGAIN);
	/* One that is gone, without a signal. */
	close(peer);
	peer = -1;
	rc = cot_link_send(&l, &m, COT_MSG_GROUPS, sizeof(m), 4);
	assert_true(rc == -ECONNRESET || rc == -EPIPE);
	assert_int_equal(cot_link_send(&l, &m, COT_MSG_GROUPS, sizeof(m), 4), -EPIPE);
}

/* The program closed the descriptor, and got its number for something else. */
static void closed_by_the_program(void **state)
{
	struct cot_msg_groups m = {.n_groups = 3};
	int fd = l.sock.fd, null;

	(void)state;
	close(fd);
	assert_int_equal(cot_link_receive(&l, &got), -EBADF);
	null = open("/dev/null", O_RDWR);
	assert_int_equal(null, fd);
	assert_int_equal(cot_link_receive(&l, &got), -EBADF);
	assert_int_equal(cot_link_send(&l, &m, COT_MSG_GROUPS, sizeof(m), 4), -EBADF);
	cot_link_close(&l);
	assert_true(fcntl(null, F_GETFD) >= 0);
	close(null);
}

static void opens(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	const char *tmp = getenv("TMPDIR");
	char folder[80];
	int listener, n;

	(void)state;
	cot_link_close(&l);
	(void)snprintf(folder, sizeof(folder), "%.50s/cotlinkXXXXXX", tmp ? tmp : P_tmpdir);
	assert_non_null(mkdtemp(folder));
	(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s/s", folder);
	n = count_descriptors();
	assert_int_equal(cot_link_open(&l, addr.sun_path), -ENOENT);
	assert_int_equal(count_descriptors(), n);
	listener = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&addr, sizeof(addr)), 0);
	assert_int_equal(cot_link_open(&l, addr.sun_path), -ECONNREFUSED);
	assert_int_equal(listen(listener, 1), 0);
	l.welcomed = true;
	assert_int_equal(cot_link_open(&l, addr.sun_path), 0);
	assert_true(l.sock.fd >= 0);
	assert_false(l.welcomed);
	assert_int_equal(fcntl(l.sock.fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(l.sock.fd, F_GETFL) & O_NONBLOCK);
	cot_link_close(&l);
	close(listener);
	(void)unlink(addr.sun_path);
	(void)rmdir(folder);
}

/* ---- the bell ---- */

static bool rings(const struct cot_wake *w)
{
	char byte;

	return recv(w->listen.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 1;
}

static void the_bell(void **state)
{
	struct cot_wake w = {.ring = {.fd = -1}, .listen = {.fd = -1}};

	(void)state;
	atomic_store(&w.pending, true);
	assert_int_equal(cot_wake_open(&w), 0);
	assert_false(atomic_load(&w.pending));
	assert_false(rings(&w));
	assert_int_equal(fcntl(w.ring.fd, F_GETFD) & fcntl(w.listen.fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(w.ring.fd, F_GETFL) & fcntl(w.listen.fd, F_GETFL) & O_NONBLOCK);
	errno = 77;
	cot_wake_ring(&w);
	cot_wake_ring(&w);
	assert_int_equal(errno, 77);
	assert_true(atomic_load(&w.pending));
	assert_true(rings(&w));
	cot_wake_clear(&w);
	assert_false(atomic_load(&w.pending));
	assert_false(rings(&w));
	cot_wake_ring(&w);
	assert_true(rings(&w));
	cot_wake_close(&w);
	assert_int_equal(w.ring.fd, -1);
	assert_int_equal(w.listen.fd, -1);
	atomic_store(&w.pending, false);
	cot_wake_ring(&w); /* who has no bell is pending */
	assert_true(atomic_load(&w.pending));
	cot_wake_clear(&w);
	assert_false(atomic_load(&w.pending));
}

/* ---- lines ---- */

static char lines[16384];

/* What has been written since the last time. */
static const char *read_lines(int from)
{
	ssize_t n = read(from, lines, sizeof(lines) - 1);

	lines[n > 0 ? n : 0] = '\0';
	return lines;
}

static void logs(void **state)
{
	static char text[2000];
	int ends[2], saved = dup(2), i;
	char expected[600];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	dup2(ends[1], 2);
	cot_log_level_set(COT_LOG_WARN);
	cot_log(COT_LOG_INFO, "too much");
	cot_log(COT_LOG_WARN, "%d things", 3);
	cot_log(COT_LOG_ERROR, "bad");
	(void)snprintf(expected, sizeof(expected),
		       "cotenant[%d]: warning: 3 things\ncotenant[%d]: error: bad\n", (int)getpid(),
		       (int)getpid());
	read_lines(ends[0]);
	/* A long line is cut, and still one line. */
	memset(text, 'x', sizeof(text) - 1);
	dup2(saved, 2);
	assert_string_equal(lines, expected);
	dup2(ends[1], 2);
	cot_log(COT_LOG_ERROR, "%s", text);
	read_lines(ends[0]);
	dup2(saved, 2);
	assert_int_equal(strlen(lines), 511);
	assert_ptr_equal(strchr(lines, '\n'), lines + 510);
	/* No more than 20 a second. */
	now_ns += COT_NS_PER_S;
	dup2(ends[1], 2);
	for (i = 0; i < 30; i++)
		cot_log(COT_LOG_ERROR, "again");
	read_lines(ends[0]);
	dup2(saved, 2);
	for (i = 0; strchr(lines, '\n'); i++)
		*strchr(lines, '\n') = ' ';
	assert_int_equal(i, 20);
	now_ns += COT_NS_PER_S;
	dup2(ends[1], 2);
	cot_log(COT_LOG_ERROR, "and again");
	read_lines(ends[0]);
	dup2(saved, 2);
	assert_non_null(strstr(lines, "error: and again\n"));
	close(saved);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(takes_the_page),
		TEST(too_many_descriptors),
		TEST(a_page_in_place_of_input),
		TEST(pages_that_cannot_be_used),
		TEST(receives),
		TEST(long_packets),
		TEST(sends),
		TEST(closed_by_the_program),
		TEST(opens),
		TEST(the_bell),
		TEST(logs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
