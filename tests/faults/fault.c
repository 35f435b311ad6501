/*
 * Preloaded into programs under test: the calls that may fail, of which one does, or one and all
 * after it. With COTENANT_FAULTS unset, or in programs of another name, nothing changes.
 *
 * A call fails as it can in reality, with an error that its manual names: no memory, no descriptor,
 * no process, a full disk. What waits (epoll_wait, poll) is interrupted, and only once: for ever
 * would be a busy loop that no kernel makes.
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "page.h"

#define EXPORT __attribute__((visibility("default")))

/* Not declared, but exported for those who take the place of malloc(). */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *old, size_t size);

static struct fault_page *page; /* NULL: not in this program */
static uintptr_t object_start, object_end;

/* ---- whose calls ---- */

static int find_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	size_t n = strlen(info->dlpi_name), k = strlen(page->object);
	unsigned i;

	(void)size;
	(void)arg;
	if (n < k || strcmp(info->dlpi_name + n - k, page->object) != 0)
		return 0;
	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &info->dlpi_phdr[i];
		uintptr_t at = info->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && h->p_flags & PF_X) {
			object_start = at;
			object_end = at + h->p_memsz;
		}
	}
	return 1;
}

static void __attribute__((constructor)) begin(void)
{
	const char *path = getenv(FAULTS_VARIABLE);
	struct fault_page *p;
	int fd;

	if (!path)
		return;
	fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return;
	p = (void *)syscall(SYS_mmap, NULL, sizeof(*p), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0L);
	syscall(SYS_close, fd);
	if (p == MAP_FAILED || strcmp(p->program, program_invocation_short_name) != 0)
		return;
	page = p;
	if (page->object[0])
		dl_iterate_phdr(find_object, NULL);
}

static void tell(const char *name, const void *caller)
{
	static _Thread_local bool inside; /* what we call here may be one of ours */
	Dl_info info;

	if (inside)
		return;
	inside = true;
	if (dladdr(caller, &info) && info.dli_fname)
		(void)snprintf(page->first, sizeof(page->first), "%s called by %.60s+0x%lx", name,
			       strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1
							    : info.dli_fname,
			       (unsigned long)((uintptr_t)caller - (uintptr_t)info.dli_fbase));
	else
		(void)snprintf(page->first, sizeof(page->first), "%s", name);
	inside = false;
}

EXPORT bool fault_is_watched(const void *caller)
{
	return page && (!page->object[0] ||
			((uintptr_t)caller >= object_start && (uintptr_t)caller < object_end));
}

/* Does this call fail? */
static bool fails(const char *name, const void *caller, bool once)
{
	uint64_t k, n;

	if (!page || !atomic_load(&page->armed))
		return false;
	if (!fault_is_watched(caller))
		return false;
	k = atomic_fetch_add(&page->n_calls, 1) + 1;
	n = atomic_load(&page->n);
	if (k < n || (k > n && (once || !atomic_load(&page->onward))))
		return false;
	if (!atomic_fetch_add(&page->n_failed, 1))
		tell(name, caller);
	return true;
}

EXPORT bool fault_fails(const char *name, const void *caller)
{
	return fails(name, caller, false);
}

