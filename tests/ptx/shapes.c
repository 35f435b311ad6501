#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/shapes.h"
#include "test.h"

#define SHAPES "kernels/ptx/shapes.ptx"
#define SEEDS  6u

const struct shape shapes[] = {
	{"early_return", {7, 1, 1}, {100, 1, 1}, 0, OUT_N, true},
	{"rounds", {6, 1, 1}, {100, 1, 1}, 0, OUT_N, true},
	{"sums", {9, 1, 1}, {70, 1, 1}, 0, OUT_LENGTHS_N, true},
	{"volume", {3, 4, 5}, {8, 4, 1}, 0, OUT, true},
	{"planes", {2, 3, 7}, {33, 1, 1}, 0, OUT, true},
	{"calls", {5, 4, 1}, {40, 1, 1}, 0, OUT, false},
	{"warp_sum", {11, 1, 1}, {96, 1, 1}, 0, OUT, true},
	{"groups", {6, 1, 1}, {128, 1, 1}, 0, OUT, true},
	{"dynamic_shared", {8, 1, 1}, {50, 1, 1}, 200, OUT, true},
	{"module_variable", {13, 1, 1}, {32, 1, 1}, 0, OUT, true},
	{"no_index", {4, 3, 2}, {64, 1, 1}, 0, OUT, true},
	{"local_array", {5, 1, 1}, {64, 1, 1}, 0, OUT, true},
	{"volume", {1, 1, 1}, {8, 4, 1}, 0, OUT, true},
	{"volume", {1, 6, 1}, {8, 4, 1}, 0, OUT, true},
};
const size_t n_shapes = COT_ARRAY_LEN(shapes);

struct shapes_machine machine;

const struct pair pairs[] = {
	{"volume", "dynamic_shared", false},
	{"early_return", "calls", false},
	{"sums", "sums", false},
	{"groups", "warp_sum", false},
	{"local_array", "no_index", true},
	{"planes", "rounds", false},
	{"volume", "calls", true},
};
const size_t n_pairs = COT_ARRAY_LEN(pairs);

uint32_t shapes_n_threads(const struct shape *s)
{
	return s->block[0] * s->block[1] * s->block[2];
}

const struct shape *shapes_find(const char *name)
{
	size_t i;

	for (i = 0; i < n_shapes; i++)
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	fail_msg("no shape %s", name);
	return NULL;
}

uint32_t shapes_n_tasks(const struct shape *s)
{
	return s->grid[0] * s->grid[1] * s->grid[2];
}

/* ---- making the module ---- */

static char *read_file(const char *path, size_t *ret_size)
{
	FILE *in = fopen(path, "rb");
	char *text = malloc(1u << 20);

	if (!in || !text)
		fail_msg("cannot read %s", path);
	*ret_size = fread(text, 1, 1u << 20, in);
	(void)fclose(in);
	return text;
}

static struct cot_ptx_func *apply(enum cot_pass pass, struct cot_ptx_func *kernel)
{
	struct cot_refusal refusal;
	struct cot_ptx_func *made = NULL;
	struct cot_error err = {""};

	if (cot_pass_apply(pass, kernel, &made, &refusal, &err))
		fail_msg("%s: %s", kernel->name, err.text);
	return made;
}

static void rewrite(struct cot_ptx_module *m, const struct shape *s)
{
	struct cot_ptx_func *kernel = cot_ptx_find_func(m, s->name), *made;
	struct cot_refusal refusal;
	char name[64];

	assert_non_null(kernel);
	(void)snprintf(name, sizeof(name), "%s$cot_workers", s->name);
	if (cot_ptx_find_func(m, name))
		return; /* the same kernel with another grid */
	(void)apply(COT_PASS_WORKERS, kernel);
	(void)apply(COT_PASS_WORKERS, apply(COT_PASS_RECORD, kernel));
	(void)apply(COT_PASS_RETREAT, kernel);
	(void)apply(COT_PASS_RECORD, apply(COT_PASS_SLICE, kernel));
	made = apply(COT_PASS_BATCH, kernel);
	if (!cot_pass_check(COT_PASS_WORKERS, made, NULL, &refusal))
		(void)apply(COT_PASS_WORKERS, made);
	if (s->counted)
		(void)apply(COT_PASS_COUNT, kernel);
}

static struct cot_ptx_func *fuse(struct cot_ptx_func *first, struct cot_ptx_func *second)
{
	struct cot_refusal refusal;
	struct cot_ptx_func *made;
	struct cot_error err = {""};

	if (cot_pass_fuse(first, second, &made, &refusal, &err))
		fail_msg("%s, %s: %s", first->name, second->name, err.text);
	return made;
}

static void fuse_pair(struct cot_ptx_module *m, const struct pair *pair)
{
	struct cot_ptx_func *first = cot_ptx_find_func(m, pair->first);
	struct cot_ptx_func *made = fuse(first, cot_ptx_find_func(m, pair->second));
	struct cot_refusal refusal;

	(void)fuse(made, first);
	if (strcmp(pair->first, pair->second) != 0) /* else both orders have the same name */
		(void)fuse(first, made);
	(void)fuse(made, made);
	if (pair->workers)
		(void)apply(COT_PASS_WORKERS, made);
	else
		assert_int_equal(cot_pass_check(COT_PASS_WORKERS, made, NULL, &refusal), -ENOTSUP);
}

