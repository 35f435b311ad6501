/* What a pool's life means to others: to the core, to those who wait for it, and in the log. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/pool_inside.h"
#include "daemon/processes.h"
#include "mps_stage.h"

static const struct cot_entity *entity(void)
{
	return cot_sched_entity(cot_host_sched(stage.basis.host), p->id);
}

static const char *policy(void)
{
	return cot_sched_wanted_policy(cot_host_sched(stage.basis.host))->name;
}

/* A library in a server of the pool; member -1 takes all back. */
static void server(int member, uid_t uid, bool settled)
{
	unsigned i;

	for (i = 0; member < 0 && i < MAX_CONNS; i++)
		if (stage.conns.all[i].pool)
			stage.conns.all[i] = conn_unused(&stage.conns);
	if (member >= 0)
		stage.conns.all[member] = (struct conn){.basis = &stage.basis,
							.in = &stage.conns,
							.source = {.fd = 100000 + member},
							.pool = p,
							.uid = uid,
							.settled = settled};
	cot_pool_update(p);
}

/* Somebody who wants to be told when the pool has come up or not. */
static struct conn *wait_for_it(void)
{
	struct conn *c = stage_command(7);

	c->registration.pool = p;
	c->registration.m = calloc(1, sizeof(*c->registration.m));
	assert_non_null(c->registration.m);
	return c;
}

/* ---- the core ---- */

static void test_ready(void **state)
{
	(void)state;
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	p->state = POOL_UP;
	(void)stage_log();
	assert_null(entity());
	server(0, 1, false);
	assert_null(entity());
	assert_string_equal(stage_log(), "");
	server(MAX_CONNS - 1, 1234, true);
	assert_true(p->ready);
	assert_int_equal(p->server_uid, 1234);
	assert_non_null(strstr(stage_log(), "pool=latency: its server has channel groups"));
	assert_non_null(entity());
	assert_int_equal(entity()->cls, COT_CLASS_LATENCY);
	assert_int_equal(entity()->gpu_mask, 2);
	server(3, 1234, true);
	assert_string_equal(stage_log(), "");
	server(-1, 0, false);
	assert_null(entity());
	assert_false(p->ready);
	assert_non_null(strstr(stage_log(), "lost its channel groups"));
	server(-1, 0, false);
	assert_string_equal(stage_log(), "");
	assert_int_equal(p->n_deaths, 1);
	/* Another pool's is not this one's. */
	server(3, 1, true);
	p = cot_pool_get(&stage.roster, COT_CLASS_BATCH, false, 1);
	(void)stage_log();
	cot_pool_update(p);
	assert_null(entity());
	assert_string_equal(stage_log(), "");
}

/* It is no loss when the pool ends, or the daemon. */
static void test_no_loss(void **state)
{
	(void)state;
	p->state = POOL_STOPPING;
	server(0, 1, true);
	(void)stage_log();
	server(-1, 0, false);
	assert_string_equal(stage_log(), "");
	p->state = POOL_UP;
	server(0, 1, true);
	(void)stage_log();
	stage.basis.stopping = true;
	server(-1, 0, false);
	assert_string_equal(stage_log(), "");
	assert_null(entity());
	assert_int_equal(p->n_deaths, 0);
}

static const char *lose_server(uid_t uid)
{
	p->state = POOL_UP;
	server(0, uid, true);
	(void)stage_log();
	server(-1, 0, false);
	return stage_log();
}

static void test_names(void **state)
{
	char name[COT_PROTO_NAME_MAX];
	const char *log;
	unsigned i;

	(void)state;
	log = lose_server(0);
	assert_non_null(strstr(log, "Ended just now: none; still there: none. The other"));
	(void)stage_tenant(30, "one", p);
	(void)stage_tenant(31, "else", NULL);
	(void)stage_tenant(32, "two", p);
	p->n_tenants = 4;
	p->server_uid = p->uid;
	cot_pool_left(p, "x");
	cot_pool_left(p, "y");
	log = lose_server(p->uid);
	assert_non_null(strstr(log, "Ended just now: x, y; still there: one, two. The other"));
	p->ended_ns -= 2 * COT_NS_PER_S;
	log = lose_server(p->uid);
	assert_non_null(strstr(log, "Ended just now: none; still there: one, two. The other"));
	assert_int_equal(p->n_deaths, 3);
	/* More than the line can hold. */
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (i = 0; i < 12; i++)
		(void)stage_tenant(40 + i, name, p);
	log = strstr(lose_server(p->uid), "still there: one, two, n");
	assert_non_null(log);
	assert_int_equal(strcspn(log, "."), strlen("still there: ") + 255);
}

