/* What the daemon does between two sleeps, and how it ends. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "whole_stage.h"

/* ---- the end ---- */

static void test_stops(void **state)
{
	(void)state;
	(void)stage_log();
	assert_false(ends_within(20 * MS));
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	assert_true(ends_within(10 * COT_NS_PER_S));
	assert_true(stage.basis.stopping);
	assert_int_equal(access(stage.basis.socket_path, F_OK), -1);
	assert_int_equal(stage.server.listener.fd, -1);
	assert_string_equal(notes(), "STOPPING=1");
	assert_non_null(strstr(stage_log(), " INFO cotenantd["));
}

/* What is frozen is thawed first, for as long as half a second. */
static void test_stop_waits(void **state)
{
	struct cot_event ev = {.type = COT_EV_HOLD, .hold = true};
	struct cot_msg_ack ack = {0};
	struct conn *c;
	int fd, type;

	(void)state;
	c = settled_program(&fd);
	ev.id = c->entity;
	ev.now_ns = cot_now_ns();
	assert_int_equal(cot_host_event(stage.basis.host, &ev), 0);
	while ((type = hear(fd)) > 0) {
		cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack),
				 ((const struct cot_msg_header *)packet)->seq);
		assert_int_equal(send(fd, &ack, sizeof(ack), 0), sizeof(ack));
		serve(1);
	}
	assert_true(stage.host_timer.armed);
	assert_int_equal(kill(getpid(), SIGTERM), 0);
	serve(1);
	assert_true(stage.basis.stopping);
	assert_true(stage.roster.idle.armed);
	assert_in_range(stage.roster.idle.due_ns, cot_now_ns() + 1, cot_now_ns() + 500 * MS);
	assert_int_equal(hear(fd), COT_MSG_THAW);
	assert_true(c->source.fd >= 0);
	assert_true(ends_within(10 * COT_NS_PER_S));
}

static void test_stop_is_bounded(void **state)
{
	(void)state;
	stage.basis.stopping = true;
	stage.roster.exit_idle_ms = 1000;
	stage.roster.pools[0] = (struct pool){
		.basis = &stage.basis, .in = &stage.roster, .id = 9, .state = POOL_STOPPING};
	stage.roster.pools[0].clients.asked = true; /* busy */
	assert_false(ends_within(20 * MS));
	/* A second signal does not wait, nor is there more than so much time. */
	assert_int_equal(kill(getpid(), SIGINT), 0);
	assert_true(ends_within(10 * COT_NS_PER_S));
	assert_string_equal(notes(), "");
	stage.basis.loop.quit = false;
	stage.roster.idle.fire(&stage.roster.idle, cot_now_ns());
	assert_true(stage.basis.loop.quit);
	stage.roster.pools[0].id = 0;
	assert_true(ends_within(10 * COT_NS_PER_S));
}

static void test_idle(void **state)
{
	(void)state;
	stage.roster.exit_idle_ms = 7000;
	stage.roster.tenants[0].id = 1;
	(void)stage_log();
	stage.roster.idle.fire(&stage.roster.idle, cot_now_ns());
	assert_false(stage.basis.stopping);
	stage.roster.tenants[0].id = 0;
	stage.roster.idle.fire(&stage.roster.idle, cot_now_ns());
	assert_true(stage.basis.stopping);
	assert_false(stage.basis.loop.quit);
	assert_non_null(strstr(stage_log(), ": no program for 7 s\n"));
}

/* ---- what it does between ---- */

/* Whoever says nothing for five seconds has had its place for long enough. */
static void test_silent(void **state)
{
	struct cot_msg_query query = {.what = COT_QUERY_PS};
	struct conn *silent, *later, *latest, *asks, *lib;
	int fd[5];
	uint64_t now_ns;

	(void)state;
	silent = enter(getuid(), &fd[0]);
	later = enter(getuid(), &fd[1]);
	asks = enter(getuid(), &fd[2]);
	assert_int_equal(ask(fd[2], &query, COT_MSG_QUERY, sizeof(query)), COT_MSG_RESULT);
	lib = program(&fd[3]);
	latest = enter(getuid(), &fd[4]);
	now_ns = cot_now_ns();
	silent->since_ns = now_ns - 5 * COT_NS_PER_S;
	later->since_ns = silent->since_ns + 1;
	latest->since_ns = silent->since_ns + 2;
	asks->since_ns = lib->since_ns = now_ns - 9 * COT_NS_PER_S;
	stage.conns.waits.fire(&stage.conns.waits, now_ns);
	assert_int_equal(silent->source.fd, -1);
	assert_true(later->source.fd >= 0 && asks->source.fd >= 0 && lib->source.fd >= 0);
	assert_true(stage.conns.waits.armed);
	assert_int_equal(stage.conns.waits.due_ns, now_ns + 1);
	/* With nobody to wait for it rests. */
	cot_conn_close(later);
	cot_conn_close(latest);
	cot_timer_clear(&stage.conns.waits);
	stage.conns.waits.fire(&stage.conns.waits, now_ns);
	assert_false(stage.conns.waits.armed);
}

