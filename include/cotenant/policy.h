/*
 * Software policies decide which programs may use a GPU when. This header is everything that the
 * author of a policy needs.
 *
 * A policy looks at *entities*, the things that the hardware can switch between: a pool (one MPS
 * server with all its programs) or a program that stands alone. It may give an entity a time slice
 * and a preemption mode, freeze it and thaw it. A policy also looks at *works*, the launches of
 * rewritten kernels, and decides how much of the GPU each work gets. And it may place a *tenant*,
 * one program with all that it launches, on a part of a GPU's SMs. It may ask to be told how long
 * the requests of tenants took, and how fast tenants get on, or of each *query*, a request while it
 * is on the GPU. It may choose a tenant's pool, write down what it learned for later runs, and
 * explain what it does.
 *
 * A policy is pure: it reads the tables below and the time in `now_ns`, and calls the cot_*()
 * actions. It reads no clock, opens nothing, reads no environment, draws no random numbers and
 * allocates nothing. So the same object file decides for a real GPU (in the daemon) and for a
 * simulated one, and a test plays an hour in a millisecond.
 *
 * To add a policy: one file in src/policy/ with a `const struct cot_policy_ops`, and a line in
 * src/policy/registry.c. The contract suite in tests/policy then runs over it.
 * docs/writing-a-policy.md walks through the smallest one.
 *
 *                    freeze()             the host acknowledges
 *      RUNNING ---------------> FREEZING ----------------------> FROZEN
 *         ^                        |                                |
 *         |   failed, too late, or thaw()                           | thaw()
 *         +<------- THAWING <------+--------------------------------+
 *           acknowledged
 *
 * A wrong policy may cost speed, never work: the core checks every action, thaws an entity that
 * stays frozen too long, and replaces a policy that starves programs by `timeslice`
 * (src/sched/sched.h).
 */
#ifndef COTENANT_POLICY_H
#define COTENANT_POLICY_H

#include <cotenant/words.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes when a policy must be compiled again. New members come at the end of structs. */
#define COT_POLICY_ABI 13

/* Most GPUs: bits of a gpu_mask. */
#define COT_POLICY_GPUS_MAX 64u

enum cot_entity_kind {
	COT_ENTITY_SOLO, /* one program with a GPU context of its own */
	COT_ENTITY_POOL, /* an MPS server: its programs share the SMs at the same time */
};

/*
 * Whether a tenant or entity has something for the GPU to do. The daemon sees no launches of a real
 * program, so it often cannot know: treat UNKNOWN as ACTIVE. The simulator always knows. A host
 * that sees only what runs, not what waits, reports UNKNOWN for a frozen entity; otherwise the
 * policy would never give it a turn.
 */
enum cot_activity {
	COT_ACTIVITY_UNKNOWN,
	COT_ACTIVITY_IDLE,
	COT_ACTIVITY_ACTIVE,
};

/* See the picture above. */
enum cot_run {
	COT_RUN_RUNNING,
	COT_RUN_FREEZING,
	COT_RUN_FROZEN,
	COT_RUN_THAWING,
};

/* What the hardware switches between. The core owns it. A policy may write only what `own` points
 * to. Valid from entity_up() until entity_down() returns. */
struct cot_entity {
	uint32_t id; /* the host's name for it */
	enum cot_entity_kind kind;
	enum cot_class cls;
	uint32_t weight;   /* sum of its tenants' weights; at least 1 */
	uint64_t gpu_mask; /* the GPUs that it uses, one bit each; not 0 */
	uint32_t n_tenants;
	enum cot_activity activity; /* ACTIVE if one tenant is, else UNKNOWN if one tenant's is */
	uint64_t activity_since_ns; /* when `activity` got this value */
	bool held;		    /* the user froze it by hand: leave it alone */
	enum cot_run run;
	uint64_t run_since_ns; /* when `run` got this value */
	uint32_t slice_us;     /* last acknowledged; COT_SLICE_DRIVER at first */
	enum cot_mode mode; /* last acknowledged; COT_MODE_SWITCH at first, the driver's default */
	uint32_t block_us;  /* longest thread block; 0 = not known for every program in it */
	uint32_t target_p99_us; /* the strictest p99 target of its tenants; 0 = no tenant has one */
	uint32_t n_failed;	/* freezes that failed since the last one that succeeded */
	struct cot_entity *next; /* in order of entity_up(); use cot_for_each_entity() */
	void *own;		 /* entity_bytes; zeroed at entity_up() and for a new policy */
};

/*
 * A range of a GPU's SMs, [first, first + n), as one split of the GPU numbers them: equally for all
 * programs of one MPS server. first == 0 and n == 0: all of the GPU.
 */
