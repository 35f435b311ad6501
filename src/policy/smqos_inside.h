/*
 * What the files of the policy `smqos` share.
 *
 *   smqos.c          callbacks, quiet times, parts
 *   smqos_units.c    which program owns how many units
 *   smqos_epochs.c   what counts of launches say: Algorithms 1 and 2
 *   smqos_explain.c what users are told
 */
#ifndef COT_POLICY_SMQOS_INSIDE_H
#define COT_POLICY_SMQOS_INSIDE_H

#include "model/smqos.h"
#include "policy/placing.h"

/* Without launches for so long a program is not at work. This and all other times are our choice.
 */
#define SMQOS_SLEEP_NS (10 * COT_NS_PER_S)

struct smqos_count {
	float n, s; /* launches, seconds */
};

enum smqos_quiet {
	SMQOS_QUIET_NONE,
	SMQOS_QUIET_DUE, /* its rate alone is to be measured anew */
	SMQOS_QUIET_NOW,
};

/* What is remembered of a program. */
struct smqos_program {
	struct cot_smqos_task task;
	uint64_t settled_ns; /* since when it has its part; COT_NEVER: not yet */
	uint64_t again_ns; /* when its rate alone may be measured next; or must be, in QUIET_NOW */
	struct smqos_count epoch, all;
	float alone;   /* launches a second; 0: not known */
	uint16_t n;    /* units; 0: it is on the first one, with whom it belongs to */
	uint8_t quiet; /* enum smqos_quiet */
	uint8_t n_quiet;
};

/* One GPU while it is dealt out. */
struct smqos_deal {
	struct cot_policy *p;
	struct placing l;
	uint32_t n_units; /* of l.bottom to l.top */
	uint32_t n_awake;
	uint64_t weight; /* of those that are awake */
	bool any_goal;	 /* one of them has a target */
	struct cot_tenant *quiet;
};

static inline struct smqos_program *smqos_program(const struct cot_tenant *t)
{
	return t->own;
}

static inline bool smqos_has_goal(const struct cot_tenant *t)
{
	return t->target.kind == COT_TARGET_RATE;
}

static inline bool smqos_is_dealt(const struct smqos_deal *d, const struct cot_tenant *t)
{
	return placing_is_dealt(d->p, &d->l, t);
}

static inline bool smqos_is_awake(const struct cot_policy *p, const struct cot_tenant *t)
{
	return t->launches.at_ns && t->launches.at_ns + SMQOS_SLEEP_NS > p->now_ns;
}

/* How many units it has more than are of use to it, as far as that is known. */
static inline int64_t smqos_spare(const struct cot_tenant *t)
{
	return (int64_t)smqos_program(t)->n - (smqos_has_goal(t) ? 0 : smqos_program(t)->task.opt);
}

/* ---- smqos_units.c ---- */

uint32_t cot_smqos_owned(const struct smqos_deal *d);

/* Of those with more than so many units who can best do without one; NULL. */
struct cot_tenant *cot_smqos_victim(const struct smqos_deal *d, bool with_goal, uint32_t more_than);

/* A unit of nobody's; if there is none, of `from`, which may be NULL. Whether it has got one. */
bool cot_smqos_gain(struct smqos_deal *d, struct cot_tenant *t, struct cot_tenant *from);

/* Others may have been given SMs that belonged to these. */
void cot_smqos_fit(struct smqos_deal *d);

/* Who has begun to launch owns units, who has stopped does not. */
void cot_smqos_admit(struct smqos_deal *d);

/* ---- smqos_epochs.c ---- */

/* A count of launches has come. */
void cot_smqos_count(struct cot_policy *p, struct cot_tenant *t);

/* Ends the epochs that are long enough: units change hands. */
void cot_smqos_end_epochs(struct smqos_deal *d);

/* What an earlier run says of a program with a target: its rate alone; and returns how many units
 * it needed, 0 if that is not known. */
uint32_t cot_smqos_recall(const struct smqos_deal *d, struct cot_tenant *t);

/* Whether it has been fast enough, on average. */
bool cot_smqos_is_kept(const struct cot_tenant *t);

/* How fast it was in the last second, in parts of its rate alone; 0: not known. */
double cot_smqos_share(const struct cot_tenant *t);

/* The next quiet time of the program is twice as far off as the last one was. */
void cot_smqos_put_off(struct smqos_deal *d, struct smqos_program *own);

/* ---- smqos_explain.c ---- */

/* explain() of the policy. */
unsigned cot_smqos_explain(const struct cot_policy *p, const struct cot_tenant *t,
			   struct cot_fact *facts, unsigned max);

#endif
