/* Parts between shims and the core, with the test as every shim: what is sent, and what follows. */
#include <errno.h>
#include <string.h>

#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "test.h"

enum { LATENCY = 1, BATCH = 2, M_LATENCY = 10, M_BATCH = 11, M_BATCH2 = 12 };

#define MS COT_NS_PER_MS

/* The last PLACE to each member. */
static struct {
	unsigned n;
	struct cot_msg_place m;
} sent[COT_HOST_MAX_MEMBERS];

static int send_rc;

static int send(void *arg, unsigned member, const void *packet, size_t size)
{
	(void)arg;
	if (send_rc)
		return send_rc;
	if (cot_proto_check(packet, size) != COT_MSG_PLACE)
		return 0;
	sent[member].n++;
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

static struct cot_host *h;

static void program(uint32_t id, enum cot_class cls, uint16_t sms)
{
	struct cot_event ev = {
		.type = COT_EV_TENANT,
		.id = id,
		.tenant = {.cls = cls, .weight = 100, .gpu_mask = 1, .sms = {.sms = sms}}};

	assert_int_equal(cot_host_event(h, &ev), 0);
}

static uint32_t pace_us; /* of batch programs */

static void begin_with(const struct cot_policy_ops *policy)
{
	struct cot_policy_config config;
	struct cot_error err;

	cot_policy_config_init(&config);
	config.pace_us = pace_us;
	send_rc = 0;
	memset(sent, 0, sizeof(sent));
	assert_int_equal(cot_host_create(&ops, NULL, policy, &config, 0, &h, &err), 0);
	program(LATENCY, COT_CLASS_LATENCY, 0);
	program(BATCH, COT_CLASS_BATCH, 0);
	cot_host_part_join(h, M_LATENCY, LATENCY);
	cot_host_part_join(h, M_BATCH, BATCH);
}

static void begin(const char *policy)
{
	begin_with(cot_policy_find(policy));
}

static void end(void)
{
	cot_host_destroy(h);
}

static void told(unsigned member, uint32_t n_sms, uint32_t unit, int status)
{
	struct cot_msg_parts m = {.n_sms = n_sms, .unit = unit, .status = status};

	cot_host_part_told(h, member, &m, 0);
}

static void told_units(unsigned member, uint32_t n_units)
{
	struct cot_msg_parts m = {
		.h.length = sizeof(m), .n_sms = 132, .unit = 8, .n_units = n_units};

	cot_host_part_told(h, member, &m, 0);
}

static void placed(unsigned member, uint32_t seq, int status, uint16_t first, uint16_t n)
{
	struct cot_msg_placed m = {.status = status, .first = first, .n = n, .latency_ns = 3100};

	m.h.seq = seq;
	cot_host_part_placed(h, member, &m, 1 * MS);
}

/* As it was told. */
static void obey(unsigned member)
{
	placed(member, sent[member].m.h.seq, 0, sent[member].m.first, sent[member].m.n);
}

static void expect_sent(unsigned member, unsigned n, uint16_t first, uint16_t n_sms)
{
	assert_int_equal(sent[member].n, n);
	assert_int_equal(sent[member].m.first, first);
	assert_int_equal(sent[member].m.n, n_sms);
	assert_int_equal(sent[member].m.pace_us, 0);
}

/* One that stays on all of the GPU hears so at once; its answer is none that anybody waits for. */
static void told_whole(unsigned member)
{
	told(member, 132, 8, 0);
	expect_sent(member, 1, 0, 0);
	assert_true(sent[member].m.h.seq & 0x80000000u);
	sent[member].n = 0;
}

static const struct cot_tenant *tenant(uint32_t id)
{
	return cot_sched_tenant(cot_host_sched(h), id);
}

static struct cot_host_part_stats stats(uint32_t id)
{
	struct cot_host_part_stats s;

	cot_host_part_stats(h, id, &s);
	return s;
}

static void test_a_life(void **state)
{
	(void)state;
	begin("parts");
	told(M_BATCH, 132, 8, 0);
	assert_int_equal(tenant(BATCH)->part_sms, 132);
	expect_sent(M_BATCH, 1, 0, 64);
	assert_int_equal(tenant(BATCH)->part.n, 0);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.n, 64);
	assert_int_equal(stats(BATCH).n_placed, 1);
	assert_int_equal(stats(BATCH).last_ns, 3100);
	assert_int_equal(stats(BATCH).n_shims, 1);
	/* PARTS is said once. */
	told(M_BATCH, 64, 8, 0);
	assert_int_equal(tenant(BATCH)->part_sms, 132);
	cot_host_part_leave(h, M_BATCH, 2 * MS);
	assert_int_equal(tenant(BATCH)->part_sms, 0);
	assert_int_equal(tenant(BATCH)->part.n, 0);
	end();
}

