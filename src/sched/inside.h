/*
 * The inside of the policy core, shared by the files of src/sched/. Outsiders use sched.h.
 *
 *   sched.c     life, time, and the call of the policy
 *   table.c     tenants and entities: what events do to them
 *   action.c    wishes of the policy -> actions -> answers
 *   work.c      works: what events and the policy do to them
 *   place.c     parts of tenants: the same
 *   query.c     requests while they are on the GPU
 *   acquaint.c  what is learned of those that the host does not know
 *   measure.c   what hosts measure of tenants
 *   predict.c   what hosts predict of them
 *   ran.c       how long they could use their GPUs
 *   learn.c     what policies learned of them
 *   question.c  what hosts ask, and nothing changes
 *   watchdog.c  whether the policy does its work
 */
#ifndef COT_SCHED_INSIDE_H
#define COT_SCHED_INSIDE_H

#include <errno.h>

#include "sched/sched.h"

#define N_GPUS COT_POLICY_GPUS_MAX

/* Kinds of wishes: freezing and thawing are two values of one. */
enum wish_kind { WISH_SLICE, WISH_MODE, WISH_RUN, N_WISHES };
enum { RUN_THAWED, RUN_FROZEN };

/* No wish, or nothing known about the real state. No slice, mode or run has this value. */
#define VALUE_NONE UINT32_MAX

/*
 * One property of an entity: how it should be and how it is. An action is due when they differ.
 * Actions on one entity are carried out in order, so a newer wish is sent without waiting for the
 * answer to the older one; only the answer to the newest counts.
 */
struct wish {
	uint64_t want, have;
	uint64_t sent; /* while in flight */
	uint32_t seq;  /* of the action in flight; 0 = none */
	uint32_t done; /* of the last one that was answered */
	bool queued;
	bool own;	     /* the core's wish, not the policy's */
	uint64_t decided_ns; /* when `want` got its value */
	uint64_t sent_ns, deadline_ns;
	uint64_t retry_ns; /* the policy may not try again before; 0 = nothing has failed */
	uint64_t backoff_ns;
};

/* What the policy remembers of one of them. */
struct own {
	_Alignas(16) unsigned char bytes[COT_POLICY_OWN_MAX];
};

struct sched_entity {
	struct cot_entity pub; /* first: the policy's pointer is ours */
	struct own own;
	bool used, up;
	struct wish wish[N_WISHES];
	uint64_t again_ns; /* a thaw, or a user's freeze, that failed is tried again then */
	uint64_t rethaw_backoff_ns;
	bool starving;
	uint64_t starving_since_ns; /* in the watchdog's time */
};

struct predictions {
	struct cot_prediction rows[COT_PREDICTIONS_MAX];
	/* The next table, as far as it has arrived. */
	struct cot_prediction coming[COT_PREDICTIONS_MAX];
	uint32_t n_coming, n_expected;
	struct cot_cost cost;
};

struct lessons {
	struct cot_lesson rows[COT_LESSONS_MAX];
	uint64_t written[COT_LESSONS_MAX]; /* counted up; of the row beside it */
	uint64_t last;
	uint32_t n;
	uint64_t second; /* in which the policy has changed n_second of them */
	uint32_t n_second;
};

/* See acquaint.c: how many sizes of a program are learned, from how many queries, and after how
 * many; sizes of part in a plan. Our choice. */
#define ACQUAINT_CLASSES 8u
#define ACQUAINT_COUNT	 48u
#define ACQUAINT_SKIP	 16u
#define ACQUAINT_QUOTAS	 4u

struct acquaintance {
	uint8_t class;
	uint32_t n; /* queries */
	uint64_t longest_ns;
	struct cot_plan plan; /* no quotas: not yet */
	uint32_t sms[ACQUAINT_QUOTAS];
	uint64_t time_ns[ACQUAINT_QUOTAS];
};

struct sched_tenant {
	struct cot_tenant pub; /* first */
	struct own own;
	bool used;
	struct wish place; /* of parts as place.c packs them */
	bool held;
	uint64_t held_since_ns; /* in the watchdog's time */
	struct predictions predictions;
	struct cot_ran ran; /* until policy.now_ns */
	uint32_t n_acquaintances;
	struct acquaintance acquaintances[ACQUAINT_CLASSES];
};

