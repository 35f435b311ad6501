/* The end of pools: when MPS is asked and told to quit, for how long that is waited for, and what a
 * daemon that stops leaves. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "daemon/processes.h"
#include "mps_stage.h"

/* Of the pool's timer; the time of the question before it counts as well. */
static void assert_due(uint64_t since_ns, uint64_t in_ns)
{
	assert_true(p->timer.armed);
	assert_in_range(p->timer.due_ns, since_ns + in_ns, cot_now_ns() + in_ns);
}

static void fire(void)
{
	p->timer.fire(&p->timer, cot_now_ns());
}

static void test_linger(void **state)
{
	uint64_t now_ns;

	(void)state;
	stage.basis.config.linger_s = 7;
	start_pool(getuid());
	assert_false(p->timer.armed);
	now_ns = cot_now_ns();
	cot_pool_left(p, "a");
	assert_due(now_ns, 7 * COT_NS_PER_S + 1);
	assert_false(cot_pool_is_busy(p));
	cot_pool_joined(p, getuid());
	assert_false(p->timer.armed);
	cot_pool_left(p, "a");
	/* Not for one that has come, nor for one that is not up. */
	p->n_tenants = 1;
	fire();
	assert_false(p->clients.asked);
	p->n_tenants = 0;
	p->state = POOL_STARTING;
	fire();
	assert_false(p->clients.asked);
	p->state = POOL_UP;
	fire();
	assert_true(p->clients.asked);
	assert_true(cot_pool_is_busy(p));
}

/* A pool that came up for nobody ends too. */
static void test_linger_from_the_start(void **state)
{
	uint64_t now_ns = cot_now_ns();

	(void)state;
	stage.basis.config.linger_s = 7;
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	life_until(is_up);
	assert_due(now_ns, 7 * COT_NS_PER_S + 1);
}

static void test_held_up(void **state)
{
	uint64_t now_ns;
	const char *log;

	(void)state;
	start_pool(getuid());
	life_write("clients", "815\n", 0644);
	now_ns = cot_now_ns();
	cot_pool_left(p, "a");
	life_until(is_answered);
	assert_due(now_ns, 5 * COT_NS_PER_S);
	assert_true(p->held_up);
	assert_non_null(strstr(stage_log(), "MPS has 1 client: it stays"));
	life_write("broken", "", 0644);
	fire();
	life_until(is_answered);
	log = stage_log();
	assert_null(strstr(log, "stays")); /* that has been said */
	life_remove("broken");
	/* Who comes and goes makes it news again. */
	cot_pool_joined(p, getuid());
	assert_false(p->held_up);
	life_write("clients", "815\n816\n", 0644);
	cot_pool_left(p, "a");
	life_until(is_answered);
	assert_non_null(strstr(stage_log(), "MPS has 2 clients: it stays"));
	assert_false(told("quit"));
}

