/* A pool's life: it is started, used, lost, taken over and ended. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/pool_inside.h"
#include "daemon/processes.h"
#include "mps_stage.h"

static void test_start_and_stop(void **state)
{
	char uid[64];

	(void)state;
	stage.basis.config.multiuser = false;
	start_pool(1234);
	snprintf(uid, sizeof(uid), "start_server -uid %u", geteuid() ? (unsigned)geteuid() : 1234);
	assert_true(told(uid));
	assert_string_equal(life_read("args"), "-f\n");
	assert_int_equal(p->n_starts, 1);
	assert_int_equal(p->n_deaths, 0);
	assert_true(stage.roster.state.dirty);
	life_run(50);
	assert_false(told("get_server_list"));
	cot_pool_left(p, "a");
	life_until(is_down);
	assert_true(told("get_server_list"));
	assert_true(told("get_client_list 4711"));
	assert_true(told("quit"));
	assert_int_equal(p->n_deaths, 0);
	assert_int_equal(p->control.pid, 0);
}

/* It stays while MPS has a client, though no program of ours is in it. */
static void test_clients_keep(void **state)
{
	(void)state;
	start_pool(geteuid());
	life_write("clients", "815\n816\n", 0644);
	cot_pool_left(p, "a");
	life_until(is_answered);
	assert_true(told("get_client_list"));
	assert_false(told("quit"));
	assert_int_equal(p->state, POOL_UP);
	assert_non_null(strstr(stage_log(), "MPS has 2 clients: it stays"));
	/* It looks again later: not at once, and says nothing more. */
	assert_true(p->timer.armed);
	assert_in_range(p->timer.due_ns, cot_now_ns() + COT_NS_PER_S,
			cot_now_ns() + 6 * COT_NS_PER_S);
	cot_pool_timer(p, p->timer.fire, 0);
	life_until(is_answered);
	assert_null(strstr(stage_log(), "it stays"));
	life_write("clients", "", 0644);
	cot_pool_timer(p, p->timer.fire, 0);
	life_until(is_down);
}

/* What cannot be known counts as use. */
static void test_no_answer_keeps(void **state)
{
	static const char *const answers[] = {"Server not found\n", "-4\n", "12x\n",
					      "99999999999\n", "1\n2\n3\n4\n5\n6\n7\n8\n9\n"};
	unsigned i;

	(void)state;
	start_pool(geteuid());
	cot_pool_left(p, "a");
	cot_timer_clear(&p->timer);
	for (i = 0; i < COT_ARRAY_LEN(answers); i++) {
		life_write("servers", answers[i], 0644);
		p->held_up = false;
		cot_pool_linger(p);
		life_until(is_answered);
		assert_non_null(strstr(stage_log(), "does not say whether it has clients"));
		assert_int_equal(p->state, POOL_UP);
	}
	life_write("servers", "4711\n", 0644);
	life_write("broken", "", 0644); /* an exit status */
	p->held_up = false;
	cot_pool_linger(p);
	life_until(is_answered);
	assert_non_null(strstr(stage_log(), "does not say whether it has clients"));
	assert_false(told("quit"));
}

static void test_no_server(void **state)
{
	(void)state;
	start_pool(geteuid());
	life_write("servers", "", 0644);
	cot_pool_left(p, "a");
	life_until(is_down);
	assert_false(told("get_client_list"));
}

/* One that comes while it is asked keeps the pool. */
static void test_joined_meanwhile(void **state)
{
	(void)state;
	start_pool(geteuid());
	life_write("hold-get_server_list", "", 0644);
	cot_pool_left(p, "a");
	life_until(is_asking);
	cot_pool_joined(p, geteuid());
	life_remove("hold-get_server_list");
	life_until(is_answered);
	assert_true(told("get_client_list"));
	assert_false(told("quit"));
	assert_int_equal(p->state, POOL_UP);
	assert_false(p->timer.armed);
}

