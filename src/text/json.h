/*
 * JSON: objects into structs by rows (field.h), and JSON that is whole, or known not to be. jansson
 * overlooks some allocations that fail: a member is left out of an object, or a key out of the
 * text. So they are counted.
 *
 * The count is of the whole process; any thread.
 */
#ifndef COT_TEXT_JSON_H
#define COT_TEXT_JSON_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"
#include "text/field.h"

/*
 * Puts the members of an object that have rows (of numbers, texts and words) into *out. A text that
 * is not required may be empty, as if it were left out. -EINVAL with a sentence that begins with
 * `name` and `line`.
 */
int cot_json_fill(const char *name, unsigned line, const json_t *object,
		  const struct cot_field *fields, void *out, struct cot_error *err);

/* From here on; before the first use of jansson. */
void cot_json_count(void);
/* Whether no allocation has failed since then, or since it was asked last. */
bool cot_json_whole(void);

#endif
