/*
 * The end of pools where no daemon is: `--stop-pools`, and the process beside the daemon. The time
 * in which the keeper sleeps between its rounds is played.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "daemon/keeper.h"
#include "daemon/lock.h"
#include "daemon/processes.h"
#include "mps_stage.h"

#define LOOK_MS 10

int __wrap_nanosleep(const struct timespec *t, struct timespec *left);
int __real_nanosleep(const struct timespec *t, struct timespec *left);
uint64_t __wrap_cot_now_ns(void);
uint64_t __real_cot_now_ns(void);

static uint64_t stands_ns; /* 0: the clock goes on while nothing is played */
static uint64_t skipped_ns;
static unsigned look_ms;       /* how long a look at a process seems to take */
static unsigned n_rounds;      /* that have ended with a pause, */
static unsigned pauses_ms[16]; /* of this much */
static void (*between)(unsigned round);
static void (*at_look)(void);

uint64_t __wrap_cot_now_ns(void)
{
	return (stands_ns ? stands_ns : __real_cot_now_ns()) + skipped_ns;
}

/* What else is done takes no time, however busy the machine is. */
static void stand(bool stands)
{
	stands_ns = stands ? __real_cot_now_ns() : 0;
}

int __wrap_nanosleep(const struct timespec *t, struct timespec *left)
{
	uint64_t ms = (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_nsec / COT_NS_PER_MS;

	if (ms <= LOOK_MS) {
		if (at_look)
			at_look();
		skipped_ns += (look_ms - LOOK_MS) * COT_NS_PER_MS;
		return __real_nanosleep(t, left);
	}
	skipped_ns += ms * COT_NS_PER_MS;
	assert_true(n_rounds < COT_ARRAY_LEN(pauses_ms));
	pauses_ms[n_rounds++] = (unsigned)ms;
	if (between)
		between(n_rounds);
	return 0;
}

static int setup(void **state)
{
	int rc;

	stand(false);
	rc = mps_setup(state);
	skipped_ns = 0;
	look_ms = LOOK_MS;
	n_rounds = 0;
	between = NULL;
	at_look = NULL;
	life_write(COT_LOCK_NAME, "", 0600);
	return rc;
}

#define KEEPER(test) cmocka_unit_test_setup_teardown(test, setup, mps_teardown)

static bool lives(pid_t pid)
{
	return cot_process_start_time(pid) != 0;
}

/* ---- at once ---- */

static void test_unused(void **state)
{
	pid_t pid;

	(void)state;
	leave_pool();
	pid = (pid_t)strtol(life_read("pid"), NULL, 10);
	assert_true(lives(pid));
	life_write("told", "", 0644);
	life_write("servers", "4711\n4712\n", 0644);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
	assert_string_equal(life_read("told"), "get_server_list \nget_client_list 4711\n"
					       "get_client_list 4712\nquit \n");
	assert_false(lives(pid));
	assert_non_null(strstr(stage_log(), "/gpu0-batch any longer: its MPS server was told"));
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0); /* there are none */
	assert_string_equal(stage_log(), "");
}

