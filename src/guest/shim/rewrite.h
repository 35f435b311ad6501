/* From what the program gives the driver as code (image.c) to PTX with workers in it, or with forms
 * for merged launches. */
#ifndef COT_GUEST_SHIM_REWRITE_H
#define COT_GUEST_SHIM_REWRITE_H

#include <stddef.h>
#include <stdint.h>

#include "guest/shim/counts.h"

/*
 * The PTX of an image that the driver would run on a GPU of compute capability `target`; `n` is its
 * size, or 0 if it says so itself. malloc'ed. -ENOENT and *ret_why if there is none.
 */
int cot_shim_image_text(const void *image, size_t n, unsigned target, char **ret_text,
			size_t *ret_length, enum cot_shim_why *ret_why);
int cot_shim_image_read(const char *path, void **ret_bytes, size_t *ret_n);

struct cot_shim_kernel {
	char *name;	   /* the program's */
	uint32_t n_params; /* of its own */
	uint32_t args_at;  /* where struct cot_workers_args is among the packed arguments */
	/* For merged launches; else 0. */
	uint32_t params_bytes, align; /* of its own parameters, and of the strictest of them */
	struct cot_shim_param *params;
	uint32_t index; /* among the module's */
};

/* Where it lies in a launch, in bytes behind the first one's beginning. */
struct cot_shim_param {
	uint32_t at, bytes;
};

/* A kernel that no pass takes; of merged launches only. */
struct cot_shim_refusal {
	char *name;
	uint32_t reason; /* enum cot_reason; COT_N_REASONS: another */
};

/* Of more kernels than that in a module, none is fused with another. */
#define COT_SHIM_FUSE_MAX 6u
/* Forms of several kernels: all sets of two, and of three and four where that is no more forms.
 * Each is compiled with the module. */
#define COT_SHIM_FUSED_KERNELS 4u
#define COT_SHIM_FUSED_MAX     20u

struct cot_shim_rewritten {
	char *text;
	struct cot_shim_kernel *kernels;
	unsigned n_kernels;
	/* Bit i: kernel i is in it, the lowest first. Those of more kernels come later. */
	uint32_t fused[COT_SHIM_FUSED_MAX];
	unsigned n_fused;
	const char *suffix; /* of the forms of one */
	struct cot_shim_refusal *refusals;
	unsigned n_refusals;
};

/* Of what cot_shim_rewrite_to_merge() makes of a text: the next one when that changes. */
#define COT_SHIM_MERGE_VERSION 2u

/*
 * 0 with at least one kernel; -ENOENT: none can be rewritten. `newest`: the version of PTX that the
 * driver knows, 90 for 9.0. Counts reasons.
 */
int cot_shim_rewrite(const char *text, size_t length, unsigned newest,
		     struct cot_shim_rewritten *ret);
/* The same for merged launches: each kernel as `batch`, and sets of them as `fuse`. */
int cot_shim_rewrite_to_merge(const char *text, size_t length, unsigned newest,
			      struct cot_shim_rewritten *ret);
void cot_shim_rewritten_finish(struct cot_shim_rewritten *r);

#define COT_SHIM_SUFFIX "$cot_workers"
#define COT_SHIM_BATCH	"$cot_batch"
#define COT_SHIM_FUSE	"$cot_fuse$"
bool cot_shim_is_added(const char *name); /* of a form that the shim has added */

#endif
