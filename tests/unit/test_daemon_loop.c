/* The event loop: order of timers, and sources that go away while their event waits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/loop.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_timers_in_order, setup, teardown),
		cmocka_unit_test_setup_teardown(test_removed_in_the_same_round, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sleeps, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