/* Not every answer is one, and what cannot be known counts as use. */
static void test_used(void **state)
{
	static const struct {
		const char *servers, *first, *others, *why;
	} cases[] = {
		{"4711\n", "815\n", "", "MPS has clients"},
		{"4711\n4712\n", "", "815\n", "MPS has clients"},
		{"4711\n4712\n", "815\n", "", "MPS has clients"},
		{"4712\n4711\n", "none", "", "does not say whether"},
		{"none", "", "", "does not say whether"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "", "", "does not say whether"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n", "", "8\n", "MPS has clients"},
	};
	static char text[4200];
	unsigned i, n;

	(void)state;
	leave_pool();
	n = count_fds();
	life_write("told", "", 0644);
	for (i = 0; i < COT_ARRAY_LEN(cases); i++) {
		life_write("servers", cases[i].servers, 0644);
		life_write("clients-4711", cases[i].first, 0644);
		life_write("clients", cases[i].others, 0644);
		assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
		assert_non_null(strstr(stage_log(), cases[i].why));
	}
	life_write("servers", "4711\n", 0644);
	life_write("clients-4711", "", 0644);
	life_write("broken", "", 0644);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	assert_non_null(strstr(stage_log(), "does not say whether"));
	life_remove("broken");
	life_remove("clients-4711");
	life_remove("clients");
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	assert_non_null(strstr(stage_log(), "does not say whether"));
	life_write("clients", "", 0644);
	/* An answer that may go on. */
	memset(text, '\n', 4095);
	life_write("servers", text, 0644);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	assert_non_null(strstr(stage_log(), "does not say whether"));
	assert_false(told("quit"));
	text[4094] = '\0';
	life_write("servers", text, 0644);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
	assert_true(told("quit"));
	assert_int_equal(count_fds(), n);
}

/* A program of ours that has its pipe, whatever MPS says. */
static void test_program(void **state)
{
	char pipe[COT_PATH_TEXT_MAX + 64], other[COT_PATH_TEXT_MAX + 64], name[64];
	const char *in_it[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=20", "COTENANT_NAME=train",
			       pipe, NULL};
	const char *elsewhere[] = {"COTENANT_CLASS=batch", "COTENANT_TENANT=21", other, NULL};
	const char *log;
	pid_t pid;

	(void)state;
	snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s", p->pipe);
	snprintf(other, sizeof(other), "CUDA_MPS_PIPE_DIRECTORY=%s2", p->pipe);
	leave_pool();
	(void)stage_log();
	pid = life_process(in_it);
	(void)life_process(elsewhere);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	snprintf(name, sizeof(name), "/gpu0-batch is left: 'train' (process %d) uses it", (int)pid);
	log = stage_log();
	assert_non_null(strstr(log, name));
	assert_null(strstr(log, "MPS"));
	assert_false(told("get_server_list"));
	life_end(pid);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
	assert_true(told("quit"));
}

/* One of two is used: the other one ends. */
static void test_two(void **state)
{
	char pipe[COT_PATH_TEXT_MAX + 64];
	const char *env[] = {"COTENANT_CLASS=latency", "COTENANT_TENANT=20", pipe, NULL};
	struct pool *first = p;
	pid_t pids[2];

	(void)state;
	leave_pool();
	pids[0] = (pid_t)strtol(life_read("pid"), NULL, 10);
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	leave_pool();
	pids[1] = (pid_t)strtol(life_read("pid"), NULL, 10);
	snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s", first->pipe);
	(void)life_process(env);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	assert_true(lives(pids[0]));
	assert_false(lives(pids[1]));
}

/* Who only looks like a control program of this user's is asked nothing. */
static void test_not_ours(void **state)
{
	char pipe[COT_PATH_TEXT_MAX + 64];
	const char *env[] = {"COTENANT_ROLE=pool", "COTENANT_POOL=batch", "COTENANT_TENANT=3", pipe,
			     NULL};
	pid_t pid;

	(void)state;
	snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=%s/gpu0-batch/pipe",
		 stage.basis.runtime);
	(void)life_process_as(getuid(), "nvidia-cuda-mps-server", env);
	if (getuid() == 0)
		(void)life_process_as(4711, "sleep", env);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
	assert_string_equal(life_read("told"), "");
	pid = life_process(env);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis),
			 1); /* there is no folder for its log */
	life_end(pid);
	snprintf(pipe, sizeof(pipe), "CUDA_MPS_PIPE_DIRECTORY=pipe");
	(void)life_process(env);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
	assert_string_equal(life_read("told"), "");
}

/* Told to quit it may wait for a client that has just come, or not have heard of it: it is left,
 * and said to be. */
