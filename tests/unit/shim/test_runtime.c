/*
 * The threads of the shim: how they are started and stopped, and how threads wait for each other.
 * The unit is in a shared library, so its source is here; the threads, the system's calls and the
 * clock are played.
 */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "locked.h"
#include "no_merge.h"
#include "notes.h"

static int played_atexit(void (*function)(void));
static long played_syscall(long number, ...);
static int played_yield(void);
static int played_nanosleep(const struct timespec *t, struct timespec *left);
static int played_prctl(int what, const char *name);

#define atexit	    played_atexit
#define syscall	    played_syscall
#define sched_yield played_yield
#define nanosleep   played_nanosleep
#define prctl	    played_prctl
#include "guest/shim/runtime.c"
#include "guest/shim/wait.c"
#undef atexit
#undef syscall
#undef sched_yield
#undef nanosleep
#undef prctl

#define START (100 * COT_NS_PER_S)
#define US    1000ull

void *cot_real_cuThreadExchangeStreamCaptureMode;

/* ---- the system ---- */

static uint64_t now_ns;
static void (*at_exit)(void), (*meanwhile)(void);
static int exit_result;

uint64_t cot_now_ns(void)
{
	return now_ns;
}

static int played_atexit(void (*function)(void))
{
	if (!exit_result)
		at_exit = function;
	note("at exit;");
	return exit_result;
}

/* A futex: what it waits for, and how long. */
static long played_syscall(long number, ...)
{
	const struct timespec *t;
	uint32_t *word, value;
	va_list ap;
	int what;

	assert_int_equal(number, SYS_futex);
	va_start(ap, number);
	word = va_arg(ap, uint32_t *);
	what = va_arg(ap, int);
	value = va_arg(ap, uint32_t);
	t = va_arg(ap, const struct timespec *);
	va_end(ap);
	if (what == FUTEX_WAKE_PRIVATE) {
		assert_int_equal(value, INT_MAX);
		note("wake;");
		return 0;
	}
	assert_int_equal(what, FUTEX_WAIT_PRIVATE);
	assert_int_equal(value, *word);
	assert_false(is_locked(&cot_shim_lock));
	if (t)
		note("wait %u us;", (unsigned)(t->tv_sec * 1000000 + t->tv_nsec / 1000));
	else
		note("wait;");
	if (meanwhile)
		meanwhile();
	return 0;
}

static int played_yield(void)
{
	assert_false(is_locked(&cot_shim_lock));
	now_ns += 10 * US;
	note("yield;");
	if (meanwhile)
		meanwhile();
	return 0;
}

static int played_nanosleep(const struct timespec *t, struct timespec *left)
{
	assert_null(left);
	now_ns += (uint64_t)t->tv_sec * COT_NS_PER_S + (uint64_t)t->tv_nsec;
	if (meanwhile)
		meanwhile();
	return 0;
}

static int played_prctl(int what, const char *name)
{
	assert_int_equal(what, PR_SET_NAME);
	note("called %s;", name);
	return 0;
}

/* ---- the rest of the shim ---- */

static void *(*bodies[2])(void *);
static void *arguments[2];
static unsigned n_started, n_may_start, n_counts;
static int wake_result;
static struct cot_shim_gpu gpus[2];

int cot_thread_start(size_t stack, void *(*body)(void *), void *arg)
{
	assert_int_equal(stack, COT_STACK_DRIVER);
	if (n_started == n_may_start)
		return -EAGAIN;
	assert_true(n_started < 2);
	bodies[n_started] = body;
	arguments[n_started++] = arg;
	return 0;
}

int cot_wake_open(struct cot_wake *w)
{
	assert_ptr_equal(w, &cot_shim_to_listen);
	note("open;");
	w->ring.fd = wake_result ? -1 : 7;
	return wake_result;
}

void cot_wake_close(struct cot_wake *w)
{
	assert_ptr_equal(w, &cot_shim_to_listen);
	note("close;");
	w->ring.fd = -1;
}

void cot_wake_ring(struct cot_wake *w)
{
	assert_ptr_equal(w, &cot_shim_to_listen);
	note("ring;");
}

static int exchange_mode(int *mode)
{
	note("mode %d;", *mode);
	return 0;
}

void cot_shim_listen(void)
{
	assert_true(is_locked(&cot_shim_lock));
	note("listen;");
}

