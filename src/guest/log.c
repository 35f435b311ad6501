#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/words.h"
#include "guest/log.h"
#include "guest/os.h"

#define LINES_PER_S 20u

static enum cot_log_level up_to;

void cot_log_level_set(enum cot_log_level level)
{
	up_to = level;
}

/* A program's stderr is not ours to flood. */
static bool too_many(void)
{
	static _Atomic uint64_t window;
	static _Atomic unsigned n_lines;
	uint64_t now = cot_now_ns() / COT_NS_PER_S;

	if (atomic_exchange(&window, now) != now)
		atomic_store(&n_lines, 0);
	return atomic_fetch_add(&n_lines, 1) >= LINES_PER_S;
}

void cot_log(enum cot_log_level level, const char *fmt, ...)
{
	static const char *const words[] = {"", "error", "warning", "info", "debug"};
	char line[512];
	va_list ap;
	size_t n;

	if (level > up_to || too_many())
		return;
	(void)snprintf(line, sizeof(line) - 1, "cotenant[%d]: %s: ", (int)getpid(), words[level]);
	n = strlen(line);
	va_start(ap, fmt);
	(void)vsnprintf(line + n, sizeof(line) - 1 - n, fmt, ap);
	va_end(ap);
	n = strlen(line);
	line[n++] = '\n';
	if (write(STDERR_FILENO, line, n) < 0)
		return; /* nowhere to tell it */
}
