/*
 * The inside of cotenantd, shared by its files. One thread; one struct daemon.
 *
 *   main.c      arguments                     daemon.c  signals, beginning and end
 *   loop.c      descriptors and timers        log.c     lines on stderr
 *   config.c    cotenantd.conf                access.c  who may do what
 *   paths.c     where things are              gpus.c    which GPUs there are
 *   server.c    the socket; what comes in     conn.c    connections
 *   answer.c    what they are told            peer.c    who they are
 *   account.c   what each user may have       closer.c  ends what may take long to close
 *   library.c   packets of libcotenant.so     command.c packets of the command line
 *   work.c      packets of shims              host_work.c  works between core and shims
 *   tenant.c    programs                      pool.c    pools, pool_stop.c their end
 *   ids.c       the numbers of both           watch.c   processes whose end matters
 *   mps.c       the MPS programs              host.c, host_order.c  the core's host
 *   lock.c      one daemon per folder         show.c    answers in JSON
 *   state.c     what outlives the daemon      recover.c what its file does not know
 *   found.c     what an environment tells     processes.c  what /proc says
 *   outlive.c   what launchers leave behind   clients.c whom an MPS server serves
 *   keeper.c    ends pools after the daemon
 *   news.c      what fails, for the log       audit.c   who changed what, likewise
 *   effect.c    whether shares do anything
 *
 * Calls go down: from the daemon and its server to the handlers of packets, from these to programs
 * and pools, from these to processes, MPS and the host. What goes up, goes by cot_daemon_wire().
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
#include "daemon/host_work.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/paths.h"
#include "daemon/processes.h"
#include "daemon/watch.h"
#include "proto/proto.h"

#define MAX_CONNS   COT_HOST_MAX_MEMBERS
#define MAX_TENANTS COT_SCHED_MAX_TENANTS
#define MAX_POOLS   (3 * COT_GPUS_MAX) /* of each GPU: latency, batch, shared */

/* Looking for another process of programs whose process has ended: outlive.c. */
enum tenant_search { SEARCH_SETTLED, SEARCH_WANTED, SEARCH_RUNNING };

struct heir {
	uint32_t id; /* of the program */
	pid_t pid;
	uint64_t start_time;
};

struct outlive {
	struct watch child;
	int out; /* what it has found, one `struct heir` each */
	struct cot_timer timer;
};

/* A program (and its children) that `cotenant run` or its own library has announced. */
struct tenant {
	struct daemon *d;
	uint32_t id; /* 0 = unused */
	enum cot_class cls;
	uint32_t weight, block_us;
	uint16_t quota, reserve; /* as in messages */
	bool solo;
	char name[COT_PROTO_NAME_MAX];
	uint64_t gpu_mask;
	bool gpu_unknown;  /* nobody said which: `gpu_mask` follows the channel groups */
	uint64_t gpu_seen; /* those of the groups until now */
	uid_t uid;
	struct watch watch; /* one of its processes; none while another one is looked for */
	enum tenant_search search;
	bool by_itself;	       /* it has registered itself: no other process has its number */
	struct pool *pool;     /* NULL = it stands alone */
	const char *alone_why; /* of one that should be in a pool; NULL: nobody said */
	uint32_t n_conns;
	bool had_groups; /* channel groups: it has used the GPU */
	bool ready;	 /* as told to the core */
	bool held;	 /* the user wants it frozen: hold.c */
	bool stopped;	 /* its processes are: likewise */
	uint64_t since_ns;
	/* What those of its shims counted that are gone. */
	uint64_t n_rewritten, n_not_rewritten, n_launched_workers, n_launched_plain;
};

enum pool_state {
	POOL_DOWN,     /* not needed */
	POOL_STARTING, /* its control program runs, but does not answer yet */
	POOL_UP,       /* programs may join */
	POOL_FAILED,   /* will be tried again at `retry_ns` when somebody asks */
	POOL_STOPPING, /* told to quit */
};

