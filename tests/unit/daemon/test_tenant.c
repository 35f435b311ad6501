/* Programs: their names, the processes that are watched, what is left of them, and stops. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/processes.h"
#include "mps_stage.h"

static const char *env_20[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=20", NULL};

static struct tenant *program(uint32_t id, pid_t pid)
{
	struct tenant *t;

	assert_int_equal(cot_tenant_restore(&stage.roster,
					    &(struct tenant){.id = id, .uid = getuid()}, true, &t),
			 0);
	assert_int_equal(cot_tenant_watch(t, pid, cot_process_start_time(pid)), 0);
	t->weight = 100;
	t->gpu_mask = 1;
	cot_tenant_announce(t);
	return t;
}

/* ---- names ---- */

static void test_names(void **state)
{
	static const struct {
		const char *from, *to;
	} names[] = {
		{"serve 1", "serve 1"},
		{"\x7f\x1f\n~", "???~"},
		{"\xc3\xa9\xc2\xa0", "\xc3\xa9\xc2\xa0"},
		{"\xc2\x9f", "??"}, /* a control character of two bytes */
		{"\xc1\x81\x80", "???"},
		{"\xdf\xbf\xe0\xa0\x80", "\xdf\xbf\xe0\xa0\x80"},
		{"\xe0\x9f\xbf", "???"}, /* too long for what it is */
		{"\xe2\x82\xac", "\xe2\x82\xac"},
		{"\xed\x9f\xbf", "\xed\x9f\xbf"},
		{"\xed\xa0\x80", "???"}, /* a surrogate */
		{"\xef\xbf\xbd", "\xef\xbf\xbd"},
		{"\xf0\x9f\x98\x80x", "\xf0\x9f\x98\x80x"},
		{"\xf0\x90\x80\x80", "\xf0\x90\x80\x80"},
		{"\xf0\x8f\xbf\xbf", "????"},
		{"\xf4\x8f\xbf\xbf", "\xf4\x8f\xbf\xbf"},
		{"\xf4\x90\x80\x80", "????"}, /* beyond the last character */
		{"\xf5\x80\x80\x80", "????"},
		{"\xe2\x82", "??"},
		{"\xe2(\xac", "?(?"},
		{"", ""},
	};
	struct tenant t = {.id = 1};
	char text[COT_PROTO_NAME_MAX + 8];
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(names); i++) {
		cot_tenant_set_name(&t, names[i].from);
		assert_string_equal(t.name, names[i].to);
	}
	memset(text, 'a', sizeof(text));
	text[COT_PROTO_NAME_MAX - 1] = '\0';
	cot_tenant_set_name(&t, text);
	assert_string_equal(t.name, text);
	text[COT_PROTO_NAME_MAX - 1] = 'b';
	text[COT_PROTO_NAME_MAX] = '\0';
	cot_tenant_set_name(&t, text);
	assert_int_equal(strlen(t.name), COT_PROTO_NAME_MAX - 1);
	/* What would be cut in the middle of a character is cut before it. */
	strcpy(text + COT_PROTO_NAME_MAX - 3, "\xe2\x82\xac");
	cot_tenant_set_name(&t, text);
	assert_int_equal(strlen(t.name), COT_PROTO_NAME_MAX - 3);
}

static void test_find(void **state)
{
	struct tenant *a = program(20, life_process(NULL)), *b = program(21, life_process(NULL));
	unsigned n;

	(void)state;
	cot_tenant_set_name(a, "one");
	cot_tenant_set_name(b, "two");
	assert_ptr_equal(cot_roster_tenant(&stage.roster, 20), a);
	assert_null(cot_roster_tenant(&stage.roster, 22));
	assert_null(cot_roster_tenant(&stage.roster, 0));
	assert_ptr_equal(cot_tenant_find_name(&stage.roster, "two", getuid(), &n), b);
	assert_int_equal(n, 1);
	assert_null(cot_tenant_find_name(&stage.roster, "three", getuid(), &n));
	assert_int_equal(n, 0);
	cot_tenant_set_name(b, "one");
	(void)cot_tenant_find_name(&stage.roster, "one", getuid(), &n);
	assert_int_equal(n, 2);
	(void)cot_tenant_find_name(&stage.roster, "one", 4242, &n);
	assert_int_equal(n, 2);
	b->uid = 4242; /* one's own goes before */
	assert_ptr_equal(cot_tenant_find_name(&stage.roster, "one", getuid(), &n), a);
	assert_int_equal(n, 1);
	assert_ptr_equal(cot_tenant_find_name(&stage.roster, "one", 4242, &n), b);
	assert_int_equal(n, 1);
	assert_int_equal(cot_tenant_count(&stage.roster), 2);
}

