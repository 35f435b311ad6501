/*
 * The batch looper with its own wrapper of ioctl, which learns the process's channel groups as the
 * driver allocates them and then sends the controls itself: a check of the control device that
 * needs nothing else of this project.
 * slicer [--slice-us U] [--mode 1|2] [options of batch]
 */
#include <dlfcn.h>
#include <stdarg.h>
#include <sys/ioctl.h>

#include "batch_loop.h"
#include "cuda/abi/rm.h"

#define MAX_SEEN 256u

static struct seen {
	int fd;
	uint32_t client, object, class_;
} seen[MAX_SEEN];
static unsigned n_seen;

static int (*real)(int, unsigned long, ...);

COT_EXPORT int ioctl(int fd, unsigned long request, ...)
{
	struct cot_nv_alloc_access *a;
	va_list args;
	void *arg;
	int result;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ioctl");
	result = real(fd, request, arg);
	a = arg;
	if (!result &&
	    request == COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc_access)) &&
	    !a->status && n_seen < MAX_SEEN)
		seen[n_seen++] = (struct seen){fd, a->client, a->object, a->class_};
	return result;
}

static uint32_t control(const struct seen *s, uint32_t cmd, void *params, uint32_t size)
{
	struct cot_nv_control c = {.client = s->client,
				   .object = s->object,
				   .cmd = cmd,
				   .params = (uintptr_t)params,
				   .params_size = size};

	if (real(s->fd, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)), &c))
		return UINT32_MAX;
	return c.status;
}

static void set_slices(uint64_t us)
{
	uint64_t got;
	unsigned i;

	for (i = 0; i < n_seen; i++) {
		if (seen[i].class_ != COT_NV_CLASS_GROUP)
			continue;
		if (control(&seen[i], COT_NV_GROUP_SET_SLICE, &us, sizeof(us)) ||
		    control(&seen[i], COT_NV_GROUP_GET_SLICE, &got, sizeof(got)) || got != us)
			prog_check(CUDA_ERROR_UNKNOWN, "SET_TIMESLICE");
	}
}

static void set_mode(uint32_t mode)
{
	struct cot_nv_preemption p = {.flags = COT_NV_PREEMPTION_SET_COMPUTE, .compute = mode};
	const struct seen *subdevice = NULL;
	unsigned i;

	for (i = 0; i < n_seen; i++)
		if (seen[i].class_ == COT_NV_CLASS_SUBDEVICE)
			subdevice = &seen[i];
	for (i = 0; subdevice && i < n_seen; i++) {
		p.channel = seen[i].object;
		if (seen[i].class_ == COT_NV_CLASS_HOPPER_CHANNEL &&
		    control(subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)))
			prog_check(CUDA_ERROR_UNKNOWN, "SET_CTXSW_PREEMPTION_MODE");
	}
}

int main(int argc, char **argv)
{
	uint64_t slice_us = (uint64_t)prog_option(argc, argv, "--slice-us", 0);
	double mode = prog_option(argc, argv, "--mode", 0);
	struct batch b = batch_options(argc, argv);
	struct prog p = prog_start((int)prog_option(argc, argv, "--device", 0));

	if (slice_us)
		set_slices(slice_us);
	if (mode > 0)
		set_mode((uint32_t)mode);
	return batch_loop(&p, &b);
}