int shapes_set_up(void **state)
{
	struct cot_ptx_module *m = NULL;
	struct cot_exec_variable variable;
	struct cot_error err = {""};
	char *text;
	size_t size, i;

	(void)state;
	text = read_file(SHAPES, &size);
	if (cot_ptx_parse(text, size, SHAPES, &m, &err))
		fail_msg("%s", err.text);
	free(text);
	for (i = 0; i < n_shapes; i++)
		rewrite(m, &shapes[i]);
	for (i = 0; i < n_pairs; i++)
		fuse_pair(m, &pairs[i]);
	if (cot_ptx_verify(m, &err) || cot_ptx_print(m, &text, &size))
		fail_msg("%s", err.text);
	cot_ptx_destroy(m);
	machine.memory = cot_exec_ranges_create();
	assert_non_null(machine.memory);
#define ADD(member)                                                                                \
	assert_int_equal(cot_exec_ranges_add(machine.memory, (uint64_t)(uintptr_t)&machine.member, \
					     sizeof(machine.member), true),                        \
			 0)
	ADD(out);
	ADD(lengths);
	ADD(control);
	ADD(counts);
	ADD(records);
	ADD(rows);
#undef ADD
	if (cot_exec_module_load(machine.memory, text, size, "rewritten", 90, &machine.module,
				 &err))
		fail_msg("%s", err.text);
	free(text);
	assert_int_equal(cot_exec_module_find_variable(machine.module, "total", &variable), 0);
	machine.variable = variable.address;
	return 0;
}

int shapes_tear_down(void **state)
{
	(void)state;
	cot_exec_module_unload(machine.module);
	cot_exec_ranges_destroy(machine.memory);
	return 0;
}

/* ---- launching ---- */

void shapes_push(struct launch *l, const void *value, size_t size, size_t align)
{
	l->n_args = (l->n_args + align - 1) / align * align;
	assert_true(l->n_args + size <= sizeof(l->args));
	memcpy(l->args + l->n_args, value, size);
	l->n_args += size;
}

void shapes_push_address(struct launch *l, const void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;

	shapes_push(l, &address, sizeof(address), 8);
}

static void push_own(struct launch *l, const struct shape *s)
{
	uint32_t n = shapes_n_tasks(s) * s->block[0] * s->block[1];

	shapes_push_address(l, machine.out);
	if (s->arguments == OUT_LENGTHS_N)
		shapes_push_address(l, machine.lengths);
	if (s->arguments != OUT)
		shapes_push(l, &n, sizeof(n), 4);
}

struct launch shapes_prepare(const struct shape *s, const char *suffix, uint32_t n_blocks)
{
	struct launch l = {.grid = {n_blocks, 1, 1}, .shared = s->shared};

	(void)snprintf(l.name, sizeof(l.name), "%s%s", s->name, suffix);
	memcpy(l.block, s->block, sizeof(l.block));
	if (!n_blocks)
		memcpy(l.grid, s->grid, sizeof(l.grid));
	push_own(&l, s);
	return l;
}

/* Plays a launch under the schedule of the seed. */
struct cot_exec_stats shapes_play(const struct launch *l, uint64_t seed, cot_exec_hook hook,
				  void *arg)
{
	struct cot_exec_launch launch = {
		.function = cot_exec_module_find(machine.module, l->name),
		.memory = machine.memory,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.shared_bytes = l->shared,
		.args = l->args,
		.args_size = l->n_args,
		.n_sms = N_SMS,
		/* Workers come to no barrier in parts of a warp; early_return itself does. */
		.checks = COT_EXEC_CHECK_RACES |
			  (strstr(l->name, "$cot_workers") || strstr(l->name, "$cot_retreat")
				   ? COT_EXEC_CHECK_ALIGNED
				   : 0),
	};
	struct cot_exec_run *run = NULL;
	struct cot_exec_stats stats;
	struct cot_error err = {""};

	if (!launch.function)
		fail_msg("no kernel %s", l->name);
	if (cot_exec_start(&launch, &run, &err))
		fail_msg("%s: %s", l->name, err.text);
	if (cot_exec_run_seeded(run, seed, 0, hook, arg) != COT_EXEC_DONE)
		fail_msg("%s, seed %llu: %s", l->name, (unsigned long long)seed,
			 cot_exec_run_fault(run)->text);
	stats = cot_exec_run_stats(run);
	cot_exec_destroy(run);
	return stats;
}

static uint32_t *variable(void)
{
	return (uint32_t *)(uintptr_t)machine.variable;
}

/* The same memory before every launch. */
void shapes_reset(void)
{
	uint32_t i;

	for (i = 0; i < WORDS_MAX; i++)
		machine.out[i] = i * 2654435761u;
	for (i = 0; i < LENGTHS; i++)
		machine.lengths[i] = i * 5 % 7;
	*variable() = 17;
	memset(machine.counts, 0, sizeof(machine.counts));
	memset(machine.records, 0, sizeof(machine.records));
}

void shapes_keep_expected(void)
{
	memcpy(machine.expected, machine.out, sizeof(machine.out));
	machine.expected[WORDS_MAX] = *variable();
}

void shapes_compare(const char *name, uint64_t seed)
{
	uint32_t i;

	for (i = 0; i < WORDS_MAX; i++)
		if (machine.out[i] != machine.expected[i])
			fail_msg("%s, seed %llu: word %u is %08x, expected %08x", name,
				 (unsigned long long)seed, (unsigned)i, (unsigned)machine.out[i],
				 (unsigned)machine.expected[i]);
	if (*variable() != machine.expected[WORDS_MAX])
		fail_msg("%s, seed %llu: the module's variable differs", name,
			 (unsigned long long)seed);
}

struct cot_exec_stats shapes_play_original(const struct shape *s)
{
	struct launch l = shapes_prepare(s, "", 0);
	struct cot_exec_stats stats;

	shapes_reset();
	stats = shapes_play(&l, 1, NULL, NULL);
	shapes_keep_expected();
	return stats;
}

uint64_t shapes_n_seeds(void)
{
	const char *text = getenv("COT_PTX_SEEDS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n ? n : SEEDS;
}
