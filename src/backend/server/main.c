/*
 * cotenant-backend: one process that makes one launch of launches of several programs of a user
 * (docs/backend.md). `cotenant run --backend` starts it, in the pool of the program.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "backend/server/server.h"

#define WINDOW_US    100u
#define WINDOW_MAX   1000000u
#define IDLE_S	     10u
#define IDLE_MAX     86400u
#define BACKLOG	     16
#define NS_PER_S     1000000000ull
#define STATUS_THERE 4 /* another one has the socket */

struct arguments {
	const char *socket, *log;
	uint64_t window_us, idle_s;
	bool always, detach;
};

enum { KEY_SOCKET = 256, KEY_LOG, KEY_WINDOW, KEY_IDLE, KEY_ALWAYS, KEY_DETACH };

static const struct argp_option options[] = {
	{"socket", KEY_SOCKET, "PATH", 0, "Where programs find it", 0},
	{"window", KEY_WINDOW, "US", 0,
	 "How long a launch waits for others at most, in microseconds; default 100", 0},
	{"idle", KEY_IDLE, "S", 0, "End after so many seconds without a program; default 10", 0},
	{"always", KEY_ALWAYS, NULL, 0, "Merge whatever the model says", 0},
	{"detach", KEY_DETACH, NULL, 0, "Go on in the background when it is ready", 0},
	{"log", KEY_LOG, "FILE", 0, "Write what happens there; default: to the standard error", 0},
	{0},
};

static uint64_t number(struct argp_state *state, const char *what, const char *text, uint64_t max)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || !n || n > max)
		argp_error(state, "the %s is '%s'; expected a whole number, 1 to %llu", what, text,
			   (unsigned long long)max);
	return n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;

	switch (key) {
	case KEY_SOCKET:
		a->socket = arg;
		return 0;
	case KEY_LOG:
		a->log = arg;
		return 0;
	case KEY_WINDOW:
		a->window_us = number(state, "window", arg, WINDOW_MAX);
		return 0;
	case KEY_IDLE:
		a->idle_s = number(state, "time without a program", arg, IDLE_MAX);
		return 0;
	case KEY_ALWAYS:
		a->always = true;
		return 0;
	case KEY_DETACH:
		a->detach = true;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "there is one argument too many: '%s'", arg);
		return 0;
	case ARGP_KEY_END:
		if (!a->socket)
			argp_error(state, "expected --socket PATH");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

uint64_t backend_now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

void backend_say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("cotenant-backend: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

/* ---- the GPU ---- */

static int open_gpu(struct backend *b, struct cot_error *err)
{
	struct cot_driver *d = &b->cuda;
	CUuuid uuid;
	int n = 0, rc = cot_driver_open(d, err);

	if (!rc && (!d->cuMemAddressReserve || !d->cuMemImportFromShareableHandle ||
		    !d->cuStreamBatchMemOp_v2))
		rc = cot_error_set(err, -ENOSYS,
				   "the driver cannot share memory at fixed addresses");
	if (rc || (rc = COT_DRIVER_CALL(d, err, cuInit, 0)) ||
	    (rc = COT_DRIVER_CALL(d, err, cuDeviceGet, &b->device, 0)) ||
	    (rc = COT_DRIVER_CALL(d, err, cuDeviceGetUuid, &uuid, b->device)) ||
	    (rc = COT_DRIVER_CALL(d, err, cuDevicePrimaryCtxRetain, &b->context, b->device)) ||
	    (rc = COT_DRIVER_CALL(d, err, cuCtxSetCurrent, b->context)) ||
	    (rc = COT_DRIVER_CALL(d, err, cuDeviceGetAttribute, &n,
				  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, b->device)) ||
	    (rc = COT_DRIVER_CALL(d, err, cuStreamCreate, &b->stream, CU_STREAM_NON_BLOCKING)))
		return rc;
	memcpy(b->gpu, &uuid, sizeof(b->gpu));
	b->n_sms = n > 0 ? (uint32_t)n : 1;
	n = cot_backend_page_make(b, &b->own, &b->own_on_gpu);
	if (n < 0)
		return cot_error_set(err, -EIO, "the driver does not take memory of the host");
	close(n);
	return 0;
}

/* ---- the socket ---- */

/* One backend a path: who has the lock. It is held until the process ends. */
static int lock(const char *path, struct cot_error *err)
{
	char name[sizeof(((struct sockaddr_un *)0)->sun_path) + 8];
	int fd;

	(void)snprintf(name, sizeof(name), "%s.lock", path);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return cot_error_set(err, -errno, "cannot open %s: %s", name, strerror(errno));
	if (flock(fd, LOCK_EX | LOCK_NB)) {
		close(fd);
		return cot_error_set(err, -EBUSY, "another backend has %s", path);
	}
	return 0;
}

static int listen_at(struct backend *b, const char *path, struct cot_error *err)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	mode_t mask;
	int rc;

	if (strlen(path) >= sizeof(at.sun_path))
		return cot_error_set(err, -ENAMETOOLONG,
				     "'%s' is too long for a socket; expected at most %zu bytes",
				     path, sizeof(at.sun_path) - 1);
	rc = lock(path, err);
	if (rc)
		return rc;
	memcpy(at.sun_path, path, strlen(path));
	b->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)unlink(path);
	mask = umask(0077);
	rc = b->listener < 0 || bind(b->listener, (struct sockaddr *)&at, sizeof(at)) ||
			     listen(b->listener, BACKLOG)
		     ? -errno
		     : 0;
	umask(mask);
	return rc ? cot_error_set(err, rc, "cannot listen at %s: %s", path, strerror(-rc)) : 0;
}

