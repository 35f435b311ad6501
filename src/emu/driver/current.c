/* Which context is the calling thread's. */
#include "emu/driver/driver.h"

static _Thread_local struct cot_emu_context *stack[COT_EMU_CTX_STACK];
static _Thread_local unsigned depth;

CUresult cot_emu_current_even_faulted(struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!depth || !stack[depth - 1])
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = stack[depth - 1];
	return CUDA_SUCCESS;
}

CUresult cot_emu_current(struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_current_even_faulted(ret_context);

	return result ? result : (CUresult)atomic_load(&(*ret_context)->fault);
}

void cot_emu_current_forget(const struct cot_emu_context *c)
{
	if (depth && stack[depth - 1] == c)
		depth--;
}

bool cot_emu_current_push(struct cot_emu_context *c)
{
	if (depth == COT_EMU_CTX_STACK)
		return false;
	stack[depth++] = c;
	return true;
}

bool cot_emu_current_pop(struct cot_emu_context **ret_context)
{
	if (!depth)
		return false;
	*ret_context = stack[--depth];
	return true;
}

void cot_emu_current_set(struct cot_emu_context *c)
{
	if (!depth)
		depth = 1;
	stack[depth - 1] = c;
}

struct cot_emu_context *cot_emu_current_top(void)
{
	return depth ? stack[depth - 1] : NULL;
}
