/*
 * Hardware schedulers of the simulated GPU: everything that the author of one needs.
 *
 * A scheduler decides which kernel launches become active and which SM works for which kernel.
 * It does not know how an SM is preempted: it only says that an SM is *reserved* for another
 * kernel, and the SM driver gets there by context switch or by draining (Tanasic et al.,
 * section 3.2). It reads the tables below and calls the hw_*() actions; it knows no time but
 * hw_now_ps(), draws no random numbers and allocates nothing. All state is per simulation: one
 * scheduler may run in thousands of simulations at once.
 *
 * To add a scheduler: one file in src/sim/hw/ with a `const struct hw_sched_ops`, and a line in
 * the table of src/sim/hw/registry.c. The contract suite in tests/policy then runs over it.
 *
 *     launch ---> command buffer ---> active queue (KSRT) ---> SMs (SMST)
 *                 one per context      hw_admit()              hw_assign(), hw_reserve()
 */
#ifndef COT_SIM_HW_HW_H
#define COT_SIM_HW_HW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "trace/scenario.h"

struct hw; /* the execution engine of one simulation */

/* A kernel launch waiting in its context's command buffer. */
struct hw_command {
	uint32_t app, context;
	int32_t priority;
	uint64_t seq; /* arrival order over the whole simulation */
	const struct cot_kernel *kernel;
	uint32_t n_blocks;	   /* of this launch: the kernel's, or fewer with a smaller input */
	uint32_t sm_begin, sm_end; /* as in struct hw_kernel */
	struct hw_command *next;   /* in order of arrival; use hw_for_each_pending() */
};

/* An active kernel: its entry in the Kernel Status Register Table. Read-only but for `priv`. */
struct hw_kernel {
	uint32_t app, context;
	int32_t priority;
	uint64_t seq; /* of the launch */
	const struct cot_kernel *desc;
	uint32_t n_blocks;    /* as in struct hw_command */
	uint32_t n_fresh;     /* blocks never issued */
	uint32_t n_preempted; /* blocks in its PTBQ, waiting to go on */
	uint32_t n_resident;  /* blocks on SMs, those being saved included */
	uint32_t n_awaited;   /* SMs assigned at this instant that wait for their first block */
	uint32_t n_done;
	uint32_t n_sms;	     /* SMs that work for it, those being preempted included */
	uint32_t n_reserved; /* SMs that are reserved for it */
	bool issue;	     /* see hw_set_issue() */
	/* It may be on the SMs [sm_begin, sm_end) only: its program's part when it was launched. */
	uint32_t sm_begin, sm_end;
	struct hw_kernel *next; /* in order of admission; use hw_for_each_active() */
	struct {
		int32_t tokens;
		bool extra;
	} priv; /* the scheduler's own; zero at admission */
};

enum hw_sm_state {
	HW_SM_IDLE,
	HW_SM_RUNNING,
	HW_SM_RESERVED, /* being preempted: no new block of `kernel`; then works for `next` */
	HW_SM_GATED,	/* idle and without power, until it is assigned */
};

/* An SM: its entry in the SM Status Table. Read-only. */
struct hw_sm {
	uint32_t index;
	uint32_t sm;	/* the SM itself; differs from `index` with `shares_sms` only */
	uint32_t limit; /* blocks of `kernel` that it takes */
	const struct cot_kernel *room; /* with shares_sms: whose blocks `limit` counts */
	enum hw_sm_state state;
	struct hw_kernel *kernel; /* NULL when idle */
	struct hw_kernel *next;	  /* the kernel that it is reserved for; NULL unless RESERVED, or if
				     that kernel left */
	uint32_t n_resident;
	uint64_t begin_ps; /* RUNNING: when the first blocks of `kernel` here start, or started */
};

/* What a software policy wants of a context. Read-only; see cot_sim_set_context(). */
struct hw_context {
	uint64_t slice_ps;	  /* the scenario's quantum at first */
	bool frozen;		  /* no block of it may be on an SM */
	enum cot_preempt preempt; /* the scenario's at first */
};

