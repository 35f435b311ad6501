/*
 * Code as a program hands it over: the text of the built-in kernels, PTX text, a fat binary, the
 * wrapper that the compiler puts around one, or machine code, which cannot run here. What comes
 * out is text that owns itself, since the program may throw its own away. No state.
 */
#ifndef COT_EMU_DRIVER_IMAGE_H
#define COT_EMU_DRIVER_IMAGE_H

#include <stddef.h>

#include "base/error.h"
#include "cuda/abi/calls.h"

struct cot_emu_code {
	char *text; /* malloc'ed; ends with a zero */
	size_t length;
};

/* On failure one sentence is in *err. */
CUresult cot_emu_code_take(const void *image, struct cot_emu_code *ret_code, struct cot_error *err);
CUresult cot_emu_code_read(const char *path, struct cot_emu_code *ret_code, struct cot_error *err);
void cot_emu_code_free(struct cot_emu_code *code);

#endif
