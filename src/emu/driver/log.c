/* What the emulated driver says to the user, on stderr. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "emu/driver/inside.h"

/* In one write, so that lines of several processes do not mix. */
static void say(const char *text)
{
	char line[1024];
	int n = snprintf(line, sizeof(line) - 1, "emulated GPU: %s", text);

	if (n < 0)
		return;
	if (n > (int)sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	line[n] = '\n';
	(void)fwrite(line, 1, (size_t)n + 1, stderr);
}

void cot_emu_complain(const char *format, ...)
{
	char text[1000];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(text);
}

void cot_emu_note(const char *format, ...)
{
	const char *value = getenv("COTENANT_EMU_LOG");
	char text[1000];
	va_list args;

	if (!value || !*value || *value == '0')
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	say(text);
}
