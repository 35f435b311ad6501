/*
 * A service, as those on the CUDA runtime are: in the primary context. A request is some kernels,
 * and a wait for the last one.
 * service [--seconds S] [--kernels N] [--blocks N] [--block-us U] [--gap-us U]
 */
#include "common.h"

int main(int argc, char **argv)
{
	double seconds = prog_option(argc, argv, "--seconds", 2);
	unsigned kernels = (unsigned)prog_option(argc, argv, "--kernels", 2), i;
	unsigned blocks = (unsigned)prog_option(argc, argv, "--blocks", 16);
	double block_us = prog_option(argc, argv, "--block-us", 100);
	double gap_us = prog_option(argc, argv, "--gap-us", 1000);
	double begun = prog_now_us();
	CUcontext context;
	struct prog p;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	p = prog_start_in(context);
	prog_catch_signals();
	while (!prog_stopped && prog_now_us() - begun < seconds * 1e6) {
		for (i = 0; i < kernels; i++)
			PROG_CHECK(prog_spin(&p, blocks, block_us, 0));
		PROG_CHECK(cuStreamSynchronize(p.stream));
		prog_sleep_us(gap_us);
	}
	return 0;
}
