/*
 * The pass `slice`: a launch does a box of the original grid, at first[0], first[1], first[2]. The
 * index is the launch's own, moved there. Nothing else changes, so nearly every kernel is taken.
 */
#include <stddef.h>

#include "cotenant/passes.h"
#include "ptx/pass/inside.h"

int cot_pass_slice(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err)
{
	static const char axis[3] = {'x', 'y', 'z'};
	struct cot_block_index index;
	struct cot_ptx_stmt *start;
	struct cot_emit e;
	uint32_t i;

	cot_emit_init(&e, kernel, err);
	cot_emit_param(&e, "args", sizeof(struct cot_slice_args));
	(void)cot_emit_reg(&e, COT_PTX_B32, "%t");
	cot_block_index_make(&e, facts, &index);
	cot_block_index_replace(&e, &index);
	start = cot_ptx_body_start(kernel);
	for (i = 0; i < 3; i++)
		if (facts->ctaid >> i & 1)
			cot_emit_format(&e, start,
					"mov.u32 %%b%c, %%ctaid.%c; ld.param.u32 %%t, [args+%zu];\n"
					"add.u32 %%b%c, %%b%c, %%t;",
					axis[i], axis[i],
					offsetof(struct cot_slice_args, first) + 4 * i, axis[i],
					axis[i]);
	cot_block_index_load_grid(&e, start, facts, offsetof(struct cot_slice_args, grid));
	return e.rc;
}