static void test_deaf(void **state)
{
	uint64_t since_ns;
	pid_t pid;

	(void)state;
	leave_pool();
	life_write("deaf", "", 0644);
	pid = (pid_t)strtol(life_read("pid"), NULL, 10);
	look_ms = 100;
	since_ns = cot_now_ns();
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	assert_true(cot_now_ns() - since_ns >= COT_NS_PER_S);
	assert_true(told("quit"));
	assert_true(lives(pid));
}

static void lose_descriptors(void)
{
	if (!told("quit"))
		return;
	allow_fds(0);
	at_look = NULL;
	look_ms = 100;
}

/* What cannot be looked at has not ended. */
static void test_not_seen(void **state)
{
	int n_left;

	(void)state;
	leave_pool();
	life_write("deaf", "", 0644);
	at_look = lose_descriptors;
	stand(true);
	n_left = cot_keeper_stop_pools(&stage.basis);
	allow_fds(-1);
	assert_int_equal(n_left, 1);
	assert_non_null(strstr(stage_log(), "has not ended"));
}

/* One that does not answer is not waited for without an end. */
static void test_no_answer(void **state)
{
	unsigned n;

	(void)state;
	leave_pool();
	n = count_fds();
	life_write("hold-get_server_list", "", 0644);
	look_ms = 1000;
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	assert_non_null(strstr(stage_log(), "does not say whether"));
	assert_int_equal(count_fds(), n);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), 0); /* what it has started has ended */
	look_ms = LOOK_MS;
	life_remove("hold-get_server_list");
	(void)stage_log();
	allow_fds(3); /* for the lock and the list, and not for a question */
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	allow_fds(-1);
	assert_non_null(strstr(stage_log(), "does not say whether"));
	allow_fds(0); /* not for the list of processes either */
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 1);
	allow_fds(-1);
	assert_non_null(strstr(stage_log(), "cannot be known now"));
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
}

static int lock(void)
{
	char path[COT_PATH_TEXT_MAX + 32];
	int fd;

	snprintf(path, sizeof(path), "%s/" COT_LOCK_NAME, stage.basis.runtime);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
	return fd;
}

static void test_beside_a_daemon(void **state)
{
	unsigned n;
	int fd;

	(void)state;
	leave_pool();
	n = count_fds();
	fd = lock();
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), -1);
	assert_non_null(strstr(stage_log(), "stop that one first"));
	assert_false(told("get_server_list"));
	(void)close(fd);
	life_remove(COT_LOCK_NAME);
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), -1);
	assert_non_null(strstr(stage_log(), COT_LOCK_NAME " cannot be opened"));
	strcat(stage.basis.runtime, "/none"); /* nobody is there */
	assert_int_equal(cot_keeper_stop_pools(&stage.basis), 0);
	assert_string_equal(stage_log(), "");
	assert_int_equal(count_fds(), n);
}

/* The lock is held as long as it works, and not longer. */
static void look_at_lock(unsigned round)
{
	(void)round;
	(void)close(lock());
}

/* ---- beside the daemon ---- */

/* As the process of the daemon that has ended. */
static void keep(void)
{
	char name[16];
	int ends[2];

	(void)prctl(PR_GET_NAME, name);
	assert_int_equal(pipe(ends), 0);
	(void)close(ends[1]);
	stand(true);
	cot_keeper_run(&stage.basis, ends[0]);
	stand(false);
	(void)close(ends[0]);
	(void)prctl(PR_SET_NAME, name);
}

static void test_lingers(void **state)
{
	unsigned i;

	(void)state;
	leave_pool();
	stage.basis.config.linger_s = 7;
	between = look_at_lock;
	(void)stage_log();
	keep();
	assert_int_equal(n_rounds, 4);
	for (i = 0; i < n_rounds; i++)
		assert_int_equal(pauses_ms[i], 2000);
	assert_true(told("quit"));
	assert_non_null(strstr(stage_log(), "any longer: its MPS server was told"));
}

