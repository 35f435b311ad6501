/* Queries between shims and the core, with the test as every shim and a policy that writes down
 * what it hears. */
#include <errno.h>
#include <string.h>

#include "daemon/host_part.h"
#include "daemon/host_query.h"
#include "daemon/host_work.h"
#include "test.h"

enum { LATENCY = 1, BATCH = 2, M_LATENCY = 10, M_LATENCY2 = 11, M_BATCH = 12 };

#define MS    COT_NS_PER_MS
#define START (100 * COT_NS_PER_S)

static unsigned n_asked[COT_HOST_MAX_MEMBERS];
static uint32_t asked[COT_HOST_MAX_MEMBERS]; /* the last answer */
static int send_rc;

static unsigned n_copies[COT_HOST_MAX_MEMBERS];
static struct cot_msg_copies copies; /* the last one */

static int send(void *arg, unsigned member, const void *packet, size_t size)
{
	(void)arg;
	if (send_rc)
		return send_rc;
	if (cot_proto_check(packet, size) == COT_MSG_COPIES) {
		n_copies[member]++;
		copies = *(const struct cot_msg_copies *)packet;
		return 0;
	}
	assert_int_equal(cot_proto_check(packet, size), COT_MSG_QUERIES);
	n_asked[member]++;
	asked[member] = ((const struct cot_msg_queries *)packet)->wanted;
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

/* ---- the policy ---- */

static struct cot_query last;
static unsigned n_begun, n_told, n_ended;

static void heard_begin(struct cot_policy *p, struct cot_query *q)
{
	(void)p;
	last = *q;
	n_begun++;
}

static void heard_task(struct cot_policy *p, struct cot_query *q)
{
	(void)p;
	last = *q;
	n_told++;
}

static void heard_end(struct cot_policy *p, struct cot_query *q)
{
	(void)p;
	last = *q;
	n_ended++;
}

static uint64_t tick(struct cot_policy *p)
{
	(void)p;
	return COT_NEVER;
}

static const struct cot_query_ops heard = {heard_begin, heard_task, heard_end};
static const struct cot_policy_ops hears = {.name = "hears",
					    .summary = "hears of queries",
					    .abi = COT_POLICY_ABI,
					    .queries = &heard,
					    .tick = tick};
static const struct cot_policy_ops deaf = {
	.name = "deaf", .summary = "does not", .abi = COT_POLICY_ABI, .tick = tick};

static struct cot_host *h;
static struct cot_policy_config config;

static void on_gpus(uint32_t id, enum cot_class cls, uint64_t gpu_mask)
{
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = id,
			       .now_ns = START,
			       .tenant = {.cls = cls, .weight = 100, .gpu_mask = gpu_mask}};

	assert_int_equal(cot_host_event(h, &ev), 0);
}

static void program(uint32_t id, enum cot_class cls)
{
	on_gpus(id, cls, 1);
}

static void use(const struct cot_policy_ops *policy)
{
	struct cot_error err;

	assert_int_equal(cot_host_set_policy(h, policy, &config, START, &err), 0);
}

static int begin(void **state)
{
	struct cot_error err;

	(void)state;
	cot_policy_config_init(&config);
	send_rc = 0;
	n_begun = n_told = n_ended = 0;
	memset(n_asked, 0, sizeof(n_asked));
	memset(asked, 0, sizeof(asked));
	memset(n_copies, 0, sizeof(n_copies));
	assert_int_equal(cot_host_create(&ops, NULL, &hears, &config, START, &h, &err), 0);
	program(LATENCY, COT_CLASS_LATENCY);
	program(BATCH, COT_CLASS_BATCH);
	cot_host_query_join(h, M_LATENCY, LATENCY, START);
	cot_host_query_join(h, M_BATCH, BATCH, START);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cot_host_destroy(h);
	return 0;
}

static bool begun(unsigned member, uint32_t query, uint64_t at_ns)
{
	struct cot_msg_query_begin m = {
		.query = query, .size = 16, .arrived_ns = at_ns - 3 * MS, .began_ns = at_ns};
	struct cot_host_plan none = {.out_ns = 7};

	return cot_host_query_begin(h, member, &m, &none, START);
}

static bool tasks(unsigned member, uint32_t query, uint32_t n, uint64_t done_ns)
{
	struct cot_msg_query_tasks m = {.query = query, .n_done = n, .done_ns = done_ns};

	return cot_host_query_tasks(h, member, &m, START);
}

