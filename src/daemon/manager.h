/*
 * What the daemon and its service manager, systemd, say to each other: sd_notify(3), the watchdog,
 * a socket that is handed over (sd_listen_fds(3)), and lines of the journal with fields. Protocols
 * of a few bytes that systemd promises to keep; without a manager nothing happens. One thread.
 */
#ifndef COT_DAEMON_MANAGER_H
#define COT_DAEMON_MANAGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_JOURNAL_SOCKET "/run/systemd/journal/socket"

/* Sends sd_notify() text if systemd listens. */
void cot_manager_notify(const char *text);

/* How often the manager wants to hear of us; 0 = it does not. */
uint64_t cot_manager_watchdog_ns(void);

/*
 * The socket that the manager listens with for us, on `path`: -1 = there is none. Children will not
 * see it. A manager that hands over anything else is told what was expected.
 */
int cot_manager_socket(const char *path, int *ret_fd, struct cot_error *err);

/* A line of the journal; values without an end of line. False: it does not take it. */
struct cot_journal_field {
	const char *name, *value;
};
bool cot_manager_journal(const char *socket_path, const struct cot_journal_field *fields,
			 size_t n_fields);

#endif
