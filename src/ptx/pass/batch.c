/*
 * The pass `batch`: several launches of the kernel in one grid. The launches' parameters and grids
 * are records in the one parameter that the new kernel has; a block looks for the record of its
 * number, and from then on reads parameters, block index and grid from there. All of it stays in
 * constant memory: nothing has to be copied to the GPU before the launch.
 */
#include <errno.h>
#include <stddef.h>

#include "cotenant/passes.h"
#include "ptx/pass/inside.h"

#define HEAD(field)	((unsigned)offsetof(struct cot_batch_head, field))
#define INSTANCE(field) ((uint32_t)offsetof(struct cot_batch_instance, field))

int cot_pass_batch_shape(const struct cot_ptx_func *kernel, struct cot_batch_shape *ret_shape)
{
	uint64_t bytes = cot_pass_params_end(kernel, 0);
	uint32_t align = 1, i;

	for (i = 0; i < kernel->n_params; i++)
		if (cot_ptx_var_align(kernel->params[i]) > align)
			align = cot_ptx_var_align(kernel->params[i]);
	if (bytes > UINT32_MAX / 2)
		return -E2BIG;
	return cot_batch_shape_make((uint32_t)bytes, align, ret_shape);
}

/* ---- the kernel's own parameters ---- */

struct own_params {
	struct cot_emit *e;
	struct cot_ptx_var **params; /* before the kernel got its one */
	uint32_t n;
	uint32_t record; /* register: where the block's record is */
	uint32_t at;	 /* of the parameters in it */
	struct cot_ptx_stmt *stmt;
};

/* Where the variable is in a record; 0 if it is none of the parameters. */
static uint64_t place_of(const struct own_params *own, const struct cot_ptx_operand *o)
{
	uint64_t at = own->at;
	uint32_t i;

	for (i = 0; o->kind == COT_PTX_OPND_VAR && i < own->n; i++) {
		uint32_t align = cot_ptx_var_align(own->params[i]);

		at = (at + align - 1) / align * align;
		if (own->params[i] == o->var)
			return at;
		at += cot_ptx_var_bytes(own->params[i]);
	}
	return 0;
}

/* [name+8] is read from the record; where an address is taken, the record's is made first. */
static void move_param(void *arg, struct cot_ptx_operand *o)
{
	struct own_params *own = arg;
	size_t n_binds = own->e->n_binds;
	uint64_t at;

	if (o->kind == COT_PTX_OPND_ADDR && (at = place_of(own, &o->items[0]))) {
		o->imm += (int64_t)at;
		o->items[0] = cot_ptx_reg_operand(own->record);
	} else if ((at = place_of(own, o))) {
		uint32_t reg = cot_emit_reg(own->e, COT_PTX_B64, "%own");

		cot_emit_format(own->e, own->stmt, "add.u64 %%own, %%record, %llu;",
				(unsigned long long)at + (unsigned long long)o->imm);
		own->e->n_binds = n_binds;
		*o = cot_ptx_reg_operand(reg);
	}
}

static void move_params(struct own_params *own)
{
	for (own->stmt = own->e->func->first; own->stmt && !own->e->rc; own->stmt = own->stmt->next)
		if (own->stmt->kind == COT_PTX_STMT_INSN)
			cot_ptx_for_each_operand(&own->stmt->insn, move_param, own);
}

/* The new parameter is the only one. */
static void replace_params(struct cot_emit *e, const struct cot_batch_shape *shape)
{
	struct cot_ptx_func *func = e->func;

	cot_emit_param(e, "launches", shape->bytes);
	if (e->rc)
		return;
	func->params += func->n_params - 1;
	func->n_params = 1;
	func->params[0]->align = shape->align;
}

/* ---- which launch ---- */

/* From the block's number: %record, and in %id its number among those of its launch. */
static void put_search(struct cot_emit *e, struct cot_ptx_stmt *start,
		       const struct cot_batch_shape *shape)
{
	cot_emit_format(e, start,
			".reg .pred %%p; .reg .b32 %%n, %%step, %%low, %%next, %%first;\n"
			".reg .b64 %%base;\n"
			"mov.u64 %%base, launches; add.u64 %%base, %%base, %u;\n"
			"mov.u32 %%id, %%ctaid.x; mov.u32 %%low, 0;\n"
			"ld.param.u32 %%n, [launches+%u]; ld.param.u32 %%step, [launches+%u];\n"
			"search: setp.eq.u32 %%p, %%step, 0; @%%p bra found;\n"
			"add.u32 %%next, %%low, %%step; shr.u32 %%step, %%step, 1;\n"
			"setp.ge.u32 %%p, %%next, %%n; @%%p bra search;\n"
			"mad.wide.u32 %%record, %%next, %u, %%base;\n"
			"ld.param.u32 %%first, [%%record+%u]; setp.gt.u32 %%p, %%first, %%id;\n"
			"@%%p bra search; mov.u32 %%low, %%next; bra search;\n"
			"found: mad.wide.u32 %%record, %%low, %u, %%base;\n"
			"ld.param.u32 %%first, [%%record+%u]; sub.u32 %%id, %%id, %%first;",
			(unsigned)shape->at, HEAD(n), HEAD(step), (unsigned)shape->stride,
			(unsigned)INSTANCE(first), (unsigned)shape->stride,
			(unsigned)INSTANCE(first));
}

int cot_pass_batch(struct cot_ptx_func *kernel, const struct cot_facts *facts,
		   struct cot_error *err)
{
	const struct cot_decode at = {INSTANCE(grid), INSTANCE(by_row), INSTANCE(by_column)};
	struct own_params own = {.params = kernel->params, .n = kernel->n_params};
	struct cot_batch_shape shape;
	struct cot_block_index index;
	struct cot_ptx_stmt *start;
	struct cot_emit e;

	cot_emit_init(&e, kernel, err);
	own.e = &e;
	e.rc = cot_pass_batch_shape(kernel, &shape);
	own.record = cot_emit_reg(&e, COT_PTX_B64, "%record");
	(void)cot_emit_reg(&e, COT_PTX_B32, "%id");
	own.at = shape.params;
	move_params(&own);
	replace_params(&e, &shape);
	cot_block_index_make(&e, facts, &index);
	cot_block_index_replace(&e, &index);
	start = cot_ptx_body_start(kernel);
	put_search(&e, start, &shape);
	/* What the next texts call the parameter is the record. */
	cot_emit_bind(&e, "args", cot_ptx_reg_operand(own.record));
	cot_block_index_decode(&e, start, facts, &at);
	cot_block_index_load_grid(&e, start, facts, INSTANCE(grid));
	return e.rc;
}
