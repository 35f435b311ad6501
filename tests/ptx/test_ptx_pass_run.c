/*
 * Rewritten kernels do what the original ones do, bit for bit, on the interpreter: kernels with the
 * shapes that passes have trouble with (tests/ptx/pass/shapes.cu), under many schedules, with
 * workers asked to leave at any moment. COT_PTX_SEEDS=N plays N schedules for each kernel and not
 * the few.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "cotenant/passes.h"
#include "emu/exec/exec.h"
#include "ptx/pass/pass.h"

#define SHAPES	     "tests/ptx/pass/shapes.ptx"
#define WORDS_MAX    16384u
#define LENGTHS	     64u
#define ROWS_MAX     4096u
#define SEEDS	     6u
#define N_SMS	     3u
#define PER_SM	     2u
#define LAUNCHES_MAX 10000u

enum arguments { OUT, OUT_N, OUT_LENGTHS_N };

struct shape {
	const char *name;
	uint32_t grid[3], block[3], shared;
	enum arguments arguments;
	bool counted; /* the pass `count` takes it */
};

static const struct shape shapes[] = {
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

/* One machine: memory that the kernels see, and the module with all kernels, old and new. */
static struct machine {
	struct cot_exec_memory *memory;
	struct cot_exec_module *module;
	uint64_t variable; /* address of the module's `total` */
	uint64_t n_blocks; /* of all launches, when counting matters */
	_Alignas(256) uint32_t out[WORDS_MAX];
	_Alignas(256) uint32_t expected[WORDS_MAX + 1];
	_Alignas(256) uint32_t lengths[LENGTHS];
	_Alignas(256) struct cot_workers_control control;
	_Alignas(256) struct cot_count_row counts[ROWS_MAX];
	_Alignas(256) struct cot_record_row records[ROWS_MAX];
} machine;

static uint32_t n_tasks(const struct shape *s)
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
	struct cot_ptx_func *kernel = cot_ptx_find_func(m, s->name);
	char name[64];

	assert_non_null(kernel);
	(void)snprintf(name, sizeof(name), "%s$cot_workers", s->name);
	if (cot_ptx_find_func(m, name))
		return; /* the same kernel with another grid */
	(void)apply(COT_PASS_WORKERS, kernel);
	(void)apply(COT_PASS_WORKERS, apply(COT_PASS_RECORD, kernel));
	(void)apply(COT_PASS_RECORD, apply(COT_PASS_SLICE, kernel));
	if (s->counted)
		(void)apply(COT_PASS_COUNT, kernel);
}

/*
 * Not as workers: with warp_sum, whose thread index a fused kernel divides, so that nobody can say
 * any more which threads are a warp.
 */
struct pair {
	const char *first, *second;
	bool workers;
};

static const struct pair pairs[] = {
	{"volume", "dynamic_shared", true},
	{"early_return", "calls", true},
	{"sums", "sums", true},
	{"groups", "warp_sum", false},
	{"local_array", "no_index", true},
	{"planes", "rounds", true},
};

static void fuse(struct cot_ptx_module *m, const struct pair *pair)
{
	struct cot_refusal refusal;
	struct cot_ptx_func *made;
	struct cot_error err = {""};

	if (cot_pass_fuse(cot_ptx_find_func(m, pair->first), cot_ptx_find_func(m, pair->second),
			  &made, &refusal, &err))
		fail_msg("%s, %s: %s", pair->first, pair->second, err.text);
	if (pair->workers)
		(void)apply(COT_PASS_WORKERS, made);
	else
		assert_int_equal(cot_pass_check(COT_PASS_WORKERS, made, NULL, &refusal), -ENOTSUP);
}

static int set_up(void **state)
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
	for (i = 0; i < COT_ARRAY_LEN(shapes); i++)
		rewrite(m, &shapes[i]);
	for (i = 0; i < COT_ARRAY_LEN(pairs); i++)
		fuse(m, &pairs[i]);
	if (cot_ptx_verify(m, &err) || cot_ptx_print(m, &text, &size))
		fail_msg("%s", err.text);
	cot_ptx_destroy(m);
	machine.memory = cot_exec_memory_create();
	assert_non_null(machine.memory);
#define ADD(member)                                                                                \
	assert_int_equal(cot_exec_memory_add(machine.memory, (uint64_t)(uintptr_t)&machine.member, \
					     sizeof(machine.member), true),                        \
			 0)
	ADD(out);
	ADD(lengths);
	ADD(control);
	ADD(counts);
	ADD(records);