struct cot_part {
	uint32_t first, n;
	/* The program launches no more than about this much ahead of the GPU, so that the next
	 * change acts within about that time; 0: as much as it likes, up to COT_PACE_US_MAX. */
	uint32_t pace_us;
	/* What the program launches from now on waits until the next cot_place(), but no longer
	 * than COT_HOLD_MAX_NS: see there. It goes on in this range, so `first` and `n` count here,
	 * too.
	 */
	bool hold;
	/* What the program launches is to be on the CPU, as far as it has CPU versions of its
	 * kernels (cpu.h). Only where t->can_cpu: the core leaves it out elsewhere. */
	bool cpu;
};

#define COT_HOLD_MAX_NS 50000000u

/* How a host sees the requests of a program. */
enum cot_request_source {
	COT_REQUESTS_MARKED, /* the program says when a request arrives, begins and ends */
	COT_REQUESTS_BURSTS, /* from a thread's first operation in an idle stream to the wait that
				covers all: no arrivals, so no responses */
};

/*
 * The requests of a tenant that ended within the last second, 10 s or minute. There are two
 * figures, and neither may stand for the other: a *response* counts from the request's arrival, and
 * a target is about it; a *service* counts from when the program began with the request.
 */
struct cot_window {
	enum cot_horizon horizon;
	enum cot_request_source source;
	struct cot_times response; /* of the requests whose arrival is known */
	struct cot_times service;  /* of all */
	uint64_t at_ns;		   /* when it was delivered; 0 = never. The core fills it in */
};

/*
 * How a tenant would do on a part of so many SMs, with nobody beside it: a row of a table that the
 * host has from models or earlier runs. A guess to begin with, not a measurement.
 */
struct cot_prediction {
	uint32_t sms;
	uint64_t duration_ns; /* of a request; batch programs: of what they repeat */
	uint64_t bytes_per_s; /* that it moves to and from the GPU's memory, COT_BYTES_PER_S_MAX at
				 most; 0 = not known */
	uint32_t ipc_milli;   /* instructions in 1000 cycles of an SM; 0 = not known */
	uint64_t kernel_ns; /* batch programs: the longest kernel of what they repeat; 0 = it is one
			       kernel */
};

#define COT_PREDICTIONS_MAX 32u			/* rows of a table */
#define COT_BYTES_PER_S_MAX 1000000000000000ull /* so that sums of rates fit */

/* A program under control. The core owns it. A policy may write only what `own` points to. Valid
 * from tenant_joined() until tenant_left() returns. */
struct cot_tenant {
	uint32_t id;
	enum cot_class cls;
	uint32_t weight;
	uint64_t gpu_mask;
	uint32_t pool; /* id of its pool; 0 = it stands alone, and its entity has the tenant's id */
	enum cot_activity activity;
	uint32_t block_us;	   /* longest thread block, as stated by the user; 0 = not known */
	struct cot_target target;  /* what the user wants of it */
	struct cot_entity *entity; /* NULL while it is not up */
	struct cot_tenant *next;   /* in order of tenant_joined(); use cot_for_each_tenant() */
	struct cot_share quota;	   /* the most that its works may have together; and see `sms` */
	/* Latency programs only: the least that its works get together, and on how many SMs no
	 * batch program is placed. */
	struct cot_share reserve;
	void *own;	      /* tenant_bytes; zeroed at tenant_joined() and for a new policy */
	struct cot_share sms; /* the user's wish: how much of each GPU all its launches may use;
				 a quota is the same wish for what does not run as works */
	/* SMs of its GPU that can be divided: part_units units of part_unit SMs, from SM 0 on, and
	 * what is behind them in one piece. A part begins and ends between units, or ends at
	 * part_sms. All 0: it cannot be placed, or not yet. */
	uint32_t part_sms, part_unit, part_units;
	struct cot_part part; /* last acknowledged: what it was granted */
	/* What was delivered last, which may be long ago: see at_ns. */
	struct cot_window windows[COT_N_HORIZONS];
	struct cot_launches launches;
	/* By size of part, the smallest first; NULL: nothing is predicted. The core owns the table.
	 * It stays as it is until COT_CHANGED_PREDICTIONS, and goes with the tenant. */
	const struct cot_prediction *predictions;
	uint32_t n_predictions;
	/* The same whenever the same user runs the same program by the same command; 0: not known.
	 * A hash: look for equality only. */
	uint64_t key;
	/* The user's wish: the pace of whatever part it gets, whatever the policy says. 0: none. */
	uint32_t pace_us;
	struct cot_cost cost; /* changes with the predictions */
	bool can_cpu;	      /* its user lets the policy put launches on the CPU; see cot_part */
	enum cot_class pool_cls; /* its pool's, also before that is up; its own if it is alone */
};

