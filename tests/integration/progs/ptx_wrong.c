/*
 * Kernels with mistakes. Prints "wrong NAME then NAME": what the synchronisation said, and what the
 * next call says.
 * ptx_wrong --how 0 (none) | 1 (address) | 2 (alignment) | 3 (trap) | 4 (a race)
 */
#include "ptx_common.h"

static const char *name_of(CUresult result)
{
	const char *name = "?";

	cuGetErrorName(result, &name);
	return name;
}

int main(int argc, char **argv)
{
	unsigned how = (unsigned)prog_option(argc, argv, "--how", 0);
	struct ptx_prog p = ptx_start();
	CUdeviceptr d, more;
	CUresult first, second;
	void *params[] = {&d, &how};

	PROG_CHECK(cuMemAlloc(&d, 4096));
	PROG_CHECK(cuMemsetD32(d, 0, 1024));
	PROG_CHECK(cuLaunchKernel(ptx_function(&p, how == 4 ? "race" : "wrong"), 2, 1, 1, 64, 1, 1,
				  0, p.stream, params, NULL));
	first = cuStreamSynchronize(p.stream);
	second = cuMemAlloc(&more, 16);
	printf("wrong %s then %s\n", name_of(first), name_of(second));
	return 0;
}
