/*
 * The wrapper of ioctl(): which requests take the longer way, when the library is switched on, and
 * what becomes of it in children. The unit is in a shared library, so its source is here.
 */
#include <string.h>
#include <sys/wait.h>

#include "guest/env.c"
#include "guest/preload/ioctl.c"
#include "test.h"

#define OURS   COT_NV_REQUEST(COT_NV_NR_CONTROL, 32)
#define THEIRS 0x5401ul

enum { LIBC = 11, LONG_WAY = 22 };

static unsigned n_inits, n_forgotten, n_control_forgotten;
static void *last_arg;

static int played_ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	(void)fd;
	va_start(ap, request);
	last_arg = va_arg(ap, void *);
	va_end(ap);
	return LIBC;
}

void *cot_next_symbol(const char *name)
{
	return strcmp(name, "ioctl") ? NULL : (void *)(uintptr_t)played_ioctl;
}

int cot_rm_pass(struct cot_rm *r, int fd, unsigned long number, void *arg)
{
	assert_true(r == &rm && number == OURS);
	assert_int_equal(host.ioctl(fd, number, arg), LIBC);
	return LONG_WAY;
}

void cot_rm_init(struct cot_rm *r, const struct cot_rm_host *h)
{
	assert_true(r == &rm && h == &host);
	n_inits++;
}

void cot_rm_forget(struct cot_rm *r)
{
	assert_ptr_equal(r, &rm);
	n_forgotten++;
}

void cot_control_init(struct cot_rm *r, const struct cot_settings *s)
{
	assert_true(r == &rm && s == &settings);
}

void cot_control_forget(void)
{
	n_control_forgotten++;
}

void cot_control_notify(void)
{
}

bool cot_control_wait(void)
{
	return false;
}

uint64_t cot_now_ns(void)
{
	return 1;
}

bool cot_fd_identity(int fd, struct cot_rm_identity *ret_id)
{
	(void)fd;
	(void)ret_id;
	return false;
}

void cot_log_level_set(enum cot_log_level level)
{
	(void)level;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

static int request(unsigned long number)
{
	static int arg;
	int rc = ioctl(3, number, &arg);

	assert_ptr_equal(last_arg, &arg);
	last_arg = NULL;
	return rc;
}

/* As the library is loaded with such an environment: NAME, value, or nothing. */
static void load_with(const char *name, const char *value)
{
	clearenv();
	if (name)
		setenv(name, value, 1);
	atomic_store(&start_state, START_NOT);
	n_inits = n_forgotten = n_control_forgotten = 0;
	memset(&rm, 0, sizeof(rm));
	start();
}

/* With nothing to do it is off; a socket, a slice or a mode switch it on. */
static void switched_on(void **state)
{
	static const char *const rows[][2] = {{"COTENANT_SOCKET", "/a"},
					      {"COTENANT_SLICE_US", "250"},
					      {"COTENANT_MODE", "drain"}};
	unsigned i;

	(void)state;
	load_with(NULL, NULL);
	assert_int_equal(request(OURS), LIBC);
	assert_int_equal(n_inits, 0);
	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		load_with(rows[i][0], rows[i][1]);
		assert_int_equal(n_inits, 1);
		assert_int_equal(request(OURS), LONG_WAY);
		assert_int_equal(request(THEIRS), LIBC);
		assert_int_equal(atomic_load(&rm.want_slice_us), i == 1 ? 250 : 0);
		assert_int_equal(atomic_load(&rm.want_mode), i == 2 ? COT_MODE_DRAIN : 0);
	}
	setenv("COTENANT_DISABLE", "1", 1);
	atomic_store(&start_state, START_NOT);
	assert_int_equal(request(OURS), LIBC); /* the first request starts it, if nobody else has */
	assert_int_equal(atomic_load(&start_state), START_OFF);
	atomic_store(&start_state, START_BUSY);
	assert_int_equal(request(OURS), LIBC);
	load_with("COTENANT_SOCKET", "/a");
	atomic_store(&start_state, START_NOT);
	assert_int_equal(request(OURS), LONG_WAY);
}

/* A child that the handlers of fork() knew nothing of is not the owner. */
static void children(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	load_with("COTENANT_SLICE_US", "250");
	atomic_store(&owner, (int)getpid() + 1);
	assert_int_equal(request(OURS), LIBC);
	atomic_store(&owner, (int)getpid());
	atomic_store(&rm.want_slice_us, 900); /* the daemon's wish for the parent */
	atomic_store(&rm.want_mode, COT_MODE_SWITCH);
	pid = fork();
	if (!pid)
		_exit(request(OURS) != LONG_WAY || !n_forgotten || !n_control_forgotten ||
		      atomic_load(&rm.want_slice_us) != 250 || atomic_load(&rm.want_mode) ||
		      atomic_load(&owner) != (int)getpid());
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(n_forgotten, 0);
	/* Switched off, there is nothing to forget. */
	load_with(NULL, NULL);
	after_fork_in_child();
	assert_int_equal(n_forgotten + n_control_forgotten, 0);
}

/* Without a libc behind us. */
static void the_system_call(void **state)
{
	int ends[2], n = 0;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "12345", 5), 5);
	assert_int_equal(raw_ioctl(ends[0], FIONREAD, &n), 0);
	assert_int_equal(n, 5);
	assert_int_equal(raw_ioctl(-1, FIONREAD, &n), -1);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(switched_on),
		cmocka_unit_test(children),
		cmocka_unit_test(the_system_call),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
