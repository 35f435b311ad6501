/* The event loop: order of timers, and sources that go away while their event waits. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "daemon/loop.h"
#include "in_a_child.h"
#include "test.h"

#define MS 1000000ull

static struct cot_loop loop;
static char fired[16];
static unsigned n_fired, n_rounds;

struct letter {
	struct cot_timer timer;
	char name;
};

static void fire(struct cot_timer *timer, uint64_t now_ns)
{
	struct letter *l = (struct letter *)timer;

	assert_true(now_ns >= timer->due_ns);
	fired[n_fired++] = l->name;
	if (l->name == 'z')
		loop.quit = true;
}

static void set(struct letter *l, char name, uint64_t in_ns)
{
	l->name = name;
	l->timer.fire = fire;
	cot_timer_set(&loop, &l->timer, cot_now_ns() + in_ns);
}

static int setup(void **state)
{
	(void)state;
	n_fired = n_rounds = 0;
	return cot_loop_init(&loop);
}

static int teardown(void **state)
{
	(void)state;
	cot_loop_finish(&loop);
	return 0;
}

static void test_timers_in_order(void **state)
{
	struct letter a = {.name = 0}, b = {.name = 0}, c = {.name = 0}, d = {.name = 0},
		      z = {.name = 0};

	(void)state;
	set(&c, 'c', 6 * MS);
	set(&a, 'a', 2 * MS);
	set(&z, 'z', 9 * MS);
	set(&b, 'b', 4 * MS);
	set(&d, 'd', 1 * MS);
	cot_timer_clear(&d.timer);
	cot_timer_clear(&d.timer);
	set(&a, 'a', 5 * MS); /* moved */
	assert_int_equal(cot_loop_run(&loop), 0);
	fired[n_fired] = '\0';
	assert_string_equal(fired, "bacz");
	assert_null(loop.timers);
}

static struct cot_source first, second;

/* Whichever comes first takes both away: the other's event must be lost. */
static void remove_both(struct cot_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	n_fired++;
	cot_loop_remove(&loop, &first);
	cot_loop_remove(&loop, &second);
	(void)close(first.fd);
	(void)close(second.fd);
}

static void test_removed_in_the_same_round(void **state)
{
	struct letter z = {.name = 0};

	(void)state;
	first = (struct cot_source){.fd = eventfd(1, EFD_CLOEXEC), .ready = remove_both};
	second = (struct cot_source){.fd = eventfd(1, EFD_CLOEXEC), .ready = remove_both};
	assert_int_equal(cot_loop_add(&loop, &first, EPOLLIN), 0);
	assert_int_equal(cot_loop_add(&loop, &second, EPOLLIN), 0);
	set(&z, 'z', 5 * MS);
	n_fired = 0;
	assert_int_equal(cot_loop_run(&loop), 0);
	assert_int_equal(n_fired, 2); /* one source, and the timer */
}

static void count_rounds(void *arg)
{
	(void)arg;
	n_rounds++;
}

/* With nothing to do it sleeps: no wake-ups but the one that is asked for. */
static void test_sleeps(void **state)
{
	struct letter z = {.name = 0};

	(void)state;
	loop.settle = count_rounds;
	set(&z, 'z', 100 * MS);
	assert_int_equal(cot_loop_run(&loop), 0);
	assert_true(n_rounds <= 2);
}

/* ---- deadlines beside descriptors that are always ready ---- */

#define BUSY 8

static struct cot_source busy[BUSY];

static void pass_ms(unsigned n)
{
	uint64_t until_ns = cot_now_ns() + n * MS;

	while (cot_now_ns() < until_ns)
		continue;
}

/* It stays ready. */
static void work_2_ms(struct cot_source *source, uint32_t events)
{
	(void)source;
	(void)events;
	n_rounds++;
	pass_ms(2);
}

static void make_busy(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		busy[i] = (struct cot_source){.fd = eventfd(1, EFD_CLOEXEC), .ready = work_2_ms};
		assert_int_equal(cot_loop_add(&loop, &busy[i], EPOLLIN), 0);
	}
}

static void end_busy(unsigned n)
{
	unsigned i;

	for (i = 0; i < n; i++) {
		cot_loop_remove(&loop, &busy[i]);
		(void)close(busy[i].fd);
	}
}