/* The quit of the control program before may end later than that one: the next one is not up yet.
 */
static void test_quit_ends_late(void **state)
{
	(void)state;
	start_pool(geteuid());
	life_write("hold-quit", "", 0644);
	cot_pool_left(p, "a");
	life_until(is_down);
	life_write("mute", "", 0644);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
	cot_pool_joined(p, geteuid());
	life_remove("hold-quit");
	life_until(has_no_command);
	assert_int_equal(p->state, POOL_STARTING);
	life_write("gpu0-batch/pipe/control", "", 0644);
	life_until(is_up);
}

/* Told to quit it waits for a client: it is not ended, and nobody waits for it without a bound. */
static void test_quit_is_no_end(void **state)
{
	(void)state;
	life_write("deaf", "", 0644);
	start_pool(geteuid());
	cot_pool_left(p, "a");
	life_until(is_stopping);
	assert_true(cot_pool_is_busy(p));
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS); /* it may take a moment */
	life_write("clients", "815\n", 0644);
	p->deadline_ns = cot_now_ns();
	assert_int_equal(cot_pool_want(p, geteuid()), -EBUSY);
	cot_pool_timer(p, p->timer.fire, 0);
	life_until(is_answered);
	assert_int_equal(p->state, POOL_STOPPING);
	assert_true(cot_watch_is_alive(&p->control));
	assert_false(p->wanted);
	assert_non_null(strstr(stage_log(), "waits for a client"));
	/* Without one, and with no sign of an end, it is ended. */
	life_write("clients", "", 0644);
	cot_pool_timer(p, p->timer.fire, 0);
	life_until(is_down);
	assert_non_null(strstr(stage_log(), "has no clients; it is ended"));
}

static void test_stop_all(void **state)
{
	struct pool *busy = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 0);
	struct pool *other = p;

	(void)state;
	start_pool(geteuid());
	p = busy;
	start_pool(geteuid());
	p = other;
	cot_pool_left(p, "a");
	cot_timer_clear(&p->timer); /* it would linger */
	stage.basis.stopping = true;
	cot_pool_stop_all(&stage.roster);
	assert_true(cot_pool_is_busy(p));
	assert_false(cot_pool_is_busy(busy));
	assert_non_null(strstr(stage_log(), "left running for its 1 programs"));
	life_until(is_stopping);
	life_until(
		has_no_command); /* its script ended the one that was started last, the other's */
	assert_int_equal(p->state, POOL_STOPPING);
	(void)kill(p->control.pid, SIGTERM);
	life_until(is_down);
}

/* An end that nobody ordered is a death; it is started again after a pause, for who is there. */
static void test_death(void **state)
{
	uint64_t now_ns;

	(void)state;
	start_pool(geteuid());
	now_ns = cot_now_ns();
	(void)kill(p->control.pid, SIGKILL);
	life_until(is_failed);
	assert_int_equal(p->n_deaths, 1);
	assert_true(p->lost);
	assert_in_range(p->retry_ns, now_ns + 500 * COT_NS_PER_MS,
			cot_now_ns() + 500 * COT_NS_PER_MS);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS); /* who comes waits */
	life_until(is_up);
	assert_int_equal(p->n_starts, 2);
	assert_int_equal(p->backoff_ns, 0);
}

/* One that does not start: programs stand alone, and it is not tried again and again. */
static void test_failure(void **state)
{
	unsigned i;

	(void)state;
	life_write("fails", "", 0644);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
	life_until(is_failed);
	assert_false(p->lost);
	assert_true(stage.roster.mps_failed);
	assert_int_equal(cot_pool_want(p, geteuid()), -EAGAIN);
	assert_int_equal(p->backoff_ns, 500 * COT_NS_PER_MS);
	for (i = 0; i < 9; i++) {
		p->retry_ns = 0;
		assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
		life_until(is_failed);
	}
	assert_true(p->backoff_ns == 60 * COT_NS_PER_S);
	life_remove("fails");
	p->retry_ns = 0;
	start_pool(geteuid());
	assert_false(stage.roster.mps_failed);
	life_remove("mps"); /* no program at all */
	cot_pool_left(p, "a");
	(void)kill(p->control.pid, SIGKILL);
	life_until(is_failed);
	p->retry_ns = 0;
	assert_int_equal(cot_pool_want(p, geteuid()), -ENOENT);
	assert_int_equal(p->state, POOL_FAILED);
}

