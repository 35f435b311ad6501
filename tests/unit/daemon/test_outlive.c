/* The search for what launchers leave behind: one at a time, and nothing is taken for ended that
 * was not looked for. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/processes.h"
#include "mps_stage.h"

static const char *const env_20[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=20", NULL};
static const char *const env_21[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=21", NULL};

/* One whose process has ended, and that is not looked for yet. */
static struct tenant *program(uint32_t id, uid_t uid)
{
	struct tenant *t;

	assert_int_equal(
		cot_tenant_restore(&stage.roster, &(struct tenant){.id = id, .uid = uid}, true, &t),
		0);
	t->weight = 100;
	t->gpu_mask = 1;
	cot_tenant_announce(t);
	return t;
}

static bool is_quiet(void)
{
	return !stage.roster.outlive.asked && !stage.roster.outlive.timer.armed;
}

static bool is_empty(void)
{
	return !cot_tenant_count(&stage.roster);
}

static bool is_answered_now(void)
{
	return !stage.roster.outlive.asked;
}

static pid_t heir;

static bool is_inherited(void)
{
	struct tenant *t = cot_roster_tenant(&stage.roster, 20);

	return t && t->watch.pid == heir && t->search == SEARCH_SETTLED;
}

static void assert_timer(uint64_t since_ns, uint64_t in_ns)
{
	assert_true(stage.roster.outlive.timer.armed);
	assert_in_range(stage.roster.outlive.timer.due_ns, since_ns + in_ns, cot_now_ns() + in_ns);
}

static void fire(void)
{
	struct cot_timer *timer = &stage.roster.outlive.timer;

	cot_timer_clear(timer);
	timer->fire(timer, cot_now_ns());
}

/* The search has looked, and is not heard of yet. */
static void wait_for_search(void)
{
	struct pollfd answer = {.fd = stage.roster.outlive.source.fd, .events = POLLIN};

	assert_int_equal(poll(&answer, 1, -1), 1);
}

static void test_several(void **state)
{
	unsigned n = count_fds();
	struct tenant *t[3];

	(void)state;
	t[0] = program(19, getuid());
	t[1] = program(20, getuid());
	t[2] = program(21, getuid());
	heir = life_process(env_20);
	(void)life_process(env_21);
	t[0]->search = t[1]->search = SEARCH_WANTED; /* all at once */
	cot_outlive_search(t[2]);
	assert_int_equal(t[0]->search, SEARCH_RUNNING);
	assert_int_equal(t[2]->search, SEARCH_RUNNING);
	life_until(is_quiet);
	assert_null(cot_roster_tenant(&stage.roster, 19));
	assert_true(is_inherited());
	assert_int_not_equal(cot_roster_tenant(&stage.roster, 21)->watch.pid, 0);
	assert_int_equal(count_fds(), n + 3); /* two processes are watched, and the child stays */
}

/* Who wants one while it runs waits for the next, which comes after a pause. */
static void test_one_at_a_time(void **state)
{
	struct tenant *t = program(20, getuid()), *u = program(21, getuid());
	uint64_t now_ns;
	pid_t child;

	(void)state;
	cot_outlive_search(t);
	child = stage.roster.outlive.pid;
	assert_int_not_equal(child, 0);
	/* No other program gets it. */
	assert_true(fcntl(stage.roster.outlive.source.fd, F_GETFD) & FD_CLOEXEC);
	cot_outlive_search(t);
	assert_int_equal(t->search, SEARCH_RUNNING);
	cot_outlive_search(u);
	assert_int_equal(u->search, SEARCH_WANTED);
	now_ns = cot_now_ns();
	life_until(is_answered_now);
	assert_null(cot_roster_tenant(&stage.roster, 20));
	assert_non_null(cot_roster_tenant(&stage.roster, 21));
	assert_timer(now_ns, 50 * COT_NS_PER_MS);
	t = program(22, getuid());
	cot_outlive_search(t); /* in the pause */
	assert_int_equal(t->search, SEARCH_WANTED);
	assert_false(stage.roster.outlive.asked);
	life_until(is_quiet);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
	fire(); /* nobody wants it */
	assert_false(stage.roster.outlive.asked);
	assert_int_equal(stage.roster.outlive.pid, child); /* always the same */
}