/* A question to MPS on its way: clients.c. */
struct clients {
	bool asked;
	struct watch command; /* one that asks */
	int out;	      /* what it answers */
	struct cot_timer limit;
	pid_t servers[8];
	int n_servers, next; /* next: -1 = who the servers are has not been answered */
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
	struct watch command; /* one that was told a command */
	struct clients clients;
	struct cot_timer timer; /* of the state: readiness, give-up, linger */
	uint64_t deadline_ns;	/* STARTING, STOPPING: who comes may wait until then */
	uint64_t retry_ns, backoff_ns;
	uint32_t n_tenants, n_conns;
	uint32_t n_starts, n_deaths; /* n_deaths: servers or controls that ended by themselves */
	bool announced, ready;
	bool held;	   /* the user wants it frozen: hold.c */
	bool multiuser;	   /* one MPS server for all users, else one at a time: */
	uid_t uid;	   /* who came last */
	uid_t server_uid;  /* whose server has channel groups, or had */
	bool asked;	   /* STARTING: it was told to start a server */
	bool adopted;	   /* its control program was there before this daemon */
	bool held_up;	   /* it could be stopped, but for clients; that has been said */
	bool wanted;	   /* STOPPING, FAILED: somebody waits for it */
	bool lost;	   /* FAILED: it was UP before */
	char ended[128];   /* names of programs that ended lately, */
	uint64_t ended_ns; /* the last of them then */
};

