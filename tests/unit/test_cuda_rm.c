#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/rm/nv.h"
#include "cuda/rm/rm.h"
#include "fake_rm.h"

#define CHANNEL_CLASS 0xc86fu
#define COMPUTE_CLASS 0xcbc0u
#define FD	      7

static struct fake_rm fake;
static struct cot_rm rm;
static unsigned n_changed;
static struct cot_rm_identity file_of[64]; /* what fstat() would say; ino 0 = closed */
static unsigned long last_request;
static void (*during_disable)(void); /* called inside the next DISABLE_CHANNELS */

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

static int setup(void **state)
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

static uint32_t alloc_params(int fd, uint32_t client, uint32_t parent, uint32_t class_,
			     const void *params, uint32_t size)
{
	struct cot_nv_alloc_access a = {.client = client,
					.parent = parent,
					.class_ = class_,
					.params = (uintptr_t)params,
					.params_size = size};

	assert_int_equal(cot_rm_pass(&rm, fd, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a), 0);
	return a.status ? 0 : a.object;
}

static uint32_t alloc(uint32_t client, uint32_t parent, uint32_t class_)
{
	return alloc_params(FD, client, parent, class_, NULL, 0);
}

static uint32_t control(uint32_t client, uint32_t object, uint32_t cmd, void *params, uint32_t size)
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

static void release(uint32_t client, uint32_t object)
{
	struct cot_nv_free f = {.client = client, .object = object};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(f)), &f), 0);
}

static void schedule(uint32_t client, uint32_t group)
{
	uint8_t enable[3] = {1, 0, 0};

	assert_int_equal(control(client, group, COT_NV_GROUP_SCHEDULE, enable, sizeof(enable)), 0);
}

struct context {
	uint32_t client, device, subdevice, group, channel[2];
};

static struct context new_context(uint32_t client, uint32_t instance)
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

static uint64_t slice_of(const struct context *c)
{
	return fake_rm_find(&fake, c->client, c->group)->slice_us;
}

static bool is_disabled(const struct context *c, unsigned i)
{
	return fake_rm_find(&fake, c->client, c->channel[i])->disabled;
}

/* ---- tests ---- */

static void test_requests(void **state)
{
	(void)state;
	assert_true(cot_nv_is_ours(0xc020462bul));
	assert_true(cot_nv_is_ours(0xc030462bul));
	assert_true(cot_nv_is_ours(0xc020462aul));
	assert_true(cot_nv_is_ours(0xc0104629ul));
	assert_true(cot_nv_is_ours(0xc01046d3ul));
	assert_false(cot_nv_is_ours(0xc0204628ul));
	assert_false(cot_nv_is_ours(0xc020462cul));
	assert_false(cot_nv_is_ours(0x5401ul));
	assert_false(cot_nv_is_ours(0xc020472aul));
	assert_int_equal(COT_NV_REQUEST(COT_NV_NR_CONTROL, 32), 0xc020462aul);
	assert_true(cot_nv_is_channel_class(0xa06f) && cot_nv_is_channel_class(0xc96f));
	assert_false(cot_nv_is_channel_class(0x506f) || cot_nv_is_channel_class(0xa06c));
}

static void test_learns(void **state)
{
	struct cot_rm_counts counts;
	struct context a, b;

	(void)state;
	a = new_context(0, 0);
	b = new_context(a.client, 3);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 2);
	assert_int_equal(counts.n_channels, 4);
	assert_int_equal(counts.gpus, 1u << 0 | 1u << 3);
	assert_int_equal(n_changed, 6);

	release(a.client, a.channel[0]);
	release(b.client, b.device); /* and all below */
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 1);
	assert_int_equal(counts.n_channels, 1);
	release(a.client, a.client);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 0);
	assert_int_equal(counts.n_channels, 0);
	assert_int_equal(counts.n_doubts, 0);
}

