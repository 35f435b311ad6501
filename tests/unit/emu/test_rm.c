/* The emulated resource manager, through the ioctl that a driver or a preloaded library uses. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "cuda/abi/rm.h"
#include "emu/gpu/shared.h"
#include "emu/rm/rm.h"
#include "emu_dir.h"
#include "test.h"

#define N_CHANNELS 3

static uint32_t client, device, subdevice, group, channels[N_CHANNELS];

static uint32_t alloc(uint32_t parent, uint32_t *handle, uint32_t class_, void *params,
		      uint32_t size)
{
	struct cot_nv_alloc_access a = {.client = client,
					.parent = parent,
					.object = *handle,
					.class_ = class_,
					.params = (uintptr_t)params,
					.params_size = size};

	assert_int_equal(
		cot_emu_rm_ioctl(
			COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc_access)), &a),
		0);
	*handle = a.object;
	return a.status;
}

static uint32_t control(uint32_t object, uint32_t cmd, void *params, uint32_t size)
{
	struct cot_nv_control c = {.client = client,
				   .object = object,
				   .cmd = cmd,
				   .params = (uintptr_t)params,
				   .params_size = size};

	assert_int_equal(
		cot_emu_rm_ioctl(COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)),
				 &c),
		0);
	return c.status;
}

static uint32_t release(uint32_t object)
{
	struct cot_nv_free f = {.client = client, .object = object};

	assert_int_equal(
		cot_emu_rm_ioctl(COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(struct cot_nv_free)), &f),
		0);
	return f.status;
}

static int setup(void **state)
{
	struct cot_nv_alloc root = {.class_ = COT_NV_CLASS_ROOT_CLIENT};
	unsigned i;

	if (emu_dir_setup(state))
		return -1;
	/* The client by the older, shorter request; the rest by the newer one. */
	if (cot_emu_rm_ioctl(COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(struct cot_nv_alloc)), &root) ||
	    root.status || root.client != root.object)
		return -1;
	client = root.object;
	device = subdevice = group = 0;
	if (alloc(client, &device, COT_NV_CLASS_DEVICE, NULL, 0) ||
	    alloc(device, &subdevice, COT_NV_CLASS_SUBDEVICE, NULL, 0) ||
	    alloc(device, &group, COT_NV_CLASS_GROUP, NULL, 0))
		return -1;
	for (i = 0; i < N_CHANNELS; i++) {
		channels[i] = 0;
		if (alloc(group, &channels[i], COT_NV_CLASS_HOPPER_CHANNEL, NULL, 0))
			return -1;
	}
	return 0;
}

static int teardown(void **state)
{
	struct cot_emu_gpu *gpu;

	release(client);
	if (!cot_emu_gpu_attach(&gpu))
		cot_emu_gpu_detach(gpu);
	return emu_dir_teardown(state);
}

static uint64_t slice_us(void)
{
	uint64_t us = 0;

	assert_int_equal(control(group, COT_NV_GROUP_GET_SLICE, &us, sizeof(us)), COT_NV_OK);
	return us;
}

static void slices_are_set_and_read_back(void **state)
{
	uint64_t us = 100;

	(void)state;
	assert_int_equal(slice_us(), 1024);
	assert_int_equal(control(group, COT_NV_GROUP_SET_SLICE, &us, sizeof(us)), COT_NV_OK);
	assert_int_equal(slice_us(), 100);
	us = 0;
	assert_int_equal(control(group, COT_NV_GROUP_SET_SLICE, &us, sizeof(us)),
			 COT_NV_INVALID_ARGUMENT);
	us = UINT64_MAX;
	assert_int_equal(control(group, COT_NV_GROUP_SET_SLICE, &us, sizeof(us)),
			 COT_NV_INVALID_ARGUMENT);
	assert_int_equal(slice_us(), 100);
	setenv("COTENANT_EMU_QUIRKS", "no-slice", 1);
	assert_int_equal(control(group, COT_NV_GROUP_SET_SLICE, &us, sizeof(us)),
			 COT_NV_NOT_SUPPORTED);
}

static struct cot_nv_disable all_channels(bool disable)
{
	struct cot_nv_disable d = {.disable = disable, .n_channels = N_CHANNELS};
	unsigned i;

	for (i = 0; i < N_CHANNELS; i++) {
		d.clients[i] = client;
		d.channels[i] = channels[i];
	}
	return d;
}

static uint32_t disable(struct cot_nv_disable d)
{
	return control(subdevice, COT_NV_DISABLE_CHANNELS, &d, sizeof(d));
}