/* All shims of a program must have as many units; one that does not say so has as many as fit. */
static void test_units(void **state)
{
	(void)state;
	begin("parts");
	told_units(M_BATCH, 15);
	assert_int_equal(tenant(BATCH)->part_units, 15);
	cot_host_part_join(h, M_BATCH2, BATCH);
	told_units(M_BATCH2, 15);
	assert_int_equal(tenant(BATCH)->part_units, 15);
	cot_host_part_leave(h, M_BATCH2, MS);
	cot_host_part_join(h, M_BATCH2, BATCH);
	told(M_BATCH2, 132, 8, 0);
	assert_int_equal(tenant(BATCH)->part_sms, 0);
	assert_int_equal(tenant(BATCH)->part_units, 0);
	assert_int_equal(stats(BATCH).status, -EXDEV);
	cot_host_part_leave(h, M_BATCH, 2 * MS);
	assert_int_equal(tenant(BATCH)->part_units, 16);
	end();
}

static void test_one_that_cannot(void **state)
{
	(void)state;
	begin("parts");
	told(M_BATCH, 0, 0, -ENOTSUP);
	assert_int_equal(tenant(BATCH)->part_sms, 0);
	assert_int_equal(sent[M_BATCH].n, 0);
	assert_int_equal(stats(BATCH).status, -ENOTSUP);
	assert_int_equal(stats(BATCH).n_shims, 1);
	end();
}

/* A failure is the answer of all, and is tried again. */
static void test_failure(void **state)
{
	(void)state;
	begin("parts");
	told(M_BATCH, 132, 8, 0);
	placed(M_BATCH, sent[M_BATCH].m.h.seq, -ENOMEM, 0, 0);
	assert_int_equal(tenant(BATCH)->part.n, 0);
	assert_int_equal(stats(BATCH).last_status, -ENOMEM);
	assert_int_equal(stats(BATCH).n_failed, 1);
	cot_host_tick(h, 90 * MS);
	assert_int_equal(sent[M_BATCH].n, 1);
	cot_host_tick(h, 110 * MS);
	expect_sent(M_BATCH, 2, 0, 64);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.n, 64);
	end();
}

/* A program of several processes has been moved when all of them have. */
static void test_several_shims(void **state)
{
	(void)state;
	begin("timeslice");
	cot_host_part_join(h, M_BATCH2, BATCH);
	told_whole(M_BATCH);
	told_whole(M_BATCH2);
	assert_int_equal(stats(BATCH).n_shims, 2);
	program(BATCH, COT_CLASS_BATCH, 32);
	expect_sent(M_BATCH, 1, 0, 32);
	expect_sent(M_BATCH2, 1, 0, 32);
	obey(M_BATCH2);
	assert_int_equal(tenant(BATCH)->part.n, 0);
	/* An answer that nobody waits for changes nothing. */
	obey(M_BATCH2);
	placed(M_BATCH2, 77, 0, 0, 64);
	assert_int_equal(tenant(BATCH)->part.n, 0);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.n, 32);
	/* One of them fails: so did all. */
	program(BATCH, COT_CLASS_BATCH, 64);
	placed(M_BATCH, sent[M_BATCH].m.h.seq, -EBUSY, 0, 32);
	obey(M_BATCH2);
	assert_int_equal(stats(BATCH).n_failed, 1);
	cot_host_tick(h, 200 * MS);
	expect_sent(M_BATCH, 3, 0, 64);
	expect_sent(M_BATCH2, 3, 0, 64);
	/* One that is waited for leaves. */
	obey(M_BATCH);
	cot_host_part_leave(h, M_BATCH2, 201 * MS);
	assert_int_equal(tenant(BATCH)->part.n, 64);
	end();
}

