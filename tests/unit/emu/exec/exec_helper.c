#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "test.h"
#include "unit/emu/exec/exec_helper.h"

#define MAX_ALLOCS 64
#define HEAD	   ".version 8.0\n.target sm_90\n.address_size 64\n"

struct allocs {
	struct exec_test *t;
	void *p[MAX_ALLOCS];
	size_t n;
};

static struct allocs allocs;

/* Tells why a kernel cannot run, where it cannot. */
static void expect_runnable(struct exec_test *t, const char *ptx)
{
	struct cot_exec_launch launch = t->launch;
	struct cot_exec_run *run = NULL;
	struct cot_error err = {{0}};
	unsigned k;

	for (k = 0; k < 3; k++)
		launch.grid[k] = launch.block[k] = 1;
	if (cot_exec_start(&launch, &run, &err) == -ENOTSUP)
		fail_msg("%s: %s", err.text, ptx);
	cot_exec_destroy(run);
}

void exec_load(struct exec_test *t, const char *ptx)
{
	struct cot_error err = {{0}};

	memset(t, 0, sizeof(*t));
	t->memory = cot_exec_ranges_create();
	assert_non_null(t->memory);
	if (cot_exec_module_load(t->memory, ptx, strlen(ptx), "test", 0, &t->module, &err))
		fail_msg("%s", err.text);
	t->launch.function = cot_exec_module_function(t->module, 0);
	t->launch.memory = t->memory;
	t->launch.args = t->args;
	t->launch.args_size = sizeof(t->args);
	t->launch.n_sms = 4;
	memset(&allocs, 0, sizeof(allocs));
	allocs.t = t;
	expect_runnable(t, ptx);
}

void exec_load_body(struct exec_test *t, const char *functions)
{
	char *text = malloc(strlen(HEAD) + strlen(functions) + 1);

	assert_non_null(text);
	strcpy(text, HEAD);
	strcat(text, functions);
	exec_load(t, text);
	free(text);
}

void exec_unload(struct exec_test *t)
{
	cot_exec_module_unload(t->module);
	cot_exec_ranges_destroy(t->memory);
	while (allocs.n)
		free(allocs.p[--allocs.n]);
}

void *exec_alloc(struct exec_test *t, size_t bytes)
{
	void *p = aligned_alloc(256, (bytes + 255) & ~(size_t)255);

	assert_non_null(p);
	assert_true(allocs.n < MAX_ALLOCS);
	memset(p, 0, (bytes + 255) & ~(size_t)255);
	allocs.p[allocs.n++] = p;
	assert_int_equal(cot_exec_ranges_add(t->memory, (uint64_t)(uintptr_t)p, bytes, true), 0);
	return p;
}

void exec_arg(struct exec_test *t, unsigned k, const void *value, size_t size)
{
	const struct cot_exec_function_info *info = cot_exec_function_info(t->launch.function);

	assert_true(k < info->n_params);
	assert_int_equal(info->params[k].size, size);
	memcpy(t->args + info->params[k].offset, value, size);
}

void exec_arg_ptr(struct exec_test *t, unsigned k, const void *p)
{
	uint64_t address = (uint64_t)(uintptr_t)p;

	exec_arg(t, k, &address, sizeof(address));
}

static struct cot_exec_run *start(struct exec_test *t, uint32_t n_blocks, uint32_t n_threads)
{
	struct cot_error err = {{0}};
	struct cot_exec_run *run = NULL;

	if (!t->launch.grid[0] || t->launch.grid[1] <= 1) {
		t->launch.grid[0] = n_blocks;
		t->launch.grid[1] = t->launch.grid[2] = 1;
		t->launch.block[0] = n_threads;
		t->launch.block[1] = t->launch.block[2] = 1;
	}
	if (cot_exec_start(&t->launch, &run, &err))
		fail_msg("%s", err.text);
	return run;
}

static enum cot_exec_fault_kind end(struct exec_test *t, struct cot_exec_run *run)
{
	const struct cot_exec_fault *fault = cot_exec_run_fault(run);

	memset(&t->fault, 0, sizeof(t->fault));
	if (fault)
		t->fault = *fault;
	t->stats = cot_exec_run_stats(run);
	cot_exec_destroy(run);
	return t->fault.kind;
}

enum cot_exec_fault_kind exec_run(struct exec_test *t, uint32_t n_blocks, uint32_t n_threads,
				  uint32_t n_workers)
{
	struct cot_exec_run *run = start(t, n_blocks, n_threads);

	cot_exec_run(run, n_workers);
	return end(t, run);
}

enum cot_exec_fault_kind exec_run_seeded(struct exec_test *t, uint32_t n_blocks, uint32_t n_threads,
					 uint64_t seed)
{
	struct cot_exec_run *run = start(t, n_blocks, n_threads);

	cot_exec_run_seeded(run, seed, 0, NULL, NULL);
	return end(t, run);
}