static bool over(unsigned member, uint32_t query)
{
	struct cot_msg_query_end m = {.query = query, .ended_ns = START};

	return cot_host_query_end(h, member, &m, START);
}

/* ---- tests ---- */

static void test_a_query(void **state)
{
	(void)state;
	assert_true(begun(M_LATENCY, 5, START - 1 * MS));
	assert_int_equal(n_begun, 1);
	assert_int_equal(last.tenant->id, LATENCY);
	assert_int_equal(last.size, 16);
	assert_int_equal(last.began_ns, START - 1 * MS);
	assert_int_equal(last.arrived_ns, START - 4 * MS);
	assert_int_equal(last.out_ns, 7);
	assert_null(last.plan);
	assert_int_equal(cot_host_query_count(h, LATENCY), 1);
	assert_true(tasks(M_LATENCY, 5, 3, START));
	assert_int_equal(last.n_done, 3);
	assert_false(tasks(M_LATENCY, 5, 3, START));
	assert_false(tasks(M_LATENCY, 6, 3, START));
	assert_true(over(M_LATENCY, 5));
	assert_false(over(M_LATENCY, 5));
	assert_int_equal(n_ended, 1);
	assert_int_equal(cot_host_query_count(h, LATENCY), 0);
}

/* The plan is the caller's, and stays until the end. */
static void test_plans(void **state)
{
	static const uint32_t sms[] = {8, 16};
	static const uint64_t ns[] = {20, 10}, wrong[] = {10, 20};
	struct cot_plan plan = {
		.n_quotas = 2, .n_tasks = 1, .sms = sms, .query_ns = ns, .task_ns = ns};
	struct cot_host_plan known = {.plan = &plan, .key = 3};
	struct cot_msg_query_begin m = {.query = 1, .began_ns = START};

	(void)state;
	assert_true(cot_host_query_begin(h, M_LATENCY, &m, &known, START));
	assert_ptr_equal(last.plan, &plan);
	assert_true(cot_host_query_is_planned(h, M_LATENCY, 1));
	assert_false(cot_host_query_is_planned(h, M_LATENCY, 2));
	cot_host_query_end_all(h, START);
	assert_int_equal(n_ended, 1);
	assert_false(cot_host_query_is_planned(h, M_LATENCY, 1));
	assert_true(begun(M_LATENCY, 1, START));
	assert_false(cot_host_query_is_planned(h, M_LATENCY, 1));
	cot_host_query_end_all(h, START);
	plan.query_ns = wrong;
	assert_false(cot_host_query_begin(h, M_LATENCY, &m, &known, START));
	assert_int_equal(cot_host_query_count(h, LATENCY), 0);
}

/* Only while the policy looks, and only of latency programs. */
static void test_asked(void **state)
{
	(void)state;
	assert_int_equal(asked[M_LATENCY], 1);
	assert_int_equal(n_asked[M_BATCH], 0);
	assert_false(begun(M_BATCH, 1, START));
	assert_true(begun(M_LATENCY, 1, START));
	use(&deaf);
	assert_int_equal(asked[M_LATENCY], 0);
	assert_int_equal(cot_host_query_count(h, LATENCY), 0);
	assert_false(begun(M_LATENCY, 1, START));
	use(&deaf);
	assert_int_equal(n_asked[M_LATENCY], 2);
	use(&hears);
	assert_int_equal(asked[M_LATENCY], 1);
	program(LATENCY, COT_CLASS_BATCH);
	assert_int_equal(asked[M_LATENCY], 0);
	program(BATCH, COT_CLASS_LATENCY);
	assert_int_equal(asked[M_BATCH], 1);
	/* What cannot be sent is sent later. */
	send_rc = -EAGAIN;
	use(&deaf);
	send_rc = 0;
	use(&deaf);
	assert_int_equal(asked[M_BATCH], 0);
}

/* Each shim has names of its own; with it go its queries. */
static void test_several_shims(void **state)
{
	(void)state;
	cot_host_query_join(h, M_LATENCY2, LATENCY, START);
	assert_true(begun(M_LATENCY, 1, START));
	assert_true(begun(M_LATENCY2, 1, START));
	assert_false(begun(M_LATENCY2, 1, START));
	assert_true(begun(M_LATENCY2, 2, START));
	assert_int_equal(cot_host_query_count(h, LATENCY), 3);
	cot_host_query_leave(h, M_LATENCY2, START);
	assert_int_equal(n_ended, 2);
	assert_int_equal(cot_host_query_count(h, LATENCY), 1);
	assert_false(begun(M_LATENCY2, 3, START));
	assert_true(over(M_LATENCY, 1));
}

