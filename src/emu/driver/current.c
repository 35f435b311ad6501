/* Which context is the calling thread's, and which part of it. */
#include "emu/driver/inside.h"

static _Thread_local struct cot_emu_place stack[COT_EMU_CTX_STACK];
static _Thread_local unsigned depth;

struct cot_emu_place cot_emu_current_place(void)
{
	return depth ? stack[depth - 1] : (struct cot_emu_place){NULL, NULL};
}

CUresult cot_emu_current_even_faulted(struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_ready();

	if (result)
		return result;
	if (!depth || !stack[depth - 1].context)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = stack[depth - 1].context;
	return CUDA_SUCCESS;
}

CUresult cot_emu_current(struct cot_emu_context **ret_context)
{
	CUresult result = cot_emu_current_even_faulted(ret_context);

	return result ? result : (CUresult)atomic_load(&(*ret_context)->fault);
}

void cot_emu_current_forget(const struct cot_emu_context *c)
{
	if (depth && stack[depth - 1].context == c)
		depth--;
}

void cot_emu_current_forget_green(const struct CUgreenCtx_st *green)
{
	if (depth && stack[depth - 1].green == green)
		depth--;
}

bool cot_emu_current_push(struct cot_emu_place place)
{
	if (depth == COT_EMU_CTX_STACK)
		return false;
	stack[depth++] = place;
	return true;
}

bool cot_emu_current_pop(struct cot_emu_place *ret_place)
{
	if (!depth)
		return false;
	*ret_place = stack[--depth];
	return true;
}

void cot_emu_current_set(struct cot_emu_place place)
{
	if (!depth)
		depth = 1;
	stack[depth - 1] = place;
}