/* A kernel on the first channel, as the driver would ring its doorbell. */
static struct cot_emu_ticket launch(struct cot_emu_gpu *gpu, uint64_t ns)
{
	struct cot_emu_work w = {.total_ns = ns, .block_ns = ns, .demand = 1000};
	struct cot_emu_channel_id channel;
	struct cot_emu_ticket t = {0, 0};
	struct cot_emu_model *m;
	uint32_t token = 0;

	assert_int_equal(control(channels[0], COT_NV_CHANNEL_GET_TOKEN, &token, sizeof(token)),
			 COT_NV_OK);
	m = cot_emu_gpu_begin(gpu);
	channel = cot_emu_model_token_channel(m, token);
	assert_int_equal(cot_emu_model_submit(m, channel, cot_emu_gpu_client(gpu), &w,
					      (struct cot_emu_ticket){0, 0}, &t),
			 0);
	cot_emu_gpu_commit(gpu, false);
	return t;
}

static uint64_t ran_ns(struct cot_emu_gpu *gpu)
{
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	uint64_t ns;

	cot_emu_model_book(m);
	ns = m->groups[0].ran_ns;
	cot_emu_gpu_commit(gpu, false);
	return ns;
}

static void a_freeze_holds_the_group_off(void **state)
{
	struct cot_emu_gpu *gpu;
	uint64_t before;

	(void)state;
	assert_int_equal(cot_emu_gpu_attach(&gpu), 0);
	launch(gpu, 10000000000ull);
	assert_int_equal(disable(all_channels(true)), COT_NV_OK);
	before = ran_ns(gpu);
	usleep(20000);
	assert_int_equal(ran_ns(gpu), before);
	assert_int_equal(disable(all_channels(false)), COT_NV_OK);
	usleep(20000);
	assert_true(ran_ns(gpu) >= before + 19000000);
}

static void scheduling_off_freezes_nothing(void **state)
{
	struct cot_nv_schedule s = {.enable = 0};
	struct cot_emu_gpu *gpu;
	uint64_t before;

	(void)state;
	assert_int_equal(cot_emu_gpu_attach(&gpu), 0);
	launch(gpu, 10000000000ull);
	assert_int_equal(control(group, COT_NV_GROUP_SCHEDULE, &s, sizeof(s)), COT_NV_OK);
	before = ran_ns(gpu);
	usleep(20000);
	assert_true(ran_ns(gpu) >= before + 19000000);
	setenv("COTENANT_EMU_QUIRKS", "hollow-freeze", 1);
	assert_int_equal(disable(all_channels(true)), COT_NV_OK);
	before = ran_ns(gpu);
	usleep(20000);
	assert_true(ran_ns(gpu) >= before + 19000000);
}

static void a_freeze_says_what_is_wrong(void **state)
{
	struct cot_nv_disable d = all_channels(true);

	(void)state;
	d.channels[1] = group;
	assert_int_equal(disable(d), COT_NV_INVALID_CHANNEL);
	d.n_channels = COT_NV_DISABLE_MAX + 1;
	assert_int_equal(disable(d), COT_NV_INVALID_ARGUMENT);
	d = all_channels(true);
	d.event = 1;
	assert_int_equal(disable(d), COT_NV_NO_PERMISSION);
	setenv("COTENANT_EMU_QUIRKS", "no-freeze", 1);
	assert_int_equal(disable(all_channels(true)), COT_NV_NO_PERMISSION);
}

static void preempt_waits_until_the_group_is_off(void **state)
{
	struct cot_nv_preempt p = {.wait = 1};
	struct cot_emu_gpu *gpu;
	struct cot_emu_model *m;

	(void)state;
	assert_int_equal(cot_emu_gpu_attach(&gpu), 0);
	assert_int_equal(control(group, COT_NV_GROUP_PREEMPT, &p, sizeof(p)), COT_NV_OK);
	launch(gpu, 10000000000ull);
	assert_int_equal(control(group, COT_NV_GROUP_PREEMPT, &p, sizeof(p)), COT_NV_OK);
	m = cot_emu_gpu_begin(gpu);
	assert_int_equal(m->groups[0].n_left, 1);
	cot_emu_gpu_commit(gpu, false);
}

static void modes_are_per_channel(void **state)
{
	struct cot_nv_preemption p = {.flags = 1, .channel = channels[1], .compute = 1};
	struct cot_emu_gpu *gpu;
	struct cot_emu_model *m;
	unsigned drains = 0, i;

	(void)state;
	assert_int_equal(control(subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)), COT_NV_OK);
	assert_int_equal(cot_emu_gpu_attach(&gpu), 0);
	m = cot_emu_gpu_begin(gpu);
	for (i = 0; i < m->n_channels; i++)
		drains += m->channels[i].serial && m->channels[i].mode == COT_NV_PREEMPTION_CTA;
	cot_emu_gpu_commit(gpu, false);
	assert_int_equal(drains, 1);
	p.channel = group;
	assert_int_equal(control(subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)),
			 COT_NV_INVALID_CHANNEL);
	p.channel = channels[1];
	p.compute = 7;
	assert_int_equal(control(subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)),
			 COT_NV_INVALID_ARGUMENT);
}

