/* Freezing and thawing; and what comes and goes meanwhile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rm_stage.h"

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

/* Two clients on one GPU: each is frozen by its own subdevice. */
static void test_freeze_by_the_own_subdevice(void **state)
{
	struct cot_rm_result res;
	struct context a, b;

	(void)state;
	a = new_context(0, 0);
	b = new_context(0, 0);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(res.n_done, 4);
	assert_int_equal(fake.disable_by, b.subdevice);
	cot_rm_thaw(&rm, &res);
	release(b.client, b.client);
	cot_rm_freeze(&rm, &res);
	assert_int_equal(fake.disable_by, a.subdevice);
	cot_rm_thaw(&rm, &res);
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
	assert_false(cot_rm_prune(&rm));
	file_of[FD].ino++;
	assert_true(cot_rm_prune(&rm));
	assert_false(cot_rm_prune(&rm));
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
		cmocka_unit_test_setup(test_freeze, setup),
		cmocka_unit_test_setup(test_freeze_by_the_own_subdevice, setup),
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