static void test_failed_allocations(void **state)
{
	struct cot_nv_alloc a = {.class_ = COT_NV_CLASS_GROUP};
	struct cot_rm_counts counts;
	struct context c;

	(void)state;
	c = new_context(0, 0);
	fake.fail_alloc = COT_NV_NO_MEMORY;
	assert_int_equal(alloc(c.client, c.device, COT_NV_CLASS_GROUP), 0);
	fake.fail_alloc = 0;
	fake.fail_errno = EFAULT;
	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a), -1);
	assert_int_equal(errno, EFAULT);
	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_ALLOC, 32), NULL), -1);
	fake.fail_errno = 0;
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 1);
}

/* The older layout, and both inside the wrapper for large requests. */
static void test_layouts(void **state)
{
	struct context c;
	struct cot_nv_alloc a;
	struct cot_nv_xfer x = {.nr = COT_NV_NR_ALLOC, .size = sizeof(a), .ptr = (uintptr_t)&a};
	struct cot_rm_counts counts;

	(void)state;
	c = new_context(0, 0);
	a = (struct cot_nv_alloc){c.client, c.device, 0, COT_NV_CLASS_GROUP, 0, 0, 0};
	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a), 0);
	a.object = 0;
	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_XFER, sizeof(x)), &x), 0);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 3);
}

static void test_slice(void **state)
{
	struct cot_rm_result res;
	uint64_t driver = 2048;
	struct context a, b;

	(void)state;
	a = new_context(0, 0);
	cot_rm_set_slice(&rm, 100, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 1);
	assert_int_equal(res.value, 100);
	assert_int_equal(slice_of(&a), 100);

	/* A newcomer has it at once, and keeps it when the driver sets its own. */
	b = new_context(a.client, 0);
	assert_int_equal(slice_of(&b), 100);
	assert_int_equal(control(b.client, b.group, COT_NV_GROUP_SET_SLICE, &driver, 8), 0);
	assert_int_equal(slice_of(&b), 100);
	assert_int_equal(driver, 2048); /* the program's memory is its own */

	/* Afterwards each has what the driver wanted. */
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(slice_of(&a), COT_NV_DEFAULT_SLICE_US);
	assert_int_equal(slice_of(&b), 2048);
	fake.n_set_slice = 0;
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(fake.n_set_slice, 0);
	assert_int_equal(control(b.client, b.group, COT_NV_GROUP_SET_SLICE, &driver, 8), 0);
	assert_int_equal(slice_of(&b), 2048);
}

/* The driver's own control inside the wrapper for large requests. */
static void test_slice_wrapped(void **state)
{
	uint64_t driver = 2048;
	struct cot_nv_control c = {.cmd = COT_NV_GROUP_SET_SLICE,
				   .params = (uintptr_t)&driver,
				   .params_size = 8,
				   .status = 99};
	struct cot_nv_xfer x = {COT_NV_NR_CONTROL, sizeof(c), (uintptr_t)&c};
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	cot_rm_set_slice(&rm, 300, &res);
	c.client = a.client;
	c.object = a.group;
	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_XFER, sizeof(x)), &x), 0);
	assert_int_equal(c.status, 0);
	assert_int_equal(slice_of(&a), 300);
	assert_true(x.ptr == (uintptr_t)&c && c.params == (uintptr_t)&driver);
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(slice_of(&a), 2048);
}

/* A slice of the driver's own that nobody told us of comes back too; and one that it was refused
 * is none. */
static void test_slice_comes_back(void **state)
{
	struct cot_rm_result res;
	uint64_t driver = 2048;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	fake_rm_find(&fake, a.client, a.group)->slice_us = 700;
	fake.fail_set_slice = COT_NV_NO_PERMISSION;
	assert_int_equal(control(a.client, a.group, COT_NV_GROUP_SET_SLICE, &driver, 8),
			 COT_NV_NO_PERMISSION);
	fake.fail_set_slice = 0;
	cot_rm_set_slice(&rm, 2000, &res);
	assert_int_equal(slice_of(&a), 2000);
	cot_rm_set_slice(&rm, 3000, &res); /* 2000 was ours */
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(slice_of(&a), 700);
}

