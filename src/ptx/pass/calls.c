/* Who is called by whom. */
#include <errno.h>
#include <stdlib.h>

#include "ptx/pass/inside.h"

struct cot_ptx_func *cot_pass_callee(const struct cot_ptx_insn *call)
{
	struct cot_ptx_func *func;

	if (call->n_operands < 2 || call->operands[1].kind != COT_PTX_OPND_FUNC)
		return NULL;
	func = call->operands[1].func;
	return func->decl_of ? func->decl_of : func;
}

static bool known(const struct cot_ptx_func *const *funcs, uint32_t n,
		  const struct cot_ptx_func *func)
{
	uint32_t i;

	for (i = 0; i < n; i++)
		if (funcs[i] == func)
			return true;
	return false;
}

int cot_pass_closure(const struct cot_ptx_func *func, const struct cot_ptx_func ***ret_funcs,
		     uint32_t *ret_n)
{
	const struct cot_ptx_func **funcs = malloc(COT_PASS_CALLEES_MAX * sizeof(void *)), *callee;
	const struct cot_ptx_stmt *s;
	uint32_t n = 0, i;

	if (!funcs)
		return -ENOMEM;
	funcs[n++] = func;
	for (i = 0; i < n; i++) {
		for (s = funcs[i]->first; s; s = s->next) {
			if (s->kind != COT_PTX_STMT_INSN || s->insn.op != COT_PTX_OP_CALL)
				continue;
			callee = cot_pass_callee(&s->insn);
			if (!callee || known(funcs, n, callee))
				continue;
			if (n == COT_PASS_CALLEES_MAX) {
				free(funcs);
				return -E2BIG;
			}
			funcs[n++] = callee;
		}
	}
	*ret_funcs = funcs;
	*ret_n = n;
	return 0;
}