/*
 * ---- work ----
 *
 * A work is a launch of a rewritten kernel, or several such launches one after the other. A chosen
 * number of *workers* does all the thread blocks (the *tasks*) of the original launch. The policy
 * chooses how many workers. It may evict some of them while they run; the others then do the
 * remaining tasks. The unit is the CapSM (Yu et al., "SMGuard", section 4): as many workers as fit
 * one SM, wherever they run. A work's CapSMs are numbered in the order in which they were granted;
 * the lowest numbers are evicted first.
 *
 *                     cot_grant()
 *       WAITING ---------------------> RUNNING ------> over (done)
 *          ^                            |  ^ |
 *          |                            |  | | cot_evict(): the first n leave after their task
 *          |   ended with tasks left    |  +-+ cot_grant(): more join, if it can grow
 *          +----------------------------+
 *            (only if it was granted as settled)
 *
 * While a work runs, it keeps (granted - evicted) CapSMs; (evicted - left) are about to leave.
 */
enum cot_work_method {
	COT_WORK_QUOTA,	  /* batch programs: takes what is free, up to the quota */
	COT_WORK_RESERVE, /* latency programs: gets its reservation, if need be from others */
};

enum cot_work_state {
	COT_WORK_WAITING, /* none of its workers run */
	COT_WORK_RUNNING,
};

/* The core owns it. A policy may write only what `own` points to. Valid from ready() until done()
 * returns. */
struct cot_work {
	uint32_t id; /* the host's name for it */
	struct cot_tenant *tenant;
	uint32_t gpu;	/* its number: a bit of gpu_mask */
	uint32_t n_sms; /* of that GPU */
	enum cot_work_method method;
	bool can_settle;  /* its program can wait for its end and launch the rest */
	bool can_grow;	  /* the policy may add workers while it runs */
	uint32_t n_tasks; /* tasks left when it began to wait; 0 = not known */
	uint32_t per_sm;  /* workers in a CapSM */
	uint32_t task_ns; /* duration of one task; 0 = not known */
	/* The most CapSMs that it may have at a time, at least 1: what its program asked for,
	 * limited by the GPU, the tenant's settings, and the number of tasks. */
	uint32_t want;
	enum cot_work_state state;
	bool settled; /* all of it may be evicted; otherwise one CapSM stays to do the rest */
	uint32_t granted, evicted,
		left;	    /* totals since it began to run: granted >= evicted >= left */
	uint32_t n_returns; /* how often it ended with tasks left */
	uint64_t waiting_since_ns, running_since_ns;
	uint64_t evicted_ns;   /* time of the last eviction */
	struct cot_work *next; /* in order of arrival; use cot_for_each_work() */
	void *own;	       /* work_bytes; zeroed at ready() and for a new policy */
	uint32_t asked;	       /* CapSMs that the program asked for; 0 = as many as it may have */
	struct cot_work *next_running; /* on its GPU; use cot_for_each_running() */
	/* RESERVE: how many of its program's reserved CapSMs it is meant to get; 0 = all of them */
	uint32_t reserve;
};

/*
 * ---- queries ----
 *
 * A query is a request of a tenant from its first operation on the GPU to its last. Its *tasks* are
 * the kernels that it launches one after the other (not those of a work). Hosts tell of queries
 * only a policy that has `queries`.
 */

#define COT_QUOTAS_MAX	    32u			   /* sizes of parts in a plan */
#define COT_QUERY_TASKS_MAX 4096u		   /* in a plan */
#define COT_PLAN_NS_MAX	    (3600ull * 1000000000) /* of each time in a plan */

/*
 * What a query will need on each size of part, with nobody beside it: predicted from what the host
 * knows of the service. No time is 0 or longer than COT_PLAN_NS_MAX, so sums of them fit.
 */
struct cot_plan {
	uint32_t n_quotas, n_tasks;	  /* 1 or more of each */
	const uint32_t *sms;		  /* [n_quotas]: the smallest first */
	const uint64_t *query_ns;	  /* [n_quotas]: all of it but transfers, by a model of its
					     own; never grows with the size */
	const uint64_t *task_ns;	  /* [n_tasks][n_quotas] */
	const uint64_t *task_bytes_per_s; /* the same, COT_BYTES_PER_S_MAX at most; NULL: not known
					   */
};

/* The core owns it. A policy may write only what `own` points to. Valid from begin() until end()
 * returns. A tenant may have several at a time. */
