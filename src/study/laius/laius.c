/* The study as `cotenant reproduce` sees it, and what its outputs share. */
#include "study/laius/laius.h"

#include <stdlib.h>

#include "base/compiler.h"

const char *const cot_laius_ways[COT_LAIUS_WAYS] = {
	"mps-double", "mps-even", "mps-priority", "baymax", "laius-paper",
	"laius-nb",   "laius-nc", "laius-peak",	  "laius",
};
const char *const cot_laius_services[COT_LAIUS_SERVICES] = {
	"face", "dig", "imc", "ner", "pos", "chk",
};
const char *const cot_laius_batch[COT_LAIUS_BATCH] = {
	"bfs", "btree", "pf", "nw", "lud", "hs", "md", "my",
};

#define PAPER "rtx2080ti"

const struct cot_laius_setting cot_laius_settings[COT_LAIUS_SETTINGS] = {
	{"as the paper", PAPER, 2.0, 1.0, false, COT_LAIUS_SEEDS},
	{"target 1.5 times alone", PAPER, 1.5, 1.0, false, 1},
	{"target 3 times alone", PAPER, 3.0, 1.0, false, 1},
	{"a third, at random times", PAPER, 2.0, 0.33, true, 1},
	{"half of the GPU", "{preset: rtx2080ti, sms: 34, dram_gbps: 308}", 2.0, 1.0, false, 1},
	{"H200", "h200", 2.0, 1.0, false, 1},
};

/* ---- means ---- */

bool cot_laius_is_played(const struct cot_laius_report *r, unsigned pair)
{
	return !r->quick || pair % 13 == 0;
}

static bool are_late(uint64_t n_missed, uint64_t n)
{
	return !n || n_missed * 100 > n;
}

bool cot_laius_is_violated(const struct cot_laius_report *r, unsigned setting, unsigned pair,
			   enum cot_laius_way way)
{
	uint64_t n = 0, n_missed = 0;
	unsigned seed;

	for (seed = 0; seed < cot_laius_settings[setting].n_seeds; seed++) {
		n += r->results[setting].outcomes[seed][pair][way].n;
		n_missed += r->results[setting].outcomes[seed][pair][way].n_missed;
	}
	return are_late(n_missed, n);
}

/* By the responses of this seed alone. */
static unsigned count_violated(const struct cot_laius_report *r, unsigned setting, unsigned seed,
			       enum cot_laius_way way)
{
	unsigned pair, n = 0;

	for (pair = 0; pair < COT_LAIUS_PAIRS; pair++) {
		const struct cot_laius_outcome *o = &r->results[setting].outcomes[seed][pair][way];

		n += cot_laius_is_played(r, pair) && are_late(o->n_missed, o->n);
	}
	return n;
}

static double mean_batch(const struct cot_laius_report *r, unsigned setting, unsigned seed,
			 enum cot_laius_way way)
{
	unsigned pair, n = 0;
	double sum = 0.0;

	for (pair = 0; pair < COT_LAIUS_PAIRS; pair++) {
		if (!cot_laius_is_played(r, pair))
			continue;
		sum += r->results[setting].outcomes[seed][pair][way].batch;
		n++;
	}
	return sum / n;
}

struct cot_laius_mean cot_laius_mean(const struct cot_laius_report *r, unsigned setting,
				     enum cot_laius_way way)
{
	unsigned n_seeds = cot_laius_settings[setting].n_seeds, seed, pair;
	struct cot_laius_mean m = {.batch_least = 1e9, .violated_least = COT_LAIUS_PAIRS};

	for (seed = 0; seed < n_seeds; seed++) {
		double batch = mean_batch(r, setting, seed, way);
		unsigned n = count_violated(r, setting, seed, way);

		m.violated_least = n < m.violated_least ? n : m.violated_least;
		m.violated_most = n > m.violated_most ? n : m.violated_most;

		m.batch += batch / n_seeds;
		m.batch_least = batch < m.batch_least ? batch : m.batch_least;
		m.batch_most = batch > m.batch_most ? batch : m.batch_most;
	}
	for (pair = 0; pair < COT_LAIUS_PAIRS; pair++) {
		if (!cot_laius_is_played(r, pair))
			continue;
		m.n_pairs++;
		m.n_violated += cot_laius_is_violated(r, setting, pair, way);
		for (seed = 0; seed < n_seeds; seed++) {
			double p99 = r->results[setting].outcomes[seed][pair][way].p99;

			m.p99_worst = p99 > m.p99_worst ? p99 : m.p99_worst;
		}
	}
	return m;
}

void cot_laius_gain(const struct cot_laius_report *r, unsigned setting, enum cot_laius_way way,
		    enum cot_laius_way than, double ret_points[COT_LAIUS_SEEDS])
{
	unsigned seed;

	for (seed = 0; seed < cot_laius_settings[setting].n_seeds; seed++)
		ret_points[seed] = 100.0 * (mean_batch(r, setting, seed, way) -
					    mean_batch(r, setting, seed, than));
}

/* ---- the study ---- */

enum { KEY_SENSITIVITY = COT_STUDY_OWN };

static const struct argp_option options[] = {
	{"quick", COT_STUDY_QUICK, NULL, 0, "Every thirteenth pair only", 0},
	{"json", COT_STUDY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Write all values as JSON: to FILE, or to standard output instead of text", 0},
	{"sensitivity", KEY_SENSITIVITY, NULL, 0,
	 "Also run with other targets, requests and GPUs: 3.5 times as long", 0},
	{"seed", COT_STUDY_SEED, "N", 0, "Draw other sizes of requests (default 1)", 1},
	{"threads", COT_STUDY_THREADS, "N", 0, "Use N threads (default: all processors)", 1},
	{0},
};

static error_t parse(void *data, int key, char *arg, struct argp_state *state)
{
	struct cot_laius_report *r = data;

	(void)arg;
	(void)state;
	if (key != KEY_SENSITIVITY)
		return ARGP_ERR_UNKNOWN;
	r->sensitivity = true;
	return 0;
}

static void *create(void)
{
	return calloc(1, sizeof(struct cot_laius_report));
}

const struct cot_study cot_laius_study = {
	.name = "laius",
	.gpu = "rtx2080ti, as the settings say",
	.summary = "Zhang et al.: SMs just enough for each request, by prediction",
	.doc = "Repeat the evaluation of Zhang et al., \"Laius: Towards Latency Awareness and "
	       "Improved Utilization of Spatial Multitasking Accelerators in Datacenters\": 48 pairs "
	       "of a service and a batch program under nine policies, beside the values that the "
	       "paper prints. The programs are models.",
	.options = options,
	.create = create,
	.destroy = free,
	.parse = parse,
	.run = cot_laius_run,
	.write_text = cot_laius_write_text,
	.write_json = cot_laius_write_json,
};