/* Another part may stand in for the one that was asked for, until that comes, or why it does not.
 */
static void test_stand_in(void **state)
{
	uint32_t seq;

	(void)state;
	begin("timeslice");
	told_whole(M_BATCH);
	program(BATCH, COT_CLASS_BATCH, 64);
	seq = sent[M_BATCH].m.h.seq;
	placed(M_BATCH, seq, 0, 0, 32);
	assert_int_equal(tenant(BATCH)->part.n, 32);
	placed(M_BATCH, seq, -EAGAIN, 0, 32);
	assert_int_equal(stats(BATCH).last_status, -EAGAIN);
	placed(M_BATCH, seq, 0, 0, 64);
	assert_int_equal(tenant(BATCH)->part.n, 64);
	assert_int_equal(stats(BATCH).last_status, 0);
	assert_int_equal(stats(BATCH).n_placed, 1);
	assert_int_equal(stats(BATCH).n_failed, 0);
	/* The next order is what counts. */
	program(BATCH, COT_CLASS_BATCH, 96);
	placed(M_BATCH, seq, 0, 0, 32);
	assert_int_equal(tenant(BATCH)->part.n, 64);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.n, 96);
	expect_sent(M_BATCH, 2, 0, 96);
	end();
}

/* What stays on all of the GPU is told so, once, and that is no order that anybody counts. */
static void test_all_of_it(void **state)
{
	(void)state;
	begin("timeslice");
	told_whole(M_BATCH);
	obey(M_BATCH);
	assert_int_equal(stats(BATCH).n_placed, 0);
	told(M_BATCH, 132, 8, 0);
	assert_int_equal(sent[M_BATCH].n, 0);
	program(BATCH, COT_CLASS_BATCH, 32);
	expect_sent(M_BATCH, 1, 0, 32);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.n, 32);
	assert_int_equal(stats(BATCH).n_placed, 1);
	end();
}

/* One that comes later is told where the others are, and nobody else hears of it. */
static void test_a_late_one(void **state)
{
	(void)state;
	begin("timeslice");
	program(BATCH, COT_CLASS_BATCH, 32);
	told(M_BATCH, 132, 8, 0);
	obey(M_BATCH);
	cot_host_part_join(h, M_BATCH2, BATCH);
	told(M_BATCH2, 132, 8, 0);
	expect_sent(M_BATCH2, 1, 0, 32);
	expect_sent(M_BATCH, 1, 0, 32);
	assert_true(sent[M_BATCH2].m.h.seq & 0x80000000u);
	obey(M_BATCH2);
	assert_int_equal(tenant(BATCH)->part.n, 32);
	assert_int_equal(stats(BATCH).n_placed, 2);
	end();
}

static void test_those_that_do_not_agree(void **state)
{
	(void)state;
	begin("timeslice");
	program(BATCH, COT_CLASS_BATCH, 32);
	told(M_BATCH, 132, 8, 0);
	obey(M_BATCH);
	cot_host_part_join(h, M_BATCH2, BATCH);
	told(M_BATCH2, 78, 2, 0);
	assert_int_equal(stats(BATCH).status, -EXDEV);
	assert_int_equal(tenant(BATCH)->part_sms, 0);
	assert_int_equal(sent[M_BATCH2].n, 0);
	/* When the odd one has left, it goes on, from where the other is. */
	cot_host_part_leave(h, M_BATCH2, 2 * MS);
	assert_int_equal(tenant(BATCH)->part_sms, 132);
	assert_int_equal(tenant(BATCH)->part.n, 32);
	expect_sent(M_BATCH, 1, 0, 32);
	end();
}

/* A part from the time of another daemon, said before PARTS or after it; only once. */
static void test_found(void **state)
{
	(void)state;
	begin("timeslice");
	program(BATCH, COT_CLASS_BATCH, 32);
	placed(M_BATCH, 0, 0, 0, 32);
	assert_int_equal(tenant(BATCH)->part_sms, 0);
	told(M_BATCH, 132, 8, 0);
	assert_int_equal(tenant(BATCH)->part.n, 32);
	assert_int_equal(sent[M_BATCH].n, 0);
	told_whole(M_LATENCY);
	placed(M_LATENCY, 0, 0, 64, 68);
	expect_sent(M_LATENCY, 1, 0, 0); /* nobody asked for it */
	obey(M_LATENCY);
	assert_int_equal(tenant(LATENCY)->part.n, 0);
	placed(M_LATENCY, 0, 0, 64, 68);
	assert_int_equal(sent[M_LATENCY].n, 1);
	end();
}

