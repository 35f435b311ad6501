/*
 * Passes: a kernel in, another kernel beside it out. The original stays as it is, so the module's
 * variables are shared between the two. docs/ptx.md says what each pass makes and how it is called.
 *
 * A kernel that a pass cannot do right is refused: one reason (reasons.def), one line of the text,
 * one sentence; the module is not changed then. After each pass the new functions are verified.
 * Like the module, a pass belongs to one thread.
 */
#ifndef COT_PTX_PASS_PASS_H
#define COT_PTX_PASS_PASS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "ptx/ptx.h"

enum cot_pass {
	COT_PASS_WORKERS, /* fewer blocks, each doing many tasks; can be asked to leave */
	COT_PASS_RETREAT, /* blocks that stay or end by the SM they are on */
	COT_PASS_SLICE,	  /* some of the blocks of the grid */
	COT_PASS_FUSE,	  /* two kernels in one grid */
	COT_PASS_COUNT,	  /* counts instructions and bytes of each block */
	COT_PASS_RECORD,  /* notes when and where each block ran */
	COT_PASS_BATCH,	  /* several launches of one kernel in one grid */
	COT_N_PASSES,
};

struct cot_pass_info {
	const char *name;    /* "workers" */
	const char *suffix;  /* "$cot_workers": what is added to the kernel's name */
	const char *alias;   /* a second name, of a slice that is the whole grid; NULL: none */
	const char *summary; /* for lists */
};

const struct cot_pass_info *cot_pass_info(enum cot_pass pass);
int cot_pass_find(const char *name, size_t length, enum cot_pass *ret_pass); /* -ENOENT */

enum cot_reason {
	COT_REASON_NONE,
#define REASON(id, name, passes, why) COT_REASON_##id,
#include "ptx/pass/reasons.def"
#undef REASON
	COT_N_REASONS,
};

const char *cot_reason_name(enum cot_reason reason); /* "early-return-barrier" */
const char *cot_reason_why(enum cot_reason reason);  /* half a sentence */
bool cot_reason_refuses(enum cot_reason reason, enum cot_pass pass);

struct cot_refusal {
	enum cot_reason reason;	  /* COT_REASON_NONE: not refused */
	uint32_t line;		  /* in the text that was parsed; 0: none */
	char text[COT_ERROR_MAX]; /* "kernel NAME, line N: NAME OF THE REASON: ..." */
};

/* What is known of a kernel and the functions that it calls. */
struct cot_facts {
	uint32_t ctaid, nctaid; /* bits 0 to 2: x, y, z is read */
	uint64_t shared_bytes;	/* static shared memory */
	uint32_t n_calls;	/* calls of functions with a body */
	uint16_t barriers;	/* bit n: barrier n is used */
	bool named_barriers;	/* barriers other than bar.sync 0 of the whole block */
	bool uses_shared;	/* reads, writes or names shared memory, or has a barrier */
	bool nested_loops;	/* loops inside loops, in it or in what it calls */
	bool early_return;	/* threads may return before a barrier that others wait at */
	bool needs_rows;	/* right only if the block's x size is a multiple of 32 */
	bool async_copies;	/* cp.async */
	bool spins; /* a loop waits for memory that others write; looked for by workers, retreat and
		       batch */
};

/*
 * Whether the pass takes the kernel. 0: yes, and *ret_facts (may be NULL) is filled in; -ENOTSUP:
 * no, see *ret_refusal; -ENOMEM.
 */
int cot_pass_check(enum cot_pass pass, const struct cot_ptx_func *kernel,
		   struct cot_facts *ret_facts, struct cot_refusal *ret_refusal);

/*
 * Makes the new kernel, named like the old one with the pass's suffix, and verifies it. -ENOTSUP:
 * refused; other errors are in *err (-EEXIST: the name is taken; -EINVAL: the module itself is
 * wrong in a way that the verifier found, or the pass is COT_PASS_FUSE, which takes two kernels).
 */
int cot_pass_apply(enum cot_pass pass, struct cot_ptx_func *kernel,
		   struct cot_ptx_func **ret_kernel, struct cot_refusal *ret_refusal,
		   struct cot_error *err);

/* The same for two kernels of one module; the new one is called FIRST$cot_fuse$SECOND. */
int cot_pass_fuse(struct cot_ptx_func *first, struct cot_ptx_func *second,
		  struct cot_ptx_func **ret_kernel, struct cot_refusal *ret_refusal,
		  struct cot_error *err);

/* Where a kernel's addresses can come from. */
enum cot_reach {
	COT_REACH_ARGUMENTS, /* its arguments alone, with numbers added */
	COT_REACH_VARIABLES, /* variables of the module, too */
	COT_REACH_ANYTHING,  /* memory, too; or calls, textures and the like, which are not looked
				into */
};

/* Errs on the side of more. -ENOMEM. */
int cot_pass_reach(const struct cot_ptx_func *kernel, enum cot_reach *ret_reach);

/* How `batch` lays out the launches of a kernel with these parameters. -E2BIG: not even two fit. */
struct cot_batch_shape;
int cot_pass_batch_shape(const struct cot_ptx_func *kernel, struct cot_batch_shape *ret_shape);
/* Where a parameter begins, in bytes behind the first one's beginning, as they lie in a launch. */
uint64_t cot_pass_param_at(const struct cot_ptx_func *kernel, uint32_t param);

#endif
