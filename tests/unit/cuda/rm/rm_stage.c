#include "rm_stage.h"

#include <errno.h>
#include <string.h>

struct fake_rm fake;
struct cot_rm rm;
unsigned n_changed;
struct cot_rm_identity file_of[64];
unsigned long last_request;
void (*during_disable)(void);

/* No program has its first page. */
static bool is_bad(uint64_t pointer)
{
	return pointer && pointer < 4096;
}

static bool host_copy(void *to, const void *from, size_t n)
{
	if (is_bad((uintptr_t)from))
		return false;
	memcpy(to, from, n);
	return true;
}

static int host_ioctl(int fd, unsigned long request, void *arg)
{
	const struct cot_nv_xfer *x = arg;
	struct cot_nv_control *c = arg;
	void (*hook)(void) = during_disable;

	assert_true(fd >= 0 && fd < 64 && file_of[fd].ino);
	last_request = request;
	if (is_bad((uintptr_t)arg) || (_IOC_NR(request) == COT_NV_NR_XFER && is_bad(x->ptr))) {
		errno = EFAULT;
		return -1;
	}
	if (_IOC_NR(request) == COT_NV_NR_CONTROL && is_bad(c->params)) {
		c->status = COT_NV_INVALID_ARGUMENT;
		return 0;
	}
	if (hook && _IOC_NR(request) == COT_NV_NR_CONTROL && c->cmd == COT_NV_DISABLE_CHANNELS) {
		during_disable = NULL;
		hook();
	}
	return fake_rm_ioctl(&fake, 1, request, arg, 0);
}

static bool host_identify(int fd, struct cot_rm_identity *ret_id)
{
	*ret_id = file_of[fd];
	return file_of[fd].ino != 0;
}

static void host_changed(void)
{
	n_changed++;
}

static const struct cot_rm_host host = {
	.ioctl = host_ioctl,
	.identify = host_identify,
	.copy = host_copy,
	.changed = host_changed,
};

int setup(void **state)
{
	unsigned i;

	(void)state;
	memset(&fake, 0, sizeof(fake));
	for (i = 0; i < 64; i++)
		file_of[i] = (struct cot_rm_identity){5, 100 + i, 0};
	n_changed = 0;
	during_disable = NULL;
	cot_rm_init(&rm, &host);
	return 0;
}

/* ---- the program ---- */

uint32_t alloc_params(int fd, uint32_t client, uint32_t parent, uint32_t class_, const void *params,
		      uint32_t size)
{
	struct cot_nv_alloc_access a = {.client = client,
					.parent = parent,
					.class_ = class_,
					.params = (uintptr_t)params,
					.params_size = size};

	assert_int_equal(cot_rm_pass(&rm, fd, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a), 0);
	return a.status ? 0 : a.object;
}

uint32_t alloc(uint32_t client, uint32_t parent, uint32_t class_)
{
	return alloc_params(FD, client, parent, class_, NULL, 0);
}

uint32_t control(uint32_t client, uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	struct cot_nv_control c = {.client = client,
				   .object = object,
				   .cmd = cmd,
				   .params = (uintptr_t)params,
				   .params_size = size};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c), 0);
	assert_true(c.params == (uintptr_t)params);
	return c.status;
}

void release(uint32_t client, uint32_t object)
{
	struct cot_nv_free f = {.client = client, .object = object};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(f)), &f), 0);
}

void schedule(uint32_t client, uint32_t group)
{
	uint8_t enable[3] = {1, 0, 0};

	assert_int_equal(control(client, group, COT_NV_GROUP_SCHEDULE, enable, sizeof(enable)), 0);
}

struct context new_context(uint32_t client, uint32_t instance)
{
	uint32_t device_params[14] = {instance};
	struct context c = {.client = client};

	if (!client)
		c.client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	c.device = alloc_params(FD, c.client, c.client, COT_NV_CLASS_DEVICE, device_params,
				sizeof(device_params));
	c.subdevice = alloc(c.client, c.device, COT_NV_CLASS_SUBDEVICE);
	c.group = alloc(c.client, c.device, COT_NV_CLASS_GROUP);
	c.channel[0] = alloc(c.client, c.group, CHANNEL_CLASS);
	c.channel[1] = alloc(c.client, c.group, CHANNEL_CLASS);
	schedule(c.client, c.group);
	return c;
}

uint64_t slice_of(const struct context *c)
{
	return fake_rm_find(&fake, c->client, c->group)->slice_us;
}

bool is_disabled(const struct context *c, unsigned i)
{
	return fake_rm_find(&fake, c->client, c->channel[i])->disabled;
}
