/*
 * The host of blur.cu. With `cotenant run --quota` cotenant launches it (share.h), on as many SMs
 * as the daemon grants, and has workers leave for others. Without, this program does that itself:
 * it gives the kernel half of the GPU, has some of its workers leave half-way, and launches what is
 * left when all had to. Needs no headers of CUDA:
 *
 *   cc -Iinclude examples/workers/blur.c -o blur -ldl
 *   cotenant run --emulate h200 -- ./blur blur.ptx [TIMES]      or ./blur blur.ptx on a GPU
 *   cotenant run --quota 25% -- ./blur blur.ptx
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cotenant/share.h>
#include <cotenant/workers.h>

enum { WIDTH = 800, HEIGHT = 480, TILE = 16, ROUNDS = 20, N_PIXELS = WIDTH * HEIGHT };
enum { N_SMS = 16, NON_BLOCKING = 1 };

/* name in libcuda, name here, parameters */
#define CALLS(F)                                                                                 \
	F(cuInit, init, (unsigned))                                                              \
	F(cuDeviceGet, device, (int *, int))                                                     \
	F(cuDeviceGetAttribute, attribute, (int *, int, int))                                    \
	F(cuCtxCreate_v2, create, (void **, unsigned, int))                                      \
	F(cuModuleLoadData, load, (void **, const void *))                                       \
	F(cuModuleGetFunction, function, (void **, void *, const char *))                        \
	F(cuOccupancyMaxActiveBlocksPerMultiprocessor, occupancy, (int *, void *, int, size_t))  \
	F(cuMemAlloc_v2, alloc, (uint64_t *, size_t))                                            \
	F(cuMemcpyHtoD_v2, to_gpu, (uint64_t, const void *, size_t))                             \
	F(cuMemcpyDtoH_v2, from_gpu, (void *, uint64_t, size_t))                                 \
	F(cuStreamCreate, stream, (void **, unsigned))                                           \
	F(cuStreamSynchronize, wait, (void *))                                                   \
	F(cuStreamWriteValue32_v2, write, (void *, uint64_t, uint32_t, unsigned))                \
	F(cuLaunchKernel, launch,                                                                \
	  (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, \
	   void **, void **))

static struct {
#define F(symbol, name, parameters) int(*name) parameters;
	CALLS(F)
#undef F
} cuda;

static void stop(const char *what)
{
	fprintf(stderr, "blur: %s\n", what);
	exit(1);
}

static void check(int result, const char *what)
{
	if (result) {
		fprintf(stderr, "blur: %s failed: error %d\n", what, result);
		exit(1);
	}
}

static void find_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW), *symbol;

	if (!library)
		stop("there is no CUDA driver here; try: cotenant run --emulate h200 -- ...");
