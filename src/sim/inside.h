/*
 * The inside of a simulation, shared by the files of src/sim/. Outsiders use sim.h, schedulers
 * hw.h. Every pointer is owned by the struct cot_sim it hangs from.
 *
 *   app.c       programs: CPU phases, enqueueing, waiting, replay
 *   dispatch.c  command queues -> engines: command buffers and the transfer engine
 *   exec.c      the execution engine's tables and the actions of hw.h
 *   sm.c        the SM driver: blocks on SMs, save, restore, drain
 *   sm_tell.c   what observers are told of SMs
 *   contend.c   rates from the fluid model (fluid.c); counts of work, bytes and energy
 *   exec_share.c  the actions of hw.h that need those
 *   sim.c       events in order of time
 */
#ifndef COT_SIM_INSIDE_H
#define COT_SIM_INSIDE_H

#include "base/hist.h"
#include "sim/arrivals.h"
#include "sim/contend.h"
#include "sim/jitter.h"
#include "sim/sim.h"
#include "sim/timers.h"

/*
 * A run of thread blocks [first, first + n) that started together and, being equally long, end
 * together: one event instead of n. With jitter every cohort is a single block.
 */
struct cohort {
	uint64_t work_ps;   /* running: the SM's progress at which it ends; else: work left */
	uint64_t ready_ps;  /* waiting: when it starts */
	uint64_t issued_ps; /* first issue of these blocks, and on which SM: their order */
	uint32_t issued_sm;
	uint32_t first, n;
	bool waiting; /* for restored contexts or SM set-up */
	bool saved;   /* has a context in memory that must be restored before it goes on */
};

/* Preempted Thread Block Queue: FIFO of cohorts (none running). */
struct ptbq {
	struct cohort *ring;
	uint32_t cap, head, n;
};

struct kernel {
	struct hw_kernel hw;
	bool active;
	uint64_t launch_hash; /* identifies the launch for jitter */
	uint64_t block_ps;    /* mean time of its blocks: the kernel's, as long as the request is */
	uint64_t begin_ps;
	uint32_t claimed; /* fresh blocks that coasting SMs will take */
	uint32_t share;	  /* waves an SM could claim at share_at_ps */
	uint64_t share_at_ps;
	struct ptbq ptbq;
};

/*
 * Progress is work done since the SM was set up, in picoseconds of full speed. It grows at
 * rate_q32 and is brought up to date only when the SM has an event or its rate changes, so a
 * change of rate costs the same however many blocks are resident.
 */
struct sm {
	struct hw_sm *hw; /* its entry in hw.sms */
	/* Its rate is 1 and nothing is metered: progress is time. */
	bool plain;
	bool saving;
	bool touched;	      /* what runs on it has changed since contention looked */
	bool awaits;	      /* dispatch in breadth: its first block, at the end of this instant */
	uint32_t coast_waves; /* coasting: whole waves of fresh blocks claimed; else 0 */
	uint32_t n_cohorts, n_waiting;
	struct cohort *cohorts; /* gpu.blocks_per_sm of them */
	uint64_t progress_ps;
	uint64_t first_end_ps;	/* progress at which the first running cohort ends; or UINT64_MAX */
	uint32_t progress_frac; /* 2^-32 ps */
	uint64_t progress_at_ps;
	uint64_t rate_q32;
	struct meter *meter;	  /* NULL where contention is not modelled */
	uint64_t restore_free_ps; /* restores on one SM follow each other */
	uint64_t reserved_ps;	  /* when the preemption began */
	uint64_t save_end_ps;	  /* while saving */
	uint64_t room_ps;	  /* lanes: when what another lane gave up has been saved */
	uint32_t context;	  /* that it worked for last */
	uint64_t wake_ps;	  /* that its set-up takes longer: no power, another context */
	/* what the observer got last */
	enum cot_sm_activity seen_activity;
	uint64_t seen_seq;
};

struct app {
	const struct cot_app *desc;
	uint32_t index;
	uint64_t hash; /* of seed and name: an app alone draws the same block times as in a mix */
	/* The CPU side: steps [0, posted) are done or enqueued. */
	uint32_t posted;
	bool started, in_cpu, waiting;
	enum cot_app_activity seen;
	/* The GPU side: the head of the command queue. */
	uint32_t head, head_launch;
	bool busy;    /* a command of this queue is with an engine */
	bool blocked; /* its context's command buffer is taken */
	uint64_t blocked_seq;
	uint32_t launches; /* of this run so far */
	struct hw_command command;
	uint64_t launch_hash;
	/* transfers */
	uint64_t transfer_seq, transfer_bytes;
	uint32_t transfer_dir;
	bool transfer_queued;
	uint64_t run_begin_ps;
	/* With arrivals: */
	struct arrivals arrivals;
	struct jitter *sizes; /* NULL: all requests are equal */
	bool idle;	      /* no request is there; the timer is that of the next */
	uint64_t arrived_ps;  /* the request of this run, or the next */
	uint64_t size_q32;    /* of this run */
	/* Of the input of this run, and of that of the program; both 0: they are equal. */
	uint32_t size, full_size;
	struct cot_app_result result;
};

