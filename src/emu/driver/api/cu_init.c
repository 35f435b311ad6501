/* Initialisation and errors. */
#include "emu/driver/inside.h"

CUresult cuInit(unsigned flags)
{
	return flags ? CUDA_ERROR_INVALID_VALUE : cot_emu_init();
}

CUresult cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = COT_CUDA_VERSION;
	return CUDA_SUCCESS;
}

/* ---- errors ---- */

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define E(name, value, text) {name, #name, text},
	COT_CUDA_ERRORS(E)
#undef E
};

CUresult cuGetErrorName(CUresult error, const char **name)
{
	size_t i;

	if (!name)
		return CUDA_ERROR_INVALID_VALUE;
	*name = NULL;
	for (i = 0; i < COT_ARRAY_LEN(errors); i++)
		if (errors[i].code == error)
			*name = errors[i].name;
	return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text)
{
	size_t i;

	if (!text)
		return CUDA_ERROR_INVALID_VALUE;
	*text = NULL;
	for (i = 0; i < COT_ARRAY_LEN(errors); i++)
		if (errors[i].code == error)
			*text = errors[i].text;
	return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