struct sched_work {
	struct cot_work pub; /* first */
	struct own own;
	bool used, queued;
	uint32_t sent_granted, sent_evicted; /* in the last actions that the host got */
	/* What points to it, in each list that it is in: the list, or the one before. */
	struct cot_work **link, **running_link;
	struct sched_work **waiting_link;
	/* While it waits. */
	struct sched_work *later;
	uint64_t watched_since_ns; /* in the watchdog's time */
};

struct sched_query {
	struct cot_query pub; /* first */
	struct own own;
	bool used;
};

/* GPUs on which nothing gets on, and since when, in the watchdog's time. */
struct stalls {
	uint64_t gpus, since_ns[N_GPUS];
};

/* The queue holds each wish at most once. */
#define QUEUE_MAX (COT_SCHED_MAX_ENTITIES * N_WISHES)

struct queue_entry {
	uint16_t entity;
	uint8_t kind;
};

struct cot_sched {
	struct cot_policy policy; /* first: the policy's handle is ours */
	struct cot_policy_config config;
	struct cot_sched_limits limits;
	const struct cot_policy_ops *wanted;
	bool started;		  /* init() has succeeded */
	bool stopped;		  /* by cot_sched_stop() */
	bool is_asked;		  /* fini(), home() or explain() runs: no action may be called */
	enum cot_fault fault_now; /* found in a callback; acted upon when it has returned */
	uint32_t fault_entity;
	uint64_t wake_ns;	 /* the policy's */
	uint64_t started_ns;	 /* since when it is at work */
	uint64_t retry_ns;	 /* when the wanted policy is; COT_NEVER: it is not replaced */
	uint64_t retry_pause_ns; /* the last one; 0 = there was none */

	struct sched_tenant tenants[COT_SCHED_MAX_TENANTS];
	struct sched_entity entities[COT_SCHED_MAX_ENTITIES];
	struct cot_tenant **tenants_tail;
	struct cot_entity **entities_tail;

	struct queue_entry queue[QUEUE_MAX];
	uint32_t queue_head, queue_n;
	uint32_t next_seq;

	struct sched_work works[COT_SCHED_MAX_WORKS]; /* by id, modulo */
	struct cot_work **works_tail;
	struct sched_work *waiting, **waiting_tail; /* the one that waits longest first */
	uint32_t n_waiting[N_GPUS];
	struct cot_work **running_tail[N_GPUS];
	uint16_t work_queue[COT_SCHED_MAX_WORKS]; /* indices; each at most once */
	uint32_t work_queue_head, work_queue_n;

	uint16_t place_queue[COT_SCHED_MAX_TENANTS]; /* indices; each at most once */
	uint32_t place_queue_head, place_queue_n;
	uint32_t n_placeable; /* tenants */
	bool placing;	      /* the core itself */
	bool parts_stay;      /* the core places no tenant any longer */
	bool holds;	      /* the policy has held a tenant */

	struct sched_query queries[COT_SCHED_MAX_QUERIES]; /* by id, modulo */

	struct lessons lessons;

	struct stalls frozen_stalls; /* all active entities are frozen */
	struct stalls work_stalls;   /* works wait, and none runs */
	uint64_t late_ns;	     /* how long the host was late, all in all */
	uint32_t n_wrong;
	uint64_t storm_second;
	uint32_t storm_n;
	uint64_t place_window; /* see place.c */
	uint32_t place_window_n;

	struct cot_sched_stats stats;
	cot_sched_tap_fn *tap;
	void *tap_arg;
	_Alignas(16) unsigned char state[COT_POLICY_STATE_MAX];
};

static inline struct cot_sched *sched_of(struct cot_policy *p)
{
	return (struct cot_sched *)p;
}

static inline struct sched_entity *entity_of(struct cot_entity *e)
{
	return (struct sched_entity *)e;
}

static inline uint64_t time_after(uint64_t t_ns, uint64_t dt_ns)
{
	return dt_ns < COT_NEVER - t_ns ? t_ns + dt_ns : COT_NEVER;
}

/*
 * The watchdog's time: it stops while the host does not call the core, since a policy that is not
 * called can do nothing wrong.
 */
static inline uint64_t watch_ns(const struct cot_sched *s)
{
	return s->policy.now_ns - s->late_ns;
}

static inline void earlier(uint64_t *t_ns, uint64_t candidate_ns)
{
	if (candidate_ns < *t_ns)
		*t_ns = candidate_ns;
}

/* ---- answers ---- */

