/* What lowering fills: lists, labels that get their places later, and why a function cannot run. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu/exec/lower.h"

void *cot_exec_list_add(struct cot_exec_list *list, size_t n)
{
	uint8_t *items;

	if (n > list->room - list->n) {
		size_t room = list->room ? list->room : 64;

		while (room - list->n < n)
			room *= 2;
		items = realloc(list->items, room * list->size);
		if (!items)
			return NULL;
		list->items = items;
		list->room = room;
	}
	items = (uint8_t *)list->items + list->n * list->size;
	memset(items, 0, n * list->size);
	list->n += n;
	return items;
}

uint32_t cot_exec_add_list(struct cot_exec_lower *l, const cot_exec_ref *refs, uint32_t n)
{
	uint32_t first = (uint32_t)l->lists.n;
	cot_exec_ref *slots = cot_exec_list_add(&l->lists, n);

	if (slots)
		memcpy(slots, refs, n * sizeof(*refs));
	else
		l->error = -1;
	return first;
}

bool cot_exec_refuse(struct cot_exec_lower *l, const char *fmt, ...)
{
	char why[COT_ERROR_MAX / 2], text[COT_ERROR_MAX];
	va_list args;

	if (l->refusal)
		return false;
	va_start(args, fmt);
	/* The analyser loses the va_list. */
	vsnprintf(/* NOLINT(clang-analyzer-valist.Uninitialized) */ why, sizeof(why), fmt, args);
	va_end(args);
	snprintf(text, sizeof(text), "%.150s, PTX line %u: %s", l->func->name,
		 l->stmt ? l->stmt->line : l->func->line, why);
	l->refusal = strdup(text);
	if (!l->refusal)
		l->error = -1;
	return false;
}

void cot_exec_fix_label(struct cot_exec_lower *l, const struct cot_ptx_label *label, bool table,
			uint32_t index)
{
	struct cot_exec_fix *fix = cot_exec_list_add(&l->fixes, 1);

	if (!fix)
		l->error = -1;
	else
		*fix = (struct cot_exec_fix){label, table, table ? index : (uint32_t)l->code.n - 1};
}

void cot_exec_fix_labels(struct cot_exec_lower *l)
{
	const struct cot_exec_fix *fixes = l->fixes.items;
	size_t i;

	for (i = 0; i < l->fixes.n; i++) {
		uint32_t pc = l->label_pcs[fixes[i].label->index];

		if (fixes[i].table)
			((uint32_t *)l->tables.items)[fixes[i].index] = pc;
		else
			((struct cot_exec_insn *)l->code.items)[fixes[i].index].imm = pc;
	}
	l->fixes.n = 0;
}

uint32_t cot_exec_args_size(const struct cot_exec_lower *l)
{
	const struct cot_exec_function *f = l->functions.items;

	return f[l->function].entry ? f[l->function].info.args_size : 0;
}
