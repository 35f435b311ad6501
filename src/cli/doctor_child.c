/* Test programs of `cotenant doctor`, which `cotenant run` starts: this program itself, with
 * --probe. */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor.h"

#define END_MS 2000

static _Noreturn void become(int in, int out, bool solo, const char *probe)
{
	char self[] = "/proc/self/exe", run[] = "run", alone[] = "--solo", name[] = "--name=doctor",
	     dashes[] = "--", doctor[] = "doctor", option[32], program[512];
	char *argv[] = {program, run,	 name, solo ? alone : name, dashes, program,
			doctor,	 option, NULL};
	ssize_t n = readlink(self, program, sizeof(program) - 1);

	if (n <= 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0)
		_exit(125);
	program[n] = '\0';
	(void)snprintf(option, sizeof(option), "--probe=%s", probe);
	(void)unsetenv("COTENANT_NAME");
	(void)unsetenv("COTENANT_SOLO");
	(void)unsetenv("COTENANT_DISABLE");
	(void)execv(program, argv);
	_exit(126);
}

bool cot_doctor_child_start(struct cot_doctor_child *c, bool solo, const char *probe)
{
	int in[2], out[2];

	*c = (struct cot_doctor_child){.to = -1, .from = -1};
	if (pipe2(in, O_CLOEXEC) < 0)
		return false;
	if (pipe2(out, O_CLOEXEC) < 0) {
		(void)close(in[0]);
		(void)close(in[1]);
		return false;
	}
	c->pid = fork();
	if (c->pid == 0)
		become(in[0], out[1], solo, probe);
	(void)close(in[0]);
	(void)close(out[1]);
	c->to = in[1];
	c->from = out[0];
	return c->pid > 0;
}

bool cot_doctor_child_read(struct cot_doctor_child *c, int timeout_ms)
{
	struct pollfd ready = {.fd = c->from, .events = POLLIN};
	ssize_t n;

	c->line[0] = '\0';
	if (poll(&ready, 1, timeout_ms) <= 0)
		return false;
	n = read(c->from, c->line, sizeof(c->line) - 1);
	c->line[n > 0 ? n : 0] = '\0';
	c->line[strcspn(c->line, "\n")] = '\0';
	return n > 0;
}

bool cot_doctor_child_ask(struct cot_doctor_child *c, int timeout_ms, const char *fmt, ...)
{
	char text[64];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	c->line[0] = '\0';
	return write(c->to, text, (size_t)n) == n && cot_doctor_child_read(c, timeout_ms);
}

bool cot_doctor_numbers(const char *line, const char *word, unsigned n, double *ret_numbers)
{
	size_t length = strlen(word);
	unsigned i;
	char *end;

	if (strncmp(line, word, length) != 0)
		return false;
	line += length;
	for (i = 0; i < n; i++) {
		ret_numbers[i] = strtod(line, &end);
		if (end == line)
			return false;
		line = end;
	}
	return !*line;
}

void cot_doctor_child_stop(struct cot_doctor_child *c)
{
	if (c->pid <= 0)
		return;
	(void)close(c->to);
	if (cot_doctor_child_read(c, END_MS)) /* something that was late */
		(void)cot_doctor_child_read(c, END_MS);
	(void)kill(c->pid, SIGKILL);
	(void)waitpid(c->pid, NULL, 0);
	(void)close(c->from);
}
