/*
 * Where the daemon listens for collectors of metrics: a port of this machine alone, or a Unix
 * socket.
 */
#ifndef COT_DAEMON_LISTEN_H
#define COT_DAEMON_LISTEN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "daemon/paths.h"

#define COT_LISTEN_EXAMPLE "127.0.0.1:PORT, [::1]:PORT or the full path of a socket"

struct cot_listen {
	enum cot_listen_kind {
		COT_LISTEN_NOT,
		COT_LISTEN_IP4,
		COT_LISTEN_IP6,
		COT_LISTEN_UNIX
	} kind;
	uint16_t port;
	char path[COT_PATH_TEXT_MAX]; /* UNIX */
};

/* False: it is nothing of the example, or the path is too long for a socket. */
bool cot_listen_read(const char *text, struct cot_listen *ret_listen);
/* A socket that listens and does not block; a Unix socket has that mode. It replaces a socket on
 * which nobody listens any more, and nothing else. */
int cot_listen_open(const struct cot_listen *listen, mode_t mode, int *ret_fd,
		    struct cot_error *err);
/* Takes the Unix socket away. */
void cot_listen_withdraw(const struct cot_listen *listen);

#endif