/* An older control program does not know what serves several users. */
static void test_multiuser(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	stage.basis.config.multiuser = true;
	start_pool(1234);
	assert_true(p->multiuser);
	assert_string_equal(life_read("args"), "-f -M\n");
	assert_true(told("start_server -uid 0"));
	assert_true(cot_pool_serves(p, 1) && cot_pool_serves(p, 1234));
	cot_pool_left(p, "a");
	life_until(is_down);
	life_write("old", "", 0644);
	life_write("args", "", 0644);
	start_pool(1234);
	assert_false(p->multiuser);
	assert_string_equal(life_read("args"), "-f -M\n-f\n");
	assert_int_equal(p->n_deaths, 0);
	assert_non_null(strstr(stage_log(), "trying it without"));
	assert_true(stage.roster.no_multiuser);
	assert_true(told("start_server -uid 1234"));
}

static void test_serves(void **state)
{
	struct tenant *t;

	(void)state;
	p->multiuser = false;
	assert_true(cot_pool_serves(p, geteuid()));
	assert_int_equal(cot_pool_serves(p, 1234), geteuid() == 0 || geteuid() == 1234);
	t = stage_tenant(90, "other", NULL);
	t->uid = 1234;
	assert_true(cot_pool_serves(p, geteuid()));
	t->pool = p;
	assert_int_equal(cot_pool_serves(p, geteuid()), geteuid() == 1234);
	assert_int_equal(cot_pool_serves(p, 1234), geteuid() == 0 || geteuid() == 1234);
	p->multiuser = true;
	assert_true(cot_pool_serves(p, geteuid()) && cot_pool_serves(p, 1234));
}

/* One of the daemon before whose socket is gone: it may have programs, so it is left alone. */
static void test_adopted_without_socket(void **state)
{
	pid_t pid = life_process(NULL);

	(void)state;
	cot_pool_adopt(p, pid, cot_process_start_time(pid));
	assert_int_equal(p->state, POOL_STARTING);
	p->deadline_ns = cot_now_ns();
	life_until(is_stopping);
	assert_true(cot_watch_is_alive(&p->control));
	assert_int_equal(cot_pool_want(p, geteuid()), -EBUSY);
	assert_non_null(strstr(stage_log(), "does not answer"));
	life_end(pid);
	life_until(is_down);
}

/* One that listens can be used at once, and ends if nobody does. */
static void test_adopted(void **state)
{
	uint64_t start_time;
	pid_t pid;

	(void)state;
	start_pool(geteuid());
	pid = p->control.pid;
	start_time = p->control.start_time;
	cot_watch_stop(&stage.basis.watches, &p->control);
	cot_timer_clear(&p->timer);
	p->state = POOL_DOWN;
	p->n_tenants = 0;
	cot_pool_adopt(p, pid, start_time);
	assert_int_equal(p->state, POOL_UP);
	assert_true(p->adopted);
	assert_true(p->timer.armed);
	stage.roster.state.dirty = false;
	life_until(is_down);
	assert_true(stage.roster.state.dirty);
	assert_true(told("quit"));
}

static bool is_starting_server(void)
{
	return p->command.pid && told("start_server");
}

static bool has_answered(void)
{
	return !p->clients.asked;
}

static bool has_no_control(void)
{
	return !p->control.pid;
}

static void test_started_in_vain(void **state)
{
	(void)state;
	life_write("mute", "", 0644);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
	life_run(60);
	assert_int_equal(p->state, POOL_STARTING);
	p->deadline_ns = cot_now_ns();
	life_until(is_failed);
	assert_non_null(strstr(stage_log(), "did not start in time"));
}

