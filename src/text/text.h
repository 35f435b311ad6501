/*
 * Text from outside: a bounded read of a file, and the check that bytes are text at all. Both give
 * one sentence on failure. No state.
 */
#ifndef COT_TEXT_TEXT_H
#define COT_TEXT_TEXT_H

#include <stddef.h>

#include "base/error.h"

#define COT_TEXT_SIZE_MAX (4u << 20) /* of one file */
#define COT_PATH_MAX	  4096

/* A copy of the user's text short enough to be quoted in a message. */
#define COT_QUOTE_MAX 48
const char *cot_text_quote(const char *text, char buf[COT_QUOTE_MAX]);

/* Adds the word to a list "a, b, c" for a message; a list that is full is cut. */
void cot_text_add_word(char *list, size_t size, const char *word);

/* Reads a file ("-": standard input) of at most COT_TEXT_SIZE_MAX bytes; free() the bytes. */
int cot_text_read(const char *path, char **ret_bytes, size_t *ret_size, struct cot_error *err);

/*
 * -EINVAL with file:line:col unless the bytes are UTF-8 without control characters other than tab,
 * line feed and carriage return, and no larger than COT_TEXT_SIZE_MAX.
 */
int cot_text_check(const char *name, const char *bytes, size_t size, struct cot_error *err);

/* Length of the UTF-8 byte order mark at the start: 3 or 0. */
size_t cot_text_bom(const char *bytes, size_t size);

/* Joins the folder of the file `base` with the relative path `name`. -ENAMETOOLONG. */
int cot_text_beside(const char *base, const char *name, char ret_path[COT_PATH_MAX],
		    struct cot_error *err);

#endif
