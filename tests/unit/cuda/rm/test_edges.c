/* What src/cuda/rm makes of requests that say little, or of containers that allow little. */
#include <errno.h>
#include <pthread.h>

#include "cuda/rm/inside.h"
#include "rm_stage.h"

/* Where slices cannot be read, the driver's is known from what it has set. */
static void test_driver_slice_without_reading(void **state)
{
	uint64_t driver = 1234;
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	fake.fail_get_slice = COT_NV_NOT_SUPPORTED;
	cot_rm_set_slice(&rm, 300, &res);
	assert_int_equal(control(a.client, a.group, COT_NV_GROUP_SET_SLICE, &driver, 8), 0);
	assert_int_equal(slice_of(&a), 300);
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(slice_of(&a), 1234);
	/* It is the driver's again, and stays that. */
	fake.n_set_slice = 0;
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(fake.n_set_slice, 0);
}

/* A request that sets another mode than that of compute says nothing of ours. */
static void test_mode_of_graphics_only(void **state)
{
	struct cot_nv_preemption p = {.flags = 2, .compute = 5};
	struct cot_rm_result res;
	struct context a;

	(void)state;
	a = new_context(0, 0);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	p.channel = a.channel[0];
	assert_int_equal(control(a.client, a.subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)), 0);
	cot_rm_set_mode(&rm, COT_MODE_DRIVER, &res);
	assert_int_equal(fake_rm_find(&fake, 0, a.channel[0])->mode, COT_NV_PREEMPTION_CILP);
}

/* A channel that was never scheduled does not run: that it cannot be reached is no failure. */
static void test_freeze_out_of_reach(void **state)
{
	struct cot_rm_result res;
	struct context a;
	unsigned i;

	(void)state;
	a = new_context(0, 0);
	for (i = 0; i < 2; i++) {
		struct cot_rm_object *channel =
			cot_rm_table_find(&rm.table, a.client, a.channel[i]);

		channel->device = 0;
		channel->flags = i ? 0 : COT_RM_SCHEDULED;
	}
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, -ENODEV);
	assert_int_equal(res.n_failed, 1);
}

/* A device without a subdevice of its own is frozen through one of the same GPU, and of no other.
 */
static void test_freeze_by_a_subdevice_of_the_gpu(void **state)
{
	uint32_t params[14] = {1}, client, device, group;
	struct context others[3];
	struct cot_rm_result res;
	unsigned i;

	(void)state;
	for (i = 0; i < 3; i++) {
		others[i] = new_context(0, i);
		release(others[i].client, others[i].group);
	}
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc_params(FD, client, client, COT_NV_CLASS_DEVICE, params, sizeof(params));
	group = alloc(client, device, COT_NV_CLASS_GROUP);
	alloc(client, group, CHANNEL_CLASS);
	schedule(client, group);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_int_equal(res.n_done, 1);
	assert_int_equal(fake.disable_by, others[1].subdevice);
}

/* The wrapper for large requests around nothing: the driver's own answer. */
static void test_wrapper_around_nothing(void **state)
{
	static const unsigned requests[] = {COT_NV_NR_FREE, COT_NV_NR_CONTROL, COT_NV_NR_ALLOC,
					    COT_NV_NR_DUP};
	struct cot_nv_xfer x = {.size = sizeof(struct cot_nv_control)};
	unsigned i;

	(void)state;
	fake.fail_errno = EFAULT;
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		x.nr = requests[i];
		errno = 0;
		assert_int_equal(
			cot_rm_pass(&rm, FD, COT_NV_REQUEST(COT_NV_NR_XFER, sizeof(x)), &x), -1);
		assert_int_equal(errno, EFAULT);
	}
}

/* What was freed last is used first: whatever kind stands where, it is found. */
static void test_any_kind_in_the_first_entry(void **state)
{
	struct cot_rm_counts counts;
	struct cot_rm_result res;
	struct context a;
	uint32_t client, device, group;

	(void)state;
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	alloc(client, device, COT_NV_CLASS_SUBDEVICE);
	alloc(client, device, COT_NV_CLASS_GROUP);
	release(client, client);
	client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT);
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	alloc(client, device, COT_NV_CLASS_SUBDEVICE);
	group = alloc(client, device, COT_NV_CLASS_GROUP);
	assert_int_equal(rm.table.objects[0].kind, COT_RM_GROUP);
	cot_rm_set_slice(&rm, 700, &res);
	assert_int_equal(res.n_done, 1);
	assert_int_equal(fake_rm_find(&fake, client, group)->slice_us, 700);
	cot_rm_sync(&rm, &res);
	assert_int_equal(res.n_done, 1);
	assert_int_equal(res.value, 700);
	cot_rm_preempt(&rm, &res);
	assert_int_equal(fake.n_preempt, 1);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.gpus, 1);
	release(client, client);

	a = new_context(0, 0);
	release(a.client, a.client);
	a = new_context(0, 0);
	assert_int_equal(rm.table.objects[0].kind, COT_RM_CHANNEL);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	alloc(a.client, a.channel[1], COMPUTE_CLASS);
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	assert_int_equal(res.n_done, 2);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.status, 0);
	assert_true(is_disabled(&a, 0) && is_disabled(&a, 1));
	cot_rm_thaw(&rm, &res);
	assert_false(is_disabled(&a, 0) || is_disabled(&a, 1));
	release(a.client, a.device);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_channels + counts.n_groups, 0);
}

