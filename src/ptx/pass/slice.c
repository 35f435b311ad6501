/*
 * The pass `slice`: a launch does a range of the original grid's blocks. Block b is task first + b;
 * its index follows from the original grid. Nothing else changes, so nearly every kernel is taken.
 */
#include <stddef.h>

#include "cotenant/passes.h"
#include "ptx/pass/inside.h"

int cot_pass_slice(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err)
{
	struct cot_block_index index;
	struct cot_ptx_stmt *start;
	struct cot_emit e;

	cot_emit_init(&e, kernel, err);
	cot_emit_param(&e, "args", sizeof(struct cot_slice_args));
	(void)cot_emit_reg(&e, COT_PTX_B32, "%id");
	cot_block_index_make(&e, facts, &index);
	cot_block_index_replace(&e, &index);
	start = cot_ptx_body_start(kernel);
	cot_emit_format(&e, start,
			".reg .b32 %%t; mov.u32 %%id, %%ctaid.x; ld.param.u32 %%t, [args+%zu];"
			"add.u32 %%id, %%id, %%t;",
			offsetof(struct cot_slice_args, first));
	cot_block_index_decode(&e, start, facts, offsetof(struct cot_slice_args, grid));
	cot_block_index_load_grid(&e, start, facts, offsetof(struct cot_slice_args, grid));
	return e.rc;
}