/* Each status of RM is a failure of its own; none but OK is a success. */
static void test_statuses(void **state)
{
	static const struct {
		uint32_t status;
		int rc;
	} rows[] = {
		{COT_NV_OK, 0},
		{COT_NV_NO_PERMISSION, -EPERM},
		{COT_NV_INVALID_ARGUMENT, -EINVAL},
		{COT_NV_INVALID_CHANNEL, -ENOENT},
		{COT_NV_INVALID_CLIENT, -ENOENT},
		{COT_NV_INVALID_OBJECT, -ENOENT},
		{COT_NV_INVALID_OBJECT_HANDLE, -ENOENT},
		{COT_NV_OBJECT_NOT_FOUND, -ENOENT},
		{COT_NV_BUSY_RETRY, -EBUSY},
		{COT_NV_INSUFFICIENT_RESOURCES, -ENOMEM},
		{COT_NV_NO_MEMORY, -ENOMEM},
		{COT_NV_NOT_SUPPORTED, -EOPNOTSUPP},
		{COT_NV_TIMEOUT, -ETIMEDOUT},
		{COT_NV_GPU_IS_LOST, -ENODEV},
		{COT_NV_INVALID_STATE, -EIO},
		{1, -EIO},
		{0xffff, -EIO},
	};
	struct cot_rm_result res;
	unsigned i;

	(void)state;
	new_context(0, 0);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fake.fail_preempt = rows[i].status;
		cot_rm_preempt(&rm, &res);
		assert_int_equal(res.status, rows[i].rc);
		assert_int_equal(res.n_failed, rows[i].rc != 0);
		assert_int_equal(res.n_done, rows[i].rc == 0);
	}
	fake.fail_errno = ENXIO;
	cot_rm_preempt(&rm, &res);
	assert_int_equal(res.status, -ENXIO);
}

/* Pointers that lead nowhere: the driver says so, and nothing is learnt. */
static void test_bad_pointers(void **state)
{
	static const struct {
		unsigned nr, size;
	} requests[] = {
		{COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc)},
		{COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc_access)},
		{COT_NV_NR_FREE, sizeof(struct cot_nv_free)},
		{COT_NV_NR_DUP, sizeof(struct cot_nv_dup)},
		{COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)},
		{COT_NV_NR_XFER, sizeof(struct cot_nv_xfer)},
	};
	struct cot_rm_counts counts;
	struct cot_nv_xfer x;
	unsigned i;

	(void)state;
	new_context(0, 0);
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		unsigned long number = COT_NV_REQUEST(requests[i].nr, requests[i].size);

		errno = 0;
		assert_int_equal(cot_rm_pass(&rm, FD, number, (void *)(uintptr_t)8), -1);
		assert_int_equal(errno, EFAULT);
		assert_int_equal(last_request, number);
		x = (struct cot_nv_xfer){requests[i].nr, requests[i].size, 8};
		errno = 0;
		assert_int_equal(
			cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_XFER, sizeof(x)), &x), -1);
		assert_int_equal(errno, EFAULT);
	}
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 1);
	assert_int_equal(counts.n_channels, 2);
	assert_true(counts.n_doubts > 0);
}

/* The same of what a control's pointer leads to. */
static void test_bad_params(void **state)
{
	void *nowhere = (void *)(uintptr_t)8;
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	cot_rm_set_slice(&rm, 300, &res);
	cot_rm_set_mode(&rm, COT_RM_MODE_DRAIN, &res);
	assert_int_equal(control(a.client, a.group, COT_NV_GROUP_SET_SLICE, nowhere, 8),
			 COT_NV_INVALID_ARGUMENT);
	assert_int_equal(control(a.client, a.subdevice, COT_NV_SET_PREEMPTION, nowhere,
				 sizeof(struct cot_nv_preemption)),
			 COT_NV_INVALID_ARGUMENT);
	assert_int_equal(control(a.client, a.group, COT_NV_GROUP_SCHEDULE, nowhere, 3),
			 COT_NV_INVALID_ARGUMENT);
	assert_int_equal(slice_of(&a), 300);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, COT_NV_PREEMPTION_CTA);
	/* Parameters of an object that the driver did not read. */
	(void)alloc_params(FD, a.client, a.client, COT_NV_CLASS_DEVICE, nowhere, 56);
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(slice_of(&a), COT_NV_DEFAULT_SLICE_US);
}

