/* `freeze` and `thaw`: when they wait, when they answer, and that the answer is true. */
#include <errno.h>
#include <stdlib.h>

#include "daemon/hold.h"
#include "daemon_stage.h"

static struct conn *command;
static struct tenant *program;
static int status;

static int setup(void **state)
{
	int rc = stage_setup(state);

	program = stage_tenant(1, "train", NULL);
	(void)stage_library(0, program, NULL);
	command = stage_command(9);
	return rc;
}

static int begin(enum cot_proto_command what)
{
	struct cot_msg_command m = {.what = what};
	struct cot_error err = {{0}};
	int rc = cot_hold_begin(command, 1, program, "train", &m, &err);

	if (rc == -ESRCH)
		assert_string_equal(err.text, "'train' does not use the GPU now");
	return rc;
}

/* There is one clock, the host's: none of a busy machine. */
uint64_t __wrap_cot_now_ns(void);
uint64_t __real_cot_now_ns(void);

uint64_t __wrap_cot_now_ns(void)
{
	return w.now_ns ? w.now_ns : __real_cot_now_ns();
}

/* The clock goes on, with all that is due on the way, and the daemon looks. */
static void look_after(uint64_t ns)
{
	world_pass(ns);
	cot_hold_check(&stage.conns, w.now_ns);
}

static const char *answer_now(void)
{
	const char *text = stage_answer(&status);

	assert_non_null(text);
	assert_int_equal(command->hold.entity, 0);
	return text;
}

/* In ms, as an answer says behind `words`; what is more than a minute is wrong. */
static double took(const char *text, const char *words)
{
	double ms;

	assert_int_equal(strncmp(text, words, strlen(words)), 0);
	ms = strtod(text + strlen(words), NULL);
	assert_true(ms < 60000);
	return ms;
}

static void expect_no_answer(void)
{
	const char *text = stage_answer(&status);

	if (text)
		print_message("an answer: %s\n", text);
	assert_null(text);
	assert_int_equal(command->hold.entity, 1);
}

static void test_freeze(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	assert_non_null(world_last(COT_MSG_FREEZE));
	look_after(5 * MS);
	expect_no_answer();
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	look_after(0);
	assert_true(took(answer_now(), "frozen after ") >= 5);
	assert_int_equal(status, 0);
	assert_true(world_entity(1)->held);
	/* Asked again, it is so at once. */
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	look_after(0);
	assert_non_null(strstr(answer_now(), "frozen after "));
}

static void test_thaw(void **state)
{
	(void)state;
	world_hold(1, true);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(begin(COT_COMMAND_THAW), -EINPROGRESS);
	look_after(5 * MS);
	expect_no_answer();
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	look_after(0);
	assert_true(took(answer_now(), "thawed after ") >= 5);
	assert_int_equal(status, 0);
}

static void test_a_freeze_that_fails(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	world_answer(world_last(COT_MSG_FREEZE), -EPERM, 0);
	/* Whether it runs is known when its thaw is. */
	look_after(1 * MS);
	expect_no_answer();
	assert_false(program->held);
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	look_after(0);
	assert_string_equal(answer_now(),
			    "it could not be frozen (Operation not permitted), so it runs on");
	assert_int_equal(status, -EIO);
	assert_int_equal(world_entity(1)->run, COT_RUN_RUNNING);
}

static void test_a_freeze_that_fails_and_does_not_thaw(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	world_answer(world_last(COT_MSG_FREEZE), -EPERM, 0);
	look_after(0);
	look_after(190 * MS);
	expect_no_answer();
	look_after(20 * MS);
	assert_string_equal(answer_now(),
			    "it could not be frozen (Operation not permitted), and that it runs on "
			    "has not been confirmed: it may hang; 'cotenant ps' says for how long");
	assert_int_equal(status, -EIO);
}

/* The next try fails, or is late: what was asked for before stays so. */
static void test_a_freeze_again(void **state)
{
	(void)state;
	program->held = true;
	world_hold(1, true);
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	world_answer(world_last(COT_MSG_FREEZE), -EIO, 0);
	look_after(0);
	assert_string_equal(answer_now(), "the freeze has not been confirmed (Input/output error): "
					  "the daemon repeats the order until 'cotenant thaw'; "
					  "'cotenant ps' says when it is frozen");
	assert_int_equal(status, -ETIMEDOUT);
	assert_true(program->held);
	assert_true(world_entity(1)->held);
}

static void test_thawed_meanwhile(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	world_hold(1, false);
	look_after(0);
	expect_no_answer();
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	look_after(0);
	assert_string_equal(answer_now(), "it was thawed meanwhile");
	assert_int_equal(status, -ECANCELED);
}