/* Not now. -EAGAIN. */
static inline int not_now(struct cot_sched *s)
{
	s->stats.deferred++;
	return -EAGAIN;
}

/* The first and the longest pause before something that failed is tried again. */
#define BACKOFF_MIN_NS (100 * COT_NS_PER_MS)
#define BACKOFF_MAX_NS (5 * COT_NS_PER_S)
static inline void grow_backoff(uint64_t *backoff_ns, uint64_t min_ns, uint64_t max_ns)
{
	*backoff_ns = *backoff_ns ? 2 * *backoff_ns : min_ns;
	if (*backoff_ns > max_ns)
		*backoff_ns = max_ns;
}

/* The policy's next try of what has just failed has to wait, and longer each time. */
static inline void wish_wait(const struct cot_sched *s, struct wish *w)
{
	grow_backoff(&w->backoff_ns, BACKOFF_MIN_NS, BACKOFF_MAX_NS);
	w->retry_ns = time_after(s->policy.now_ns, w->backoff_ns);
}

static inline void count_answer(struct cot_sched *s, enum cot_action_kind kind, int status,
				uint64_t took_ns)
{
	struct cot_sched_stats *stats = &s->stats;

	if (status == -ETIMEDOUT) {
		stats->timed_out[kind]++;
		return;
	}
	stats->failed[kind] += status != 0;
	stats->latency_sum_ns[kind] += took_ns;
	if (took_ns > stats->latency_max_ns[kind])
		stats->latency_max_ns[kind] = took_ns;
}

/* ---- sched.c ---- */

/* The policy is to be replaced as soon as no callback of it is running. */
void cot_sched_fault(struct cot_sched *s, enum cot_fault fault, uint32_t entity);

/* ---- table.c ---- */

void cot_sched_table_init(struct cot_sched *s);
int cot_sched_table_on_tenant(struct cot_sched *s, uint32_t id, const struct cot_tenant_desc *d);
int cot_sched_table_on_tenant_left(struct cot_sched *s, uint32_t id);
int cot_sched_table_on_pool(struct cot_sched *s, uint32_t id, const struct cot_pool_desc *d);
int cot_sched_table_on_pool_left(struct cot_sched *s, uint32_t id);
int cot_sched_table_on_activity(struct cot_sched *s, uint32_t id, enum cot_activity activity);
/* NULL: there is none. */
struct sched_tenant *cot_sched_table_tenant(struct cot_sched *s, uint32_t id);
/* An entity that is up, or NULL. */
struct sched_entity *cot_sched_table_up(struct cot_sched *s, uint32_t id);

/* ---- action.c ---- */

extern const struct cot_policy_actions cot_sched_actions;

void cot_sched_action_entity_init(struct sched_entity *e);
/* Forgets what is queued or in flight for an entity that goes down. */
void cot_sched_action_entity_forget(struct cot_sched *s, struct sched_entity *e);
/* Thaws all entities that are not held. */
void cot_sched_action_thaw_all(struct cot_sched *s);
int cot_sched_action_on_done(struct cot_sched *s, uint32_t id, uint32_t seq, int status);
int cot_sched_action_on_found(struct cot_sched *s, uint32_t id, bool frozen);
int cot_sched_action_on_hold(struct cot_sched *s, uint32_t id, bool hold);
/* Actions without an answer, thaws to try again. */
void cot_sched_action_on_time(struct cot_sched *s);
/* When cot_sched_action_on_time() or the policy may have something to do because of actions. */
uint64_t cot_sched_action_wake_ns(const struct cot_sched *s);

/* The policy's mistake. -EINVAL. */
int cot_sched_action_wrong(struct cot_sched *s);

/* ---- work.c ---- */

void cot_sched_work_init(struct cot_sched *s);
/* Works stay; the policy's state of them (`own`) is zeroed. */
void cot_sched_work_forget_policy(struct cot_sched *s, const struct cot_policy_ops *ops);
int cot_sched_work_on_work(struct cot_sched *s, uint32_t id, const struct cot_work_desc *d);
int cot_sched_work_on_evicted(struct cot_sched *s, uint32_t id, uint32_t capsms);
int cot_sched_work_on_done(struct cot_sched *s, uint32_t id, uint32_t left);
/* The tenant's settings have changed. */
void cot_sched_work_on_shares(struct cot_sched *s, const struct cot_tenant *t);
/* The tenant leaves: so do its works. */
void cot_sched_work_drop(struct cot_sched *s, const struct cot_tenant *t);
/* The core's own: what waits gets what it wants; or only what has waited since `until_ns` of the
 * watchdog's time, which is a rescue. */
