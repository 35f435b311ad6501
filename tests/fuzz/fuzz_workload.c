/*
 * Lists of jobs: whatever the bytes are, the reader gives jobs whose numbers are within their
 * limits, or one sentence.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "trace/workload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

static void check_job(const struct cot_workload *w, const struct cot_job *j)
{
	const struct cot_program *p = &j->app.program;
	uint32_t i;

	REQUIRE(j->app.name[0] && strlen(j->app.name) < COT_WORKLOAD_NAME_MAX);
	REQUIRE(j->count >= 1 && j->count <= COT_WORKLOAD_PROGRAMS_MAX);
	REQUIRE(j->memory_bytes <= COT_WORKLOAD_MEMORY_MAX);
	REQUIRE(!j->memory_bytes || w->memory_bytes);
	REQUIRE(j->watts >= 0 && j->watts <= COT_WORKLOAD_WATTS_MAX);
	REQUIRE(j->line >= 1 && j->col >= 1);
	REQUIRE(!j->knowledge[0] == (p->n_steps > 0));
	for (i = 0; i < p->n_steps; i++)
		if (p->steps[i].kind == COT_STEP_KERNEL)
			REQUIRE(p->steps[i].kernel < p->n_kernels);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cot_error err = {""};
	struct cot_workload *w = NULL;
	uint32_t i;
	int rc = cot_workload_parse("fuzz", data, size, &w, &err);

	if (rc) {
		REQUIRE(rc == -EINVAL && !w && err.text[0] && !strchr(err.text, '\n'));
		return 0;
	}
	REQUIRE(w->n_jobs >= 1 && w->n_jobs <= COT_WORKLOAD_JOBS_MAX);
	REQUIRE(w->n_programs >= w->n_jobs && w->n_programs <= COT_WORKLOAD_PROGRAMS_MAX);
	for (i = 0; i < w->n_jobs; i++)
		check_job(w, &w->jobs[i]);
	cot_workload_destroy(w);
	return 0;
}
