/*
 * ioctl and open for the emulated device nodes; everything else goes on to the next definition.
 * With another wrapper preloaded before this library, that wrapper's RTLD_NEXT leads here.
 */
/* Its fcntl.h would define open itself. */
#undef _FORTIFY_SOURCE

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda/abi/calls.h"
#include "cuda/abi/rm.h"
#include "emu/rm/rm.h"

COT_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	static int (*next)(int, unsigned long, ...);
	int (*real)(int, unsigned long, ...) = __atomic_load_n(&next, __ATOMIC_RELAXED);
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(request) == COT_NV_TYPE && cot_emu_rm_is_ours(fd))
		return cot_emu_rm_ioctl(request, arg);
	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
		__atomic_store_n(&next, real, __ATOMIC_RELAXED);
	}
	return real ? real(fd, request, arg) : (int)syscall(SYS_ioctl, fd, request, arg);
}

static int open_any(int dir, const char *path, int flags, mode_t mode)
{
	static int (*next)(int, const char *, int, ...);
	int (*real)(int, const char *, int, ...) = __atomic_load_n(&next, __ATOMIC_RELAXED);

	if (path && cot_emu_rm_is_node(path))
		return cot_emu_rm_open(path, flags);
	if (!real) {
		*(void **)&real = dlsym(RTLD_NEXT, "openat");
		__atomic_store_n(&next, real, __ATOMIC_RELAXED);
	}
	return real ? real(dir, path, flags, mode)
		    : (int)syscall(SYS_openat, dir, path, flags, mode);
}

static bool takes_mode(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

/* The mode is there only if the flags say so. */
#define READ_MODE(mode, flags)                              \
	do {                                                \
		va_list mode_args;                          \
		va_start(mode_args, flags);                 \
		if (takes_mode(flags))                      \
			(mode) = va_arg(mode_args, mode_t); \
		va_end(mode_args);                          \
	} while (0)

COT_EXPORT int open(const char *file, int oflag, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, oflag);
	return open_any(AT_FDCWD, file, oflag, mode);
}

COT_EXPORT int open64(const char *file, int oflag, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, oflag);
	return open_any(AT_FDCWD, file, oflag, mode);
}

COT_EXPORT int openat(int fd, const char *file, int oflag, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, oflag);
	return open_any(fd, file, oflag, mode);
}

COT_EXPORT int openat64(int fd, const char *file, int oflag, ...)
{
	mode_t mode = 0;

	READ_MODE(mode, oflag);
	return open_any(fd, file, oflag, mode);
}
