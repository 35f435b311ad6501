/*
 * The host half of the benchmarks in kernels/: what to put into memory, what to launch, and whether
 * the result is right. It computes on the CPU only and knows nothing of drivers or emulators; who
 * runs an instance copies its buffers to a GPU, launches, and copies them back:
 *
 *     cot_bench_create(&in, cot_bench_find("bfs"), COT_BENCH_SMALL, 0, seed, &err);
 *     for each step of in.steps: launch it; with a stop buffer: end when its first word is 0
 *     cot_bench_check(&in, results, &verdict);
 *
 * An instance belongs to one thread; a benchmark is constant.
 */
#ifndef COT_KERNELS_HOST_BENCH_H
#define COT_KERNELS_HOST_BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_BENCH_MAX_BUFFERS 16u
#define COT_BENCH_MAX_ARGS    16u
#define COT_BENCH_MAX_BYTES   40u /* of an argument */
#define COT_BENCH_NO_BUFFER   UINT32_MAX

enum cot_bench_size {
	COT_BENCH_TEST,	 /* a moment in the emulator */
	COT_BENCH_SMALL, /* the smaller grid of the paper's table 3 */
	COT_BENCH_LARGE, /* the larger one; the same where it has one only */
	COT_BENCH_GPU,	 /* long enough to measure on an H200 */
	COT_BENCH_N_SIZES,
};

struct cot_bench_buffer {
	const char *name;
	void *data; /* before the first launch */
	size_t size_bytes;
	bool is_output; /* looked at by check; the other ones may change as well */
};

struct cot_bench_arg {
	uint32_t size_bytes; /* a pointer is 8 */
	uint32_t buffer;     /* its address is the argument; COT_BENCH_NO_BUFFER: the bytes are */
	/* Pointers inside a structure: the address of buffer inner[i] goes to byte inner_at[i]. */
	uint32_t n_inner, inner[3], inner_at[3];
	unsigned char bytes[COT_BENCH_MAX_BYTES];
};

/* One launch. All launches of an instance have the same number of threads in a block. */
struct cot_bench_step {
	const char *entry;
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; /* dynamic shared memory */
	uint32_t n_args;
	struct cot_bench_arg args[COT_BENCH_MAX_ARGS];
};

struct cot_bench_instance {
	const struct cot_bench *bench;
	uint32_t n_blocks;
	uint32_t work; /* in each block, from the benchmark's table */
	uint32_t n_buffers;
	struct cot_bench_buffer buffers[COT_BENCH_MAX_BUFFERS];
	struct cot_bench_step *steps; /* in this order */
	uint32_t n_steps;
	/*
	 * The first word of this buffer is set to 0 before each step; a step that leaves it 0 was
	 * the last. COT_BENCH_NO_BUFFER: all steps run.
	 */
	uint32_t stop_buffer;
	int64_t number[8]; /* the benchmark's own: sizes and the like */
	float real[4];
};

struct cot_bench_verdict {
	uint64_t n_checked, n_wrong;
	char text[160]; /* the first wrong value */
};

struct cot_bench {
	const char *name, *summary;
	const char *entry; /* the paper's kernel, which most of the time goes to */
	const char *file;  /* ptx/FILE.ptx, of which only `entry` is meant; NULL: all of NAME.ptx */
	uint32_t n_threads;
	uint32_t blocks[COT_BENCH_N_SIZES];
	uint32_t work[COT_BENCH_N_SIZES]; /* rows, steps, pixels, ...: what makes a block longer */

	/* Fills buffers and steps. 0, -ENOMEM, or -ERANGE: too many blocks. */
	int (*create)(struct cot_bench_instance *in, uint64_t seed);
	/*
	 * Computes what the result has to be, independently of the kernels, and compares bit for
	 * bit. result[i] is buffer i afterwards, or NULL if it is no output. Where computing all
	 * of it takes long, a part chosen by chance is checked.
	 */
	int (*check)(const struct cot_bench_instance *in, void *const *result,
		     struct cot_bench_verdict *verdict);
};

extern const struct cot_bench *const cot_bench_all[];
extern const unsigned cot_bench_n_all;

/* Small kernels with what passes have trouble with (kernels/shapes.cu), and those of the patent's
 * programs that are not in the paper. */
extern const struct cot_bench *const cot_bench_shapes[];
extern const unsigned cot_bench_n_shapes;

/* In both lists. Upper and lower case are the same; NULL if there is none. */
const struct cot_bench *cot_bench_find(const char *name);
/* COT_BENCH_N_SIZES if there is none of that name. */
enum cot_bench_size cot_bench_find_size(const char *name);
const char *cot_bench_size_name(enum cot_bench_size size);

/* The PTX of kernels/ptx, built into the program, with a zero at the end. NULL: unknown. */
const char *cot_bench_ptx(const struct cot_bench *bench, size_t *ret_length);

/* n_blocks is the main grid; 0 means that of the size. On failure the instance is empty. */
int cot_bench_create(struct cot_bench_instance *in, const struct cot_bench *bench,
		     enum cot_bench_size size, uint32_t n_blocks, uint64_t seed,
		     struct cot_error *err);
void cot_bench_destroy(struct cot_bench_instance *in);

/*
 * For memory that is about to be filled, gigabytes of it: the kernel clears and maps that page by
 * page, which with small pages takes longer than what is computed. A hint.
 */
void cot_bench_use_large_pages(void *data, size_t size_bytes);

/* 0 (look at n_wrong) or -ENOMEM. */
int cot_bench_check(const struct cot_bench_instance *in, void *const *result,
		    struct cot_bench_verdict *verdict);

/* Puts the arguments of a step together as a kernel takes them; address[i] is that of buffer i. */
void cot_bench_bind(const struct cot_bench_step *step, const uint64_t *address,
		    unsigned char (*ret_values)[COT_BENCH_MAX_BYTES]);

#endif
