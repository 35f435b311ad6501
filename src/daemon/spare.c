#include "daemon/spare.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/child.h"

#define NAME	 "cotenant-spare"
#define TEXT_MAX 16384u

/* What it is to become: the path, the arguments and the variables, each with its NUL. */
struct message {
	uint32_t n_args, n_variables, size;
	bool has_fd[3]; /* the others stay as they are */
	char text[TEXT_MAX];
};

union rights {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(3 * sizeof(int))];
};

/* ---- packets with descriptors ---- */

static int send_with(int socket, const void *data, size_t size, const int *fds, unsigned n)
{
	union rights control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n) {
		memset(&control, 0, sizeof(control));
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		CMSG_FIRSTHDR(&msg)->cmsg_level = SOL_SOCKET;
		CMSG_FIRSTHDR(&msg)->cmsg_type = SCM_RIGHTS;
		CMSG_FIRSTHDR(&msg)->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(CMSG_FIRSTHDR(&msg)), fds, n * sizeof(int));
	}
	return sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size ? 0 : -errno;
}

/* As recv(). Descriptors that did not come are -1. */
static ssize_t receive_with(int socket, void *data, size_t size, int fds[3], int flags)
{
	union rights control;
	struct iovec iov = {.iov_base = data, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n = recvmsg(socket, &msg, flags | MSG_CMSG_CLOEXEC);
	const struct cmsghdr *head = n < 0 ? NULL : CMSG_FIRSTHDR(&msg);

	fds[0] = fds[1] = fds[2] = -1;
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(fds, CMSG_DATA(head), head->cmsg_len - CMSG_LEN(0));
	return n;
}

/* ---- in the process that becomes the program ---- */

static int place(int fd, int at)
{
	/* One that lies there already would be closed by exec(). */
	if (fd < 3)
		fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -1 : dup2(fd, at);
}

/* Only what a child may do between fork() and exec(): all of it was made before. */
static void become(struct message *m, const int fds[3])
{
	static const int heeded[] = {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGPIPE};
	char *argv[COT_PROGRAM_ARGS + 1], *at = m->text + strlen(m->text) + 1;
	sigset_t none;
	unsigned i;

	for (i = 0; i < sizeof(heeded) / sizeof(heeded[0]); i++)
		(void)signal(heeded[i], SIG_DFL);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)setsid();
	(void)umask(022); /* what other users need is made for them, whatever the daemon's is */
	for (i = 0; i < m->n_args; i++, at += strlen(at) + 1)
		argv[i] = at;
	argv[i] = NULL;
	for (i = 0; i < m->n_variables; i++, at += strlen(at) + 1)
		(void)putenv(at);
	for (i = 0; i < 3; i++)
		if (m->has_fd[i] && place(fds[i], (int)i) < 0)
			_exit(126);
	(void)execv(m->text, argv);
	_exit(errno == ENOENT ? 127 : 126);
}

/* In a spare one. The daemon closes the other end when it needs none, and by ending. */
static void wait_for_program(int socket)
{
	static struct message m;
	int in_order[3], fds[3];
	unsigned i, n = 0;

	if (receive_with(socket, &m, sizeof(m), in_order, 0) <= 0)
		_exit(0);
	for (i = 0; i < 3; i++)
		fds[i] = m.has_fd[i] ? in_order[n++] : -1;
	become(&m, fds);
}

/* ---- in the process that makes them ---- */

static void make_one(int daemon)
{
	int ends[2], answer;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		answer = -errno;
		(void)send_with(daemon, &answer, sizeof(answer), NULL, 0);
		return;
	}
	/* As fork(), but whose child it is. */
	answer = (int)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, NULL, NULL, NULL, NULL);
	if (answer == 0) {
		(void)close(daemon);
		(void)close(ends[0]);
		wait_for_program(ends[1]);
	}
	if (answer < 0)
		answer = -errno;
	(void)close(ends[1]);
	(void)send_with(daemon, &answer, sizeof(answer), ends, answer > 0);
	(void)close(ends[0]);
}

static void serve(int daemon, const void *with)
{
	char byte;
	int fd;

	(void)with;
	/* What is opened from here on is none of stdin, stdout and stderr. */
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd < STDERR_FILENO);
	if (fd > STDERR_FILENO)
		(void)close(fd);
	while (recv(daemon, &byte, 1, 0) > 0)
		make_one(daemon);
}

/* ---- in the daemon ---- */