/* ---- watching ---- */

static unsigned n_ends;

static void ended(struct cot_source *source, uint32_t events)
{
	struct watch *watch = (struct watch *)((char *)source - offsetof(struct watch, source));

	(void)events;
	n_ends++;
	cot_watch_stop(&stage.basis.watches, watch);
}

static bool has_ended(void)
{
	return n_ends > 0;
}

static void test_watch(void **state)
{
	pid_t pid = life_process(NULL);
	struct watch watch;

	(void)state;
	n_ends = 0;
	assert_int_equal(cot_watch_start(&stage.basis.watches, &watch, pid, ended), 0);
	assert_int_equal(watch.pid, pid);
	assert_int_equal(watch.start_time, cot_process_start_time(pid));
	assert_true(cot_watch_is_alive(&watch));
	assert_true(cot_watch_improve(&stage.basis.watches, &watch));
	life_run(30);
	assert_int_equal(n_ends, 0);
	assert_int_equal(cot_process_parent(pid), getpid());
	life_end(pid);
	assert_false(cot_watch_is_alive(&watch));
	life_until(has_ended);
	assert_int_equal(watch.pid, 0);
	assert_int_equal(watch.source.fd, -1);
	assert_false(cot_watch_is_alive(&watch));
	assert_int_equal(cot_watch_start(&stage.basis.watches, &watch, pid, ended), -ESRCH);
	assert_int_equal(watch.pid, 0);
	assert_int_equal(cot_process_start_time(pid), 0);
	assert_int_equal(cot_process_parent(pid), 0);
}

/* A child may end before it is watched: that is told later, as any end is. */
static void test_watch_ended_child(void **state)
{
	pid_t pid = life_process(NULL);
	struct watch watch;
	siginfo_t info;

	(void)state;
	n_ends = 0;
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(cot_watch_start(&stage.basis.watches, &watch, pid, ended), -ESRCH);
	assert_int_equal(cot_watch_start_child(&stage.basis.watches, &watch, pid, ended), 0);
	assert_int_equal(n_ends, 0);
	assert_int_equal(watch.pid, pid);
	assert_false(cot_watch_is_alive(&watch));
	life_until(has_ended);
	life_end(pid);
}

/* Where there is no pidfd the process is looked after, and gets one as soon as there is one. */
static void test_watch_without_pidfd(void **state)
{
	pid_t pid = life_process(NULL);
	struct watch watch = {.source = {.fd = -1, .ready = ended},
			      .pid = pid,
			      .start_time = cot_process_start_time(pid)};

	(void)state;
	n_ends = 0;
	assert_true(cot_watch_is_alive(&watch));
	watch.start_time++;
	assert_false(cot_watch_is_alive(&watch));
	watch.start_time--;
	assert_true(cot_watch_improve(&stage.basis.watches, &watch));
	assert_true(watch.source.fd >= 0);
	assert_false(cot_watch_reap(&stage.basis.watches, &watch)); /* the loop tells of its end */
	assert_int_equal(n_ends, 0);
	life_end(pid);
	life_until(has_ended);
	watch = (struct watch){.source = {.fd = -1, .ready = ended}, .pid = pid, .start_time = 1};
	assert_false(cot_watch_improve(&stage.basis.watches, &watch));
	assert_false(cot_watch_reap(&stage.basis.watches, &watch));
	assert_int_equal(n_ends, 2);
}

/* The loop takes no descriptor now. */
static int break_loop(void)
{
	int was = stage.basis.loop.epoll_fd;

	stage.basis.loop.epoll_fd = -1;
	return was;
}

