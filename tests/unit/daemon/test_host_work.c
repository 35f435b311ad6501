/* Works between shims and the core, with the test as every shim: what is sent to whom. */
#include <errno.h>
#include <string.h>

#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "test.h"

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

static uint64_t lease(void *arg, unsigned member, uint64_t until_ns)
{
	(void)arg;
	(void)member;
	(void)until_ns;
	return 0;
}

static const struct cot_host_ops ops = {
	.works = &cot_host_works_ops, .parts = &cot_host_parts_ops, .send = send, .lease = lease};

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
	/* Nothing is left of one that has ended, whoever comes after it. */
	cot_host_work_leave(h, M_LATENCY, 10);
	cot_host_work_forget(h, LATENCY);
	join(h, M_LATENCY, LATENCY);
	cot_host_work_stats(h, LATENCY, &s);
	assert_non_null(s.evictions);
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
	assert_int_equal(s.n_returns, 0);
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

static const struct cot_work *newest(const struct cot_host *h)
{
	const struct cot_work *w, *last = NULL;

	cot_for_each_work(w, cot_sched_policy(cot_host_sched(h))) last = w;
	assert_non_null(last);
	return last;
}

/* What the shim asked for is what the policy sees. */
static void test_what_is_asked(void **state)
{
	static const uint8_t flags[] = {0, COT_WORK_CAN_SETTLE, COT_WORK_CAN_GROW,
					COT_WORK_CAN_SETTLE | COT_WORK_CAN_GROW};
	struct cot_host *h = begin("static");
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(flags); i++) {
		const struct cot_msg_work_request m = {.work = 40 + i,
						       .n_tasks = 70000 + i,
						       .per_sm = 3 + i,
						       .want = 5 + i,
						       .task_ns = 90000 + i,
						       .flags = flags[i]};
		const struct cot_work *w;

		assert_int_equal(cot_host_work_request(h, M_BATCH, &m, COT_WORK_QUOTA, 100), 0);
		w = newest(h);
		assert_int_equal(w->tenant->id, BATCH);
		assert_int_equal(w->gpu, 0);
		assert_int_equal(w->n_sms, N_SMS);
		assert_int_equal(w->method, COT_WORK_QUOTA);
		assert_int_equal(w->can_settle, i & 1);
		assert_int_equal(w->can_grow, i >> 1);
		assert_int_equal(w->n_tasks, 70000 + i);
		assert_int_equal(w->per_sm, 3 + i);
		assert_int_equal(w->asked, 5 + i);
		assert_int_equal(w->task_ns, 90000 + i);
		assert_int_equal(sent[M_BATCH].m.capsms, 5 + i);
	}
	assert_int_equal(request(h, M_LATENCY, 1, 100), 0);
	assert_int_equal(newest(h)->method, COT_WORK_RESERVE);
	assert_int_equal(newest(h)->tenant->id, LATENCY);
	cot_host_destroy(h);
}

