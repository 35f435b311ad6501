/* The process that ends pools after the daemon: when it is started, and how. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "daemon/keeper.h"
#include "daemon/processes.h"
#include "mps_stage.h"

static bool keeper_has_ended(void)
{
	return !stage.roster.keeper.watch.pid;
}

static bool keeper_is_there(void)
{
	return life_read("keeper")[0] != '\0';
}

static void play_keeper(void)
{
	static char program[COT_PATH_TEXT_MAX + 32];

	life_write(
		"keeper-program",
		"#!/bin/sh\n"
		"cd \"${0%/*}\"; while read -r a b; do echo \"$a $b\"; done </proc/$$/status >status\n"
		"echo \"$*\" >keeper; fd=${1#*=}; cat </proc/$$/fd/$fd; echo end >keeper-end\n",
		0755);
	snprintf(program, sizeof(program), "%s/keeper-program", stage.basis.runtime);
	stage.roster.keeper.program = program;
	snprintf(stage.basis.config_path, sizeof(stage.basis.config_path), "%s/conf",
		 stage.basis.runtime);
}

/* What comes after the number of its descriptor, which counts: it reads that one. */
static const char *options(void)
{
	static const char first[] = "--keep-pools=";
	const char *text = life_read("keeper");

	assert_memory_equal(text, first, sizeof(first) - 1);
	text += sizeof(first) - 1;
	return text + strspn(text, "0123456789");
}

static void test_start(void **state)
{
	char args[COT_PATH_TEXT_MAX + 64];
	sigset_t some, was;
	unsigned n;
	pid_t pid;

	(void)state;
	cot_keeper_start(&stage.roster.keeper);
	assert_int_equal(stage.roster.keeper.watch.pid, 0);
	play_keeper();
	n = count_fds();
	(void)sigemptyset(&some);
	(void)sigaddset(&some, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &some, &was);
	cot_keeper_start(&stage.roster.keeper);
	(void)sigprocmask(SIG_SETMASK, &was, NULL);
	pid = stage.roster.keeper.watch.pid;
	assert_true(pid > 0);
	assert_int_equal(count_fds(), n + 2); /* our end, and the pidfd */
	assert_true(fcntl(stage.roster.keeper.fd, F_GETFD) & FD_CLOEXEC);
	life_until(keeper_is_there);
	assert_string_equal(options(), "\n");
	assert_non_null(strstr(life_read("status"), "SigBlk: 0000000000000000\n"));
	assert_int_equal(getsid(pid), pid);
	cot_keeper_start(&stage.roster.keeper);
	assert_int_equal(stage.roster.keeper.watch.pid, pid); /* one is enough */
	assert_string_equal(life_read("keeper-end"), "");
	(void)kill(pid, SIGKILL);
	life_until(keeper_has_ended);
	assert_int_equal(stage.roster.keeper.fd, -1);
	assert_int_equal(count_fds(), n);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
	/* The next pool has one again; the file that it reads is named, if it is there. */
	life_write("conf", "", 0644);
	life_write("keeper", "", 0644);
	cot_keeper_start(&stage.roster.keeper);
	life_until(keeper_is_there);
	snprintf(args, sizeof(args), " -c %s\n", stage.basis.config_path);
	assert_string_equal(options(), args);
	/* The daemon ends: nobody else holds its end. */
	(void)close(stage.roster.keeper.fd);
	stage.roster.keeper.fd = -1;
	life_until(keeper_has_ended);
	assert_string_equal(life_read("keeper-end"), "end\n");
}

static void test_no_start(void **state)
{
	unsigned n;

	(void)state;
	play_keeper();
	n = count_fds();
	allow_fds(0);
	cot_keeper_start(&stage.roster.keeper);
	allow_fds(-1);
	assert_int_equal(stage.roster.keeper.watch.pid, 0);
	assert_non_null(
		strstr(stage_log(), "no process would end the pools after this daemon: Too "));
	life_remove("keeper-program");
	cot_keeper_start(&stage.roster.keeper);
	life_until(keeper_has_ended);
	assert_int_equal(count_fds(), n);
}

/* Each pool that is started or taken over has one. */
static void test_pools_start_it(void **state)
{
	pid_t pid;

	(void)state;
	play_keeper();
	start_pool(getuid());
	assert_int_not_equal(stage.roster.keeper.watch.pid, 0);
	(void)kill(stage.roster.keeper.watch.pid, SIGKILL);
	life_until(keeper_has_ended);
	pid = life_process(NULL);
	p = cot_pool_get(&stage.roster, COT_CLASS_LATENCY, false, 0);
	cot_pool_adopt(p, pid, cot_process_start_time(pid));
	assert_int_not_equal(stage.roster.keeper.watch.pid, 0);
	(void)kill(stage.roster.keeper.watch.pid, SIGKILL);
	life_until(keeper_has_ended);
	life_end(pid);
	life_until(is_failed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_MPS(test_start),
		WITH_MPS(test_no_start),
		WITH_MPS(test_pools_start_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
