/* Setting channels up and freezing exclude each other. */
#include <errno.h>
#include <string.h>

#include "cuda/abi/rm.h"
#include "cuda/rm/rm.h"
#include "support/fake_rm.h"
#include "test.h"

#define CHANNEL_CLASS 0xc86fu
#define COMPUTE_CLASS 0xcbc0u
#define MEMORY_CLASS  0x40u
#define FD	      7

static struct fake_rm fake;
static struct cot_rm rm;
static uint64_t clock_ns;
static unsigned n_waits, n_waits_max;
static void (*during_wait)(void);  /* called at the last wait */
static void (*during_alloc)(void); /* called inside the next allocation */
static uint32_t client, device, group;
static struct cot_rm_result during;

static int host_ioctl(int fd, unsigned long request, void *arg)
{
	void (*hook)(void) = during_alloc;

	(void)fd;
	if (hook && _IOC_NR(request) == COT_NV_NR_ALLOC) {
		during_alloc = NULL;
		hook();
	}
	return fake_rm_ioctl(&fake, 1, request, arg, 0);
}

static uint64_t host_now_ns(void)
{
	return clock_ns;
}

static bool host_wait(void)
{
	errno = EINTR;
	if (++n_waits == n_waits_max && during_wait)
		during_wait();
	return n_waits < n_waits_max;
}

static const struct cot_rm_host host = {
	.ioctl = host_ioctl,
	.now_ns = host_now_ns,
	.wait = host_wait,
};

/* ---- the program ---- */

static uint32_t alloc(uint32_t parent, uint32_t class_)
{
	struct cot_nv_alloc_access a = {.client = client, .parent = parent, .class_ = class_};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a), 0);
	assert_int_equal(a.status, 0);
	return a.object;
}

static void release(uint32_t parent, uint32_t object)
{
	struct cot_nv_free f = {.client = client, .parent = parent, .object = object};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(f)), &f), 0);
	assert_int_equal(f.status, 0);
}

static void schedule(void)
{
	uint8_t enable[3] = {1, 0, 0};
	struct cot_nv_control c = {.client = client,
				   .object = group,
				   .cmd = COT_NV_GROUP_SCHEDULE,
				   .params = (uintptr_t)enable,
				   .params_size = sizeof(enable)};

	assert_int_equal(cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c), 0);
}

static unsigned n_disabled(void)
{
	return fake_rm_count(&fake, CHANNEL_CLASS, true);
}

static int freeze(void)
{
	struct cot_rm_result res;

	cot_rm_freeze(&rm, &res);
	return res.status;
}

/* A group with two channels, long ago. */
static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	cot_rm_init(&rm, &host);
	clock_ns = 1000;
	n_waits = 0;
	n_waits_max = 3;
	during_wait = NULL;
	during_alloc = NULL;
	client = 0;
	client = alloc(0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, COT_NV_CLASS_DEVICE);
	alloc(device, COT_NV_CLASS_SUBDEVICE);
	group = alloc(device, COT_NV_CLASS_GROUP);
	alloc(group, CHANNEL_CLASS);
	alloc(group, CHANNEL_CLASS);
	schedule();
	clock_ns += COT_RM_QUIET_NS;
	return 0;
}

/* ---- tests ---- */

/* The driver works on new channels for a while after the last request for them. */
static void test_freeze_waits_for_quiet(void **state)
{
	struct cot_rm_result res;
	uint32_t memory, channel;

	(void)state;
	memory = alloc(device, MEMORY_CLASS); /* is not a channel */
	release(device, memory);
	assert_int_equal(freeze(), 0);
	assert_int_equal(n_disabled(), 2);
	cot_rm_thaw(&rm, &res);

	channel = alloc(group, CHANNEL_CLASS);
	clock_ns += COT_RM_QUIET_NS - 1;
	assert_int_equal(freeze(), -EAGAIN);
	assert_false(atomic_load(&rm.frozen));
	assert_int_equal(n_disabled(), 0);
	clock_ns++;
	schedule(); /* is part of it */
	assert_int_equal(freeze(), -EAGAIN);
	clock_ns += COT_RM_QUIET_NS;
	alloc(channel, COMPUTE_CLASS); /* and so is what is made below a channel */
	assert_int_equal(freeze(), -EAGAIN);
	clock_ns += COT_RM_QUIET_NS;
	release(group, channel); /* and its end */
	assert_int_equal(freeze(), -EAGAIN);
	assert_int_equal(n_waits, 0);
	clock_ns += COT_RM_QUIET_NS;
	assert_int_equal(freeze(), 0);
}

static void thaw_from_outside(void)
{
	struct cot_rm_result res;

	cot_rm_thaw(&rm, &res);
	assert_int_equal(res.status, 0);
	n_waits_max = UINT32_MAX;
}

/* What begins while the process is frozen waits for the thaw. */
static void test_set_up_waits_for_the_thaw(void **state)
{
	(void)state;
	assert_int_equal(freeze(), 0);
	during_wait = thaw_from_outside;
	n_waits_max = 5;
	errno = 0;
	alloc(device, COT_NV_CLASS_GROUP);
	assert_int_equal(n_waits, 5);
	assert_int_equal(errno, 0);
	assert_int_equal(n_disabled(), 0);
	assert_int_equal(atomic_load(&rm.n_doubts), 0);
}

static void test_taking_down_waits_for_the_thaw(void **state)
{
	(void)state;
	assert_int_equal(freeze(), 0);
	during_wait = thaw_from_outside;
	release(0, client); /* and all below */
	assert_int_equal(n_waits, 3);
	assert_int_equal(n_disabled(), 0);
	assert_int_equal(atomic_load(&rm.n_doubts), 0);
}

/* Nobody thaws it: the program gets what it wants, and nothing new is disabled meanwhile. */
static void test_set_up_does_not_wait_for_ever(void **state)
{
	struct cot_rm_result res;

	(void)state;
	assert_int_equal(freeze(), 0);
	alloc(group, CHANNEL_CLASS);
	assert_int_equal(n_waits, 3);
	assert_int_equal(atomic_load(&rm.n_doubts), 1);
	schedule();
	cot_rm_sync(&rm, &res);
	assert_int_equal(res.status, -EAGAIN);
	assert_int_equal(n_disabled(), 2);
	cot_rm_thaw(&rm, &res);
	assert_int_equal(n_disabled(), 0);
	clock_ns += COT_RM_QUIET_NS;
	assert_int_equal(freeze(), 0);
	assert_int_equal(n_disabled(), 3);
}

static void freeze_from_outside(void)
{
	cot_rm_freeze(&rm, &during);
}

/* A freeze that comes while a request of a set-up is under way. */
static void test_freeze_during_a_set_up(void **state)
{
	(void)state;
	during_alloc = freeze_from_outside;
	alloc(group, CHANNEL_CLASS);
	assert_int_equal(during.status, -EAGAIN);
	assert_int_equal(n_disabled(), 0);
	assert_int_equal(n_waits, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_freeze_waits_for_quiet, setup),
		cmocka_unit_test_setup(test_set_up_waits_for_the_thaw, setup),
		cmocka_unit_test_setup(test_taking_down_waits_for_the_thaw, setup),
		cmocka_unit_test_setup(test_set_up_does_not_wait_for_ever, setup),
		cmocka_unit_test_setup(test_freeze_during_a_set_up, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
