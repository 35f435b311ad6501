/*
 * Two processes share two events. In each round the first one's work waits for a word in memory;
 * the second one's waits for the first one's by an event, and the first one goes on after the
 * second one by the other event. Nothing else orders them.
 *
 *     ipc_events [--seconds S]
 *
 * Prints "rounds N wrong N". Exit status 1: something was wrong.
 */
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static const char text[] = ".version 7.0\n.target sm_35\n.address_size 64\n"
			   ".visible .entry nothing()\n{\n  ret;\n}\n";

struct side {
	int to, from; /* pipes */
	CUcontext context;
	CUfunction nothing; /* launches make a program known to the daemon */
	CUstream stream, other;
	CUdeviceptr flag;
	CUevent mine, theirs;
	unsigned n_rounds, n_wrong;
};

static void tell(struct side *s, const void *what, size_t n)
{
	if (write(s->to, what, n) != (ssize_t)n)
		exit(2);
}

static bool hear(struct side *s, void *what, size_t n)
{
	return read(s->from, what, n) == (ssize_t)n;
}

static void meet(struct side *s)
{
	CUipcEventHandle handle;
	CUmodule module;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&s->context, 0));
	PROG_CHECK(cuCtxSetCurrent(s->context));
	PROG_CHECK(cuModuleLoadData(&module, text));
	PROG_CHECK(cuModuleGetFunction(&s->nothing, module, "nothing"));
	PROG_CHECK(cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuStreamCreate(&s->other, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuMemAlloc(&s->flag, 4));
	PROG_CHECK(cuMemsetD32(s->flag, 0, 1));
	PROG_CHECK(cuEventCreate(&s->mine, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING));
	PROG_CHECK(cuIpcGetEventHandle(&handle, s->mine));
	tell(s, &handle, sizeof(handle));
	if (!hear(s, &handle, sizeof(handle)))
		exit(2);
	PROG_CHECK(cuIpcOpenEventHandle(&s->theirs, handle));
}

static void expect(struct side *s, bool right, const char *what)
{
	if (right)
		return;
	s->n_wrong++;
	printf("wrong: %s, round %u\n", what, s->n_rounds);
}

/* Tells the other one `step`, and waits until it says the same. */
static bool together(struct side *s, char step)
{
	char heard = 0;

	tell(s, &step, 1);
	return hear(s, &heard, 1) && heard == step;
}

static void first(struct side *s, double seconds)
{
	double until = prog_now_us() + seconds * 1e6;
	bool more = true;

	while (more) {
		more = prog_now_us() < until;
		tell(s, more ? "m" : "e", 1);
		if (!more)
			break;
		s->n_rounds++;
		PROG_CHECK(cuStreamWaitValue32_v2(s->stream, s->flag, s->n_rounds, 0));
		PROG_CHECK(cuLaunchKernel(s->nothing, 1, 1, 1, 32, 1, 1, 0, s->stream, NULL, NULL));
		PROG_CHECK(cuEventRecord(s->mine, s->stream));
		if (!together(s, 'r') || !together(s, 'w'))
			exit(2);
		/* The second one has put its wait and its event behind ours. */
		PROG_CHECK(cuStreamWaitEvent(s->stream, s->theirs, 0));
		expect(s, cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY, "it did not wait");
		PROG_CHECK(cuStreamWriteValue32_v2(s->other, s->flag, s->n_rounds, 0));
		PROG_CHECK(cuStreamSynchronize(s->stream));
		PROG_CHECK(cuEventQuery(s->theirs));
	}
}

static void second(struct side *s)
{
	char step = 0;

	while (hear(s, &step, 1) && step == 'm') {
		s->n_rounds++;
		if (!together(s, 'r'))
			exit(2);
		PROG_CHECK(cuStreamWaitEvent(s->stream, s->theirs, 0));
		PROG_CHECK(cuMemsetD32Async(s->flag, s->n_rounds, 1, s->stream));
		PROG_CHECK(cuLaunchKernel(s->nothing, 1, 1, 1, 32, 1, 1, 0, s->stream, NULL, NULL));
		PROG_CHECK(cuEventRecord(s->mine, s->stream));
		expect(s, cuStreamQuery(s->stream) == CUDA_ERROR_NOT_READY, "it did not wait");
		expect(s, cuEventQuery(s->mine) == CUDA_ERROR_NOT_READY, "its event is over");
		if (!together(s, 'w'))
			exit(2);
		PROG_CHECK(cuEventSynchronize(s->mine));
	}
}

int main(int argc, char **argv)
{
	struct side s = {.to = -1};
	int there[2], back[2], status = 0;
	pid_t pid;

	if (pipe(there) || pipe(back))
		return 2;
	(void)alarm(100); /* if the other one ends before */
	pid = fork();
	if (pid < 0)
		return 2;
	s.to = pid ? there[1] : back[1];
	s.from = pid ? back[0] : there[0];
	close(pid ? there[0] : there[1]);
	close(pid ? back[1] : back[0]);
	meet(&s);
	if (!pid) {
		second(&s);
		return s.n_wrong != 0;
	}
	first(&s, prog_option(argc, argv, "--seconds", 2));
	waitpid(pid, &status, 0);
	printf("rounds %u wrong %u\n", s.n_rounds, s.n_wrong + (status != 0));
	return s.n_wrong != 0 || status != 0;
}