/* Until it can be watched a process is looked after twice a second. */
static void test_poll(void **state)
{
	pid_t pid = life_process(NULL), other = life_process(NULL);
	struct tenant *t = program(20, other);
	uint64_t now_ns = cot_now_ns();
	struct watch watch;
	unsigned n;
	int was;

	(void)state;
	cot_outlive_begin(&stage.roster);
	n = count_fds();
	was = break_loop();
	assert_int_equal(cot_watch_start(&stage.basis.watches, &watch, pid, ended), 0);
	assert_int_equal(watch.pid, pid);
	assert_int_equal(watch.source.fd, -1);
	assert_false(cot_watch_improve(&stage.basis.watches, &watch));
	assert_true(cot_watch_reap(&stage.basis.watches, &watch));
	assert_int_equal(count_fds(), n);
	assert_true(stage.basis.watches.poll.armed);
	assert_in_range(stage.basis.watches.poll.due_ns, now_ns + 500 * COT_NS_PER_MS,
			cot_now_ns() + 500 * COT_NS_PER_MS);
	now_ns = stage.basis.watches.poll.due_ns;
	assert_int_equal(cot_tenant_watch(t, other, cot_process_start_time(other)), 0);
	assert_int_equal(stage.basis.watches.poll.due_ns, now_ns); /* it goes on as it was */
	cot_timer_clear(&stage.basis.watches.poll);
	stage.basis.watches.poll.fire(&stage.basis.watches.poll, 1000);
	assert_int_equal(stage.basis.watches.poll.due_ns, 1000 + 500 * COT_NS_PER_MS);
	assert_int_equal(t->watch.pid, other);
	life_end(other);
	stage.basis.watches.poll.fire(&stage.basis.watches.poll, 1000);
	assert_int_equal(t->watch.pid, 0);
	assert_int_equal(t->search, SEARCH_RUNNING);
	stage.basis.loop.epoll_fd = was;
	cot_timer_clear(&stage.basis.watches.poll);
	stage.basis.watches.poll.fire(&stage.basis.watches.poll, 1000);
	assert_false(stage.basis.watches.poll.armed); /* there is nothing left to look after */
	cot_watch_stop(&stage.basis.watches, &watch);
}

static void test_watch_peer(void **state)
{
	pid_t pid = life_process(NULL), own = life_process(NULL);
	struct conn c = {.pid = pid, .pidfd = -1, .start_time = cot_process_start_time(pid)};
	struct tenant *t = program(20, own);
	unsigned n;
	int was;

	(void)state;
	cot_watch_stop(&stage.basis.watches, &t->watch);
	n = count_fds();
	assert_int_equal(cot_tenant_watch_peer(t, &c), 0);
	assert_int_equal(t->watch.pid, pid);
	assert_int_equal(t->watch.start_time, c.start_time);
	cot_watch_stop(&stage.basis.watches, &t->watch);
	c.start_time++;
	assert_int_equal(cot_tenant_watch_peer(t, &c), -ESRCH);
	assert_int_equal(t->watch.pid, 0);
	c.start_time = 0;
	assert_int_equal(cot_tenant_watch_peer(t, &c), -ESRCH);
	c.start_time = 77; /* what the peer says: with a pidfd nobody else can be meant */
	c.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	assert_int_equal(cot_tenant_watch_peer(t, &c), 0);
	assert_int_equal(t->watch.pid, pid);
	assert_int_equal(t->watch.start_time, 77);
	assert_int_not_equal(t->watch.source.fd, c.pidfd);
	cot_watch_stop(&stage.basis.watches, &t->watch);
	was = break_loop();
	assert_true(cot_tenant_watch_peer(t, &c) < 0);
	stage.basis.loop.epoll_fd = was;
	assert_int_equal(t->watch.pid, 0);
	assert_int_equal(t->watch.source.fd, -1);
	life_end(pid);
	assert_int_equal(cot_tenant_watch_peer(t, &c), -ESRCH);
	(void)close(c.pidfd);
	assert_int_equal(count_fds(), n);
}

/* The twenty-second word of its line. */
static void test_start_time(void **state)
{
	pid_t pid = life_process(NULL);
	unsigned long long start = 0;
	char path[64], line[1024];
	const char *at;
	unsigned i;
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	(void)fclose(f);
	for (at = strrchr(line, ')'), i = 2; i < 22; i++)
		at = strchr(at + 1, ' ');
	assert_int_equal(sscanf(at, "%llu", &start), 1);
	assert_int_equal(cot_process_start_time(pid), start);
}

static void test_watch_another(void **state)
{
	pid_t pid = life_process(NULL);
	struct tenant *t = program(20, pid);

	(void)state;
	stage.roster.state.dirty = false;
	assert_int_equal(cot_tenant_watch(t, pid, cot_process_start_time(pid) + 1), -ESRCH);
	assert_int_equal(t->watch.pid, 0);
	assert_false(stage.roster.state.dirty);
	assert_int_equal(cot_tenant_watch(t, pid, cot_process_start_time(pid)), 0);
	assert_int_equal(t->watch.pid, pid);
	assert_true(stage.roster.state.dirty);
}

/* ---- the end ---- */