/* Parameters in a form that we do not read: the driver's slice passes, ours follows. */
static void test_slice_packed(void **state)
{
	uint64_t driver = 2048;
	struct cot_nv_control c = {.cmd = COT_NV_GROUP_SET_SLICE,
				   .flags = COT_NV_CONTROL_PACKED,
				   .params = (uintptr_t)&driver,
				   .params_size = 8};
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	cot_rm_set_slice(&rm, 300, &res);
	c.client = a.client;
	c.object = a.group;
	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c), 0);
	assert_int_equal(slice_of(&a), 300);
	assert_int_equal(driver, 2048);
}

static void test_slice_is_read_back(void **state)
{
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	fake.ignore_sets = 1;
	cot_rm_set_slice(&rm, 100, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(slice_of(&a), 100);

	fake.ignore_sets = 100;
	cot_rm_set_slice(&rm, 200, &res);
	assert_int_equal(res.status, -EAGAIN);
	assert_int_equal(res.n_failed, 1);
	assert_int_equal(res.value, 100);
	fake.ignore_sets = 0;

	/* Somebody changed it behind our back: the next sync repairs it. */
	fake_rm_find(&fake, a.client, a.group)->slice_us = 1;
	cot_rm_sync(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(slice_of(&a), 200);

	/* A container that lets slices be set and not be read. */
	fake.fail_get_slice = COT_NV_NOT_SUPPORTED;
	cot_rm_set_slice(&rm, 400, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(slice_of(&a), 400);
	assert_true(atomic_load(&rm.n_doubts) > 0);
	fake.fail_set_slice = COT_NV_NO_PERMISSION;
	cot_rm_set_slice(&rm, 500, &res);
	assert_int_equal(res.status, -EPERM);
}

static void test_mode(void **state)
{
	struct cot_nv_preemption p = {.flags = 1, .compute = COT_NV_PREEMPTION_CILP};
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	cot_rm_set_mode(&rm, COT_RM_MODE_DRAIN, &res);
	assert_int_equal(res.status, 0); /* channel 1 has no compute object: not counted */
	assert_int_equal(res.n_done, 1);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, COT_NV_PREEMPTION_CTA);

	/* A channel that gets its compute object later, and the driver's own wish. */
	alloc(a.client, a.channel[1], COMPUTE_CLASS);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[1])->mode, COT_NV_PREEMPTION_CTA);
	p.channel = a.channel[1];
	assert_int_equal(control(a.client, a.subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)), 0);
	assert_int_equal(p.compute, COT_NV_PREEMPTION_CILP);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[1])->mode, COT_NV_PREEMPTION_CTA);

	cot_rm_set_mode(&rm, COT_RM_MODE_DRIVER, &res);
	assert_int_equal(res.n_done, 2);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, COT_NV_PREEMPTION_CILP);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[1])->mode, COT_NV_PREEMPTION_CILP);
	cot_rm_set_mode(&rm, COT_RM_MODE_DRIVER, &res);
	assert_int_equal(res.n_done, 0);
}

/* Groups on other engines, which have no such mode, are not asked for one. */
static void test_mode_is_of_compute(void **state)
{
	uint32_t group_params[4] = {0, 0, 0, COT_NV_ENGINE_GRAPHICS_7 + 1};
	uint32_t copy_group, copy_channel, last_group, last_channel;
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	copy_group = alloc_params(FD, a.client, a.device, COT_NV_CLASS_GROUP, group_params,
				  sizeof(group_params));
	copy_channel = alloc(a.client, copy_group, CHANNEL_CLASS);
	alloc(a.client, copy_channel, COMPUTE_CLASS);
	group_params[3] = COT_NV_ENGINE_GRAPHICS_7;
	last_group = alloc_params(FD, a.client, a.device, COT_NV_CLASS_GROUP, group_params,
				  sizeof(group_params));
	last_channel = alloc(a.client, last_group, CHANNEL_CLASS);
	alloc(a.client, last_channel, COMPUTE_CLASS);
	cot_rm_set_mode(&rm, COT_RM_MODE_DRAIN, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 2);
	assert_int_equal(fake_rm_find(&fake, 0, copy_channel)->mode, 0);
	assert_int_equal(fake_rm_find(&fake, 0, last_channel)->mode, COT_NV_PREEMPTION_CTA);
	/* Parameters that are too short to say it, or of another form. */
	group_params[3] = COT_NV_ENGINE_GRAPHICS_7 + 1;
	copy_group = alloc_params(FD, a.client, a.device, COT_NV_CLASS_GROUP, group_params, 15);
	copy_channel = alloc(a.client, copy_group, CHANNEL_CLASS);
	alloc(a.client, copy_channel, COMPUTE_CLASS);
	assert_int_equal(fake_rm_find(&fake, 0, copy_channel)->mode, COT_NV_PREEMPTION_CTA);
}

