/*
 * The daemon as a whole: one thread, one struct daemon. Only daemon.c and main.c include this;
 * every other unit knows its own floor and those below.
 *
 *   floor     what             files
 *   daemon    arguments; all   main.c; daemon.c, lock.c
 *   server    the socket       server.c
 *             of collectors    scrape.c, listen.c
 *   handlers  of libraries     library.c
 *             of shims         shims.c, queries.c
 *             of commands      command.c, whom.c, hold.c, audit.c; register.c, environment.c;
 *                              query.c, explain.c; show.c, show_*.c, expose.c, effect.c
 *   conns     connections      conn.c, peer.c, answer.c, access.c, closer.c
 *   roster    programs         tenant.c, outlive.c; measure.c, progress.c, energy.c
 *             pools            pool.c, pool_stop.c, mps.c, clients.c, keeper.c
 *             both             roster.c, state.c, recover.c, news.c, choose.c
 *   basis     what all need    basis.c, loop.c, lateness.c, watch.c, account.c, config.c, gpus.c,
 *                              paths.c
 *             the core's host  host.c, host_order.c, host_work.c, host_part.c,
 *                              host_query.c
 *             of programs      known.c
 *             what it learned  lessons.c
 *   below     no state         log.c, manager.c, child.c, found.c, processes.c, file.c,
 *                              lesson_text.c
 *
 * Calls upwards go through what cot_daemon_wire() sets: the handlers, and who waits for pools. Only
 * whether a program or pool is ready is looked up, among the connections; and recover.c asks
 * access.c what the owner of a process may.
 */
#ifndef COT_DAEMON_DAEMON_H
#define COT_DAEMON_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/lessons.h"
#include "daemon/roster.h"
#include "daemon/scrape.h"
#include "daemon/server.h"

struct daemon {
	struct basis basis;
	struct roster roster;
	struct conns conns;
	struct server server;
	struct lessons lessons;
	struct scrape scrape;
	struct cot_source signals;
	struct cot_timer host_timer;
	struct cot_timer watchdog; /* of the service manager */
	struct cot_timer closes;   /* what the closer has kept is handed on */
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

#endif
