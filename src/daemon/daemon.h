/*
 * The daemon as a whole: one thread, one struct daemon. Only daemon.c and main.c include this;
 * every other unit knows its own floor and those below.
 *
 *   daemon    main.c arguments; daemon.c beginning, signals, between two rounds, end; lock.c
 *   server    server.c the socket: who comes, and which packets
 *   handlers  library.c, shims.c, command.c: packets by kind of connection. Of command.c:
 *             register.c a program is announced, environment.c what it gets for that; query.c
 *             questions, show.c, show_part.c, effect.c answers in JSON; target.c whom a command is
 *             about, hold.c freeze and thaw, audit.c who has changed what
 *   conns     conn.c connections; peer.c the processes at their other ends; answer.c what the
 * daemon says to them; access.c what users may do; closer.c closes files that may take long roster
 * roster.c the tables of programs and pools; tenant.c, outlive.c programs and what launchers leave
 * behind; pool.c, pool_stop.c, mps.c, clients.c pools; keeper.c ends them after the daemon;
 * state.c, recover.c what outlives the daemon; news.c failures, for the log basis     loop.c
 * descriptors and timers; watch.c processes, until they end; host.c, host_order.c, host_work.c,
 * host_part.c the core's host; account.c what each user may have; config.c, gpus.c, paths.c below
 * log.c; found.c, processes.c what /proc says
 *
 * Calls upwards go through what cot_daemon_wire() sets: the handlers, and who waits for pools. Only
 * whether a program or pool is ready is looked up, among the connections.
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