static void test_a_library_that_is_silent(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	look_after(1900 * MS);
	expect_no_answer();
	look_after(200 * MS);
	assert_string_equal(answer_now(), "the freeze has not been confirmed (its library did not "
					  "answer in time): the daemon repeats the order until "
					  "'cotenant thaw'; 'cotenant ps' says when it is frozen");
	assert_int_equal(status, -ETIMEDOUT);
	assert_true(program->held);
	/* As soon as the library answers, it is so. */
	world_pass_until_sent(1100 * MS);
	assert_int_equal(world_entity(1)->run, COT_RUN_FREEZING);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	assert_int_equal(world_entity(1)->run, COT_RUN_FROZEN);
	assert_int_equal(begin(COT_COMMAND_THAW), -EINPROGRESS);
	assert_false(program->held);
	/* The clock of the stage is ahead of the one that the command reads. */
	command->hold.until_ns = w.now_ns + 2000 * MS;
	look_after(1900 * MS);
	expect_no_answer();
	look_after(200 * MS);
	assert_string_equal(answer_now(), "the thaw has not been confirmed (its library did not "
					  "answer in time): it may hang, and the daemon repeats "
					  "the order; 'cotenant ps' says for how long");
	assert_int_equal(status, -ETIMEDOUT);
}

static void test_it_ends_meanwhile(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	cot_host_leave(w.host, 0, w.now_ns);
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	look_after(0);
	assert_string_equal(answer_now(), "it ended");
	assert_int_equal(status, -ESRCH);
	assert_int_equal(begin(COT_COMMAND_THAW), -ESRCH);
	assert_int_equal(begin(COT_COMMAND_FREEZE), -ESRCH);
	assert_int_equal(command->hold.entity, 0);
}

static void test_a_program_that_is_gone(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	program->id = 0;
	look_after(0);
	assert_string_equal(answer_now(), "it ended");
	assert_int_equal(status, -ESRCH);
}

/* It sets channels up: nothing is ordered until it has been quiet for a while. */
static void test_a_freeze_waits_for_a_quiet_moment(void **state)
{
	struct conn *library = &stage.conns.all[0];

	(void)state;
	library->grown_ns = cot_now_ns();
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	look_after(100 * MS);
	expect_no_answer();
	assert_null(world_last(COT_MSG_FREEZE));
	look_after(500 * MS);
	assert_non_null(world_last(COT_MSG_FREEZE));
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	look_after(0);
	assert_non_null(strstr(answer_now(), "frozen after "));
	/* A thaw does not wait. */
	library->grown_ns = w.now_ns;
	assert_int_equal(begin(COT_COMMAND_THAW), -EINPROGRESS);
	assert_non_null(world_last(COT_MSG_THAW));
}

static void test_one_that_is_never_quiet(void **state)
{
	unsigned i;

	(void)state;
	stage.conns.all[0].grown_ns = cot_now_ns();
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	for (i = 0; i < 24; i++) {
		look_after(100 * MS);
		expect_no_answer();
		stage.conns.all[0].grown_ns = w.now_ns;
	}
	look_after(200 * MS);
	assert_non_null(strstr(answer_now(), "it keeps setting up channels"));
	assert_int_equal(status, -EBUSY);
	assert_null(world_last(COT_MSG_FREEZE));
}

/* Its library says that channels are being set up: the freeze is tried again. */
static void test_a_freeze_is_tried_again(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	world_answer(world_last(COT_MSG_FREEZE), -EAGAIN, 0);
	w.n_sent = 0;
	look_after(0);
	expect_no_answer();
	look_after(90 * MS);
	assert_int_equal(w.n_sent, 0);
	look_after(20 * MS);
	assert_non_null(world_last(COT_MSG_FREEZE));
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	look_after(0);
	assert_non_null(strstr(answer_now(), "frozen after "));
}

static void test_one_that_always_refuses(void **state)
{
	unsigned i;

	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	for (i = 0; i < 19; i++) {
		if (world_entity(1)->run == COT_RUN_FREEZING && world_last(COT_MSG_FREEZE))
			world_answer(world_last(COT_MSG_FREEZE), -EAGAIN, 0);
		look_after(100 * MS);
		expect_no_answer();
	}
	world_answer(world_last(COT_MSG_FREEZE), -EAGAIN, 0);
	look_after(110 * MS);
	assert_non_null(world_last(COT_MSG_THAW));
	world_answer(world_last(COT_MSG_THAW), 0, 0);
	look_after(0);
	assert_non_null(strstr(answer_now(), "it keeps setting up channels"));
	assert_int_equal(status, -EBUSY);
	assert_false(program->held);
	assert_int_equal(world_entity(1)->run, COT_RUN_RUNNING);
}