static void test_ended(void **state)
{
	uint64_t now_ns = cot_now_ns();
	char name[100];

	(void)state;
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	p->state = POOL_DOWN;
	p->n_tenants = 4;
	cot_pool_left(p, name);
	assert_string_equal(p->ended, name);
	cot_pool_left(p, name);
	assert_int_equal(strlen(p->ended), sizeof(p->ended) - 1);
	assert_non_null(strstr(p->ended, "nn, nn"));
	cot_pool_left(p, name);
	assert_int_equal(strlen(p->ended), sizeof(p->ended) - 1);
	assert_in_range(p->ended_ns, now_ns, cot_now_ns());
	p->ended_ns -= 2 * COT_NS_PER_S;
	cot_pool_left(p, "last");
	assert_string_equal(p->ended, "last");
	assert_int_equal(p->n_tenants, 0);
	assert_false(p->timer.armed); /* it does not run */
}

/* One server after the other, each of one user. */
static void test_makes_room(void **state)
{
	const char *log;

	(void)state;
	cot_pool_joined(p, 1234);
	log = lose_server(1000);
	assert_non_null(strstr(log, "its MPS server of user 1000 makes room for one of user 1234"));
	assert_null(strstr(log, "lost"));
	assert_int_equal(p->n_deaths, 0);
	assert_non_null(strstr(lose_server(1234), "lost its channel groups"));
	p->multiuser = true;
	assert_non_null(strstr(lose_server(1000), "lost its channel groups"));
	p->multiuser = false;
	p->n_tenants = 0;
	assert_non_null(strstr(lose_server(1000), "lost its channel groups"));
	assert_int_equal(p->n_deaths, 3);
}

/* ---- MPS or not ---- */

static void test_policy(void **state)
{
	struct conn *c;

	(void)state;
	life_write("fails", "", 0644);
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	c = wait_for_it();
	life_until(is_failed);
	assert_null(c->registration.pool);
	assert_string_equal(policy(), "rotate");
	assert_non_null(strstr(stage_log(), "MPS is not available: programs stand alone and take "
					    "turns; the policy is now 'rotate'"));
	p->retry_ns = 0;
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	p->state = POOL_STARTING;
	life_until(is_failed);
	assert_null(strstr(stage_log(), "MPS is not available"));
	life_remove("fails");
	p->retry_ns = 0;
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	c = wait_for_it();
	cot_pool_joined(p, getuid());
	stage.roster.state.dirty = false;
	life_until(is_up);
	assert_null(c->registration.pool);
	assert_true(stage.roster.state.dirty);
	assert_false(p->timer.armed);
	assert_string_equal(policy(), "pools");
	assert_non_null(strstr(stage_log(), "MPS is back; the policy is now 'pools'"));
}

/* One that was up, and is lost: nobody is told that MPS cannot be had. */
static void test_lost(void **state)
{
	uint64_t now_ns;

	(void)state;
	stage.basis.config.linger_s = 7;
	start_pool(getuid());
	stage.roster.state.dirty = false;
	now_ns = cot_now_ns();
	(void)kill(p->control.pid, SIGKILL);
	life_until(is_failed);
	assert_true(stage.roster.state.dirty);
	assert_false(stage.roster.mps_failed);
	assert_true(p->timer.armed);
	assert_in_range(p->timer.due_ns, now_ns + p->backoff_ns, cot_now_ns() + p->backoff_ns);
	assert_non_null(strstr(stage_log(), "its MPS control program ended (status 0x9)"));
	/* Without a program it waits for one that comes. */
	p->n_tenants = 0;
	p->timer.fire(&p->timer, cot_now_ns());
	assert_int_equal(p->state, POOL_FAILED);
	cot_timer_clear(&p->timer);
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	assert_true(p->wanted);
	assert_int_equal(p->state, POOL_FAILED);
	assert_true(p->timer.armed);
	assert_in_range(p->timer.due_ns, p->retry_ns, cot_now_ns() + p->backoff_ns);
	/* Should it be up by then, nothing is started. */
	p->state = POOL_UP;
	p->timer.fire(&p->timer, cot_now_ns());
	assert_int_equal(p->n_starts, 1);
	p->state = POOL_FAILED;
	p->timer.fire(&p->timer, cot_now_ns());
	assert_false(p->wanted);
	assert_int_equal(p->n_starts, 2);
	assert_int_equal(p->state, POOL_STARTING);
	life_until(is_up);
	assert_int_equal(p->n_deaths, 1);
	assert_true(p->timer.armed); /* nobody uses it */
}

