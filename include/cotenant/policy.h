/*
 * Software policies: who may use a GPU when. Everything that the author of one needs.
 *
 * A policy looks at *entities*, the things that the hardware can switch between: a pool (one MPS
 * server with all its programs) or a program that stands alone. It may give an entity a time slice
 * and a preemption mode, freeze it and thaw it. And it looks at *works*, the rewritten kernels, and
 * says on how much of the GPU each of them runs. It is pure: it reads the tables below and the time
 * in `now_ns`, and calls the cot_*() actions. It keeps no clock, opens nothing, reads no
 * environment, draws no random numbers and allocates nothing. So one object file decides for a real
 * GPU (in the daemon) and for a simulated one, and a test plays an hour in a millisecond.
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
 * What a policy gets wrong costs speed, never work: the core checks every action, thaws what is
 * frozen too long, and replaces a policy that starves programs by `timeslice` (src/sched/sched.h).
 */
#ifndef COTENANT_POLICY_H
#define COTENANT_POLICY_H

#include <cotenant/words.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Changes when a policy must be compiled again. New members come at the end of structs. */
#define COT_POLICY_ABI 3

/* Most GPUs: bits of a gpu_mask. */
#define COT_POLICY_GPUS_MAX 64u

enum cot_entity_kind {
	COT_ENTITY_SOLO, /* one program with a GPU context of its own */
	COT_ENTITY_POOL, /* an MPS server: its programs share the SMs at the same time */
};

/*
 * Whether there is work for the GPU. Nothing stands on the launch path of a real program, so a
 * daemon often cannot know: treat UNKNOWN as ACTIVE. A simulator always knows. A host that only
 * sees what runs, not what waits, says UNKNOWN while the entity is frozen: else it never got a
 * turn.
 */
enum cot_activity {
	COT_ACTIVITY_UNKNOWN,
	COT_ACTIVITY_IDLE,
	COT_ACTIVITY_ACTIVE,
};

/* How the hardware takes an entity off the GPU when its slice ends. */
enum cot_mode {
	COT_MODE_SWITCH, /* saves what is on the SMs, anywhere in a block: dear but prompt */
	COT_MODE_DRAIN,	 /* lets the running thread blocks end: cheap when blocks are short */
};

/* See the picture above. */
enum cot_run {
	COT_RUN_RUNNING,
	COT_RUN_FREEZING,
	COT_RUN_FROZEN,
	COT_RUN_THAWING,
};

/* What the hardware switches between. Owned by the core, read-only but for `own`; valid from
 * entity_up() to the end of entity_down(). */
struct cot_entity {
	uint32_t id; /* the host's name for it */
	enum cot_entity_kind kind;
	enum cot_class cls;
	uint32_t weight;   /* of its tenants together; at least 1 */
	uint64_t gpu_mask; /* the GPUs that it uses, a bit each; not 0 */
	uint32_t n_tenants;
	enum cot_activity activity; /* ACTIVE if one tenant is, else UNKNOWN if one tenant's is */
	uint64_t activity_since_ns; /* when `activity` got this value */
	bool held;		    /* the user froze it by hand: leave it alone */
	enum cot_run run;
	uint64_t run_since_ns;	 /* when `run` got this value */
	uint32_t slice_us;	 /* acknowledged; COT_SLICE_DRIVER at first */
	enum cot_mode mode;	 /* acknowledged; COT_MODE_SWITCH at first, as the driver's own */
	uint32_t block_us;	 /* longest thread block; 0 = not known of all its programs */
	uint32_t target_p99_us;	 /* the strictest target of its tenants; 0 = none was given */
	uint32_t n_failed;	 /* freezes that failed one after the other, until now */
	struct cot_entity *next; /* in order of entity_up(); use cot_for_each_entity() */
	void *own; /* the policy's entity_bytes; zero at entity_up() and after a change of policy */
};

/* A program under control. Owned by the core, read-only but for `own`; valid from tenant_joined()
 * to the end of tenant_left(). */
struct cot_tenant {
	uint32_t id;
	enum cot_class cls;
	uint32_t weight;
	uint64_t gpu_mask;
	uint32_t pool; /* id of its pool; 0 = it stands alone and its entity has the tenant's id */
	enum cot_activity activity;
	uint32_t block_us;	   /* longest thread block, as the user said; 0 = not known */
	uint32_t target_p99_us;	   /* what the user asked for; 0 = nothing */
	struct cot_entity *entity; /* NULL while that is not up */
	struct cot_tenant *next;   /* in order of tenant_joined(); use cot_for_each_tenant() */
	struct cot_share quota;	   /* its works may have this much together */
	struct cot_share reserve;  /* of latency programs: what each of its works gets at least */
	void *own; /* the policy's tenant_bytes; zero at tenant_joined() and after a change of
		      policy */
};