static bool is_empty(void)
{
	return !cot_tenant_count(&stage.roster);
}

static pid_t heir;

static bool is_inherited(void)
{
	struct tenant *t = cot_roster_tenant(&stage.roster, 20);

	return t && t->watch.pid == heir && t->search == SEARCH_SETTLED;
}

static void test_heir(void **state)
{
	const char *other[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=21", NULL};
	pid_t first = life_process(env_20);

	(void)state;
	heir = life_process(env_20);
	(void)life_process(other);
	(void)program(20, first);
	life_end(first);
	life_until(is_inherited);
	assert_null(strstr(stage_log(), "ended"));
	life_end(heir);
	life_until(is_empty);
	assert_non_null(strstr(stage_log(), "ended"));
	assert_true(stage.roster.state.dirty);
	assert_false(stage.roster.outlive.asked);
	assert_false(stage.roster.outlive.timer.armed);
}

/* Of several it is the oldest, which lives longest. */
static void test_oldest(void **state)
{
	pid_t first = life_process(env_20);

	(void)state;
	heir = life_process(env_20);
	usleep(30000); /* a tick of the clock that /proc shows */
	(void)life_process(env_20);
	(void)program(20, first);
	life_end(first);
	life_until(is_inherited);
}

static bool is_not_watched(void)
{
	return !cot_roster_tenant(&stage.roster, 20)->watch.pid;
}

static bool is_settled(void)
{
	return cot_roster_tenant(&stage.roster, 20)->search == SEARCH_SETTLED;
}

static void test_connection_keeps(void **state)
{
	pid_t pid = life_process(NULL);
	struct tenant *t = program(20, pid);

	(void)state;
	t->n_conns = 1;
	life_end(pid);
	life_until(is_not_watched);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
	assert_int_equal(t->search, SEARCH_SETTLED);
	t->n_conns = 0;
	cot_tenant_check(t);
	assert_int_equal(cot_tenant_count(&stage.roster), 1); /* it is looked for */
	life_until(is_empty);
}

/* A search that finds nothing meets one that has connected meanwhile. */
static void test_connection_comes(void **state)
{
	pid_t pid = life_process(NULL);
	struct tenant *t = program(20, pid);

	(void)state;
	life_end(pid);
	cot_tenant_check(t);
	assert_int_equal(t->search, SEARCH_RUNNING);
	t->n_conns = 1;
	life_until(is_settled);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
}

static void test_by_itself(void **state)
{
	pid_t pid = life_process(env_20);
	struct tenant *t;

	(void)state;
	(void)life_process(env_20);
	t = program(20, pid);
	t->by_itself = true;
	t->had_groups = true;
	cot_tenant_check(t);
	assert_int_equal(cot_tenant_count(&stage.roster), 1);
	life_end(pid);
	cot_tenant_check(t);
	assert_int_equal(cot_tenant_count(&stage.roster), 0);
}

static void test_many_ends(void **state)
{
	pid_t pids[12];
	unsigned i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(pids); i++) {
		pids[i] = life_process(NULL);
		(void)program(100 + i, pids[i]);
	}
	for (i = 0; i < COT_ARRAY_LEN(pids); i++) {
		life_end(pids[i]);
		life_run(7);
	}
	life_until(is_empty);
}

static void test_leaves_pool(void **state)
{
	pid_t pid = life_process(NULL), control = life_process(NULL);
	struct tenant *t;

	(void)state;
	p = cot_pool_take(&stage.roster, 3, COT_CLASS_BATCH, false, 0);
	cot_pool_adopt(p, control, cot_process_start_time(control));
	assert_int_equal(cot_tenant_restore(&stage.roster, &(struct tenant){.id = 20, .uid = 4242},
					    true, &t),
			 0);
	t->pool = p;
	t->weight = 100;
	t->gpu_mask = 1;
	cot_tenant_set_name(t, "gone");
	cot_tenant_announce(t);
	assert_int_equal(p->n_tenants, 1);
	assert_int_equal(p->uid, 4242);
	assert_int_equal(cot_tenant_watch(t, pid, cot_process_start_time(pid)), 0);
	stage.roster.state.dirty = false;
	cot_tenant_end(t);
	assert_int_equal(p->n_tenants, 0);
	assert_string_equal(p->ended, "gone");
	assert_true(stage.roster.state.dirty);
	assert_null(cot_sched_entity(cot_host_sched(stage.basis.host), 20));
}

