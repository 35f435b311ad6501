/*
 * The machine of the tests that run rewritten kernels: the interpreter with the kernels of
 * kernels/shapes.cu, original and rewritten, in one module. One at a time; failures end the
 * test.
 */
#ifndef COT_TESTS_SHAPES_H
#define COT_TESTS_SHAPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cotenant/passes.h"
#include "emu/exec/exec.h"
#include "ptx/pass/pass.h"

#define WORDS_MAX 16384u
#define LENGTHS	  64u
#define ROWS_MAX  4096u
#define N_SMS	  3u
#define PER_SM	  2u
#define SM_ROWS	  (N_SMS + 1u)

enum arguments { OUT, OUT_N, OUT_LENGTHS_N };

struct shape {
	const char *name;
	uint32_t grid[3], block[3], shared;
	enum arguments arguments;
	bool counted; /* the pass `count` takes it */
};

extern const struct shape shapes[];
extern const size_t n_shapes;

/* One machine: memory that the kernels see, and the module with all kernels, old and new. */
struct shapes_machine {
	struct cot_exec_ranges *memory;
	struct cot_exec_module *module;
	uint64_t variable; /* address of the module's `total` */
	uint64_t n_blocks; /* of all launches, when counting matters */
	_Alignas(256) uint32_t out[WORDS_MAX];
	_Alignas(256) uint32_t expected[WORDS_MAX + 1];
	_Alignas(256) uint32_t lengths[LENGTHS];
	_Alignas(256) struct cot_workers_control control;
	_Alignas(256) struct cot_count_row counts[ROWS_MAX];
	_Alignas(256) struct cot_record_row records[ROWS_MAX];
	_Alignas(256) struct cot_retreat_row rows[SM_ROWS];
};

extern struct shapes_machine machine;

/*
 * Not as workers: pairs with barriers, to which the threads that a kernel has no use for never
 * come, and which stand inside braces; and warp_sum, whose thread index a fused kernel divides, so
 * that nobody can say any more which threads are a warp.
 */
struct pair {
	const char *first, *second;
	bool workers;
};

extern const struct pair pairs[];
extern const size_t n_pairs;

struct launch {
	char name[128];
	uint32_t grid[3], block[3], shared;
	unsigned char args[5120];
	size_t n_args;
};

/* Group set-up and tear-down of cmocka. */
int shapes_set_up(void **state);
int shapes_tear_down(void **state);

uint32_t shapes_n_tasks(const struct shape *s);
uint32_t shapes_n_threads(const struct shape *s); /* of a block */
const struct shape *shapes_find(const char *name);

/* Appends an argument. */
void shapes_push(struct launch *l, const void *value, size_t size, size_t align);
void shapes_push_address(struct launch *l, const void *p);

/* The kernel NAMEsuffix with its own arguments; n_blocks 0: in its own grid. */
struct launch shapes_prepare(const struct shape *s, const char *suffix, uint32_t n_blocks);

/* Plays a launch under the schedule of the seed. */
struct cot_exec_stats shapes_play(const struct launch *l, uint64_t seed, cot_exec_hook hook,
				  void *arg);

/* The same memory before every launch; what it is afterwards; that it is that again. */
void shapes_reset(void);
void shapes_keep_expected(void);
void shapes_compare(const char *name, uint64_t seed);

/* The original kernel, from fresh memory; its outcome becomes the expected one. */
struct cot_exec_stats shapes_play_original(const struct shape *s);

/* How many schedules to play: COT_PTX_SEEDS, or a few. */
uint64_t shapes_n_seeds(void);

#endif