static int watch(struct backend *b, struct cot_error *err)
{
	struct epoll_event listener = {.events = EPOLLIN, .data.ptr = &b->listener};

	b->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (b->epoll < 0 || epoll_ctl(b->epoll, EPOLL_CTL_ADD, b->listener, &listener))
		return cot_error_set(err, -errno, "cannot wait for programs: %s", strerror(errno));
	return 0;
}

/* ---- in the background ---- */

/* In the child: the end of a pipe that says whether it is ready. In the parent: does not return. */
static int detach(void)
{
	int ends[2];
	unsigned char status = 1;
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0) {
		backend_say("cannot start: %s", strerror(errno));
		exit(1);
	}
	if (child) {
		close(ends[1]);
		(void)!read(ends[0], &status, 1); /* nothing: it has ended */
		_exit(status);
	}
	close(ends[0]);
	(void)setsid();
	(void)!chdir("/");
	return ends[1];
}

static void send_output(const char *path)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC),
	    log = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600)
		       : -1;

	if (fd >= 0) {
		(void)dup2(fd, 0);
		(void)dup2(fd, 1);
	}
	if (log >= 0 || fd >= 0)
		(void)dup2(log >= 0 ? log : fd, 2);
}

static void tell_status(int fd, unsigned char status)
{
	if (fd < 0)
		return;
	(void)!write(fd, &status, 1);
	close(fd);
}

static int start(struct backend *b, const char *socket, struct cot_error *err)
{
	int rc = listen_at(b, socket, err);

	if (!rc)
		rc = watch(b, err);
	return rc ? rc : open_gpu(b, err);
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		options,
		parse,
		NULL,
		"One process that makes one launch of launches of several programs; cotenant run "
		"--backend starts it",
		NULL,
		NULL,
		NULL};
	static struct backend b;
	struct arguments a = {.window_us = WINDOW_US, .idle_s = IDLE_S};
	struct cot_error err = {{0}};
	const char *pool = getenv("CUDA_MPS_PIPE_DIRECTORY");
	int ready = -1, rc;
	uint32_t i;

	argp_parse(&argp, argc, argv, 0, NULL, &a);
	b.window_ns = a.window_us * 1000;
	b.idle_ns = a.idle_s * NS_PER_S;
	b.always = a.always;
	b.pool = pool ? pool : "";
	for (i = 0; i < COT_BACKEND_CLIENTS; i++)
		b.clients[i].fd = b.clients[i].wake = -1;
	if (a.detach) {
		ready = detach();
		send_output(a.log);
	} else if (a.log) {
		send_output(a.log);
	}
	rc = start(&b, a.socket, &err);
	if (rc) {
		backend_say("%s", err.text);
		tell_status(ready, rc == -EBUSY ? STATUS_THERE : 1);
		return rc == -EBUSY ? STATUS_THERE : 1;
	}
	tell_status(ready, 0);
	rc = cot_backend_serve(&b);
	(void)unlink(a.socket);
	return rc;
}
