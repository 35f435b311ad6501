/* Packets of shims about requests, with the daemon's own host behind them: whose places they take,
 * and when those are free again. */
#include "daemon/host_query.h"
#include "daemon/library.h"
#include "daemon/queries.h"
#include "door_stage.h"

#define OTHER (STRANGER + 1)
#define THIRD (STRANGER + 2)

static struct cot_policy_config config;

static int setup(void **state)
{
	int rc = open_server(state);

	cot_policy_config_init(&config);
	if (rc || cot_host_create(&cot_library_host_ops, &stage.conns, cot_policy_find("laius"),
				  &config, cot_now_ns(), &stage.basis.host, NULL) < 0)
		return -1;
	stage.basis.config.latency.everybody = true;
	stage.basis.account.limits[COT_ACCOUNT_QUERIES] = (struct cot_account_limit){10, 4};
	return 0;
}

static int teardown(void **state)
{
	struct cot_host *own = stage.basis.host;
	int rc = close_server(state);

	cot_host_destroy(own);
	return rc;
}

static struct conn *join_as(uid_t uid, enum cot_class cls, int *ret_fd, int *ret_type)
{
	struct cot_msg_work_hello m = {
		.class_ = (uint8_t)cls, .weight = 100, .n_sms = 132, .name = "api", .gpu = "0"};
	struct cot_msg_parts parts = {.n_sms = 132, .unit = 8};
	struct conn *c = enter(uid, ret_fd);

	assert_int_equal(ask(*ret_fd, &m, COT_MSG_WORK_HELLO, sizeof(m)), COT_MSG_WORK_WELCOME);
	*ret_type = ask(*ret_fd, &parts, COT_MSG_PARTS, sizeof(parts));
	return c;
}

/* A service that was asked for its requests. */
static struct conn *join(uid_t uid, int *ret_fd)
{
	int type;
	struct conn *c = join_as(uid, COT_CLASS_LATENCY, ret_fd, &type);

	assert_int_equal(type == COT_MSG_PLACE ? hear(*ret_fd) : type, COT_MSG_QUERIES);
	return c;
}

static void begin(int fd, uint32_t query)
{
	struct cot_msg_query_begin m = {.query = query, .began_ns = cot_now_ns()};

	say(fd, &m, COT_MSG_QUERY_BEGIN, sizeof(m));
	serve(1);
}

static void end(int fd, uint32_t query)
{
	struct cot_msg_query_end m = {.query = query, .ended_ns = cot_now_ns()};

	say(fd, &m, COT_MSG_QUERY_END, sizeof(m));
	serve(1);
}

static uint64_t used(uid_t uid)
{
	return cot_account_used(&stage.basis.account, uid, COT_ACCOUNT_QUERIES);
}

/* One user leaves places for others; what finds none is only left out. */
static void test_budget(void **state)
{
	struct conn *c, *third;
	int fd_a, fd_b, fd_third;

	(void)state;
	c = join(OTHER, &fd_a);
	(void)join(OTHER, &fd_b); /* of the same process, so of one program */
	begin(fd_a, 1);
	begin(fd_a, 2);
	begin(fd_b, 1);
	assert_int_equal(used(OTHER), 3);
	begin(fd_b, 2);
	assert_int_equal(used(OTHER), 3);
	assert_int_equal(c->tenant->queries.n_begun, 3);
	assert_int_equal(c->tenant->queries.n_left_out, 1);
	third = join(THIRD, &fd_third);
	begin(fd_third, 1);
	assert_int_equal(third->tenant->queries.n_left_out, 0);
	assert_int_equal(used(THIRD), 1);
	/* The end of one that has no place frees none. */
	end(fd_b, 2);
	assert_int_equal(used(OTHER), 3);
	end(fd_a, 1);
	end(fd_a, 1);
	assert_int_equal(used(OTHER), 2);
	assert_int_equal(c->tenant->queries.n_ended, 1);
	end(fd_third, 1);
	begin(fd_b, 3);
	assert_int_equal(used(OTHER), 3);
	begin(fd_third, 2);
	leave(fd_b);
	assert_int_equal(used(OTHER), 1);
	assert_int_equal(used(THIRD), 1);
}

/* A number that is in use takes no second place. */
static void test_twice(void **state)
{
	struct conn *c;
	int fd;

	(void)state;
	c = join(OTHER, &fd);
	begin(fd, 7);
	begin(fd, 7);
	assert_int_equal(used(OTHER), 1);
	assert_int_equal(c->tenant->queries.n_left_out, 1);
}

/* Whoever ends it: the policy may look no longer, or what was known has changed. */
static void test_ended_by_the_daemon(void **state)
{
	struct cot_error err;
	int fd;

	(void)state;
	(void)join(OTHER, &fd);
	begin(fd, 1);
	begin(fd, 2);
	cot_host_query_end_all(stage.basis.host, cot_now_ns());
	assert_int_equal(used(OTHER), 0);
	begin(fd, 3);
	assert_int_equal(used(OTHER), 1);
	assert_int_equal(cot_host_set_policy(stage.basis.host, cot_policy_find("parts"), &config,
					     cot_now_ns(), &err),
			 0);
	assert_int_equal(used(OTHER), 0);
	end(fd, 3);
	assert_int_equal(used(OTHER), 0);
}

/* From one shim to the others. */
static void test_copies(void **state)
{
	struct cot_msg_query_copy copy = {.way = COT_WAY_IN, .for_ns = 5000000};
	const struct cot_msg_copies *m = (const struct cot_msg_copies *)packet;
	int fd, batch, type;

	(void)state;
	(void)join(OTHER, &fd);
	(void)join_as(THIRD, COT_CLASS_BATCH, &batch, &type);
	say(fd, &copy, COT_MSG_QUERY_COPY, sizeof(copy));
	serve(1);
	while ((type = hear(batch)) == COT_MSG_PLACE)
		;
	assert_int_equal(type, COT_MSG_COPIES);
	assert_int_equal(m->way, COT_WAY_IN);
	assert_int_equal(m->for_ns, 5000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(budget),
		TEST(twice),
		TEST(ended_by_the_daemon),
		TEST(copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