/*
 * ---- work ----
 *
 * A work is a kernel launch that was rewritten so that a chosen number of *workers* does all its
 * thread blocks (its *tasks*), or several such launches one after the other. A policy says how many
 * workers, takes part of them back while they run, and the others do the rest. Amounts are CapSMs
 * (Yu et al., "SMGuard", section 4): as many workers as fit one SM, wherever they are. All a work's
 * CapSMs are numbered in order of their grant, and the first ones are evicted first.
 *
 *                     cot_grant()
 *       WAITING ---------------------> RUNNING ------> over (done)
 *          ^                            |  ^ |
 *          |                            |  | | cot_evict(): the first n leave soon, after their
 * task |   ended with a rest        |  +-+ cot_grant(): more join it, if it can grow
 *          +----------------------------+
 *            (only if it was granted as settled)
 *
 * While it runs, (granted - evicted) CapSMs are its own; (evicted - left) are on their way out.
 */
enum cot_work_method {
	COT_WORK_QUOTA,	  /* takes what there is, up to its quota: batch programs */
	COT_WORK_RESERVE, /* is to get what was reserved, from others if need be: latency programs
			   */
};

enum cot_work_state {
	COT_WORK_WAITING, /* nothing of it runs */
	COT_WORK_RUNNING,
};

/* Owned by the core, read-only but for `own`; valid from ready() to the end of done().
 */
struct cot_work {
	uint32_t id; /* the host's name for it */
	struct cot_tenant *tenant;
	uint32_t gpu;	/* its number: a bit of gpu_mask */
	uint32_t n_sms; /* of that GPU */
	enum cot_work_method method;
	bool can_settle;  /* its program can wait for its end and start the rest */
	bool can_grow;	  /* workers may be added while it runs */
	uint32_t n_tasks; /* to do when it began to wait; 0 = not known */
	uint32_t per_sm;  /* workers in a CapSM */
	uint32_t task_ns; /* how long a task takes; 0 = not known */
	/* The most that it may have at a time, at least 1: what it asked for, and no more than the
	 * GPU has, its tenant's settings allow, and its tasks could use. */
	uint32_t want;
	enum cot_work_state state;
	bool settled; /* all of it may be evicted; else one CapSM must stay to do the rest */
	uint32_t granted, evicted,
		left;	    /* in all since it began to run: granted >= evicted >= left */
	uint32_t n_returns; /* times that it ended with a rest */
	uint64_t waiting_since_ns, running_since_ns;
	uint64_t evicted_ns;   /* of the last eviction */
	struct cot_work *next; /* in order of arrival; use cot_for_each_work() */
	void *own;	/* the policy's work_bytes; zero at arrival and after a change of policy */
	uint32_t asked; /* what the program asked for; 0 = whatever it may have */
	struct cot_work *next_running; /* on its GPU; use cot_for_each_running() */
};

/* Numbers that a user may set. cot_policy_config_init() fills in the defaults. */
struct cot_policy_config {
	uint32_t latency_slice_us; /* latency entities while one is active */
	uint32_t batch_slice_us;   /* batch entities meanwhile */
	uint32_t equal_slice_us;   /* everybody while no latency entity is active */
	uint64_t linger_ns; /* a latency entity counts as active this long after its last work */
	uint64_t turn_ns;   /* rotation: a turn of an entity of average weight */
	uint64_t cycle_ns;  /* rotation: turns are shortened so that all fit in here */
	uint32_t drain_block_us; /* blocks up to this long are drained, not switched; 0 = never */
	/* For works. Kept free of long batch tasks while there is a latency program that did not
	 * say how much it wants, in 1/1000 of the SMs. */
	uint32_t reserve_permille;
	/* Tasks up to this long are taken back when somebody comes, rather than kept out; 0 = never
	 */
	uint32_t adapt_task_us;
	uint64_t grow_after_ns; /* how long latency programs must be away before others grow */
};

enum cot_action_kind {
	COT_ACTION_SLICE,
	COT_ACTION_MODE,
	COT_ACTION_FREEZE,
	COT_ACTION_THAW,
	COT_ACTION_GRANT, /* these two have no result: what comes of them is told by cot_work_ops */
	COT_ACTION_EVICT,
	COT_N_ACTIONS,
};