struct cot_query {
	uint32_t id; /* the host's name for it */
	struct cot_tenant *tenant;
	uint64_t size; /* of its input, as the program counts it, otherwise in bytes that it copied
			  to the GPU; 0 = not known */
	uint64_t arrived_ns;	/* if that is not known: when it began */
	uint64_t began_ns;	/* its first operation */
	uint64_t in_ns, out_ns; /* transfers: what those to the GPU took; those back, predicted */
	const struct cot_plan *plan; /* what the host knows, or the core has learned of queries
					of its size; NULL: nothing. Stays as it is until the end */
	uint32_t n_done;	     /* tasks that ended; maybe more than the plan has */
	uint64_t done_ns;	     /* when the last of them ended; 0 = none has */
	struct cot_query *next;	     /* in order of begin(); use cot_for_each_query() */
	void *own;		     /* query_bytes; zeroed at begin() and for a new policy */
};

/* Numbers that the user may set. cot_policy_config_init() fills in the defaults. */
struct cot_policy_config {
	uint32_t latency_slice_us; /* for latency entities while one of them is active */
	uint32_t batch_slice_us;   /* for batch entities meanwhile */
	uint32_t equal_slice_us;   /* for every entity while no latency entity is active */
	uint64_t linger_ns;	 /* a latency entity that becomes idle counts as active this long */
	uint64_t turn_ns;	 /* rotation: length of a turn for an entity of average weight */
	uint64_t cycle_ns;	 /* rotation: turns are shortened so that all fit into this time */
	uint32_t drain_block_us; /* blocks up to this long are drained, not switched; 0 = never */
	/* For works: the part of the SMs, in 1/1000, that is kept free of long batch tasks while a
	 * latency program without a reservation is there. */
	uint32_t reserve_permille;
	/* Tasks up to this long may run on SMs kept free, and are evicted when a latency work needs
	 * the SMs; 0 = never. */
	uint32_t adapt_task_us;
	uint64_t grow_after_ns; /* how long latency programs must be away before other works grow */
	/* For parts: how many SMs, in 1/1000 of all, latency programs without a share have
	 * together while batch programs are there. */
	uint32_t latency_permille;
	uint32_t pace_us; /* of the parts of batch programs; 0 = none */
	/* What programs reach of each GPU's memory together, COT_BYTES_PER_S_MAX at most; 0 = not
	 * known. From the host, as the GPU is. And how much of it, in 1/1000, a policy gives away.
	 */
	uint64_t dram_bytes_per_s;
	uint32_t bandwidth_permille;
	/* For gangs (`consolidate`): how long whoever begins to work waits for others; what is to
	 * be little; how much less it must be than apart; and what GPUs draw, in watts: while
	 * programs run, whatever they do, and at most (0: as each says; 0 again: not known). */
	uint64_t gather_ns;
	enum cot_aim aim;
	uint32_t min_gain_permille;
	uint32_t base_w, limit_w, gpu_limit_w[COT_POLICY_GPUS_MAX];
};

/* Where a program goes when it starts. It stays there until it ends. */
enum cot_home {
	COT_HOME_CLASS,	  /* the pool of its class */
	COT_HOME_LATENCY, /* the latency pool, whatever its class */
	COT_HOME_BATCH,	  /* the batch pool, whatever its class */
	COT_HOME_ALONE,	  /* no pool */
	COT_N_HOMES,
};

/*
 * What a policy learned about a program and wants to find again when the program runs again, maybe
 * in another run of the host. The core has one table for all policies: a policy uses kinds that no
 * other one uses. There is one lesson for each key and kind, and a newer one replaces it. When the
 * table is full, the lesson goes that was written longest ago.
 */
struct cot_lesson {
	uint64_t key; /* of the tenant; not 0 */
	uint32_t kind;
	uint32_t value[6]; /* as the policy likes; maybe of an older version of it */
};

#define COT_LESSONS_MAX 512u
#define COT_LEARN_MAX	64u /* lessons that change, in a second */

/* What the value of a fact is. Except for times, hosts show it as it is. */
enum cot_fact_unit {
	COT_FACT_TEXT, /* the fact has `text` and no value */
	COT_FACT_NS,
	COT_FACT_AT_NS, /* a time, as now_ns; hosts show how long ago it was */
	COT_FACT_PERMILLE,
	COT_FACT_SMS,
	COT_FACT_US,
	COT_FACT_COUNT,
	COT_FACT_W,
	COT_N_FACT_UNITS,
};

/* One thing that explain() says. The strings are static, in the policy's code. */
struct cot_fact {
	const char *name; /* a few words: "batch slice", "because" */
	const char *text; /* TEXT: what it is. Otherwise NULL, or a remark */
	uint64_t value;
	enum cot_fact_unit unit;
};

