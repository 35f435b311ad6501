/* Processes that are ready to become other programs: what they become, whose children they are,
 * and what there is when none is ready. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/processes.h"
#include "daemon/spare.h"
#include "mps_stage.h"

static struct cot_spares *spares(void)
{
	return &stage.basis.spares;
}

static bool are_ready(void)
{
	return spares()->n == COT_SPARES;
}

static void begin(void)
{
	assert_int_equal(cot_spares_begin(spares(), &stage.basis.loop), 0);
	life_until(are_ready);
}

static void end(void)
{
	pid_t maker = spares()->maker, ready[COT_SPARES];
	unsigned i, n = spares()->n;

	for (i = 0; i < n; i++)
		ready[i] = spares()->ready[i].pid;
	cot_spares_end(spares());
	for (i = 0; i < n; i++)
		assert_int_equal(waitpid(ready[i], NULL, 0), ready[i]);
	if (maker)
		assert_int_equal(waitpid(maker, NULL, 0), maker);
	*spares() = (struct cot_spares){.n = 0};
}

/* It says how it was started; what it reads it writes. */
static struct cot_program program(int in, int out)
{
	static char path[COT_PATH_TEXT_MAX + 16];

	life_write("program",
		   "#!/bin/sh\n"
		   "cd \"${0%/*}\"; echo \"$*\" >args; echo \"$FIRST $SECOND\" >variables\n"
		   "while read -r a b; do echo \"$a $b\"; done </proc/$$/status >status\n"
		   "ls -l /proc/$$/fd >fds; cat; exit 7\n",
		   0755);
	(void)snprintf(path, sizeof(path), "%s/program", stage.basis.runtime);
	return (struct cot_program){
		.path = path,
		.argv = {path, "one", "and two"},
		.variables = {"FIRST=1", "SECOND=b c"},
		.fds = {in, out, -1},
	};
}

/* All of it, whether a spare one or a fork has become it. */
static void check_start(pid_t spare)
{
	sigset_t some, was;
	int in[2], out[2], status = 0;
	struct cot_program what;
	char text[8] = "";
	mode_t mask;
	pid_t pid;

	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "words", 5), 5);
	(void)close(in[1]);
	what = program(in[0], out[1]);
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &some, &was);
	(void)signal(SIGPIPE, SIG_IGN);
	mask = umask(077);
	pid = cot_spares_start(spares(), &what);
	(void)umask(mask);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
	(void)close(in[0]);
	(void)close(out[1]);
	assert_true(pid > 0);
	if (spare)
		assert_int_equal(pid, spare);
	else
		assert_int_equal(spares()->n, 0);
	assert_int_equal(waitpid(pid, &status, 0), pid); /* a child of ours */
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 7);
	assert_int_equal(read(out[0], text, sizeof(text)), 5);
	assert_string_equal(text, "words");
	(void)close(out[0]);
	assert_string_equal(life_read("args"), "one and two\n");
	assert_string_equal(life_read("variables"), "1 b c\n");
	assert_non_null(strstr(life_read("status"), "Umask: 0022\n"));
	assert_non_null(strstr(life_read("status"), "SigBlk: 0000000000000000\n"));
	assert_non_null(strstr(life_read("status"), "SigIgn: 0000000000000000\n"));
}

static pid_t next(void)
{
	return spares()->ready[spares()->n - 1].pid;
}

static void test_start(void **state)
{
	unsigned n = count_fds(), i;

	(void)state;
	begin();
	assert_int_equal(count_fds(), n + 1 + COT_SPARES);
	for (i = 0; i < COT_SPARES; i++)
		assert_true(fcntl(spares()->ready[i].fd, F_GETFD) & FD_CLOEXEC);
	check_start(next());
	/* Nothing of the daemon's. */
	assert_non_null(strstr(life_read("fds"), "pipe:"));
	assert_null(strstr(life_read("fds"), "socket:"));
	assert_null(strstr(life_read("fds"), "anon_inode:"));
	life_until(are_ready); /* another one is made */
	check_start(next());
	life_until(are_ready);
	end();
	assert_int_equal(count_fds(), n);
}

static void test_session(void **state)
{
	struct cot_program what = {
		.path = "/bin/sleep", .argv = {"sleep", "1000"}, .fds = {-1, -1, -1}};
	unsigned i;
	pid_t pid;

	(void)state;
	begin();
	pid = cot_spares_start(spares(), &what);
	for (i = 0; i < 2000 && !cot_process_has_argument(pid, "1000"); i++)
		usleep(5000);
	assert_int_equal(getsid(pid), pid);
	(void)kill(pid, SIGINT); /* which the spare one did not heed */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	life_until(are_ready);
	end();
}