void cot_shim_watch(void)
{
	assert_true(is_locked(&cot_shim_lock));
	note("watch;");
}

void cot_shim_watch_forget(void)
{
	note("forget;");
}

struct cot_shim_gpu *cot_shim_gpus_first(void)
{
	return &gpus[0];
}

void cot_shim_gpu_send_counts(struct cot_shim_gpu *g, uint64_t now, bool always)
{
	assert_true(is_locked(&cot_shim_lock));
	assert_int_equal(now, now_ns);
	assert_true(always);
	assert_ptr_equal(g, &gpus[n_counts]);
	n_counts++;
}

static int set_up(void **state)
{
	(void)state;
	cot_real_cuThreadExchangeStreamCaptureMode = (void *)(uintptr_t)exchange_mode;
	cot_shim_lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	cot_shim_runtime_forget();
	cot_shim_wait_forget();
	registered = false;
	gpus[0].next = &gpus[1];
	now_ns = START;
	at_exit = meanwhile = NULL;
	exit_result = wake_result = 0;
	n_started = n_counts = 0;
	n_may_start = 2;
	written[0] = '\0';
	return 0;
}

/* ---- start ---- */

static void starts_once(void **state)
{
	(void)state;
	cot_shim_wake(); /* nobody is there */
	expect_done("");
	assert_true(cot_shim_runtime_start());
	expect_done("at exit;open;");
	assert_int_equal(n_started, 2);
	assert_int_equal(n_alive, 2);
	assert_true(cot_shim_runtime_start());
	expect_done("");
	cot_shim_wake();
	expect_done("ring;");
	/* Each does its part, with the lock, and disturbs no graph that is recorded. */
	assert_null(bodies[0](arguments[0]));
	assert_int_equal(n_alive, 1);
	expect_done("called cotenant-shim;mode 2;listen;");
	assert_null(bodies[1](arguments[1]));
	assert_int_equal(n_alive, 0);
	expect_done("called cotenant-shim;mode 2;watch;");
	assert_false(is_locked(&cot_shim_lock));
}

/* Whatever cannot be had: nothing is launched as workers, and the next launch tries again. */
static void cannot_start(void **state)
{
	(void)state;
	exit_result = 1;
	assert_false(cot_shim_runtime_start());
	expect_done("at exit;");
	exit_result = 0;
	wake_result = -EMFILE;
	assert_false(cot_shim_runtime_start());
	expect_done("at exit;open;");
	wake_result = 0;
	n_may_start = 0;
	assert_false(cot_shim_runtime_start());
	expect_done("open;close;");
	assert_int_equal(n_alive, 0);
	n_may_start = 2;
	assert_true(cot_shim_runtime_start());
	expect_done("open;");
}

/* The listener alone sees no end of a launch: it stops again. */
static void half_started(void **state)
{
	(void)state;
	n_may_start = 1;
	assert_false(cot_shim_runtime_start());
	expect_done("at exit;open;");
	assert_int_equal(n_alive, 1);
	assert_true(cot_shim_stopping);
	n_may_start = 2;
	assert_false(cot_shim_runtime_start());
	expect_done("");
	assert_int_equal(n_started, 1);
}

/* ---- stop ---- */

static void one_ends(void)
{
	if (n_alive)
		n_alive--;
}

/* The last counts are told, both threads are rung for, and waited for. */
static void stops(void **state)
{
	uint32_t rung;

	(void)state;
	assert_true(cot_shim_runtime_start());
	written[0] = '\0';
	meanwhile = one_ends;
	rung = cot_shim_to_watch.count;
	at_exit();
	expect_done("ring;");
	assert_int_equal(cot_shim_to_watch.count, rung + 1);
	assert_int_equal(n_counts, 2);
	assert_true(cot_shim_stopping);
	assert_int_equal(now_ns, START + 40 * US);
	assert_false(cot_shim_runtime_start());
}

/* One that waits for a kernel cannot be called back. */
static void stops_without_them(void **state)
{
	(void)state;
	assert_true(cot_shim_runtime_start());
	at_exit();
	assert_int_equal(now_ns, START + 200 * COT_NS_PER_MS);
	/* What was never started is not started any more. */
	started = false;
	written[0] = '\0';
	assert_false(cot_shim_runtime_start());
	expect_done("");
}

