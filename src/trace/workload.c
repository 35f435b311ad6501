#include "trace/workload.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_sheet.h"
#include "base/units.h"
#include "text/text.h"
#include "text/yaml.h"
#include "trace/scenario_fields.h"
#include "trace/scenario_inside.h"
#include "trace/scenario_read.h"

/* About the turn of an H200 that is shared by time. */
#define QUANTUM_US 2048u
#define MIB	   (1ull << 20)

/* The rows of a scenario's file fill the base. */
_Static_assert(offsetof(struct cot_workload, base) == 0, "the base comes first");
_Static_assert(offsetof(struct cot_job, app) == 0, "the app comes first");

/* What a GPU has where the file does not say. */
static const struct {
	const char *gpu;
	uint64_t bytes;
} memories[] = {{"h200", COT_H200_MEMORY_MIB *MIB}, {"k20c", COT_K20C_MEMORY_MIB *MIB}};

static int check_sources(const struct cot_yaml *doc, uint32_t node, struct cot_error *err)
{
	static const char *const keys[] = {"program", "trace", "knowledge"};
	unsigned n = 0, i;

	for (i = 0; i < COT_ARRAY_LEN(keys); i++)
		n += cot_yaml_get(doc, node, keys[i]) != COT_YAML_NONE;
	if (n == 1)
		return 0;
	return cot_yaml_fail(doc, node, err,
			     "the job has %s of program, trace and knowledge; expected one of them",
			     n ? "several" : "none");
}

static int check_name(const struct cot_workload *w, uint32_t i, const struct cot_yaml *doc,
		      uint32_t node, struct cot_error *err)
{
	uint32_t j;

	for (j = 0; j < i; j++)
		if (!strcmp(w->jobs[j].app.name, w->jobs[i].app.name))
			return cot_yaml_fail_key(
				doc, node, "name", err,
				"two jobs are named '%s'; expected a name of its own for each",
				w->jobs[i].app.name);
	return 0;
}

static int check_memory(const struct cot_workload *w, const struct cot_job *job,
			const struct cot_yaml *doc, uint32_t node, struct cot_error *err)
{
	if (!job->memory_bytes || w->memory_bytes)
		return 0;
	return cot_yaml_fail_key(
		doc, node, "memory", err,
		"how much memory a GPU has is not known; expected gpu_memory, as in "
		"gpu_memory: 80GB");
}

static int read_job(struct cot_workload *w, uint32_t i, const struct cot_scenario_place *place,
		    uint32_t node, struct cot_error *err)
{
	struct cot_job *job = &w->jobs[i];
	uint32_t known = cot_yaml_get(place->doc, node, "knowledge");
	int rc = check_name(w, i, place->doc, node, err);

	cot_yaml_place(place->doc, known == COT_YAML_NONE ? node : known, &job->line, &job->col);
	rc = rc ? rc : check_sources(place->doc, node, err);
	rc = rc ? rc : check_memory(w, job, place->doc, node, err);
	rc = rc ? rc : cot_scenario_of_app(place, node, &w->base, &job->app, &job->owner, err);
	if (rc)
		return rc;
	job->app = job->owner->apps[0];
	w->n_programs += job->count;
	if (w->n_programs <= COT_WORKLOAD_PROGRAMS_MAX)
		return 0;
	return cot_yaml_fail(place->doc, node, err,
			     "the jobs up to this one are %u programs; expected at most %u",
			     w->n_programs, COT_WORKLOAD_PROGRAMS_MAX);
}

static void take_memory(struct cot_workload *w)
{
	size_t i;

	for (i = 0; !w->memory_bytes && i < COT_ARRAY_LEN(memories); i++)
		if (!strcmp(w->base.gpu.name, memories[i].gpu))
			w->memory_bytes = memories[i].bytes;
}

static int read_all(struct cot_workload *w, const struct cot_scenario_place *place,
		    struct cot_error *err)
{
	uint32_t jobs = cot_yaml_get(place->doc, COT_YAML_ROOT, "jobs"), node, i = 0;
	int rc = cot_scenario_take_preset(place, &w->base, err);

	if (rc)
		return rc;
	cot_yaml_fill(place->doc, COT_YAML_ROOT, cot_workload_fields, w);
	(void)snprintf(w->base.scheduler, sizeof(w->base.scheduler), "timeslice");
	(void)snprintf(w->base.policy, sizeof(w->base.policy), "slo");
	w->base.quantum_ps = QUANTUM_US * COT_PS_PER_US;
	rc = cot_scenario_check_head(place, &w->base, err);
	take_memory(w);
	w->n_jobs = cot_yaml_count(place->doc, jobs);
	for (node = cot_yaml_first(place->doc, jobs); !rc && node != COT_YAML_NONE;
	     node = cot_yaml_next(place->doc, node))
		rc = read_job(w, i++, place, node, err);
	return rc;
}

int cot_workload_parse(const char *name, const void *bytes, size_t size, struct cot_workload **ret,
		       struct cot_error *err)
{
	struct cot_scenario_place place = {.name = name};
	struct cot_workload *w;
	struct cot_yaml *doc;
	int rc = cot_yaml_load(name, bytes, size, cot_workload_fields, &doc, err);

	if (rc)
		return rc;
	place.doc = doc;
	w = calloc(1, sizeof(*w));
	rc = w ? read_all(w, &place, err) : cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	cot_yaml_destroy(doc);
	if (rc)
		cot_workload_destroy(w);
	else
		*ret = w;
	return rc;
}

void cot_workload_destroy(struct cot_workload *w)
{
	uint32_t i;

	for (i = 0; w && i < w->n_jobs; i++)
		cot_scenario_destroy(w->jobs[i].owner);
	free(w);
}