/* A client that comes after the quit is waited for; who wants the pool is told to stand alone. */
static void test_waits_for_client(void **state)
{
	uint64_t now_ns;
	pid_t control;

	(void)state;
	start_pool(getuid());
	life_write("deaf", "", 0644);
	control = p->control.pid;
	now_ns = cot_now_ns();
	stage.roster.state.dirty = false;
	p->held_up = true;
	cot_pool_left(p, "a");
	life_until(is_stopping);
	assert_true(stage.roster.state.dirty);
	assert_false(p->held_up);
	assert_due(now_ns, 5 * COT_NS_PER_S);
	assert_in_range(p->deadline_ns, now_ns + 5 * COT_NS_PER_S, cot_now_ns() + 5 * COT_NS_PER_S);
	assert_true(cot_pool_is_busy(p));
	life_write("clients", "815\n", 0644);
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	assert_true(p->wanted);
	(void)stage_log();
	now_ns = cot_now_ns();
	fire();
	assert_true(is_asking());
	assert_true(p->held_up);
	assert_false(p->wanted);
	assert_due(now_ns, 5 * COT_NS_PER_S);
	life_until(is_answered);
	assert_due(now_ns, 5 * COT_NS_PER_S);
	assert_non_null(strstr(stage_log(), "waits for a client before it stops"));
	p->wanted = true; /* one who has come since */
	fire();
	life_until(is_answered);
	assert_true(p->wanted);
	assert_null(strstr(stage_log(), "waits for a client"));
	life_write("broken", "", 0644);
	fire();
	life_until(is_answered);
	assert_int_equal(p->control.pid, control);
	assert_true(cot_watch_is_alive(&p->control));
	/* An end that comes while it is asked is not the end of the next one. */
	life_remove("broken");
	life_write("clients", "", 0644);
	life_write("hold-get_client_list", "", 0644);
	fire();
	(void)kill(control, SIGTERM);
	life_until(is_up); /* it is wanted */
	control = p->control.pid;
	p->n_tenants = 1;
	life_remove("hold-get_client_list");
	life_until(is_answered);
	assert_true(cot_watch_is_alive(&p->control));
	assert_int_equal(p->control.pid, control);
	p->n_tenants = 0;
}

static void test_stop_all(void **state)
{
	struct pool *starting = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 0),
		    *batch = p;
	struct pool *adopted = cot_pool_get(&stage.roster, COT_CLASS_BATCH, true, 0);
	pid_t old = life_process(NULL);
	const char *log;

	(void)state;
	start_pool(getuid());
	cot_pool_joined(batch, getuid());
	life_write("mute", "", 0644);
	assert_int_equal(cot_pool_want(starting, getuid()), -EINPROGRESS);
	cot_pool_adopt(adopted, old, cot_process_start_time(old));
	assert_int_equal(adopted->state, POOL_STARTING);
	(void)cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 1); /* down */
	stage.basis.stopping = true;
	(void)stage_log();
	cot_pool_stop_all(&stage.roster);
	log = stage_log();
	assert_non_null(
		strstr(log, "pool=batch: left running for its 2 programs; the next daemon"));
	assert_null(strstr(strstr(log, "left running") + 1, "left running"));
	assert_false(cot_pool_is_busy(batch));
	assert_false(told("get_server_list"));
	p = starting; /* it serves nobody yet */
	life_until(is_failed);
	assert_true(cot_watch_is_alive(&adopted->control));
	/* One that is starting for somebody goes on. */
	starting->retry_ns = 0;
	assert_int_equal(cot_pool_want(starting, getuid()), -EINPROGRESS);
	cot_pool_joined(starting, getuid());
	cot_pool_stop_all(&stage.roster);
	assert_non_null(strstr(stage_log(), "pool=latency: left running for its 1 programs"));
	assert_true(cot_watch_is_alive(&starting->control));
	life_end(old);
	p = adopted;
	life_until(is_failed);
	adopted->n_tenants = 1; /* nothing of it runs */
	(void)stage_log();
	cot_pool_stop_all(&stage.roster);
	assert_null(strstr(stage_log(), "pool=shared"));
	adopted->n_tenants = 0;
}

/* A daemon that stops ends what nobody uses, and starts nothing in its place. */
static void test_stop_unused(void **state)
{
	(void)state;
	stage.basis.config.linger_s = 7;
	start_pool(getuid());
	cot_pool_left(p, "a");
	p->wanted = p->held = true;
	stage.basis.stopping = true;
	cot_pool_stop_all(&stage.roster);
	assert_true(cot_pool_is_busy(p));
	life_until(is_down);
	assert_true(told("quit"));
	assert_false(cot_pool_is_busy(p));
	assert_false(p->wanted || p->held);
	assert_false(p->timer.armed);
	assert_int_equal(p->n_starts, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MPS(test_linger),	 WITH_MPS(test_linger_from_the_start),
		WITH_MPS(test_held_up),	 WITH_MPS(test_waits_for_client),
		WITH_MPS(test_stop_all), WITH_MPS(test_stop_unused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
