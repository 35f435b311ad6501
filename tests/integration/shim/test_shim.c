/*
 * The shim in real processes, before the emulated driver: launches as workers, what is left as it
 * is, eviction, and the rest of what was evicted. This program is the daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stage.h"

/* A launch asks, gets a part, and gives it back. */
static void test_launch(void **state)
{
	(void)state;
	load("data");
	say("launch params 300 %u", SHORT);
	accept_tenant();
	grant(expect_request(300), 2, 0);
	expect_line("0");
	expect_done(1, 300, 1);
	expect_right();
	say("global");
	expect_line("1");
	say("count");
	expect_line("2 functions, 2 listed, 0 strange");
}

/* Every way in which code is loaded, and arguments are given. */
static void load_and_launch(const char *way)
{
	static const char *const hows[] = {"params", "extra", "ex", "thread", "legacy"};
	unsigned i;

	load(way);
	for (i = 0; i < sizeof(hows) / sizeof(hows[0]); i++) {
		say("launch %s 200 %u", hows[i], SHORT);
		if (i == 0)
			accept_tenant();
		grant(expect_request(200), 3, 0);
		expect_line("0");
		expect_packet(COT_MSG_WORK_DONE);
	}
	expect_right();
	say("global");
	expect_line("5");
	say("count");
	expect_line("2 functions, 2 listed, 0 strange");
}

static void test_data(void **state)
{
	(void)state;
	load_and_launch("data");
}

static void test_dataex(void **state)
{
	(void)state;
	load_and_launch("dataex");
}

static void test_fat(void **state)
{
	(void)state;
	load_and_launch("fat");
}

static void test_file(void **state)
{
	(void)state;
	load_and_launch("file");
}

static void test_library(void **state)
{
	(void)state;
	load_and_launch("library");
}

/* What cannot be made into workers is launched as it is, and nobody is asked. */
static void test_plain(void **state)
{
	(void)state;
	load("data");
	say("launch cooperative 100 %u", SHORT);
	expect_line("0");
	say("launch cluster 100 %u", SHORT);
	expect_line("0");
	say("launch graph 100 %u", SHORT);
	expect_line("0");
	say("launch params 3 %u", SHORT);
	expect_line("0");
	expect_right();
	say("global");
	expect_line("4");
	/* What the driver refuses it refuses with the same error. */
	say("launch params 0 %u", SHORT);
	expect_line("1");
}

/* The daemon hears of a program that has launched nothing else, and of what it launches later. */
static void test_plain_is_told(void **state)
{
	unsigned i;

	(void)state;
	load("data");
	say("launch params 3 %u", SHORT);
	expect_line("0");
	accept_tenant();
	expect_counts();
	assert_int_equal(in.counts.n_rewritten, 1);
	assert_int_equal(in.counts.n_refused, 1);
	assert_int_equal(in.counts.n_launched_plain, 1);
	assert_int_equal(in.counts.n_launched_workers, 0);
	for (i = 0; i < in.counts.n_reasons; i++)
		if (!strcmp(in.counts.reasons[i].name, "launch-small"))
			break;
	assert_true(i < in.counts.n_reasons);
	assert_int_equal(in.counts.reasons[i].n_kernels, 1);
	for (i = 0; i < 2; i++) {
		sleep_ms(1100); /* nobody expects anything any more */
		say("launch params 3 %u", SHORT);
		expect_line("0");
		expect_counts();
		assert_int_equal(in.counts.n_launched_plain, 2 + i);
	}
	expect_right();
}

/* Small launches in several streams ask for an SM's worth each, but for those in the first one. */
static void test_small_streams(void **state)
{
	unsigned i, n_done = 0;

	(void)state;
	load("data");
	say("streams 4 3 %u", LONG);
	accept_tenant();
	/* On a busy machine one is done before the next is asked for. */
	for (i = 0; i < 3;) {
		int type = next_packet(WAIT_MS);

		if (type == COT_MSG_WORK_DONE) {
			n_done++;
			continue;
		}
		assert_int_equal(type, COT_MSG_WORK_REQUEST);
		assert_int_equal(in.request.n_tasks, 3);
		grant(in.request.work, 1, 0);
		i++;
	}
	expect_line("0");
	for (; n_done < 3; n_done++)
		expect_packet(COT_MSG_WORK_DONE);
	expect_right();
	say("global");
	expect_line("4");
}

/* With room for a worker for each block, the program's own kernel runs, under the same grant. */
static void test_one_task(void **state)
{
	unsigned i;

	(void)state;
	load("data");
	for (i = 0; i < 3; i++) {
		say("launch params 500 %u", SHORT);
		if (i == 0)
			accept_tenant();
		grant(expect_request(500), 132, 0);
		evict(in.request.work, 100);
		expect_line("0");
		expect_done(in.request.work, 500, 1);
	}
	expect_right();
}

/* Launches in a row run under one grant. */
static void test_lease(void **state)
{
	unsigned i;

	(void)state;
	load("data");
	say("launch params 400 %u", LONG);
	accept_tenant();
	grant(expect_request(400), 4, 0);
	expect_line("0");
	for (i = 0; i < 3; i++) {
		say("launch params 100 %u", SHORT);
		expect_line("0");
	}
	expect_done(1, 700, 4);
	expect_right();
}

/* What has all of the GPU is not given back for a launch that has more tasks. */
static void test_lease_of_all(void **state)
{
	(void)state;
	load("data");
	say("shared 60000");
	expect_line("set");
	say("launch params 396 %u", LONG);
	accept_tenant();
	grant(expect_request(396), 132, 0);
	assert_int_equal(in.request.per_sm, 3);
	expect_line("0");
	say("launch params 2000 %u", SHORT);
	expect_line("0");
	expect_done(1, 2396, 2);
	expect_right();
}

