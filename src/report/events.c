#include "report/events.h"

#include <stdbool.h>

#include "base/quote.h"
#include "report/format.h"

#define JOINED_MAX 256

void cot_events_begin(struct cot_events *e, FILE *out, const char *unit)
{
	*e = (struct cot_events){.out = out, .separator = ""};
	(void)fprintf(out, "{\"displayTimeUnit\":\"%s\",\"traceEvents\":[\n", unit);
}

void cot_events_end(struct cot_events *e)
{
	(void)fputs("\n]}\n", e->out);
}

void cot_events_open(struct cot_events *e, const char *phase, unsigned pid, unsigned tid)
{
	(void)fprintf(e->out, "%s{\"ph\":\"%s\",\"pid\":%u,\"tid\":%u,\"name\":", e->separator,
		      phase, pid, tid);
	e->separator = ",\n";
}

void cot_events_open_complete(struct cot_events *e, unsigned pid, unsigned tid, const char *name)
{
	cot_events_open(e, "X", pid, tid);
	cot_quote_write(e->out, name);
}

void cot_events_times(struct cot_events *e, uint64_t begin_ps, uint64_t end_ps)
{
	struct cot_text ts, dur;

	(void)fprintf(e->out, ",\"ts\":%s,\"dur\":%s", cot_format_exact_us(&ts, begin_ps, false),
		      cot_format_exact_us(&dur, end_ps - begin_ps, false));
}

static void write_joined(const struct cot_events *e, const char *a, const char *b)
{
	char joined[JOINED_MAX];

	(void)snprintf(joined, sizeof(joined), "%s%s", a, b);
	cot_quote_write(e->out, joined);
}

/* A metadata event with one argument: a string, or a number when `text` is NULL. */
static void metadata(struct cot_events *e, unsigned pid, unsigned tid, const char *what,
		     const char *key, const char *text, const char *text2, unsigned number)
{
	cot_events_open(e, "M", pid, tid);
	(void)fprintf(e->out, "\"%s\",\"args\":{\"%s\":", what, key);
	if (text)
		write_joined(e, text, text2);
	else
		(void)fprintf(e->out, "%u", number);
	(void)fputs("}}", e->out);
}

void cot_events_process(struct cot_events *e, unsigned pid, unsigned tid, const char *name,
			unsigned place)
{
	metadata(e, pid, tid, "process_name", "name", name, "", 0);
	metadata(e, pid, tid, "process_sort_index", "sort_index", NULL, NULL, place);
}

void cot_events_track(struct cot_events *e, unsigned pid, unsigned tid, const char *name,
		      const char *suffix)
{
	metadata(e, pid, tid, "thread_name", "name", name, suffix, 0);
	metadata(e, pid, tid, "thread_sort_index", "sort_index", NULL, NULL, tid);
}

void cot_events_counter(struct cot_events *e, unsigned pid, unsigned tid, uint64_t at_ps,
			const char *name, const char *suffix, double value)
{
	struct cot_text t;

	cot_events_open(e, "C", pid, tid);
	write_joined(e, name, suffix);
	(void)fprintf(e->out, ",\"ts\":%s,\"args\":{\"value\":%.15g}}",
		      cot_format_exact_us(&t, at_ps, false), value);
}
