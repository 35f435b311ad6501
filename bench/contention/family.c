#include "bench/contention/family.h"

#include <string.h>

#define KIB 1024.0

/*
 * A chunk of `bytes` in rounds of `ahead` loads of `width` bytes a lane: `round` instructions, of
 * them `fma` multiply-adds. The count of a round is that of the loop in the machine code.
 */
#define ROUNDS(bytes, width, ahead) ((bytes) / (32.0 * (width) * (ahead)))
#define READING(name, warps, width, ahead, bytes, round, fmas)                         \
	{                                                                              \
		.entry = (name), .warps_max = (warps), .loads_ahead = (ahead),         \
		.insts = ROUNDS(bytes, width, ahead) * (round),                        \
		.fma = ROUNDS(bytes, width, ahead) * (fmas),                           \
		.loads = ROUNDS(bytes, width, ahead) * (ahead), .read_bytes = (bytes), \
	}

const struct cot_family cot_families[] = {
	READING("read4x1", 64, 4, 1, 64 * KIB, 8, 1),
	READING("read4x4", 64, 4, 4, 64 * KIB, 14, 4),
	READING("read16x1", 64, 16, 1, 64 * KIB, 11, 4),
	READING("read16x2", 64, 16, 2, 64 * KIB, 16, 8),
	READING("read16x8", 32, 16, 8, 64 * KIB, 46, 32),
	READING("mix8", 64, 16, 2, 64 * KIB, 24, 16),
	READING("mix16", 64, 16, 2, 64 * KIB, 40, 32),
	READING("mix32", 64, 16, 2, 32 * KIB, 72, 64),
	READING("mix64", 64, 16, 2, 16 * KIB, 136, 128),
	READING("mix128", 64, 16, 2, 8 * KIB, 264, 256),
	READING("mix256", 64, 16, 2, 8 * KIB, 520, 512),
	{
		.entry = "copy16x2",
		.warps_max = 64,
		.loads_ahead = 2,
		.insts = 64 * 12,
		.loads = 64 * 2,
		.stores = 64 * 2,
		.read_bytes = 64 * KIB,
		.written_bytes = 64 * KIB,
	},
	{
		/* A sector of 32 bytes for each lane's word. */
		.entry = "gather",
		.warps_max = 64,
		.loads_ahead = 4,
		.insts = 16 * 36,
		.fma = 64,
		.loads = 64,
		.read_bytes = 64 * 32 * 32,
	},
	{
		.entry = "chase",
		.warps_max = 64,
		.loads_ahead = 1,
		.insts = 32 * 13,
		.loads = 32,
		.read_bytes = 32 * 32,
	},
	{.entry = "fma1", .warps_max = 64, .insts = 32 * 259, .fma = 8192},
	{.entry = "fma4", .warps_max = 64, .insts = 64 * 259, .fma = 16384},
	{.entry = "dfma", .warps_max = 64, .insts = 16 * 259, .dfma = 4096},
	{.entry = "whole", .warps_max = 64, .insts = 32 * 259, .whole = 8192},
	{
		/* A product comes before each cosine. */
		.entry = "special_function",
		.warps_max = 64,
		.insts = 16 * 259,
		.fma = 2048,
		.special = 2048,
	},
	{
		.entry = "shared_memory",
		.warps_max = 64,
		.insts = 512 * 15,
		.fma = 4096,
		.shared = 2048,
	},
};
const unsigned cot_n_families = sizeof(cot_families) / sizeof(cot_families[0]);

const struct cot_family *cot_family_find(const char *entry)
{
	unsigned i;

	for (i = 0; i < cot_n_families; i++)
		if (strcmp(cot_families[i].entry, entry) == 0)
			return &cot_families[i];
	return NULL;
}
