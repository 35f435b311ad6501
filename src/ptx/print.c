/* Modules and declarations as text. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/print.h"

static const char *const linkages[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
static const char *const spaces[] = {"",       ".global", ".const", ".shared", ".shared::cluster",
				     ".local", ".param",  ".tex"};

void cot_ptx_print_int(struct cot_ptx_buf *b, int64_t value, unsigned flags)
{
	uint64_t magnitude = (uint64_t)value;

	if (value < 0 && !(flags & COT_PTX_UNSIGNED)) {
		cot_ptx_buf_add(b, "-");
		magnitude = 0 - magnitude;
	}
	if (flags & COT_PTX_HEX) {
		cot_ptx_buf_add(b, "0x");
		cot_ptx_buf_hex(b, magnitude, 1, false);
	} else {
		cot_ptx_buf_uint(b, magnitude);
	}
}

void cot_ptx_print_bits(struct cot_ptx_buf *b, bool is_double, int64_t bits)
{
	cot_ptx_buf_add(b, is_double ? "0d" : "0f");
	cot_ptx_buf_hex(b, (uint64_t)bits, is_double ? 16 : 8, true);
}

static void print_number(struct cot_ptx_buf *b, const char *before, uint64_t value)
{
	cot_ptx_buf_add(b, before);
	cot_ptx_buf_uint(b, value);
}

/* ---- variables ---- */

static void print_symbol(struct cot_ptx_buf *b, const struct cot_ptx_init *init)
{
	if (init->mask_shift != 255) {
		cot_ptx_buf_add(b, "0x");
		cot_ptx_buf_hex(b, 0xffull << init->mask_shift, 1, true);
		cot_ptx_buf_add(b, "(");
	}
	if (init->generic)
		cot_ptx_buf_add(b, "generic(");
	cot_ptx_buf_add(b, init->var ? init->var->name : init->func->name);
	if (init->generic)
		cot_ptx_buf_add(b, ")");
	if (init->imm) {
		cot_ptx_buf_add(b, "+");
		cot_ptx_print_int(b, init->imm, 0);
	}
	if (init->mask_shift != 255)
		cot_ptx_buf_add(b, ")");
}

static void print_init(struct cot_ptx_buf *b, const struct cot_ptx_init *init)
{
	switch ((enum cot_ptx_init_kind)init->kind) {
	case COT_PTX_INIT_INT:
		cot_ptx_print_int(b, init->imm, init->flags);
		break;
	case COT_PTX_INIT_F32:
	case COT_PTX_INIT_F64:
		cot_ptx_print_bits(b, init->kind == COT_PTX_INIT_F64, init->imm);
		break;
	case COT_PTX_INIT_ADDR:
		print_symbol(b, init);
		break;
	}
}

static void print_inits(struct cot_ptx_buf *b, const struct cot_ptx_var *var)
{
	bool braces = var->n_dims || var->vec > 1 || var->n_inits != 1;
	uint32_t i;

	cot_ptx_buf_add(b, braces ? " = {" : " = ");
	for (i = 0; i < var->n_inits; i++) {
		if (i)
			cot_ptx_buf_add(b, ", ");
		print_init(b, &var->inits[i]);
	}
	if (braces)
		cot_ptx_buf_add(b, "}");
}

static void print_ptr(struct cot_ptx_buf *b, const struct cot_ptx_var *var)
{
	cot_ptx_buf_add(b, " .ptr");
	if (var->ptr_space) {
		cot_ptx_buf_add(b, " ");
		cot_ptx_buf_add(b, spaces[var->ptr_space]);
	}
	if (var->ptr_align)
		print_number(b, " .align ", var->ptr_align);
}

void cot_ptx_print_var(struct cot_ptx_buf *b, const struct cot_ptx_var *var)
{
	uint32_t i;

	cot_ptx_buf_add(b, linkages[var->linkage]);
	cot_ptx_buf_add(b, spaces[var->space]);
	if (var->managed)
		cot_ptx_buf_add(b, " .attribute(.managed)");
	if (var->attribute) {
		cot_ptx_buf_add(b, " .attribute");
		cot_ptx_buf_add(b, var->attribute);
	}
	if (var->align)
		print_number(b, " .align ", var->align);
	if (var->vec > 1)
		print_number(b, " .v", var->vec);
	cot_ptx_buf_add(b, " .");
	cot_ptx_buf_add(b, cot_ptx_type_name((enum cot_ptx_type)var->type));
	if (var->is_ptr)
		print_ptr(b, var);
	cot_ptx_buf_add(b, " ");
	cot_ptx_buf_add(b, var->name);
	for (i = 0; i < var->n_dims; i++) {
		cot_ptx_buf_add(b, "[");
		if (i || !var->unsized)
			cot_ptx_buf_uint(b, var->dims[i]);
		cot_ptx_buf_add(b, "]");
	}
	if (var->has_init)
		print_inits(b, var);
}

void cot_ptx_print_params(struct cot_ptx_buf *b, struct cot_ptx_var *const *params, uint32_t n,
			  const char *separator)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (i)
			cot_ptx_buf_add(b, separator);
		cot_ptx_print_var(b, params[i]);
	}
}

/* ---- functions ---- */

