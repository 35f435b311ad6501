#include "daemon/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "daemon/manager.h"

#define LINE_MAX_BYTES 1024
#define TRAFFIC_LINES  60u /* in TRAFFIC_S */
#define TRAFFIC_S      60

static enum cot_dlog_level max_level = COT_DLOG_INFO;
static enum cot_dlog_format format = COT_DLOG_PLAIN;
static const char *journal_path = COT_JOURNAL_SOCKET;

static const char *const level_words[] = {"ERROR", "WARN", "INFO", "DEBUG"};
static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const int priorities[] = {3, 4, 6, 7}; /* of syslog */

/* JOURNAL_STREAM is "device:inode" of the stream that leads to the journal. */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char own[64];
	struct stat st;

	if (!stream || fstat(STDERR_FILENO, &st) < 0)
		return false;
	(void)snprintf(own, sizeof(own), "%lu:%lu", (unsigned long)st.st_dev,
		       (unsigned long)st.st_ino);
	return !strcmp(own, stream);
}

void cot_daemon_log_init(enum cot_dlog_level level, bool json)
{
	max_level = level;
	format = json ? COT_DLOG_JSON : stderr_is_journal() ? COT_DLOG_JOURNAL : COT_DLOG_PLAIN;
}

void cot_daemon_log_journal(const char *socket_path)
{
	journal_path = socket_path;
}

bool cot_daemon_log_level(const char *text, enum cot_dlog_level *ret_level)
{
	unsigned i;

	for (i = 0; i < COT_ARRAY_LEN(level_names); i++) {
		if (!strcmp(text, level_names[i])) {
			*ret_level = (enum cot_dlog_level)i;
			return true;
		}
	}
	return false;
}

static void stamp(char *text, size_t size)
{
	struct timespec ts;
	struct tm tm;
	size_t n;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	(void)gmtime_r(&ts.tv_sec, &tm);
	n = strftime(text, size, "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text + n, size - n, ".%03ldZ", ts.tv_nsec / 1000000);
}

/* Names come from outside: no control characters in a line of the log. */
static void clean(char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			*text = '?';
}

static void put_json_string(FILE *out, const char *s)
{
	(void)putc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			(void)putc('\\', out);
		(void)putc(*s, out);
	}
	(void)putc('"', out);
}

static void put_json(enum cot_dlog_level level, const struct cot_dlog_where *where,
		     const char *time_text, const char *message)
{
	(void)fprintf(stderr, "{\"time\":\"%s\",\"level\":\"%s\",\"pid\":%d,", time_text,
		      level_names[level], (int)getpid());
	if (where) {
		(void)fprintf(stderr, "\"gpu\":%u,\"pool\":", where->gpu);
		put_json_string(stderr, where->pool);
		(void)putc(',', stderr);
	}
	(void)fputs("\"message\":", stderr);
	put_json_string(stderr, message);
	(void)fputs("}\n", stderr);
}

/* With fields of their own for what it is about; or as a line, of which the journal knows the
 * level. */
static void put_journal(enum cot_dlog_level level, const struct cot_dlog_where *where,
			const char *message)
{
	char priority[4], gpu[12] = "";
	const struct cot_journal_field fields[] = {
		{"PRIORITY", priority},
		{"SYSLOG_IDENTIFIER", "cotenantd"},
		{"MESSAGE", message},
		{"COTENANT_GPU", gpu},
		{"COTENANT_POOL", where ? where->pool : ""},
	};

	(void)snprintf(priority, sizeof(priority), "%d", priorities[level]);
	if (where)
		(void)snprintf(gpu, sizeof(gpu), "%u", where->gpu);
	if (cot_manager_journal(journal_path, fields, where ? COT_ARRAY_LEN(fields) : 3))
		return;
	if (where)
		(void)fprintf(stderr, "<%s>gpu=%s pool=%s: %s\n", priority, gpu, where->pool,
			      message);
	else
		(void)fprintf(stderr, "<%s>%s\n", priority, message);
}

void cot_daemon_log(enum cot_dlog_level level, const struct cot_dlog_where *where, const char *fmt,
		    ...)
{
	char message[LINE_MAX_BYTES], fields[128] = "", time_text[40];
	va_list args;

	if (level > max_level)
		return;
	va_start(args, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	clean(message);
	if (where)
		(void)snprintf(fields, sizeof(fields), " gpu=%u pool=%s", where->gpu, where->pool);
	stamp(time_text, sizeof(time_text));
	if (format == COT_DLOG_JOURNAL)
		put_journal(level, where, message);
	else if (format == COT_DLOG_PLAIN)
		(void)fprintf(stderr, "%s %s cotenantd[%d]%s: %s\n", time_text, level_words[level],
			      (int)getpid(), fields, message);
	else
		put_json(level, where, time_text, message);
}

/* ---- lines that may be many ---- */

static struct {
	time_t since_s;
	unsigned n_lines, n_more;
} traffic;

static bool is_too_much(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	if (!traffic.n_lines || now.tv_sec - traffic.since_s >= TRAFFIC_S) {
		if (traffic.n_more)
			log_info("%u more lines about programs that came or went were left out "
				 "in the minute before; --log-level debug shows them",
				 traffic.n_more);
		traffic.since_s = now.tv_sec;
		traffic.n_lines = traffic.n_more = 0;
	}
	if (traffic.n_lines < TRAFFIC_LINES) {
		traffic.n_lines++;
		return false;
	}
	if (max_level < COT_DLOG_DEBUG)
		traffic.n_more++;
	return true;
}

void cot_daemon_log_traffic(const char *fmt, ...)
{
	char message[LINE_MAX_BYTES];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(message, sizeof(message), fmt, args);
	va_end(args);
	cot_daemon_log(is_too_much() ? COT_DLOG_DEBUG : COT_DLOG_INFO, NULL, "%s", message);
}
