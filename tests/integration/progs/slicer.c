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
#include "emu/rm/abi.h"

#define MAX_SEEN 256u

static struct seen {
	int fd;
	uint32_t client, object, class_id;
} seen[MAX_SEEN];
static unsigned n_seen;

static int (*real)(int, unsigned long, ...);

COT_EMU_API int ioctl(int fd, unsigned long request, ...)
{
	struct cot_rm_alloc64 *a;
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
	if (!result && request == COT_RM_IOCTL(NV_ESC_RM_ALLOC, struct cot_rm_alloc64) &&
	    !a->status && n_seen < MAX_SEEN)
		seen[n_seen++] = (struct seen){fd, a->root, a->object, a->class_id};
	return result;
}

static uint32_t control(const struct seen *s, uint32_t cmd, void *params, uint32_t size)
{
	struct cot_rm_control c = {.client = s->client,
				   .object = s->object,
				   .cmd = cmd,
				   .params = (uintptr_t)params,
				   .params_size = size};

	if (real(s->fd, COT_RM_IOCTL(NV_ESC_RM_CONTROL, struct cot_rm_control), &c))
		return UINT32_MAX;
	return c.status;
}

static void set_slices(uint64_t us)
{
	uint64_t got;
	unsigned i;

	for (i = 0; i < n_seen; i++) {
		if (seen[i].class_id != KEPLER_CHANNEL_GROUP_A)
			continue;
		if (control(&seen[i], NVA06C_CTRL_CMD_SET_TIMESLICE, &us, sizeof(us)) ||
		    control(&seen[i], NVA06C_CTRL_CMD_GET_TIMESLICE, &got, sizeof(got)) ||
		    got != us)
			prog_check(CUDA_ERROR_UNKNOWN, "SET_TIMESLICE");
	}
}

static void set_mode(uint32_t mode)
{
	struct cot_rm_preemption_mode p = {.flags = NV2080_CTRL_SET_CTXSW_PREEMPTION_MODE_CILP,
					   .compute_mode = mode};
	const struct seen *subdevice = NULL;
	unsigned i;

	for (i = 0; i < n_seen; i++)
		if (seen[i].class_id == NV20_SUBDEVICE_0)
			subdevice = &seen[i];
	for (i = 0; subdevice && i < n_seen; i++) {
		p.channel = seen[i].object;
		if (seen[i].class_id == HOPPER_CHANNEL_GPFIFO_A &&
		    control(subdevice, NV2080_CTRL_CMD_GR_SET_CTXSW_PREEMPTION_MODE, &p, sizeof(p)))
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