/* A round of 16 ms has deadlines in between: what fires first ends the loop, in the first round. */
static void test_timers_in_a_long_round(void **state)
{
	struct letter z = {.name = 0};

	(void)state;
	make_busy(BUSY);
	set(&z, 'z', 1 * MS);
	assert_int_equal(cot_loop_run(&loop), 0);
	end_busy(BUSY);
	assert_int_equal(n_fired, 1);
	assert_true(loop.lateness.worst_ns >= 1 * MS); /* the pulse is 5 ms */
	assert_int_equal(n_rounds, BUSY);	       /* the rest of the round is not forgotten */
}

static unsigned n_settled;

static void count_settled(void *arg)
{
	(void)arg;
	n_settled++;
}

static void fire_in_round(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	fired[n_fired++] = (char)('0' + n_rounds);
}

/* Which of the round's descriptors had been served when it fired: not all. */
static void test_settles_in_a_long_round(void **state)
{
	struct cot_timer t = {.fire = fire_in_round};
	struct letter z = {.name = 0};

	(void)state;
	loop.settle = count_settled;
	n_settled = 0;
	make_busy(BUSY);
	cot_timer_set(&loop, &t, cot_now_ns());
	set(&z, 'z', 6 * MS);
	assert_int_equal(cot_loop_run(&loop), 0);
	end_busy(BUSY);
	assert_true(fired[0] > '0' && fired[0] < '0' + BUSY);
	assert_true(n_settled >= 3); /* before the round, and twice in it */
}

/* What we have waited for a processor; 0 where the kernel does not say. */
static uint64_t now_waited_ns(void)
{
	FILE *f = fopen("/proc/thread-self/schedstat", "re");
	unsigned long waited = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%*u %lu", &waited) != 1)
		waited = 0;
	(void)fclose(f);
	return waited;
}

static void hold_up(struct cot_timer *timer, uint64_t now_ns)
{
	(void)timer;
	(void)now_ns;
	(void)usleep(30000);
}

static void test_lateness(void **state)
{
	struct cot_timer slow = {.fire = hold_up};
	struct letter a = {.name = 0}, z = {.name = 0};
	uint64_t waited_ns = now_waited_ns();

	(void)state;
	set(&z, 'z', 40 * MS);
	set(&a, 'a', 2 * MS);
	cot_timer_set(&loop, &slow, a.timer.due_ns - 1 * MS); /* before it, in any case */
	assert_int_equal(cot_loop_run(&loop), 0);
	assert_true(loop.lateness.worst_ns >= 29 * MS);
	assert_true(loop.lateness.worst_own_ns <= loop.lateness.worst_ns);
	/* To sleep is our own fault; to wait for a processor then is not. */
	waited_ns = now_waited_ns() - waited_ns;
	assert_true(loop.lateness.worst_own_ns + waited_ns >= 28 * MS);
	if (waited_ns < 5 * MS)
		assert_in_range(loop.lateness.n_late, 1, 2);
}

static int schedstat = -1;

static void say_waited(uint64_t ns)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "1 %lu 1\n", (unsigned long)ns);

	assert_int_equal(pwrite(schedstat, text, (size_t)n, 0), n);
}

/* The processor was given to others, as the kernel says. */
static void wait_for_others(struct cot_timer *timer, uint64_t now_ns)
{
	hold_up(timer, now_ns);
	say_waited(30000 * MS);
}

