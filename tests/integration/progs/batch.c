/* Batch looper: batch [--seconds S] [--block-us U] [--blocks N] [--device D] */
#include "batch_loop.h"

int main(int argc, char **argv)
{
	struct batch b = batch_options(argc, argv);
	struct prog p = prog_start((int)prog_option(argc, argv, "--device", 0));

	return batch_loop(&p, &b);
}