#define F(name_there, name, parameters)                 \
	symbol = dlsym(library, #name_there);           \
	if (!symbol)                                    \
		stop("the driver has no " #name_there); \
	memcpy(&cuda.name, &symbol, sizeof(symbol));
	CALLS(F)
#undef F
}

static char *read_file(const char *path)
{
	enum { MOST = 1 << 20 };
	FILE *file = fopen(path, "r");
	char *text = calloc(1, MOST);

	if (!file || !text)
		stop("the PTX cannot be read; blur.cu says how to make it");
	if (fread(text, 1, MOST - 1, file) == 0)
		stop("the PTX is empty");
	fclose(file);
	return text;
}

/* ---- the same on the CPU ---- */

static int inside(int at, int end)
{
	return at < 0 ? 0 : at < end ? at : end - 1;
}

static void blur_tile(const unsigned *from, unsigned *to, int tile_x, int tile_y)
{
	unsigned now[TILE][TILE], next[TILE][TILE];
	int x, y, i;

	for (y = 0; y < TILE; y++)
		for (x = 0; x < TILE; x++)
			now[y][x] = from[inside(tile_y * TILE + y, HEIGHT) * WIDTH +
					 inside(tile_x * TILE + x, WIDTH)];
	for (i = 0; i < ROUNDS; i++) {
		for (y = 0; y < TILE; y++)
			for (x = 0; x < TILE; x++)
				next[y][x] =
					(now[y][x] + now[y][inside(x - 1, TILE)] +
					 now[y][inside(x + 1, TILE)] + now[inside(y - 1, TILE)][x] +
					 now[inside(y + 1, TILE)][x]) /
					5;
		memcpy(now, next, sizeof(now));
	}
	for (y = 0; y < TILE && tile_y * TILE + y < HEIGHT; y++)
		for (x = 0; x < TILE && tile_x * TILE + x < WIDTH; x++)
			to[(tile_y * TILE + y) * WIDTH + tile_x * TILE + x] = now[y][x];
}

/* ---- the GPU ---- */

struct work {
	void *kernel, *stream, *urgent;
	uint64_t from, to, control;
	uint32_t units; /* SMs' worth of workers */
	struct cot_workers_args args;
	struct cot_workers_control block;
};

enum { COLUMNS = (WIDTH + TILE - 1) / TILE, ROWS = (HEIGHT + TILE - 1) / TILE };

static void prepare(struct work *w, const char *ptx, const unsigned *picture)
{
	const uint32_t grid[3] = {COLUMNS, ROWS, 1};
	void *context, *module;
	int device, n_sms, per_sm;

	check(cuda.init(0), "cuInit");
	check(cuda.device(&device, 0), "cuDeviceGet");
	check(cuda.attribute(&n_sms, N_SMS, device), "cuDeviceGetAttribute");
	check(cuda.create(&context, 0, device), "cuCtxCreate");
	check(cuda.load(&module, ptx), "cuModuleLoadData");
	check(cuda.function(&w->kernel, module, "blur"), "cuModuleGetFunction");
	check(cuda.occupancy(&per_sm, w->kernel, TILE * TILE, 0), "the occupancy");
	check(cuda.stream(&w->stream, NON_BLOCKING), "cuStreamCreate");
	check(cuda.stream(&w->urgent, NON_BLOCKING), "cuStreamCreate");
	check(cuda.alloc(&w->from, N_PIXELS * sizeof(unsigned)), "cuMemAlloc");
	check(cuda.alloc(&w->to, N_PIXELS * sizeof(unsigned)), "cuMemAlloc");
	check(cuda.alloc(&w->control, sizeof(w->block)), "cuMemAlloc");
	check(cuda.to_gpu(w->from, picture, N_PIXELS * sizeof(unsigned)), "cuMemcpyHtoD");
	w->units = n_sms > 1 ? (uint32_t)n_sms / 2 : 1;
	if (!cot_workers_share(grid, (uint32_t)per_sm, w->units, 1, w->control, &w->args,
			       &w->block))
		stop("too many tasks");
}

static void launch(struct work *w, uint32_t evict)
{
	int width = WIDTH, height = HEIGHT, rounds = ROUNDS;
	void *arguments[] = {&w->from, &w->to, &width, &height, &rounds, &w->args};

	check(cuda.to_gpu(w->control, &w->block, sizeof(w->block)), "cuMemcpyHtoD");
	check(cuda.launch(w->kernel, w->args.n_workers, 1, 1, TILE, TILE, 1, 0, w->stream,
			  arguments, NULL),
	      "cuLaunchKernel");
	if (evict)
		check(cuda.write(w->urgent, w->control + COT_WORKERS_EVICT_OFFSET, evict, 0),
		      "cuStreamWriteValue32");
	check(cuda.wait(w->urgent), "writing the flag");
	check(cuda.wait(w->stream), "blur");
	check(cuda.from_gpu(&w->block, w->control, sizeof(w->block)), "cuMemcpyDtoH");
}

/* Of everything, by cotenant. 0: nobody is there to do that. */
static int launch_shared(struct work *w)
{
	int width = WIDTH, height = HEIGHT, rounds = ROUNDS;
	void *arguments[] = {&w->from, &w->to, &width, &height, &rounds};
	struct cot_share_workers all = {.function = w->kernel,
					.stream = w->stream,
					.grid = {COLUMNS, ROWS, 1},
					.block = {TILE, TILE, 1},
					.n_params = 5,
					.params = arguments};
	int result = cot_share_launch_workers(&all);

	if (result == -ENOSYS || result == -EAGAIN)
		return 0;
	check(result, "cot_share_launch_workers");
	check(cuda.wait(w->stream), "blur");
	return 1;
}

static void launch_alone(struct work *w)
{
	uint32_t left, n_launches = 0, evict, at_most;

	printf("%u tasks, %u workers in %u units\n", w->args.n_tasks, w->args.n_workers, w->units);
	do {
		/* At first all leave, then half of them, and then nobody. */
		evict = n_launches == 0 ? w->units : n_launches == 1 ? w->units / 2 : 0;
		at_most = w->args.n_workers;
		launch(w, evict);
		n_launches++;
		if (!cot_workers_rest(&w->args, &w->block, w->units, &left))
			stop("workers did not do what they had claimed");
		printf("launch %u: %u workers, %u units told to leave, %u tasks left\n", n_launches,
		       at_most, evict, left);
	} while (left);
}

int main(int argc, char **argv)
{
	static unsigned picture[N_PIXELS], got[N_PIXELS], want[N_PIXELS];
	int x, y, i, times = argc > 2 ? atoi(argv[2]) : 1, n_shared = 0;
	struct work w = {0};

	if (argc < 2)
		stop("expected the file with the PTX of blur.cu");
	for (i = 0; i < N_PIXELS; i++)
		picture[i] = (unsigned)i * 2654435761u >> 12;
	find_driver();
	prepare(&w, read_file(argv[1]), picture);
	for (i = 0; i < times && launch_shared(&w); i++)
		n_shared++;
	if (n_shared)
		printf("cotenant launched it %d times\n", n_shared);
	if (n_shared < times)
		launch_alone(&w);
	check(cuda.from_gpu(got, w.to, sizeof(got)), "cuMemcpyDtoH");
	for (y = 0; y * TILE < HEIGHT; y++)
		for (x = 0; x * TILE < WIDTH; x++)
			blur_tile(picture, want, x, y);
	if (memcmp(got, want, sizeof(got)) != 0)
		stop("the result is wrong");
	puts("same as the CPU's");
	return 0;
}
