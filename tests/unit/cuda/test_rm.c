/* What is learnt of the program's requests; slices and modes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit/cuda/rm/rm_stage.h"

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
	assert_int_equal(fake.n_set_slice, 1);

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
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
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
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
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

	cot_rm_set_mode(&rm, COT_MODE_DRIVER, &res);
	assert_int_equal(res.n_done, 2);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, COT_NV_PREEMPTION_CILP);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[1])->mode, COT_NV_PREEMPTION_CILP);
	cot_rm_set_mode(&rm, COT_MODE_DRIVER, &res);
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
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
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

/* A mode that could not be set is, when the driver sets its own; and that comes back. */
static void test_mode_after_the_driver(void **state)
{
	struct cot_nv_preemption p = {.flags = 1, .compute = 7};
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	release(a.client, a.channel[1]);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	fake.fail_set_mode = COT_NV_BUSY_RETRY;
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	assert_int_equal(res.status, -EBUSY);
	p.channel = a.channel[0];
	assert_int_equal(control(a.client, a.subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)),
			 COT_NV_BUSY_RETRY);
	fake.fail_set_mode = 0;
	cot_rm_set_mode(&rm, COT_MODE_DRIVER, &res);
	assert_int_equal(res.n_done, 0); /* it never had ours */
	fake.fail_set_mode = COT_NV_BUSY_RETRY;
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	fake.fail_set_mode = 0;
	assert_int_equal(control(a.client, a.subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)), 0);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, COT_NV_PREEMPTION_CTA);
	fake.mode_by = 0;
	cot_rm_sync(&rm, &res);
	assert_int_equal(fake.mode_by, 0); /* it has it */
	cot_rm_set_mode(&rm, COT_MODE_DRIVER, &res);
	assert_int_equal(res.n_done, 1);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, 7);
}

/* What the kernel refuses, the program hears of, whatever was asked for. */
static void test_errors_are_passed_on(void **state)
{
	static const uint32_t commands[] = {COT_NV_GROUP_SET_SLICE, COT_NV_SET_PREEMPTION,
					    COT_NV_GROUP_SCHEDULE, COT_NV_CHANNEL_SCHEDULE,
					    COT_NV_GROUP_PREEMPT};
	static const unsigned requests[] = {COT_NV_NR_FREE, COT_NV_NR_CONTROL, COT_NV_NR_ALLOC,
					    COT_NV_NR_DUP,  COT_NV_NR_XFER,    99};
	char request[256] = {0};
	struct cot_nv_control c;
	struct context a;
	unsigned i, size;

	(void)state;
	a = new_context(0, 0);
	fake.fail_errno = EIO;
	for (i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
		c = (struct cot_nv_control){.client = a.client, .object = a.group};
		c.cmd = commands[i];
		errno = 0;
		assert_int_equal(
			cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c), -1);
		assert_int_equal(errno, EIO);
	}
	/* Of every size. */
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		for (size = 0; size <= 64; size += 4) {
			errno = 0;
			assert_int_equal(
				cot_rm_pass(&rm, FD, COT_NV_REQUEST(requests[i], size), request),
				-1);
			assert_int_equal(errno, EIO);
			assert_int_equal(last_request, COT_NV_REQUEST(requests[i], size));
		}
	}
}

/* Of several subdevices, the one of the channel's own device. */
static void test_mode_by_the_own_subdevice(void **state)
{
	struct cot_rm_result res;
	struct context a, b;

	(void)state;
	a = new_context(0, 0);
	b = new_context(a.client, 1);
	alloc(b.client, b.channel[0], COMPUTE_CLASS);
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	assert_int_equal(res.n_done, 1);
	assert_int_equal(fake.mode_by, b.subdevice);
	release(b.client, b.channel[0]);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	assert_int_equal(fake.mode_by, a.subdevice);
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
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	assert_int_equal(res.status, -ENODEV);
	assert_int_equal(res.n_failed, 1);
	assert_int_equal(res.n_done, 0);
	/* Another client's subdevice cannot name it. */
	other = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(other, other, COT_NV_CLASS_DEVICE);
	alloc(other, device, COT_NV_CLASS_SUBDEVICE);
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
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
		assert_int_equal(rm.table.fds[0].n_objects, i % 2 ? 1 : 3);
		cot_rm_counts(&rm, &counts);
		assert_int_equal(counts.n_groups, 0);
		assert_int_equal(counts.n_channels, 0);
		release(a.client, a.client);
		assert_int_equal(rm.table.fds[0].n_objects, 0);
	}
	assert_true(rm.table.n_used <= 6);
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
		cmocka_unit_test_setup(test_slice_comes_back, setup),
		cmocka_unit_test_setup(test_statuses, setup),
		cmocka_unit_test_setup(test_bad_pointers, setup),
		cmocka_unit_test_setup(test_bad_params, setup),
		cmocka_unit_test_setup(test_slice_packed, setup),
		cmocka_unit_test_setup(test_slice_is_read_back, setup),
		cmocka_unit_test_setup(test_mode, setup),
		cmocka_unit_test_setup(test_mode_is_of_compute, setup),
		cmocka_unit_test_setup(test_mode_after_the_driver, setup),
		cmocka_unit_test_setup(test_errors_are_passed_on, setup),
		cmocka_unit_test_setup(test_mode_by_the_own_subdevice, setup),
		cmocka_unit_test_setup(test_mode_without_subdevice, setup),
		cmocka_unit_test_setup(test_changes_are_told, setup),
		cmocka_unit_test_setup(test_entries_are_used_anew, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
