/* Not an attack: what others get meanwhile, and an old kernel. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../support/old_kernel.h"
#include "../support/schedstat.h"
#include "attack.h"

#define PAUSE_US 20000
#define WINDOW	 12 /* pauses */

static unsigned long stolen_ms(void)
{
	return (unsigned long)(stolen_ns() / 1000000);
}

/* The most in a quarter of a second, and between `since_ms` and the first look. */
static unsigned long look_at_theft(unsigned long since_ms)
{
	static unsigned long then[WINDOW], most;
	static unsigned i;
	unsigned long now = stolen_ms();

	for (; i < WINDOW; i++)
		then[i] = since_ms;
	if (now - then[i % WINDOW] > most)
		most = now - then[i % WINDOW];
	then[i++ % WINDOW] = now;
	return most;
}

/* What one command took, without what the daemon and we waited for a processor. */
static uint64_t command_ns(const char *name, unsigned weight, int daemon)
{
	uint64_t waited = waited_ns(daemon) + waited_ns((int)getpid()), start_ns = now_ns(), end_ns;
	const struct cot_msg_result *answer = (const struct cot_msg_result *)packet;
	struct cot_msg_command m;
	int fd = dial(), type;

	fill_command(&m, COT_COMMAND_SET, 0);
	m.fields = COT_SET_WEIGHT;
	m.weight = (uint16_t)weight;
	snprintf(m.name, sizeof(m.name), "%s", name);
	if (fd < 0 || !say(fd, &m, sizeof(m))) {
		printf("turned away\n");
		exit(1);
	}
	type = hear(fd, 20000);
	end_ns = now_ns();
	if (type != COT_MSG_RESULT || answer->status) {
		printf("answer of type %d\n", type);
		exit(1);
	}
	close(fd);
	start_ns += waited_ns(daemon) + waited_ns((int)getpid()) - waited;
	return end_ns > start_ns ? end_ns - start_ns : 0;
}

/* stolen: in ms */
static int stolen(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	printf("%lu\n", stolen_ms());
	return 0;
}

/* watch NAME SECONDS DAEMON MS: a change of a program every 20 ms; the longest, in ms, and what was
 * stolen from the machine in a short while, or since it was MS */
static int watch(int argc, char **argv)
{
	uint64_t longest_ns = 0, took_ns;
	unsigned long most_stolen = 0;
	unsigned n;

	if (argc < 4)
		return 2;
	for (n = 0; time_is_left(atof(argv[1])); n++) {
		took_ns = command_ns(argv[0], 100 + n % 100, atoi(argv[2]));
		if (took_ns > longest_ns)
			longest_ns = took_ns;
		usleep(PAUSE_US);
		most_stolen = look_at_theft((unsigned long)atol(argv[3]));
	}
	printf("commands %u longest %.1f stolen %lu\n", n, (double)longest_ns / 1e6, most_stolen);
	return 0;
}

/* old-kernel PROGRAM...: as on a kernel that has neither SO_PASSRIGHTS nor SO_PEERPIDFD */
static int old_kernel(int argc, char **argv)
{
	if (argc < 1)
		return 2;
	if (!old_kernel_sockets()) {
		perror("no seccomp");
		return 77;
	}
	execvp(argv[0], argv);
	return 127;
}

/* take-number PID PROGRAM...: becomes the program as a process of that number; 77: cannot */
static int take_number(int argc, char **argv)
{
	int i, want = argc > 1 ? atoi(argv[0]) : 0;

	for (i = 0; want && i < 200; i++) {
		FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
		pid_t pid;

		if (!f || fprintf(f, "%d", want - 1) < 0 || fclose(f) != 0)
			return 77;
		pid = fork();
		if (pid == 0) {
			if (getpid() != want)
				_exit(99);
			execvp(argv[1], argv + 1);
			_exit(127);
		}
		if (pid == want) {
			printf("taken %d\n", want);
			return 0;
		}
	}
	return 77;
}

const struct attack judge_tools[] = {
	{"stolen", "", "what a machine below has taken from this one", stolen},
	{"watch", "NAME SECONDS DAEMON MS", "changes a program; how long that takes", watch},
	{"old-kernel", "PROGRAM...", "runs it as on Debian 12's kernel", old_kernel},
	{"take-number", "PID PROGRAM...", "runs it as the process of that number", take_number},
	{0},
};