struct daemon {
	struct cot_loop loop;
	const struct conn_ops *conn_ops;      /* by kind of connection */
	void (*pool_settled)(struct pool *p); /* to who waits for it: it came up or failed */
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
	struct cot_timer queries; /* at once, while somebody has asked */
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
/* Nobody new is let in, so that those who come next wait for the next daemon. */
void cot_server_withdraw(struct daemon *d);
/* Who may reach the socket, and the folders above it and of the pools, as configured now. */
void cot_server_set_access(struct daemon *d);
void cot_server_close(struct daemon *d);

/* ---- peer.c ---- */

/*
 * Fills in who is at the other end of a connection that has just been accepted. -EMFILE, -ENFILE:
 * there was no descriptor for it. Where the process cannot be told for certain, because it has
 * ended or is not seen from here, `pidfd` is -1 and `start_time` 0.
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

/* ---- work.c ---- */

/* False: the connection is to be closed. */
bool cot_work_packet(struct conn *c, const void *packet, int type);
void cot_work_gone(struct conn *c);

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

/* ---- ids.c ---- */

/* A number that no program and no pool has. */
uint32_t cot_ids_new(struct daemon *d);
/* A number that was given out before: new ones come after it. */
void cot_ids_old(struct daemon *d, uint32_t id);

/* ---- tenant.c ---- */

struct tenant *cot_tenant_find(struct daemon *d, uint64_t id);
/* Those of this user go before all others. */
struct tenant *cot_tenant_find_name(struct daemon *d, const char *name, uid_t uid, unsigned *ret_n);
/*
 * A new program of this user. The caller says which process it is by one of the two below, fills it
 * in and announces it. -EDQUOT: too many of one user; -ENOSPC: in all.
 */
int cot_tenant_new(struct daemon *d, uid_t uid, struct tenant **ret_tenant);
/* One that a daemon before this one knew by that number; `is_certain`: nobody else says so. */
int cot_tenant_restore(struct daemon *d, uint32_t id, uid_t uid, bool is_certain,
		       struct tenant **ret_tenant);
/* -ESRCH: there is no such process, or none for certain; -EMFILE: not now. */
int cot_tenant_watch_peer(struct tenant *t, const struct conn *c);
/* Takes back what was never announced. */
void cot_tenant_drop(struct tenant *t);
/* Names come from outside: what is not UTF-8, or a control character, becomes '?'. */
void cot_tenant_set_name(struct tenant *t, const char *name);
void cot_tenant_announce(struct tenant *t);
/* Removes it, now or soon, if all its processes have ended and no library is connected. */
void cot_tenant_check(struct tenant *t);
/* Watches this process of its from now on. -ESRCH: it has ended; -errno: that cannot be known. */
int cot_tenant_watch(struct tenant *t, pid_t pid, uint64_t start_time);
/* No process of its is left: removes it unless a library is connected. */
void cot_tenant_end(struct tenant *t);
/* Class, weight, pool or readiness may have changed. */
void cot_tenant_update(struct tenant *t);
unsigned cot_tenant_count(const struct daemon *d);
/* As cot_pool_reap(). */
bool cot_tenant_reap(struct daemon *d);
/* Tells the core of programs that were stopped (SIGSTOP), and that go on. */
void cot_tenant_check_stops(struct cot_timer *timer, uint64_t now_ns);

/* ---- outlive.c ---- */

/* Its process has ended: looks for another one, else cot_tenant_end() follows. */
void cot_outlive_search(struct tenant *t);
/* As cot_watch_reap(). */
bool cot_outlive_reap(struct daemon *d);

/* ---- pool.c ---- */

struct pool *cot_pool_get(struct daemon *d, enum cot_class cls, bool shared, unsigned gpu);
/* The same with a number of before, by which its servers know it. */
struct pool *cot_pool_take(struct daemon *d, uint32_t id, enum cot_class cls, bool shared,
			   unsigned gpu);
/* Whether there is one already. */
bool cot_pool_is_there(const struct daemon *d, enum cot_class cls, bool shared, unsigned gpu);
struct pool *cot_pool_find(struct daemon *d, uint64_t id);
/* Whether a program of this user may join: an MPS server is of one user. */
bool cot_pool_serves(const struct pool *p, uid_t uid);
/* Starts it if need be. 0 = it is up; -EINPROGRESS = d->pool_settled() will follow; else it cannot
 * be had. */
int cot_pool_want(struct pool *p, uid_t uid);
void cot_pool_update(struct pool *p);		 /* tells the core whether it is ready */
void cot_pool_joined(struct pool *p, uid_t uid); /* a tenant came or went */
void cot_pool_left(struct pool *p, const char *name);
void cot_pool_server_gone(struct pool *p);
void cot_pool_adopt(struct pool *p, pid_t control, uint64_t start_time);
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
/* Stops those that nobody uses. */
void cot_pool_stop_all(struct daemon *d);
bool cot_pool_is_busy(const struct pool *p); /* with its end, or with whether it may end */

/* ---- keeper.c ---- */

/* Starts the process that ends pools after this daemon, unless it is there. */
void cot_keeper_start(struct daemon *d);
/* In that process: sleeps until the daemon has closed the other end of this. */
void cot_keeper_run(struct daemon *d, int daemon_fd);
/* Ends the pools that nobody uses; how many are left, or -1 when a daemon is there. */
int cot_keeper_stop_pools(struct daemon *d);

/* ---- clients.c ---- */

/* done(p, n) follows, at the earliest before this returns: the clients of the pool's servers, or
 * -1 when that cannot be known. Of several who ask at once the last one is answered. */
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

void cot_recover_pools(struct daemon *d, const struct cot_processes *all);
/* 0, or -errno when it cannot be known which of them still run. */
int cot_recover_tenants(struct daemon *d, const struct cot_processes *all);
/* The running pool whose programs have this in CUDA_MPS_PIPE_DIRECTORY, or NULL. */
struct pool *cot_recover_pool_with(struct daemon *d, const char *pipe);

/* ---- daemon.c ---- */

/* Where the default file is missing, the defaults count. */
int cot_daemon_read_config(struct daemon *d, struct cot_config *ret_config, struct cot_error *err);
/* Ready to serve when it returns 0. What a failure leaves ends with the process. */
int cot_daemon_begin(struct daemon *d, struct cot_error *err);
/* Says who is called: for packets, for what pools tell, and by timers. Part of the beginning. */
void cot_daemon_wire(struct daemon *d);
void cot_daemon_end(struct daemon *d);

/* Sends sd_notify() text if somebody listens. */
void cot_daemon_notify(const char *text);

#endif
