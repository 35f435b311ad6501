/*
 * ioctl() of a machine with NVIDIA's driver, for programs under libcotenant.so: preloaded after
 * it, so that its calls end here. The driver's state lies in the file $FAKE_RM_STATE, where the
 * test looks at it while the program runs. Requests that are not the driver's go to the kernel.
 */
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cuda/abi/rm.h"
#include "fake_state.h"

static struct fake_state *map_state(void)
{
	const char *path = getenv("FAKE_RM_STATE");
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	void *p = MAP_FAILED;

	if (fd >= 0) {
		p = mmap(NULL, sizeof(struct fake_state), PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			 0);
		close(fd);
	}
	return p == MAP_FAILED ? NULL : p;
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

__attribute__((visibility("default"))) int ioctl(int fd, unsigned long request, ...)
{
	static struct fake_state *state;
	unsigned tries = 0;
	va_list ap;
	void *arg;
	int rc;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (!state && cot_nv_is_ours(request))
		state = map_state();
	if (!state || !cot_nv_is_ours(request))
		return (int)syscall(SYS_ioctl, fd, request, arg);
	/* A process killed inside must not stop the others: the lock is broken after a while. */
	while (atomic_exchange(&state->locked, 1) && tries++ < 10000)
		sched_yield();
	rc = fake_rm_ioctl(&state->rm, (int)getpid(), request, arg, now_ns());
	atomic_store(&state->locked, 0);
	return rc;
}
