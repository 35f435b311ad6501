#include "ptx/exec_machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

#define ALIGNMENT 256u
#define PER_SM	  4u /* blocks, where nothing else is asked for */

static struct exec_machine *of(struct cot_machine *m)
{
	return (struct exec_machine *)m;
}

static int alloc(struct cot_machine *machine, size_t bytes, uint64_t *ret_address,
		 struct cot_error *err)
{
	struct exec_machine *m = of(machine);
	uint32_t i;
	void *p;

	for (i = 0; i < EXEC_MACHINE_ALLOCATIONS && m->allocations[i]; i++)
		;
	if (i == EXEC_MACHINE_ALLOCATIONS)
		return cot_error_set(err, -ENOMEM, "too many allocations");
	p = aligned_alloc(ALIGNMENT, (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	if (!p)
		return cot_error_set(err, -ENOMEM, "out of memory");
	/* What a GPU's memory holds at first is anything. */
	memset(p, 0xa5, bytes);
	/* Not a byte more than was asked for may be touched. */
	if (cot_exec_ranges_add(m->memory, (uint64_t)(uintptr_t)p, bytes, true)) {
		free(p);
		return cot_error_set(err, -ENOMEM, "out of memory");
	}
	m->allocations[i] = p;
	*ret_address = (uint64_t)(uintptr_t)p;
	return 0;
}

static void release(struct cot_machine *machine, uint64_t address)
{
	struct exec_machine *m = of(machine);
	void *p = (void *)(uintptr_t)address;
	uint32_t i;

	for (i = 0; i < EXEC_MACHINE_ALLOCATIONS; i++) {
		if (m->allocations[i] != p)
			continue;
		cot_exec_ranges_remove(m->memory, address);
		m->allocations[i] = NULL;
		free(p);
		return;
	}
}

static int write_bytes(struct cot_machine *machine, uint64_t address, const void *from,
		       size_t bytes, struct cot_error *err)
{
	(void)machine;
	(void)err;
	memcpy((void *)(uintptr_t)address, from, bytes);
	return 0;
}

static int read_bytes(struct cot_machine *machine, void *to, uint64_t address, size_t bytes,
		      struct cot_error *err)
{
	(void)machine;
	(void)err;
	memcpy(to, (void *)(uintptr_t)address, bytes);
	return 0;
}

static int copy_bytes(struct cot_machine *machine, uint64_t to, uint64_t from, size_t bytes,
		      struct cot_error *err)
{
	return write_bytes(machine, to, (void *)(uintptr_t)from, bytes, err);
}

static int find(struct exec_machine *m, const char *entry,
		const struct cot_exec_function **ret_function, struct cot_error *err)
{
	*ret_function = cot_exec_module_find(m->module, entry);
	return *ret_function ? 0 : cot_error_set(err, -ENOENT, "there is no kernel %s", entry);
}

static int occupancy(struct cot_machine *machine, const char *entry, uint32_t n_threads,
		     uint32_t *ret_blocks, struct cot_error *err)
{
	struct exec_machine *m = of(machine);
	const struct cot_exec_function_info *info;
	const struct cot_exec_function *function;
	struct cot_exec_sm_limits limits = cot_exec_sm_limits(0);
	int rc = find(m, entry, &function, err);

	if (rc)
		return rc;
	info = cot_exec_function_info(function);
	*ret_blocks = m->per_sm ? m->per_sm
				: cot_exec_occupancy(&limits, info->n_registers, info->shared_bytes,
						     n_threads);
	return 0;
}

/* The hook of the machine, with the steps counted. */
static int count_step(void *arg, uint64_t step)
{
	struct exec_machine *m = arg;

	m->n_steps++;
	return m->hook ? m->hook(m->hook_arg, step) : 0;
}

static int run(struct exec_machine *m, const struct cot_exec_launch *launch, struct cot_error *err)
{
	struct cot_exec_run *r;
	struct cot_exec_stats stats;
	int rc = cot_exec_start(launch, &r, err);

	if (rc)
		return rc;
	if (cot_exec_run_seeded(r, cot_mix64(m->seed++), m->max_blocks, count_step, m) !=
	    COT_EXEC_DONE) {
		const struct cot_exec_fault *fault = cot_exec_run_fault(r);

		rc = cot_error_set(err, -EIO, "%s", fault ? fault->text : "the run did not end");
	}
	stats = cot_exec_run_stats(r);
	m->stats.n_blocks += stats.n_blocks;
	m->stats.n_warp_insns += stats.n_warp_insns;
	m->stats.n_thread_insns += stats.n_thread_insns;
	cot_exec_destroy(r);
	return rc;
}

static int launch(struct cot_machine *machine, const char *entry, const uint32_t grid[3],
		  const uint32_t block[3], const struct cot_machine_args *args,
		  struct cot_error *err)
{
	struct exec_machine *m = of(machine);
	const struct cot_exec_function_info *info;
	struct cot_exec_launch what = {.memory = m->memory,
				       .n_sms = m->base.n_sms,
				       .blocks_per_sm = m->per_sm ? m->per_sm : PER_SM,
				       .checks = m->checks};
	unsigned char buffer[COT_EXEC_MAX_ARGS] = {0};
	uint32_t i;
	int rc = find(m, entry, &what.function, err);

	if (rc)
		return rc;
	info = cot_exec_function_info(what.function);
	if (info->n_params != args->n)
		return cot_error_set(err, -EINVAL, "%s takes %u arguments (expected %u)", entry,
				     info->n_params, args->n);
	for (i = 0; i < args->n; i++) {
		if (info->params[i].size != args->sizes[i])
			return cot_error_set(err, -EINVAL,
					     "%s: argument %u has %u bytes (expected %u)", entry, i,
					     info->params[i].size, args->sizes[i]);
		memcpy(buffer + info->params[i].offset, args->values[i], args->sizes[i]);
	}
	memcpy(what.grid, grid, sizeof(what.grid));
	memcpy(what.block, block, sizeof(what.block));
	what.shared_bytes = args->shared_bytes;
	what.args = buffer;
	what.args_size = info->args_size;
	return run(m, &what, err);
}

static const struct cot_machine_ops exec_ops = {
	.alloc = alloc,
	.free = release,
	.write = write_bytes,
	.read = read_bytes,
	.copy = copy_bytes,
	.occupancy = occupancy,
	.launch = launch,
};

int exec_machine_init(struct exec_machine *m, const char *ptx, size_t size, uint32_t n_sms,
		      struct cot_error *err)
{
	int rc;

	*m = (struct exec_machine){.base = {.ops = &exec_ops, .n_sms = n_sms}};
	m->memory = cot_exec_ranges_create();
	if (!m->memory)
		return cot_error_set(err, -ENOMEM, "out of memory");
	rc = cot_exec_module_load(m->memory, ptx, size, NULL, 0, &m->module, err);
	if (rc)
		exec_machine_finish(m);
	return rc;
}

void exec_machine_finish(struct exec_machine *m)
{
	uint32_t i;

	if (m->module)
		cot_exec_module_unload(m->module);
	for (i = 0; i < EXEC_MACHINE_ALLOCATIONS; i++)
		free(m->allocations[i]);
	cot_exec_ranges_destroy(m->memory);
	*m = (struct exec_machine){0};
}
