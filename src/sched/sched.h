/*
 * The core that runs a software policy (include/cotenant/policy.h). It owns the tables of tenants
 * and entities, checks the policy's actions, and guards against a wrong policy.
 *
 * Pure like a policy: events with their time go in, actions come out. The host (the daemon for a
 * real GPU, src/sim/host.c for a simulated one, a test) does this, in one thread:
 *
 *     cot_sched_event(s, &event);                 whenever something happened, and
 *                                                 a COT_EV_TICK when cot_sched_wake_ns() has come
 *     while (cot_sched_next_action(s, &action))   after each event
 *             ... carry it out, or start to; later answer it with a COT_EV_DONE ...
 *     arm the timer for cot_sched_wake_ns(s)
 *
 * The same events in the same order give the same actions, on every host. Memory is bounded:
 * everything is allocated by cot_sched_create(). Not thread-safe.
 *
 * When the policy fails (enum cot_fault), `timeslice` replaces it: it thaws all entities and
 * restores the driver's own slices. After a pause the core tries the policy again; the pauses grow
 * with each failure. cot_sched_fallback() reports this. If the host comes late, the delay does not
 * count against the policy. The core cannot catch a policy that never returns: then the leases of
 * the tenants run out, and their libraries thaw them.
 */
#ifndef COT_SCHED_SCHED_H
#define COT_SCHED_SCHED_H

#include <cotenant/policy.h>

#include "base/error.h"

#define COT_SCHED_MAX_TENANTS  256u
#define COT_SCHED_MAX_ENTITIES 320u /* tenants that stand alone, and pools */
#define COT_SCHED_MAX_WORKS    2048u
#define COT_SCHED_MAX_QUERIES  256u
/* Least time between two measurements: half of what hosts keep to when they come late. */
#define COT_SCHED_MEASURE_NS (25 * COT_NS_PER_MS)

struct cot_sched;

/* ---- events ---- */

enum cot_event_type {
	COT_EV_TICK,	     /* the time has come, or just passed */
	COT_EV_TENANT,	     /* tenant `id` joined, or is now as in `tenant` */
	COT_EV_TENANT_LEFT,  /* its program ended or its connection was lost */
	COT_EV_POOL,	     /* pool `id` exists, or is now as in `pool` */
	COT_EV_POOL_LEFT,    /* its server ended; its tenants' ends are reported one by one */
	COT_EV_ACTIVITY,     /* tenant `id` became active or idle */
	COT_EV_DONE,	     /* an action ended */
	COT_EV_FOUND,	     /* entity `id` is found frozen or running, without an action */
	COT_EV_HOLD,	     /* the user freezes (`hold`) or releases entity `id` */
	COT_EV_WORK,	     /* work `id` is ready and waits to be granted */
	COT_EV_WORK_EVICTED, /* of work `id`, `capsms` in all have left */
	COT_EV_WORK_DONE,    /* work `id` ended; `left` tasks are not done, and it waits for them */
	COT_EV_PARTS,	     /* tenant `id` can be placed as in `parts`, or no longer */
	COT_EV_PLACED,	     /* a PLACE of tenant `id` ended */
	COT_EV_WINDOW,	     /* requests of tenant `id` took as long as in `window` */
	COT_EV_PROGRESS,     /* tenant `id` gets on as in `launches` */
	COT_EV_PREDICTION,   /* a row of a table of predictions of tenant `id` */
	COT_EV_LESSON,	     /* `lesson` was learned in an earlier run; before the tenants join */
	COT_EV_QUERY,	     /* query `id` is on the GPU; its first task is about to begin */
	COT_EV_QUERY_TASKS,  /* tasks of query `id` ended */
	COT_EV_QUERY_END,    /* query `id` is over */
	COT_EV_N_TYPES,
};

/* One number space for tenants and pools: ids are the host's, not 0, not used again soon. */
struct cot_tenant_desc {
	enum cot_class cls;
	uint32_t weight;
	uint64_t gpu_mask; /* not 0; the GPU it asked for until its channel groups are known */
	uint32_t pool; /* 0 = it stands alone. Fixed when it joins; the pool may come up later */
	bool ready;    /* stands alone: has channel groups, and its library listens. Else ignored */
	uint32_t block_us;
	struct cot_target target;
	struct cot_share quota, reserve, sms;
	uint64_t key;	  /* see policy.h. Fixed when it joins */
	uint32_t pace_us; /* 0 = the policy's */
};