struct cot_action_result {
	enum cot_action_kind kind;
	int status;	     /* 0, or the host's -errno; -ETIMEDOUT when no answer came in time */
	uint32_t value;	     /* slice in us, or enum cot_mode */
	uint64_t latency_ns; /* from the decision to the acknowledgement */
};

/* Bits of tenant_changed() and entity_changed(). */
enum cot_change {
	COT_CHANGED_CLASS = 1u << 0,
	COT_CHANGED_WEIGHT = 1u << 1,
	COT_CHANGED_GPU = 1u << 2,
	COT_CHANGED_ACTIVITY = 1u << 3,
	COT_CHANGED_HINTS = 1u << 4, /* block_us, target_p99_us */
	COT_CHANGED_HELD = 1u << 5,
	COT_CHANGED_RUN =
		1u << 6, /* `run`, `slice_us` or `mode`, without an action of the policy */
	COT_CHANGED_SHARES = 1u << 7, /* quota, reserve; `want` of its works */
};

struct cot_policy;

/* What a policy implements that grants and evicts works. Each may be NULL. */
struct cot_work_ops {
	/* A work waits for cot_grant(): it is new, or it ended with a rest (n_returns). For every
	 * launch of a program: keep it short. */
	void (*ready)(struct cot_policy *p, struct cot_work *w);

	/* CapSMs that were evicted have left: `left` has grown. Not told at its end. */
	void (*evicted)(struct cot_policy *p, struct cot_work *w);

	/* It is over, or its program is gone; what it had is free. `w` is no longer in the table,
	 * and invalid afterwards. */
	void (*done)(struct cot_policy *p, struct cot_work *w);
};

/*
 * What a policy implements. Only `name`, `summary` and `tick` are required: a missing callback does
 * nothing. All are called by the core in one thread, one at a time, in order of time, and must
 * return soon; each may call any action. A callback sees the tables with the change it tells about
 * already made.
 */
struct cot_policy_ops {
	const char *name;    /* as in configurations and scenarios */
	const char *summary; /* one line, for `cotenant list policies` */
	uint32_t abi;	     /* COT_POLICY_ABI */

	/* The host should put tenants into pools, one per class and GPU, unless they ask to stand
	 * alone. Without it every tenant stands alone. */
	bool wants_pools;

	/* With wants_pools: latency and batch programs go into one pool, so that their works share
	 * the SMs. */
	bool one_pool;

	/* Grants and evicts works. NULL: the core grants every work what it wants, or what its
	 * program reserved, at once. */
	const struct cot_work_ops *works;

	/* Bytes that the policy remembers of itself (p->state), and of each entity, tenant and work
	 * (`own`); aligned for every type. At most COT_POLICY_STATE_MAX and COT_POLICY_OWN_MAX. */
	uint32_t state_bytes, entity_bytes, tenant_bytes, work_bytes;

	/*
	 * Before everything else. The tables are those of this moment: tenants and entities that
	 * exist already are not announced again, and may be frozen by the policy before this one.
	 * A failure (-errno) makes the core fall back.
	 */
	int (*init)(struct cot_policy *p);

	/* After everything else. No action may be called; the core thaws what is left frozen. */
	void (*fini)(struct cot_policy *p);

	/* A program registered. If it stands alone, its entity comes up later or never: only
	 * programs that use the GPU get one. Once per program. */
	void (*tenant_joined)(struct cot_policy *p, struct cot_tenant *t);

	/* It ended. Its entity, if it stood alone, went down before. */
	void (*tenant_left)(struct cot_policy *p, struct cot_tenant *t);

	/* `what` is a set of enum cot_change. As often as activity is known to change: in a
	 * simulator for every request. */
	void (*tenant_changed)(struct cot_policy *p, struct cot_tenant *t, unsigned what);

	/* A pool's server, or a program that stands alone, has its channel groups: from now on it
	 * can be acted upon. It runs with the driver's slice, unless a daemon before this one left
	 * it otherwise. */
	void (*entity_up)(struct cot_policy *p, struct cot_entity *e);

	/* It is gone: its program ended, its pool died, or its library was lost sight of (whose
	 * lease then thaws it). Actions on it are refused. `e` is invalid afterwards. */
	void (*entity_down)(struct cot_policy *p, struct cot_entity *e);

	/* `what` is a set of enum cot_change. */
	void (*entity_changed)(struct cot_policy *p, struct cot_entity *e, unsigned what);

	/*
	 * An action of this policy was acknowledged, failed, or got no answer in time. Every action
	 * that was accepted with 0 and was not a repetition ends here exactly once, unless a later
	 * one replaced it or the entity goes down before. A freeze that failed is followed by a
	 * thaw of the core's own, to be sure.
	 */
	void (*action_done)(struct cot_policy *p, struct cot_entity *e,
			    const struct cot_action_result *r);