static void use_in_the_second(unsigned round)
{
	life_write("clients", round == 1 ? "815\n" : "", 0644);
}

/* Used meanwhile: the time begins again. It says nothing of that. */
static void test_used_meanwhile(void **state)
{
	(void)state;
	leave_pool();
	stage.basis.config.linger_s = 3;
	between = use_in_the_second;
	(void)stage_log();
	keep();
	assert_int_equal(n_rounds, 4);
	assert_null(strstr(stage_log(), "is left"));
}

static pid_t second;

/* The first one is over, and the other begins to count. */
static void leave_another(unsigned round)
{
	if (round != 2)
		return;
	life_write("clients", "", 0644);
	kill(second, SIGKILL);
	assert_int_equal(waitpid(second, NULL, 0), second);
}

static void test_another_ends(void **state)
{
	(void)state;
	leave_pool();
	second = (pid_t)strtol(life_read("pid"), NULL, 10);
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 1);
	leave_pool();
	stage.basis.config.linger_s = 5;
	between = leave_another;
	keep();
	assert_int_equal(n_rounds, 3);
	assert_true(told("quit"));
}

static int lock_fd;

static void release_in_the_third(unsigned round)
{
	if (round == 3)
		(void)close(lock_fd);
}

/* A lock that is taken for a moment is no daemon; one that stays taken is the next one. */
static void test_next_daemon(void **state)
{
	unsigned i;

	(void)state;
	leave_pool();
	lock_fd = lock();
	keep();
	assert_int_equal(n_rounds, 5);
	for (i = 0; i < n_rounds; i++)
		assert_int_equal(pauses_ms[i], 500);
	assert_false(told("quit"));
	n_rounds = 0;
	between = release_in_the_third;
	keep();
	assert_int_equal(n_rounds, 3);
	assert_true(told("quit"));
}

static void lock_now_and_then(unsigned round)
{
	if (round == 5)
		lock_fd = lock();
	if (round == 9)
		(void)close(lock_fd);
	if (round == 11) {
		lock_fd = lock();
		life_write("clients", "", 0644);
	}
	if (round == 15)
		(void)close(lock_fd);
}

/* It counts those that come one after the other. */
static void test_locked_again(void **state)
{
	(void)state;
	leave_pool();
	life_write("clients", "815\n", 0644);
	between = lock_now_and_then;
	keep();
	assert_int_equal(n_rounds, 15);
	assert_int_equal(pauses_ms[4], 2000);
	assert_int_equal(pauses_ms[5], 500);
	assert_int_equal(pauses_ms[9], 2000);
	assert_true(told("quit"));
}

/* It does nothing while the daemon is there. */
static void test_waits(void **state)
{
	int ends[2], status;
	char name[64] = "", path[64];
	FILE *f;
	pid_t pid;

	(void)state;
	leave_pool();
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		(void)close(ends[1]);
		cot_keeper_run(&stage.basis, ends[0]);
		_exit(77);
	}
	(void)close(ends[0]);
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	while (strcmp(name, "cotenant-keeper\n") != 0) {
		f = fopen(path, "re");
		assert_non_null(f);
		assert_non_null(fgets(name, sizeof(name), f));
		(void)fclose(f);
	}
	usleep(30000);
	assert_false(told("get_server_list"));
	assert_int_equal(waitpid(pid, &status, WNOHANG), 0);
	(void)close(ends[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), 77);
	assert_true(told("quit"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		KEEPER(test_unused),	  KEEPER(test_used),	       KEEPER(test_program),
		KEEPER(test_two),	  KEEPER(test_not_ours),       KEEPER(test_deaf),
		KEEPER(test_not_seen),	  KEEPER(test_no_answer),      KEEPER(test_beside_a_daemon),
		KEEPER(test_lingers),	  KEEPER(test_used_meanwhile), KEEPER(test_another_ends),
		KEEPER(test_next_daemon), KEEPER(test_locked_again),   KEEPER(test_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
