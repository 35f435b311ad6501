/*
 * The file of what policies learned, as text: a line that says what it is, then one line for each
 * lesson, the one that was written longest ago first:
 *
 *     cotenant lessons 1
 *     4294969062 7 120 0 0 3 0 0        key, kind, six values
 *
 * Pure: bytes in, structs out, and back.
 */
#ifndef COT_DAEMON_LESSON_TEXT_H
#define COT_DAEMON_LESSON_TEXT_H

#include <cotenant/policy.h>
#include <stddef.h>

#include "base/error.h"

/* Of the whole text, with its NUL: 20 and 10 digits and blanks in each line. */
#define COT_LESSON_TEXT_MAX (32u + COT_LESSONS_MAX * (20u + 1u + 7u * 11u))

/* Returns the length. */
size_t cot_lesson_text_write(const struct cot_lesson *lessons, uint32_t n,
			     char ret_text[COT_LESSON_TEXT_MAX]);
/* -EINVAL with a sentence for anything that is not whole. */
int cot_lesson_text_read(const char *text, size_t size, struct cot_lesson ret[COT_LESSONS_MAX],
			 uint32_t *ret_n, struct cot_error *err);

#endif