/* A channel that cannot be reached keeps its mode: that is a failure. */
static void test_mode_without_subdevice(void **state)
{
	uint32_t client, device, group, channel, other;
	struct cot_rm_result res;

	(void)state;
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	group = alloc(client, device, COT_NV_CLASS_GROUP);
	channel = alloc(client, group, CHANNEL_CLASS);
	alloc(client, channel, COMPUTE_CLASS);
	cot_rm_set_mode(&rm, COT_RM_MODE_DRAIN, &res);
	assert_int_equal(res.status, -ENODEV);
	assert_int_equal(res.n_failed, 1);
	assert_int_equal(res.n_done, 0);
	/* Another client's subdevice cannot name it. */
	other = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(other, other, COT_NV_CLASS_DEVICE);
	alloc(other, device, COT_NV_CLASS_SUBDEVICE);
	cot_rm_set_mode(&rm, COT_RM_MODE_DRAIN, &res);
	assert_int_equal(res.status, -EXDEV);
	assert_int_equal(fake_rm_find(&fake, 0, channel)->mode, 0);
}

/* Whoever wants to know hears of each channel and each group that goes. */
static void test_changes_are_told(void **state)
{
	struct cot_rm_counts counts;
	struct context a;
	uint32_t empty;

	(void)state;
	a = new_context(0, 0);
	empty = alloc(a.client, a.device, COT_NV_CLASS_GROUP);
	n_changed = 0;
	release(a.client, a.channel[0]);
	assert_int_equal(n_changed, 1);
	release(a.client, empty);
	assert_int_equal(n_changed, 2);
	release(a.client, a.subdevice);
	assert_int_equal(n_changed, 2);
	release(a.client, a.group);
	assert_int_equal(n_changed, 3);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups + counts.n_channels, 0);
}

/* What a device had goes with it, wherever its entries are. */
static void test_entries_are_used_anew(void **state)
{
	struct cot_rm_counts counts;
	struct context a;
	unsigned i;

	(void)state;
	for (i = 0; i < 8; i++) {
		a = new_context(0, 0);
		release(a.client, i % 2 ? a.device : a.group);
		cot_rm_counts(&rm, &counts);
		assert_int_equal(counts.n_groups, 0);
		assert_int_equal(counts.n_channels, 0);
		release(a.client, a.client);
		assert_int_equal(rm.table.fds[0].n_objects, 0);
	}
	assert_true(rm.table.n_used <= 6);
}

static void test_freeze(void **state)
{
	struct cot_rm_result res;
	struct context a, b, c;

	(void)state;
	a = new_context(0, 0);
	b = new_context(a.client, 1); /* another GPU */
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 4);
	assert_int_equal(fake.n_disable, 2); /* one for each GPU */
	assert_true(is_disabled(&a, 0) && is_disabled(&a, 1) && is_disabled(&b, 1));

	/* A newcomer is frozen by the sync that host.changed() asks for. */
	n_changed = 0;
	c = new_context(0, 0); /* of another client */
	assert_true(n_changed > 0);
	cot_rm_sync(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_true(is_disabled(&c, 0) && is_disabled(&c, 1));

	release(a.client, a.channel[1]);
	cot_rm_thaw(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 5);
	assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true), 0);
	fake.n_disable = 0;
	cot_rm_thaw(&rm, &res); /* there is nothing of ours to enable */
	assert_int_equal(fake.n_disable, 0);
}

