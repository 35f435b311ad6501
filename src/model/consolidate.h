/*
 * Whether kernels should run together: the decision flow of the patent's Fig. 4. Its static form
 * (before a consolidated kernel is written) and its runtime form (requests have arrived) are one
 * function: at run time the kernels are those that have arrived, and gpu.memory_bytes is what is
 * free. Judging anew takes about a microsecond, so no verdict is kept with a consolidated kernel.
 * Pure; see model.h.
 */
#ifndef COT_MODEL_CONSOLIDATE_H
#define COT_MODEL_CONSOLIDATE_H

#include "model/place.h"
#include "model/power.h"

#define COT_MODEL_KINDS_MAX  COT_MODEL_SET_MAX /* different kernels of a plan */
#define COT_MODEL_COPIES_MAX 64u	       /* of one kernel */
#define COT_MODEL_MIXED_MAX  4u		       /* kernels of a set that is not all copies of one */

struct cot_model_machine {
	struct cot_model_gpu gpu;
	struct cot_model_power power;
	struct cot_model_options options;
	/* The criterion that Fig. 4 leaves open: together must use less than (1 - min_gain) of the
	 * energy that the kernels take each alone, on the GPU or the CPU. 0: any gain. */
	double min_gain;
};

/* What a run of a set costs the system, transfers and launches included (at idle power). */
struct cot_model_cost {
	double seconds, energy_j;
	double exec_s, transfer_s;
	double launch_s; /* beyond both, at idle power (launch.h) */
	double power_w;	 /* mean over the execution */
	struct cot_model_draw draw;
	double thermal_w;
};

/*
 * `copies[i]` instances of kernels[i] at once, for n kernels; `copies` NULL: one of each. Kernels
 * without copies are left out. -EINVAL: a block does not fit on an SM, no kernel, too many.
 */
int cot_model_cost_of(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		      const uint32_t *copies, uint32_t n, struct cot_model_cost *ret_cost);

struct cot_model_verdict {
	struct cot_model_cost together;
	double apart_s, apart_j; /* one after another on the GPU, in one stream */
	double least_j;		 /* each alone where it takes least, on the GPU or the CPU */
	bool fits;		 /* a block of the set fits on an SM, the data on the device */
	bool energy_ok, time_ok; /* against one after another, as in Fig. 4 */
	bool consolidate;	 /* all of these, and less than (1 - min_gain) of least_j */
};

/* `together` is all 0 where no block fits. -EINVAL: a kernel cannot even run alone, or fewer than
 * two instances. */
int cot_model_judge(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		    const uint32_t *copies, uint32_t n, struct cot_model_verdict *ret_verdict);

/* ---- alone ---- */

enum cot_model_where { COT_MODEL_TOGETHER, COT_MODEL_GPU, COT_MODEL_CPU };

/* The cheaper place for one kernel. */
int cot_model_alone(const struct cot_model_machine *m, const struct cot_model_kernel *k,
		    enum cot_model_where *ret_where, double *ret_energy_j);

enum cot_model_aim { COT_MODEL_ENERGY, COT_MODEL_TIME };

/*
 * Up to how many thread blocks, of at most `most`, launches of this kernel are to be on the CPU:
 * each of these sizes takes less there, of energy or of time. What the kernel's n_blocks take on
 * the CPU, transfer and hold grows with the number of blocks. -EINVAL as cot_model_judge().
 */
int cot_model_cpu_up_to(const struct cot_model_machine *m, const struct cot_model_kernel *k,
			enum cot_model_aim aim, uint32_t most, uint32_t *ret_blocks);

/* ---- search ---- */

/*
 * Visits the candidates among pending requests, pending[i] (to COT_MODEL_COPIES_MAX) instances of
 * kernel i, n kernels (to COT_MODEL_KINDS_MAX): every set of 2 to COT_MODEL_MIXED_MAX instances,
 * and every number of copies of one kernel. copies[] is the candidate; begin with all 0. false: no
 * more.
 */
bool cot_model_next_candidate(const uint32_t *pending, uint32_t n, uint32_t *copies);

struct cot_model_step {
	uint32_t copies[COT_MODEL_KINDS_MAX];
	uint32_t n; /* instances */
	enum cot_model_where where;
	struct cot_model_verdict verdict; /* of a set of two and more */
	double energy_j, seconds;	  /* of the step as it is done */
};

#define COT_MODEL_STEPS_MAX (COT_MODEL_KINDS_MAX * COT_MODEL_COPIES_MAX)

/*
 * Greedy: runs the set that saves the most energy, then the best of the rest, until nothing saves.
 * What is left runs one by one where it is cheaper. Equal savings: more instances first, then the
 * shorter time, then the set found first. Calls `take` for each step in order.
 */
int cot_model_plan(const struct cot_model_machine *m, const struct cot_model_kernel *kernels,
		   const uint32_t *pending, uint32_t n,
		   void (*take)(void *arg, const struct cot_model_step *step), void *arg);

#endif