/* A command that waits is looked at in its time, though somebody else is silent for longer. */
static void test_command_waits(void **state)
{
	struct cot_msg_command m = {.what = COT_COMMAND_FREEZE};
	struct conn *asks, *lib, *silent;
	int fd[3];

	(void)state;
	lib = settled_program(&fd[0]);
	lib->grown_ns = 1;
	asks = enter(getuid(), &fd[1]);
	silent = enter(getuid(), &fd[2]);
	m.tenant = lib->tenant->id;
	assert_int_equal(ask(fd[1], &m, COT_MSG_COMMAND, sizeof(m)), 0);
	assert_int_equal(asks->hold.entity, lib->entity);
	cot_timer_clear(&stage.conns.waits);
	stage.conns.waits.fire(&stage.conns.waits, cot_now_ns());
	assert_int_equal(stage.conns.waits.due_ns, asks->hold.until_ns);
	assert_true(asks->hold.until_ns < silent->since_ns + 5 * COT_NS_PER_S);
	/* The library does not answer. */
	silent->since_ns = cot_now_ns();
	stage.conns.waits.fire(&stage.conns.waits, asks->hold.until_ns);
	assert_int_equal(asks->hold.entity, 0);
	assert_int_equal(hear(fd[1]), COT_MSG_RESULT);
	assert_true(status() < 0);
	assert_true(asks->source.fd >= 0);
}

static void test_lateness(void **state)
{
	struct cot_lateness *l = &stage.basis.loop.lateness;

	(void)state;
	serve(1);
	(void)stage_log();
	l->n_late = stage.n_late_told + 3;
	l->worst_own_ns = 1717 * MS;
	stage.late_again_ns = 0;
	serve(1);
	assert_non_null(strstr(stage_log(),
			       ": deadlines came late 3 times, by up to 1717 ms of the daemon's "
			       "own: it is overloaded\n"));
	assert_in_range(stage.late_again_ns, cot_now_ns() + 9 * COT_NS_PER_S,
			cot_now_ns() + 10 * COT_NS_PER_S);
	l->n_late++;
	serve(1);
	assert_string_equal(stage_log(), "");
	stage.late_again_ns = cot_now_ns();
	serve(1);
	assert_non_null(strstr(stage_log(), ": deadlines came late 1 times"));
	stage.late_again_ns = 0;
	serve(1);
	assert_string_equal(stage_log(), "");
}

/* What the closer keeps goes to one child at a time, and no more often than every 20 ms. */
static void test_closes(void **state)
{
	uint64_t now_ns = cot_now_ns();

	(void)state;
	cot_closer_keep(&stage.conns.closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	stage.basis.loop.settle(&stage);
	assert_int_equal(stage.conns.closer.n, 0);
	assert_int_equal(stage.conns.closer.n_closed, 1);
	assert_true(stage.closes.armed);
	assert_in_range(stage.closes.due_ns, now_ns + 20 * MS, cot_now_ns() + 20 * MS);
	cot_closer_keep(&stage.conns.closer, open("/dev/null", O_RDONLY | O_CLOEXEC));
	stage.basis.loop.settle(&stage);
	assert_int_equal(stage.conns.closer.n, 1);
	/* Its time comes by itself, and the end of each child is noticed. */
	while (stage.conns.closer.n || stage.conns.closer.children[0] ||
	       stage.conns.closer.children[1])
		assert_false(ends_within(5 * MS));
	assert_int_equal(stage.conns.closer.n_closed, 2);
}

/* The host's next deadline is the loop's. */
static void test_host_timer(void **state)
{
	(void)state;
	stage.basis.loop.settle(&stage);
	assert_int_equal(stage.host_timer.armed, cot_host_wake_ns(stage.basis.host) != COT_NEVER);
	cot_timer_set(&stage.basis.loop, &stage.host_timer, 77);
	stage.basis.loop.settle(&stage);
	if (cot_host_wake_ns(stage.basis.host) == COT_NEVER)
		assert_false(stage.host_timer.armed);
	else
		assert_int_equal(stage.host_timer.due_ns, cot_host_wake_ns(stage.basis.host));
}

static void test_keeps_state(void **state)
{
	char path[96];

	(void)state;
	snprintf(path, sizeof(path), "%s/run/state.json", folder);
	stage.roster.state.dirty = true;
	stage.basis.loop.settle(&stage);
	assert_int_equal(access(path, F_OK), 0);
	assert_false(stage.roster.state.dirty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WHOLE(test_stops),	 WHOLE(test_stop_waits), WHOLE(test_stop_is_bounded),
		WHOLE(test_idle),	 WHOLE(test_silent),	 WHOLE(test_command_waits),
		WHOLE(test_lateness),	 WHOLE(test_closes),	 WHOLE(test_host_timer),
		WHOLE(test_keeps_state),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
