/*
 * The inside of cotenantd, shared by its files. One thread; one struct daemon. What connections,
 * programs and pools are is in conn.h, tenant.h and pool.h.
 *
 *   main.c      arguments                     daemon.c  signals, beginning and end
 *   loop.c      descriptors and timers        log.c     lines on stderr
 *   config.c    cotenantd.conf                access.c  what users may do
 *   paths.c     where things are              gpus.c    which GPUs there are
 *   server.c    the socket and its packets    conn.c    connections
 *   answer.c    answers to their peers        peer.c    the peers' processes
 *   account.c   what each user may have       closer.c  closes files that may take long
 *   library.c   packets of libcotenant.so     command.c packets of the command line
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
#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/paths.h"
#include "daemon/pool.h"
#include "daemon/processes.h"
#include "daemon/tenant.h"
#include "daemon/watch.h"
#include "proto/proto.h"

#define MAX_CONNS   COT_HOST_MAX_MEMBERS
#define MAX_TENANTS COT_SCHED_MAX_TENANTS
#define MAX_POOLS   (3 * COT_GPUS_MAX) /* of each GPU: latency, batch, shared */

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

/* ---- server.c ---- */

/* Listens, but cannot be found until it is published. */
int cot_server_open(struct daemon *d, struct cot_error *err);
int cot_server_publish(struct daemon *d, struct cot_error *err);
/* The server accepts no more connections, so that new clients wait for the next daemon. */
void cot_server_withdraw(struct daemon *d);
/* Sets which users may reach the socket, the folders above it and those of the pools, as configured
 * now. */
void cot_server_set_access(struct daemon *d);
void cot_server_close(struct daemon *d);

/* ---- peer.c ---- */

/*
 * Fills in the process at the other end of a connection that was just accepted. -EMFILE, -ENFILE:
 * there was no descriptor for it. If the process cannot be identified for certain, because it has
 * ended or is not visible from here, `pidfd` is -1 and `start_time` 0.
 */
int cot_peer_identify(struct conn *c, int fd);
/* Gives back what that took. */
void cot_peer_finish(struct conn *c);
/* Whether the watched process is the one that connected. False in doubt. */
bool cot_peer_is(const struct conn *c, const struct watch *w);
/* The kernel's own number of a process, by its pidfd; 0 where there are none. */
uint64_t cot_peer_process(int pidfd);
bool cot_peer_has_ended(int pidfd);

/* ---- library.c ---- */

extern const struct cot_host_ops cot_library_host_ops;
/* False: the connection is to be closed. */
bool cot_library_packet(struct conn *c, const void *packet, int type);
void cot_library_gone(struct conn *c);
/* Whether no process of the program or pool has set up channels lately. */
bool cot_library_is_quiet(const struct daemon *d, uint32_t entity, uint64_t now_ns);
/* Sets c->tenant: the program that says this of itself, maybe a new one. -EAGAIN: not now. */
int cot_library_tenant(struct conn *c, const struct cot_msg_hello *m, struct cot_error *err);
/* -EAGAIN, with a sentence on why there is no place for its program: what cot_tenant_new() or
 * cot_tenant_watch_peer() returned. */
int cot_library_is_crowded(struct conn *c, int rc, struct cot_error *err);
/* Whether its user may start one more now; else -EAGAIN. */
int cot_library_may_start(struct conn *c, struct cot_error *err);

/* ---- shims.c ---- */

/* False: the connection is to be closed. */
bool cot_shims_packet(struct conn *c, const void *packet, int type);
void cot_shims_gone(struct conn *c);

/* As in messages. */
static inline enum cot_class class_of(uint8_t class_)
{
	return class_ == COT_CLASS_LATENCY ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
}

/* ---- command.c ---- */

bool cot_command_packet(struct conn *c, const void *packet, int type);
/* The pool that REGISTERs wait for came up or failed. */
void cot_command_pool_settled(struct pool *p);
/* Answers the next QUERY. */
void cot_command_answer_one(struct cot_timer *timer, uint64_t now_ns);

/* ---- hold.c ---- */

/* FREEZE or THAW of an entity; `tenant` is NULL for a pool. -EINPROGRESS: cot_hold_check() answers.
 */
int cot_hold_begin(struct conn *c, uint32_t entity, const struct tenant *tenant, const char *name,
		   const struct cot_msg_command *m, struct cot_error *err);
void cot_hold_check(struct daemon *d, uint64_t now_ns);

/* ---- access.c ---- */

/* 0, or -EPERM with a sentence. */
int cot_access_claim(const struct conn *c, enum cot_class cls, uint32_t weight,
		     struct cot_error *err);
int cot_access_change(const struct conn *c, const struct tenant *t, struct cot_error *err);
int cot_access_admin(const struct conn *c, struct cot_error *err);
/* Of the folders above the socket and of the pools. */
unsigned cot_access_folder_mode(const struct daemon *d);

/* ---- news.c ---- */

#define COT_NEWS_NAME_MAX 96

void cot_news_tell(void *arg, const struct cot_host_news *news); /* of struct cot_host_ops */
/* What the user calls a program or pool. */
const char *cot_news_entity(struct daemon *d, uint32_t id, char text[COT_NEWS_NAME_MAX]);
/* Why an order failed; why a policy is not at work. */
const char *cot_news_reason(int status);
const char *cot_news_fault(enum cot_fault fault);

/* ---- show.c ---- */

char *cot_answer_query(struct daemon *d, unsigned what); /* NULL: unknown, or out of memory */

/* ---- state.c ---- */

/*
 * Pools and programs of the daemon before this one: of its file, and what only processes know.
 * 0, or -errno when these cannot be known now.
 */
int cot_state_load(struct daemon *d, struct cot_error *err);
/* Saves what has changed, unless it is tried again later anyway. */
void cot_state_keep(struct daemon *d);
/* What cannot be written stays `state_dirty` and is tried again in a second; what changes soon
 * after a write waits for a moment. */
void cot_state_save(struct daemon *d);

/* ---- recover.c ---- */

/* 0, or -errno when it cannot be known which of them still run. */
int cot_recover_pools(struct daemon *d, const struct cot_processes *all);
int cot_recover_tenants(struct daemon *d, const struct cot_processes *all);
/* The running pool whose programs have this in CUDA_MPS_PIPE_DIRECTORY, or NULL. */
struct pool *cot_recover_pool_with(struct daemon *d, const char *pipe);

/* ---- daemon.c ---- */

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