static void test_freeze_chunks(void **state)
{
	struct cot_rm_result res;
	struct context a;
	unsigned i;

	(void)state;
	a = new_context(0, 0);
	for (i = 0; i < 128; i++)
		alloc(a.client, a.group, CHANNEL_CLASS);
	schedule(a.client, a.group);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.n_done, 130);
	assert_int_equal(fake.n_disable, 3);
	assert_int_equal(fake.largest_chunk, 64);
	assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true), 130);
	cot_rm_thaw(&rm, &res);
	assert_int_equal(res.n_done, 130);
	assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true), 0);
}

static struct context victim;

static void free_a_channel(void)
{
	release(victim.client, victim.channel[0]);
}

static void test_freeze_races_with_free(void **state)
{
	struct cot_rm_result res;

	(void)state;
	victim = new_context(0, 0);
	during_disable = free_a_channel;
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 1);
	assert_true(is_disabled(&victim, 1));
	cot_rm_thaw(&rm, &res);
	assert_false(is_disabled(&victim, 1));
}

static void test_freeze_all_or_none(void **state)
{
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	fake.bad_channel = a.channel[0];
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, -ENOENT);
	assert_int_equal(res.n_failed, 1);
	assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true), 0);
	assert_false(atomic_load(&rm.frozen));
}

/* What is disabled before the driver schedules it never runs again: it is left alone until then. */
static void test_freeze_waits_for_the_schedule(void **state)
{
	uint8_t enable[3] = {1, 0, 0};
	struct cot_rm_result res;
	uint32_t group, early, later;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	group = alloc(a.client, a.device, COT_NV_CLASS_GROUP);
	early = alloc(a.client, group, CHANNEL_CLASS);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 2);
	assert_int_equal(res.n_early, 1);
	later = alloc(a.client, group, CHANNEL_CLASS);
	cot_rm_sync(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_false(fake_rm_find(&fake, 0, early)->disabled);
	assert_false(fake_rm_find(&fake, 0, later)->disabled);

	n_changed = 0;
	assert_int_equal(control(a.client, later, COT_NV_CHANNEL_SCHEDULE, enable, 3), 0);
	assert_int_equal(n_changed, 1);
	cot_rm_sync(&rm, &res);
	assert_false(fake_rm_find(&fake, 0, early)->disabled);
	assert_true(fake_rm_find(&fake, 0, later)->disabled);
	schedule(a.client, group);
	assert_int_equal(n_changed, 2);
	cot_rm_sync(&rm, &res);
	assert_true(fake_rm_find(&fake, 0, early)->disabled);
	cot_rm_thaw(&rm, &res);
	assert_int_equal(res.n_done, 4);
	assert_false(fake_rm_find(&fake, 0, early)->hung || fake_rm_find(&fake, 0, later)->hung);
}

/* With nothing to disable yet, a freeze is not a success. */
static void test_freeze_too_early(void **state)
{
	struct cot_rm_result res;
	uint32_t client, device, group;

	(void)state;
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	alloc(client, device, COT_NV_CLASS_SUBDEVICE);
	group = alloc(client, device, COT_NV_CLASS_GROUP);
	alloc(client, group, CHANNEL_CLASS);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, -EAGAIN);
	assert_false(atomic_load(&rm.frozen));
	schedule(client, group);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 1);
}

static uint32_t duplicate(uint32_t client, uint32_t parent)
{
	struct cot_nv_dup d = {.client = client, .parent = parent, .source_client = 1};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_DUP, sizeof(d)), &d), 0);
	return d.status ? 0 : d.object;
}

/* A client of an MPS server has its channels in a duplicate of the server's group. */
static void test_channels_in_a_shared_group(void **state)
{
	uint8_t enable[3] = {1, 0, 0};
	struct cot_rm_counts counts;
	struct cot_rm_result res;
	uint32_t shared, channel;
	struct context a;
	unsigned i;

	(void)state;
	a = new_context(0, 0);
	shared = duplicate(a.client, a.device);
	(void)duplicate(a.client, a.channel[0]); /* not below a device */
	channel = alloc(a.client, shared, CHANNEL_CLASS);
	assert_int_equal(control(a.client, channel, COT_NV_CHANNEL_SCHEDULE, enable, 3), 0);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 1); /* the group is the server's */
	assert_int_equal(counts.n_channels, 3);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 3);
	assert_true(fake_rm_find(&fake, 0, channel)->disabled);
	cot_rm_thaw(&rm, &res);
	assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true), 0);
	/* With it go its channels. */
	release(a.client, shared);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_channels, 2);
	/* Many duplicates, of memory say, do not fill the table. */
	for (i = 0; i < 400; i++)
		(void)duplicate(a.client, a.device);
	assert_int_equal(rm.table.n_shared, COT_RM_MAX_SHARED);
	assert_int_equal(atomic_load(&rm.n_lost), 0);
}