/* Lost for nobody: it is not tried again until somebody comes. */
static void test_lost_unused(void **state)
{
	(void)state;
	stage.basis.config.linger_s = 7;
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	life_until(is_up);
	(void)kill(p->control.pid, SIGKILL);
	life_until(is_failed);
	assert_false(p->timer.armed);
}

/* The next start fails at once: those who wait are told. */
static void test_no_next_start(void **state)
{
	struct conn *c;

	(void)state;
	start_pool(getuid());
	(void)kill(p->control.pid, SIGKILL);
	life_until(is_failed);
	life_remove("mps");
	c = wait_for_it();
	p->timer.fire(&p->timer, cot_now_ns());
	assert_null(c->registration.pool);
	assert_int_equal(p->state, POOL_FAILED);
	assert_true(stage.roster.mps_failed);
	assert_int_equal(p->backoff_ns, COT_NS_PER_S);
	assert_non_null(strstr(stage_log(), "was not found"));
}

/* Wanted again while it ends. */
static void test_wanted_again(void **state)
{
	struct conn *c;

	(void)state;
	start_pool(getuid());
	life_write("deaf", "", 0644);
	cot_pool_left(p, "a");
	life_until(is_stopping);
	life_until(has_no_command);
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	c = wait_for_it();
	p->held = true; /* by a user, as whoever comes next */
	(void)kill(p->control.pid, SIGTERM);
	life_until(is_up);
	assert_null(c->registration.pool);
	assert_false(p->wanted);
	assert_true(p->held);
	assert_int_equal(p->n_starts, 2);
	assert_int_equal(p->n_deaths, 0);
	assert_non_null(strstr(stage_log(), ": stopped"));
	cot_pool_joined(p, getuid());
	cot_pool_left(p, "a");
	life_until(is_stopping);
	life_until(has_no_command);
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	c = wait_for_it();
	life_remove("mps");
	(void)kill(p->control.pid, SIGTERM);
	life_until(is_failed);
	assert_null(c->registration.pool);
}

/* ---- starting ---- */

static bool is_told_to_start(void)
{
	return told("start_server");
}

static void test_starting(void **state)
{
	uint64_t now_ns = cot_now_ns();
	struct conn *c;

	(void)state;
	life_write("mute", "", 0644);
	stage.roster.state.dirty = false;
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	assert_true(stage.roster.state.dirty);
	assert_in_range(p->deadline_ns, now_ns + 15 * COT_NS_PER_S,
			cot_now_ns() + 15 * COT_NS_PER_S);
	assert_in_range(p->timer.due_ns, now_ns + 10 * COT_NS_PER_MS,
			cot_now_ns() + 10 * COT_NS_PER_MS);
	cot_pool_joined(p, getuid());
	assert_true(p->timer.armed); /* it is looked at all the same */
	c = wait_for_it();
	life_write("hold-start_server", "", 0644);
	life_run(30);
	assert_false(p->asked);
	life_write("gpu0-batch/pipe/control", "", 0644);
	life_until(is_told_to_start);
	assert_true(p->asked);
	assert_int_equal(p->state, POOL_STARTING);
	assert_ptr_equal(strstr(life_read("told"), "start_server"), life_read("told"));
	assert_null(strstr(life_read("told") + 1, "start_server")); /* once */
	assert_ptr_equal(c->registration.pool, p);
	(void)stage_log();
	life_write("broken", "", 0644); /* it said no: programs ask for one by themselves */
	life_remove("hold-start_server");
	life_until(is_up);
	assert_null(c->registration.pool);
	assert_null(strstr(stage_log(), "ended with status"));
	/* It has had the status of before; one that fails is noted. */
	assert_int_equal(cot_pool_tell(p, "start_server"), 0);
	life_until(has_no_command);
	assert_non_null(strstr(stage_log(), "an MPS command ended with status 0x100"));
}

/* Where no command can be given the pool is up nevertheless. */
static void test_no_command(void **state)
{
	(void)state;
	life_write("mute", "", 0644);
	assert_int_equal(cot_pool_want(p, getuid()), -EINPROGRESS);
	life_run(30);
	life_remove("mps");
	life_write("gpu0-batch/pipe/control", "", 0644);
	life_until(is_up);
	assert_non_null(strstr(stage_log(), "was not found"));
	assert_int_equal(cot_pool_tell(p, "quit"), -ENOENT);
	assert_int_equal(p->command.pid, 0);
}

