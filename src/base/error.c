#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

int cot_error_set(struct cot_error *err, int code, const char *fmt, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, fmt);
	(void)vsnprintf(err->text, sizeof(err->text), fmt, ap);
	va_end(ap);
	return code;
}