/* The machine's load is told apart from what the daemon does itself. */
static void test_lateness_of_the_machine(void **state)
{
	struct cot_timer slow = {.fire = wait_for_others};
	struct letter a = {.name = 0}, z = {.name = 0};
	uint64_t before_ns = cot_now_ns(), n_waited;

	(void)state;
	schedstat = memfd_create("schedstat", MFD_CLOEXEC);
	assert_true(schedstat >= 0);
	say_waited(20000 * MS);
	(void)close(loop.schedstat_fd);
	loop.schedstat_fd = schedstat;
	loop.waited_ns = 10000 * MS;
	set(&a, 'a', 2 * MS);
	set(&z, 'z', 3 * MS);
	cot_timer_set(&loop, &slow, a.timer.due_ns - 1 * MS);
	assert_int_equal(cot_loop_run(&loop), 0);
	assert_true(loop.lateness.worst_ns >= 20 * MS);
	assert_int_equal(loop.lateness.n_late, 0);
	assert_int_equal(loop.lateness.last_ns, 0);
	n_waited = loop.lateness.n_waited;
	assert_true(n_waited >= 2);
	assert_in_range(loop.lateness.last_waited_ns, before_ns, cot_now_ns());
	/* Nobody else had it: the same again is our own fault. */
	slow.fire = hold_up;
	loop.waited_ns = 30000 * MS;
	loop.quit = false;
	n_fired = 0;
	set(&z, 'z', 3 * MS);
	cot_timer_set(&loop, &slow, z.timer.due_ns - 1 * MS);
	assert_int_equal(cot_loop_run(&loop), 0);
	assert_true(loop.lateness.n_late >= 1);
	assert_in_range(loop.lateness.last_ns, before_ns, cot_now_ns());
	assert_int_equal(loop.lateness.n_waited, n_waited);
}

/* One that is set when its time has passed is not late for that. */
static void test_set_late_is_not_late(void **state)
{
	struct letter z = {.name = 'z', .timer = {.fire = fire}};

	(void)state;
	cot_timer_set(&loop, &z.timer, 1);
	assert_int_equal(cot_loop_run(&loop), 0);
	assert_int_equal(loop.lateness.n_late, 0);
}

/* ---- life ---- */

/* It takes three descriptors, one of which it can do without; what it cannot use it gives back. */
static int check_descriptors(void)
{
	struct rlimit few = {32, 32};
	uint64_t now_ns, able_ns;
	struct cot_loop l;
	int fd, n;

	CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
	for (n = 0; n <= 3; n++) {
		while ((fd = dup(STDERR_FILENO)) >= 0)
			continue;
		for (fd = 0; fd < n; fd++)
			(void)close(31 - fd);
		CHECK(cot_loop_init(&l) == (n < 3 ? -EMFILE : 0));
		if (n < 3) {
			CHECK(l.schedstat_fd == -1 && l.epoll_fd == -1 && l.clock.fd == -1);
			for (fd = 0; fd < n; fd++)
				CHECK(dup(STDERR_FILENO) >= 0);
			CHECK(dup(STDERR_FILENO) == -1);
		}
	}
	CHECK(fcntl(l.epoll_fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(l.clock.fd, F_GETFD) & FD_CLOEXEC);
	CHECK(fcntl(l.clock.fd, F_GETFL) & O_NONBLOCK);
	CHECK(fcntl(l.schedstat_fd, F_GETFD) & FD_CLOEXEC);
	now_ns = cot_now_ns();
	able_ns = cot_loop_able_ns(&l) + l.waited_ns;
	CHECK(now_ns <= able_ns && able_ns <= cot_now_ns());
	cot_loop_finish(&l);
	cot_loop_finish(&l);
	for (fd = 0; fd < 3; fd++)
		CHECK(dup(STDERR_FILENO) >= 0);
	CHECK(dup(STDERR_FILENO) == -1);
	return 0;
}

static void test_descriptors(void **state)
{
	(void)state;
	in_a_child(check_descriptors);
}

/* A loop whose own descriptor is gone says so. */
static int check_broken(void)
{
	struct cot_source source = {.fd = eventfd(0, EFD_CLOEXEC)};
	struct cot_loop l;

	CHECK(cot_loop_init(&l) == 0);
	CHECK(cot_loop_change(&l, &source, EPOLLIN) == -ENOENT);
	(void)close(l.epoll_fd);
	CHECK(cot_loop_run(&l) == -EBADF);
	return 0;
}

static void test_broken(void **state)
{
	(void)state;
	in_a_child(check_broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_broken),
		cmocka_unit_test_setup_teardown(test_timers_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removed_in_the_same_round, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sleeps, setup, teardown),
		cmocka_unit_test_setup_teardown(test_timers_in_a_long_round, setup, teardown),
		cmocka_unit_test_setup_teardown(test_settles_in_a_long_round, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lateness, setup, teardown),
		cmocka_unit_test_setup_teardown(test_lateness_of_the_machine, setup, teardown),
		cmocka_unit_test_setup_teardown(test_set_late_is_not_late, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
