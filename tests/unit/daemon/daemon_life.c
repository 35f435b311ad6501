#include "daemon_life.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PROCESSES 32

static char folder[64];
static pid_t processes[MAX_PROCESSES];
static unsigned n_processes;

static void set_paths(void)
{
	snprintf(stage.basis.runtime, sizeof(stage.basis.runtime), "%s", folder);
	snprintf(stage.basis.socket_path, sizeof(stage.basis.socket_path), "%s/cotenantd.sock",
		 folder);
	snprintf(stage.basis.config.mps_program, sizeof(stage.basis.config.mps_program), "%s/mps",
		 folder);
	stage.basis.config.policy = cot_policy_find("pools");
	cot_policy_config_init(&stage.basis.config.numbers);
	stage.basis.config.max_weight = COT_WEIGHT_MAX;
	stage.basis.config.latency.everybody = stage.basis.config.batch.everybody = true;
	stage.roster.next_id = 1;
}

int life_setup(void **state)
{
	snprintf(folder, sizeof(folder), P_tmpdir "/cot-life-XXXXXX");
	assert_non_null(mkdtemp(folder));
	n_processes = 0;
	if (stage_setup(state) < 0)
		return -1;
	set_paths();
	return 0;
}

int life_teardown(void **state)
{
	char command[128];

	while (n_processes)
		life_end(processes[0]);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	return stage_teardown(state);
}

void life_next_daemon(void)
{
	assert_int_equal(stage_teardown(NULL), 0);
	assert_int_equal(stage_setup(NULL), 0);
	set_paths();
}

pid_t life_process(const char *const env[])
{
	return life_process_of(getuid(), env);
}

pid_t life_process_of(uid_t uid, const char *const env[])
{
	return life_process_as(uid, "sleep", env);
}

/*
 * Whether it has become the program that it is to be: the kernel gives that its name first, and
 * its environment last.
 */
static bool has_begun(pid_t pid, const char *first)
{
	char path[64], text[COT_PATH_TEXT_MAX + 32] = "";
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	assert_non_null(f);
	(void)fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	return !strcmp(text, first);
}

pid_t life_process_as(uid_t uid, const char *name, const char *const env[])
{
	char *argv[] = {(char *)(uintptr_t)name, (char[]){"1000"}, NULL};
	char socket_variable[COT_PATH_TEXT_MAX + 32], *all[24] = {socket_variable};
	unsigned i, n = 1;
	pid_t pid;

	for (i = 0; env && env[i]; i++)
		all[n++] = (char *)(uintptr_t)env[i];
	snprintf(socket_variable, sizeof(socket_variable), "COTENANT_SOCKET=%s",
		 stage.basis.socket_path);
	assert_true(n_processes < MAX_PROCESSES);
	pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		if (uid != getuid() && (setgid((gid_t)uid + 1) < 0 || setuid(uid) < 0))
			_exit(127);
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nothing is left of a test that fails */
		(void)execve("/bin/sleep", argv, all);
		_exit(127);
	}
	processes[n_processes++] = pid;
	for (i = 0; i < 5000 && !has_begun(pid, socket_variable); i++)
		usleep(2000);
	assert_true(i < 5000);
	return pid;
}

void life_end(pid_t pid)
{
	unsigned i;

	for (i = 0; i < n_processes && processes[i] != pid; i++)
		continue;
	assert_true(i < n_processes);
	processes[i] = processes[--n_processes];
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool (*until)(void);
static uint64_t until_ns;

static void look(void *arg)
{
	(void)arg;
	if ((until && until()) || cot_now_ns() >= until_ns)
		stage.basis.loop.quit = true;
}

static void nothing(struct cot_timer *timer, uint64_t now_ns)
{
	cot_timer_set(&stage.basis.loop, timer, now_ns + 5 * COT_NS_PER_MS);
}

void life_until(bool (*done)(void))
{
	until = done;
	life_run(60000);
	until = NULL;
	assert_true(done());
}

void life_run(unsigned ms)
{
	struct cot_timer tick = {.fire = nothing};

	until_ns = cot_now_ns() + ms * COT_NS_PER_MS;
	stage.basis.loop.quit = false;
	stage.basis.loop.settle = look;
	cot_timer_set(&stage.basis.loop, &tick, cot_now_ns());
	assert_int_equal(cot_loop_run(&stage.basis.loop), 0);
	cot_timer_clear(&tick);
}

const char *life_read(const char *name)
{
	static char text[65536];
	char path[256];
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "re");
	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		(void)fclose(f);
	}
	text[n] = '\0';
	return text;
}

void life_write(const char *name, const char *text, unsigned mode)
{
	char path[256];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
	(void)close(fd);
}

void life_remove(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}
