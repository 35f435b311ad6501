/*
 * Text with names of its own, and the edits that several passes make.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/pass/inside.h"

void cot_emit_init(struct cot_emit *e, struct cot_ptx_func *func, struct cot_error *err)
{
	*e = (struct cot_emit){.func = func, .err = err};
}

/* A failure without a sentence gets one. */
static void fail(struct cot_emit *e, int rc)
{
	if (rc == -ENOMEM)
		e->rc = cot_error_set(e->err, rc, "out of memory");
	else
		e->rc = cot_error_set(e->err, rc, "%s: the pass cannot change it: error %d",
				      e->func->name, -rc);
}

void cot_emit_bind(struct cot_emit *e, const char *name, struct cot_ptx_operand operand)
{
	if (e->rc)
		return;
	if (e->n_binds == COT_EMIT_BINDS_MAX) {
		fail(e, -E2BIG);
		return;
	}
	e->binds[e->n_binds++] = (struct cot_ptx_bind){name, operand};
}

uint32_t cot_emit_reg(struct cot_emit *e, enum cot_ptx_type type, const char *name)
{
	uint32_t reg = COT_PTX_NO_REG;
	int rc;

	if (e->rc)
		return reg;
	rc = cot_ptx_new_reg(e->func, type, name + 1, &reg);
	if (rc)
		fail(e, rc);
	else
		cot_emit_bind(e, name, cot_ptx_reg_operand(reg));
	return reg;
}

struct cot_ptx_label *cot_emit_label(struct cot_emit *e, const char *name)
{
	struct cot_ptx_label *label = NULL;
	int rc;

	if (e->rc)
		return NULL;
	rc = cot_ptx_new_label(e->func, name, &label);
	if (rc)
		fail(e, rc);
	else
		cot_emit_bind(e, name, cot_ptx_label_operand(label));
	return label;
}

void cot_emit_param(struct cot_emit *e, const char *name, uint32_t bytes)
{
	struct cot_ptx_var *var;
	char *full;
	int rc = -ENOMEM;

	if (e->rc)
		return;
	full = cot_pass_join(e->func->name, "_", name);
	if (full)
		rc = cot_ptx_add_param(e->func, COT_PTX_U64, full, &var);
	free(full);
	if (rc) {
		fail(e, rc);
		return;
	}
	if (bytes != 8) {
		var->type = COT_PTX_B8;
		var->align = 8;
		var->n_dims = 1;
		var->dims[0] = bytes;
	}
	cot_emit_bind(e, name, cot_ptx_var_operand(var));
}

void cot_emit_text(struct cot_emit *e, struct cot_ptx_stmt *before, const char *text)
{
	if (!e->rc)
		e->rc = cot_ptx_insert_text(e->func, before, text, e->binds, e->n_binds, NULL, NULL,
					    e->err);
}

void cot_emit_format(struct cot_emit *e, struct cot_ptx_stmt *before, const char *fmt, ...)
{
	char text[COT_EMIT_LINE];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n < 0 || n >= (int)sizeof(text))
		fail(e, -E2BIG);
	else
		cot_emit_text(e, before, text);
}

void cot_pass_move_last(struct cot_ptx_func *func)
{
	struct cot_ptx_item *item = cot_ptx_item_of_func(func);
	struct cot_ptx_module *m = func->module;

	if (item == m->last)
		return;
	item->next->prev = item->prev;
	if (item->prev)
		item->prev->next = item->next;
	else
		m->first = item->next;
	item->prev = m->last;
	item->next = NULL;
	m->last->next = item;
	m->last = item;
}

char *cot_pass_join(const char *a, const char *b, const char *c)
{
	size_t n_a = strlen(a), n_b = strlen(b), n_c = c ? strlen(c) : 0;
	char *text = malloc(n_a + n_b + n_c + 1);

	if (!text)
		return NULL;
	memcpy(text, a, n_a);
	memcpy(text + n_a, b, n_b);
	if (c)
		memcpy(text + n_a + n_b, c, n_c);
	text[n_a + n_b + n_c] = '\0';
	return text;
}

void cot_pass_redirect_ends(struct cot_emit *e, const char *label)
{
	struct cot_ptx_stmt *s, *next;
	size_t n_binds = e->n_binds;
	char text[64];

	for (s = e->func->first; s && !e->rc; s = next) {
		next = s->next;
		if (s->kind != COT_PTX_STMT_INSN ||
		    (s->insn.op != COT_PTX_OP_RET && s->insn.op != COT_PTX_OP_EXIT))
			continue;
		if (s->insn.guard == COT_PTX_NO_REG) {
			(void)snprintf(text, sizeof(text), "bra %s;", label);
		} else {
			cot_emit_bind(e, "%guard", cot_ptx_reg_operand(s->insn.guard));
			(void)snprintf(text, sizeof(text), "@%s%%guard bra %s;",
				       s->insn.guard_negated ? "!" : "", label);
		}
		cot_emit_text(e, s, text);
		e->n_binds = n_binds;
		if (!e->rc)
			cot_ptx_unlink(e->func, s);
	}
}

void cot_pass_row(struct cot_emit *e, struct cot_ptx_stmt *before, size_t bytes)
{
	cot_emit_format(
		e, before,
		".reg .b32 %%t, %%u, %%v; .reg .b64 %%o;\n"
		"mov.u32 %%t, %%ctaid.z; mov.u32 %%u, %%nctaid.y; mov.u32 %%v, %%ctaid.y;\n"
		"mad.lo.u32 %%t, %%t, %%u, %%v; mov.u32 %%u, %%nctaid.x; mov.u32 %%v, %%ctaid.x;\n"
		"mad.lo.u32 %%t, %%t, %%u, %%v; mul.wide.u32 %%o, %%t, %zu;\n"
		"ld.param.u64 %%row, [args]; cvta.to.global.u64 %%row, %%row;\n"
		"add.u64 %%row, %%row, %%o;",
		bytes);
}

void cot_pass_need_version(struct cot_ptx_module *module, uint32_t major, uint32_t minor)
{
	if (module->version_major > major ||
	    (module->version_major == major && module->version_minor >= minor))
		return;
	module->version_major = major;
	module->version_minor = minor;
}
