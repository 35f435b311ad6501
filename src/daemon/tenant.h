/*
 * Programs. A program is there from its registration until its process has ended, outlive.c has
 * found no other process of the program, and no library of its children is connected any longer.
 */
#ifndef COT_DAEMON_TENANT_H
#define COT_DAEMON_TENANT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/words.h"
#include "daemon/energy.h"
#include "daemon/progress.h"
#include "daemon/queries.h"
#include "daemon/watch.h"
#include "metrics/buckets.h"
#include "proto/proto.h"
#include "sched/sched.h"

struct basis;
struct conn;
struct cot_requests;
struct pool;
struct roster;

#define MAX_TENANTS COT_SCHED_MAX_TENANTS

/* Looking for another process of programs whose process has ended: outlive.c. */
enum tenant_search { SEARCH_SETTLED, SEARCH_WANTED, SEARCH_RUNNING };

/* A program (and its children) that `cotenant run` or its own library has announced. */
struct tenant {
	struct basis *basis;
	struct roster *in;
	uint32_t id; /* 0 = unused */
	enum cot_class cls;
	uint32_t weight, block_us;
	uint16_t quota, reserve, sms; /* as in messages */
	uint32_t pace_us;	      /* of its part; 0 = the policy's */
	uint32_t memory_mib;	      /* promised of each GPU, and the bound there; 0 = none */
	struct cot_target target;
	bool measured; /* it was started so that its requests are, or marks them */
	bool parts;    /* it was started so that it can be put on a part of the GPU */
	char name[COT_PROTO_NAME_MAX];
	uint32_t command; /* as in messages */
	uint64_t gpu_mask;
	bool gpu_unknown;  /* no GPU was chosen: `gpu_mask` follows the channel groups */
	uint64_t gpu_seen; /* those of the groups until now */
	uid_t uid;
	struct watch watch; /* one of its processes; none during the search for another one */
	enum tenant_search search;
	bool by_itself;	       /* it has registered itself: no other process has its number */
	struct pool *pool;     /* NULL = it stands alone */
	const char *alone_why; /* although it should be in a pool; NULL: no reason */
	uint32_t n_conns;
	bool had_groups; /* channel groups: it has used the GPU */
	bool ready;	 /* as reported to the core */
	bool held;	 /* the user wants it frozen: hold.c */
	bool stopped;	 /* its processes are: likewise */
	uint64_t since_ns;
	/* What those of its shims counted that are gone. */
	uint64_t n_rewritten, n_not_rewritten, n_launched_workers, n_launched_plain;
	uint64_t n_part_changes, n_followed, n_stayed;
	struct cot_requests *requests;		/* NULL: they are not measured */
	bool marks;				/* it has marked some: only those are counted */
	struct cot_buckets responses, services; /* all of them until now */
	uint64_t n_missed;			/* the target, of those */
	uint64_t aim_ns;   /* how long they may take; 0 = there is no target, or not known yet */
	uint64_t aimed_ns; /* when that was looked at */
	const char *told_next, *told_target; /* what the policy said last; NULL: nothing */
	struct cot_progress progress;
	uint64_t n_requests, n_requests_lost, n_requests_rejected, n_requests_unclear;
	uint64_t n_paced, n_pace_waits, pace_wait_ns, n_pace_failed;
	uint64_t n_held, held_ns, n_lapsed, n_copies, copies_ns;
	uint64_t n_cpu, cpu_ns, n_cpu_not;
	uint64_t n_merged, n_merges, n_unmerged;
	uint64_t n_templates_found, n_templates_made, n_templates_ignored, n_templates_not_kept;
	uint64_t memory_most_bytes, n_memory_refused;
	struct cot_queries queries;
	struct cot_energy_share energy;
};

/* As in messages. */
static inline enum cot_class class_of(uint8_t class_)
{
	return class_ == COT_CLASS_LATENCY ? COT_CLASS_LATENCY : COT_CLASS_BATCH;
}

/* Programs of this user precede all others. */
struct tenant *cot_tenant_find_name(struct roster *r, const char *name, uid_t uid, unsigned *ret_n);
/*
 * A new program of this user. The caller says which process it is by one of the two below, fills it
 * in and announces it. -EDQUOT: too many of one user; -ENOSPC: in all.
 */
int cot_tenant_new(struct roster *r, uid_t uid, struct tenant **ret_tenant);
/* A program that a previous daemon knew, by number, user and the rest of `as`; `is_certain`: the
 * state file says so, and only the total limits it. */
int cot_tenant_restore(struct roster *r, const struct tenant *as, bool is_certain,
		       struct tenant **ret_tenant);
/* The same of one whose process is that of `as`, all at once. *ret_tenant is NULL if it has ended
 * or has no place; -errno: whether it still runs cannot be known. */
int cot_tenant_take_over(struct roster *r, const struct tenant *as, bool is_certain,
			 struct tenant **ret_tenant);
/* -ESRCH: there is no such process, or none for certain; -EMFILE: not now. */
int cot_tenant_watch_peer(struct tenant *t, const struct conn *c);
/* Takes back what was never announced. */
void cot_tenant_drop(struct tenant *t);
/* Names come from outside: what is not UTF-8, or a control character, becomes '?'. */
void cot_tenant_set_name(struct tenant *t, const char *name);
/* As the core sees it. */
void cot_tenant_describe(const struct tenant *t, struct cot_tenant_desc *ret_desc);
void cot_tenant_announce(struct tenant *t);
/* Removes it, now or soon, if all its processes have ended and no library is connected. */
void cot_tenant_check(struct tenant *t);
/* Watches this process of its from now on. -ESRCH: it has ended; -errno: that cannot be known. */
int cot_tenant_watch(struct tenant *t, pid_t pid, uint64_t start_time);
/* No process of its is left: removes it unless a library is connected. */
void cot_tenant_end(struct tenant *t);
/* Class, weight, pool or readiness may have changed. */
void cot_tenant_update(struct tenant *t);
unsigned cot_tenant_count(const struct roster *r);
/* As cot_pool_reap(). */
bool cot_tenant_reap(struct roster *r);
/* Tells the core of programs that were stopped (SIGSTOP), and that go on. */
void cot_tenant_check_stops(struct cot_timer *timer, uint64_t now_ns);

#endif