static void lose_maker(struct cot_spares *s)
{
	if (!s->is_there)
		return;
	cot_loop_remove(s->loop, &s->source);
	(void)close(s->source.fd);
	if (s->maker)
		(void)kill(s->maker, SIGKILL);
	s->is_there = false;
	s->n_asked = 0;
}

static void answered(struct cot_source *source, uint32_t events)
{
	struct cot_spares *s = COT_CONTAINER_OF(source, struct cot_spares, source);
	int answer = 0, fds[3];
	ssize_t n = receive_with(source->fd, &answer, sizeof(answer), fds, MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != sizeof(answer)) {
		lose_maker(s);
		return;
	}
	s->n_asked -= s->n_asked > 0;
	if (answer <= 0)
		return;
	if (fds[0] < 0 || s->n == COT_SPARES) { /* no descriptor was left for it */
		(void)kill(answer, SIGKILL);
		(void)waitpid(answer, NULL, 0);
		return;
	}
	s->ready[s->n].pid = answer;
	s->ready[s->n++].fd = fds[0];
}

static void ask(struct cot_spares *s)
{
	while (s->is_there && s->n + s->n_asked < COT_SPARES) {
		if (send(s->source.fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT) != 1) {
			lose_maker(s);
			return;
		}
		s->n_asked++;
	}
}

int cot_spares_begin(struct cot_spares *s, struct cot_loop *loop)
{
	int fd, rc;

	s->loop = loop;
	cot_child_reap(&s->maker);
	if (s->maker) /* it is there, or about to end */
		return s->is_there ? 0 : -EAGAIN;
	rc = cot_child_start(NAME, serve, NULL, &fd, &s->maker);
	if (rc < 0)
		return rc;
	s->source = (struct cot_source){.fd = fd, .ready = answered};
	rc = cot_loop_add(loop, &s->source, EPOLLIN);
	s->is_there = true;
	if (rc < 0)
		lose_maker(s);
	else
		ask(s);
	return rc;
}

static void forget(struct cot_spares *s, unsigned i)
{
	(void)close(s->ready[i].fd);
	s->ready[i] = s->ready[--s->n];
}

/* False: `text` has no room for it. */
static bool append(struct message *m, const char *word)
{
	size_t n = strlen(word) + 1;

	if (n > sizeof(m->text) - m->size)
		return false;
	memcpy(m->text + m->size, word, n);
	m->size += (uint32_t)n;
	return true;
}

static bool write_message(struct message *m, const struct cot_program *program)
{
	bool fits;
	int i;

	m->size = m->n_args = m->n_variables = 0;
	for (i = 0; i < 3; i++)
		m->has_fd[i] = program->fds[i] >= 0;
	fits = append(m, program->path);
	while (fits && program->argv[m->n_args])
		fits = append(m, program->argv[m->n_args++]);
	while (fits && program->variables[m->n_variables])
		fits = append(m, program->variables[m->n_variables++]);
	return fits;
}

/* 0: none of them is ready. */
static pid_t start_spare(struct cot_spares *s, const struct message *m, const int fds[3])
{
	int in_order[3];
	unsigned i, n = 0;
	pid_t pid;
	int rc;

	for (i = 0; i < 3; i++)
		if (m->has_fd[i])
			in_order[n++] = fds[i];
	while (s->n) {
		pid = s->ready[s->n - 1].pid;
		rc = send_with(s->ready[s->n - 1].fd, m, offsetof(struct message, text) + m->size,
			       in_order, n);
		forget(s, s->n - 1);
		if (!rc)
			return pid;
		(void)kill(pid, SIGKILL);
		(void)waitpid(pid, NULL, 0);
	}
	return 0;
}

pid_t cot_spares_start(struct cot_spares *s, const struct cot_program *program)
{
	static struct message m;
	pid_t pid;

	if (!write_message(&m, program))
		return -E2BIG;
	pid = start_spare(s, &m, program->fds);
	if (s->loop && !s->is_there)
		(void)cot_spares_begin(s, s->loop);
	ask(s);
	if (pid)
		return pid;
	pid = fork();
	if (pid == 0)
		become(&m, program->fds);
	return pid < 0 ? -errno : pid;
}

void cot_spares_reap(struct cot_spares *s)
{
	unsigned i = s->n;

	cot_child_reap(&s->maker);
	while (i-- > 0)
		if (waitpid(s->ready[i].pid, NULL, WNOHANG) != 0)
			forget(s, i);
}

void cot_spares_end(struct cot_spares *s)
{
	lose_maker(s);
	while (s->n)
		forget(s, s->n - 1);
}
