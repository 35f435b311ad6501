#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

/* What came from outside cannot begin a line of its own, nor speak to the terminal. */
static void flatten(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

int cot_error_set(struct cot_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	flatten(err->text);
	return code;
}
