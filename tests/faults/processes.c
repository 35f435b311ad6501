/* Processes of the test: started with the faults preloaded, waited for, and looked for. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "page.h"

#define A_WHILE_MS 1500u

static int open_out(const char *path)
{
	return open(path ? path : "/dev/null", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

pid_t spawn(const char *const argv[], const char *out, const char *err)
{
	int out_fd = open_out(out), err_fd = open_out(err);
	pid_t pid = fork();

	if (pid == 0) {
		setenv("LD_PRELOAD", env_path("FAULT_LIBRARY"), 1);
		setenv(FAULTS_VARIABLE, work_path("page"), 1);
		dup2(out_fd, STDOUT_FILENO);
		dup2(err_fd, STDERR_FILENO);
		execvp(argv[0], (char *const *)(uintptr_t)argv);
		_exit(99);
	}
	close(out_fd);
	close(err_fd);
	if (pid < 0)
		exit(2);
	return pid;
}

bool has_ended(pid_t pid)
{
	siginfo_t info = {.si_pid = 0};

	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) || info.si_pid == pid;
}

enum ended wait_end(pid_t pid, unsigned ms, int *ret_status)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN};
	bool hung = p.fd >= 0 && poll(&p, 1, (int)ms) == 0;
	int status = 0;

	if (p.fd >= 0)
		close(p.fd);
	if (hung)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	*ret_status = WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status);
	return hung ? ENDED_HUNG : WIFEXITED(status) ? ENDED_EXIT : ENDED_SIGNAL;
}

static pid_t begin_run(const char *const argv[])
{
	unlink(work_path("out"));
	unlink(work_path("err"));
	return spawn(argv, work_path("out"), work_path("err"));
}

static struct result end_run(pid_t pid, unsigned ms)
{
	struct result r;

	r.how = wait_end(pid, ms, &r.status);
	r.out = read_text(work_path("out"));
	r.err = read_text(work_path("err"));
	return r;
}

struct result run(const char *const argv[], unsigned ms)
{
	return end_run(begin_run(argv), ms);
}

static bool ends(const void *arg)
{
	const pid_t *pid = arg;

	return has_ended(*pid);
}

struct result run_through(const char *const argv[], unsigned ms)
{
	pid_t pid;

	if (!is_onward())
		return run(argv, ms);
	pid = begin_run(argv);
	(void)until(ends, &pid, A_WHILE_MS);
	disarm();
	return end_run(pid, ms);
}

void expect_right(struct result r)
{
	disarm();
	if (r.how == ENDED_HUNG)
		problem("the program hangs");
	else if (r.how == ENDED_SIGNAL)
		problem("the program died of signal %d", r.status);
	else if (r.status || !strstr(r.out, " wrong 0 "))
		problem("the program ended with %d: '%s' '%s'", r.status, r.out, r.err);
	free_result(&r);
	daemon_check();
}

pid_t start_loop(const char *name, bool alone)
{
	char program[300];
	const char *const argv[] = {"setpriv",
				    "--reuid",
				    "54321",
				    "--regid",
				    "54321",
				    "--clear-groups",
				    env_path("COTENANT"),
				    "run",
				    "--name",
				    name,
				    alone ? "--solo" : "--class=batch",
				    "--",
				    program,
				    "--seconds",
				    "100000",
				    "--blocks",
				    "2",
				    "--period-us",
				    "5000",
				    NULL};

	(void)snprintf(program, sizeof(program), "%s/ptx_loop", env_path("PROGS"));
	write_text(work_path(name), "");
	return spawn(alone && !geteuid() ? argv : argv + 6, work_path(name), work_path(name));
}

bool has_stepped(const char *name)
{
	char *text = read_text(work_path(name));
	bool stepped = strstr(text, "step") != NULL;

	free(text);
	return stepped;
}

void end_right(pid_t pid, const char *out)
{
	char *text;
	int status;

	kill(pid, SIGTERM);
	if (wait_end(pid, LONG_MS, &status) != ENDED_EXIT || status)
		problem("%s ended with %d", out, status);
	text = read_text(work_path(out));
	if (!strstr(text, " wrong 0 "))
		problem("%s computed something else: %s", out, text);
	free(text);
}

void free_result(struct result *r)
{
	free(r->out);
	free(r->err);
}

static bool is_ours(const char *pid)
{
	char path[300], *text, *at;
	bool ours = false;
	FILE *f;
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	f = fopen(path, "re");
	text = malloc(1 << 16);
	n = f && text ? fread(text, 1, (1 << 16) - 1, f) : 0;
	if (f)
		fclose(f);
	if (text)
		text[n] = '\0';
	for (at = text; !ours && at && at < text + n; at += strlen(at) + 1)
		ours = !strncmp(at, FAULTS_VARIABLE "=", sizeof(FAULTS_VARIABLE)) &&
		       !strcmp(at + sizeof(FAULTS_VARIABLE), work_path("page"));
	free(text);
	return ours;
}

unsigned n_left(char ret_name[NAME_TEXT])
{
	DIR *dir = opendir("/proc");
	struct dirent *e;
	unsigned n = 0;
	long pid;

	while (dir && (e = readdir(dir))) {
		pid = strtol(e->d_name, NULL, 10);
		if (pid <= 0 || pid == getpid() || !is_ours(e->d_name))
			continue;
		n++;
		if (ret_name)
			(void)snprintf(ret_name, NAME_TEXT, "process %ld", pid);
	}
	if (dir)
		closedir(dir);
	return n;
}

static bool nothing_left(const void *arg)
{
	(void)arg;
	return n_left(NULL) == 0;
}

bool none_left(unsigned ms)
{
	return until(nothing_left, NULL, ms);
}
