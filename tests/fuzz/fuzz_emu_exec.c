/*
 * Any text as a module, and whatever kernels it has, each for a moment: nothing outside of the
 * memory that it may touch is touched, and everything ends in a fault or not at all.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "emu/exec/exec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define BUFFER	    4096u
#define BUDGET	    20000u
#define MAX_KERNELS 4u

static void run_kernel(const struct cot_exec_function *f, struct cot_exec_ranges *memory,
		       void *buffer, uint32_t checks)
{
	const struct cot_exec_function_info *info = cot_exec_function_info(f);
	uint8_t *args = calloc(1, (size_t)info->args_size + 1);
	struct cot_exec_launch launch = {.function = f,
					 .memory = memory,
					 .grid = {3, 1, 1},
					 .block = {40, 1, 1},
					 .shared_bytes = 64,
					 .args = args,
					 .args_size = info->args_size,
					 .n_sms = 2,
					 .checks = checks};
	uint64_t address = (uint64_t)(uintptr_t)buffer;
	struct cot_exec_run *run;
	uint32_t i;

	for (i = 0; args && i < info->n_params; i++)
		if (info->params[i].size == sizeof(address))
			memcpy(args + info->params[i].offset, &address, sizeof(address));
	if (info->required_block[0])
		memcpy(launch.block, info->required_block, sizeof(launch.block));
	if (args && !cot_exec_start(&launch, &run, NULL)) {
		cot_exec_work(run, BUDGET);
		cot_exec_destroy(run);
	}
	free(args);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_exec_ranges *memory = cot_exec_ranges_create();
	struct cot_exec_module *module;
	void *buffer = aligned_alloc(256, BUFFER);
	uint32_t i;

	if (memory && buffer &&
	    !cot_exec_ranges_add(memory, (uint64_t)(uintptr_t)buffer, BUFFER, true) &&
	    !cot_exec_module_load(memory, (const char *)data, size, NULL, 0, &module, NULL)) {
		for (i = 0; i < cot_exec_module_n_functions(module) && i < MAX_KERNELS; i++) {
			memset(buffer, 0, BUFFER);
			run_kernel(cot_exec_module_function(module, i), memory, buffer,
				   size & 1 ? COT_EXEC_CHECK_RACES : 0);
		}
		cot_exec_module_unload(module);
	}
	cot_exec_ranges_destroy(memory);
	free(buffer);
	return 0;
}
