/* What edit.c has for clone.c; what passes use is in ptx.h. */
#ifndef COT_PTX_EDIT_H
#define COT_PTX_EDIT_H

#include "ptx/build.h"

/* Replaces a list of operands by a copy, with everything in it. -ENOMEM. */
int cot_ptx_copy_operands(struct cot_ptx_module *module, struct cot_ptx_operand **list, uint32_t n);

#endif
