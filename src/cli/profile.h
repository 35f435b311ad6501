/*
 * What `cotenant profile` measures: one run of the program, on one size of part after the other.
 * The daemon has the figures; nothing is measured here but how long we wait.
 */
#ifndef COT_CLI_PROFILE_H
#define COT_CLI_PROFILE_H

#include <cotenant/words.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "knowledge/knowledge.h"
#include "meter/traffic.h"
#include "proto/proto.h"
#include "proto/timed.h"

/* What to measure, and how. */
struct cot_profile {
	enum cot_class cls;
	uint32_t n_requests;		    /* the least for a figure */
	uint32_t patience_s;		    /* for one figure */
	uint32_t kernels_s;		    /* in which kernels are timed; 0: they are not */
	uint32_t n_sms;			    /* 0: all sizes of parts that there are */
	uint32_t sms[COT_KNOWN_QUOTAS_MAX]; /* the smallest first */
};

/* The program, started by us under the daemon's control, in a process group of its own. */
struct cot_profile_run {
	pid_t pid;
	char name[COT_PROTO_NAME_MAX];
	struct cot_traffic *traffic; /* NULL: what its GPU's memory moves is not measured */
	char why_not[COT_NVML_WHY_MAX];
	struct cot_timed *timed; /* NULL: its kernels are not */
	int timed_fd;
};

/* A figure: of requests, or of a launch of a batch program. */
struct cot_profile_figure {
	uint64_t n; /* requests; launches in a second */
	uint64_t p50_ns, p99_ns;
	double launches_per_request; /* 0: not known */
	uint64_t bytes_per_s;	     /* to and from the GPU's memory; 0: not known */
};

/* Between two looks: a tenth of a second. */
void cot_profile_pause(void);

/* Starts `argv` by `cotenant run`. -errno with a sentence. */
int cot_profile_start(const struct cot_profile *p, char *const argv[], struct cot_profile_run *ret,
		      struct cot_error *err);
/* Ends it and all that it started; waits for the end. Why the traffic was not measured stays. */
void cot_profile_stop(struct cot_profile_run *run);

/* Waits until the program can be put on parts, and says on which. The sizes of p->sms, or all that
 * the GPU has. -EINTR; other -errno with a sentence. */
int cot_profile_sizes(const struct cot_profile *p, struct cot_profile_run *run, uint32_t *ret_n,
		      uint32_t ret_sms[COT_KNOWN_QUOTAS_MAX], char ret_gpu[COT_KNOWN_NAME_MAX],
		      struct cot_error *err);

/* Puts the program on a part of that size and waits for a figure. The same errors. */
int cot_profile_measure(const struct cot_profile *p, struct cot_profile_run *run, uint32_t sms,
			struct cot_profile_figure *ret, struct cot_error *err);

/* ---- profile_kernels.c: its kernels, one by one ---- */

/* Before it starts; without the mapping it goes without. */
void cot_profile_kernels_open(struct cot_profile_run *run);
/* In the child, before the program: where its library finds the mapping. */
void cot_profile_kernels_name(const struct cot_profile_run *run);
/* Has launches timed for so many seconds at most, on the part of place `x` that the program has
 * now. False: interrupted. */
bool cot_profile_kernels_measure(const struct cot_profile_run *run, uint32_t x, uint32_t seconds);
/* Into k what was measured on all parts: of `in`, or of a batch program with NULL. NULL, or why
 * nothing of it is known. */
const char *cot_profile_kernels_take(const struct cot_profile_run *run, struct cot_knowledge *k,
				     struct cot_known_input *in);
void cot_profile_kernels_close(struct cot_profile_run *run);

/* ---- what is known now ---- */

void cot_profile_print_times(const struct cot_knowledge *k);
/* Those of a request that take the most of it, or the longest one; nothing where none is known. */
void cot_profile_print_kernels(const struct cot_knowledge *k);
/* -EINVAL: with fewer than two inputs nothing is left to test with. */
int cot_profile_print_errors(const struct cot_knowledge *k);
/* Both as cotenant.profile/1, of that file. */
json_t *cot_profile_json(const struct cot_knowledge *k, const char *path);

#endif
