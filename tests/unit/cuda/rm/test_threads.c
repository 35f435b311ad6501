/* Threads of the program allocate and free while the control thread gives orders. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "cuda/abi/rm.h"
#include "cuda/rm/rm.h"
#include "support/fake_rm.h"
#include "test.h"

#define N_THREADS 3
#define N_ROUNDS  60

static struct fake_rm fake;
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cot_rm rm;
static _Atomic unsigned n_changed, n_running, n_bad;

static int host_ioctl(int fd, unsigned long request, void *arg)
{
	int rc;

	(void)fd;
	pthread_mutex_lock(&fake_lock);
	rc = fake_rm_ioctl(&fake, 1, request, arg, 0);
	pthread_mutex_unlock(&fake_lock);
	return rc;
}

static void host_changed(void)
{
	atomic_fetch_add(&n_changed, 1);
}

static const struct cot_rm_host host = {.ioctl = host_ioctl, .changed = host_changed};

static uint32_t alloc(uint32_t client, uint32_t parent, uint32_t class_)
{
	struct cot_nv_alloc_access a = {.client = client, .parent = parent, .class_ = class_};

	if (cot_rm_pass(&rm, 3, COT_NV_REQUEST(COT_NV_NR_ALLOC, sizeof(a)), &a) < 0 || a.status)
		atomic_fetch_add(&n_bad, 1);
	return a.object;
}

static void *program(void *unused)
{
	uint32_t client = alloc(0, 0, COT_NV_CLASS_ROOT_CLIENT), device, group;
	uint64_t us = 2048;
	unsigned i;

	(void)unused;
	device = alloc(client, client, COT_NV_CLASS_DEVICE);
	alloc(client, device, COT_NV_CLASS_SUBDEVICE);
	for (i = 0; i < N_ROUNDS; i++) {
		struct cot_nv_control c = {.client = client,
					   .cmd = COT_NV_GROUP_SET_SLICE,
					   .params = (uintptr_t)&us,
					   .params_size = sizeof(us)};
		struct cot_nv_free f = {.client = client};

		group = alloc(client, device, COT_NV_CLASS_GROUP);
		alloc(client, group, 0xc86f);
		c.object = group;
		(void)cot_rm_pass(&rm, 3, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c);
		if (c.status)
			atomic_fetch_add(&n_bad, 1);
		c.cmd = COT_NV_GROUP_SCHEDULE;
		(void)cot_rm_pass(&rm, 3, COT_NV_REQUEST(COT_NV_NR_CONTROL, sizeof(c)), &c);
		f.object = group;
		if (i % 4)
			(void)cot_rm_pass(&rm, 3, COT_NV_REQUEST(COT_NV_NR_FREE, sizeof(f)), &f);
	}
	atomic_fetch_sub(&n_running, 1);
	return NULL;
}

static void check_all(uint64_t slice_us)
{
	struct cot_rm_counts counts;
	unsigned i;

	cot_rm_counts(&rm, &counts);
	assert_int_equal(counts.n_groups, fake_rm_count(&fake, COT_NV_CLASS_GROUP, false));
	assert_int_equal(counts.n_channels, fake_rm_count(&fake, 0xc86f, false));
	assert_int_equal(counts.n_groups, N_THREADS * N_ROUNDS / 4);
	for (i = 0; i < fake.n_objects; i++)
		if (fake.objects[i].live && fake.objects[i].class_ == COT_NV_CLASS_GROUP)
			assert_int_equal(fake.objects[i].slice_us, slice_us);
}

static void test_threads(void **state)
{
	pthread_t threads[N_THREADS];
	struct cot_rm_result res;
	unsigned i, round = 0;

	(void)state;
	cot_rm_init(&rm, &host);
	atomic_store(&n_running, N_THREADS);
	for (i = 0; i < N_THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, program, NULL), 0);
	do {
		cot_rm_set_slice(&rm, 100 + round % 3, &res);
		cot_rm_freeze(&rm, &res);
		/* When all channels that there are at the moment are too young to be frozen. */
		if (res.status != -EAGAIN)
			assert_int_equal(res.n_failed, 0);
		cot_rm_sync(&rm, &res);
		cot_rm_thaw(&rm, &res);
		assert_int_equal(res.status, 0);
		round++;
	} while (atomic_load(&n_running));
	for (i = 0; i < N_THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(atomic_load(&n_bad), 0);
	assert_true(atomic_load(&n_changed) > 0);
	assert_int_equal(fake_rm_count(&fake, 0xc86f, true), 0);
	check_all(100 + (round - 1) % 3);
	cot_rm_set_slice(&rm, 0, &res);
	assert_int_equal(res.status, 0);
	check_all(2048); /* what the driver's user part had asked for */
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
