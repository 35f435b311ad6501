/*
 * Takes memory of the GPU in every way that the emulated one has, and says of each way how much it
 * got, in MiB, before the driver said that there is no more; then gives all of it back. With --hold
 * MIB it keeps so much until it is ended; with --fork a child does the same first. With --others
 * the ways that the emulated GPU has not are tried as well.
 */
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

#define MIB  (1u << 20)
#define STEP (64u * MIB)
#define MOST 4096u

static CUdeviceptr taken[MOST];
static CUstream stream;
static CUmemoryPool pool;

static CUresult plain(CUdeviceptr *ret)
{
	return cuMemAlloc(ret, STEP);
}

static CUresult pitched(CUdeviceptr *ret)
{
	size_t pitch;

	return cuMemAllocPitch_v2(ret, &pitch, STEP / 64, 64, 4);
}

static CUresult managed(CUdeviceptr *ret)
{
	return cuMemAllocManaged(ret, STEP, 1);
}

static CUresult ordered(CUdeviceptr *ret)
{
	return cuMemAllocAsync(ret, STEP, stream);
}

static CUresult from_pool(CUdeviceptr *ret)
{
	return cuMemAllocFromPoolAsync(ret, STEP, pool, stream);
}

/* What the emulated driver does not have, found by name: there the way is left out. */
#define NAMED(name, type) ((type)(uintptr_t)dlsym(RTLD_DEFAULT, #name))

static CUresult created(CUdeviceptr *ret)
{
	CUmemAllocationProp prop = {.type = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUresult (*create)(unsigned long long *, size_t, const CUmemAllocationProp *,
			   unsigned long long) =
		NAMED(cuMemCreate, CUresult(*)(unsigned long long *, size_t,
					       const CUmemAllocationProp *, unsigned long long));
	unsigned long long handle = 0;
	CUresult rc = create ? create(&handle, STEP, &prop, 0) : CUDA_ERROR_NOT_SUPPORTED;

	*ret = (CUdeviceptr)handle;
	return rc;
}

static CUresult give_back_created(CUdeviceptr at)
{
	return NAMED(cuMemRelease, CUresult(*)(unsigned long long))((unsigned long long)at);
}

#define FLOATS 0x20 /* CU_AD_FORMAT_FLOAT */

/* 4096 x 4096 of one float. */
static CUresult array(CUdeviceptr *ret)
{
	CUDA_ARRAY_DESCRIPTOR d = {
		.Width = 4096, .Height = 4096, .Format = FLOATS, .NumChannels = 1};
	CUresult (*create)(void **, const CUDA_ARRAY_DESCRIPTOR *) =
		NAMED(cuArrayCreate_v2, CUresult(*)(void **, const CUDA_ARRAY_DESCRIPTOR *));
	void *made = NULL;
	CUresult rc = create ? create(&made, &d) : CUDA_ERROR_NOT_SUPPORTED;

	*ret = (CUdeviceptr)(uintptr_t)made;
	return rc;
}

/* 256 x 256 x 256. */
static CUresult solid(CUdeviceptr *ret)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 256, .Height = 256, .Depth = 256, .Format = FLOATS, .NumChannels = 1};
	CUresult (*create)(void **, const CUDA_ARRAY3D_DESCRIPTOR *) =
		NAMED(cuArray3DCreate_v2, CUresult(*)(void **, const CUDA_ARRAY3D_DESCRIPTOR *));
	void *made = NULL;
	CUresult rc = create ? create(&made, &d) : CUDA_ERROR_NOT_SUPPORTED;

	*ret = (CUdeviceptr)(uintptr_t)made;
	return rc;
}

static CUresult give_back_array(CUdeviceptr at)
{
	return NAMED(cuArrayDestroy, CUresult(*)(void *))((void *)(uintptr_t)at);
}

/* 4096 x 3072 with a level of a quarter of it, and so on: nearly as much. */
static CUresult levels(CUdeviceptr *ret)
{
	CUDA_ARRAY3D_DESCRIPTOR d = {
		.Width = 4096, .Height = 3072, .Format = FLOATS, .NumChannels = 1};
	CUresult (*create)(void **, const CUDA_ARRAY3D_DESCRIPTOR *, unsigned) =
		NAMED(cuMipmappedArrayCreate,
		      CUresult(*)(void **, const CUDA_ARRAY3D_DESCRIPTOR *, unsigned));
	void *made = NULL;
	CUresult rc = create ? create(&made, &d, 8) : CUDA_ERROR_NOT_SUPPORTED;

	*ret = (CUdeviceptr)(uintptr_t)made;
	return rc;
}