enum { DMA_H2D, DMA_D2H, N_DMA };

struct dma {
	uint32_t app;		 /* being served; COT_NO_APP when free */
	uint64_t left_ps, at_ps; /* at full speed, and since when; kept when rates change */
	uint64_t rate_q32;
	uint64_t bytes_q32; /* per picosecond at full speed, latency and all */
};

struct hw {
	struct cot_sim *sim;
	const struct hw_sched_ops *ops;
	struct hw_sm *sms; /* SMST: n_sms entries */
	uint32_t n_idle;
	uint32_t first_idle; /* no SM below it is idle */
	struct hw_kernel *active, **active_tail;
	struct hw_command *pending, **pending_tail;
	struct hw_command **buffers; /* per context; NULL when free */
	struct hw_context *contexts; /* n_apps entries */
	uint32_t n_active, max_active;
	struct kernel *kernels;		/* KSRT: max_active entries */
	uint32_t sms_max[COT_MAX_APPS]; /* that a kernel of the app may have */
	bool rewritten[COT_MAX_APPS];	/* sms_max is 0 at every launch of workers */
	bool held[COT_MAX_APPS];	/* its next launch waits */
	uint32_t sm_begin[COT_MAX_APPS], sm_end[COT_MAX_APPS]; /* of kernels launched from now on */
	unsigned events;				       /* for the next schedule() */
	uint64_t n_refused;
	uint64_t next_seq;
	_Alignas(16) unsigned char state[HW_STATE_MAX];
};

struct cot_sim {
	const struct cot_scenario *sc;
	const struct cot_sim_observer *obs;
	void *obs_arg;
	uint64_t now_ps;
	struct timers timers;
	struct hw hw;
	uint32_t n_slots; /* entries of sms and hw.sms: SMs times lanes */
	struct sm *sms;
	struct contention *contend; /* NULL where nothing says what its blocks do */
	/* For it: what runs has changed; so has what moves. */
	bool touched, flows_touched;
	struct app apps[COT_MAX_APPS];
	struct dma dma[N_DMA];
	uint32_t runnable; /* apps whose CPU side or queue can go on, a bit each */
	uint32_t n_satisfied;
	bool done, out_of_memory;
	bool spread_due; /* dispatch in breadth: SMs may take blocks at the end of this instant */
	uint32_t n_coasting;
	struct jitter *jitter; /* NULL when all blocks are equal */
	uint64_t block_completions, preemptions, saved_bytes, restored_bytes;
	struct cot_hist *latency;
};

/* ---- sm.c ---- */

int cot_sm_init(struct sm *sm, struct hw_sm *hw, uint32_t index, uint32_t max_blocks);
void cot_sm_finish(struct sm *sm);
void cot_sm_set_up(struct cot_sim *sim, struct sm *sm, struct kernel *k);
void cot_sm_begin_preemption(struct cot_sim *sim, struct sm *sm);
/* Lets the blocks end, whatever the mode. */
void cot_sm_begin_drain(struct cot_sim *sim, struct sm *sm);
/* Takes the blocks off the SM that are more than its limit. */
void cot_sm_shed(struct cot_sim *sim, struct sm *sm);
void cot_sm_refill(struct cot_sim *sim, struct sm *sm);
/* Gives the SM blocks until it has `most`; one that gets none and has none becomes idle. */
void cot_sm_fill(struct cot_sim *sim, struct sm *sm, uint32_t most);
void cot_sm_on_timer(struct cot_sim *sim, struct sm *sm);
/* Brings the tables up to date with coasting SMs, before the scheduler looks. */
void cot_sm_settle_all(struct cot_sim *sim);
/*
 * Ends the coasting of all SMs (of k, unless NULL) in the midst of an instant: of the waves that
 * end right now, those of SMs below due_before have ended.
 */
void cot_sm_end_coasting(struct cot_sim *sim, const struct kernel *k, uint32_t due_before);
#define SM_ALL_DUE UINT32_MAX
void cot_sm_set_rate(struct cot_sim *sim, struct sm *sm, uint64_t rate_q32);
/* Brings progress, and with it the counts, up to date. */
void cot_sm_bring_up_to_date(struct cot_sim *sim, struct sm *sm);
/* The blocks that run now. */
uint32_t cot_sm_n_running(const struct sm *sm);
/* Sets the timer again: the meter's quota has changed. The SM is up to date. */
void cot_sm_retime(struct cot_sim *sim, struct sm *sm);
/* Tells the observer what the SM does, if that changed. In sm_tell.c. */
void cot_sm_tell(struct cot_sim *sim, struct sm *sm);