#undef ADD
	if (cot_exec_module_load(machine.memory, text, size, "rewritten", 90, &machine.module,
				 &err))
		fail_msg("%s", err.text);
	free(text);
	assert_int_equal(cot_exec_module_find_variable(machine.module, "total", &variable), 0);
	machine.variable = variable.address;
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	cot_exec_module_unload(machine.module);
	cot_exec_memory_destroy(machine.memory);
	return 0;
}

/* ---- launching ---- */

struct launch {
	char name[96];
	uint32_t grid[3], block[3], shared;
	unsigned char args[256];
	size_t n_args;
};

static void push(struct launch *l, const void *value, size_t size, size_t align)
{
	l->n_args = (l->n_args + align - 1) / align * align;
	memcpy(l->args + l->n_args, value, size);
	l->n_args += size;
}

static void push_address(struct launch *l, const void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;

	push(l, &address, sizeof(address), 8);
}

static void push_own(struct launch *l, const struct shape *s)
{
	uint32_t n = n_tasks(s) * s->block[0] * s->block[1];

	push_address(l, machine.out);
	if (s->arguments == OUT_LENGTHS_N)
		push_address(l, machine.lengths);
	if (s->arguments != OUT)
		push(l, &n, sizeof(n), 4);
}

static struct launch prepare(const struct shape *s, const char *suffix, uint32_t n_blocks)
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
static struct cot_exec_stats play(const struct launch *l, uint64_t seed, cot_exec_hook hook,
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
static void reset(void)
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

static void keep_expected(void)
{
	memcpy(machine.expected, machine.out, sizeof(machine.out));
	machine.expected[WORDS_MAX] = *variable();
}

static void compare(const char *name, uint64_t seed)
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

static struct cot_exec_stats play_original(const struct shape *s)
{
	struct launch l = prepare(s, "", 0);
	struct cot_exec_stats stats;

	reset();
	stats = play(&l, 1, NULL, NULL);
	keep_expected();
	return stats;
}

static uint64_t n_seeds(void)
{
	const char *text = getenv("COT_PTX_SEEDS");
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	return n ? n : SEEDS;
}

/* ---- workers ---- */

struct evicting {
	struct cot_rng *rng;
	uint32_t quota;
	uint64_t every; /* steps between two demands, about */
};

/* Asks some more workers to leave, never fewer than before. */
static int ask_to_leave(void *arg, uint64_t step)
{
	struct evicting *e = arg;
	volatile uint32_t *evict = &machine.control.evict;

	(void)step;
	if (*evict < e->quota && cot_rng_below(e->rng, e->every) == 0)
		*evict += 1 + (uint32_t)cot_rng_below(e->rng, e->quota - *evict);
	return 0;
}

/* Returns how many launches it took. */
static uint32_t play_workers(const struct shape *s, const char *suffix, uint64_t seed, bool evict)
{
	struct cot_rng rng;
	struct cot_workers_args args;
	struct evicting evicting = {&rng, 0, 0};
	uint32_t left = 1, n, chunk;

	rng = (struct cot_rng){seed};
	chunk = 1 + (uint32_t)cot_rng_below(&rng, 4);
	evicting.quota = 1 + (uint32_t)cot_rng_below(&rng, N_SMS);
	evicting.every = 1 + cot_rng_below(&rng, 60);
	assert_int_equal(cot_workers_plan(s->grid, PER_SM, evicting.quota, chunk,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	reset();
	for (n = 0; left && n < LAUNCHES_MAX; n++) {
		struct launch l = prepare(s, suffix, args.n_workers);

		if (strstr(suffix, "record"))
			push_address(&l, machine.records);
		push(&l, &args, sizeof(args), 8);
		(void)play(&l, seed * 1000 + n, evict ? ask_to_leave : NULL, &evicting);
		evicting.quota = 1 + (uint32_t)cot_rng_below(&rng, N_SMS);
		assert_int_equal(cot_workers_resume(&args, &machine.control, evicting.quota, &left),
				 0);
	}
	assert_int_equal(left, 0);
	assert_int_equal(machine.control.done, n_tasks(s));
	return n;
}

static void workers(void **state)
{
	uint64_t seed, n = n_seeds();
	uint32_t relaunches = 0;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(shapes); i++) {
		(void)play_original(&shapes[i]);
		for (seed = 1; seed <= n; seed++) {
			relaunches += play_workers(&shapes[i], "$cot_workers", seed, seed % 3) - 1;
			compare(shapes[i].name, seed);
		}
	}
	/* Without them, being asked to leave was not tested. */
	assert_true(relaunches > n);
}

static void check_records(const struct shape *s)
{
	uint32_t i;

	for (i = 0; i < n_tasks(s); i++) {
		const struct cot_record_row *r = &machine.records[i];

		if (!r->n_ends || r->end_ns < r->begin_ns || !r->begin_ns || r->sm >= N_SMS)
			fail_msg("%s: task %u: %llu to %llu on SM %u, %u ends", s->name,
				 (unsigned)i, (unsigned long long)r->begin_ns,
				 (unsigned long long)r->end_ns, (unsigned)r->sm,
				 (unsigned)r->n_ends);
	}
	assert_int_equal(machine.records[i].n_ends, 0);
}

/* Two passes: what the first noted is about tasks, not about workers. */
static void recorded_workers(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(shapes); i++) {
		(void)play_original(&shapes[i]);
		(void)play_workers(&shapes[i], "$cot_record$cot_workers", i + 1, true);
		compare(shapes[i].name, i);
		check_records(&shapes[i]);
	}
}

/* ---- slices ---- */

static void slices(void **state)
{
	struct cot_rng rng;
	uint32_t cut[3], k;
	uint64_t seed;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(shapes); i++) {
		const struct shape *s = &shapes[i];

		(void)play_original(s);
		for (seed = 1; seed <= n_seeds(); seed++) {
			rng = (struct cot_rng){seed};
			cut[0] = 0;
			cut[1] = (uint32_t)cot_rng_below(&rng, n_tasks(s) + 1);
			cut[2] = n_tasks(s);
			reset();
			/* The second slice first: their order must not matter. */
			for (k = 2; k-- > 0;) {
				struct cot_slice_args args = {
					.grid = {s->grid[0], s->grid[1], s->grid[2]},
					.first = cut[k],
				};
				struct launch l =
					prepare(s, "$cot_slice$cot_record", cut[k + 1] - cut[k]);

				if (cut[k + 1] == cut[k])
					continue;
				push(&l, &args, sizeof(args), 8);
				push_address(&l, machine.records);
				(void)play(&l, seed, NULL, NULL);
			}
			compare(s->name, seed);
		}
	}
}