static void bad_requests_are_refused(void **state)
{
	uint32_t handle = 0;
	uint64_t word = 0;
	uint64_t us = 100;
	struct cot_nv_control c = {.client = 12345, .object = group};

	(void)state;
	assert_int_equal(control(group, COT_NV_GROUP_SET_SLICE, &us, 4),
			 COT_NV_INVALID_PARAM_STRUCT);
	assert_int_equal(control(group, COT_NV_GROUP_SET_SLICE, NULL, sizeof(us)),
			 COT_NV_INVALID_POINTER);
	assert_int_equal(control(group, 0xA06C01FF, &us, sizeof(us)), COT_NV_NOT_SUPPORTED);
	assert_int_equal(control(subdevice, COT_NV_GROUP_SET_SLICE, &us, sizeof(us)),
			 COT_NV_NOT_SUPPORTED);
	assert_int_equal(control(999, COT_NV_GROUP_SET_SLICE, &us, sizeof(us)),
			 COT_NV_OBJECT_NOT_FOUND);
	assert_int_equal(
		cot_emu_rm_ioctl(COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)),
				 &c),
		0);
	assert_int_equal(c.status, COT_NV_INVALID_CLIENT);
	assert_int_equal(alloc(device, &handle, COT_NV_CLASS_HOPPER_CHANNEL, NULL, 0),
			 COT_NV_INVALID_OBJECT_PARENT);
	handle = 0;
	assert_int_equal(alloc(777, &handle, 0x3e, NULL, 0), COT_NV_INVALID_OBJECT_PARENT);
	handle = group;
	assert_int_equal(alloc(device, &handle, 0x3e, NULL, 0), COT_NV_DUPLICATE_NAME);
	assert_int_equal(release(31337), COT_NV_INVALID_OBJECT_OLD);
	assert_int_equal(cot_emu_rm_ioctl(_IOC(_IOC_READ, 'F', 0x2A, 8), &word), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(cot_emu_rm_ioctl(_IOC(_IOC_READ, 'T', 0x2A, 8), &word), -1);
	assert_int_equal(errno, ENOTTY);
}

static void freeing_a_parent_frees_what_is_below(void **state)
{
	struct cot_emu_gpu *gpu;
	struct cot_emu_model *m;
	uint64_t us = 1;

	(void)state;
	assert_int_equal(release(device), COT_NV_OK);
	assert_int_equal(control(group, COT_NV_GROUP_GET_SLICE, &us, sizeof(us)),
			 COT_NV_OBJECT_NOT_FOUND);
	assert_int_equal(cot_emu_gpu_attach(&gpu), 0);
	m = cot_emu_gpu_begin(gpu);
	assert_int_equal(m->n_groups, 0);
	assert_int_equal(m->n_channels, 0);
	cot_emu_gpu_commit(gpu, false);
}

static void a_forked_child_has_no_handles(void **state)
{
	struct cot_nv_control c = {.client = client, .object = group};
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(cot_emu_rm_ioctl(
			      COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(struct cot_nv_control)),
			      &c) == -1 &&
				      errno == EPERM
			      ? 0
			      : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void nodes_are_told_from_other_files(void **state)
{
	int ctl = cot_emu_rm_open("/dev/nvidiactl", O_RDWR | O_CLOEXEC), copy, other;

	(void)state;
	assert_true(ctl >= 0);
	copy = dup(ctl);
	other = open("/dev/null", O_RDWR | O_CLOEXEC);
	assert_true(cot_emu_rm_is_ours(ctl));
	assert_true(cot_emu_rm_is_ours(copy));
	assert_false(cot_emu_rm_is_ours(other));
	assert_false(cot_emu_rm_is_ours(-1));
	assert_true(cot_emu_rm_is_node("/dev/nvidia0"));
	assert_false(cot_emu_rm_is_node("/dev/nvidia-caps"));
	assert_int_equal(cot_emu_rm_open("/dev/nvidia3", O_RDWR), -1);
	assert_int_equal(errno, ENOENT);
	close(ctl);
	close(copy);
	close(other);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(slices_are_set_and_read_back),
		CASE(a_freeze_holds_the_group_off),
		CASE(scheduling_off_freezes_nothing),
		CASE(a_freeze_says_what_is_wrong),
		CASE(preempt_waits_until_the_group_is_off),
		CASE(modes_are_per_channel),
		CASE(bad_requests_are_refused),
		CASE(freeing_a_parent_frees_what_is_below),
		CASE(a_forked_child_has_no_handles),
		CASE(nodes_are_told_from_other_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