/* What the program says of a launch: in which way, and of how much. */
static void test_what_is_said(void **state)
{
	static const struct {
		uint16_t want, share;
		enum cot_work_method method;
		uint32_t asked, reserve;
	} rows[] = {
		{0, 25, COT_WORK_QUOTA, 33, 33},    {0, 0x8000u | 40, COT_WORK_QUOTA, 40, 40},
		{20, 25, COT_WORK_QUOTA, 20, 33},   {50, 25, COT_WORK_QUOTA, 33, 33},
		{50, 0, COT_WORK_QUOTA, 50, 0},	    {0, 25, COT_WORK_RESERVE, 0, 33},
		{50, 25, COT_WORK_RESERVE, 50, 33}, {0, 0x8000u | 1000, COT_WORK_RESERVE, 0, N_SMS},
	};
	struct cot_host *h = begin("smguard");
	struct cot_host_work_stats s;
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(rows); i++) {
		const struct cot_msg_work_request m = {.work = 40 + i,
						       .per_sm = 1,
						       .want = rows[i].want,
						       .share = rows[i].share,
						       .method = i % 2 ? COT_PROTO_WORK_QUOTA
								       : COT_PROTO_WORK_DEFAULT};

		assert_int_equal(cot_host_work_request(h, M_LATENCY, &m, rows[i].method, 100), 0);
		assert_int_equal(newest(h)->asked, rows[i].asked);
		assert_int_equal(newest(h)->reserve, rows[i].reserve);
		assert_int_equal(newest(h)->method, rows[i].method);
	}
	cot_host_work_stats(h, LATENCY, &s);
	assert_int_equal(s.by_method[COT_WORK_QUOTA].n_requests, 5);
	assert_int_equal(s.by_method[COT_WORK_QUOTA].n_said, 2);
	assert_int_equal(s.by_method[COT_WORK_RESERVE].n_requests, 3);
	assert_int_equal(s.by_method[COT_WORK_RESERVE].n_said, 2);
	assert_int_equal(s.by_method[0].n_running + s.by_method[1].n_running, s.n_running);
	assert_int_equal(s.by_method[0].n_waiting + s.by_method[1].n_waiting, s.n_waiting);
	assert_int_equal(s.by_method[0].has + s.by_method[1].has, s.granted - s.evicted);
	assert_int_equal(s.by_method[0].n_evictions + s.by_method[1].n_evictions, s.n_evictions);
	assert_int_equal(s.by_method[COT_WORK_QUOTA].n_evicted_capsms +
				 s.by_method[COT_WORK_RESERVE].n_evicted_capsms,
			 s.n_evicted_capsms);
	assert_true(s.n_running && s.n_waiting && s.n_evictions);
	cot_host_destroy(h);
}

/* Workers that are all that a batch kernel ever has begin on whole SMs; not those that are fewer
 * only while others need the rest. */
static void test_on_whole_sms(void **state)
{
	struct cot_host *h = begin("static");
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = BATCH,
		.tenant = {.cls = COT_CLASS_BATCH,
			   .weight = 100,
			   .gpu_mask = 1,
			   .ready = true,
			   .quota = {.sms = 33}},
	};

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 1, N_SMS);
	assert_int_equal(sent[M_BATCH].m.flags, COT_WORK_WHOLE_SMS);
	cot_host_destroy(h);
	h = begin("smguard");
	assert_int_equal(cot_host_event(h, &ev), 0);
	assert_int_equal(request(h, M_BATCH, 1, 1000), 0);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 1, 33);
	assert_int_equal(sent[M_BATCH].m.flags, COT_WORK_SETTLED | COT_WORK_WHOLE_SMS);
	cot_host_destroy(h);
}

/* All that is granted is more than the GPU: workers of the request may have to wait for a place. */
static void test_crowded(void **state)
{
	struct cot_host *h = begin("smguard");
	const struct cot_msg_work_request few = {
		.work = 1, .n_tasks = 975, .per_sm = 24, .task_ns = 45000000};

	(void)state;
	assert_int_equal(cot_host_work_request(h, M_BATCH, &few, COT_WORK_QUOTA, 1000), 0);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 1, 41);
	assert_int_equal(sent[M_BATCH].m.flags, COT_WORK_WHOLE_SMS);
	assert_int_equal(request(h, M_LATENCY, 1, 2000), 0);
	expect(M_LATENCY, COT_MSG_WORK_GRANT, 1, N_SMS);
	assert_int_equal(sent[M_LATENCY].m.flags, COT_WORK_CROWDED);
	done(h, M_LATENCY, 1, 0, 0, 3000);
	done(h, M_BATCH, 1, 0, 0, 3000);
	assert_int_equal(request(h, M_LATENCY, 2, 4000), 0);
	expect(M_LATENCY, COT_MSG_WORK_GRANT, 2, N_SMS);
	assert_int_equal(sent[M_LATENCY].m.flags, 0);
	cot_host_destroy(h);
}

