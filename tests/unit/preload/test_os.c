/*
 * What of the operating system the library takes care with: its descriptors, and its thread. The
 * unit is in a shared library, so its source is here.
 */
#include <string.h>

#include "guest/os.c"
#include "test.h"

/* ---- descriptors ---- */

static void identities(void **state)
{
	struct cot_rm_identity null, zero, again;
	int a = open("/dev/null", O_RDWR), b = open("/dev/zero", O_RDWR);

	(void)state;
	errno = 77;
	assert_true(cot_fd_identity(a, &null));
	assert_true(cot_fd_identity(b, &zero));
	close(b);
	assert_false(cot_fd_identity(b, &again));
	assert_int_equal(errno, 77);
	assert_true(cot_fd_identity(a, &again));
	assert_memory_equal(&null, &again, sizeof(null));
	assert_memory_not_equal(&null, &zero, sizeof(null));
	close(a);
}

/* Ours are out of the way, and are known again; what has their number now is not touched. */
static void own_descriptors(void **state)
{
	struct cot_own_fd own;
	int fd = open("/dev/null", O_RDWR), theirs;

	(void)state;
	cot_own_fd_take(&own, fd);
	assert_true(own.fd >= FIRST_FD);
	assert_true(fcntl(fd, F_GETFD) < 0);
	assert_int_equal(fcntl(own.fd, F_GETFD), FD_CLOEXEC);
	assert_true(cot_own_fd_valid(&own));
	theirs = open("/dev/zero", O_RDWR);
	assert_int_equal(dup2(theirs, own.fd), own.fd);
	close(theirs);
	theirs = own.fd;
	assert_false(cot_own_fd_valid(&own));
	cot_own_fd_close(&own);
	assert_int_equal(own.fd, -1);
	assert_true(fcntl(theirs, F_GETFD) >= 0);
	close(theirs);
	assert_false(cot_own_fd_valid(&own));

	cot_own_fd_take(&own, open("/dev/null", O_RDWR));
	fd = own.fd;
	cot_own_fd_close(&own);
	assert_true(fcntl(fd, F_GETFD) < 0);
	cot_own_fd_take(&own, -1);
	assert_int_equal(own.fd, -1);
	cot_own_fd_take(&own, 9999); /* nobody's */
	assert_int_equal(own.fd, -1);
}

/* ---- the thread ---- */

static _Atomic int seen; /* 1: no signal reaches it; 2: some does; + 4: it can be joined */
static pthread_mutex_t here = PTHREAD_MUTEX_INITIALIZER;

static size_t stack_size;

static void *body(void *arg)
{
	pthread_attr_t attr;
	int detached = 0;
	sigset_t mask;

	/* As much of the stack as an ordinary program's functions take. */
	volatile char room[16 << 10];

	memset((char *)room, 1, sizeof(room));
	sigprocmask(SIG_BLOCK, NULL, &mask);
	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getdetachstate(&attr, &detached);
	pthread_attr_getstacksize(&attr, &stack_size);
	pthread_attr_destroy(&attr);
	atomic_store((_Atomic int *)arg,
		     (sigismember(&mask, SIGTERM) && sigismember(&mask, SIGALRM) ? 1 : 2) +
			     (detached == PTHREAD_CREATE_DETACHED ? 0 : 4));
	pthread_mutex_lock(&here); /* until it has been seen */
	pthread_mutex_unlock(&here);
	return NULL;
}

/* The program's signals are for its own threads, and its mask is as it was. */
static void threads(void **state)
{
	sigset_t set, after;
	unsigned i;

	(void)state;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_SETMASK, &set, NULL);
	pthread_mutex_lock(&here);
	assert_int_equal(cot_thread_start(COT_STACK_SMALL, body, (void *)&seen), 0);
	for (i = 0; i < 5000 && !atomic_load(&seen); i++)
		usleep(1000);
	assert_int_equal(atomic_load(&seen), 1);
	pthread_mutex_unlock(&here);
	sigprocmask(SIG_BLOCK, NULL, &after);
	assert_true(sigismember(&after, SIGUSR2));
	assert_false(sigismember(&after, SIGTERM));
}

/* No less than is asked for. */
static void large_stack(void **state)
{
	static _Atomic int large_seen;
	unsigned i;

	(void)state;
	assert_true(stack_size >= COT_STACK_SMALL && stack_size < COT_STACK_DRIVER);
	assert_int_equal(cot_thread_start(COT_STACK_DRIVER, body, (void *)&large_seen), 0);
	for (i = 0; i < 5000 && !atomic_load(&large_seen); i++)
		usleep(1000);
	assert_int_equal(atomic_load(&large_seen), 1);
	assert_true(stack_size >= COT_STACK_DRIVER);
}

/* What the C library takes of a stack for itself is counted in whole pages. */
static void stacks(void **state)
{
	pthread_attr_t attr;
	size_t taken;

	(void)state;
	pthread_attr_init(&attr);
	taken = taken_of_stack(&attr);
	assert_int_equal(taken % 0x1000, 0);
	assert_true(taken < 1 << 20);
	pthread_attr_destroy(&attr);
}

static void the_clock(void **state)
{
	struct timespec t;
	uint64_t before, now;

	(void)state;
	clock_gettime(CLOCK_MONOTONIC, &t);
	before = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	now = cot_now_ns();
	assert_true(now >= before && now < before + 60 * COT_NS_PER_S);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(identities), cmocka_unit_test(own_descriptors),
		cmocka_unit_test(threads),    cmocka_unit_test(large_stack),
		cmocka_unit_test(stacks),     cmocka_unit_test(the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