static void print_directive(struct cot_ptx_buf *b, const struct cot_ptx_directive *d)
{
	unsigned i;

	cot_ptx_buf_add(b, "\n.");
	cot_ptx_buf_add(b, cot_ptx_directive((enum cot_ptx_directive_kind)d->kind)->name);
	for (i = 0; i < d->n; i++)
		print_number(b, i ? ", " : " ", d->values[i]);
	if (d->text) {
		cot_ptx_buf_add(b, " ");
		cot_ptx_buf_add(b, d->text);
		cot_ptx_buf_add(b, ";");
	}
}

static void print_header(struct cot_ptx_buf *b, const struct cot_ptx_func *func)
{
	uint32_t i;

	cot_ptx_buf_add(b, linkages[func->linkage]);
	cot_ptx_buf_add(b, func->entry ? ".entry " : ".func ");
	if (func->n_rets) {
		cot_ptx_buf_add(b, "(");
		cot_ptx_print_params(b, func->rets, func->n_rets, ", ");
		cot_ptx_buf_add(b, ") ");
	}
	cot_ptx_buf_add(b, func->name);
	cot_ptx_buf_add(b, func->n_params ? "(\n\t" : "(");
	cot_ptx_print_params(b, func->params, func->n_params, ",\n\t");
	cot_ptx_buf_add(b, func->n_params ? "\n)" : ")");
	for (i = 0; i < func->n_directives; i++)
		print_directive(b, &func->directives[i]);
}

static void print_body(struct cot_ptx_buf *b, const struct cot_ptx_func *func)
{
	const struct cot_ptx_stmt *s;

	cot_ptx_buf_add(b, "\n{\n");
	for (s = func->first; s; s = s->next) {
		bool bare = s->kind == COT_PTX_STMT_LABEL || s->kind == COT_PTX_STMT_OPEN ||
			    s->kind == COT_PTX_STMT_CLOSE || s->kind == COT_PTX_STMT_LOC;

		if (s->kind != COT_PTX_STMT_LABEL)
			cot_ptx_buf_add(b, "\t");
		cot_ptx_print_one(b, func, s);
		cot_ptx_buf_add(b, bare ? "\n" : ";\n");
	}
	cot_ptx_buf_add(b, "}\n");
}

static void print_func(struct cot_ptx_buf *b, const struct cot_ptx_func *func)
{
	if (func->opaque) {
		cot_ptx_buf_add(b, func->text);
		cot_ptx_buf_add(b, "\n");
		return;
	}
	print_header(b, func);
	if (func->has_body)
		print_body(b, func);
	else
		cot_ptx_buf_add(b, ";\n");
}

/* ---- the module ---- */

static void print_item(struct cot_ptx_buf *b, const struct cot_ptx_item *item)
{
	switch ((enum cot_ptx_item_kind)item->kind) {
	case COT_PTX_ITEM_FUNC:
		cot_ptx_buf_add(b, "\n");
		print_func(b, item->func);
		return;
	case COT_PTX_ITEM_VAR:
		cot_ptx_print_var(b, item->var);
		cot_ptx_buf_add(b, ";");
		break;
	case COT_PTX_ITEM_ALIAS:
		cot_ptx_buf_add(b, ".alias ");
		cot_ptx_buf_add(b, item->alias[0]->name);
		cot_ptx_buf_add(b, ", ");
		cot_ptx_buf_add(b, item->alias[1]->name);
		cot_ptx_buf_add(b, ";");
		break;
	case COT_PTX_ITEM_FILE:
		cot_ptx_buf_add(b, ".file ");
		cot_ptx_buf_add(b, item->text);
		break;
	case COT_PTX_ITEM_SECTION:
		cot_ptx_buf_add(b, ".section ");
		cot_ptx_buf_add(b, item->text);
		break;
	case COT_PTX_ITEM_PRAGMA:
		cot_ptx_buf_add(b, ".pragma ");
		cot_ptx_buf_add(b, item->text);
		cot_ptx_buf_add(b, ";");
		break;
	case COT_PTX_ITEM_OPAQUE:
		cot_ptx_buf_add(b, item->text);
		break;
	}
	cot_ptx_buf_add(b, "\n");
}

/* Hands the finished text over. */
static int finish(struct cot_ptx_buf *b, char **ret_text, size_t *ret_size)
{
	cot_ptx_buf_bytes(b, "", 0);
	if (b->no_memory) {
		free(b->text);
		return -ENOMEM;
	}
	b->text[b->size] = '\0';
	*ret_text = b->text;
	*ret_size = b->size;
	return 0;
}

int cot_ptx_print_func(const struct cot_ptx_func *func, char **ret_text, size_t *ret_size)
{
	struct cot_ptx_buf b = {0};

	print_func(&b, func);
	return finish(&b, ret_text, ret_size);
}

void cot_ptx_print_items(struct cot_ptx_buf *b, const struct cot_ptx_module *module)
{
	const struct cot_ptx_item *item;

	for (item = module->first; item; item = item->next)
		print_item(b, item);
}

void cot_ptx_print_module(struct cot_ptx_buf *b, const struct cot_ptx_module *module)
{
	print_number(b, ".version ", module->version_major);
	print_number(b, ".", module->version_minor);
	cot_ptx_buf_add(b, "\n.target ");
	cot_ptx_buf_add(b, module->target);
	if (module->address_size)
		print_number(b, "\n.address_size ", module->address_size);
	cot_ptx_buf_add(b, "\n\n");
	cot_ptx_print_items(b, module);
}

int cot_ptx_print(const struct cot_ptx_module *module, char **ret_text, size_t *ret_size)
{
	struct cot_ptx_buf b = {0};

	cot_ptx_print_module(&b, module);
	return finish(&b, ret_text, ret_size);
}