/* ---- two kernels in one ---- */

static const struct shape *find_shape(const char *name)
{
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(shapes); i++)
		if (!strcmp(shapes[i].name, name))
			return &shapes[i];
	fail_msg("no shape %s", name);
	return NULL;
}

/* The second kernel of a pair works on the second half of the memory. */
static void push_half(struct launch *l, const struct shape *s, uint32_t half)
{
	uint32_t n = n_tasks(s) * s->block[0] * s->block[1];

	push_address(l, machine.out + half * (WORDS_MAX / 2));
	if (s->arguments == OUT_LENGTHS_N)
		push_address(l, machine.lengths);
	if (s->arguments != OUT)
		push(l, &n, sizeof(n), 4);
}

static void play_pair_alone(const struct shape *first, const struct shape *second)
{
	const struct shape *both[2] = {first, second};
	struct launch l;
	uint32_t i;

	reset();
	for (i = 0; i < 2; i++) {
		l = prepare(both[i], "", 0);
		l.n_args = 0;
		push_half(&l, both[i], i);
		(void)play(&l, 1, NULL, NULL);
	}
	keep_expected();
}

static uint32_t n_threads(const struct shape *s)
{
	return s->block[0] * s->block[1] * s->block[2];
}

static struct launch prepare_pair(const struct shape *first, const struct shape *second)
{
	struct launch l = {.grid = {n_tasks(first) + n_tasks(second), 1, 1}};
	struct cot_fuse_args args = {.first_blocks = n_tasks(first)};
	uint32_t threads =
		n_threads(first) > n_threads(second) ? n_threads(first) : n_threads(second);

	(void)snprintf(l.name, sizeof(l.name), "%s$cot_fuse$%s", first->name, second->name);
	l.block[0] = (threads + 31) / 32 * 32;
	l.block[1] = l.block[2] = 1;
	l.shared = first->shared > second->shared ? first->shared : second->shared;
	memcpy(args.first_grid, first->grid, sizeof(args.first_grid));
	memcpy(args.first_block, first->block, sizeof(args.first_block));
	memcpy(args.second_grid, second->grid, sizeof(args.second_grid));
	memcpy(args.second_block, second->block, sizeof(args.second_block));
	push_half(&l, first, 0);
	push_half(&l, second, 1);
	push(&l, &args, sizeof(args), 8);
	return l;
}

