/* How many blocks fit on an SM: the limits of NVIDIA's occupancy calculator. */
#include "emu/exec/exec.h"

#define KIB 1024u

struct generation {
	uint32_t target; /* compute capability */
	struct cot_exec_sm_limits limits;
};

/* CUDA C++ Programming Guide, table of technical specifications per compute capability. */
static const struct generation generations[] = {
	{50, {32, 64, 2048, 65536, 256, 64 * KIB, 256, 0}},
	{52, {32, 64, 2048, 65536, 256, 96 * KIB, 256, 0}},
	{60, {32, 64, 2048, 65536, 256, 64 * KIB, 256, 0}},
	{61, {32, 64, 2048, 65536, 256, 96 * KIB, 256, 0}},
	{70, {32, 64, 2048, 65536, 256, 96 * KIB, 256, 0}},
	{75, {16, 32, 1024, 65536, 256, 64 * KIB, 256, 0}},
	{80, {32, 64, 2048, 65536, 256, 164 * KIB, 128, 1 * KIB}},
	{86, {16, 48, 1536, 65536, 256, 100 * KIB, 128, 1 * KIB}},
	{87, {16, 48, 1536, 65536, 256, 164 * KIB, 128, 1 * KIB}},
	{89, {24, 48, 1536, 65536, 256, 100 * KIB, 128, 1 * KIB}},
	{90, {32, 64, 2048, 65536, 256, 228 * KIB, 128, 1 * KIB}},
	{100, {32, 64, 2048, 65536, 256, 228 * KIB, 128, 1 * KIB}},
	{120, {24, 48, 1536, 65536, 256, 100 * KIB, 128, 1 * KIB}},
};

struct cot_exec_sm_limits cot_exec_sm_limits(uint32_t target)
{
	const struct generation *best = &generations[0];
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(generations); i++)
		if (generations[i].target <= target)
			best = &generations[i];
	return best->limits;
}

static uint32_t round_up(uint32_t value, uint32_t unit)
{
	return unit ? (value + unit - 1) / unit * unit : value;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

uint32_t cot_exec_occupancy(const struct cot_exec_sm_limits *limits, uint32_t n_registers,
			    uint32_t shared_bytes, uint32_t n_threads)
{
	uint32_t n_warps = (n_threads + COT_EXEC_WARP - 1) / COT_EXEC_WARP;
	uint32_t per_warp = round_up(n_registers * COT_EXEC_WARP, limits->register_unit);
	uint32_t shared = round_up(shared_bytes, limits->shared_unit) + limits->shared_reserved;
	uint32_t blocks = limits->max_blocks;

	if (!n_warps)
		return 0;
	blocks = least(blocks, limits->max_warps / n_warps);
	blocks = least(blocks, limits->max_threads / (n_warps * COT_EXEC_WARP));
	/* Registers are granted to whole warps. */
	if (per_warp)
		blocks = least(blocks, limits->registers / per_warp / n_warps);
	if (shared)
		blocks = least(blocks, limits->shared_bytes / shared);
	return blocks;
}
