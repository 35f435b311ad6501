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
 *   ids.c       the numbers of both           watch.c   processes, until they end
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

#include "daemon/account.h"
#include "daemon/closer.h"
#include "daemon/config.h"
#include "daemon/conn.h"
#include "daemon/gpus.h"
#include "daemon/host.h"
#include "daemon/loop.h"
#include "daemon/outlive.h"
#include "daemon/paths.h"
#include "daemon/pool.h"
#include "daemon/tenant.h"

struct daemon {
	struct cot_loop loop;
	const struct conn_ops *conn_ops;      /* by kind of connection */
	void (*pool_settled)(struct pool *p); /* it came up or failed */
	struct cot_config config;
	char config_path[COT_PATH_TEXT_MAX];
	bool config_named; /* by the user: must exist */
	struct cot_gpus gpus;
	struct cot_host *host;
	struct cot_timer host_timer;
	char runtime[COT_PATH_TEXT_MAX], socket_path[COT_PATH_TEXT_MAX];
	char library[COT_PATH_TEXT_MAX]; /* empty when it was not found */
	int lock_fd;
	struct cot_source listener;
	struct cot_timer listener_timer; /* after the descriptors ran out */
	int spare_fd;
	bool guarded; /* the kernel keeps peers from passing descriptors */
	struct cot_account account;
	struct cot_closer closer;
	struct cot_timer pauses; /* of connections */
	struct cot_timer closes; /* what the closer has kept is handed on */
	struct cot_source signals;
	struct cot_timer waits; /* of commands, and of connections that say nothing */
	struct cot_timer poll;	/* where there are no pidfds: looks after processes */
	struct outlive outlive;
	struct cot_timer stops; /* while orders are late: looks whether programs are stopped */
	struct cot_timer idle;
	uint32_t exit_idle_s; /* 0 = never */
	const char *program;  /* this one, to start the keeper with; NULL: none */
	struct watch keeper;
	int keeper_fd;	   /* its end tells the keeper of ours */
	bool no_multiuser; /* the MPS control program does not know it */
	bool mps_failed;   /* rotation takes over until a pool comes up */
	bool state_dirty, stopping;
	bool state_lost;	      /* it could not be written, and that has been said */
	struct cot_timer state_retry; /* it is not written before */
	uint64_t state_since_ns;      /* writes are counted since then */
	uint32_t n_state_writes;
	uint32_t next_id;
	uint64_t start_ns;
	struct tenant tenants[MAX_TENANTS];
	struct pool pools[MAX_POOLS];
	struct conn conns[MAX_CONNS];
	uint64_t n_refused, n_bad_packets;
	struct cot_timer queries; /* at once, while a client has asked */
	unsigned next_asker;	  /* in conns */
	uint64_t noise_since_ns;  /* complaints about peers */
	uint32_t n_noise, n_left_out;
	uint64_t told_ns; /* of descriptors that ran out */
	uint64_t n_late_told, late_again_ns;
};

static inline unsigned conn_index(const struct conn *c)
{
	return (unsigned)(c - c->d->conns);
}

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