static void test_thaw_that_fails(void **state)
{
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	cot_rm_freeze(&rm, &res);
	fake.bad_channel = a.channel[1];
	cot_rm_thaw(&rm, &res);
	assert_int_equal(res.status, -ENOENT);
	assert_false(is_disabled(&a, 0));
	fake.bad_channel = 0;
	cot_rm_thaw(&rm, &res); /* again: what is left */
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 1);
	assert_false(is_disabled(&a, 1));
}

static void test_no_subdevice(void **state)
{
	struct cot_rm_result res;
	uint32_t client, device, group;

	(void)state;
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	group = alloc(client, device, COT_NV_CLASS_GROUP);
	alloc(client, group, CHANNEL_CLASS);
	schedule(client, group);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, -ENODEV);
	assert_int_equal(fake.n_disable, 0);
	/* Another client's subdevice of the same GPU does. */
	new_context(0, 0);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true), 3);
}

static void test_closed_descriptors(void **state)
{
	struct cot_rm_counts counts;
	struct cot_rm_result res;

	(void)state;
	(void)new_context(0, 0);
	cot_rm_freeze(&rm, &res);
	/* The program closes it, and the number comes to stand for another file. */
	file_of[FD].ino = 999;
	fake.n_controls = 0;
	cot_rm_thaw(&rm, &res);
	assert_int_equal(fake.n_controls, 0);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 0);
	assert_int_equal(res.status, 0);

	/* Likewise noticed by a new allocation; and a closed number. */
	(void)new_context(0, 0);
	file_of[FD].ino = 1000;
	(void)new_context(0, 0);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 1);
	file_of[FD].ino = 0;
	cot_rm_set_slice(&rm, 100, &res);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 0);
}

/* Closed and opened again: the same file to fstat(), but RM has forgotten the client. */
static void test_reopened_descriptor(void **state)
{
	struct cot_rm_counts counts;
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	fake_rm_find(&fake, a.client, a.client)->live = false;
	cot_rm_set_slice(&rm, 100, &res);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 0);
	assert_int_equal(res.status, 0);
}

static void test_full_table(void **state)
{
	struct cot_nv_alloc_access a = {.class_ = CHANNEL_CLASS};
	struct cot_rm_counts counts;
	struct cot_rm_result res;
	struct context c;
	unsigned i;

	(void)state;
	c = new_context(0, 0);
	for (i = 0; i < COT_RM_MAX_OBJECTS; i++) {
		a.client = c.client;
		a.parent = c.group;
		a.object = 0x1000 + i;
		fake.n_objects = 10; /* the stand-in's table is smaller */
		assert_int_equal(
			cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a), 0);
		assert_int_equal(a.status, 0);
	}
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, -ENOSPC);
	cot_rm_counts(&rm, &counts);
	assert_true(counts.n_doubts > 0);
	release(c.client, c.client);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_channels, 0);
}

static void test_fork(void **state)
{
	struct cot_rm_counts counts;
	struct cot_rm_result res;

	(void)state;
	new_context(0, 0);
	fake.n_controls = 0;
	cot_rm_forget(&rm);
	cot_rm_freeze(&rm, &res);
	cot_rm_thaw(&rm, &res);
	cot_rm_set_slice(&rm, 100, &res);
	cot_rm_preempt(&rm, &res);
	assert_int_equal(fake.n_controls, 0);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 0);
	new_context(0, 0);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, 1);
}