static void a_child_starts_its_own(void **state)
{
	(void)state;
	assert_true(cot_shim_runtime_start());
	cot_shim_to_watch.n_waiting = changes.n_waiting = 1;
	atomic_store(&cot_shim_to_listen.pending, true);
	at_exit();
	written[0] = '\0';
	pthread_mutex_lock(&cot_shim_lock); /* another thread of the parent has it */
	cot_shim_runtime_forget();
	cot_shim_wait_forget();
	expect_done("forget;close;");
	assert_false(is_locked(&cot_shim_lock));
	assert_int_equal(cot_shim_to_watch.n_waiting + changes.n_waiting + n_alive, 0);
	assert_false(cot_shim_stopping);
	assert_false(cot_shim_to_listen.pending);
	n_started = 0;
	assert_true(cot_shim_runtime_start());
	expect_done("open;");
	assert_int_equal(n_started, 2);
}

/* ---- waiting ---- */

static struct cot_shim_bell bell;

static void ring_it(void)
{
	assert_int_equal(bell.n_waiting, 1);
	cot_shim_ring(&bell);
}

static bool waits(uint64_t until_ns, uint64_t spin_ns)
{
	bool in_time;

	pthread_mutex_lock(&cot_shim_lock);
	in_time = cot_shim_wait_for(&bell, until_ns, spin_ns);
	pthread_mutex_unlock(&cot_shim_lock);
	assert_int_equal(bell.n_waiting, 0);
	return in_time;
}

static void bells(void **state)
{
	uint32_t before = bell.count;

	(void)state;
	cot_shim_ring(&bell);
	expect_done(""); /* nobody waits: no call of the system */
	assert_int_equal(bell.count, before + 1);
	assert_true(waits(START + 1500 * COT_NS_PER_MS, 0));
	expect_done("wait 1500000 us;");
	assert_true(waits(COT_NEVER, 0));
	expect_done("wait;");
	meanwhile = ring_it;
	assert_true(waits(START + 1, 0));
	expect_done("wait 0 us;wake;");
	assert_false(waits(START, 0));
	assert_false(waits(START - 1, 50 * US));
	expect_done("");
}

static unsigned n_yields;

static void ring_later(void)
{
	if (--n_yields == 0)
		cot_shim_ring(&bell);
}

/* It looks for a moment before it sleeps. */
static void spins(void **state)
{
	(void)state;
	assert_true(waits(START + COT_NS_PER_S, 25 * US));
	expect_done("yield;yield;yield;wait 999970 us;");
	now_ns = START;
	meanwhile = ring_later;
	n_yields = 2;
	assert_true(waits(START + COT_NS_PER_S, 25 * US));
	expect_done("yield;yield;wake;");
	/* The time is over meanwhile: it does not sleep. */
	meanwhile = NULL;
	now_ns = START;
	assert_true(waits(START + 15 * US, 20 * US));
	expect_done("yield;yield;");
	now_ns = START;
	assert_true(waits(START + 20 * US, 20 * US));
	expect_done("yield;yield;");
}

static void change_it(void)
{
	cot_shim_changed();
}

static void changes_are_seen(void **state)
{
	(void)state;
	meanwhile = change_it;
	pthread_mutex_lock(&cot_shim_lock);
	assert_true(cot_shim_changed_wait(COT_NEVER));
	expect_done("yield;wake;");
	meanwhile = NULL;
	now_ns = START;
	assert_true(cot_shim_changed_wait(COT_NEVER));
	expect_done("yield;yield;yield;yield;yield;wait;"); /* 50 us */
	assert_false(cot_shim_changed_wait(now_ns));
	cot_shim_yield();
	expect_done("yield;");
	assert_true(is_locked(&cot_shim_lock));
}

static void pauses(void **state)
{
	struct timespec t = cot_shim_span(3 * COT_NS_PER_S + 7);

	(void)state;
	assert_int_equal(t.tv_sec, 3);
	assert_int_equal(t.tv_nsec, 7);
	cot_shim_pause(2 * COT_NS_PER_S + 5);
	assert_int_equal(now_ns, START + 2 * COT_NS_PER_S + 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(starts_once),
		TEST(cannot_start),
		TEST(half_started),
		TEST(stops),
		TEST(stops_without_them),
		TEST(a_child_starts_its_own),
		TEST(bells),
		TEST(spins),
		TEST(changes_are_seen),
		TEST(pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