static void test_how_many(void **state)
{
	struct cot_host *h = begin("static");
	struct cot_msg_work_request m = {.work = 9, .per_sm = 1, .want = 4};

	(void)state;
	assert_int_equal(cot_host_work_count(h, M_BATCH), 0);
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	assert_int_equal(request(h, M_BATCH, 2, 0), 0);
	assert_int_equal(cot_host_work_count(h, M_BATCH), 2);
	assert_int_equal(cot_host_work_count(h, M_BATCH2), 0);
	done(h, M_BATCH, 1, 0, 0, 0);
	assert_int_equal(cot_host_work_count(h, M_BATCH), 1);
	/* One that is let pass is nobody's: it gets what it wants and is not counted. */
	cot_host_work_pass(h, M_BATCH, &m);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 9, 4);
	assert_int_equal(sent[M_BATCH].m.flags, COT_WORK_WHOLE_SMS);
	m.want = 0;
	cot_host_work_pass(h, M_BATCH, &m);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 9, N_SMS);
	assert_int_equal(sent[M_BATCH].m.flags, 0);
	m.share = 25;
	cot_host_work_pass(h, M_BATCH, &m);
	expect(M_BATCH, COT_MSG_WORK_GRANT, 9, 33);
	assert_int_equal(cot_host_work_count(h, M_BATCH), 1);
	cot_host_work_leave(h, M_BATCH, 0);
	assert_int_equal(cot_host_work_count(h, M_BATCH), 0);
	cot_host_destroy(h);
}

static void carry_out(struct cot_host *h, enum cot_action_kind kind, uint32_t value,
		      uint64_t now_ns)
{
	const struct cot_action a = {
		.kind = kind, .entity = newest(h)->id, .value = value, .settled = true};

	cot_host_works_ops.carry_out(cot_host_works(h), &a, now_ns);
}

/* What is decided for a work that has ended reaches nobody: not the one that has its place now. */
static void test_late_decisions(void **state)
{
	struct cot_action a = {.kind = COT_ACTION_GRANT, .value = 5};
	struct cot_host *h = begin("smguard");
	unsigned n;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 1000), 0);
	n = sent[M_BATCH].n;
	a.entity = newest(h)->id + COT_SCHED_MAX_WORKS;
	cot_host_works_ops.carry_out(cot_host_works(h), &a, 2000);
	assert_int_equal(sent[M_BATCH].n, n);
	a.entity = 0;
	cot_host_works_ops.carry_out(cot_host_works(h), &a, 2000);
	assert_int_equal(sent[M_BATCH].n, n);
	cot_host_destroy(h);
}

/* A work waits once for each time that it begins, however often it grows. */
static void test_waits_and_growth(void **state)
{
	struct cot_host *h = begin("smguard");
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 1000), 0);
	assert_int_equal(request(h, M_BATCH2, 1, 2000), 0); /* nothing is free for it */
	assert_int_equal(sent[M_BATCH2].n, 0);
	carry_out(h, COT_ACTION_GRANT, 10, 7000);
	expect(M_BATCH2, COT_MSG_WORK_GRANT, 1, 10);
	carry_out(h, COT_ACTION_GRANT, 20, 50000);
	expect(M_BATCH2, COT_MSG_WORK_GRANT, 1, 20);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(cot_hist_count(s.waits), 2);
	assert_int_equal(cot_hist_max(s.waits), 5000);
	cot_host_destroy(h);
}