/* What the core has forgotten with the program's channels it hears again with the next ones. */
static void test_a_hold_outlives_the_channels(void **state)
{
	(void)state;
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	look_after(0);
	assert_non_null(strstr(answer_now(), "frozen after "));
	assert_true(stage.roster.state.dirty);
	cot_host_leave(w.host, 0, w.now_ns);
	stage.conns.all[0].settled = false;
	cot_tenant_update(program);
	assert_null(world_entity(1));
	w.n_sent = 0;
	stage.conns.all[0].settled = true;
	cot_host_join(w.host, 0, 1, false, cot_now_ns());
	cot_tenant_update(program);
	assert_true(world_entity(1)->held);
	assert_non_null(world_last(COT_MSG_FREEZE));
	/* It can be taken back while there are none. */
	cot_host_leave(w.host, 0, cot_now_ns());
	stage.conns.all[0].settled = false;
	cot_tenant_update(program);
	assert_int_equal(begin(COT_COMMAND_THAW), 0);
	assert_false(program->held);
	assert_int_equal(begin(COT_COMMAND_THAW), -ESRCH);
	stage.conns.all[0].settled = true;
	cot_host_join(w.host, 0, 1, false, cot_now_ns());
	cot_tenant_update(program);
	assert_false(world_entity(1)->held);
}

/* A program that is left alone has no entity yet: its freeze waits for that. */
static void test_one_that_is_left_alone(void **state)
{
	struct conn *library = &stage.conns.all[0];

	(void)state;
	cot_host_leave(w.host, 0, w.now_ns);
	world_tenant(1, COT_CLASS_BATCH, 0, false);
	assert_int_equal(begin(COT_COMMAND_FREEZE), -ESRCH);
	library->alone = true;
	assert_int_equal(begin(COT_COMMAND_THAW), -ESRCH);
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	look_after(100 * MS);
	expect_no_answer();
	library->alone = false;
	cot_host_join(w.host, 0, 1, false, w.now_ns);
	world_tenant(1, COT_CLASS_BATCH, 0, true);
	world_answer_all(0);
	look_after(100 * MS);
	assert_non_null(world_last(COT_MSG_FREEZE));
	world_answer(world_last(COT_MSG_FREEZE), 0, 0);
	look_after(0);
	assert_non_null(strstr(answer_now(), "frozen after "));
}

/* It takes turns with another one beside a latency program, and has none now. */
static void test_a_thaw_of_one_without_a_turn(void **state)
{
	struct tenant *service = stage_tenant(3, "service", NULL);
	unsigned i;

	(void)state;
	(void)stage_library(1, stage_tenant(2, "other", NULL), NULL);
	service->cls = COT_CLASS_LATENCY;
	(void)stage_library(2, service, NULL);
	for (i = 0; i < 100 && world_entity(1)->run != COT_RUN_FROZEN; i++) {
		world_pass(10 * MS);
		world_answer_all(0);
	}
	assert_int_equal(begin(COT_COMMAND_THAW), -EINPROGRESS);
	look_after(0);
	assert_string_equal(answer_now(), "released; the policy keeps it frozen until its turn");
	assert_int_equal(status, 0);
}

/* The daemon wakes up in time for the answer, whatever else it waits for. */
static void test_the_timer(void **state)
{
	uint64_t soon_ns = cot_now_ns() + 1 * MS;

	(void)state;
	cot_timer_set(&stage.basis.loop, &stage.conns.waits, soon_ns);
	assert_int_equal(begin(COT_COMMAND_THAW), -EINPROGRESS);
	assert_int_equal(stage.conns.waits.due_ns, soon_ns);
	cot_timer_set(&stage.basis.loop, &stage.conns.waits, cot_now_ns() + 3600000 * MS);
	assert_int_equal(begin(COT_COMMAND_FREEZE), -EINPROGRESS);
	assert_true(stage.conns.waits.armed);
	assert_true(stage.conns.waits.due_ns <= command->hold.until_ns);
	assert_true(command->hold.until_ns >= command->hold.since_ns + 2000 * MS);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, stage_teardown)
	const struct CMUnitTest tests[] = {
		TEST(freeze),
		TEST(thaw),
		TEST(a_freeze_that_fails),
		TEST(a_freeze_that_fails_and_does_not_thaw),
		TEST(a_freeze_again),
		TEST(thawed_meanwhile),
		TEST(a_library_that_is_silent),
		TEST(it_ends_meanwhile),
		TEST(a_program_that_is_gone),
		TEST(a_freeze_waits_for_a_quiet_moment),
		TEST(one_that_is_never_quiet),
		TEST(a_freeze_is_tried_again),
		TEST(one_that_always_refuses),
		TEST(a_hold_outlives_the_channels),
		TEST(one_that_is_left_alone),
		TEST(a_thaw_of_one_without_a_turn),
		TEST(the_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