/* One shim's share of the core's table is bounded, and ids go round. */
static void test_many(void **state)
{
	uint32_t i;

	(void)state;
	for (i = 1; i <= COT_PROTO_QUERIES_MAX; i++)
		assert_true(begun(M_LATENCY, i, START));
	assert_false(begun(M_LATENCY, i, START));
	assert_true(over(M_LATENCY, 7));
	for (i = 100; i < 100 + 3 * COT_SCHED_MAX_QUERIES; i++) {
		assert_true(begun(M_LATENCY, i, START));
		assert_true(over(M_LATENCY, i));
	}
	cot_host_query_end_all(h, START);
	assert_int_equal(n_begun, n_ended);
}

/* The shim may have another clock, or lie. */
static void test_impossible_times(void **state)
{
	struct cot_msg_query_begin m = {.query = 1,
					.arrived_ns = START - 5,
					.began_ns = START + 5 * MS,
					.in_ns = 3600 * COT_NS_PER_S};
	struct cot_host_plan none = {0};

	(void)state;
	assert_true(cot_host_query_begin(h, M_LATENCY, &m, &none, START));
	assert_int_equal(last.began_ns, START);
	assert_int_equal(last.arrived_ns, START);
	assert_int_equal(last.in_ns, 0);
	assert_true(tasks(M_LATENCY, 1, 1, START + 9 * MS));
	assert_int_equal(last.done_ns, START);
	assert_true(begun(M_LATENCY, 2, START - 90 * COT_NS_PER_S));
	assert_int_equal(last.began_ns, START);
	m = (struct cot_msg_query_begin){.query = 3, .arrived_ns = 1, .began_ns = START - 5};
	assert_true(cot_host_query_begin(h, M_LATENCY, &m, &none, START));
	assert_int_equal(last.began_ns, START - 5);
	assert_int_equal(last.arrived_ns, START - 5);
}

static bool copies_way(unsigned member, uint32_t query, uint32_t way, uint64_t for_ns)
{
	struct cot_msg_query_copy m = {.query = query, .way = way, .for_ns = for_ns};

	return cot_host_query_copy(h, member, &m, START);
}

static void expect_copies(unsigned n, uint32_t way, uint64_t for_ns)
{
	assert_int_equal(n_copies[M_BATCH], n);
	assert_int_equal(copies.way, way);
	assert_int_equal(copies.for_ns, for_ns);
	assert_int_equal(n_copies[M_LATENCY], 0);
	assert_int_equal(n_copies[M_LATENCY2], 0);
}

/* Batch programs on that GPU hear of it, and when those out are over. */
static void test_copies(void **state)
{
	(void)state;
	cot_host_query_join(h, M_LATENCY2, LATENCY, START);
	assert_true(copies_way(M_LATENCY, 0, COT_WAY_IN, 3 * MS));
	expect_copies(1, COT_WAY_IN, 3 * MS);
	assert_false(copies_way(M_LATENCY, 1, COT_WAY_OUT, 3 * MS));
	assert_true(begun(M_LATENCY, 1, START));
	assert_true(begun(M_LATENCY2, 1, START));
	assert_true(over(M_LATENCY2, 1)); /* copies nothing */
	assert_int_equal(n_copies[M_BATCH], 1);
	assert_true(begun(M_LATENCY2, 2, START));
	assert_true(copies_way(M_LATENCY, 1, COT_WAY_OUT, 4 * MS));
	expect_copies(2, COT_WAY_OUT, 4 * MS);
	assert_true(copies_way(M_LATENCY2, 2, COT_WAY_OUT, 5 * MS));
	expect_copies(3, COT_WAY_OUT, 5 * MS);
	assert_true(over(M_LATENCY, 1)); /* the other one goes on */
	assert_int_equal(n_copies[M_BATCH], 3);
	cot_host_query_leave(h, M_LATENCY2, START);
	expect_copies(4, COT_WAY_OUT, 0);
	/* Who is not asked is not heard; and on other GPUs it is nobody's business. */
	assert_false(copies_way(M_BATCH, 0, COT_WAY_IN, 3 * MS));
	on_gpus(BATCH, COT_CLASS_BATCH, 2);
	assert_true(copies_way(M_LATENCY, 0, COT_WAY_IN, 3 * MS));
	assert_int_equal(n_copies[M_BATCH], 4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_query),		TEST(plans),  TEST(asked), TEST(several_shims), TEST(many),
		TEST(impossible_times), TEST(copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
