/*
 * JSON that is whole, or known not to be. jansson overlooks some allocations that fail: a member
 * is left out of an object, or a key out of the text. So they are counted.
 *
 * The count is of the whole process; any thread.
 */
#ifndef COT_TEXT_JSON_H
#define COT_TEXT_JSON_H

#include <stdbool.h>
#include <stddef.h>

/* From here on; before the first use of jansson. */
void cot_json_count(void);
/* Whether no allocation has failed since then, or since it was asked last. */
bool cot_json_whole(void);

#endif