/* The next command does not wait for the one before. */
static void test_commands(void **state)
{
	unsigned n;
	pid_t first;

	(void)state;
	start_pool(getuid());
	life_until(has_no_command);
	n = count_fds();
	life_write("hold-first", "", 0644);
	assert_int_equal(cot_pool_tell(p, "first"), 0);
	first = p->command.pid;
	assert_int_equal(cot_pool_tell(p, "second"), 0);
	assert_int_not_equal(p->command.pid, first);
	assert_int_equal(count_fds(), n + 1);
	life_until(has_no_command);
	assert_true(told("second"));
	life_remove("hold-first");
	assert_int_equal(waitpid(first, NULL, 0), first);
	assert_int_equal(count_fds(), n);
}

static void test_server_gone(void **state)
{
	pid_t control;

	(void)state;
	start_pool(getuid());
	life_until(has_no_command);
	p->n_conns = 1;
	cot_pool_server_gone(p);
	assert_int_equal(p->command.pid, 0);
	p->n_conns = 0;
	stage.basis.stopping = true;
	cot_pool_server_gone(p);
	assert_int_equal(p->command.pid, 0);
	stage.basis.stopping = false;
	p->state = POOL_STOPPING;
	cot_pool_server_gone(p);
	assert_int_equal(p->command.pid, 0);
	p->state = POOL_UP;
	life_write("told", "", 0644);
	cot_pool_server_gone(p);
	assert_int_not_equal(p->command.pid, 0);
	life_until(has_no_command);
	assert_true(told("start_server -uid "));
	control = p->control.pid;
	(void)kill(control, SIGKILL);
	while (cot_watch_is_alive(&p->control))
		usleep(1000);
	cot_pool_server_gone(p);
	assert_int_equal(p->command.pid, 0);
}

static void test_adopted(void **state)
{
	pid_t pid = life_process_as(getuid(), "-M", NULL), other = life_process(NULL);
	struct conn *c;

	(void)state;
	cot_pool_adopt(p, pid, cot_process_start_time(pid));
	assert_true(p->multiuser);
	assert_int_equal(p->control.pid, pid);
	assert_non_null(strstr(stage_log(), "took over MPS control process "));
	cot_pool_adopt(p, other, cot_process_start_time(other)); /* it has one */
	assert_int_equal(p->control.pid, pid);
	stage.roster.state.dirty = false;
	c = wait_for_it();
	p->deadline_ns = 0;
	life_until(is_stopping);
	assert_true(stage.roster.state.dirty);
	assert_null(c->registration.pool);
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 0);
	p->multiuser = true;
	cot_pool_adopt(p, other, cot_process_start_time(other));
	assert_false(p->multiuser);
	life_end(other); /* that was none of an option too old */
	stage.roster.no_multiuser = true;
	life_until(is_failed);
	assert_int_equal(p->n_starts, 0);
}

/* ---- without pidfds ---- */

static void test_reap(void **state)
{
	struct watch *watches[3], was;
	unsigned i;
	pid_t pid = life_process(NULL);

	(void)state;
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	assert_false(cot_pool_reap(&stage.roster));
	watches[0] = &p->control;
	watches[1] = &p->command;
	watches[2] = &p->clients.command;
	for (i = 0; i < 3; i++) {
		was = *watches[i];
		watches[i]->pid = pid;
		watches[i]->start_time = cot_process_start_time(pid);
		allow_fds(0);
		assert_true(cot_pool_reap(&stage.roster));
		allow_fds(-1);
		assert_false(cot_pool_reap(&stage.roster)); /* it has one now */
		assert_true(watches[i]->source.fd >= 0);
		cot_watch_stop(&stage.basis.watches, watches[i]);
		*watches[i] = was;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MPS(test_ready),	      WITH_MPS(test_no_loss),
		WITH_MPS(test_names),	      WITH_MPS(test_ended),
		WITH_MPS(test_makes_room),    WITH_MPS(test_policy),
		WITH_MPS(test_lost),	      WITH_MPS(test_lost_unused),
		WITH_MPS(test_no_next_start), WITH_MPS(test_wanted_again),
		WITH_MPS(test_starting),      WITH_MPS(test_no_command),
		WITH_MPS(test_commands),      WITH_MPS(test_server_gone),
		WITH_MPS(test_adopted),	      WITH_MPS(test_reap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
