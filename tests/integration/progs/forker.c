/*
 * Forks like a data loader: children that never touch CUDA, children that try to (and are told
 * that they cannot), and a child that executes another program, while the parent goes on working.
 * forker [--children N] [--seconds S] [--exec PROGRAM ARGS...]
 * Prints "forker children N refused R kernels K counter C".
 */
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static pid_t start_child(int kind, char **exec_argv)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (kind == 0 && exec_argv[0]) {
		execv(exec_argv[0], exec_argv);
		_exit(127);
	}
	if (kind == 1)
		_exit(cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED ? 42 : 1);
	usleep(20000);
	_exit(0);
}

int main(int argc, char **argv)
{
	int children = (int)prog_option(argc, argv, "--children", 6), i, status, refused = 0,
	    bad = 0;
	double seconds = prog_option(argc, argv, "--seconds", 0.5);
	char *nothing[] = {NULL}, **exec_argv = nothing;
	struct prog p = prog_start(0);
	uint64_t counter = 0;
	CUdeviceptr sum;
	unsigned long n = 0;
	double begun;

	for (i = 1; i < argc; i++)
		if (!strcmp(argv[i], "--exec"))
			exec_argv = argv + i + 1;
	PROG_CHECK(cuMemAlloc(&sum, sizeof(counter)));
	PROG_CHECK(cuMemsetD8(sum, 0, sizeof(counter)));
	for (i = 0; i < children; i++)
		if (start_child(i % 3, exec_argv) < 0)
			return 1;
	begun = prog_now_us();
	do {
		PROG_CHECK(prog_spin(&p, 8, 500, sum));
		PROG_CHECK(cuStreamSynchronize(p.stream));
		n++;
	} while (prog_now_us() - begun < seconds * 1e6);
	for (i = 0; i < children; i++) {
		if (wait(&status) < 0)
			return 1;
		refused += WIFEXITED(status) && WEXITSTATUS(status) == 42;
		bad += !WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 42);
	}
	PROG_CHECK(cuMemcpyDtoH(&counter, sum, sizeof(counter)));
	printf("forker children %d refused %d kernels %lu counter %llu\n", children, refused, n,
	       (unsigned long long)counter);
	return bad || counter != 8 * n;
}
