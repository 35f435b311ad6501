/* What the emulated driver says to the user, on stderr. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/driver/driver.h"

static void say(const char *format, va_list args) COT_PRINTF(1, 0);

/* In one write, so that lines of several processes do not mix. */
static void say(const char *format, va_list args)
{
	char line[1024];
	int n = snprintf(line, sizeof(line), "emulated GPU: ");

	n += vsnprintf(line + n, sizeof(line) - (size_t)n - 1, format, args);
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n] = '\n';
	(void)fwrite(line, 1, (size_t)n + 1, stderr);
}

void cot_emu_complain(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

void cot_emu_note(const char *format, ...)
{
	const char *value = getenv("COTENANT_EMU_LOG");
	va_list args;

	if (!value || !*value || *value == '0')
		return;
	va_start(args, format);
	say(format, args);
	va_end(args);
}
