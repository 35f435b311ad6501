/*
 * A user's mistake, told in one sentence: what, where (file, line, column), what was expected.
 * Functions that can fail because of outside input take a `struct cot_error *` and return
 * 0 or -errno; the sentence is written only on failure. One owner, no sharing between threads.
 */
#ifndef COT_BASE_ERROR_H
#define COT_BASE_ERROR_H

#include "base/compiler.h"

#define COT_ERROR_MAX 512

struct cot_error {
	char text[COT_ERROR_MAX]; /* one sentence without control characters; cut at the end if too
				     long */
};

/* Writes the sentence (err may be NULL) and returns `code`, so that callers can `return` it. */
int cot_error_set(struct cot_error *err, int code, const char *fmt, ...) COT_PRINTF(3, 4);

#endif
