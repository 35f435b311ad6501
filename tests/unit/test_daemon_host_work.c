/* Works between shims and the core, with the test as every shim: what is sent to whom. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/host_work.h"

#define N_SMS 132u

enum { LATENCY = 1, BATCH = 2, M_LATENCY = 10, M_BATCH = 11, M_BATCH2 = 12 };

/* The last packet to each member. */
static struct {
	unsigned n;
	int type;
	struct cot_msg_work_grant m; /* an eviction has the same form */
} sent[COT_HOST_MAX_MEMBERS];

static int send(void *arg, unsigned member, const void *packet, size_t size)
{
	(void)arg;
	assert_true(cot_proto_check(packet, size) > 0);
	sent[member].n++;
	sent[member].type = cot_proto_check(packet, size);
	if (sent[member].type == COT_MSG_WORK_GRANT || sent[member].type == COT_MSG_WORK_EVICT)
		memcpy(&sent[member].m, packet, sizeof(sent[member].m));
	return 0;
}

static void lease(void *arg, unsigned member, uint64_t until_ns)
{
	(void)arg;
	(void)member;
	(void)until_ns;
}

static const struct cot_host_ops ops = {.send = send, .lease = lease};

static void join(struct cot_host *h, unsigned member, uint32_t tenant)
{
	const struct cot_host_shim shim = {.tenant = tenant, .n_sms = N_SMS};

	assert_int_equal(cot_host_work_join(h, member, &shim), 0);
}

static struct cot_host *begin(const char *policy)
{
	struct cot_host *h;
	struct cot_error err;
	uint32_t id;

	memset(sent, 0, sizeof(sent));
	assert_int_equal(cot_host_create(&ops, NULL, cot_policy_find(policy), NULL, 0, &h, &err),
			 0);
	for (id = LATENCY; id <= BATCH; id++) {
		struct cot_event ev = {
			.type = COT_EV_TENANT,
			.id = id,
			.tenant = {.cls = id == LATENCY ? COT_CLASS_LATENCY : COT_CLASS_BATCH,
				   .weight = 100,
				   .gpu_mask = 1}};

		assert_int_equal(cot_host_event(h, &ev), 0);
	}
	join(h, M_LATENCY, LATENCY);
	join(h, M_BATCH, BATCH);
	join(h, M_BATCH2, BATCH);
	return h;
}

static int request(struct cot_host *h, unsigned member, uint64_t work, uint64_t now_ns)
{
	const struct cot_msg_work_request m = {.work = work,
					       .n_tasks = 1000000,
					       .per_sm = 8,
					       .task_ns = 50000,
					       .flags = COT_WORK_CAN_SETTLE};

	return cot_host_work_request(
		h, member, &m, member == M_LATENCY ? COT_WORK_RESERVE : COT_WORK_QUOTA, now_ns);
}

static void done(struct cot_host *h, unsigned member, uint64_t work, uint32_t left, int status,
		 uint64_t now_ns)
{
	const struct cot_msg_work_done m = {.work = work,
					    .left = left,
					    .status = status,
					    .n_tasks = 500,
					    .n_remapped = 20,
					    .n_launches = 2};

	cot_host_work_done(h, member, &m, now_ns);
}

static void expect(unsigned member, int type, uint64_t work, uint32_t capsms)
{
	assert_int_equal(sent[member].type, type);
	assert_int_equal(sent[member].m.work, work);
	assert_int_equal(sent[member].m.capsms, capsms);
}

static void test_a_life(void **state)
{
	struct cot_host *h = begin("smguard");
	struct cot_msg_work_evicted evicted = {.work = 77, .capsms = 132, .delay_ns = 9000};
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 77, 1000), 0);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 77, 132);
	assert_int_equal(sent[M_BATCH].m.flags, COT_WORK_SETTLED);
	/* The names of two shims have nothing to do with each other. */
	assert_int_equal(request(h, M_LATENCY, 77, 2000), 0);
	expect(M_LATENCY, COT_MSG_WORK_GRANT, 77, 132);
	expect(M_BATCH, COT_MSG_WORK_EVICT, 77, 132);
	cot_host_work_evicted(h, M_BATCH, &evicted, 32000);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(s.granted, 132);
	assert_int_equal(s.evicted, 132);
	assert_int_equal(s.leaving, 0);
	assert_int_equal(s.n_evictions, 1);
	assert_int_equal(s.n_evicted_capsms, 132);
	assert_int_equal(s.eviction_last_ns, 9000);
	assert_int_equal(cot_hist_max(s.evictions), 9000);
	assert_int_equal(cot_hist_max(s.orders), 30000); /* from the order to the answer */
	assert_int_equal(cot_hist_max(s.waits), 0);
	done(h, M_LATENCY, 77, 0, 0, 40000);
	done(h, M_BATCH, 77, 5000, 0, 50000); /* the rest */
	cot_host_tick(h, 150000);	      /* no other latency work came */
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(s.n_returns, 1);
	assert_int_equal(s.n_tasks, 500);
	assert_int_equal(s.n_remapped, 20);
	assert_int_equal(s.n_launches, 2);
	assert_int_equal(s.n_running, 1);
	assert_int_equal(sent[M_BATCH].type, COT_MSG_WORK_GRANT);
	assert_int_equal(sent[M_BATCH].m.work, 77);
	done(h, M_BATCH, 77, 0, 0, 160000);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(s.n_running + s.n_waiting + s.granted, 0);
	assert_int_equal(s.n_requests, 1);
	cot_host_destroy(h);
}

