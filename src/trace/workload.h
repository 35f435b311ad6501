/*
 * A workload: the jobs that are to share some GPUs of one kind (docs/plan.md), as a file of the
 * format cotenant.jobs/1 says it. What a job does is written as that of an app of a scenario; or a
 * knowledge file says it, which whoever reads the workload opens.
 *
 * Immutable once read; any number of threads may read at once.
 */
#ifndef COT_TRACE_WORKLOAD_H
#define COT_TRACE_WORKLOAD_H

#include <stddef.h>

#include "base/error.h"
#include "trace/scenario.h"

#define COT_WORKLOAD_JOBS_MAX	  64u
#define COT_WORKLOAD_PROGRAMS_MAX 256u /* of all jobs together */
#define COT_WORKLOAD_MEMORY_MAX	  (1ull << 50)
#define COT_WORKLOAD_WATTS_MAX	  100000u
#define COT_WORKLOAD_PATH_MAX	  1024u
/* Its name gets a number where there are several of one job: ".256" */
#define COT_WORKLOAD_NAME_MAX (COT_NAME_MAX - 4u)

struct cot_job {
	/* The first member, as rows of apps fill it. The program is the owner's; with `knowledge`
	 * there is none. */
	struct cot_app app;
	uint32_t count;			       /* so many programs like this */
	uint64_t memory_bytes;		       /* of each, on the GPU */
	double watts;			       /* that the GPU draws with one alone; 0: not known */
	char knowledge[COT_WORKLOAD_PATH_MAX]; /* as written; "": none */
	uint32_t line, col;		       /* of `knowledge`; without it of the job */
	struct cot_scenario *owner;
};

struct cot_workload {
	struct cot_scenario base; /* the GPU, the seed and the policy; no apps */
	uint64_t memory_bytes;	  /* of a GPU; 0: not known, and no job needs any */
	uint32_t n_jobs, n_programs;
	struct cot_job jobs[COT_WORKLOAD_JOBS_MAX];
};

/* `name` stands in messages, and traces are looked for beside it. -EINVAL with a sentence, -ENOMEM.
 */
int cot_workload_parse(const char *name, const void *bytes, size_t size, struct cot_workload **ret,
		       struct cot_error *err);
void cot_workload_destroy(struct cot_workload *w); /* takes NULL */

#endif