/* Of evictions that follow each other the amounts count up, and the time is that of the first. */
static void test_evictions_add_up(void **state)
{
	struct cot_msg_work_evicted evicted = {.work = 1, .capsms = 30, .delay_ns = 500};
	struct cot_host *h = begin("static");
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	carry_out(h, COT_ACTION_EVICT, 10, 1000);
	expect(M_BATCH, COT_MSG_WORK_EVICT, 1, 10);
	carry_out(h, COT_ACTION_EVICT, 30, 4000);
	cot_host_work_evicted(h, M_BATCH, &evicted, 9000);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(s.n_evictions, 2);
	assert_int_equal(s.n_evicted_capsms, 30);
	assert_int_equal(cot_hist_max(s.orders), 8000);
	assert_int_equal(cot_hist_count(s.orders), 1);
	/* The next one begins anew. */
	carry_out(h, COT_ACTION_EVICT, 31, 20000);
	evicted.capsms = 31;
	cot_host_work_evicted(h, M_BATCH, &evicted, 21000);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(cot_hist_count(s.orders), 2);
	assert_int_equal(cot_hist_max(s.orders), 8000);
	assert_int_equal(s.n_evicted_capsms, 31);
	/* For another tenant, and for a work that is over, nothing is counted. */
	cot_host_work_stats(h, LATENCY, &s);
	assert_int_equal(s.n_evictions, 0);
	assert_int_equal(s.n_requests, 0);
	cot_host_destroy(h);
}

static uint32_t ended[16];
static unsigned n_ended;

static void watch_ends(void *arg, const struct cot_event *ev, const struct cot_action *a)
{
	(void)arg;
	(void)a;
	if (ev && ev->type == COT_EV_WORK_DONE)
		ended[n_ended++] = ev->id;
}

/* Of a connection that ends, what waits goes first: else room would be made for it. */
static void test_what_waits_ends_first(void **state)
{
	struct cot_host *h = begin("smguard");
	uint32_t running, waiting;

	(void)state;
	n_ended = 0;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	running = newest(h)->id;
	assert_int_equal(newest(h)->state, COT_WORK_RUNNING);
	assert_int_equal(request(h, M_BATCH, 2, 0), 0);
	waiting = newest(h)->id;
	assert_int_equal(newest(h)->state, COT_WORK_WAITING);
	cot_sched_set_tap(cot_host_sched(h), watch_ends, NULL);
	cot_host_work_leave(h, M_BATCH, 5);
	assert_int_equal(n_ended, 2);
	assert_int_equal(ended[0], waiting);
	assert_int_equal(ended[1], running);
	cot_host_destroy(h);
}

/* After an end with a rest a work may be told to leave from the beginning again. */
static void test_a_rest_begins_anew(void **state)
{
	struct cot_msg_work_evicted evicted = {.work = 1, .capsms = 10};
	struct cot_host *h = begin("static");
	struct cot_host_work_stats s;

	(void)state;
	assert_int_equal(request(h, M_BATCH, 1, 0), 0);
	carry_out(h, COT_ACTION_EVICT, 10, 0);
	cot_host_work_evicted(h, M_BATCH, &evicted, 100);
	done(h, M_BATCH, 1, 70, 0, 3000);
	assert_int_equal(sent[M_BATCH].type, COT_MSG_WORK_GRANT);
	cot_host_work_evicted(h, M_BATCH, &evicted, 4000); /* nobody has told it to, now */
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(cot_hist_count(s.evictions), 1);
	carry_out(h, COT_ACTION_EVICT, 10, 5000);
	cot_host_work_evicted(h, M_BATCH, &evicted, 5100);
	cot_host_work_stats(h, BATCH, &s);
	assert_int_equal(cot_hist_count(s.evictions), 2);
	assert_int_equal(cot_hist_count(s.waits), 2);
	assert_int_equal(s.n_evicted_capsms, 20);
	assert_int_equal(s.n_returns, 1);
	assert_int_equal(s.n_failed, 0);
	cot_host_destroy(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_everything_full),
		cmocka_unit_test(test_disconnect),
		cmocka_unit_test(test_failed_launch),
		cmocka_unit_test(test_lies),
		cmocka_unit_test(test_what_is_asked),
		cmocka_unit_test(test_what_is_said),
		cmocka_unit_test(test_on_whole_sms),
		cmocka_unit_test(test_crowded),
		cmocka_unit_test(test_how_many),
		cmocka_unit_test(test_waits_and_growth),
		cmocka_unit_test(test_late_decisions),
		cmocka_unit_test(test_evictions_add_up),
		cmocka_unit_test(test_what_waits_ends_first),
		cmocka_unit_test(test_a_rest_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