/* Each object is controlled through the file that it came by. */
static void test_two_files(void **state)
{
	uint32_t client, device;

	(void)state;
	(void)new_context(0, 0);
	client = alloc_params(FD + 1, 0, 0, COT_NV_CLASS_ROOT_CLIENT, NULL, 0);
	device = alloc_params(FD + 1, client, client, COT_NV_CLASS_DEVICE, NULL, 0);
	alloc_params(FD + 1, client, device, COT_NV_CLASS_GROUP, NULL, 0);
	assert_int_equal(rm.table.fds[0].fd, FD);
	assert_int_equal(rm.table.fds[0].n_objects, 6);
	assert_int_equal(rm.table.fds[1].fd, FD + 1);
	assert_int_equal(rm.table.fds[1].n_objects, 3);
}

/* After the lock has been used it is free, once for each time. */
static void test_the_lock_is_given_back(void **state)
{
	struct cot_nv_preemption p = {.flags = 1, .compute = COT_NV_PREEMPTION_CILP};
	pthread_mutexattr_t checked;
	struct cot_rm_result res;
	struct context a;

	(void)state;
	assert_int_equal(pthread_mutexattr_init(&checked), 0);
	assert_int_equal(pthread_mutexattr_settype(&checked, PTHREAD_MUTEX_RECURSIVE), 0);
	assert_int_equal(pthread_mutex_init(&rm.lock, &checked), 0);
	a = new_context(0, 0);
	alloc(a.client, a.channel[0], COMPUTE_CLASS);
	/* One more hold of ours: whoever unlocks without a lock takes it away. */
	assert_int_equal(pthread_mutex_lock(&rm.lock), 0);
	cot_rm_set_slice(&rm, 300, &res);
	cot_rm_set_mode(&rm, COT_MODE_DRAIN, &res);
	p.channel = a.channel[0];
	assert_int_equal(control(a.client, a.subdevice, COT_NV_SET_PREEMPTION, &p, sizeof(p)), 0);
	cot_rm_freeze(&rm, &res);
	cot_rm_thaw(&rm, &res);
	cot_rm_sync(&rm, &res);
	cot_rm_preempt(&rm, &res);
	(void)cot_rm_prune(&rm);
	release(a.client, a.client);
	assert_int_equal(pthread_mutex_unlock(&rm.lock), 0);
	assert_int_equal(pthread_mutex_unlock(&rm.lock), EPERM);
}

/* As many threads as there are places free objects at the same time, again and again. */
static void test_places_of_what_is_freed(void **state)
{
	unsigned slots[COT_RM_MAX_FREEING], i, round;

	(void)state;
	for (round = 0; round < 3; round++) {
		for (i = 0; i < COT_RM_MAX_FREEING; i++) {
			slots[i] = cot_rm_begin_free(&rm, 1, 2);
			assert_int_equal(slots[i], i);
		}
		assert_int_equal(cot_rm_begin_free(&rm, 1, 2), COT_RM_MAX_FREEING);
		cot_rm_end_free(&rm, COT_RM_MAX_FREEING);
		for (i = 0; i < COT_RM_MAX_FREEING; i++)
			cot_rm_end_free(&rm, slots[i]);
	}
}

static void test_doubts_and_losses_count_as_one(void **state)
{
	struct cot_rm_counts counts;

	(void)state;
	atomic_store(&rm.n_doubts, 3);
	atomic_store(&rm.n_lost, 2);
	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_doubts, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_driver_slice_without_reading, setup),
		cmocka_unit_test_setup(test_mode_of_graphics_only, setup),
		cmocka_unit_test_setup(test_freeze_out_of_reach, setup),
		cmocka_unit_test_setup(test_freeze_by_a_subdevice_of_the_gpu, setup),
		cmocka_unit_test_setup(test_wrapper_around_nothing, setup),
		cmocka_unit_test_setup(test_any_kind_in_the_first_entry, setup),
		cmocka_unit_test_setup(test_two_files, setup),
		cmocka_unit_test_setup(test_the_lock_is_given_back, setup),
		cmocka_unit_test_setup(test_places_of_what_is_freed, setup),
		cmocka_unit_test_setup(test_doubts_and_losses_count_as_one, setup),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