static void test_exit_idle(void **state)
{
	struct tenant *t = program(20, life_process(NULL)), *u = program(21, life_process(NULL));
	uint64_t now_ns = cot_now_ns();

	(void)state;
	stage.roster.exit_idle_ms = 7000;
	cot_tenant_end(t);
	assert_false(stage.roster.idle.armed);
	cot_tenant_end(u);
	assert_true(stage.roster.idle.armed);
	assert_in_range(stage.roster.idle.due_ns, now_ns + 7 * COT_NS_PER_S,
			cot_now_ns() + 7 * COT_NS_PER_S);
	(void)program(22, life_process(NULL));
	assert_false(stage.roster.idle.armed);
}

/* ---- what the core is told ---- */

static enum cot_activity activity(uint32_t id)
{
	return cot_sched_entity(cot_host_sched(stage.basis.host), id)->activity;
}

/* Stopped by a signal and late with an answer: it counts as idle until it goes on. */
static void test_stops(void **state)
{
	pid_t pid = life_process(NULL), other = life_process(NULL);
	struct tenant *t = program(20, pid), *u = program(21, other);
	struct conn *a = &stage.conns.all[0], *b = &stage.conns.all[1], *c = &stage.conns.all[2];

	(void)state;
	*a = (struct conn){.basis = &stage.basis,
			   .in = &stage.conns,
			   .source = {.fd = 0},
			   .pid = pid,
			   .tenant = t};
	*b = *c = *a;
	b->pid = c->pid = other;
	c->tenant = u;
	a->settled = b->settled = c->settled = true;
	cot_tenant_update(t);
	a->late = b->late = c->late = true;
	cot_tenant_check_stops(&stage.roster.stops, cot_now_ns());
	assert_false(t->stopped || u->stopped || a->late || c->late);
	assert_false(stage.roster.stops.armed);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	assert_int_equal(waitpid(pid, NULL, WUNTRACED), pid);
	a->late = b->late = true;
	cot_tenant_check_stops(&stage.roster.stops, cot_now_ns());
	assert_false(t->stopped); /* its other process is not */
	assert_int_equal(kill(other, SIGSTOP), 0);
	assert_int_equal(waitpid(other, NULL, WUNTRACED), other);
	a->late = b->late = true;
	cot_tenant_check_stops(&stage.roster.stops, 1000);
	assert_true(t->stopped);
	assert_false(u->stopped); /* it was not late */
	assert_int_equal(activity(20), COT_ACTIVITY_IDLE);
	assert_true(stage.roster.stops.armed);
	assert_int_equal(stage.roster.stops.due_ns, 1000 + 200 * COT_NS_PER_MS);
	assert_non_null(strstr(stage_log(), "was stopped by a signal"));
	cot_timer_clear(&stage.roster.stops);
	b->late = false; /* it has answered */
	cot_tenant_check_stops(&stage.roster.stops, cot_now_ns());
	assert_false(t->stopped);
	assert_int_equal(activity(20), COT_ACTIVITY_UNKNOWN);
	assert_non_null(strstr(stage_log(), "goes on"));
	assert_false(stage.roster.stops.armed);
}

static void test_update(void **state)
{
	struct tenant *t = program(20, life_process(NULL));
	struct conn *c = &stage.conns.all[5];

	(void)state;
	*c = (struct conn){
		.basis = &stage.basis, .in = &stage.conns, .source = {.fd = 0}, .tenant = t};
	stage.roster.state.dirty = false;
	cot_tenant_update(t);
	assert_false(t->ready);
	assert_true(stage.roster.state.dirty);
	c->settled = true;
	t->cls = COT_CLASS_LATENCY;
	cot_tenant_update(t);
	assert_true(t->ready);
	c->source.fd = -1;
	cot_tenant_update(t);
	assert_false(t->ready);
}

#define LIFE(test) cmocka_unit_test_setup_teardown(test, life_setup, life_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		LIFE(test_find),
		LIFE(test_watch),
		LIFE(test_watch_ended_child),
		LIFE(test_watch_without_pidfd),
		LIFE(test_poll),
		LIFE(test_watch_peer),
		LIFE(test_start_time),
		LIFE(test_watch_another),
		LIFE(test_heir),
		LIFE(test_oldest),
		LIFE(test_connection_keeps),
		LIFE(test_connection_comes),
		LIFE(test_by_itself),
		LIFE(test_many_ends),
		LIFE(test_leaves_pool),
		LIFE(test_exit_idle),
		LIFE(test_stops),
		LIFE(test_update),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