static CUresult give_back_levels(CUdeviceptr at)
{
	return NAMED(cuMipmappedArrayDestroy, CUresult(*)(void *))((void *)(uintptr_t)at);
}

static CUresult give_back(CUdeviceptr at)
{
	return cuMemFree(at);
}

static CUresult give_back_ordered(CUdeviceptr at)
{
	return cuMemFreeAsync(at, stream);
}

static const struct way {
	const char *name;
	CUresult (*take)(CUdeviceptr *ret);
	CUresult (*give)(CUdeviceptr at);
} ways[] = {
	{"plain", plain, give_back},
	{"pitched", pitched, give_back},
	{"managed", managed, give_back},
	{"ordered", ordered, give_back_ordered},
	{"pool", from_pool, give_back_ordered},
	{"created", created, give_back_created},
	{"array", array, give_back_array},
	{"solid", solid, give_back_array},
	{"levels", levels, give_back_levels},
};
#define N_WAYS	   5u /* that the emulated driver has, too: each with the next one, too */
#define N_ALL_WAYS (sizeof(ways) / sizeof(ways[0]))

static unsigned free_mib(void)
{
	size_t n_free, total;

	PROG_CHECK(cuMemGetInfo(&n_free, &total));
	return (unsigned)(n_free / MIB);
}

/* Until there is no more, `n` at most; any other error ends the program. */
static unsigned take(const struct way *w, unsigned from, unsigned n)
{
	CUresult rc = CUDA_SUCCESS;
	unsigned i = from;

	while (i < MOST && i - from < n && !(rc = w->take(&taken[i])))
		i++;
	if (rc != CUDA_ERROR_OUT_OF_MEMORY)
		PROG_CHECK(rc);
	return i - from;
}

static void give(const struct way *w, unsigned from, unsigned n)
{
	unsigned i;

	for (i = from; i < from + n; i++)
		PROG_CHECK(w->give(taken[i]));
	PROG_CHECK(cuStreamSynchronize(stream));
}

/* All of it in each way, and in two ways half of it each. */
static void try_all(void)
{
	unsigned i, n, half;

	for (i = 0; i < N_WAYS; i++) {
		n = take(&ways[i], 0, MOST);
		printf("%s %u free %u\n", ways[i].name, n * (STEP / MIB), free_mib());
		half = n / 2;
		give(&ways[i], half, n - half);
		n = take(&ways[(i + 1) % N_WAYS], half, MOST - half);
		printf("%s+%s %u\n", ways[i].name, ways[(i + 1) % N_WAYS].name,
		       (half + n) * (STEP / MIB));
		give(&ways[(i + 1) % N_WAYS], half, n);
		give(&ways[i], 0, half);
	}
	printf("free %u\n", free_mib());
}

/* The ways that only real drivers have, each alone. */
static void try_others(void)
{
	CUdeviceptr at;
	unsigned i, n;
	CUresult rc;

	for (i = N_WAYS; i < N_ALL_WAYS; i++) {
		rc = ways[i].take(&at);
		if (rc && rc != CUDA_ERROR_OUT_OF_MEMORY) {
			printf("%s not here (%d)\n", ways[i].name, (int)rc);
			continue;
		}
		if (!rc)
			PROG_CHECK(ways[i].give(at));
		n = take(&ways[i], 0, MOST);
		printf("%s %u free %u\n", ways[i].name, n * (STEP / MIB), free_mib());
		give(&ways[i], 0, n);
	}
}

static void use(void)
{
	CUmemPoolProps props = {.allocType = 1, .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
	CUcontext context;

	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuMemPoolCreate(&pool, &props));
	try_all();
}

static void fork_one(void)
{
	pid_t pid;
	int status;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		use();
		fflush(stdout);
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		exit(4);
}

int main(int argc, char **argv)
{
	unsigned hold = (unsigned)prog_option(argc, argv, "--hold", 0) / (STEP / MIB);
	CUcontext context;
	struct prog p;

	if (prog_option(argc, argv, "--fork", 0) > 0)
		fork_one();
	use();
	if (prog_option(argc, argv, "--others", 0) > 0)
		try_others();
	if (!hold)
		return 0;
	hold = take(&ways[0], 0, hold);
	PROG_CHECK(cuCtxGetCurrent(&context));
	p = prog_start_in(context);
	PROG_CHECK(prog_spin(&p, 1, 1, 0));
	printf("holds %u\n", hold * (STEP / MIB));
	fflush(stdout);
	for (;;)
		pause();
}
