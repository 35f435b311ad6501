/*
 * Kernels that exist without a compiler, for tests. The image is the text COT_EMU_BUILTIN_IMAGE.
 *
 *   spin(u64 block_ns, u64 counter)                          *counter += number of blocks
 *   mix(u64 block_ns, u64 words, u32 n_words, u32 rounds)    hashes u32 words in place
 *   trap(u64 block_ns)                                       ends with a fault
 *
 * Each thread block lasts block_ns; a null address leaves memory alone.
 */
#include "emu/driver/builtin.h"

#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "emu/driver/function.h"

#define THREADS_PER_SM	  2048u
#define MAX_BLOCKS_PER_SM 32u

struct spin_args {
	uint64_t block_ns;
	CUdeviceptr counter;
};

struct mix_args {
	uint64_t block_ns;
	CUdeviceptr words;
	uint32_t n_words, rounds;
};

struct trap_args {
	uint64_t block_ns;
};

static uint64_t n_blocks(const struct cot_emu_launch *l)
{
	return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
}

/*
 * Time and demand of a grid whose blocks all last block_ns: the blocks that fit run at once, in
 * waves. A share of the SMs below the whole makes more waves.
 */
static void cost_of_waves(const struct cot_emu_launch *l, uint64_t block_ns,
			  struct cot_emu_work *ret_work)
{
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	uint64_t per_sm = THREADS_PER_SM / (threads ? threads : 1), blocks = n_blocks(l);
	uint64_t fit, waves, at_once;

	if (per_sm > MAX_BLOCKS_PER_SM)
		per_sm = MAX_BLOCKS_PER_SM;
	if (!per_sm)
		per_sm = 1;
	if (!block_ns)
		block_ns = 1;
	fit = per_sm * l->n_sms;
	waves = cot_div_up(blocks, fit);
	at_once = blocks < fit ? blocks : fit;
	if (waves > COT_EMU_MAX_WORK / block_ns)
		waves = COT_EMU_MAX_WORK / block_ns;
	*ret_work = (struct cot_emu_work){
		.block_ns = block_ns,
		.total_ns = waves * block_ns,
		.demand = (uint32_t)cot_div_up(at_once * COT_EMU_WHOLE_GPU, per_sm * l->n_sms_all),
		.sms = l->sms,
	};
}

/* Every built-in kernel has the length of a block as its first argument. */
static void cost(const struct cot_emu_launch *l, struct cot_emu_work *ret_work)
{
	uint64_t block_ns;

	memcpy(&block_ns, l->args, sizeof(block_ns));
	cost_of_waves(l, block_ns, ret_work);
}

static void trap_cost(const struct cot_emu_launch *l, struct cot_emu_work *ret_work)
{
	cost(l, ret_work);
	ret_work->traps = true;
}

static CUresult spin_run(const struct cot_emu_launch *l)
{
	struct spin_args a;
	uint64_t *counter;

	memcpy(&a, l->args, sizeof(a));
	counter = (uint64_t *)(uintptr_t)a.counter;
	if (counter)
		*counter += n_blocks(l);
	return CUDA_SUCCESS;
}

static CUresult mix_run(const struct cot_emu_launch *l)
{
	struct mix_args a;
	uint32_t *words, i, r;

	memcpy(&a, l->args, sizeof(a));
	words = (uint32_t *)(uintptr_t)a.words;
	for (i = 0; words && i < a.n_words; i++)
		for (r = 0; r < a.rounds; r++)
			words[i] = (uint32_t)cot_hash64(words[i], i);
	return CUDA_SUCCESS;
}

static const struct cot_emu_function_ops spin_ops = {.cost = cost, .run = spin_run};
static const struct cot_emu_function_ops mix_ops = {.cost = cost, .run = mix_run};
static const struct cot_emu_function_ops trap_ops = {.cost = trap_cost};

static const struct cot_emu_param spin_params[] = {{0, 8}, {8, 8}};
static const struct cot_emu_param mix_params[] = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
static const struct cot_emu_param trap_params[] = {{0, 8}};

#define FUNCTION(id)                                                                               \
	{                                                                                          \
		.tag = COT_EMU_FUNCTION_TAG, .name = #id, .ops = &id##_ops, .params = id##_params, \
		.n_params = COT_ARRAY_LEN(id##_params), .args_size = sizeof(struct id##_args),     \
		.max_threads = COT_EMU_MAX_THREADS, .n_registers = 16                              \
	}

static const struct cot_emu_function functions[] = {FUNCTION(spin), FUNCTION(mix), FUNCTION(trap)};

static bool accepts(const void *image)
{
	return !strncmp(image, COT_EMU_BUILTIN_IMAGE, strlen(COT_EMU_BUILTIN_IMAGE));
}

static CUresult load(const struct cot_emu_code *code, struct cot_emu_module *ret_module,
		     struct cot_error *err)
{
	uint32_t i;

	(void)code;
	(void)err;
	ret_module->functions = malloc(sizeof(functions));
	if (!ret_module->functions)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(ret_module->functions, functions, sizeof(functions));
	ret_module->n_functions = COT_ARRAY_LEN(functions);
	for (i = 0; i < ret_module->n_functions; i++)
		ret_module->functions[i].module = ret_module;
	return CUDA_SUCCESS;
}

const struct cot_emu_loader cot_emu_builtin_loader = {
	.name = "built-in",
	.accepts = accepts,
	.load = load,
};