/* The fused kernel again as workers: its grid is one of tasks like any other. */
static void play_pair_as_workers(const struct launch *fused, uint64_t seed)
{
	struct cot_workers_args args;
	struct launch l = *fused;
	uint32_t left;

	(void)snprintf(l.name, sizeof(l.name), "%s$cot_workers", fused->name);
	assert_int_equal(cot_workers_plan(fused->grid, PER_SM, N_SMS, 2,
					  (uint64_t)(uintptr_t)&machine.control, &args,
					  &machine.control),
			 0);
	l.grid[0] = args.n_workers;
	push(&l, &args, sizeof(args), 8);
	(void)play(&l, seed, NULL, NULL);
	assert_int_equal(cot_workers_resume(&args, &machine.control, N_SMS, &left), 0);
	assert_int_equal(left, 0);
}

static void fused(void **state)
{
	uint64_t seed;
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(pairs); i++) {
		const struct shape *first = find_shape(pairs[i].first);
		const struct shape *second = find_shape(pairs[i].second);
		struct launch l = prepare_pair(first, second);

		play_pair_alone(first, second);
		for (seed = 1; seed <= n_seeds() / 2 + 1; seed++) {
			reset();
			(void)play(&l, seed, NULL, NULL);
			compare(l.name, seed);
			if (!pairs[i].workers)
				continue;
			reset();
			play_pair_as_workers(&l, seed);
			compare(l.name, seed);
		}
	}
}

/* ---- counters ---- */

static struct cot_count_row add_rows(uint32_t n)
{
	struct cot_count_row sum = {0};
	uint64_t *to = (uint64_t *)&sum;
	uint32_t i, k;

	for (i = 0; i < n; i++)
		for (k = 0; k < sizeof(sum) / sizeof(*to); k++)
			to[k] += ((const uint64_t *)&machine.counts[i])[k];
	return sum;
}

static void counters(void **state)
{
	size_t i;

	(void)state;
	for (i = 0; i < COT_ARRAY_LEN(shapes); i++) {
		const struct shape *s = &shapes[i];
		struct launch l = prepare(s, "$cot_count", 0);
		struct cot_exec_stats stats;
		struct cot_count_row sum;

		if (!s->counted)
			continue;
		stats = play_original(s);
		push_address(&l, machine.counts);
		reset();
		(void)play(&l, 1, NULL, NULL);
		compare(s->name, 0);
		sum = add_rows(n_tasks(s));
		assert_int_equal(sum.thread_insns, stats.n_thread_insns);
		assert_true(sum.warp_insns * 32 >= sum.thread_insns);
		assert_true(sum.warp_insns <= sum.thread_insns);
	}
}

/* Two kernels whose traffic can be counted by hand. */
static void traffic(void **state)
{
	const struct shape *s = find_shape("volume");
	uint64_t threads = (uint64_t)n_tasks(s) * n_threads(s);
	struct launch l = prepare(s, "$cot_count", 0);
	struct cot_count_row sum;

	(void)state;
	push_address(&l, machine.counts);
	reset();
	(void)play(&l, 1, NULL, NULL);
	sum = add_rows(n_tasks(s));
	assert_int_equal(sum.read_bytes[COT_COUNT_GLOBAL], threads * 4);
	assert_int_equal(sum.written_bytes[COT_COUNT_GLOBAL], threads * 4);
	assert_int_equal(sum.requests[COT_COUNT_GLOBAL], threads / 32 * 2);
	assert_int_equal(sum.requests[COT_COUNT_SHARED], 0);
	s = find_shape("groups");
	l = prepare(s, "$cot_count", 0);
	threads = (uint64_t)n_tasks(s) * n_threads(s);
	push_address(&l, machine.counts);
	reset();
	(void)play(&l, 1, NULL, NULL);
	sum = add_rows(n_tasks(s));
	assert_int_equal(sum.read_bytes[COT_COUNT_SHARED], threads * 4);
	assert_int_equal(sum.written_bytes[COT_COUNT_SHARED], threads * 4);
	assert_int_equal(sum.requests[COT_COUNT_SHARED], threads / 32 * 2);
	assert_int_equal(sum.read_bytes[COT_COUNT_LOCAL], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers),  cmocka_unit_test(recorded_workers),
		cmocka_unit_test(slices),   cmocka_unit_test(fused),
		cmocka_unit_test(counters), cmocka_unit_test(traffic),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
