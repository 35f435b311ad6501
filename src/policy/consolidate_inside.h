/*
 * What the files of `consolidate` share: consolidate.c gathers programs and gives gangs their
 * turns, consolidate_plan.c finds the gangs, consolidate_explain.c says so.
 */
#ifndef COT_POLICY_CONSOLIDATE_INSIDE_H
#define COT_POLICY_CONSOLIDATE_INSIDE_H

#include "model/gang.h"
#include "policy/parts.h"

/* As long as smqos: a program in no turn may launch now and then, so it is seen in that time. */
#define CONSOLIDATE_SLEEP_NS (10 * COT_NS_PER_S)

/* With more programs there are no gangs: each that is held takes 40 orders a second, of which the
 * core allows 4000. An MPS server of today serves no more. */
#define CONSOLIDATE_PROGRAMS_MAX 60u

/* The gang of those whose launches are on the CPU: it has no turns. */
#define CONSOLIDATE_ON_CPU UINT16_MAX

struct consolidate_program {
	struct parts_program parts; /* the first: see policy/parts.h */
	uint64_t held_ns;
	struct cot_part part; /* when it is its gang's turn */
	uint32_t turn_us;     /* how long that lasts */
	uint32_t power_w;     /* of the GPU with the gang, as predicted; 0: not known */
	uint16_t gang;	      /* its number, from 1 on; 0: it is in no plan */
	uint16_t saved;	      /* by the gang, in 1/1000 */
	uint16_t n;	      /* programs of the gang */
	uint8_t way;	      /* enum cot_gang_way */
	bool chosen;	      /* while a plan is made: it is to be in it */
	bool can_cpu;	      /* as it was when its plan was made */
	bool cpu_less;	      /* it would take less on the CPU, where it cannot be put */
};

struct consolidate_gpu {
	uint64_t gather_ns; /* when gathering ends; 0: nobody is gathered */
	uint64_t turn_ns;   /* when the turn ends, if there are several gangs */
	uint32_t n_planned; /* programs in gangs */
	uint32_t n_gangs, turn;
	uint32_t begin, end, unit; /* what was divided among them */
	uint32_t limit_w;	   /* of the GPU, as it counted; 0: not known */
	bool stale;		   /* a program has changed */
};

struct consolidate {
	struct consolidate_gpu gpus[COT_POLICY_GPUS_MAX];
};

static inline struct consolidate_program *consolidate_program(const struct cot_tenant *t)
{
	return t->own;
}

static inline const struct consolidate_gpu *consolidate_gpu(const struct cot_policy *p,
							    const struct cot_tenant *t)
{
	const struct consolidate *c = p->state;

	return &c->gpus[__builtin_ctzll(t->gpu_mask)];
}

/* Whether it is a batch program that is to run now, and asked for no SMs. Brings *wake_ns forward
 * to when that ends by the clock alone. */
bool cot_consolidate_is_pending(const struct cot_policy *p, const struct parts_deal *d,
				const struct cot_tenant *t, uint64_t *wake_ns);

/* Puts all that are pending into gangs; without `with_new` only those that are in one. */
void cot_consolidate_plan(struct cot_policy *p, const struct parts_deal *d,
			  struct consolidate_gpu *g, bool with_new);

unsigned cot_consolidate_explain(const struct cot_policy *p, const struct cot_tenant *t,
				 struct cot_fact *facts, unsigned max);

#endif