/* Facts that hosts look for, to show more than the text. */
#define COT_SAYS_P99_ALONE  "p99 alone" /* us: what a slowdown is a multiple of */
#define COT_SAYS_KEEPS	    "keeps"	/* permille: how fast it gets on, of its rate alone */
#define COT_SAYS_NEXT	    "at the next start" /* text: another topology, its name first, is better */
#define COT_SAYS_TARGET	    "target"		/* text: that it cannot be kept, or only nearly */
#define COT_SAYS_COULD_KEEP "could be kept"	/* us: and what could be */

#define COT_FACTS_MAX	  24u  /* for one tenant */
#define COT_FACT_TEXT_MAX 120u /* bytes of a name or a text, with its end */

enum cot_action_kind {
	COT_ACTION_SLICE,
	COT_ACTION_MODE,
	COT_ACTION_FREEZE,
	COT_ACTION_THAW,
	COT_ACTION_GRANT, /* these two have no result: see cot_work_ops */
	COT_ACTION_EVICT,
	COT_ACTION_PLACE, /* of a tenant; its result goes to placed() */
	COT_N_ACTIONS,
};

struct cot_action_result {
	enum cot_action_kind kind;
	int status;	      /* 0, or the host's -errno; -ETIMEDOUT when no answer came in time */
	uint32_t value;	      /* slice in us, or enum cot_mode */
	uint64_t latency_ns;  /* from the policy's decision to the acknowledgement */
	struct cot_part part; /* PLACE: what the tenant has now */
};

/* Bits of tenant_changed() and entity_changed(). */
enum cot_change {
	COT_CHANGED_CLASS = 1u << 0,
	COT_CHANGED_WEIGHT = 1u << 1,
	COT_CHANGED_GPU = 1u << 2,
	COT_CHANGED_ACTIVITY = 1u << 3,
	COT_CHANGED_HINTS = 1u << 4, /* block_us */
	COT_CHANGED_HELD = 1u << 5,
	COT_CHANGED_RUN =
		1u << 6, /* `run`, `slice_us` or `mode` changed without an action of this policy */
	COT_CHANGED_SHARES = 1u << 7, /* quota, reserve, sms, pace; `want` of its works */
	COT_CHANGED_PARTS = 1u << 8,  /* part_sms and its units; `part` without an action of this
					 policy: also a  hold that is over */
	COT_CHANGED_TARGET = 1u << 9,
	COT_CHANGED_PREDICTIONS = 1u << 10,
};

struct cot_policy;

/* Callbacks of a policy that grants and evicts works. Each may be NULL. */
struct cot_work_ops {
	/* A work waits for cot_grant(): it is new, or it ended with tasks left (n_returns). Called
	 * for every launch of the program: keep it short. */
	void (*ready)(struct cot_policy *p, struct cot_work *w);

	/* Evicted CapSMs have left: `left` has grown. The end of the work is done() only. */
	void (*evicted)(struct cot_policy *p, struct cot_work *w);

	/* The work is over, or its program is gone; its CapSMs are free. `w` is no longer in the
	 * table, and becomes invalid when the callback returns. */
	void (*done)(struct cot_policy *p, struct cot_work *w);
};

/*
 * Callbacks of a policy that wants to know how programs do; without them hosts need not measure.
 * Each may be NULL.
 */
struct cot_measure_ops {
	/*
	 * A window of the tenant's requests was delivered: `w` is t->windows[w->horizon]. Hosts
	 * deliver each horizon once in a tenth of it (that of 1 s every 0.1 s) while there are
	 * requests in it, and once more when the last one has left it.
	 */
	void (*requests)(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w);

	/* t->launches was delivered: once a second while the tenant launches, and once when it has
	 * stopped. */
	void (*progress)(struct cot_policy *p, struct cot_tenant *t);
};

/* Callbacks of a policy that looks at queries; without them hosts need not. Each may be NULL. */
struct cot_query_ops {
	/* The transfers to the GPU have ended, and its first task is about to begin. */
	void (*begin)(struct cot_policy *p, struct cot_query *q);

	/* Tasks have ended: n_done has grown, by one or more. */
	void (*task)(struct cot_policy *p, struct cot_query *q);

	/* The query is over, or its program is gone. `q` is no longer in the table, and becomes
	 * invalid when the callback returns. */
	void (*end)(struct cot_policy *p, struct cot_query *q);
};

/*
 * What a policy implements. Only `name`, `summary` and `tick` are required: a missing callback does
 * nothing. The core calls the callbacks from one thread, one at a time, in order of time. A
 * callback must return soon, and may call any action. When a callback reports a change, the tables
 * already contain that change.
 */