#define FAIL(name, error, result)                                       \
	do {                                                            \
		if (fails(#name, __builtin_return_address(0), false)) { \
			errno = error;                                  \
			return result;                                  \
		}                                                       \
	} while (0)

#define FAIL_ONCE(name, error, result)                                 \
	do {                                                           \
		if (fails(#name, __builtin_return_address(0), true)) { \
			errno = error;                                 \
			return result;                                 \
		}                                                      \
	} while (0)

/* The function that this one stands before. */
#define REAL(name)                                                                           \
	__extension__({                                                                      \
		static __typeof__(name) *real;                                               \
		if (!__atomic_load_n(&real, __ATOMIC_RELAXED))                               \
			__atomic_store_n(&real, (__typeof__(name) *)dlsym(RTLD_NEXT, #name), \
					 __ATOMIC_RELAXED);                                  \
		real;                                                                        \
	})

/* ---- memory ---- */

EXPORT void *malloc(size_t size)
{
	FAIL(malloc, ENOMEM, NULL);
	return __libc_malloc(size);
}

EXPORT void *calloc(size_t n, size_t size)
{
	FAIL(calloc, ENOMEM, NULL);
	return __libc_calloc(n, size);
}

EXPORT void *realloc(void *old, size_t size)
{
	FAIL(realloc, ENOMEM, NULL);
	return __libc_realloc(old, size);
}

EXPORT void *mmap(void *at, size_t size, int prot, int flags, int fd, off_t offset)
{
	FAIL(mmap, ENOMEM, MAP_FAILED);
	return REAL(mmap)(at, size, prot, flags, fd, offset);
}

EXPORT int memfd_create(const char *name, unsigned flags)
{
	FAIL(memfd_create, EMFILE, -1);
	return REAL(memfd_create)(name, flags);
}

/* ---- files ---- */

EXPORT int open(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	FAIL(open, EMFILE, -1);
	va_start(args, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, mode_t) : 0;
	va_end(args);
	return REAL(open)(path, flags, mode);
}

EXPORT FILE *fopen(const char *path, const char *mode)
{
	FAIL(fopen, EMFILE, NULL);
	return REAL(fopen)(path, mode);
}

EXPORT FILE *fdopen(int fd, const char *mode)
{
	FAIL(fdopen, ENOMEM, NULL);
	return REAL(fdopen)(fd, mode);
}

EXPORT DIR *opendir(const char *path)
{
	FAIL(opendir, EMFILE, NULL);
	return REAL(opendir)(path);
}

EXPORT int scandir(const char *path, struct dirent ***list, int (*filter)(const struct dirent *),
		   int (*compare)(const struct dirent **, const struct dirent **))
{
	FAIL(scandir, EMFILE, -1);
	return REAL(scandir)(path, list, filter, compare);
}

/* A signalfd, a timer or a pipe has no disk that could break or be full. */
static bool is_on_disk(int fd)
{
	struct stat st;

	return page && fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

EXPORT ssize_t read(int fd, void *data, size_t size)
{
	if (is_on_disk(fd))
		FAIL(read, EIO, -1);
	return REAL(read)(fd, data, size);
}

EXPORT ssize_t write(int fd, const void *data, size_t size)
{
	if (is_on_disk(fd))
		FAIL(write, ENOSPC, -1);
	return REAL(write)(fd, data, size);
}

EXPORT int rename(const char *from, const char *to)
{
	FAIL(rename, ENOSPC, -1);
	return REAL(rename)(from, to);
}

EXPORT int mkdir(const char *path, mode_t mode)
{
	FAIL(mkdir, ENOSPC, -1);
	return REAL(mkdir)(path, mode);
}

EXPORT int ftruncate(int fd, off_t size)
{
	FAIL(ftruncate, EIO, -1);
	return REAL(ftruncate)(fd, size);
}

EXPORT int flock(int fd, int how)
{
	FAIL(flock, ENOLCK, -1);
	return REAL(flock)(fd, how);
}

EXPORT int chmod(const char *path, mode_t mode)
{
	FAIL(chmod, EROFS, -1);
	return REAL(chmod)(path, mode);
}

EXPORT ssize_t readlink(const char *path, char *data, size_t size)
{
	FAIL(readlink, EIO, -1);
	return REAL(readlink)(path, data, size);
}

/* glibc has two of them, of which dlsym() would find the older one. */
EXPORT char *realpath(const char *path, char *resolved)
{
	static char *(*real)(const char *, char *);

	FAIL(realpath, EIO, NULL);
	if (!real)
		real = (char *(*)(const char *, char *))dlvsym(RTLD_NEXT, "realpath", "GLIBC_2.3");
	return real ? real(path, resolved) : NULL;
}

/* ---- processes and threads ---- */

EXPORT pid_t fork(void)
{
	FAIL(fork, EAGAIN, -1);
	return REAL(fork)();
}

EXPORT int execv(const char *path, char *const argv[])
{
	FAIL(execv, ENOMEM, -1);
	return REAL(execv)(path, argv);
}

EXPORT int execvp(const char *path, char *const argv[])
{
	FAIL(execvp, ENOMEM, -1);
	return REAL(execvp)(path, argv);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*body)(void *),
			  void *arg)
{
	FAIL(pthread_create, EAGAIN, EAGAIN);
	return REAL(pthread_create)(thread, attr, body, arg);
}

EXPORT long syscall(long number, ...)
{
	long a[6];
	va_list args;
	int i;

	if (number == SYS_pidfd_open)
		FAIL(pidfd_open, EMFILE, -1);
	va_start(args, number);
	for (i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* ---- descriptors and sockets ---- */

EXPORT int pipe2(int ends[2], int flags)
{
	FAIL(pipe2, EMFILE, -1);
	return REAL(pipe2)(ends, flags);
}

EXPORT int dup2(int fd, int to)
{
	FAIL(dup2, EBUSY, -1);
	return REAL(dup2)(fd, to);
}

EXPORT int socket(int domain, int type, int protocol)
{
	FAIL(socket, EMFILE, -1);
	return REAL(socket)(domain, type, protocol);
}

EXPORT int socketpair(int domain, int type, int protocol, int ends[2])
{
	FAIL(socketpair, EMFILE, -1);
	return REAL(socketpair)(domain, type, protocol, ends);
}

EXPORT int connect(int fd, const struct sockaddr *address, socklen_t size)
{
	FAIL(connect, EAGAIN, -1);
	return REAL(connect)(fd, address, size);
}

EXPORT int bind(int fd, const struct sockaddr *address, socklen_t size)
{
	FAIL(bind, ENOSPC, -1);
	return REAL(bind)(fd, address, size);
}

EXPORT int listen(int fd, int backlog)
{
	FAIL(listen, EADDRINUSE, -1);
	return REAL(listen)(fd, backlog);
}

EXPORT int accept4(int fd, struct sockaddr *address, socklen_t *size, int flags)
{
	FAIL(accept4, EMFILE, -1);
	return REAL(accept4)(fd, address, size, flags);
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *size)
{
	FAIL(getsockopt, ENOBUFS, -1);
	return REAL(getsockopt)(fd, level, name, value, size);
}

EXPORT ssize_t send(int fd, const void *data, size_t size, int flags)
{
	FAIL(send, ENOBUFS, -1);
	return REAL(send)(fd, data, size, flags);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	FAIL(sendmsg, ENOBUFS, -1);
	return REAL(sendmsg)(fd, m, flags);
}

EXPORT ssize_t recv(int fd, void *data, size_t size, int flags)
{
	FAIL(recv, ENOMEM, -1);
	return REAL(recv)(fd, data, size, flags);
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	FAIL(recvmsg, ENOMEM, -1);
	return REAL(recvmsg)(fd, m, flags);
}

/* ---- events ---- */

EXPORT int epoll_create1(int flags)
{
	FAIL(epoll_create1, EMFILE, -1);
	return REAL(epoll_create1)(flags);
}

EXPORT int epoll_ctl(int epoll, int op, int fd, struct epoll_event *event)
{
	if (op != EPOLL_CTL_DEL)
		FAIL(epoll_ctl, ENOSPC, -1);
	return REAL(epoll_ctl)(epoll, op, fd, event);
}

EXPORT int epoll_wait(int epoll, struct epoll_event *events, int n, int timeout)
{
	int rc;

	FAIL_ONCE(epoll_wait, EINTR, -1);
	if (page)
		atomic_store(&page->waits, getpid());
	rc = REAL(epoll_wait)(epoll, events, n, timeout);
	if (page)
		atomic_store(&page->waits, 0);
	return rc;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	FAIL_ONCE(poll, EINTR, -1);
	return REAL(poll)(fds, n, timeout);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *set)
{
	FAIL_ONCE(ppoll, EINTR, -1);
	return REAL(ppoll)(fds, n, timeout, set);
}

EXPORT int timerfd_create(int clock, int flags)
{
	FAIL(timerfd_create, EMFILE, -1);
	return REAL(timerfd_create)(clock, flags);
}

EXPORT int signalfd(int fd, const sigset_t *set, int flags)
{
	FAIL(signalfd, EMFILE, -1);
	return REAL(signalfd)(fd, set, flags);
}