static void test_preempt(void **state)
{
	struct cot_rm_result res;

	(void)state;
	new_context(0, 0);
	new_context(0, 0);
	cot_rm_preempt(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(fake.n_preempt, 2);
}

/* Random allocations, frees and orders: what we think is what is. */
static void test_random(void **state)
{
	unsigned seed = 20261120, step;
	struct cot_rm_counts counts;
	struct cot_rm_result res;
	struct context c[4];
	bool frozen = false;
	unsigned i;

	(void)state;
	print_message("seed %u\n", seed);
	for (i = 0; i < 4; i++)
		c[i] = new_context(i % 2 ? c[0].client : 0, i % 3);
	for (step = 0; step < 2000; step++) {
		unsigned r = (unsigned)rand_r(&seed), which = r / 16 % 4;

		if (fake.n_objects > FAKE_MAX_OBJECTS - 16)
			break;
		switch (r % 8) {
		case 0:
			release(c[which].client, c[which].group);
			c[which].group = alloc(c[which].client, c[which].device, 0xa06c);
			c[which].channel[0] = alloc(c[which].client, c[which].group, CHANNEL_CLASS);
			schedule(c[which].client, c[which].group);
			break;
		case 1:
			alloc(c[which].client, c[which].group, CHANNEL_CLASS);
			schedule(c[which].client, c[which].group);
			break;
		case 2:
			cot_rm_freeze(&rm, &res);
			frozen = true;
			break;
		case 3:
			cot_rm_thaw(&rm, &res);
			frozen = false;
			break;
		case 4:
			cot_rm_set_slice(&rm, r / 64 % 5 * 100, &res);
			break;
		default:
			cot_rm_sync(&rm, &res);
		}
		cot_rm_sync(&rm, &res);
		assert_int_equal(res.status, 0);
		cot_rm_counts(&rm, &counts);
		assert_int_equal(counts.n_groups, fake_rm_count(&fake, 0xa06c, false));
		assert_int_equal(counts.n_channels, fake_rm_count(&fake, CHANNEL_CLASS, false));
		assert_int_equal(fake_rm_count(&fake, CHANNEL_CLASS, true),
				 frozen ? counts.n_channels : 0);
	}
	for (i = 0; i < fake.n_objects; i++)
		assert_false(fake.objects[i].hung);
	assert_true(step > 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_requests, setup),
		cmocka_unit_test_setup(test_learns, setup),
		cmocka_unit_test_setup(test_failed_allocations, setup),
		cmocka_unit_test_setup(test_layouts, setup),
		cmocka_unit_test_setup(test_slice, setup),
		cmocka_unit_test_setup(test_slice_wrapped, setup),
		cmocka_unit_test_setup(test_slice_packed, setup),
		cmocka_unit_test_setup(test_slice_comes_back, setup),
		cmocka_unit_test_setup(test_statuses, setup),
		cmocka_unit_test_setup(test_bad_pointers, setup),
		cmocka_unit_test_setup(test_bad_params, setup),
		cmocka_unit_test_setup(test_slice_is_read_back, setup),
		cmocka_unit_test_setup(test_mode, setup),
		cmocka_unit_test_setup(test_mode_is_of_compute, setup),
		cmocka_unit_test_setup(test_mode_without_subdevice, setup),
		cmocka_unit_test_setup(test_changes_are_told, setup),
		cmocka_unit_test_setup(test_entries_are_used_anew, setup),
		cmocka_unit_test_setup(test_freeze, setup),
		cmocka_unit_test_setup(test_freeze_chunks, setup),
		cmocka_unit_test_setup(test_freeze_races_with_free, setup),
		cmocka_unit_test_setup(test_freeze_all_or_none, setup),
		cmocka_unit_test_setup(test_freeze_waits_for_the_schedule, setup),
		cmocka_unit_test_setup(test_freeze_too_early, setup),
		cmocka_unit_test_setup(test_channels_in_a_shared_group, setup),
		cmocka_unit_test_setup(test_thaw_that_fails, setup),
		cmocka_unit_test_setup(test_no_subdevice, setup),
		cmocka_unit_test_setup(test_closed_descriptors, setup),
		cmocka_unit_test_setup(test_reopened_descriptor, setup),
		cmocka_unit_test_setup(test_full_table, setup),
		cmocka_unit_test_setup(test_fork, setup),
		cmocka_unit_test_setup(test_preempt, setup),
		cmocka_unit_test_setup(test_random, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
