/*
 * A plain host for tests of the policy core: does what the daemon does, with time by assignment
 * and with actuators that a test can break.
 */
#ifndef COT_TESTS_POLICY_BENCH_H
#define COT_TESTS_POLICY_BENCH_H

#include "sched/sched.h"

#define BENCH_MAX_PENDING 4096u
#define BENCH_MAX_IDS	  512u
#define BENCH_MAX_WORKS	  1024u

enum { GPU0 = 1u, GPU1 = 2u };

struct bench_pending {
	struct cot_action action;
	uint64_t due_ns;
};

/* What the program of a work has been told. */
struct bench_work {
	uint32_t granted, evicted, n_grants, n_evictions;
	bool settled;
};

struct bench {
	struct cot_sched *sched;
	uint64_t now_ns;
	uint64_t delay_ns; /* of every action */
	/* Returns the status of an action, or BENCH_SILENT. NULL: all succeed. */
	int (*fault)(struct bench *b, const struct cot_action *a);
	void *fault_arg;
	struct bench_pending pending[BENCH_MAX_PENDING];
	uint32_t n_pending;
	/* How the pretended hardware is, by entity id. */
	bool frozen[BENCH_MAX_IDS];
	uint32_t slice_us[BENCH_MAX_IDS];
	enum cot_mode mode[BENCH_MAX_IDS];
	uint64_t thawed_ns[BENCH_MAX_IDS]; /* total time thawed, since bench_reset_times() */
	uint64_t n_actions;
	struct bench_work works[BENCH_MAX_WORKS]; /* by id */
	uint32_t n_ids;				  /* one more than the highest id seen */
	struct cot_part part[BENCH_MAX_IDS];	  /* of tenants */
	/* How GPUs are divided, in units of 8: 132 SMs and 16 units, unless a test says otherwise.
	 */
	uint32_t n_sms, n_units;
	uint64_t placed_ns[BENCH_MAX_IDS]; /* when its last PLACE was ordered */
	uint64_t held_ns[BENCH_MAX_IDS];   /* total time held, since bench_reset_times() */
};

#define BENCH_SILENT 1

void bench_init(struct bench *b, const struct cot_policy_ops *ops);
void bench_init_with(struct bench *b, const struct cot_policy_ops *ops,
		     const struct cot_policy_config *config, const struct cot_sched_limits *limits);
void bench_finish(struct bench *b);
/* The same, of memory of its own. */
struct bench *bench_begin(const struct cot_policy_ops *ops);
void bench_end(struct bench *b);
/* No policy of ours makes mistakes. */
void bench_expect_no_mistakes(const struct bench *b);

/* Fills in the time; takes the actions that follow. */
int bench_event(struct bench *b, struct cot_event ev);
/* Lets time pass, with the ticks and answers that fall into it. */
void bench_run(struct bench *b, uint64_t for_ns);
void bench_reset_times(struct bench *b);

/* Short forms of events. */
int bench_solo(struct bench *b, uint32_t id, enum cot_class cls, uint32_t weight);
int bench_solo_on(struct bench *b, uint32_t id, enum cot_class cls, uint32_t weight,
		  uint64_t gpu_mask);
int bench_member(struct bench *b, uint32_t id, enum cot_class cls, uint32_t pool);
int bench_pool(struct bench *b, uint32_t id, enum cot_class cls);
/* A program whose longest block is known; pool 0: it stands alone. Also changes one. */
int bench_blocks(struct bench *b, uint32_t id, enum cot_class cls, uint32_t pool,
		 uint32_t block_us);
int bench_activity(struct bench *b, uint32_t id, enum cot_activity activity);
int bench_leave(struct bench *b, uint32_t id);
int bench_hold(struct bench *b, uint32_t id, bool hold);
/* Works on GPU 0, or another one, of 132 SMs. Those of latency programs are reservations. */
int bench_work(struct bench *b, uint32_t id, uint32_t tenant, uint32_t n_tasks, uint32_t per_sm,
	       uint32_t task_ns, bool can_settle);
int bench_work_on(struct bench *b, uint32_t gpu, uint32_t id, uint32_t tenant, uint32_t n_tasks,
		  uint32_t per_sm, uint32_t task_ns, bool can_settle);
int bench_work_evicted(struct bench *b, uint32_t id, uint32_t capsms);
int bench_work_done(struct bench *b, uint32_t id, uint32_t left);
/* A program alone on GPU 0, or others, with shares; or a change of them. */
int bench_shares(struct bench *b, uint32_t id, enum cot_class cls, struct cot_share quota,
		 struct cot_share reserve);
int bench_shares_on(struct bench *b, uint32_t id, enum cot_class cls, uint64_t gpu_mask,
		    struct cot_share quota, struct cot_share reserve);
/* A program alone on GPU 0 with a share of its SMs, or with {0}. */
int bench_sms(struct bench *b, uint32_t id, enum cot_class cls, struct cot_share sms);
/* It can be placed on a GPU in units of 8, and is on all of it; or it can no longer. */
int bench_parts(struct bench *b, uint32_t id, bool can);
/* A query of a tenant begins, with a plan or NULL; so many of its tasks have ended; it ends. */
int bench_query(struct bench *b, uint32_t id, uint32_t tenant, uint64_t size,
		const struct cot_plan *plan);
int bench_query_tasks(struct bench *b, uint32_t id, uint32_t n_done);
int bench_query_end(struct bench *b, uint32_t id);
/* Its last PLACE says so, and is not older than COT_HOLD_MAX_NS. */
bool bench_is_held(const struct bench *b, uint32_t id);
struct cot_sched_stats bench_stats(const struct bench *b);

#endif