/*
 * Ids of works are a space of their own, not 0, and counted up: no two unfinished ones may be the
 * same modulo COT_SCHED_MAX_WORKS.
 */
struct cot_work_desc {
	uint32_t tenant;
	uint32_t gpu, n_sms;
	enum cot_work_method method;
	bool can_settle, can_grow;
	uint32_t n_tasks; /* 0 = not known */
	uint32_t per_sm;
	uint32_t asked;	  /* CapSMs; 0 = as many as the tenant may have */
	uint32_t reserve; /* see policy.h */
	uint32_t task_ns; /* 0 = not known */
};

/*
 * Ids of queries are a space of their own, too, and counted up: no two unfinished ones may be the
 * same modulo COT_SCHED_MAX_QUERIES.
 */
struct cot_query_desc {
	uint32_t tenant;
	uint64_t size;	     /* as the next ones: see policy.h; 0 = not known */
	uint64_t arrived_ns; /* not after began_ns */
	uint64_t began_ns;   /* 0 = now */
	uint64_t in_ns, out_ns;
	/* NULL = nothing is known. The host's: it leaves it as it is until COT_EV_QUERY_END, or
	 * COT_EV_TENANT_LEFT. */
	const struct cot_plan *plan;
	uint64_t plan_key; /* names the plan where a pointer cannot, as in a log; 0 = none */
};

struct cot_pool_desc {
	enum cot_class cls;
	uint64_t gpu_mask;
	bool ready; /* the server has channel groups and the library in it listens */
};

struct cot_event {
	enum cot_event_type type;
	uint32_t id;
	uint64_t now_ns; /* less than the last event's counts as the last event's */
	union {
		struct cot_tenant_desc tenant;
		struct cot_pool_desc pool;
		enum cot_activity activity;
		struct {
			uint32_t seq; /* the action's */
			int status;   /* 0 or -errno. Success only if the effect was checked */
		} done;
		bool is_frozen; /* a lease may have run out */
		bool hold;
		struct cot_work_desc work;
		uint32_t capsms;
		uint32_t left;
		struct {
			uint32_t n_sms, unit; /* of each of its GPUs; 0: it cannot be placed */
			struct cot_part part; /* where it is found to be */
			uint32_t n_units;     /* whole ones; 0: as many as fit */
			bool can_cpu;	      /* its launches may be put on the CPU */
		} parts;
		struct {
			uint32_t seq;	      /* the action's */
			int status;	      /* 0 or -errno */
			struct cot_part part; /* what it has now, whether it succeeded or not */
		} placed;
		struct cot_window window; /* at_ns does not count, as in the next */
		struct cot_launches launches;
		/* Row 0, 1 ... n - 1 of a table, one event each and sizes that grow; it replaces
		 * the old one with the last. Without rows (both 0): nothing is predicted any
		 * longer. */
		struct {
			uint32_t row, n;
			struct cot_prediction is;
			struct cot_cost cost; /* the same in all rows: the last one's counts */
		} prediction;
		struct cot_lesson lesson;
		struct cot_query_desc query;
		struct {
			uint32_t n_done; /* so far: more than before */
			uint64_t at_ns;	 /* when the last of them ended; 0 = now */
		} tasks;
	};
};

/* ---- actions ---- */

struct cot_action {
	uint32_t seq;	 /* for the answer; grows, never 0 */
	uint32_t entity; /* id of a pool, or of a tenant that stands alone; GRANT and EVICT: of a
			    work; PLACE: of a tenant */
	enum cot_action_kind kind;
	uint32_t value;	      /* SLICE: us, or COT_SLICE_DRIVER; MODE: enum cot_mode; GRANT, EVICT:
				 CapSMs in all */
	uint64_t now_ns;      /* when it was decided */
	uint64_t deadline_ns; /* no answer until then counts as -ETIMEDOUT; GRANT and EVICT have
				 none */
	bool settled;	      /* GRANT */
	bool whole_sms;	      /* GRANT: it never has more than a part of the GPU */
	bool crowded;	      /* GRANT: more is granted there than the GPU has */
	struct cot_part part; /* PLACE */
	/* PLACE: a batch program waits for SMs that this one has. The answer is to come when what
	 * it launched there is done, or nearly at the deadline. */
	bool leave;
};