/* What is found may have ended since: it is looked for again. */
static void test_found_too_late(void **state)
{
	struct tenant *t = program(20, getuid());
	uint64_t now_ns;

	(void)state;
	heir = life_process(env_20);
	cot_outlive_search(t);
	wait_for_search();
	life_end(heir);
	heir = life_process(env_20);
	now_ns = cot_now_ns();
	life_until(is_answered_now);
	assert_int_equal(t->search, SEARCH_WANTED);
	assert_int_equal(t->watch.pid, 0);
	assert_timer(now_ns, 50 * COT_NS_PER_MS);
	life_until(is_inherited);
}

/* A search that cannot begin, or cannot see, finds nothing: that is no end. */
static void test_no_search(void **state)
{
	struct rlimit enough, none;
	struct tenant *t = program(20, getuid());
	uint64_t now_ns = cot_now_ns();
	unsigned n = count_fds();

	(void)state;
	heir = life_process(env_20);
	allow_fds(0);
	cot_outlive_search(t);
	allow_fds(-1);
	assert_int_equal(stage.roster.outlive.pid, 0);
	assert_int_equal(t->search, SEARCH_WANTED);
	assert_timer(now_ns, COT_NS_PER_S);
	assert_int_equal(count_fds(), n);
	cot_outlive_begin(&stage.roster);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &enough), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = enough.rlim_max};
	assert_int_equal(prlimit(stage.roster.outlive.pid, RLIMIT_NOFILE, &none, NULL), 0);
	fire();
	assert_int_equal(t->search, SEARCH_RUNNING);
	now_ns = cot_now_ns();
	life_until(is_answered_now);
	assert_int_equal(t->search, SEARCH_WANTED);
	assert_timer(now_ns, COT_NS_PER_S);
	assert_int_equal(prlimit(stage.roster.outlive.pid, RLIMIT_NOFILE, &enough, NULL), 0);
	fire();
	life_until(is_inherited);
	assert_false(stage.roster.outlive.timer.armed);
	assert_int_equal(count_fds(), n + 2);
}

static bool has_ended(void)
{
	cot_outlive_reap(&stage.roster);
	return !stage.roster.outlive.pid;
}

/* The child ends while it is asked, or while it is not: nobody is forgotten, and another one
 * begins. */
static void test_child_ends(void **state)
{
	struct tenant *t = program(20, getuid());
	uint64_t now_ns;
	unsigned n;

	(void)state;
	heir = life_process(env_20);
	cot_outlive_begin(&stage.roster);
	n = count_fds();
	assert_int_equal(kill(stage.roster.outlive.pid, SIGSTOP), 0);
	cot_outlive_search(t);
	assert_int_equal(t->search, SEARCH_RUNNING);
	now_ns = cot_now_ns();
	assert_int_equal(kill(stage.roster.outlive.pid, SIGKILL), 0);
	life_until(is_answered_now);
	assert_int_equal(t->search, SEARCH_WANTED);
	assert_timer(now_ns, COT_NS_PER_S);
	assert_false(stage.roster.outlive.is_there);
	assert_int_equal(count_fds(), n - 1);
	life_until(has_ended);
	cot_outlive_begin(&stage.roster);
	assert_int_equal(kill(stage.roster.outlive.pid, SIGKILL), 0);
	life_until(has_ended);
	fire();
	life_until(is_inherited);
}

static void test_users(void **state)
{
	struct tenant *t;

	(void)state;
	if (getuid() != 0)
		skip();
	t = program(20, 4711);
	(void)life_process_of(4712, env_20); /* that one is older, and says so of itself */
	usleep(30000);
	heir = life_process(env_20);
	cot_outlive_search(t);
	life_until(is_inherited);
	life_end(heir);
	heir = life_process_of(4711, env_20);
	life_until(is_inherited);
	life_end(heir);
	life_until(is_empty);
}

#define LIFE(test) cmocka_unit_test_setup_teardown(test, life_setup, life_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIFE(test_several),   LIFE(test_one_at_a_time), LIFE(test_found_too_late),
		LIFE(test_no_search), LIFE(test_child_ends),	LIFE(test_users),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
