/*
 * The pass `record`: begin, end and SM of each block, in a row of a table in device memory.
 *
 * The first thread of a block writes the begin. A block ends with its last thread: each group of
 * threads that comes to the end together raises the end time once.
 */
#include <stddef.h>

#include "cotenant/passes.h"
#include "ptx/pass/inside.h"

int cot_pass_record(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		    struct cot_error *err)
{
	struct cot_ptx_stmt *start;
	struct cot_emit e;

	(void)facts;
	cot_emit_init(&e, kernel, err);
	cot_pass_need_version(kernel->module, 6, 2); /* activemask */
	cot_emit_param(&e, "args", 8);
	(void)cot_emit_reg(&e, COT_PTX_B64, "%row");
	(void)cot_emit_label(&e, "end");
	(void)cot_emit_label(&e, "began");
	(void)cot_emit_label(&e, "out");
	cot_pass_redirect_ends(&e, "end");
	start = cot_ptx_body_start(kernel);
	cot_emit_text(&e, start,
		      ".reg .pred %p; .reg .b32 %t, %u;\n"
		      "mov.u32 %t, %tid.x; mov.u32 %u, %tid.y; or.b32 %t, %t, %u;\n"
		      "mov.u32 %u, %tid.z; or.b32 %t, %t, %u;\n"
		      "setp.ne.u32 %p, %t, 0; @%p bra began;");
	cot_pass_row(&e, start, sizeof(struct cot_record_row));
	cot_emit_format(&e, start,
			".reg .b32 %%t; .reg .b64 %%now;\n"
			"mov.u64 %%now, %%globaltimer; st.global.u64 [%%row+%zu], %%now;\n"
			"mov.u32 %%t, %%smid; st.global.u32 [%%row+%zu], %%t;\n"
			"began: bar.warp.sync 0xffffffff;",
			offsetof(struct cot_record_row, begin_ns),
			offsetof(struct cot_record_row, sm));
	cot_emit_text(&e, NULL,
		      ".reg .pred %p; .reg .b32 %t, %u;\n"
		      "end: activemask.b32 %t; mov.u32 %u, %lanemask_lt; and.b32 %t, %t, %u;\n"
		      "setp.ne.u32 %p, %t, 0; @%p bra out;");
	cot_pass_row(&e, NULL, sizeof(struct cot_record_row));
	cot_emit_format(&e, NULL,
			".reg .b64 %%now;\n"
			"mov.u64 %%now, %%globaltimer; red.global.max.u64 [%%row+%zu], %%now;\n"
			"red.global.add.u32 [%%row+%zu], 1;\n"
			"out: ret;",
			offsetof(struct cot_record_row, end_ns),
			offsetof(struct cot_record_row, n_ends));
	return e.rc;
}
