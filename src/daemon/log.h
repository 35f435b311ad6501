/*
 * The daemon's log: lines on stderr. Plain lines carry the time and the level; under systemd's
 * journal, which adds both itself, entries with the fields COTENANT_GPU and COTENANT_POOL (or,
 * where it does not take them, a "<N>" prefix); with COT_DLOG_JSON one object per line.
 */
#ifndef COT_DAEMON_LOG_H
#define COT_DAEMON_LOG_H

#include <stdbool.h>

#include "base/compiler.h"

enum cot_dlog_level { COT_DLOG_ERROR, COT_DLOG_WARN, COT_DLOG_INFO, COT_DLOG_DEBUG };
enum cot_dlog_format { COT_DLOG_PLAIN, COT_DLOG_JOURNAL, COT_DLOG_JSON };

/* Chooses plain or journal by itself, unless `json`. */
void cot_daemon_log_init(enum cot_dlog_level level, bool json);
/* Where the journal takes entries with fields, other than at COT_JOURNAL_SOCKET. */
void cot_daemon_log_journal(const char *socket_path);
bool cot_daemon_log_level(const char *text, enum cot_dlog_level *ret_level);

/* What a line is about: in JSON fields of their own. */
struct cot_dlog_where {
	unsigned gpu;
	const char *pool;
};

/* `where` may be NULL. */
void cot_daemon_log(enum cot_dlog_level level, const struct cot_dlog_where *where, const char *fmt,
		    ...) COT_PRINTF(3, 4);

/*
 * What is said of each program that comes or goes. Where they come by the thousand, what is more
 * than 60 such lines a minute is said with COT_DLOG_DEBUG, and counted in a line after that minute.
 */
void cot_daemon_log_traffic(const char *fmt, ...) COT_PRINTF(1, 2);

#define log_error(...)	 cot_daemon_log(COT_DLOG_ERROR, NULL, __VA_ARGS__)
#define log_warn(...)	 cot_daemon_log(COT_DLOG_WARN, NULL, __VA_ARGS__)
#define log_info(...)	 cot_daemon_log(COT_DLOG_INFO, NULL, __VA_ARGS__)
#define log_debug(...)	 cot_daemon_log(COT_DLOG_DEBUG, NULL, __VA_ARGS__)
#define log_traffic(...) cot_daemon_log_traffic(__VA_ARGS__)

#endif
