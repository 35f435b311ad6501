/*
 * The daemon as a whole: one thread, one struct daemon. Each file has a header of its own.
 *
 *   main.c      arguments                     daemon.c  signals, beginning and end
 *   loop.c      descriptors and timers        log.c     lines on stderr
 *   config.c    cotenantd.conf                access.c  what users may do
 *   paths.c     where things are              gpus.c    which GPUs there are
 *   server.c    the socket and its packets    conn.c    connections
 *   answer.c    answers to their peers        peer.c    the peers' processes
 *   account.c   what each user may have       closer.c  closes files that may take long
 *   library.c   packets of libcotenant.so     command.c packets of the command line
 *   register.c  a program is announced        environment.c  what it gets for that
 *   query.c     questions, and show.c         target.c  whom a command is about
 *   shims.c     packets of shims              host_work.c  works between core and shims
 *   tenant.c    programs                      pool.c    pools, pool_stop.c their end
 *   roster.c    the tables of both            watch.c   processes, until they end
 *   mps.c       the MPS programs              host.c, host_order.c  the core's host
 *   lock.c      one daemon per folder         show.c    answers in JSON
 *   state.c     what outlives the daemon      recover.c programs not in its file
 *   found.c     programs' environments        processes.c  processes in /proc
 *   outlive.c   what launchers leave behind   clients.c the clients of an MPS server
 *   keeper.c    ends pools after the daemon
 *   news.c      failures, for the log         audit.c   users' changes, likewise
 *   effect.c    whether shares do anything
 *
 * Calls go down: from the daemon and its server to the handlers of packets, from these to programs
 * and pools, from these to processes, MPS and the host. Calls upwards go through cot_daemon_wire().
 */
#ifndef COT_DAEMON_DAEMON_H
#define COT_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/roster.h"
#include "daemon/server.h"

struct daemon {
	struct basis basis;
	struct roster roster;
	struct conns conns;
	struct server server;
	struct cot_source signals;
	struct cot_timer host_timer;
	struct cot_timer closes; /* what the closer has kept is handed on */
	int lock_fd;
	bool config_named; /* by the user: must exist */
	uint64_t n_late_told, late_again_ns;
};

/* Where the default file is missing, the defaults count. */
int cot_daemon_read_config(struct daemon *d, struct cot_config *ret_config, struct cot_error *err);
/* Ready to serve when it returns 0. What a failure leaves ends with the process. */
int cot_daemon_begin(struct daemon *d, struct cot_error *err);
/* Sets the functions that are called for packets, for news of pools, and by timers. Part of the
 * beginning. */
void cot_daemon_wire(struct daemon *d);
void cot_daemon_end(struct daemon *d);

/* Sends sd_notify() text if systemd listens. */
void cot_daemon_notify(const char *text);

#endif