	/*
	 * Decide. Required. Called after each event, when the callbacks above have told about it,
	 * and when the time that it returned last has come. Returns when it wants to be called next
	 * at the latest; COT_NEVER when only an event can change its mind. A time in the past, or
	 * too soon, is moved to the earliest that the core allows. The core also calls when an
	 * action that failed may be tried again.
	 */
	uint64_t (*tick)(struct cot_policy *p);

	/*
	 * The slice of an entity that is being set up and is not in the table yet: entity_up()
	 * follows soon, and then what the policy wishes counts. Without it the driver's own. May
	 * be called at any time; changes nothing.
	 */
	uint32_t (*first_slice)(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask);
};

#define COT_POLICY_STATE_MAX 4096
#define COT_POLICY_OWN_MAX   64

/* What the core implements for policies; call it by the functions below. */
struct cot_policy_actions {
	int (*set_slice)(struct cot_policy *p, struct cot_entity *e, uint32_t slice_us);
	int (*set_mode)(struct cot_policy *p, struct cot_entity *e, enum cot_mode mode);
	int (*freeze)(struct cot_policy *p, struct cot_entity *e);
	int (*thaw)(struct cot_policy *p, struct cot_entity *e);
	int (*grant)(struct cot_policy *p, struct cot_work *w, uint32_t capsms, bool settled);
	int (*evict)(struct cot_policy *p, struct cot_work *w, uint32_t capsms);
};

/* A policy at work. Owned by the core, read-only. */
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
	/* By GPU, those that run, in order of their start; and where some wait, and run. */
	struct cot_work *running[COT_POLICY_GPUS_MAX];
	uint64_t waiting_gpus, running_gpus;
};

#define cot_for_each_entity(e, p)	for ((e) = (p)->entities; (e); (e) = (e)->next)
#define cot_for_each_tenant(t, p)	for ((t) = (p)->tenants; (t); (t) = (t)->next)
#define cot_for_each_work(w, p)		for ((w) = (p)->works; (w); (w) = (w)->next)
#define cot_for_each_running(w, p, gpu) for ((w) = (p)->running[gpu]; (w); (w) = (w)->next_running)

/*
 * ---- what a policy may do ----
 *
 * An action says how the entity shall be; asking for what is already so, or already on its way, is
 * free. So a policy may simply state its wishes in every tick(). A later wish replaces an earlier
 * one. Answers: 0; -EAGAIN when it cannot be done now (held by the user, or the same wish has just
 * failed: the core waits before it lets it be tried again); -EINVAL for a wrong argument and -EPERM
 * during fini(), which are counted against the policy.
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
 * Lets a waiting work begin with `capsms` (1 to want). `settled`: all of it may be evicted later;
 * only for one that can_settle. For a running work that can_grow, `capsms` is the new end of its
 * numbers, as large as before or larger, so that at most `want` run; `settled` stays as it was.
 * -EINVAL for anything else; -EAGAIN when its numbers are used up.
 */
static inline int cot_grant(struct cot_policy *p, struct cot_work *w, uint32_t capsms, bool settled)
{
	return p->actions->grant(p, w, capsms, settled);
}

/* The first `capsms` of a running work shall leave: as many as before or more, and fewer than were
 * granted unless it is settled. Else -EINVAL. */
static inline int cot_evict(struct cot_policy *p, struct cot_work *w, uint32_t capsms)
{
	return p->actions->evict(p, w, capsms);
}

/* 1 to n_sms; 0 when nothing was said. Percent are rounded to the nearest. */
static inline uint32_t cot_share_sms(struct cot_share share, uint32_t n_sms)
{
	uint32_t n = share.sms;

	if (share.pct)
		n = (n_sms * share.pct + 50) / 100;
	else if (!n)
		return 0;
	return n < 1 ? 1 : n < n_sms ? n : n_sms;
}

/* Whether `e` may have work for the GPU. */
static inline bool cot_entity_may_run(const struct cot_entity *e)
{
	return e->activity != COT_ACTIVITY_IDLE && !e->held;
}

/* ---- the policies there are (src/policy/registry.c) ---- */

extern const struct cot_policy_ops *const cot_policies[];
extern const unsigned cot_n_policies;
/* What the core falls back to: gives every entity back to the driver. */
extern const struct cot_policy_ops cot_policy_timeslice;

const struct cot_policy_ops *cot_policy_find(const char *name); /* NULL when unknown */
void cot_policy_config_init(struct cot_policy_config *config);

#endif
