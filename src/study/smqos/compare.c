#include "study/smqos/smqos.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "study/rows.h"

#define REACH_CLOSE 5.0	 /* points */
#define NEAR	    0.99 /* of the promise */

const char *const cot_smq_system_names[COT_SMQ_SYSTEMS] = {"smqos", "spart", "rollover"};
const char *const cot_smq_benchmarks[COT_SMQ_BENCHMARKS] = {
	"bino", "merge", "cp",	    "tpacf", "hs",  "pf",
	"atax", "bicg",	 "gesummv", "lib",   "lbm", "mri-g",
};
const unsigned cot_smq_targets[COT_SMQ_TARGETS] = {80, 85, 90, 95};
const char *const cot_smq_pair_names[COT_SMQ_PAIRS] = {"CI-CI", "CI-MI", "MI-CI", "MI-MI"};

unsigned cot_smq_case(unsigned mix, unsigned target)
{
	return mix * COT_SMQ_TARGETS + target;
}

void cot_smq_mix(unsigned mix, unsigned *ret_ls, unsigned *ret_batch)
{
	*ret_ls = mix / (COT_SMQ_BENCHMARKS - 1);
	*ret_batch = mix % (COT_SMQ_BENCHMARKS - 1);
	*ret_batch += *ret_batch >= *ret_ls;
}

enum cot_smq_pair cot_smq_pair_of(const struct cot_smq_report *r, unsigned mix)
{
	unsigned ls, batch;

	cot_smq_mix(mix, &ls, &batch);
	return (enum cot_smq_pair)(2 * r->is_mi[ls] + r->is_mi[batch]);
}

struct cot_smq_mean cot_smq_mean_of(const struct cot_smq_report *r, const struct cot_smq_run *run,
				    enum cot_smq_system system, unsigned pair, unsigned target)
{
	struct cot_smq_mean m = {0};
	unsigned mix, t, reached = 0;

	for (mix = 0; mix < COT_SMQ_MIXES; mix++) {
		if (pair != COT_SMQ_PAIRS && cot_smq_pair_of(r, mix) != pair)
			continue;
		for (t = 0; t < COT_SMQ_TARGETS; t++) {
			const struct cot_smq_outcome *o =
				&run->outcomes[system][cot_smq_case(mix, t)];

			if (!o->run || (target != COT_SMQ_TARGETS && t != target))
				continue;
			m.n++;
			reached += o->of_goal >= 1.0;
			m.throughput += o->throughput;
			m.watts += o->watts;
			m.near_pct += o->of_goal >= NEAR;
			m.moves += o->moves;
			m.gated += o->gated;
		}
	}
	if (!m.n)
		return m;
	m.reach_pct = 100.0 * reached / m.n;
	m.throughput /= m.n;
	m.watts /= m.n;
	m.near_pct *= 100.0 / m.n;
	m.moves /= m.n;
	m.gated /= m.n;
	return m;
}

/* ---- what the paper prints ---- */

#define FIELD(member, ...) \
	COT_FIELD(#member, struct cot_smq_printed, member, __VA_ARGS__, .required = true)

static const struct cot_field fields[] = {
	FIELD(id, COT_TEXT),
	FIELD(figure, COT_TEXT),
	FIELD(metric, COT_TEXT),
	FIELD(against, COT_TEXT),
	FIELD(group, COT_TEXT),
	FIELD(source, COT_TEXT),
	FIELD(target, COT_WHOLE(0, 100)),
	FIELD(value, COT_NUMBER(-100, 1000)),
	{0},
};

static int read_row(const struct cot_csv *csv, uint32_t row, void *arg, struct cot_error *err)
{
	struct cot_smq_report *r = arg;

	return cot_csv_fill(csv, row, fields, &r->printed[r->n_printed++], err);
}

int cot_smq_printed_load(struct cot_smq_report *r, struct cot_error *err)
{
	return cot_rows_load("printed/smqos.csv", fields, COT_SMQ_PRINTED, read_row, r, err);
}

/* ---- side by side ---- */

static unsigned index_of(const char *name, const char *const *names, unsigned n)
{
	unsigned i;

	for (i = 0; i < n && strcmp(name, names[i]); i++)
		;
	return i;
}

static double gain_pct(double ours, double theirs)
{
	return 100.0 * (ours / theirs - 1.0);
}

static double measure(const struct cot_smq_printed *p, const struct cot_smq_mean *a,
		      const struct cot_smq_mean *b)
{
	if (!strcmp(p->metric, "reach"))
		return b ? a->reach_pct - b->reach_pct : a->reach_pct;
	if (!b)
		return (double)NAN;
	if (!strcmp(p->metric, "throughput"))
		return gain_pct(a->throughput, b->throughput);
	return gain_pct(a->watts, b->watts);
}

static void compare_run(const struct cot_smq_report *r, const struct cot_smq_run *run,
			struct cot_smq_pair_of_values *v)
{
	const struct cot_smq_printed *p = v->printed;
	unsigned pair = index_of(p->group, cot_smq_pair_names, COT_SMQ_PAIRS), target;
	unsigned other = index_of(p->against, cot_smq_system_names, COT_SMQ_SYSTEMS);
	struct cot_smq_mean a, b;
	double value;

	for (target = 0; target < COT_SMQ_TARGETS && cot_smq_targets[target] != p->target;)
		target++;
	a = cot_smq_mean_of(r, run, COT_SMQ_SMQOS, pair, target);
	if (!a.n)
		return;
	if (other < COT_SMQ_SYSTEMS)
		b = cot_smq_mean_of(r, run, (enum cot_smq_system)other, pair, target);
	value = measure(p, &a, other < COT_SMQ_SYSTEMS ? &b : NULL);
	if (!v->measured || value < v->least)
		v->least = value;
	if (!v->measured || value > v->greatest)
		v->greatest = value;
	v->value += value / r->n_seeds;
	v->measured = true;
}

static void compare(const struct cot_smq_report *r, const struct cot_smq_printed *p,
		    struct cot_smq_pair_of_values *v)
{
	unsigned i;

	*v = (struct cot_smq_pair_of_values){.printed = p};
	for (i = 0; i < r->n_seeds; i++)
		compare_run(r, r->seeds[i], v);
	if (!v->measured)
		return;
	v->deviation = v->value - p->value;
	if (v->least * v->greatest > 0.0 && fabs(v->value) > v->greatest - v->least)
		v->sign = v->value > 0.0 ? 1 : -1;
	v->agrees = strcmp(p->against, "none") ? v->sign * p->value > 0.0
					       : fabs(v->deviation) <= REACH_CLOSE;
}

void cot_smq_compare(struct cot_smq_report *r)
{
	unsigned i;

	for (i = 0; i < r->n_printed; i++)
		compare(r, &r->printed[i], &r->pairs[i]);
}

void cot_smq_report_finish(struct cot_smq_report *r)
{
	unsigned i;

	for (i = 0; i < r->n_seeds; i++)
		free(r->seeds[i]);
	for (i = 0; i < r->n_senses; i++)
		free(r->senses[i].run);
	for (i = 0; i < COT_SMQ_SYSTEMS; i++) {
		cot_epochs_destroy(r->timeline.epochs[i]);
		free(r->timeline.scenarios[i]);
	}
}
