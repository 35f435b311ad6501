/*
 * Pools: an MPS server each with its programs. The daemon starts the server's control program when
 * a program wants to join, watches it, and stops it when no program has used it for a while.
 */
#ifndef COT_DAEMON_POOL_H
#define COT_DAEMON_POOL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/words.h"
#include "daemon/log.h"
#include "daemon/paths.h"
#include "daemon/watch.h"

struct pool;

enum pool_state {
	POOL_DOWN,     /* not needed */
	POOL_STARTING, /* its control program runs, but does not answer yet */
	POOL_UP,       /* programs may join */
	POOL_FAILED,   /* tried again from `retry_ns` on, when a program asks */
	POOL_STOPPING, /* MPS has got `quit` */
};

/* A question to MPS on its way: clients.c. */
struct clients {
	bool asked;
	struct watch command; /* one that asks */
	int out;	      /* what it answers */
	struct cot_timer limit;
	pid_t servers[8];
	int n_servers, next; /* next: -1 = the list of servers has not come yet */
	int n;		     /* until now */
	void (*done)(struct pool *p, int n);
};

struct pool {
	struct daemon *d;
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

struct pool *cot_pool_get(struct daemon *d, enum cot_class cls, bool shared, unsigned gpu);
/* The same with a number of before, by which its servers know it. */
struct pool *cot_pool_take(struct daemon *d, uint32_t id, enum cot_class cls, bool shared,
			   unsigned gpu);
/* Whether there is one already. */
bool cot_pool_is_there(const struct daemon *d, enum cot_class cls, bool shared, unsigned gpu);
struct pool *cot_pool_find(struct daemon *d, uint64_t id);
/* Whether a program of this user may join: an MPS server is of one user. */
bool cot_pool_serves(const struct pool *p, uid_t uid);
/* Starts it if need be. 0 = it is up; -EINPROGRESS = d->pool_settled() will follow; otherwise it is
 * not available. */
int cot_pool_want(struct pool *p, uid_t uid);
void cot_pool_update(struct pool *p);		 /* tells the core whether it is ready */
void cot_pool_joined(struct pool *p, uid_t uid); /* a tenant came or went */
void cot_pool_left(struct pool *p, const char *name);
void cot_pool_server_gone(struct pool *p);
/* Takes over its control program from the daemon before, if that still runs. 0, or -errno when that
 * cannot be known now. */
int cot_pool_adopt(struct pool *p, pid_t control, uint64_t start_time);
/* Looks after processes that have no pidfd. False: there are none. */
bool cot_pool_reap(struct daemon *d);
const char *cot_pool_state_name(enum pool_state state);

/* For both of its files: its name in the log, its timer, and a command for its control program. */
const struct cot_dlog_where *cot_pool_where(const struct pool *p);
void cot_pool_timer(struct pool *p, void (*fire)(struct cot_timer *, uint64_t), uint64_t in_ns);
int cot_pool_tell(struct pool *p, const char *line);

/* ---- pool_stop.c ---- */

/* It has no tenants: it is stopped if that stays so for a while, and MPS has no clients. */
void cot_pool_linger(struct pool *p);
/* Stops pools that no program uses. */
void cot_pool_stop_all(struct daemon *d);
bool cot_pool_is_busy(const struct pool *p); /* with its end, or with whether it may end */

/* ---- keeper.c ---- */

/* Starts the process that ends pools after this daemon, unless it is there. */
void cot_keeper_start(struct daemon *d);
/* In that process: sleeps until the daemon has closed the other end of this. */
void cot_keeper_run(struct daemon *d, int daemon_fd);
/* Ends pools that no program uses; returns how many are left, or -1 if a daemon is there. */
int cot_keeper_stop_pools(struct daemon *d);

/* ---- clients.c ---- */

/* done(p, n) follows, at the earliest before this returns: the clients of the pool's servers, or -1
 * when that cannot be known. If several ask at once, only the last one gets the answer. */
void cot_clients_ask(struct pool *p, void (*done)(struct pool *p, int n));
/* Process numbers, one a line: how many there are, or -EINVAL for anything else. */
int cot_clients_parse(const char *text, pid_t *ret_pids, unsigned size);
bool cot_clients_reap(struct pool *p); /* as cot_watch_reap() */

/* ---- mps.c ---- */

/* Starts the control program in the foreground. The pid, or -errno with a sentence. */
pid_t cot_mps_start_control(const struct pool *p, struct cot_error *err);
/* Tells it one line of text; returns the pid of the process that does. What that one prints can be
 * read from *ret_out (not blocking; the caller's to close) when it has ended; NULL: into the log.
 */
pid_t cot_mps_tell(const struct pool *p, const char *line, int *ret_out, struct cot_error *err);
bool cot_mps_listens(const struct pool *p);
/* The variables that make a program join the pool: "KEY=VALUE\0..."; -ENOSPC. */
int cot_mps_environment(const struct pool *p, char *block, size_t size, size_t *used);

#endif