/* With a pace, and one that knows it already from another daemon. */
static void test_pace(void **state)
{
	struct cot_msg_parts knows = {.n_sms = 132, .unit = 8, .pace_us = 500};

	(void)state;
	pace_us = 500;
	begin("parts");
	told(M_BATCH, 132, 8, 0);
	assert_int_equal(sent[M_BATCH].m.pace_us, 500);
	assert_int_equal(tenant(BATCH)->part.pace_us, 0);
	placed(M_BATCH, sent[M_BATCH].m.h.seq, -EBUSY, 0, 0);
	assert_int_equal(tenant(BATCH)->part.pace_us, 0);
	cot_host_tick(h, 200 * MS);
	assert_int_equal(sent[M_BATCH].n, 2);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.pace_us, 500);
	told(M_LATENCY, 132, 8, 0);
	assert_int_equal(sent[M_LATENCY].m.pace_us, 0);
	/* Another shim of it is told where the others are, with the pace. */
	cot_host_part_join(h, M_BATCH2, BATCH);
	placed(M_BATCH2, 0, 0, 0, 64);
	told(M_BATCH2, 132, 8, 0);
	assert_int_equal(sent[M_BATCH2].n, 1);
	assert_int_equal(sent[M_BATCH2].m.pace_us, 500);
	end();

	begin("parts");
	placed(M_BATCH, 0, 0, 0, 64);
	cot_host_part_told(h, M_BATCH, &knows, 0);
	assert_int_equal(sent[M_BATCH].n, 0);
	assert_int_equal(tenant(BATCH)->part.pace_us, 500);
	end();

	pace_us = 0;
	begin("parts");
	cot_host_part_told(h, M_BATCH, &knows, 0);
	placed(M_BATCH, 0, 0, 0, 64);
	assert_int_equal(sent[M_BATCH].m.pace_us, 0);
	assert_int_equal(sent[M_BATCH].m.n, 64);
	obey(M_BATCH);
	assert_int_equal(tenant(BATCH)->part.pace_us, 0);
	end();
}

/* Nonsense harms who says it, at most. */
/* A policy that holds the batch program where it is. */
static uint64_t hold_batch(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->part_sms && t->cls == COT_CLASS_BATCH)
			(void)cot_place(p, t, (struct cot_part){.n = 64, .hold = true});
	return COT_NEVER;
}

static void test_hold(void **state)
{
	static const struct cot_policy_ops holder = {.name = "holder",
						     .summary = "holds batch programs",
						     .abi = COT_POLICY_ABI,
						     .places = true,
						     .tick = hold_batch};

	(void)state;
	begin_with(&holder);
	told(M_BATCH, 132, 8, 0);
	expect_sent(M_BATCH, 1, 0, 64);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH].m), COT_PLACE_HOLD);
	assert_false(tenant(BATCH)->part.hold);
	obey(M_BATCH);
	assert_true(tenant(BATCH)->part.hold);
	/* Another one of its shims is to hold, too. */
	cot_host_part_join(h, M_BATCH2, BATCH);
	told(M_BATCH2, 132, 8, 0);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH2].m), COT_PLACE_HOLD);
	/* What the core hears of a shim is never a hold: it could not know when that ends. */
	cot_host_part_leave(h, M_BATCH2, 2 * MS);
	told(M_LATENCY, 132, 8, 0);
	assert_int_equal(cot_msg_place_flags(&sent[M_LATENCY].m), 0);
	end();
}

static uint64_t cpu_batch(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		if (t->part_sms && t->cls == COT_CLASS_BATCH)
			(void)cot_place(p, t, (struct cot_part){.cpu = true});
	return COT_NEVER;
}

static void told_cpu(unsigned member)
{
	struct cot_msg_parts m = {
		.h.length = sizeof(m), .n_sms = 132, .unit = 8, .flags = COT_PARTS_CPU};

	cot_host_part_told(h, member, &m, 0);
}

