/*
 * The wrapper. Requests that are not NVIDIA's cost two compares; of NVIDIA's, the three that
 * allocate, free and control take the longer way through src/cuda/rm. Launches make no request.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/guarded.h"
#include "cuda/abi/rm.h"
#include "guest/env.h"
#include "guest/log.h"
#include "guest/os.h"
#include "guest/preload/control.h"

typedef int ioctl_fn(int fd, unsigned long request, ...);

enum start { START_NOT, START_BUSY, START_DONE, START_OFF };

static ioctl_fn *_Atomic next_ioctl;
static _Atomic int start_state;
static _Atomic int owner; /* the process whose objects the tables hold */
static struct cot_settings settings;
static struct cot_rm rm;

/* Without a libc behind us: the system call itself. */
static int raw_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	return (int)syscall(SYS_ioctl, fd, request, arg);
}

static ioctl_fn *find_ioctl(void)
{
	ioctl_fn *fn = atomic_load_explicit(&next_ioctl, memory_order_relaxed);
	void *found;

	if (COT_LIKELY(fn != NULL))
		return fn;
	found = cot_next_symbol("ioctl");
	fn = found ? (ioctl_fn *)(uintptr_t)found : raw_ioctl;
	atomic_store_explicit(&next_ioctl, fn, memory_order_relaxed);
	return fn;
}

static int host_ioctl(int fd, unsigned long request, void *arg)
{
	return find_ioctl()(fd, request, arg);
}

static const struct cot_rm_host host = {
	.ioctl = host_ioctl,
	.identify = cot_fd_identity,
	.copy = cot_guarded_copy,
	.changed = cot_control_notify,
	.now_ns = cot_now_ns,
	.wait = cot_control_wait,
};

static void after_fork_in_child(void)
{
	if (atomic_load(&start_state) != START_DONE)
		return;
	cot_control_forget();
	cot_rm_forget(&rm);
	atomic_store(&rm.want_slice_us, settings.slice_us);
	atomic_store(&rm.want_mode, settings.mode);
	atomic_store(&owner, (int)getpid());
}

static const char *from_environment(const char *name)
{
	return getenv(name);
}

static void start(void)
{
	int not_yet = START_NOT;

	if (!atomic_compare_exchange_strong(&start_state, &not_yet, START_BUSY))
		return;
	cot_settings_read(&settings, from_environment, program_invocation_name);
	cot_log_level_set(settings.log);
	if (settings.n_bad)
		cot_log(COT_LOG_WARN, "%u COTENANT_ variables have wrong values", settings.n_bad);
	if (settings.disabled || (!settings.socket[0] && !settings.slice_us && !settings.mode)) {
		atomic_store(&start_state, START_OFF);
		return;
	}
	cot_rm_init(&rm, &host);
	atomic_store(&rm.want_slice_us, settings.slice_us);
	atomic_store(&rm.want_mode, settings.mode);
	cot_control_init(&rm, &settings);
	atomic_store(&owner, (int)getpid());
	/* A child that we could not clean up would use its parent's objects. */
	atomic_store(&start_state,
		     pthread_atfork(NULL, NULL, after_fork_in_child) == 0 ? START_DONE : START_OFF);
}

__attribute__((constructor)) static void at_load(void)
{
	find_ioctl();
	start();
}

/*
 * A request of NVIDIA's. Passed on as it is while starting, when switched off, and in a child that
 * was made without fork()'s handlers (a bare clone(), or vfork(), which shares our memory).
 */
static int nvidia_ioctl(int fd, unsigned long request, void *arg)
{
	if (atomic_load(&start_state) == START_NOT)
		start();
	if (atomic_load(&start_state) != START_DONE || atomic_load(&owner) != (int)getpid())
		return host_ioctl(fd, request, arg);
	return cot_rm_pass(&rm, fd, request, arg);
}

COT_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (COT_UNLIKELY(cot_nv_is_ours(request)))
		return nvidia_ioctl(fd, request, arg);
	return find_ioctl()(fd, request, arg);
}
