/* Whose fault a late deadline is: of given numbers, and of a process that is stopped while it
 * sleeps. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "test.h"

#define MS 1000000ull
#define S  1000000000ull

static struct cot_lateness of(uint64_t late_ms, uint64_t work_ms, uint64_t waited_ms)
{
	struct cot_delay d = {
		.late_ns = late_ms * MS, .work_ns = work_ms * MS, .waited_ns = waited_ms * MS};
	struct cot_lateness l = {0};

	cot_lateness_count(&l, &d, 7 * S);
	return l;
}

static void test_own(void **state)
{
	struct cot_lateness l = of(34, 20, 14);

	(void)state;
	assert_int_equal(l.n_late, 1);
	assert_int_equal(l.last_ns, 7 * S);
	assert_int_equal(l.n_waited + l.n_stolen, 0);
	assert_int_equal(l.worst_ns, 34 * MS);
	assert_int_equal(l.worst_own_ns, 20 * MS);
	/* Measured from before the deadline. */
	assert_int_equal(of(34, 90, 0).worst_own_ns, 34 * MS);
}

static void test_waited(void **state)
{
	struct cot_lateness l = of(34, 19, 9);

	(void)state;
	assert_int_equal(l.n_waited, 1);
	assert_int_equal(l.last_waited_ns, 7 * S);
	assert_int_equal(l.n_late + l.n_stolen, 0);
	assert_int_equal(of(34, 0, 500).n_waited, 1);
}

static void test_stolen(void **state)
{
	struct cot_lateness l = of(34, 1, 9);

	(void)state;
	assert_int_equal(l.n_stolen, 1);
	assert_int_equal(l.last_stolen_ns, 7 * S);
	assert_int_equal(l.n_late + l.n_waited, 0);
	assert_int_equal(l.worst_own_ns, 1 * MS);
	assert_int_equal(of(20, 0, 0).n_stolen, 1);
}

static void test_in_time(void **state)
{
	struct cot_lateness l = of(19, 19, 0);

	(void)state;
	assert_int_equal(l.n_late + l.n_waited + l.n_stolen, 0);
	assert_int_equal(l.worst_own_ns, 19 * MS);
}

static void test_worst_stays(void **state)
{
	struct cot_lateness l = of(34, 30, 0);

	(void)state;
	cot_lateness_count(&l, &(struct cot_delay){.late_ns = 25 * MS, .work_ns = 21 * MS}, 8 * S);
	assert_int_equal(l.n_late, 2);
	assert_int_equal(l.last_ns, 8 * S);
	assert_int_equal(l.worst_ns, 34 * MS);
	assert_int_equal(l.worst_own_ns, 30 * MS);
}

static void test_spells(void **state)
{
	struct cot_spell begin = {.began_ns = 1 * S, .cpu_ns = 5 * S, .n_blocked = 40};
	struct cot_spell end = {
		.began_ns = 1 * S + 50 * MS, .cpu_ns = 5 * S + 8 * MS, .n_blocked = 40};

	(void)state;
	/* It did not block: what it had of a processor. */
	assert_int_equal(cot_spell_between_ns(&begin, &end, 0), 8 * MS);
	assert_int_equal(cot_spell_between_ns(&begin, &end, 3 * MS), 8 * MS);
	/* It did: all but what it waited. */
	end.n_blocked++;
	assert_int_equal(cot_spell_between_ns(&begin, &end, 0), 50 * MS);
	assert_int_equal(cot_spell_between_ns(&begin, &end, 12 * MS), 38 * MS);
	assert_int_equal(cot_spell_between_ns(&begin, &end, 60 * MS), 0);
	/* No more than the time that has passed, whatever its clock says. */
	end.n_blocked--;
	end.cpu_ns = 6 * S;
	assert_int_equal(cot_spell_between_ns(&begin, &end, 0), 50 * MS);
}

static void test_a_spell_of_ours(void **state)
{
	struct cot_spell s;

	(void)state;
	cot_spell_begin(&s);
	while (cot_spell_work_ns(&s, 0) < 2 * MS)
		continue;
	/* To sleep is our own fault. */
	cot_spell_begin(&s);
	(void)usleep(3000);
	assert_true(cot_spell_work_ns(&s, 0) >= 3 * MS);
}

/* ---- a process that is stopped while it sleeps ---- */

static struct cot_loop loop;

static void end_loop(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	loop.quit = true;
}

struct told {
	uint64_t due_ns;
	struct cot_lateness lateness;
};

/* Says when its deadline is, sleeps until then, and says how late it was. */
static void sleep_for(uint64_t ns, int out)
{
	struct cot_timer timer = {.fire = end_loop};
	struct told told = {0};

	alarm(60);
	if (cot_loop_init(&loop) < 0)
		_exit(1);
	told.due_ns = cot_now_ns() + ns;
	cot_timer_set(&loop, &timer, told.due_ns);
	(void)!write(out, &told, sizeof(told));
	if (cot_loop_run(&loop) < 0)
		_exit(1);
	told.lateness = loop.lateness;
	(void)!write(out, &told, sizeof(told));
	_exit(0);
}

static char state_of(pid_t pid)
{
	char path[64], text[512] = "", *end;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	assert_non_null(f);
	(void)!fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	end = strrchr(text, ')');
	return end ? end[2] : '?';
}

static void wait_for_state(pid_t pid, char wanted)
{
	while (state_of(pid) != wanted)
		(void)usleep(500);
}

/* False: this machine was too slow, it was not stopped before its deadline. */
static bool stop_asleep(uint64_t ns, struct cot_lateness *ret)
{
	struct told told;
	bool in_time;
	int ends[2];
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid)
		sleep_for(ns, ends[1]);
	assert_int_equal(read(ends[0], &told, sizeof(told)), sizeof(told));
	while (state_of(pid) != 'S' && cot_now_ns() < told.due_ns)
		(void)usleep(500);
	assert_int_equal(kill(pid, SIGSTOP), 0);
	in_time = cot_now_ns() < told.due_ns;
	if (in_time) {
		wait_for_state(pid, 'T');
		while (cot_now_ns() < told.due_ns + 2 * COT_LATE_NS)
			(void)usleep(1000);
	}
	assert_int_equal(kill(pid, SIGCONT), 0);
	assert_int_equal(read(ends[0], &told, sizeof(told)), sizeof(told));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	(void)close(ends[0]);
	(void)close(ends[1]);
	*ret = told.lateness;
	return in_time;
}

static void test_stopped_asleep(void **state)
{
	struct cot_lateness l;
	uint64_t ns = 50 * MS;

	(void)state;
	while (!stop_asleep(ns, &l))
		ns *= 2;
	assert_true(l.worst_ns >= 2 * COT_LATE_NS);
	assert_true(l.worst_own_ns < l.worst_ns);
	assert_int_equal(l.n_late, 0);
	/* Afterwards it may have waited for a processor even longer. */
	assert_int_equal(l.n_stolen + l.n_waited, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_waited),
		cmocka_unit_test(test_stolen),
		cmocka_unit_test(test_in_time),
		cmocka_unit_test(test_worst_stays),
		cmocka_unit_test(test_spells),
		cmocka_unit_test(test_a_spell_of_ours),
		cmocka_unit_test(test_stopped_asleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
