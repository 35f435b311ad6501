/*
 * The table of address ranges as kernels look into it: each worker keeps the last ranges that it
 * found and asks the table only when an address lies outside of them or the table has changed.
 */
#ifndef COT_EMU_EXEC_RANGES_H
#define COT_EMU_EXEC_RANGES_H

#include <stdatomic.h>

#include "emu/exec/exec.h"

struct cot_exec_range {
	uint64_t first, last; /* addresses of the first and the last byte; first > last: none */
	bool writable;
};

/* The number of changes so far; a range found before a change may be gone. */
uint32_t cot_exec_ranges_generation(const struct cot_exec_ranges *m);

/* The range that holds `address`, or one that holds nothing. */
struct cot_exec_range cot_exec_ranges_find(struct cot_exec_ranges *m, uint64_t address);

#endif