/* It is slow, and a program that knows its folder has come to it: that one's work is not lost. */
static void test_started_late_with_clients(void **state)
{
	pid_t pid;

	(void)state;
	life_write("hold-start_server", "", 0644);
	life_write("clients", "815\n", 0644);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
	cot_pool_joined(p, geteuid());
	life_until(is_starting_server);
	pid = p->control.pid;
	p->deadline_ns = cot_now_ns();
	life_until(is_up);
	assert_int_equal(p->control.pid, pid);
	assert_true(cot_watch_is_alive(&p->control));
	assert_null(strstr(stage_log(), "did not start in time"));
	life_remove("hold-start_server");
	life_until(has_no_command);
}

static void test_started_late_without_clients(void **state)
{
	(void)state;
	life_write("hold-start_server", "", 0644);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
	life_until(is_starting_server);
	p->deadline_ns = cot_now_ns();
	life_until(is_failed);
	assert_non_null(strstr(stage_log(), "did not start in time"));
	life_remove("hold-start_server");
	life_until(has_no_command);
}

/* Likewise when the daemon ends just then. */
static void test_stop_while_it_starts(void **state)
{
	(void)state;
	life_write("hold-start_server", "", 0644);
	life_write("clients", "815\n", 0644);
	assert_int_equal(cot_pool_want(p, geteuid()), -EINPROGRESS);
	life_until(is_starting_server);
	stage.basis.stopping = true;
	cot_pool_stop_all(&stage.roster);
	assert_true(cot_pool_is_busy(p));
	life_until(has_answered);
	assert_true(cot_watch_is_alive(&p->control));
	life_write("clients", "", 0644);
	cot_pool_stop_all(&stage.roster);
	life_until(has_no_control);
	life_remove("hold-start_server");
	life_until(has_no_command);
}

static void test_numbers(void **state)
{
	(void)state;
	assert_int_equal(p->id, 1);
	assert_string_equal(p->name, "batch");
	assert_ptr_equal(cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 0), p);
	assert_ptr_not_equal(cot_pool_get(&stage.roster, COT_CLASS_BATCH, true, 0), p);
	assert_string_equal(cot_pool_get(&stage.roster, COT_CLASS_BATCH, true, 0)->name, "shared");
	assert_int_equal(cot_pool_get(&stage.roster, COT_CLASS_LATENCY, true, 0)->cls,
			 COT_CLASS_BATCH);
	assert_false(cot_pool_is_there(&stage.roster, COT_CLASS_BATCH, false, 1));
	assert_true(cot_pool_is_there(&stage.roster, COT_CLASS_BATCH, false, 0));
	assert_ptr_equal(cot_roster_pool(&stage.roster, 1), p);
	assert_null(cot_roster_pool(&stage.roster, 0));
	assert_non_null(strstr(p->pipe, "/gpu0-batch/pipe"));
	assert_string_equal(cot_pool_state_name(POOL_STOPPING), "stopping");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MPS(test_start_and_stop),
		WITH_MPS(test_clients_keep),
		WITH_MPS(test_no_answer_keeps),
		WITH_MPS(test_no_server),
		WITH_MPS(test_joined_meanwhile),
		WITH_MPS(test_quit_ends_late),
		WITH_MPS(test_quit_is_no_end),
		WITH_MPS(test_stop_all),
		WITH_MPS(test_death),
		WITH_MPS(test_failure),
		WITH_MPS(test_multiuser),
		WITH_MPS(test_serves),
		WITH_MPS(test_adopted),
		WITH_MPS(test_adopted_without_socket),
		WITH_MPS(test_started_in_vain),
		WITH_MPS(test_started_late_with_clients),
		WITH_MPS(test_started_late_without_clients),
		WITH_MPS(test_stop_while_it_starts),
		WITH_MPS(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
