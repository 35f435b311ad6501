/* What comes in by the door: descriptors, connections, numbers of processes, names. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attack.h"

/* ---- descriptors ---- */

/* A socket that makes close() wait: it has data that nobody reads, and lingers. */
static int make_lingering(int seconds)
{
	struct linger linger = {.l_onoff = 1, .l_linger = seconds};
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	int small = 2048, big = 1 << 20;

	setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &big, sizeof(big));
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 1) < 0 ||
	    getsockname(listener, (struct sockaddr *)&address, &size) < 0 ||
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    accept(listener, NULL, NULL) < 0) {
		perror("lingering");
		exit(2);
	}
	while (send(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		continue;
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	return fd;
}

enum how { WITH_A_QUESTION, WITH_NOTHING, NEVER_READ, BEHIND_NOTHING, N_HOW };

/* True: the kernel let it through. */
static bool pass_somehow(int fd, enum how how, int passed, int n)
{
	struct cot_msg_query query;

	fill_query(&query, COT_QUERY_PS);
	switch (how) {
	case WITH_A_QUESTION:
		return pass(fd, &query, sizeof(query), passed, n);
	case WITH_NOTHING:
		return pass(fd, "", 0, passed, n);
	case NEVER_READ: /* the daemon has hung up when it comes to it */
		(void)say_now(fd, "bad", 3);
		return pass(fd, &query, sizeof(query), passed, n);
	default:
		(void)send(fd, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT);
		return pass(fd, "", 0, passed, n);
	}
}

/* passing N: N connections with descriptors of many kinds */
static int passing(int argc, char **argv)
{
	static const int amounts[] = {1, 4, 5, 253};
	int i, n = number(argc, argv, 0, 100), sent = 0;
	int kinds[] = {open("/dev/null", O_RDONLY), memfd_create("x", 0),
		       (int)syscall(SYS_pidfd_open, getpid(), 0), dial()};

	for (i = 0; i < n; i++) {
		int fd = dial();

		if (fd < 0)
			continue;
		sent += pass_somehow(fd, (enum how)(i % N_HOW), kinds[i / N_HOW % 4],
				     amounts[i / N_HOW / 4 % 4]);
		close(fd);
	}
	printf("passed %d\n", sent);
	return 0;
}

/* linger SECONDS N: N sockets that take so long to close, as the last ones who have them: behind so
 * many packets that our copy is gone when the daemon comes to them */
static int linger(int argc, char **argv)
{
	int seconds = number(argc, argv, 0, 5), n = number(argc, argv, 1, 20);
	struct linger off = {0};
	struct cot_msg_query unknown;
	int i, j, sent = 0;

	fill_query(&unknown, 1);
	unknown.h.type = 999;
	for (i = 0; i < n; i++) {
		int fd = dial(), passed = make_lingering(seconds);

		for (j = 0; fd >= 0 && j < 200; j++)
			(void)say_now(fd, &unknown, sizeof(unknown));
		if (fd >= 0 && pass_somehow(fd, (enum how)(i % N_HOW), passed, 1))
			sent++;
		else /* ours must not linger */
			setsockopt(passed, SOL_SOCKET, SO_LINGER, &off, sizeof(off));
		close(passed);
		if (i % 2)
			close(fd);
		printf("passed %d\n", sent);
	}
	usleep(500000);
	return 0;
}

/* ---- connections ---- */

/* silent SECONDS: connects as often as it can, and says nothing */
static int silent(int argc, char **argv)
{
	double seconds = duration(argc, argv, 1);
	static int fds[CONNS_MAX];
	int n = 0, tries = 0;

	while (time_is_left(seconds)) {
		int fd = dial();

		tries++;
		if (fd >= 0 && n < CONNS_MAX)
			fds[n++] = fd;
		else if (fd >= 0)
			close(fd);
		else
			usleep(1000);
	}
	printf("tries %d kept %d\n", tries, n);
	return fds[0] < 0;
}

static int knock(int argc, char **argv)
{
	double seconds = duration(argc, argv, 1);
	int n = 0;

	while (time_is_left(seconds)) {
		int fd = dial();

		if (fd >= 0) {
			(void)send(fd, "", 0, MSG_NOSIGNAL | MSG_DONTWAIT);
			close(fd);
		}
		n++;
	}
	printf("knocked %d\n", n);
	return 0;
}

/* knock-many SECONDS N: N processes connect and hang up without end */
static int knock_many(int argc, char **argv)
{
	int i, n = number(argc, argv, 1, 8);

	for (i = 1; i < n; i++)
		in_child(knock, argc, argv);
	return knock(argc, argv);
}

/* bombs SECONDS: short-lived processes, each of which connects and registers */
static int bombs(int argc, char **argv)
{
	double seconds = duration(argc, argv, 1);
	struct cot_msg_register m;
	int n = 0, registered = 0, status;

	while (time_is_left(seconds)) {
		pid_t pid = fork();

		if (pid == 0) {
			int fd = dial();

			fill_register(&m, "bomb");
			(void)say(fd, &m, sizeof(m));
			_exit(hear(fd, 1000) == COT_MSG_REGISTERED ? 7 : 0);
		}
		n++;
		waitpid(pid, &status, 0);
		registered += WIFEXITED(status) && WEXITSTATUS(status) == 7;
	}
	printf("bombs %d registered %d\n", n, registered);
	return 0;
}

/* ---- who one is ---- */

/* heir FILE GO: connects, leaves its connection to a child and ends. The child waits until GO is
 * there, while somebody else gets the number (which is in FILE), and registers by it. */
static int heir(int argc, char **argv)
{
	struct cot_msg_register m;
	int fd = dial(), type, i;
	FILE *f;

	if (argc < 2 || fd < 0)
		return 2;
	f = fopen(argv[0], "w");
	fprintf(f, "%d\n", (int)getpid());
	fclose(f);
	if (fork())
		return 0;
	for (i = 0; i < 2000 && access(argv[1], F_OK) < 0; i++)
		usleep(10000);
	fill_register(&m, "mine");
	(void)say(fd, &m, sizeof(m));
	type = hear(fd, 5000);
	printf("answer %s\n", type == COT_MSG_REGISTERED ? "registered"
			      : type == COT_MSG_REFUSED	 ? "refused"
							 : "none");
	while (access(argv[1], F_OK) == 0)
		usleep(10000);
	return 0;
}

/* forge ID: says hello as the program ID of somebody else, in every way */
static int forge(int argc, char **argv)
{
	uint64_t id = argc > 0 ? strtoull(argv[0], NULL, 10) : 1;
	static const uint64_t odd[] = {0, 2147483647, 2147483648, UINT64_MAX, 1000000};
	struct cot_msg_work_hello work;
	struct cot_msg_hello hello;
	int as_it = 0, welcomed = 0, fd;
	unsigned i;

	for (i = 0; i < 2 * (1 + sizeof(odd) / sizeof(odd[0])); i++) {
		uint64_t number = i < 2 ? id : odd[i / 2 - 1];
		int type;

		fd = dial();
		fill_hello(&hello, "victim", number);
		fill_work_hello(&work, "victim", number);
		(void)(i % 2 ? say(fd, &hello, sizeof(hello)) : say(fd, &work, sizeof(work)));
		type = hear(fd, 2000);
		welcomed += type == COT_MSG_WELCOME || type == COT_MSG_WORK_WELCOME;
		if (type == COT_MSG_WELCOME || type == COT_MSG_WORK_WELCOME)
			as_it += ((const struct cot_msg_welcome *)packet)->tenant == id;
		close(fd);
	}
	fd = dial();
	fill_hello(&hello, "victim", 1);
	hello.role = COT_ROLE_POOL;
	(void)say(fd, &hello, sizeof(hello));
	as_it += hear(fd, 2000) == COT_MSG_WELCOME;
	printf("welcomed %d as-it %d\n", welcomed, as_it);
	return 0;
}

/* odd-packets N: what no peer sends: answers nobody waits for, orders, out of band, huge numbers */
static int odd_packets(int argc, char **argv)
{
	struct cot_msg_ack ack = {.value = UINT64_MAX, .latency_ns = UINT64_MAX};
	int i, n = number(argc, argv, 0, 50), closed = 0;
	static char big[COT_PROTO_PACKET_MAX + 4096];
	uint64_t id;

	for (i = 0; i < n; i++) {
		int fd = join("odd", 0, &id);

		if (fd < 0)
			continue;
		(void)send(fd, "x", 1, MSG_OOB | MSG_NOSIGNAL | MSG_DONTWAIT);
		cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack),
				 i % 2 ? UINT32_MAX - (uint32_t)i : (uint32_t)i);
		ack.status = i % 3 ? 0 : INT32_MIN;
		(void)say_now(fd, &ack, sizeof(ack));
		ack.h.type = (uint16_t)(i % 40);
		(void)say_now(fd, &ack, sizeof(ack));
		(void)say_now(fd, big, sizeof(big));
		usleep(1000);
		while (recv(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
			continue;
		closed += !say_now(fd, &ack, sizeof(ack));
		close(fd);
	}
	printf("sent %d closed %d\n", n, closed);
	return 0;
}

/* page N: writes nonsense into its pages, resizes and unmaps them */
static int page(int argc, char **argv)
{
	struct iovec iov = {.iov_base = packet, .iov_len = sizeof(packet)};
	int i, n = number(argc, argv, 0, 20), resized = 0;
	struct cot_msg_hello hello;
	struct cot_msg_groups groups;

	fill_hello(&hello, "page", 0);
	fill_groups(&groups, 2);
	for (i = 0; i < n; i++) {
		union {
			struct cmsghdr header;
			char bytes[CMSG_SPACE(sizeof(int))];
		} control;
		struct msghdr msg = {.msg_iov = &iov,
				     .msg_iovlen = 1,
				     .msg_control = &control,
				     .msg_controllen = sizeof(control)};
		int fd = dial(), shared;
		void *p;

		(void)say(fd, &hello, sizeof(hello));
		if (recvmsg(fd, &msg, 0) <= 0 || !CMSG_FIRSTHDR(&msg)) {
			close(fd);
			continue;
		}
		memcpy(&shared, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(shared));
		p = mmap(NULL, sizeof(struct cot_page), PROT_READ | PROT_WRITE, MAP_SHARED, shared,
			 0);
		if (p != MAP_FAILED)
			memset(p, 0xff, sizeof(struct cot_page));
		resized += ftruncate(shared, 0) == 0 || ftruncate(shared, 1 << 20) == 0;
		(void)say(fd, &groups, sizeof(groups));
		munmap(p, sizeof(struct cot_page));
		close(shared);
		close(fd);
	}
	printf("pages %d resized %d\n", n, resized);
	return 0;
}

const struct attack door_attacks[] = {
	{"passing", "N", "passes descriptors of many kinds, with and without a packet", passing},
	{"linger", "SECONDS N", "passes sockets that take long to close", linger},
	{"silent", "SECONDS", "connects and says nothing", silent},
	{"knock", "SECONDS N", "connects and hangs up, from N processes", knock_many},
	{"bombs", "SECONDS", "processes that register and vanish", bombs},
	{"heir", "FILE GO", "leaves a connection behind whose process ends", heir},
	{"forge", "ID", "says hello as somebody else's program, and as a pool", forge},
	{"odd", "N", "packets that nobody sends", odd_packets},
	{"page", "N", "spoils its shared pages", page},
	{0},
};