struct cot_policy_ops {
	const char *name;    /* as in configurations and scenarios */
	const char *summary; /* one line, for `cotenant list policies` */
	uint32_t abi;	     /* COT_POLICY_ABI */

	/* The host puts tenants into pools, one per class and GPU, except tenants that ask to stand
	 * alone. If false, every tenant stands alone. */
	bool wants_pools;

	/* With wants_pools: latency and batch programs share one pool, so that their works share
	 * the SMs. */
	bool one_pool;

	/* Grants and evicts works. NULL: the core immediately grants every work what it wants, or
	 * what its program reserved. */
	const struct cot_work_ops *works;

	/* Sizes of the policy's own state: for the policy (p->state, at most COT_POLICY_STATE_MAX)
	 * and for each entity, tenant and work (`own`, at most COT_POLICY_OWN_MAX). The core
	 * allocates it, aligned for every type. */
	uint32_t state_bytes, entity_bytes, tenant_bytes, work_bytes;

	/*
	 * Called before every other callback. The tables are filled already: the core does not
	 * announce again the tenants and entities that exist, and the previous policy may have left
	 * entities frozen. A failure (-errno) makes the core fall back to `timeslice`.
	 */
	int (*init)(struct cot_policy *p);

	/*
	 * Called after every other callback. It may not call any action; the core thaws the
	 * entities that are still frozen.
	 */
	void (*fini)(struct cot_policy *p);

	/* A program registered. Called once per program. If the program stands alone, its entity
	 * comes up later or never: only programs that use the GPU get one. */
	void (*tenant_joined)(struct cot_policy *p, struct cot_tenant *t);

	/* The program ended. If it stood alone, entity_down() was called before. */
	void (*tenant_left)(struct cot_policy *p, struct cot_tenant *t);

	/* `what` is a set of enum cot_change. Called as often as the host sees activity change: in
	 * the simulator, for every request. */
	void (*tenant_changed)(struct cot_policy *p, struct cot_tenant *t, unsigned what);

	/* A pool's server, or a program that stands alone, has its channel groups: from now on
	 * actions on `e` are possible. It runs with the driver's slice, unless a previous daemon
	 * set another. */
	void (*entity_up)(struct cot_policy *p, struct cot_entity *e);

	/* The entity is gone: its program ended, its pool died, or the host lost the connection to
	 * its library (which then thaws the program when the lease ends). The core refuses actions
	 * on it. `e` becomes invalid when the callback returns. */
	void (*entity_down)(struct cot_policy *p, struct cot_entity *e);

	/* `what` is a set of enum cot_change. */
	void (*entity_changed)(struct cot_policy *p, struct cot_entity *e, unsigned what);

	/*
	 * An action of this policy was acknowledged, failed, or got no answer in time. The core
	 * calls this exactly once for every action that it accepted with 0, except for repetitions,
	 * for actions that a later one replaced, and when the entity goes down first. After a
	 * failed freeze the core thaws the entity itself, to be safe.
	 */
	void (*action_done)(struct cot_policy *p, struct cot_entity *e,
			    const struct cot_action_result *r);

	/*
	 * Decides. Required. The core calls it after each event, after the callbacks above; when
	 * the time comes that it last returned; and when a failed action may be tried again. It
	 * returns the latest time (as now_ns) of its next call, or COT_NEVER if only an event can
	 * change its decision. The core moves a time that is past or too soon to the earliest that
	 * it allows.
	 */
	uint64_t (*tick)(struct cot_policy *p);

	/*
	 * Returns the first slice, in us, of an entity that is being set up and is not in the table
	 * yet. entity_up() follows soon; from then on the policy sets the slice by actions. NULL:
	 * the driver's own slice. The host may call it at any time; it must change nothing.
	 */
	uint32_t (*first_slice)(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask);

	/* It places tenants by cot_place(). If false, the core places them as cot_place_shares()
	 * does. */
	bool places;

	/*
	 * A cot_place() of this policy was acknowledged, failed, or got no answer in time. Called
	 * exactly once for each, with the exceptions of action_done(); here they are that the
	 * tenant leaves, and COT_CHANGED_PARTS.
	 */
	void (*placed)(struct cot_policy *p, struct cot_tenant *t,
		       const struct cot_action_result *r);

	/* NULL: it needs no measurements. */
	const struct cot_measure_ops *measures;

	/*
	 * Returns where a program goes that is about to start. Only for a policy that
	 * `wants_pools`; NULL: COT_HOME_CLASS. `t` is not in the table yet; it has cls, weight,
	 * block_us, gpu_mask, target, key, shares and predictions. With one_pool the one pool
	 * stands for both. A user who wants the program to stand alone, several GPUs, and a host
	 * without pools win: `t->pool` says later where it is. It must change nothing.
	 */
	enum cot_home (*home)(const struct cot_policy *p, const struct cot_tenant *t);

