#include "shim/os.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>

#define STACK_BYTES (1u << 20)

#if defined(__GLIBC__) && defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
#elif defined(__GLIBC__) && defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
#endif

#ifdef OLDEST
#define BIND_OLD(name)                                                     \
	extern __typeof__(name) cot_shim_old_##name __attribute__((weak)); \
	__asm__(".symver cot_shim_old_" #name "," #name "@" OLDEST)
#define OLD(name) cot_shim_old_##name
BIND_OLD(dlopen);
BIND_OLD(dlclose);
BIND_OLD(dlsym);
BIND_OLD(pthread_create);
BIND_OLD(pthread_attr_setstacksize);
#define HAS_OLD(name) (OLD(name) != NULL)
#else
#define OLD(name)     name
#define HAS_OLD(name) 1
#endif

void *cot_shim_dlopen(const char *path)
{
	return HAS_OLD(dlopen) ? OLD(dlopen)(path, RTLD_NOW | RTLD_LOCAL) : NULL;
}

void cot_shim_dlclose(void *handle)
{
	if (HAS_OLD(dlclose))
		(void)OLD(dlclose)(handle);
}

void *cot_shim_dlsym(void *handle, const char *name)
{
	return HAS_OLD(dlsym) ? OLD(dlsym)(handle, name) : NULL;
}

int cot_shim_thread_start(void *(*body)(void *), void *arg)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int rc;

	if (!HAS_OLD(pthread_create) || !HAS_OLD(pthread_attr_setstacksize))
		return -ENOSYS;
	if (pthread_attr_init(&attr))
		return -ENOMEM;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	(void)OLD(pthread_attr_setstacksize)(&attr, STACK_BYTES);
	/* The thread inherits the mask: the program's signals are for its own threads. */
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &before);
	rc = OLD(pthread_create)(&thread, &attr, body, arg);
	sigprocmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -rc;
}

uint64_t cot_shim_thread_id(void)
{
	return (uint64_t)pthread_self();
}