/* ---- watchdog ---- */

enum cot_fault {
	COT_FAULT_NONE,
	COT_FAULT_INIT,	 /* the policy did not start */
	COT_FAULT_STALL, /* for stall_ns an active entity was frozen while none ran on its GPUs, or
			  * works waited on a GPU and none ran */
	COT_FAULT_STARVED, /* an entity with work was frozen, or a tenant held, for starve_ns */
	COT_FAULT_WRONG,   /* more than max_wrong wrong actions */
	COT_FAULT_STORM,   /* more than max_actions_per_s actions within a second */
	COT_N_FAULTS,
};

/* Zero members mean the default. */
struct cot_sched_limits {
	uint64_t ack_ns;	    /* how long the host may take to answer; default 20 ms */
	uint64_t place_ns;	    /* the same for a PLACE; default 1 s */
	uint64_t stall_ns;	    /* default 500 ms */
	uint64_t starve_ns;	    /* default 10 s; a work that waits as long is granted */
	uint64_t min_wake_ns;	    /* least time between two ticks by the clock; default 100 us */
	uint64_t retry_ns;	    /* until a policy that went wrong is tried again; default 10 s,
				       doubles each time up to 64 times as much */
	uint32_t max_wrong;	    /* default 100 */
	uint32_t max_actions_per_s; /* default 4000 */
};

struct cot_sched_stats {
	uint64_t events, events_refused;
	uint64_t actions[COT_N_ACTIONS];   /* sent, by enum cot_action_kind */
	uint64_t failed[COT_N_ACTIONS];	   /* answered with an error, by kind */
	uint64_t timed_out[COT_N_ACTIONS]; /* not answered in time, by kind */
	uint64_t late_answers;		   /* to actions that had been given up, or to none */
	uint64_t wrong_actions;		   /* refused: the policy's mistakes */
	uint64_t deferred;		   /* refused for now: -EAGAIN */
	uint64_t rescues; /* thaws of the core's own, and grants to works that waited long */
	uint64_t works, works_returned;
	uint64_t lessons; /* how often the policy has changed one */
	uint64_t fallbacks;
	/* Of answered actions, by kind. */
	uint64_t latency_sum_ns[COT_N_ACTIONS], latency_max_ns[COT_N_ACTIONS];
	enum cot_fault fault;  /* why it fell back last */
	uint32_t fault_entity; /* the entity, tenant or work that it concerned; 0 = none */
	uint64_t fault_ns;
};

/* Whether the configured policy is replaced, and why. */
struct cot_sched_fallback {
	enum cot_fault fault; /* NONE: it is at work */
	uint32_t entity;      /* the entity, tenant or work that it concerned; 0 = none */
	uint64_t since_ns;    /* of the host's clock, as is the next; 0 without a fault */
	uint64_t retry_ns;    /* when it is tried again; COT_NEVER without a fault */
};

/* How long a tenant could use its GPUs since it joined: neither frozen, nor held or on the CPU by
 * its part, nor idle as far as that is known. An action counts from its answer on. */
struct cot_ran {
	uint64_t ns;
	uint64_t sm_ns; /* times the SMs of its part, or all */
};

/* ---- functions ---- */

/*
 * Copies config and limits (NULL: defaults). -EINVAL for a policy without a required member or with
 * another COT_POLICY_ABI, or for a senseless configuration; -ENOMEM. A failing init() of the policy
 * is no error here: the core falls back.
 */
int cot_sched_create(const struct cot_policy_ops *ops, const struct cot_policy_config *config,
		     const struct cot_sched_limits *limits, uint64_t now_ns,
		     struct cot_sched **ret_sched, struct cot_error *err);
void cot_sched_destroy(struct cot_sched *s);

/*
 * -EINVAL: no such tenant, pool or value; -EEXIST: the id is in use by the other kind; -ENOSPC: the
 * table is full; -EAGAIN: a measurement of a tenant within COT_SCHED_MEASURE_NS of the last one of
 * the same kind and horizon. Nothing changes then, but that time goes on.
 */
