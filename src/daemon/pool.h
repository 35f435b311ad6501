/*
 * Pools: an MPS server each with its programs. The daemon starts the server's control program when
 * a program wants to join, watches it, and stops it when no program has used it for a while.
 */
#ifndef COT_DAEMON_POOL_H
#define COT_DAEMON_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/words.h"
#include "daemon/clients.h"
#include "daemon/gpus.h"
#include "daemon/paths.h"
#include "daemon/watch.h"

struct basis;
struct roster;

#define MAX_POOLS (3 * COT_GPUS_MAX) /* of each GPU: latency, batch, shared */

enum pool_state {
	POOL_DOWN,     /* not needed */
	POOL_STARTING, /* its control program runs, but does not answer yet */
	POOL_UP,       /* programs may join */
	POOL_FAILED,   /* tried again from `retry_ns` on, when a program asks */
	POOL_STOPPING, /* MPS has got `quit` */
};

struct pool {
	struct basis *basis;
	struct roster *in;
	uint32_t id; /* 0 = unused */
	enum cot_class cls;
	bool shared; /* for both classes; cls is COT_CLASS_BATCH then */
	unsigned gpu;
	enum pool_state state;
	char name[16]; /* "latency", "batch", "shared" */
	char folder[COT_PATH_TEXT_MAX], pipe[COT_PATH_TEXT_MAX], log[COT_PATH_TEXT_MAX];
	struct watch control; /* nvidia-cuda-mps-control -f */
	struct watch command; /* a control program that runs one command */
	struct clients clients;
	struct cot_timer timer; /* of the state: readiness, give-up, linger */
	uint64_t deadline_ns;	/* STARTING, STOPPING: programs that come may wait until then */
	uint64_t retry_ns, backoff_ns;
	uint32_t n_tenants, n_conns;
	uint32_t n_starts, n_deaths; /* n_deaths: servers or controls that ended by themselves */
	bool announced, ready;
	bool held;	   /* the user wants it frozen: hold.c */
	bool multiuser;	   /* one MPS server for all users, else one at a time: */
	uid_t uid;	   /* the user who came last */
	uid_t server_uid;  /* whose server has channel groups, or had */
	bool asked;	   /* STARTING: the daemon has sent the command to start a server */
	bool adopted;	   /* its control program was there before this daemon */
	bool held_up;	   /* it could be stopped, but for clients; that has been said */
	bool wanted;	   /* STOPPING, FAILED: a program waits for it */
	bool lost;	   /* FAILED: it was UP before */
	char ended[128];   /* names of programs that ended lately, */
	uint64_t ended_ns; /* the last of them then */
};

struct pool *cot_pool_get(struct roster *r, enum cot_class cls, bool shared, unsigned gpu);
/* The same with a number of before, by which its servers know it. */
struct pool *cot_pool_take(struct roster *r, uint32_t id, enum cot_class cls, bool shared,
			   unsigned gpu);
/* Whether there is one already. */
bool cot_pool_is_there(const struct roster *r, enum cot_class cls, bool shared, unsigned gpu);
/* Whether a program of this user may join: an MPS server is of one user. */
bool cot_pool_serves(const struct pool *p, uid_t uid);
/* Starts it if need be. 0 = it is up; -EINPROGRESS = pool_settled() of the roster will follow;
 * otherwise it is not available. */
int cot_pool_want(struct pool *p, uid_t uid);
void cot_pool_update(struct pool *p);		 /* tells the core whether it is ready */
void cot_pool_joined(struct pool *p, uid_t uid); /* a tenant came or went */
void cot_pool_left(struct pool *p, const char *name);
void cot_pool_server_gone(struct pool *p);
/* Takes over its control program from the daemon before, if that still runs. 0, or -errno when that
 * cannot be known now. */
int cot_pool_adopt(struct pool *p, pid_t control, uint64_t start_time);
/* Looks after processes that have no pidfd. False: there are none. */
bool cot_pool_reap(struct roster *r);
const char *cot_pool_state_name(enum pool_state state);

/* Stops pools that no program uses. */
void cot_pool_stop_all(struct roster *r);
bool cot_pool_is_busy(const struct pool *p); /* with its end, or with whether it may end */

#endif
