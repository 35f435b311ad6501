#include "attack.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define PASS_MAX 253 /* SCM_MAX_FD */
#define CROWD	 4

_Alignas(8) char packet[COT_PROTO_PACKET_MAX];
static uint64_t begin_ns;

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

bool time_is_left(double seconds)
{
	return (double)(now_ns() - begin_ns) < seconds * 1e9;
}

void time_begins(void)
{
	begin_ns = now_ns();
}

int number(int argc, char **argv, int i, int otherwise)
{
	return argc > i ? atoi(argv[i]) : otherwise;
}

double duration(int argc, char **argv, double otherwise)
{
	return argc > 0 ? atof(argv[0]) : otherwise;
}

int dial(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *path = getenv("COTENANT_SOCKET");
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	if (!path || fd < 0 || strlen(path) >= sizeof(address.sun_path))
		return -1;
	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		return fd;
	close(fd);
	return -1;
}

int dial_many(int fds[CONNS_MAX], int n)
{
	int i, got = 0;

	for (i = 0; i < n && i < CONNS_MAX; i++) {
		fds[got] = dial();
		got += fds[got] >= 0;
	}
	return got;
}

bool say(int fd, const void *m, size_t size)
{
	return send(fd, m, size, MSG_NOSIGNAL) == (ssize_t)size;
}

bool say_now(int fd, const void *m, size_t size)
{
	return send(fd, m, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size;
}

int hear(int fd, int timeout_ms)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	ssize_t n;
	int type;

	if (poll(&p, 1, timeout_ms) <= 0)
		return 0;
	n = recv(fd, packet, sizeof(packet), 0);
	type = n > 0 ? cot_proto_check(packet, (size_t)n) : 0;
	return type > 0 ? type : 0;
}

void drain(int fd)
{
	while (recv(fd, packet, sizeof(packet), MSG_DONTWAIT) > 0)
		continue;
}

bool pass(int fd, const void *m, size_t size, int passed, int n)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(PASS_MAX * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)m, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control};
	int i;

	control.header.cmsg_level = SOL_SOCKET;
	control.header.cmsg_type = SCM_RIGHTS;
	control.header.cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
	for (i = 0; i < n; i++)
		memcpy(CMSG_DATA(&control.header) + (size_t)i * sizeof(int), &passed, sizeof(int));
	msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

void fill_hello(struct cot_msg_hello *m, const char *name, uint64_t tenant)
{
	*m = (struct cot_msg_hello){.class_ = COT_CLASS_BATCH,
				    .weight = 100,
				    .pid = (uint32_t)getpid(),
				    .tenant = tenant};
	snprintf(m->name, sizeof(m->name), "%s", name);
	cot_proto_header(&m->h, COT_MSG_HELLO, sizeof(*m), 1);
}

void fill_work_hello(struct cot_msg_work_hello *m, const char *name, uint64_t tenant)
{
	*m = (struct cot_msg_work_hello){.class_ = COT_CLASS_BATCH,
					 .weight = 100,
					 .n_sms = 132,
					 .pid = (uint32_t)getpid(),
					 .tenant = tenant,
					 .gpu = "0"};
	snprintf(m->name, sizeof(m->name), "%s", name);
	cot_proto_header(&m->h, COT_MSG_WORK_HELLO, sizeof(*m), 1);
}

void fill_register(struct cot_msg_register *m, const char *name)
{
	*m = (struct cot_msg_register){
		.class_ = COT_CLASS_BATCH, .solo = 1, .weight = 100, .pid = (uint32_t)getpid()};
	snprintf(m->name, sizeof(m->name), "%s", name);
	cot_proto_header(&m->h, COT_MSG_REGISTER, sizeof(*m), 1);
}

void fill_query(struct cot_msg_query *m, uint32_t what)
{
	*m = (struct cot_msg_query){.what = what};
	cot_proto_header(&m->h, COT_MSG_QUERY, sizeof(*m), 1);
}

void fill_command(struct cot_msg_command *m, uint32_t what, uint64_t tenant)
{
	*m = (struct cot_msg_command){.what = what, .tenant = tenant, .weight = 100};
	cot_proto_header(&m->h, COT_MSG_COMMAND, sizeof(*m), 1);
}

void fill_groups(struct cot_msg_groups *m, unsigned n)
{
	*m = (struct cot_msg_groups){.n_groups = n, .n_channels = 8 * n, .gpus = 1};
	cot_proto_header(&m->h, COT_MSG_GROUPS, sizeof(*m), 2);
}

void fill_request(struct cot_msg_work_request *m, uint64_t work)
{
	*m = (struct cot_msg_work_request){
		.work = work, .n_tasks = 100000, .per_sm = 1, .flags = 3, .task_ns = 1000};
	cot_proto_header(&m->h, COT_MSG_WORK_REQUEST, sizeof(*m), 1);
}

void fill_done(struct cot_msg_work_done *m, uint64_t work)
{
	*m = (struct cot_msg_work_done){.work = work, .n_tasks = 1, .n_launches = 1};
	cot_proto_header(&m->h, COT_MSG_WORK_DONE, sizeof(*m), 1);
}

int join(const char *name, uint64_t tenant, uint64_t *ret_id)
{
	struct cot_msg_groups groups;
	struct cot_msg_hello hello;
	int fd = dial();

	fill_hello(&hello, name, tenant);
	fill_groups(&groups, 1);
	if (fd < 0 || !say(fd, &hello, sizeof(hello)) || hear(fd, 5000) != COT_MSG_WELCOME) {
		close(fd);
		return -1;
	}
	*ret_id = ((const struct cot_msg_welcome *)packet)->tenant;
	(void)say(fd, &groups, sizeof(groups));
	return fd;
}

void in_child(int (*body)(int argc, char **argv), int argc, char **argv)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(body(argc, argv));
}

void run_seldom(void)
{
	static const struct sched_param none;

	(void)sched_setscheduler(0, SCHED_IDLE, &none);
}

static int be_busy(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	while (now_ns())
		continue;
	return 1;
}

void crowd_cores(void)
{
	int i;

	for (i = 0; i < CROWD; i++)
		in_child(be_busy, 0, NULL);
}

static int run(const struct attack *list, int argc, char **argv)
{
	for (; list->name; list++)
		if (!strcmp(list->name, argv[1]))
			return list->run(argc - 2, argv + 2);
	return -1;
}

static void help(const struct attack *list)
{
	for (; list->name; list++)
		printf("  %s %s\n      %s\n", list->name, list->arguments, list->what);
}

int main(int argc, char **argv)
{
	static const struct attack *const lists[] = {door_attacks, flood_attacks, place_attacks,
						     part_attacks, query_attacks, judge_tools};
	unsigned i;
	int rc = -1;

	time_begins();
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; argc > 1 && rc < 0 && i < sizeof(lists) / sizeof(lists[0]); i++)
		rc = run(lists[i], argc, argv);
	if (rc >= 0)
		return rc;
	printf("attack NAME ARGUMENT..., against the daemon of $COTENANT_SOCKET:\n");
	for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		help(lists[i]);
	return 2;
}
