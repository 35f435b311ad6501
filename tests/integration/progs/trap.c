/*
 * A program whose kernel faults after a while. trap [--after-us U]
 * Prints the name of the error that it gets.
 */
#include "common.h"

int main(int argc, char **argv)
{
	double after_us = prog_option(argc, argv, "--after-us", 0);
	uint64_t block_ns = 10000;
	void *params[] = {&block_ns};
	const char *name = NULL;
	struct prog p = prog_start(0);
	CUresult result;

	prog_sleep_us(after_us);
	PROG_CHECK(cuLaunchKernel(p.trap, 1, 1, 1, 32, 1, 1, 0, p.stream, params, NULL));
	result = cuStreamSynchronize(p.stream);
	cuGetErrorName(result, &name);
	printf("trap %s\n", name);
	return result != CUDA_ERROR_LAUNCH_FAILED;
}