static void test_names(void **state)
{
	struct cot_host *h = begin("static");

	(void)state;
	assert_int_equal(request(h, M_BATCH, 5, 0), 0);
	assert_int_equal(request(h, M_BATCH, 5, 0), -EINVAL);
	assert_int_equal(request(h, M_BATCH2, 5, 0), 0);
	done(h, M_BATCH, 5, 0, 0, 0);
	assert_int_equal(request(h, M_BATCH, 5, 0), 0);
	done(h, M_BATCH, 6, 0, 0, 0);			 /* unknown: nothing happens */
	assert_int_equal(request(h, 99, 1, 0), -EINVAL); /* never said hello */
	cot_host_destroy(h);
}

static void test_bounds(void **state)
{
	struct cot_host *h = begin("static");
	unsigned i;

	(void)state;
	for (i = 1; i <= COT_PROTO_WORKS_MAX; i++)
		assert_int_equal(request(h, M_BATCH, i, 0), 0);
	assert_int_equal(request(h, M_BATCH, i, 0), -EINVAL);
	done(h, M_BATCH, 3, 0, 0, 0);
	assert_int_equal(request(h, M_BATCH, i, 0), 0);
	cot_host_destroy(h);
}

/* More works than the core has room for: they get what they want, untold. */
static void test_everything_full(void **state)
{
	struct cot_host *h = begin("smguard");
	unsigned member = 20, i, n = 0;

	(void)state;
	for (; n < COT_SCHED_MAX_WORKS; member++) {
		join(h, member, BATCH);
		for (i = 1; i <= COT_PROTO_WORKS_MAX && n < COT_SCHED_MAX_WORKS; i++, n++)
			assert_int_equal(request(h, member, i, 0), 0);
	}
	assert_int_equal(cot_sched_policy(cot_host_sched(h))->n_works, COT_SCHED_MAX_WORKS);
	assert_int_equal(request(h, M_BATCH, 9, 0), 0);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 9, N_SMS);
	done(h, M_BATCH, 9, 0, 0, 0);
	cot_host_work_leave(h, 20, 0);
	assert_int_equal(request(h, M_BATCH, 9, 0), 0);
	assert_int_equal(cot_sched_policy(cot_host_sched(h))->n_works,
			 COT_SCHED_MAX_WORKS - COT_PROTO_WORKS_MAX + 1);
	cot_host_destroy(h);
}

/* What a connection had is free when it is gone, at once. */
static void test_disconnect(void **state)
{
	struct cot_host *h = begin("smguard");
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	assert_int_equal(request(h, M_BATCH2, 1, 0), 0);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 1, 132);
	assert_int_equal(sent[M_BATCH2].n, 0);
	cot_host_work_leave(h, M_BATCH, 10);
	expect(M_BATCH2, COT_MSG_WORK_GRANT, 1, 132);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(s.n_requests, 2); /* what was counted stays */
	join(h, M_BATCH, BATCH);	   /* another one in its place */
	assert_int_equal(cot_host_work_join(h, M_BATCH, &(struct cot_host_shim){.tenant = BATCH}),
			 -EEXIST);
	cot_host_work_forget(h, BATCH);
	cot_host_work_stats(h, BATCH, &s);
	assert_null(s.evictions);
	assert_int_equal(request(h, M_BATCH, 2, 0), -EINVAL);
	cot_host_destroy(h);
}

/* A launch that failed is over, whatever is left of it. */
static void test_failed_launch(void **state)
{
	struct cot_host *h = begin("smguard");
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	done(h, M_BATCH, 1, 5000, -EIO, 10);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(s.n_failed, 1);
	assert_int_equal(s.n_running + s.n_waiting, 0);
	assert_int_equal(request(h, M_BATCH, 1, 20), 0);
	cot_host_destroy(h);
}

/* Shims that say what is not so change nothing. */
static void test_lies(void **state)
{
	struct cot_host *h = begin("smguard");
	struct cot_msg_work_evicted evicted = {.work = 1, .capsms = 5};
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	cot_host_work_evicted(h, M_BATCH, &evicted, 10); /* nobody told it to leave */
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(cot_hist_count(s.evictions), 0);
	assert_int_equal(request(h, M_LATENCY, 1, 20), 0);
	evicted.capsms = 1000;
	cot_host_work_evicted(h, M_BATCH, &evicted, 30);
	evicted.capsms = 132;
	cot_host_work_evicted(h, M_BATCH, &evicted, 40);
	cot_host_work_evicted(h, M_BATCH, &evicted, 50); /* twice */
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(cot_hist_count(s.evictions), 1);
	assert_int_equal(s.leaving, 0);
	cot_host_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life),	   cmocka_unit_test(test_names),
		cmocka_unit_test(test_bounds),	   cmocka_unit_test(test_everything_full),
		cmocka_unit_test(test_disconnect), cmocka_unit_test(test_failed_launch),
		cmocka_unit_test(test_lies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
