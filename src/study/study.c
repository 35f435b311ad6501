#include "study/study.h"

#include <errno.h>
#include <string.h>

#include "base/outfile.h"
#include "text/number.h"

#define INSTANTS_A_TURN 200000 /* between two looks at the stop flag: some 10 ms */

/* ---- a study ---- */

struct output {
	const char *path; /* NULL: not wanted */
	int (*write)(FILE *out, const void *data, const struct cot_origin *origin);
	struct cot_outfile *file;
};

/* The last one is the text, which has a writer of its own. */
#define N_OUTPUTS 4
#define TEXT	  (N_OUTPUTS - 1)

static int open_outputs(struct output *outs, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < N_OUTPUTS && !rc; i++)
		if (outs[i].path)
			rc = cot_outfile_open(outs[i].path, &outs[i].file, err);
	return rc;
}

/* All files are complete before the first one gets its name. */
static int write_outputs(const struct cot_study *study, struct output *outs, const void *data,
			 const struct cot_origin *origin, struct cot_error *err)
{
	unsigned i;
	int rc = 0;

	for (i = 0; i < N_OUTPUTS && !rc; i++) {
		if (!outs[i].file)
			continue;
		rc = i == TEXT ? study->write_text(cot_outfile_stream(outs[i].file), data)
			       : outs[i].write(cot_outfile_stream(outs[i].file), data, origin);
		if (rc)
			return cot_error_set(err, -ENOMEM, "out of memory");
		rc = cot_outfile_finish(outs[i].file, err);
	}
	for (i = 0; i < N_OUTPUTS && !rc; i++)
		if (outs[i].file)
			rc = cot_outfile_commit(outs[i].file, err);
	return rc;
}

static int run(const struct cot_study *study, void *data, const struct cot_study_options *options,
	       struct cot_error *err)
{
	int rc;

	err->text[0] = '\0';
	rc = study->run(data, options, err);
	if (!rc && options->stop(options->arg))
		rc = -EINTR;
	if (rc == -EINTR)
		return cot_error_set(err, rc, "interrupted; nothing was written");
	if (rc && !err->text[0])
		return cot_error_set(err, rc, "%s",
				     rc == -EDEADLK  ? "a simulation stalled"
				     : rc == -ENOMEM ? "out of memory"
						     : strerror(-rc));
	return rc;
}

int cot_study_run(const struct cot_study *study, void *data,
		  const struct cot_study_options *options, struct cot_error *err)
{
	struct output outs[N_OUTPUTS] = {
		{.path = options->json, .write = study->write_json},
		{.path = options->csv, .write = study->write_csv},
		{.path = options->html, .write = study->write_html},
		{.path = "-"},
	};
	unsigned i;
	int rc;

	/* JSON or CSV on standard output stands alone. */
	for (i = 0; i < TEXT; i++)
		if (outs[i].path && !strcmp(outs[i].path, "-"))
			outs[TEXT].path = NULL;
	rc = open_outputs(outs, err);
	if (!rc)
		rc = run(study, data, options, err);
	if (!rc)
		rc = write_outputs(study, outs, data, options->origin, err);
	for (i = 0; i < N_OUTPUTS; i++)
		cot_outfile_destroy(outs[i].file);
	return rc;
}

/* ---- for the studies ---- */

int cot_study_simulate(const struct cot_study_options *options, const struct cot_scenario *sc,
		       const struct cot_sim_observer *observer, void *arg,
		       struct cot_sim_result *ret)
{
	enum cot_sim_status status;
	struct cot_sim *sim;
	int rc = cot_sim_create(sc, NULL, observer, arg, &sim, NULL);

	if (rc)
		return rc;
	do {
		status = cot_sim_run(sim, INSTANTS_A_TURN);
		if (options->stop(options->arg))
			rc = -EINTR;
	} while (status == COT_SIM_MORE && !rc);
	if (!rc && status != COT_SIM_DONE)
		rc = status == COT_SIM_STALLED ? -EDEADLK : -ENOMEM;
	cot_sim_result(sim, ret);
	cot_sim_destroy(sim);
	return rc;
}

uint64_t cot_study_whole(struct argp_state *state, const char *name, const char *text, uint64_t min,
			 uint64_t max)
{
	uint64_t value = 0;

	if (!cot_number_u64(text, &value) || value < min || value > max)
		argp_error(state, "%s: '%.40s'; expected a whole number from %llu to %llu", name,
			   text, (unsigned long long)min, (unsigned long long)max);
	return value;
}

double cot_study_real(struct argp_state *state, const char *name, const char *text, double min,
		      double max)
{
	double value = 0.0;

	if (!cot_number_double(text, &value) || value < min || value > max)
		argp_error(state, "%s: '%.40s'; expected a number from %g to %g", name, text, min,
			   max);
	return value;
}
