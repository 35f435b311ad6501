/*
 * The driver's way to the resource manager: open and ioctl by their public names, so that a
 * preloaded library that wraps them sees what it would see of the real driver.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cuda/abi/rm.h"
#include "emu/driver/inside.h"
#include "emu/rm/rm.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int control_fd = -1;
/* Our own ioctl is not the one that the name leads to: loaded by dlopen, without LD_PRELOAD. */
static bool direct;

static int open_control(void)
{
	struct cot_nv_version v = {.cmd = 0};
	int fd = open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);

	if (fd < 0 || !cot_emu_rm_is_ours(fd)) {
		if (fd >= 0)
			close(fd);
		fd = cot_emu_rm_open("/dev/nvidiactl", O_RDWR | O_CLOEXEC);
		if (fd < 0)
			return -errno;
	}
	direct = ioctl(fd, COT_NV_REQUEST(COT_NV_NR_VERSION, sizeof(struct cot_nv_version)), &v) ||
		 v.reply != 1;
	control_fd = fd;
	return 0;
}

int cot_emu_node_open(void)
{
	int err = 0;

	pthread_mutex_lock(&lock);
	if (control_fd < 0)
		err = open_control();
	pthread_mutex_unlock(&lock);
	return err;
}

static int call(unsigned long request, void *arg)
{
	return direct ? cot_emu_rm_ioctl(request, arg) : ioctl(control_fd, request, arg);
}

uint32_t cot_emu_node_alloc(uint32_t client, uint32_t parent, uint32_t *handle, uint32_t class_,
			    void *params, uint32_t params_size)
{
	struct cot_nv_alloc_access a = {.client = client,
					.parent = parent,
					.object = *handle,
					.class_ = class_,
					.params = (uintptr_t)params,
					.params_size = params_size};

	if (call(COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc_access)), &a))
		return UINT32_MAX;
	*handle = a.object;
	return a.status;
}

uint32_t cot_emu_node_control(uint32_t client, uint32_t object, uint32_t cmd, void *params,
			      uint32_t params_size)
{
	struct cot_nv_control c = {.client = client,
				   .object = object,
				   .cmd = cmd,
				   .params = (uintptr_t)params,
				   .params_size = params_size};

	if (call(COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)), &c))
		return UINT32_MAX;
	return c.status;
}

uint32_t cot_emu_node_free(uint32_t client, uint32_t parent, uint32_t object)
{
	struct cot_nv_free f = {.client = client, .parent = parent, .object = object};

	if (call(COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(struct cot_nv_free)), &f))
		return UINT32_MAX;
	return f.status;
}
