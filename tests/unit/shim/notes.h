/*
 * What played parts are asked for, one after the other, as text. A test says all that it expects
 * to have been done: what should not be done is seen as well.
 */
#ifndef COT_TESTS_NOTES_H
#define COT_TESTS_NOTES_H

#include <stdio.h>
#include <string.h>

#include "test.h"

static char written[8192];

static __attribute__((format(printf, 1, 2))) void note(const char *fmt, ...)
{
	size_t n = strlen(written);
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(written + n, sizeof(written) - n, fmt, ap);
	va_end(ap);
}

/* That, and nothing else since the last time. */
static void expect_done(const char *what)
{
	assert_string_equal(written, what);
	written[0] = '\0';
}

#endif