/* Why schedule() is called: what happened since its last call. */
enum hw_event {
	HW_EV_ARRIVED = 1u << 0,  /* a launch reached its command buffer */
	HW_EV_IDLE = 1u << 1,	  /* an SM became idle */
	HW_EV_FINISHED = 1u << 2, /* a kernel finished and left the active queue */
	HW_EV_SWITCHED = 1u << 3, /* a reserved SM now works for another kernel */
	HW_EV_TIMER = 1u << 4,	  /* the time set by hw_timer_set() has come */
	HW_EV_CONTEXT = 1u << 5,  /* a software policy changed a context */
	HW_EV_EPOCH = 1u << 6,	  /* an epoch has ended: hw_insts() may be read */
	HW_EV_QUOTA = 1u << 7,	  /* a lane has used up what hw_set_quota() gave it */
};

struct hw_sched_ops {
	const char *name;    /* as in scenario files */
	const char *summary; /* one line, for `cotenant list schedulers` */
	bool preempts;	     /* it calls hw_reserve(): the preemption mechanism matters */
	/* Several kernels share an SM, where kernels say what their blocks do: hw_sms() has a lane
	 * of every SM for every app, first lane 0 of all SMs, and a lane is used like an SM once
	 * hw_set_limit() has given it room. Elsewhere there is one lane, and it is the SM. */
	bool shares_sms;
	bool needs_goals; /* without an app's qos it only fills SMs in order of arrival */
	bool contexts;	  /* it obeys struct hw_context, and switches cost gpu.switch_ps */

	/* Bytes of zeroed state that hw_state() returns; at most HW_STATE_MAX. */
	uint32_t state_bytes;

	/*
	 * Decide. Required. Called after everything that happens at one instant has been applied,
	 * with the union of the causes in `events`; again, at the same instant, if completions
	 * let the dispatcher send new launches. So a launch that waits in a command queue behind
	 * a kernel which finishes now is not visible before the finish has been decided upon:
	 * launches of others that already wait come first, as in real hardware.
	 */
	void (*schedule)(struct hw *hw, unsigned events);

	/*
	 * `sm` no longer works for `k`, and not because it was reserved away from it: either it
	 * ran out of k's blocks, or it was reserved for k and k has nothing left to issue. The SM
	 * becomes idle. Optional.
	 */
	void (*sm_released)(struct hw *hw, const struct hw_sm *sm, struct hw_kernel *k);

	/* `k` is about to leave the active queue: the last moment to use its priv. Optional. */
	void (*finished)(struct hw *hw, struct hw_kernel *k);
};

#define HW_STATE_MAX 4096

/* ---- what a scheduler may read ---- */

/* Where these four are stays the same as long as the simulation lives. */
const struct cot_scenario *hw_scenario(const struct hw *hw) COT_CONST;
void *hw_state(struct hw *hw) COT_CONST;
struct hw_sm *hw_sms(struct hw *hw) COT_CONST;	    /* array of hw_scenario()->gpu.n_sms */
uint32_t hw_n_slots(const struct hw *hw) COT_CONST; /* entries of hw_sms() */
uint64_t hw_now_ps(const struct hw *hw);
struct hw_kernel *hw_active(struct hw *hw);   /* first of the active queue */
struct hw_command *hw_pending(struct hw *hw); /* first of the waiting launches */
const struct hw_context *hw_context(const struct hw *hw, uint32_t context);
uint32_t hw_n_active(const struct hw *hw);
bool hw_active_full(const struct hw *hw); /* it has one entry per SM */
/* Whether it may have one more SM: a software policy says how many a rewritten kernel gets. Without
 * one always. */
bool hw_may_take(const struct hw *hw, const struct hw_kernel *k);
struct hw_sm *hw_idle_sm(struct hw *hw); /* the idle SM with the lowest index, or NULL */
struct hw_sm *hw_idle_sm_for(struct hw *hw, const struct hw_kernel *k); /* of those for `k` */

/*
 * Where kernels say what their blocks do, time is cut into epochs of scenario.epoch_cycles, and
 * instructions are counted: those of an app that count towards its promise, so far. 0 elsewhere.
 */
double hw_insts(const struct hw *hw, uint32_t app);

#define hw_for_each_active(k, hw)  for ((k) = hw_active(hw); (k); (k) = (k)->next)
#define hw_for_each_pending(c, hw) for ((c) = hw_pending(hw); (c); (c) = (c)->next)
#define hw_for_each_sm(s, hw) \
	for ((s) = hw_sms(hw); (s) < hw_sms(hw) + hw_scenario(hw)->gpu.n_sms; (s)++)

