/*
 * A program with a kernel that is its own workers (include/cotenant/workers.h): `hand`, of the PTX
 * in the file that is its argument. Has cotenant launch it three times (cotenant/share.h), and
 * prints after each a line "used N most N wrong N": on how many SMs tasks were done, the highest
 * %smid, and how many tasks were not done once. Then it waits for SIGTERM.
 */
#include <unistd.h>

#include "common.h"
#include "cotenant/share.h"

#define TASKS	     396u
#define SHARED_BYTES (40u * 1024) /* five blocks fit an SM */
#define LAUNCHES     3

static void *read_file(const char *path)
{
	static char text[1 << 20];
	FILE *f = fopen(path, "r");

	if (!f || !fread(text, 1, sizeof(text) - 1, f)) {
		fprintf(stderr, "ptx_hand: %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	return text;
}

/* Each task has counted itself, and written where it was. */
static void look(const uint32_t (*words)[2])
{
	unsigned i, used = 0, most = 0, wrong = 0;
	unsigned char on[4096] = {0};

	for (i = 0; i < TASKS; i++) {
		uint32_t sm = words[i][0] % sizeof(on);

		used += !on[sm];
		on[sm] = 1;
		most = sm > most ? sm : most;
		wrong += words[i][1] != 1;
	}
	printf("used %u most %u wrong %u\n", used, most, wrong);
	fflush(stdout);
}

int main(int argc, char **argv)
{
	static uint32_t words[TASKS][2];
	struct cot_share_workers w = {.n_params = 1,
				      .grid = {TASKS, 1, 1},
				      .block = {1, 1, 1},
				      .shared_bytes = SHARED_BYTES};
	CUdeviceptr d;
	void *params[] = {&d, NULL};
	CUcontext context;
	CUfunction hand;
	CUmodule module;
	CUstream stream;
	int i;

	prog_catch_signals();
	PROG_CHECK(cuInit(0));
	PROG_CHECK(cuDevicePrimaryCtxRetain(&context, 0));
	PROG_CHECK(cuCtxSetCurrent(context));
	PROG_CHECK(cuModuleLoadData(&module, read_file(argc > 1 ? argv[1] : "")));
	PROG_CHECK(cuModuleGetFunction(&hand, module, "hand"));
	PROG_CHECK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
	PROG_CHECK(cuMemAlloc(&d, sizeof(words)));
	w.function = hand;
	w.stream = stream;
	w.params = params;
	for (i = 0; i < LAUNCHES && !prog_stopped; i++) {
		PROG_CHECK(cuMemsetD32Async(d, 0, 2 * TASKS, stream));
		PROG_CHECK(cot_share_launch_workers(&w));
		PROG_CHECK(cuMemcpyDtoHAsync(words, d, sizeof(words), stream));
		PROG_CHECK(cuStreamSynchronize(stream));
		look(words);
	}
	while (!prog_stopped)
		(void)usleep(1000);
	PROG_CHECK(cuDevicePrimaryCtxRelease(0));
	return 0;
}