int cot_sched_event(struct cot_sched *s, const struct cot_event *ev);

/* Takes the next action to carry out, in order of decision; false when there is none. */
bool cot_sched_next_action(struct cot_sched *s, struct cot_action *ret_action);

/* When the next COT_EV_TICK is due if nothing happens before; COT_NEVER. */
uint64_t cot_sched_wake_ns(const struct cot_sched *s);

/* Ends the policy and starts another one (or the same one again) with everything as it is. */
int cot_sched_set_policy(struct cot_sched *s, const struct cot_policy_ops *ops,
			 const struct cot_policy_config *config, uint64_t now_ns,
			 struct cot_error *err);

/* The power limit of a GPU, in watts; 0: not known. A limit in the configuration goes before it.
 * True: it is another one; decisions are made by it from the next event on. */
bool cot_sched_set_limit_w(struct cot_sched *s, uint32_t gpu, uint32_t limit_w);

/* Gives all entities back to the driver and accepts no more actions: for the end of the host. Go on
 * until cot_sched_is_quiet(). Tenants keep the parts that they have: they do without a host. */
void cot_sched_stop(struct cot_sched *s, uint64_t now_ns);
/* No action is wanted or unanswered, but for a PLACE. */
bool cot_sched_is_quiet(const struct cot_sched *s);

/* The slice that an entity begins with before it is up: see policy.h. */
uint32_t cot_sched_first_slice(const struct cot_sched *s, enum cot_class cls, uint64_t gpu_mask);

/*
 * Where a program goes that is about to start: a host with pools asks before it joins, and obeys
 * where it can. `predictions` may be NULL, with none.
 * The policy's time is that of the last event, here and in the next: a COT_EV_TICK makes it now.
 */
enum cot_home cot_sched_home(struct cot_sched *s, const struct cot_tenant_desc *d,
			     const struct cot_prediction *predictions, uint32_t n_predictions);

/* What the policy at work has to say about a tenant: how many facts, 0 if it says nothing. */
unsigned cot_sched_explain(struct cot_sched *s, uint32_t id,
			   struct cot_fact ret_facts[COT_FACTS_MAX]);

/* All lessons, the one that was written longest ago first; as COT_EV_LESSON in this order they
 * make the same table. Returns how many. */
uint32_t cot_sched_lessons(const struct cot_sched *s,
			   struct cot_lesson ret_lessons[COT_LESSONS_MAX]);

/* Whether a plan is as policy.h says; the core refuses a query with another one. */
bool cot_plan_is_valid(const struct cot_plan *plan);

/* For output. NULL if no tenant or entity has that id. */
const struct cot_entity *cot_sched_entity(const struct cot_sched *s, uint32_t id);
const struct cot_tenant *cot_sched_tenant(const struct cot_sched *s, uint32_t id);
/* Until now. False: there is no such tenant. */
bool cot_sched_ran(const struct cot_sched *s, uint32_t id, uint64_t now_ns,
		   struct cot_ran *ret_ran);
const struct cot_work *cot_sched_work(const struct cot_sched *s, uint32_t id);
const struct cot_query *cot_sched_query(const struct cot_sched *s, uint32_t id);
/* The policy that is at work (after a fallback: timeslice), with the tables. */
const struct cot_policy *cot_sched_policy(const struct cot_sched *s);
/* The configured policy. */
const struct cot_policy_ops *cot_sched_wanted_policy(const struct cot_sched *s);
void cot_sched_fallback(const struct cot_sched *s, struct cot_sched_fallback *ret_fallback);
void cot_sched_stats(const struct cot_sched *s, struct cot_sched_stats *ret_stats);
const char *cot_fault_name(enum cot_fault fault);

/* Sees every event as it is taken and every action as it is handed out: for logs, traces and
 * tests. Exactly one of the two is not NULL. Must not call back. */
typedef void cot_sched_tap_fn(void *arg, const struct cot_event *ev, const struct cot_action *a);
void cot_sched_set_tap(struct cot_sched *s, cot_sched_tap_fn *tap, void *arg);

#endif