static inline uint32_t hw_epoch_cycles(const struct hw *hw)
{
	uint32_t cycles = hw_scenario(hw)->epoch_cycles;

	return cycles ? cycles : COT_EPOCH_CYCLES_DEFAULT;
}

/* Whether SMs have several lanes; see shares_sms. */
static inline bool hw_has_lanes(const struct hw *hw)
{
	return hw_n_slots(hw) > hw_scenario(hw)->gpu.n_sms;
}

static inline bool hw_may_be_on(const struct hw_kernel *k, const struct hw_sm *sm)
{
	return sm->sm >= k->sm_begin && sm->sm < k->sm_end;
}

/* Blocks of k that are not on an SM, nor sure to be at the end of this instant, and not done. */
static inline uint32_t hw_unissued(const struct hw_kernel *k)
{
	return k->n_fresh + k->n_preempted - k->n_awaited;
}

/* SMs that the unissued blocks of k would fill. */
static inline uint32_t hw_demand(const struct hw_kernel *k)
{
	return (hw_unissued(k) + k->desc->blocks_per_sm - 1) / k->desc->blocks_per_sm;
}

/* ---- what a scheduler may do. Every action checks its arguments: a wrong one changes nothing,
 * is counted (hw_n_refused); what has a result returns false or NULL then. ---- */

/* Moves a waiting launch to the active queue and frees its command buffer and `c`.
 * Refused when the queue is full. */
struct hw_kernel *hw_admit(struct hw *hw, struct hw_command *c);

/* Gives an idle SM to an active kernel that has a block to issue, and may take it and be on it;
 * fills it with blocks: at once, or at the end of the instant if the scenario dispatches in
 * breadth. */
void hw_assign(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k);

/* Starts the preemption of a RUNNING SM in favour of k, another active kernel. */
void hw_reserve(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k);

/* Starts the preemption of a RUNNING SM for no kernel: it becomes idle. */
void hw_evict(struct hw *hw, struct hw_sm *sm);

/* Changes the kernel that a RESERVED SM will work for. */
void hw_retarget(struct hw *hw, struct hw_sm *sm, struct hw_kernel *k);

/* Closes or opens the issue of k's blocks. While closed, its SMs run empty and become idle;
 * when opened, its running SMs are filled again. Open at admission. */
void hw_set_issue(struct hw *hw, struct hw_kernel *k, bool on);

/* Calls schedule() with HW_EV_TIMER at t_ps (>= now); replaces an earlier setting.
 * HW_TIMER_OFF clears it. */
void hw_timer_set(struct hw *hw, uint64_t t_ps);
#define HW_TIMER_OFF UINT64_MAX

/* Takes an idle SM's power away. hw_assign() gives it back, which takes gpu.power.wake_cycles. */
void hw_gate(struct hw *hw, struct hw_sm *sm);

/*
 * With shares_sms: a lane holds at most n blocks of k from now on. Refused when the blocks of all
 * lanes would not fit the SM together, and for 0 while k is there. Blocks that are too many are
 * saved, and what comes in their place waits for that.
 */
bool hw_set_limit(struct hw *hw, struct hw_sm *lane, const struct hw_kernel *k, uint32_t n);

/* Of blocks of k: whether hw_set_limit() would do it. */
bool hw_limit_fits(const struct hw *hw, const struct hw_sm *lane, const struct hw_kernel *k,
		   uint32_t n);

/* The kernels on a lane may issue so many warp instructions from now on, then none. */
void hw_set_quota(struct hw *hw, struct hw_sm *lane, double insts);
#define HW_QUOTA_NONE 1e300
double hw_quota_left(const struct hw *hw, const struct hw_sm *lane);

/* Warps of a lane that could issue but got no slot: the mean since the last call. Once an epoch is
 * over. */
double hw_idle_warps(struct hw *hw, struct hw_sm *lane);

uint64_t hw_n_refused(const struct hw *hw);

/* ---- the schedulers there are (src/sim/hw/registry.c) ---- */

extern const struct hw_sched_ops *const hw_scheds[];
extern const unsigned hw_n_scheds;
const struct hw_sched_ops *hw_sched_find(const char *name); /* NULL when unknown */

#endif