	/*
	 * Says what the policy does with `t` and why, for the user who asks. Writes up to `max`
	 * facts and returns how many. NULL: it has nothing to say. It must change nothing.
	 */
	unsigned (*explain)(const struct cot_policy *p, const struct cot_tenant *t,
			    struct cot_fact *facts, unsigned max);

	/* NULL: it does not look at queries. */
	const struct cot_query_ops *queries;
	uint32_t query_bytes; /* as those of entities, tenants and works above */

	/* It looks at predictions of tenants. A simulator then plays each program alone on parts of
	 * all sizes first; the daemon has them from files in any case. Implied by `queries`. */
	bool predictions;
};

#define COT_POLICY_STATE_MAX 65536
#define COT_POLICY_OWN_MAX   160

/* What the core implements for policies; call the functions below instead. */
struct cot_policy_actions {
	int (*set_slice)(struct cot_policy *p, struct cot_entity *e, uint32_t slice_us);
	int (*set_mode)(struct cot_policy *p, struct cot_entity *e, enum cot_mode mode);
	int (*freeze)(struct cot_policy *p, struct cot_entity *e);
	int (*thaw)(struct cot_policy *p, struct cot_entity *e);
	int (*grant)(struct cot_policy *p, struct cot_work *w, uint32_t capsms, bool settled);
	int (*evict)(struct cot_policy *p, struct cot_work *w, uint32_t capsms);
	int (*place)(struct cot_policy *p, struct cot_tenant *t, struct cot_part part);
	int (*learn)(struct cot_policy *p, const struct cot_lesson *l);
};

/* A policy at work. The core owns it; for the policy it is read-only. */
struct cot_policy {
	const struct cot_policy_ops *ops;
	const struct cot_policy_actions *actions;
	const struct cot_policy_config *config;
	void *state;
	uint64_t now_ns; /* never goes back; has no relation to the time of day */
	struct cot_entity *entities;
	struct cot_tenant *tenants;
	uint32_t n_entities, n_tenants;
	struct cot_work *works;
	uint32_t n_works;
	/*
	 * running[]: by GPU, the works that run, in order of their start. waiting_gpus,
	 * running_gpus: bits of the GPUs where works wait, and run.
	 */
	struct cot_work *running[COT_POLICY_GPUS_MAX];
	uint64_t waiting_gpus, running_gpus;
	/* In order of key and kind; use cot_lesson_find(). Those of earlier runs may come after
	 * init(), but come before the tenants. */
	const struct cot_lesson *lessons;
	uint32_t n_lessons;
	struct cot_query *queries;
	uint32_t n_queries;
};

#define cot_for_each_entity(e, p)	for ((e) = (p)->entities; (e); (e) = (e)->next)
#define cot_for_each_tenant(t, p)	for ((t) = (p)->tenants; (t); (t) = (t)->next)
#define cot_for_each_work(w, p)		for ((w) = (p)->works; (w); (w) = (w)->next)
#define cot_for_each_query(q, p)	for ((q) = (p)->queries; (q); (q) = (q)->next)
#define cot_for_each_running(w, p, gpu) for ((w) = (p)->running[gpu]; (w); (w) = (w)->next_running)

/*
 * ---- what a policy may do ----
 *
 * An action states how the entity should be. Repeating an action that is already done or on its way
 * costs nothing, so a policy may state all its wishes in every tick(). A later action replaces an
 * earlier one; freeze() and
 * thaw() replace each other.
 *
 * Returns 0; -EAGAIN if the action is not possible now (the user holds the entity, or the same
 * action has just failed and the core waits before it allows another try); -EINVAL for a wrong
 * argument; -EPERM during fini(). The core counts the last two against the policy.
 */

/* COT_SLICE_DRIVER gives the entity back to the driver. */
static inline int cot_set_slice(struct cot_policy *p, struct cot_entity *e, uint32_t slice_us)
{
	return p->actions->set_slice(p, e, slice_us);
}

static inline int cot_set_mode(struct cot_policy *p, struct cot_entity *e, enum cot_mode mode)
{
	return p->actions->set_mode(p, e, mode);
}

static inline int cot_freeze(struct cot_policy *p, struct cot_entity *e)
{
	return p->actions->freeze(p, e);
}

static inline int cot_thaw(struct cot_policy *p, struct cot_entity *e)
{
	return p->actions->thaw(p, e);
}