void cot_sched_work_grant_all(struct cot_sched *s);
void cot_sched_work_rescue(struct cot_sched *s, uint64_t until_ns);
bool cot_sched_work_next_action(struct cot_sched *s, struct cot_action *ret_action);
int cot_sched_work_grant(struct cot_policy *p, struct cot_work *w, uint32_t capsms, bool settled);
int cot_sched_work_evict(struct cot_policy *p, struct cot_work *w, uint32_t capsms);

/* ---- place.c ---- */

void cot_sched_place_forget(struct cot_sched *s, struct sched_tenant *t);
/* `t`: whom the event is about; NULL: no program. */
int cot_sched_place_on_parts(struct cot_sched *s, struct sched_tenant *t,
			     const struct cot_event *ev);
int cot_sched_place_on_placed(struct cot_sched *s, struct sched_tenant *t,
			      const struct cot_event *ev);
/* The core's own, for a policy that does not place. */
void cot_sched_place_all(struct cot_sched *s);
bool cot_sched_place_next_action(struct cot_sched *s, struct cot_action *ret_action);
void cot_sched_place_on_time(struct cot_sched *s);
uint64_t cot_sched_place_wake_ns(const struct cot_sched *s);
/* The policy's wish, or the core's own. -EINVAL: wrong; -EAGAIN: not now. */
int cot_sched_place(struct cot_sched *s, const struct cot_tenant *pub, struct cot_part part);

/* ---- query.c ---- */

/* `t`: whose query it is; NULL: no program's. */
int cot_sched_query_on_begin(struct cot_sched *s, struct sched_tenant *t, uint32_t id,
			     const struct cot_query_desc *d);
int cot_sched_query_on_tasks(struct cot_sched *s, uint32_t id, uint32_t n_done, uint64_t done_ns);
int cot_sched_query_on_end(struct cot_sched *s, uint32_t id);
/* The tenant leaves: so do its queries. */
void cot_sched_query_drop(struct cot_sched *s, const struct cot_tenant *t);
/* Queries stay; the policy's state of them (`own`) is zeroed. */
void cot_sched_query_forget_policy(struct cot_sched *s, const struct cot_policy_ops *ops);

/* ---- acquaint.c ---- */

/* What was learned of queries of this size; NULL: not enough yet. Stays until the tenant goes. */
const struct cot_plan *cot_acquaint_plan(struct sched_tenant *t, uint64_t size);
/* A query of it is over. */
void cot_acquaint_end(struct sched_tenant *t, const struct cot_query *q, uint64_t now_ns);

/* ---- measure.c ---- */

/* `t`: whom the event is about; NULL: no program. */
int cot_sched_measure_on_window(struct cot_sched *s, struct sched_tenant *t,
				const struct cot_window *w);
int cot_sched_measure_on_progress(struct cot_sched *s, struct sched_tenant *t,
				  const struct cot_launches *l);

/* ---- predict.c ---- */

/* `t`: whom the event is about; NULL: nobody. */
int cot_sched_predict_on_row(struct cot_sched *s, struct sched_tenant *t,
			     const struct cot_event *ev);

/* ---- ran.c ---- */

/* Time is about to go on to `now_ns`. */
void cot_sched_ran_on_time(struct cot_sched *s, uint64_t now_ns);
struct cot_ran cot_sched_ran_until(const struct cot_sched *s, const struct cot_tenant *t,
				   uint64_t now_ns);

/* ---- learn.c ---- */

int cot_sched_learn_on_lesson(struct cot_sched *s, const struct cot_lesson *l);
/* The policy's wish. -EINVAL: wrong; -EAGAIN: not now; -ENOSPC: one more than in a second. */
int cot_sched_learn(struct cot_sched *s, const struct cot_lesson *l);

/* ---- watchdog.c ---- */

void cot_sched_watchdog_init(struct cot_sched *s);
/* Time is about to go on to `now_ns`. */
void cot_sched_watchdog_on_time(struct cot_sched *s, uint64_t now_ns);
void cot_sched_watchdog_check(struct cot_sched *s);
uint64_t cot_sched_watchdog_wake_ns(const struct cot_sched *s);
void cot_sched_watchdog_count_action(struct cot_sched *s);
void cot_sched_watchdog_count_wrong(struct cot_sched *s);

#endif
