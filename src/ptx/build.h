/*
 * What the reader (parse*.c) and the editor (edit.c, clone.c) build modules from: blocks, items,
 * tables of registers and labels, new names. Nothing here reads text.
 */
#ifndef COT_PTX_BUILD_H
#define COT_PTX_BUILD_H

#include "ptx/names.h"

#define COT_PTX_HINT_MAX 64u /* bytes of a name that go into a new one */

/* A block inside `parent`; NULL: one of its own. NULL: out of memory. */
struct cot_ptx_scope *cot_ptx_new_scope(struct cot_ptx_module *module,
					struct cot_ptx_scope *parent);

/* Puts an item before another (NULL: at the end). */
void cot_ptx_link_item(struct cot_ptx_module *module, struct cot_ptx_item *item,
		       struct cot_ptx_item *before);

/* How large a table is that has to hold n things; it doubles. */
uint32_t cot_ptx_room_for(uint32_t n, uint32_t cap);

/* -E2BIG, -ENOMEM. */
int cot_ptx_grow_regs(struct cot_ptx_func *func, uint32_t count);
int cot_ptx_add_label(struct cot_ptx_func *func, struct cot_ptx_label *label);

/* A name with a new number in it: %flag becomes %cot7_flag. NULL: out of memory. */
const char *cot_ptx_fresh_name(struct cot_ptx_module *module, struct cot_ptx_str text);

/* A function that is no longer there: its declarations stand for the name again. */
void cot_ptx_forget_func(struct cot_ptx_module *module, struct cot_ptx_func *func);

#endif
