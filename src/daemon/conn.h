/*
 * Connections: what server.c, which reads from them, and the handlers of their packets have in
 * common. The first packet decides of what kind a connection is, and so which handler it has.
 */
#ifndef COT_DAEMON_CONN_H
#define COT_DAEMON_CONN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "daemon/answer.h"
#include "daemon/closer.h"
#include "daemon/hold.h"
#include "daemon/host.h"
#include "daemon/loop.h"
#include "daemon/progress.h"
#include "daemon/query.h"
#include "daemon/register.h"
#include "proto/proto.h"
#include "proto/ring.h"

struct basis;
struct conn;
struct conns;
struct pool;
struct roster;
struct tenant;

#define MAX_CONNS COT_HOST_MAX_MEMBERS

enum conn_kind { CONN_NEW, CONN_LIBRARY, CONN_COMMAND, CONN_WORK, N_CONN_KINDS };

/* The handler of one kind; cot_daemon_wire() has the table. */
struct conn_ops {
	/* False: the connection is to be closed. */
	bool (*packet)(struct conn *c, const void *packet, int type);
	/* It has been closed; NULL: that does not matter. */
	void (*gone)(struct conn *c);
};

struct conn {
	struct basis *basis;
	struct conns *in;
	struct cot_source source; /* fd -1 = unused */
	enum conn_kind kind;
	/* The process that connected (peer.c), whatever program it runs now. */
	pid_t pid; /* 0 = not seen from here */
	uid_t uid;
	gid_t gid;
	int pidfd;	     /* -1 = none */
	uint64_t start_time; /* as in struct watch; 0 = not known */
	uint64_t process;
	uint64_t since_ns;
	bool paused;  /* its user has had its part of the time, or memory was short: nothing is
		       * read for a while */
	bool watched; /* the loop knows of it */
	bool deaf;    /* it has hung up before its answer: drop its other questions */
	/* library */
	uint32_t entity; /* whose orders it gets; 0 = none yet */
	struct tenant *tenant;
	struct pool *pool;
	struct cot_page *page;
	size_t page_size;      /* of the mapping */
	struct cot_ring *ring; /* in it: of the requests; NULL: they are not measured */
	bool page_is_open;     /* to holes: it is not touched (page.h) */
	int page_fd;	       /* while it is */
	struct cot_ring_reader ring_reader;
	uint32_t n_groups, n_channels;
	bool settled;	   /* its groups have been the same for a while: it gets orders */
	bool late;	   /* an order has not been answered in time, nor one since */
	bool alone;	   /* it is left alone, until `settle` */
	uint64_t grown_ns; /* when it had more channels than before; 0 = never */
	struct cot_timer settle;
	struct cot_msg_work_counts *counts; /* shim: what it counted; owned */
	struct cot_msg_part_counts *part_counts;
	struct cot_msg_pace_counts pace_counts;
	struct cot_msg_memory memory;
	uint32_t gpu; /* shim: on which */
	struct cot_progress_seen progress;
	unsigned n_works_charged; /* shim: to its user's account */
	/* command */
	struct registration registration;
	struct hold hold;
	struct question question;
	struct answer out; /* RESULT */
};

/* All of them, and what they have in common. The daemon's handlers of packets reach the others
 * from here: `basis` what every unit needs, `roster` the programs and pools. */
struct conns {
	struct basis *basis;
	struct roster *roster;
	struct conn all[MAX_CONNS];
	const struct conn_ops *ops; /* by kind of connection */
	struct cot_closer closer;
	bool guarded;		  /* the kernel keeps peers from passing descriptors */
	bool was_held_up;	  /* by who let a look at its process take long */
	struct cot_timer pauses;  /* of connections */
	struct cot_timer waits;	  /* of commands, and of connections that say nothing */
	struct cot_timer queries; /* at once, while a client has asked */
	unsigned next_asker;	  /* in `all` */
	struct complaints complaints;
	uint64_t n_refused, n_bad_packets;
};

/* The open ones. */
#define for_each_conn(c, conns)                                         \
	for ((c) = (conns)->all; (c) < (conns)->all + MAX_CONNS; (c)++) \
		if (!conn_is_open(c)) {                                 \
		} else

static inline unsigned conn_index(const struct conn *c)
{
	return (unsigned)(c - c->in->all);
}

/* An unused one. */
static inline struct conn conn_unused(struct conns *in)
{
	return (struct conn){.basis = in->basis, .in = in, .source = {.fd = -1}, .pidfd = -1};
}

static inline bool conn_is_open(const struct conn *c)
{
	return c->source.fd >= 0;
}

void cot_conn_close(struct conn *c);
/* How long one is left alone that the kernel had no memory to watch. */
#define COT_CONN_LACK_NS (100 * COT_NS_PER_MS)
/* Call this when the events that the loop should watch for it have changed. */
void cot_conn_watch(struct conn *c);
/* For so long nothing is read from it, once cot_conn_watch() has been called. */
void cot_conn_pause(struct conn *c, uint64_t for_ns);
/* Charges the time since `begin_ns` (cot_conn_clock_ns()) to its user. */
uint64_t cot_conn_clock_ns(void);
/* How long until its user may have some of our time again; 0: now. */
uint64_t cot_conn_rest_ns(const struct conn *c);
void cot_conn_spend(struct basis *b, uid_t uid, uint64_t begin_ns);
/* What has not been sent yet of its answer will not be. */
void cot_conn_forget_answer(struct conn *c);

#endif
