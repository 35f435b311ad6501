/*
 * What is known of a program from profiling it (docs/laius.md): how long its queries, or what it
 * repeats, take on parts of the GPU of several sizes. Read from and written to files of the format
 * cotenant.knowledge/1, and turned into plans and predictions for policies.
 *
 * A *quota* is a size of part, an *input* one size of a query's input, a *task* one launch of a
 * kernel in a query. Numbers in files are measurements only; what is predicted from them follows
 * when a file is read, with the same bits everywhere.
 *
 * Belongs to one thread at a time; does not change once it is complete.
 */
#ifndef COT_KNOWLEDGE_KNOWLEDGE_H
#define COT_KNOWLEDGE_KNOWLEDGE_H

#include <cotenant/policy.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"
#include "model/knn.h"

#define COT_KNOWN_QUOTAS_MAX  32u
#define COT_KNOWN_INPUTS_MAX  128u
#define COT_KNOWN_KERNELS_MAX 1024u
#define COT_KNOWN_SMS_MAX     1024u
#define COT_KNOWN_TASKS_MAX   4096u  /* of a query */
#define COT_KNOWN_ALL_TASKS   32768u /* of all inputs together */
#define COT_KNOWN_NAME_MAX    192u
#define COT_KNOWN_SIZE_MAX    (1ULL << 53)
#define COT_KNOWN_NS_MAX      3600000000000ULL /* an hour */
#define COT_KNOWN_BYTES_MAX   1000000000000000ULL
#define COT_KNOWN_IPC_MAX     1000000000u

/* From so many inputs on, a tree predicts the sizes between them. */
#define COT_KNOWN_TREE_INPUTS 8u

/* At each quota, with nobody beside it. All bytes_per_s or all ipc_milli 0: not known. */
struct cot_known_rates {
	uint64_t time_ns[COT_KNOWN_QUOTAS_MAX];
	uint64_t bytes_per_s[COT_KNOWN_QUOTAS_MAX]; /* to and from the GPU's memory */
	uint32_t ipc_milli[COT_KNOWN_QUOTAS_MAX];
};

struct cot_known_kernel {
	char name[COT_KNOWN_NAME_MAX];
	struct cot_known_rates rates;
};

struct cot_known_input {
	uint64_t size;	   /* as the program counts it; 0, and it is the only one: any */
	uint64_t requests; /* that were measured */
	uint64_t out_ns;   /* the transfer of the result takes about that */
	uint64_t time_ns[COT_KNOWN_QUOTAS_MAX]; /* of a query, without transfers */
	/* That a query moves to and from the GPU's memory, in the mean; all 0: not known. */
	uint64_t bytes_per_s[COT_KNOWN_QUOTAS_MAX];
	/* The kernels of a query, by their number; 0: only how many there are is known, which may
	 * be 0 as well. */
	uint32_t n_tasks, n_launches;
	const uint16_t *tasks;
	/* Once it is complete: time_ns with the host's part of it as it is in the mean of all
	 * quotas, where the kernels are known; and plans for this size, and for sizes that are
	 * nearer to it than to others. */
	uint64_t even_ns[COT_KNOWN_QUOTAS_MAX];
	struct cot_plan plan, near;
};

struct cot_knowledge {
	char program[COT_KNOWN_NAME_MAX];
	char gpu[COT_KNOWN_NAME_MAX];
	enum cot_class cls;
	uint32_t spread_milli; /* p99 of a query's time to its median, in 1/1000; 1000 or more */
	uint32_t n_quotas;
	uint32_t sms[COT_KNOWN_QUOTAS_MAX]; /* the smallest first */
	/* Of a latency program: inputs, the smallest first, and their kernels. */
	uint32_t n_inputs, n_kernels;
	struct cot_known_input *inputs[COT_KNOWN_INPUTS_MAX];
	struct cot_known_kernel *kernels[COT_KNOWN_KERNELS_MAX];
	/* Of a batch program: of what it repeats. */
	struct cot_known_rates repeats;
	uint64_t kernel_ns[COT_KNOWN_QUOTAS_MAX]; /* its longest kernel; all 0: it is one kernel */
	struct cot_cost cost;			  /* of that, on the largest quota and on the CPU */
	/* Once it is complete: by quota; of a latency program for its largest input. */
	struct cot_prediction predictions[COT_KNOWN_QUOTAS_MAX];
	struct cot_arena *arena;
	uint32_t n_all_tasks;
};

/* ---- to make one ---- */

/* With no inputs, kernels or quotas. NULL: out of memory. */
struct cot_knowledge *cot_knowledge_create(void);
void cot_knowledge_destroy(struct cot_knowledge *k); /* takes NULL */

/* A new input, in its place; -EEXIST, -ENOSPC, -ENOMEM. */
int cot_knowledge_add_input(struct cot_knowledge *k, uint64_t size, struct cot_known_input **ret);
/* Adds a kernel; its number is k->n_kernels before. -ENOSPC, -ENOMEM. */
int cot_knowledge_add_kernel(struct cot_knowledge *k, const char *name,
			     struct cot_known_kernel **ret);
/* Copies the numbers of the input's kernels. -ENOSPC, -ENOMEM. */
int cot_knowledge_set_tasks(struct cot_knowledge *k, struct cot_known_input *in,
			    const uint16_t *tasks, uint32_t n);

/* Makes the plans and predictions. Everything must be filled in, times more than 0. -ENOMEM. */
int cot_knowledge_complete(struct cot_knowledge *k);

/* Adds sizes of parts between those that were measured, so that a policy has one for each sixteenth
 * of the SMs; what is predicted for them lies between. Once, after it is complete. -ENOMEM. */
int cot_knowledge_refine(struct cot_knowledge *k);

/* ---- files ---- */

/* One sentence on failure. What is read is complete. */
int cot_knowledge_parse(const char *name, const void *bytes, size_t size,
			struct cot_knowledge **ret, struct cot_error *err);
int cot_knowledge_read(const char *path, struct cot_knowledge **ret, struct cot_error *err);

/* What is written is read as the same. */
void cot_knowledge_write(const struct cot_knowledge *k, FILE *out);

/* ---- what follows from it ---- */

/*
 * The plan of a query with an input of this size; NULL: it is not known. An input that was measured
 * has its measurements. Between inputs a tree predicts the time if there are enough inputs,
 * otherwise the next larger input stands for the size. What is larger than all inputs is not known,
 * unless the only input is of size 0.
 * Valid as long as `k`; finds it in a few steps.
 */
const struct cot_plan *cot_knowledge_plan(const struct cot_knowledge *k, uint64_t size);

/* The time of the result's transfer, 0 if that is not known. */
uint64_t cot_knowledge_out_ns(const struct cot_knowledge *k, uint64_t size);

/*
 * How many SMs a kernel needs to take at most `permille` thousandths longer than on the largest
 * quota; 0: the kernel is not known. Names are compared up to name_max characters; of several with
 * that name the one counts that needs the most.
 */
uint32_t cot_knowledge_need(const struct cot_knowledge *k, const char *kernel, size_t name_max,
			    uint32_t permille);

/* How far the predictors are off for the times of queries, if trained with 80 % of the
 * measurements: drawn at random, as the paper does, and by inputs, so that none is on both sides.
 * -EINVAL: too few inputs. */
struct cot_knowledge_errors {
	struct cot_predictor_error random[COT_N_PREDICTORS], by_input[COT_N_PREDICTORS];
};
int cot_knowledge_judge(const struct cot_knowledge *k, uint64_t seed,
			struct cot_knowledge_errors *ret);

#endif
