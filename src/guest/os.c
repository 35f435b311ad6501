/*
 * The library is loaded into containers with an older C library than the one it was built with,
 * where a missing symbol version would keep the program from starting. So what moved between
 * libraries in glibc 2.34 is bound by its old version, weakly, and calls that gained new versions
 * are made directly.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/words.h"
#include "guest/os.h"

#if defined(__GLIBC__) && defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

#ifdef OLDEST
#if __GLIBC_PREREQ(2, 34)
#define BIND_OLD(name)                                                \
	extern __typeof__(name) cot_old_##name __attribute__((weak)); \
	__asm__(".symver cot_old_" #name "," #name "@" OLDEST)
#define OLD(name) cot_old_##name
#else
/* What it is built with has them outside of libc, and the linker knows no versions of theirs there.
 */
#define BIND_OLD(name) extern __typeof__(name) name __attribute__((weak))
#define OLD(name)      name
#endif
BIND_OLD(dlopen);
BIND_OLD(dlclose);
BIND_OLD(dlsym);
BIND_OLD(pthread_create);
BIND_OLD(pthread_attr_setstacksize);
BIND_OLD(pthread_key_create);
BIND_OLD(pthread_setspecific);
#define HAS_OLD(name) (OLD(name) != NULL)
#else
#define OLD(name)     name
#define HAS_OLD(name) 1
#endif

/* The requested size, and more where the C library needs it. */
static const size_t stack_bytes[] = {COT_STACK_SMALL, 256u << 10, COT_STACK_DRIVER, 8u << 20};

/* Descriptors of ours start here if the limit allows. */
#define FIRST_FD 500

uint64_t cot_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * COT_NS_PER_S + (uint64_t)t.tv_nsec;
}

bool cot_fd_identity(int fd, struct cot_rm_identity *ret_id)
{
	struct stat st;
	int saved = errno;
	bool there = syscall(SYS_fstat, fd, &st) == 0;

	errno = saved;
	if (there)
		*ret_id = (struct cot_rm_identity){st.st_dev, st.st_ino, st.st_rdev};
	return there;
}

void cot_own_fd_take(struct cot_own_fd *own, int fd)
{
	int high = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD) : -1;

	if (high >= 0) {
		close(fd);
		fd = high;
	}
	own->fd = fd;
	if (fd >= 0 && !cot_fd_identity(fd, &own->id)) {
		close(fd);
		own->fd = -1;
	}
}

bool cot_own_fd_valid(const struct cot_own_fd *own)
{
	struct cot_rm_identity now;

	return own->fd >= 0 && cot_fd_identity(own->fd, &now) && now.dev == own->id.dev &&
	       now.ino == own->id.ino && now.rdev == own->id.rdev;
}

void cot_own_fd_close(struct cot_own_fd *own)
{
	if (cot_own_fd_valid(own))
		close(own->fd);
	own->fd = -1;
}

void *cot_next_symbol(const char *name)
{
	return cot_library_symbol(RTLD_NEXT, name);
}

void *cot_library_open(const char *path)
{
	return HAS_OLD(dlopen) ? OLD(dlopen)(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

void cot_library_close(void *library)
{
	if (HAS_OLD(dlclose))
		(void)OLD(dlclose)(library);
}

void *cot_library_symbol(void *library, const char *name)
{
	return HAS_OLD(dlsym) ? OLD(dlsym)(library, name) : NULL;
}

/*
 * The program's thread-local data lies on every thread's stack, ours too: asked only for 64 KiB,
 * the C library may leave us 4 of them. What it takes is said by a function that glibc exports
 * without declaring it (the JVM and Rust rely on it); 0 where there is none.
 */
static size_t taken_of_stack(const pthread_attr_t *attr)
{
	void *found = cot_next_symbol("__pthread_get_minstack");
	size_t (*ask)(const pthread_attr_t *) = (size_t(*)(const pthread_attr_t *))(uintptr_t)found;

	return ask ? (ask(attr) + 0xfff) & ~(size_t)0xfff : 0;
}

static int start_with(pthread_attr_t *attr, size_t stack, void *(*body)(void *), void *arg)
{
	pthread_t thread;
	int rc = OLD(pthread_attr_setstacksize)(attr, stack);

	return rc ? rc : OLD(pthread_create)(&thread, attr, body, arg);
}

int cot_thread_start(size_t stack, void *(*body)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	size_t i, taken;
	int rc = EINVAL;

	if (!HAS_OLD(pthread_create) || !HAS_OLD(pthread_attr_setstacksize))
		return -ENOSYS;
	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* The thread inherits the mask: the program's signals are for its own threads. On Linux
	 * sigprocmask() is per thread, and unlike pthread_sigmask() it never moved. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	taken = taken_of_stack(&attr);
	for (i = 0; i < COT_ARRAY_LEN(stack_bytes) && rc == EINVAL; i++)
		if (stack_bytes[i] >= stack)
			rc = start_with(&attr, taken + stack_bytes[i], body, arg);
	sigprocmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

int cot_thread_key_make(cot_thread_key *ret_key, void (*end)(void *data))
{
	pthread_key_t key;

	if (!HAS_OLD(pthread_key_create) || !HAS_OLD(pthread_setspecific))
		return -ENOSYS;
	if (OLD(pthread_key_create)(&key, end))
		return -EAGAIN;
	*ret_key = key;
	return 0;
}

int cot_thread_key_set(cot_thread_key key, void *data)
{
	return -OLD(pthread_setspecific)(key, data);
}
