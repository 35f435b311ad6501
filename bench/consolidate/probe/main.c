/*
 * Whether a second process could launch kernels for a program (docs/consolidate.md): one
 * question a call, one line of JSON as the answer. probe-backend.sh asks all of them.
 *
 *   probe-backend QUESTION [SECONDS [WAY]]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "probe.h"

const struct question probe_questions[] = {
	{"equal-addresses", probe_addresses, false},
	{"ipc-memory", probe_ipc_memory, false},
	{"events", probe_events, false},
	{"launches", probe_launches, false},
	{"killed", probe_killed, true},
	{"fault", probe_fault, true},
	{NULL, NULL, false},
};

static bool work_alone(struct side *s)
{
	pointer p = 0;

	return CALL(s, cuMemAlloc_v2, (&p, 4096)) && CALL(s, cuMemsetD32_v2, (p, 1, 1024)) &&
	       probe_fill(s, p, 1024, 1, 1) && CALL(s, cuStreamSynchronize, (s->stream));
}

static pid_t start(const struct question *q, struct shared *shared, int who, int socket)
{
	pid_t parent = getpid(), pid = fork();
	static struct side s;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	s = (struct side){.who = who, .socket = socket, .shared = shared};
	if (q)
		_exit(probe_open(&s) && probe_meet(&s) && q->ask(&s) ? 0 : 1);
	_exit(probe_open(&s) && work_alone(&s) ? 0 : 1);
}

/* Waits for those of pids that are not 0; kills whoever is there at the end. */
static bool await(pid_t pids[2], struct shared *shared, double seconds)
{
	double end_us = probe_now_us() + seconds * 1e6;
	bool in_time = true;

	while ((pids[0] || pids[1]) && in_time) {
		for (int i = 0; i < 2; i++)
			if (pids[i] && waitpid(pids[i], NULL, WNOHANG) == pids[i])
				pids[i] = 0;
		if (shared->kill_b && pids[B]) {
			kill(pids[B], SIGKILL);
			shared->kill_b = 0;
		}
		/* Nobody waits for one that ended. */
		if (!pids[A] && pids[B])
			end_us = end_us < probe_now_us() + 1e6 ? end_us : probe_now_us() + 1e6;
		in_time = probe_now_us() < end_us;
		probe_pause_us(500);
	}
	for (int i = 0; i < 2; i++)
		if (pids[i])
			kill(pids[i], SIGKILL);
	for (int i = 0; i < 2; i++)
		for (int n = 0; pids[i] && n < 2000 && waitpid(pids[i], NULL, WNOHANG) == 0; n++)
			probe_pause_us(500); /* one that the kernel holds is left to init */
	return in_time;
}

/* Whether a process that starts now can work. MPS servers may need a moment. */
static void say_fresh_client(double seconds)
{
	double begin_us = probe_now_us(), now_us = 0;
	struct shared *other = mmap(NULL, sizeof(*other), PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	bool good = false;

	if (other == MAP_FAILED)
		return;
	while (!good && now_us < seconds * 1e6) {
		pid_t pids[2] = {start(NULL, other, A, -1), 0};

		memset(other->failure, 0, sizeof(other->failure));
		other->failed[A] = false;
		good = await(pids, other, seconds - now_us * 1e-6) && !other->failed[A];
		now_us = probe_now_us() - begin_us;
		if (!good)
			probe_pause_us(100000);
	}
	printf(", \"a_new_process\": {\"works\": %s, \"after_ms\": %.0f, \"failure\": \"%s\"}",
	       good ? "true" : "false", now_us * 1e-3, other->failure[A]);
}

static int ask(const struct question *q, double seconds, const char *way)
{
	struct shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
				     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	const struct timeval limit = {.tv_sec = (time_t)WAIT_S};
	int sockets[2];
	pid_t pids[2];
	double begin_us = probe_now_us();
	bool in_time;

	if (shared != MAP_FAILED)
		shared->host = mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_WRITE,
				    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED || shared->host == MAP_FAILED ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, sockets)) {
		perror("probe-backend");
		return 1;
	}
	for (int i = 0; i < 2; i++)
		setsockopt(sockets[i], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	pids[A] = start(q, shared, A, sockets[0]);
	pids[B] = start(q, shared, B, sockets[1]);
	close(sockets[0]);
	close(sockets[1]);
	in_time = await(pids, shared, seconds);
	printf("{\"question\": \"%s\", \"way\": \"%s\", \"works\": %s, \"in_time\": %s, \"a\": {%s}, "
	       "\"b\": {%s}, \"failures\": [\"%s\", \"%s\"]",
	       q->name, way, in_time && shared->right ? "true" : "false",
	       in_time ? "true" : "false", shared->text[A], shared->text[B], shared->failure[A],
	       shared->failure[B]);
	if (q->fresh_client)
		say_fresh_client(4.0);
	printf(", \"seconds\": %.1f}\n", (probe_now_us() - begin_us) * 1e-6);
	return 0;
}

int main(int argc, char **argv)
{
	const struct question *q = probe_questions;
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 9.0;

	while (q->name && (argc < 2 || strcmp(q->name, argv[1])))
		q++;
	if (q->name && seconds > 0)
		return ask(q, seconds, argc > 3 ? argv[3] : "");
	fprintf(stderr, "usage: probe-backend QUESTION [SECONDS [WAY]]; questions:");
	for (q = probe_questions; q->name; q++)
		fprintf(stderr, " %s", q->name);
	fprintf(stderr, "\n");
	return 2;
}