static inline void cot_sm_observe(struct cot_sim *sim, struct sm *sm)
{
	if (COT_UNLIKELY(sim->obs))
		cot_sm_tell(sim, sm);
}

/* What runs changed. Contention looks at it at the end of the instant, if it is modelled. */
static inline void cot_touch(struct cot_sim *sim, struct sm *sm)
{
	sim->touched = true;
	sm->touched = true;
}

static inline void cot_touch_flows(struct cot_sim *sim)
{
	sim->touched = true;
	sim->flows_touched = true;
}

/* ---- exec.c ---- */

/* With dispatch in breadth: gives SMs the blocks that they may take. */
void cot_spread(struct cot_sim *sim);

static inline bool spreads(const struct cot_sim *sim)
{
	return sim->sc->dispatch == COT_DISPATCH_BREADTH;
}

/* Blocks of k that are on no SM. */
static inline uint32_t blocks_left(const struct hw_kernel *k)
{
	return k->n_fresh + k->n_preempted;
}

static inline struct kernel *kernel_of(struct hw_kernel *k)
{
	return (struct kernel *)k;
}

/* Counts a wrong action; false. */
void hw_refuse(struct hw *hw);
int hw_init(struct hw *hw, struct cot_sim *sim, const struct hw_sched_ops *ops);
void hw_finish(struct hw *hw);
/* A launch has reached its context's command buffer, which is free. */
void hw_submit(struct hw *hw, struct hw_command *c);
/* The last block of k is done: leaves the active queue. */
void hw_complete(struct hw *hw, struct kernel *k);
/* A running SM takes no new block, and is idle when its blocks have ended. */
void hw_retire(struct hw *hw, struct hw_sm *sm);
/* Asks the scheduler if anything happened. */
void hw_decide(struct hw *hw);
int cot_ptbq_push(struct ptbq *q, const struct cohort *c);
/* Takes at most max_blocks blocks from the head; the queue is not empty. */
struct cohort cot_ptbq_pop(struct ptbq *q, uint32_t max_blocks);

/* ---- dispatch.c ---- */

/* As many of `n` things as an input of this run's size needs; n is at most 2^40. */
static inline uint64_t cot_app_sized(const struct app *app, uint64_t n)
{
	return cot_size_scaled(n, app->size, app->full_size);
}

/* Sends the head of the app's command queue to its engine, if there is one and it is free. */
void cot_dispatch_app(struct cot_sim *sim, struct app *app);
bool cot_queue_is_empty(const struct app *app);
/* The context's command buffer is free again. */
void cot_dispatch_unblock(struct cot_sim *sim, uint32_t context);
/* The command that the app's queue waited for is complete. */
void cot_dispatch_complete(struct cot_sim *sim, struct app *app);
void cot_dma_on_timer(struct cot_sim *sim, uint32_t dir);
/* A transfer goes on at a fraction of its full speed. */
void cot_dma_set_rate(struct cot_sim *sim, uint32_t dir, uint64_t rate_q32);
/* Starts the transfers that may start: a context was thawed. */
void cot_dma_kick(struct cot_sim *sim);

/* ---- app.c ---- */

/* -ENOMEM; cot_app_finish() is due even then. */
int cot_app_init(struct app *app, const struct cot_app *desc, uint32_t index, uint64_t seed);
void cot_app_finish(struct app *app);
/* Lets the CPU side go on as far as it can. */
void cot_app_advance(struct cot_sim *sim, struct app *app);
void cot_app_on_timer(struct cot_sim *sim, struct app *app);
/* Tells the observer what the CPU side does, if that changed. */
void cot_app_observe(struct cot_sim *sim, struct app *app, enum cot_app_activity activity);

/* ---- alone.c ---- */

/* The scenario of one app of `sc`, without a policy; free() it. NULL: no memory. */
struct cot_scenario *cot_alone_make(const struct cot_scenario *sc, uint32_t index);

/* ---- timer ids ---- */

static inline uint32_t timer_of_sm(const struct cot_sim *sim, uint32_t sm)
{
	(void)sim;
	return sm;
}
static inline uint32_t timer_of_app(const struct cot_sim *sim, uint32_t app)
{
	return sim->n_slots + app;
}
static inline uint32_t timer_of_dma(const struct cot_sim *sim, uint32_t dma)
{
	return sim->n_slots + sim->sc->n_apps + dma;
}
static inline uint32_t timer_of_sched(const struct cot_sim *sim)
{
	return sim->n_slots + sim->sc->n_apps + N_DMA;
}
static inline uint32_t timer_of_alarm(const struct cot_sim *sim)
{
	return timer_of_sched(sim) + 1;
}
static inline uint32_t timer_of_epoch(const struct cot_sim *sim)
{
	return timer_of_alarm(sim) + 1;
}
static inline uint32_t n_timers(const struct cot_sim *sim)
{
	return timer_of_epoch(sim) + 1;
}

#endif