/*
 * Lets a waiting work begin with `capsms` CapSMs (1 to want). With `settled`, the policy may later
 * evict all of it; allowed only if the work can_settle.
 *
 * For a running work that can_grow, `capsms` is the new total of CapSMs granted since it began
 * (`granted`): not less than before, and at most `want` may run. `settled` stays as it was.
 *
 * Returns -EINVAL for anything else, and -EAGAIN when the work's numbers are used up
 * (COT_CAPSMS_MAX).
 */
static inline int cot_grant(struct cot_policy *p, struct cot_work *w, uint32_t capsms, bool settled)
{
	return p->actions->grant(p, w, capsms, settled);
}

/* The first `capsms` CapSMs of a running work must leave. This is a total (`evicted`): not less
 * than before, and less than `granted` unless the work is settled. Returns -EINVAL otherwise. */
static inline int cot_evict(struct cot_policy *p, struct cot_work *w, uint32_t capsms)
{
	return p->actions->evict(p, w, capsms);
}

/*
 * What `t` launches from now on runs on `part` of each of its GPUs. Several tenants may have the
 * same SMs. Only for a policy that `places`. Returns -EINVAL for a part that is not a range of the
 * tenant's part_sms between units, or whose pace is too long.
 *
 * A part with `hold` lasts at most COT_HOLD_MAX_NS: then the program goes on in its range, and
 * COT_CHANGED_PARTS says so. To hold on, place it so again: the core takes that from half of the
 * time on, earlier it costs nothing. The watchdog calls a program starved that is held as long as
 * one may be frozen.
 */
static inline int cot_place(struct cot_policy *p, struct cot_tenant *t, struct cot_part part)
{
	return p->actions->place(p, t, part);
}

/*
 * Writes a lesson, in place of the one of the same key and kind. Writing what is there already
 * costs nothing. Returns -EINVAL without a key. The core counts it against the policy as well when
 * more than COT_LEARN_MAX lessons change within a second; it refuses the others with -EAGAIN.
 */
static inline int cot_learn(struct cot_policy *p, const struct cot_lesson *l)
{
	return p->actions->learn(p, l);
}

/* NULL: there is none. Valid until the next lesson is written. */
static inline const struct cot_lesson *cot_lesson_find(const struct cot_policy *p, uint64_t key,
						       uint32_t kind)
{
	const struct cot_lesson *l;
	uint32_t first = 0, end = p->n_lessons, middle;

	while (first < end) {
		middle = first + (end - first) / 2;
		l = &p->lessons[middle];
		if (l->key == key && l->kind == kind)
			return l;
		if (l->key < key || (l->key == key && l->kind < kind))
			first = middle + 1;
		else
			end = middle;
	}
	return NULL;
}

/* A share in SMs: 1 to n_sms; 0 if no share was given. Rounds to the nearest SM. */
static inline uint32_t cot_share_sms(struct cot_share share, uint32_t n_sms)
{
	uint32_t n = share.sms;

	if (share.pct)
		n = (n_sms * share.pct + 50) / 100;
	else if (!n)
		return 0;
	return n < 1 ? 1 : n < n_sms ? n : n_sms;
}

/* The most that a tenant may have of a GPU, in SMs: its quota and its share of SMs are both limits
 * of all its kernels, and the smaller one counts. 0: it has no limit. */
static inline uint32_t cot_most_sms(const struct cot_tenant *t, uint32_t n_sms)
{
	uint32_t quota = cot_share_sms(t->quota, n_sms), sms = cot_share_sms(t->sms, n_sms);

	return quota && (!sms || quota < sms) ? quota : sms;
}

/* Whether `e` may have something for the GPU to do. */
static inline bool cot_entity_may_run(const struct cot_entity *e)
{
	return e->activity != COT_ACTIVITY_IDLE && !e->held;
}

/* ---- all policies (src/policy/registry.c) ---- */

extern const struct cot_policy_ops *const cot_policies[];
extern const unsigned cot_n_policies;
/* The policy that the core falls back to: it gives every entity back to the driver. */
extern const struct cot_policy_ops cot_policy_timeslice;

/*
 * How the core places tenants for a policy that does not. A tenant with a limit (cot_most_sms())
 * gets a part of that size, in whole units and what is left over at the top: the nearest that it
 * can have there, and one at least. Batch programs have
 * theirs from SM 0 upwards, latency programs from the top downwards, no two of them the same SMs as
 * long as there is room. All other tenants get all of the GPU.
 *
 * Where both classes share a pool (one_pool), no batch program is on the SMs at the top that
 * latency programs have reserved: it gets the others, or a smaller part. The first unit remains for
 * batch programs, however much is reserved.
 */
void cot_place_shares(struct cot_policy *p);

const struct cot_policy_ops *cot_policy_find(const char *name); /* NULL when unknown */
void cot_policy_config_init(struct cot_policy_config *config);

#endif