/* Launches go to the CPU where all shims of a program are told that they may. */
static void test_cpu(void **state)
{
	static const struct cot_policy_ops to_cpu = {.name = "to-cpu",
						     .summary = "batch programs on the CPU",
						     .abi = COT_POLICY_ABI,
						     .places = true,
						     .tick = cpu_batch};

	(void)state;
	begin_with(&to_cpu);
	told_cpu(M_BATCH);
	assert_true(tenant(BATCH)->can_cpu);
	expect_sent(M_BATCH, 1, 0, 0);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH].m), COT_PLACE_CPU);
	obey(M_BATCH);
	assert_true(tenant(BATCH)->part.cpu);
	/* Another one of its shims that may gets the order as well. */
	cot_host_part_join(h, M_BATCH2, BATCH);
	told_cpu(M_BATCH2);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH2].m), COT_PLACE_CPU);
	cot_host_part_leave(h, M_BATCH2, 2 * MS);
	assert_true(tenant(BATCH)->can_cpu);
	/* With one that may not the program is not there. */
	cot_host_part_join(h, M_BATCH2, BATCH);
	told(M_BATCH2, 132, 8, 0);
	assert_false(tenant(BATCH)->can_cpu);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH2].m), 0);
	end();
}

/* Others wait for the SMs that it leaves. */
static void test_leave(void **state)
{
	struct cot_action a = {.kind = COT_ACTION_PLACE,
			       .seq = 7,
			       .entity = BATCH,
			       .part = {.first = 64, .n = 8},
			       .leave = true};

	(void)state;
	begin("timeslice");
	program(BATCH, COT_CLASS_BATCH, 32);
	told(M_BATCH, 132, 8, 0);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH].m), 0);
	cot_host_parts_ops.carry_out(cot_host_parts(h), &a, 0);
	assert_int_equal(sent[M_BATCH].m.h.seq, 7);
	assert_int_equal(cot_msg_place_flags(&sent[M_BATCH].m), COT_PLACE_LEAVE);
	end();
}

static void test_nonsense(void **state)
{
	(void)state;
	begin("timeslice");
	program(BATCH, COT_CLASS_BATCH, 32);
	placed(M_BATCH, 0, 0, 3, 7);
	told(M_BATCH, 132, 8, 0);
	assert_int_equal(tenant(BATCH)->part_sms, 132);
	expect_sent(M_BATCH, 1, 0, 32);
	placed(M_BATCH, sent[M_BATCH].m.h.seq, 0, 5, 99);
	assert_int_equal(tenant(BATCH)->part.n, 0);
	placed(200, 1, 0, 0, 8); /* nobody */
	told(200, 132, 8, 0);
	cot_host_part_leave(h, 200, 2 * MS);
	assert_int_equal(stats(0).n_shims, 0);
	end();
}

static void test_a_message_that_cannot_be_sent(void **state)
{
	(void)state;
	begin("timeslice");
	program(BATCH, COT_CLASS_BATCH, 32);
	send_rc = -EPIPE;
	told(M_BATCH, 132, 8, 0);
	send_rc = 0;
	cot_host_tick(h, 999 * MS);
	assert_int_equal(sent[M_BATCH].n, 0);
	cot_host_tick(h, 1001 * MS);
	cot_host_tick(h, 1200 * MS);
	expect_sent(M_BATCH, 1, 0, 32);
	end();
}

static void test_forgotten(void **state)
{
	struct cot_event left = {.type = COT_EV_TENANT_LEFT, .id = BATCH};

	(void)state;
	begin("parts");
	told(M_BATCH, 132, 8, 0);
	obey(M_BATCH);
	assert_int_equal(cot_host_event(h, &left), 0);
	cot_host_part_leave(h, M_BATCH, 2 * MS);
	cot_host_part_forget(h, BATCH);
	assert_int_equal(stats(BATCH).n_placed, 0);
	cot_host_part_forget(h, 0);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_one_that_cannot),
		cmocka_unit_test(test_failure),
		cmocka_unit_test(test_several_shims),
		cmocka_unit_test(test_stand_in),
		cmocka_unit_test(test_all_of_it),
		cmocka_unit_test(test_a_late_one),
		cmocka_unit_test(test_those_that_do_not_agree),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_pace),
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_cpu),
		cmocka_unit_test(test_leave),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_a_message_that_cannot_be_sent),
		cmocka_unit_test(test_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
