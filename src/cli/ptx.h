/*
 * The parts of `cotenant ptx`: ptx.c reads, rewrites and writes; ptx_list.c shows what is in a
 * file.
 */
#ifndef COT_CLI_PTX_H
#define COT_CLI_PTX_H

#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"
#include "ptx/pass/pass.h"
#include "ptx/ptx.h"

/* A kernel that is defined in the module, and understood or not; not one that is only declared. */
bool cot_cli_ptx_is_kernel(const struct cot_ptx_item *item);

/* Of each pass whether it takes the kernel; ret_rows: as workers only if the block's x size is a
 * multiple of 32. 0 or -ENOMEM. */
int cot_cli_ptx_check(const struct cot_ptx_func *func,
		      struct cot_refusal ret_refusals[COT_N_PASSES], bool *ret_rows);

/* The kernels, and which passes take them: as text, or as JSON to a file ("-": standard output).
 * -errno with a sentence. */
int cot_cli_ptx_list(const struct cot_ptx_module *module, const char *json, struct cot_error *err);

/* What became of one kernel, for --json. */
struct cot_cli_ptx_result {
	const char *kernel; /* "A" or, fused, "A+B" */
	const char *made;   /* NULL: refused */
	struct cot_refusal refusal;
};

int cot_cli_ptx_write_results(const struct cot_cli_ptx_result *results, size_t n, const char *json,
			      struct cot_error *err);

#endif