/* More than there are: then it is fork(). */
static void test_fork(void **state)
{
	struct cot_program what = program(-1, -1);
	pid_t pid[COT_SPARES + 2];
	unsigned i;

	(void)state;
	check_start(0);
	begin();
	for (i = 0; i < COT_ARRAY_LEN(pid); i++)
		pid[i] = cot_spares_start(spares(), &what);
	for (i = 0; i < COT_ARRAY_LEN(pid); i++)
		assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
	life_until(are_ready);
	end();
}

static void assert_status(int expected)
{
	struct cot_program what = program(-1, -1);
	int status = 0;
	pid_t pid;

	if (expected == 127)
		life_remove("program");
	else
		life_write("program", "", 0644);
	pid = cot_spares_start(spares(), &what);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), expected);
}

static void test_no_program(void **state)
{
	static char large[20000];
	struct cot_program what = program(-1, -1);

	(void)state;
	assert_status(127);
	begin();
	assert_status(127);
	assert_status(126);
	memset(large, 'x', sizeof(large) - 1);
	what.argv[1] = large;
	assert_int_equal(cot_spares_start(spares(), &what), -E2BIG);
	life_until(are_ready);
	end();
}

static bool one_is_gone(void)
{
	cot_spares_reap(spares());
	return spares()->n == COT_SPARES - 1;
}

/* One that somebody has killed is not taken, seen or not; the next start has one again. */
static void test_killed(void **state)
{
	unsigned n;
	pid_t last;

	(void)state;
	begin();
	n = count_fds();
	last = next();
	(void)kill(last, SIGKILL);
	life_until(one_is_gone);
	assert_int_equal(count_fds(), n - 1);
	assert_int_equal(waitpid(last, NULL, 0), -1);
	last = next();
	(void)kill(last, SIGKILL);
	while (waitpid(last, NULL, WNOHANG) == 0) /* so that it has ended */
		usleep(1000);
	check_start(spares()->ready[COT_SPARES - 3].pid);
	life_until(are_ready);
	assert_int_equal(count_fds(), n);
	end();
}

static bool maker_is_lost(void)
{
	return !spares()->is_there;
}

static bool maker_is_gone(void)
{
	cot_spares_reap(spares());
	return maker_is_lost() && !spares()->maker;
}

/* Who makes them ends: those that are ready stay, and the next start has another maker. */
static void test_maker_ends(void **state)
{
	unsigned n;
	pid_t maker;

	(void)state;
	begin();
	n = count_fds();
	maker = spares()->maker;
	(void)kill(maker, SIGKILL);
	life_until(maker_is_gone);
	assert_int_equal(count_fds(), n - 1);
	check_start(next());
	assert_true(spares()->is_there);
	assert_int_not_equal(spares()->maker, maker);
	life_until(are_ready);
	assert_int_equal(count_fds(), n);
	/* It is stopped: what is ready serves, then fork(). */
	(void)kill(spares()->maker, SIGSTOP);
	while (spares()->n)
		check_start(next());
	check_start(0);
	(void)kill(spares()->maker, SIGCONT);
	life_until(are_ready);
	end();
}

static bool all_are_answered(void)
{
	return !spares()->n_asked;
}

/* There are no descriptors for them: none are ready, and none are left over. */
static void test_no_descriptors(void **state)
{
	unsigned n = count_fds();

	(void)state;
	allow_fds(1); /* not for both ends of the socket */
	assert_int_equal(cot_spares_begin(spares(), &stage.basis.loop), -EMFILE);
	allow_fds(-1);
	assert_int_equal(count_fds(), n);
	allow_fds(2);
	assert_int_equal(cot_spares_begin(spares(), &stage.basis.loop), 0);
	allow_fds(-1);
	life_until(are_ready); /* what came was read with enough of them */
	end();
	assert_int_equal(cot_spares_begin(spares(), &stage.basis.loop), 0);
	allow_fds(1);
	life_until(all_are_answered);
	assert_true(spares()->n <= 1);
	allow_fds(-1);
	end();
	assert_int_equal(count_fds(), n);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		fail_msg("one that could not be taken was left");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MPS(test_start),	       WITH_MPS(test_session), WITH_MPS(test_fork),
		WITH_MPS(test_no_program),     WITH_MPS(test_killed),  WITH_MPS(test_maker_ends),
		WITH_MPS(test_no_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
