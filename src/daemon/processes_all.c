/*
 * All processes of a daemon, by what is in their environments. Who reads a process's memory waits
 * for who changes its layout, and its owner can let that take as long as it likes (mprotect() at
 * the lowest priority). So a child reads, and where one process takes too long it is ended: the
 * next child goes on behind it and leaves out its user.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/processes.h"

/* One process takes some microseconds, on a busy machine milliseconds. */
#define STUCK_MS     1000
#define MAX_LEFT_OUT 16u

struct walk {
	const char *socket_path;
	_Atomic pid_t *at; /* shared with the child: where it is */
	pid_t only;	   /* 0: all behind `after` */
	pid_t after;
	int stuck_ms;
	unsigned n_left_out;
	uid_t left_out[MAX_LEFT_OUT];
};

/* ---- in the child ---- */

static bool is_left_out(const struct walk *w, pid_t pid)
{
	uid_t uid;
	unsigned i;

	if (!w->n_left_out || cot_process_user(pid, &uid) < 0)
		return false;
	for (i = 0; i < w->n_left_out; i++)
		if (w->left_out[i] == uid)
			return true;
	return false;
}

/* The reason is not that the process has ended or is hidden: a later try may succeed. */
static bool is_lack(int error)
{
	return error == ENOMEM || error == EMFILE || error == ENFILE;
}

/* 0, or -errno where one may be there that was not seen. /proc lists them by number. */
static int walk(const struct walk *w, DIR *dir, int to)
{
	static struct cot_process p;
	struct dirent *entry;
	bool is_ours;
	char *end;
	long pid;

	while ((entry = readdir(dir))) {
		pid = strtol(entry->d_name, &end, 10);
		if (*end || pid <= w->after || pid == (long)getpid())
			continue;
		atomic_store(w->at, (pid_t)pid);
		if (is_left_out(w, (pid_t)pid))
			continue;
		errno = 0;
		is_ours = cot_process_read(w->socket_path, (pid_t)pid, &p);
		if (is_lack(errno))
			return -errno;
		if (is_ours && send(to, &p, sizeof(p), MSG_NOSIGNAL) < 0)
			return -errno;
	}
	return 0;
}

static int read_one(const struct walk *w, int to)
{
	static struct cot_process p;

	if (cot_process_read(w->socket_path, w->only, &p))
		(void)send(to, &p, sizeof(p), MSG_NOSIGNAL);
	return 0;
}

static void read_all(const struct walk *w, int to, pid_t parent)
{
	DIR *dir;
	int rc;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	if (w->only) {
		rc = read_one(w, to);
	} else {
		dir = opendir("/proc");
		rc = dir ? walk(w, dir, to) : -errno;
	}
	(void)send(to, &rc, sizeof(rc), MSG_NOSIGNAL);
	_exit(0);
}

/* ---- in who asks ---- */

/* Until it has said how it ended; -ETIMEDOUT: it does not get on. */
static int hear(const struct walk *w, int from, pid_t self,
		void (*found)(const struct cot_process *p, void *arg), void *arg)
{
	static union {
		struct cot_process p;
		int rc;
	} answer;
	struct pollfd ready = {.fd = from, .events = POLLIN};
	pid_t at, was = 0;
	ssize_t n;
	int rc;

	for (;;) {
		rc = poll(&ready, 1, w->stuck_ms);
		at = w->only ? 0 : atomic_load(w->at);
		if (rc == 0 && at == was)
			return -ETIMEDOUT;
		was = at;
		if (rc <= 0)
			continue;
		n = recv(from, &answer, sizeof(answer), 0);
		if (n != (ssize_t)sizeof(answer.p))
			return n == (ssize_t)sizeof(answer.rc) ? answer.rc : -EIO;
		if (answer.p.pid != self)
			found(&answer.p, arg);
	}
}

static int read_in_child(const struct walk *w,
			 void (*found)(const struct cot_process *p, void *arg), void *arg)
{
	pid_t self = getpid(), child;
	int ends[2], rc;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	child = fork();
	if (child == 0) {
		(void)close(ends[0]);
		read_all(w, ends[1], self);
	}
	rc = child < 0 ? -errno : 0;
	(void)close(ends[1]);
	if (!rc)
		rc = hear(w, ends[0], self, found, arg);
	(void)close(ends[0]);
	if (child > 0) {
		(void)kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	return rc;
}

/* Root's alone is not left out: then it is the one process. */
static int leave_out(struct walk *w)
{
	pid_t at = atomic_load(w->at);
	uid_t uid;

	if (w->n_left_out == MAX_LEFT_OUT)
		return -ETIMEDOUT;
	w->after = at;
	if (cot_process_user(at, &uid) == 0 && uid != 0 && uid != geteuid())
		w->left_out[w->n_left_out++] = uid;
	return 0;
}

int cot_processes_each(const char *socket_path,
		       void (*found)(const struct cot_process *p, void *arg), void *arg)
{
	struct walk w = {.socket_path = socket_path, .stuck_ms = STUCK_MS};
	int rc;

	w.at = mmap(NULL, sizeof(*w.at), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (w.at == MAP_FAILED)
		return -errno;
	while ((rc = read_in_child(&w, found, arg)) == -ETIMEDOUT && leave_out(&w) == 0)
		continue;
	(void)munmap((void *)w.at, sizeof(*w.at));
	return rc;
}

static void take(const struct cot_process *p, void *arg)
{
	*(struct cot_process *)arg = *p;
}

int cot_process_read_within(const char *socket_path, pid_t pid, int ms,
			    struct cot_process *ret_process)
{
	const struct walk w = {.socket_path = socket_path, .only = pid, .stuck_ms = ms};
	int rc;

	ret_process->pid = 0;
	rc = read_in_child(&w, take, ret_process);
	return rc < 0 || ret_process->pid ? rc : -ESRCH;
}

/* ---- the list ---- */

/* An environment is its owner's to write, and nobody's may fill the list: as much as a user has is
 * left for one more. Root's and the daemon's own are pools, too. */
static bool has_place(const struct cot_processes *all, uid_t uid)
{
	unsigned left = COT_ARRAY_LEN(all->p) - all->n, n = 0, i;

	if (uid == 0 || uid == geteuid())
		return left > 0;
	for (i = 0; i < all->n; i++)
		n += all->p[i].uid == uid;
	return n + 1 < left;
}

static void add(const struct cot_process *p, void *arg)
{
	struct cot_processes *all = arg;

	if (has_place(all, p->uid))
		all->p[all->n++] = *p;
}

struct cot_processes *cot_processes_read(const char *socket_path)
{
	struct cot_processes *all = calloc(1, sizeof(*all));

	if (all && cot_processes_each(socket_path, add, all) == 0)
		return all;
	free(all);
	return NULL;
}