/* A work that is told to leave in part goes on with the rest, and its results are right. */
static void test_evict(void **state)
{
	(void)state;
	load("data");
	say("launch params 4000 %u", MIDDLE);
	accept_tenant();
	grant(expect_request(4000), 8, 0);
	expect_line("0");
	sleep_ms(30);
	evict(1, 5);
	expect_packet(COT_MSG_WORK_EVICTED);
	assert_int_equal(in.evicted.capsms, 5);
	assert_true(in.evicted.delay_ns > 0);
	say("query");
	expect_line("600");
	evict(1, 7);
	expect_packet(COT_MSG_WORK_EVICTED);
	assert_int_equal(in.evicted.capsms, 7);
	expect_done(1, 4000, 1);
	assert_in_range(in.done.n_remapped, 1, 2 * 4000);
	expect_right();
}

/* Somebody always stays to finish, whatever the daemon says. */
static void test_evict_all(void **state)
{
	(void)state;
	load("data");
	say("launch params 600 %u", LONG);
	accept_tenant();
	grant(expect_request(600), 4, 0);
	expect_line("0");
	evict(1, 4);
	expect_packet(COT_MSG_WORK_EVICTED);
	assert_int_equal(in.evicted.capsms, 3);
	evict(1, 1000);
	expect_done(1, 600, 1);
	expect_right();
}

/* The rest of a work that has left altogether, granted again: its own launch waits for that. */
static void test_settled(void **state)
{
	uint32_t left;

	(void)state;
	load("data");
	say("launch params 4000 %u", MIDDLE);
	accept_tenant();
	grant(expect_request(4000), 6, COT_WORK_SETTLED);
	sleep_ms(30);
	assert_false(answers());
	evict(1, 6);
	left = expect_rest(1);
	assert_in_range(left, 1, 3999);
	assert_int_equal(in.done.n_tasks, 4000 - left);
	assert_int_equal(in.done.n_launches, 1);
	assert_false(answers());
	grant(1, 9, COT_WORK_SETTLED);
	expect_line("0"); /* everything is done by now */
	say("query");
	expect_line("0");
	expect_done(1, left, 1);
	expect_right();
}

/* More launches in a row than there are control blocks. */
static void test_many(void **state)
{
	uint64_t n_tasks = 0;
	unsigned i;
	int type;

	(void)state;
	load("data");
	say("many 700 40 1");
	accept_tenant();
	while (n_tasks < 700 * 40) {
		type = next_packet(WAIT_MS);
		if (type == COT_MSG_WORK_REQUEST) {
			grant(in.request.work, 3, 0);
			continue;
		}
		assert_int_equal(type, COT_MSG_WORK_DONE);
		n_tasks += in.done.n_tasks;
	}
	expect_line("0");
	expect_right();
	say("global");
	expect_line("700");
	for (i = 0; i < 3; i++) {
		say("reload");
		expect_line("loaded");
		say("launch params 100 %u", SHORT);
		grant(expect_request(100), 2, 0);
		expect_line("0");
		expect_packet(COT_MSG_WORK_DONE);
	}
	expect_right();
}

/* Another context, with a module of its own. */
static void test_contexts(void **state)
{
	unsigned i;

	(void)state;
	load("library");
	for (i = 0; i < 3; i++) {
		say("launch params 100 %u", SHORT);
		if (i == 0)
			accept_tenant();
		grant(expect_request(100), 2, 0);
		expect_line("0");
		expect_packet(COT_MSG_WORK_DONE);
		expect_right();
		say("reset");
		expect_line("loaded");
	}
}

/* Dynamic shared memory is the workers' too; where it does not fit beside them, nobody is asked. */
static void test_shared(void **state)
{
	(void)state;
	load("data");
	say("shared 60000");
	expect_line("set");
	say("launch params 100 %u", SHORT);
	accept_tenant();
	grant(expect_request(100), 20, 0);
	assert_int_equal(in.request.per_sm, 3);
	expect_line("0");
	expect_done(1, 100, 1);
	expect_right();
}

/* No more blocks run at a time than were granted. */
static void test_quota(void **state)
{
	unsigned most, per_sm;

	(void)state;
	load("data");
	say("launch params 2000 %u", SHORT);
	accept_tenant();
	grant(expect_request(2000), 1, 0);
	per_sm = in.request.per_sm;
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
	most = expect_right();
	assert_in_range(most, 2, per_sm);
	say("launch params 2000 %u", SHORT);
	grant(expect_request(2000), 100, 0);
	expect_line("0");
	expect_packet(COT_MSG_WORK_DONE);
	assert_true(expect_right() > most);
}

static int start_in_order(void **state)
{
	int rc;

	setenv("COTENANT_EMU_SEED", "7", 1);
	rc = start(state);
	unsetenv("COTENANT_EMU_SEED");
	return rc;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_launch),
		TEST(test_data),
		TEST(test_dataex),
		TEST(test_fat),
		TEST(test_file),
		TEST(test_library),
		TEST(test_plain),
		TEST(test_plain_is_told),
		TEST(test_small_streams),
		TEST(test_one_task),
		TEST(test_lease),
		TEST(test_lease_of_all),
		TEST(test_evict),
		TEST(test_evict_all),
		TEST(test_settled),
		TEST(test_many),
		TEST(test_contexts),
		TEST(test_shared),
		cmocka_unit_test_setup_teardown(test_quota, start_in_order, end),
	};

	return stage_main("shim", tests, sizeof(tests) / sizeof(tests[0]));
}
