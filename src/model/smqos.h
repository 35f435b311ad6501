/*
 * The decisions of SMQoS (Sun et al., "SMQoS: Improving Utilization and Energy Efficiency with QoS
 * Awareness on GPUs"), section III, as functions of numbers: Algorithm 1 for a task with a goal,
 * the search for the best number of SMs of a batch task, and Algorithm 2. The simulated hardware
 * scheduler `smqos` decides by them, and the software policy `smqos`. SMs may be units of SMs, and
 * a rate is whatever the caller measures in an epoch: instructions per cycle, launches per second.
 *
 * Corrected: the printed flags of Algorithm 1 are never reset; and the printed rule for a batch
 * task that gave an SM away ends the search one step down whatever it finds, so that a task never
 * goes below its first number of SMs. And a move that takes longer than an epoch is waited for: the
 * printed rule moves an SM again in each of these epochs. docs/simulator.md has the argument.
 */
#ifndef COT_MODEL_SMQOS_H
#define COT_MODEL_SMQOS_H

#include <stdbool.h>
#include <stdint.h>

/* From which change of its rate on an SM is useful to a batch task. The paper prints none; perfect
 * scaling gains 1/n on n SMs, so it must be less than that. */
#define COT_SMQOS_THRESHOLD 0.03

enum cot_smqos_op { COT_SMQOS_NONE, COT_SMQOS_IN, COT_SMQOS_OUT };

/* What is remembered of a batch task. */
struct cot_smqos_task {
	uint32_t opt;		/* best number of SMs known */
	bool upper;		/* more SMs do not pay */
	bool lower;		/* fewer SMs hurt */
	enum cot_smqos_op last; /* what it wanted itself at the end of the last epoch, and got */
	double rate_last;	/* of the epoch before that */
};

/*
 * Algorithm 1: what a task with a goal wants. `ave` is its mean over n_epochs, `epoch` the last one
 * alone. It gives an SM away only if its mean would survive an epoch in which it does nothing.
 */
enum cot_smqos_op cot_smqos_goal_wants(double ave, double epoch, double target, uint64_t n_epochs);

/*
 * Whether it may have that after an epoch in which an SM of it was changing hands: such an epoch
 * says nothing about how many SMs it needs. What it misses on average it may ask for.
 */
static inline bool cot_smqos_goal_may(enum cot_smqos_op op, bool settled, double ave, double target)
{
	return settled || (op == COT_SMQOS_IN && ave < target);
}

/* An epoch with `rate` on n SMs is over: what that says about the task's last swap. */
void cot_smqos_judge(struct cot_smqos_task *t, uint32_t n, double rate, double threshold);

/* Algorithm 2: what a batch task on n SMs wants. */
enum cot_smqos_op cot_smqos_batch_wants(const struct cot_smqos_task *t, uint32_t n);

/*
 * Both as the paper prints them, to compare with: the first SM that goes without harm ends the
 * search, so that a task stays above what pays; and an SM that was taken in vain is kept.
 */
void cot_smqos_judge_printed(struct cot_smqos_task *t, uint32_t n, double rate, double threshold);
enum cot_smqos_op cot_smqos_batch_wants_printed(const struct cot_smqos_task *t, uint32_t n);

#endif
