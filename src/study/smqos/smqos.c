/* The study as `cotenant reproduce` sees it. */
#include <stdlib.h>
#include <string.h>

#include "model/smqos.h"
#include "study/smqos/smqos.h"

static const struct cot_smq_settings defaults = {
	.traces = "smqos",
	.n_sms = 32,
	.epoch_cycles = 10000,
	.threshold = COT_SMQOS_THRESHOLD,
	.noise = 0.01,
	.batch_sms = 0,
	.share_penalty = 0.2,
	.share_stall = 0.08, /* docs/models.md, "Two kernels on the same SMs" */
	.context_scale = 1.0,
	.small_scale = 1.0,
	.block_parts = 1,
	.sm_scale = 1,
};

enum {
	KEY_SMS = COT_STUDY_OWN,
	KEY_EPOCH,
	KEY_THRESHOLD,
	KEY_NOISE,
	KEY_SENSITIVITY,
	KEY_ABLATION,
	KEY_MIX,
	KEY_TARGET
};

static const struct argp_option options[] = {
	{"quick", COT_STUDY_QUICK, NULL, 0, "Every seventh mix only", 0},
	{"json", COT_STUDY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Write all values as JSON: to FILE, or to standard output instead of text", 0},
	{"report", COT_STUDY_REPORT, "FILE", 0, "Write a page with the figures (HTML)", 0},
	{"mix", KEY_MIX, "A,B", 0,
	 "Also show this mix epoch by epoch: A has the goal, B is the batch task", 0},
	{"target", KEY_TARGET, "PERCENT", 0, "The goal of --mix: 80, 85, 90 (default) or 95", 0},
	{"sensitivity", KEY_SENSITIVITY, NULL, 0,
	 "Also run with other thresholds, epochs, noise and numbers of SMs", 0},
	{"ablation", KEY_ABLATION, NULL, 0,
	 "Also run with other assumptions where the paper is silent or our model differs; a minute "
	 "or two",
	 0},
	{"sms", KEY_SMS, "N", 0, "SMs of the GPU (default 32)", 1},
	{"epoch", KEY_EPOCH, "CYCLES", 0, "Length of an epoch (default 10000)", 1},
	{"threshold", KEY_THRESHOLD, "X", 0, "Threshold of SMQoS's search (default 0.03)", 1},
	{"noise", KEY_NOISE, "X", 0, "Noise of the tasks' rates (default 0.01)", 1},
	{"seed", COT_STUDY_SEED, "N", 0, "Draw other noise (default 1)", 1},
	{"threads", COT_STUDY_THREADS, "N", 0, "Use N threads (default: all processors)", 1},
	{0},
};

static unsigned parse_benchmark(struct argp_state *state, const char *text)
{
	unsigned i;

	for (i = 0; i < COT_SMQ_BENCHMARKS; i++)
		if (!strcmp(text, cot_smq_benchmarks[i]))
			return i;
	argp_error(state,
		   "--mix: no benchmark '%.40s'; expected two of bino, merge, cp, tpacf, hs, pf, "
		   "atax, bicg, gesummv, lib, lbm, mri-g",
		   text);
	return 0;
}

static void parse_mix(struct argp_state *state, const char *text, struct cot_smq_report *r)
{
	char copy[64], *comma;

	snprintf(copy, sizeof(copy), "%s", text);
	comma = strchr(copy, ',');
	if (!comma)
		argp_error(state, "--mix: '%.40s'; expected two benchmarks such as pf,lbm", text);
	*comma = '\0';
	r->has_timeline = true;
	r->timeline.ls = parse_benchmark(state, copy);
	r->timeline.batch = parse_benchmark(state, comma + 1);
}

static void parse_target(struct argp_state *state, const char *text, struct cot_smq_report *r)
{
	uint64_t value = cot_study_whole(state, "--target", text, 80, 95);

	if (value % 5)
		argp_error(state, "--target: '%.40s'; expected 80, 85, 90 or 95", text);
	r->timeline.target = (unsigned)(value - 80) / 5;
}

static error_t parse(void *data, int key, char *arg, struct argp_state *state)
{
	struct cot_smq_report *r = data;
	struct cot_smq_settings *s = &r->settings;

	switch (key) {
	case KEY_SMS:
		s->n_sms = (uint32_t)cot_study_whole(state, "--sms", arg, 2, COT_SMQ_MAX_SMS);
		return 0;
	case KEY_EPOCH:
		s->epoch_cycles = (uint32_t)cot_study_whole(state, "--epoch", arg, 1000, 1000000);
		return 0;
	case KEY_THRESHOLD:
		s->threshold = cot_study_real(state, "--threshold", arg, 0.0001, 0.5);
		return 0;
	case KEY_NOISE:
		s->noise = cot_study_real(state, "--noise", arg, 0.0, 0.2);
		return 0;
	case KEY_SENSITIVITY:
		r->sensitivity = true;
		return 0;
	case KEY_ABLATION:
		r->ablation = true;
		return 0;
	case KEY_MIX:
		parse_mix(state, arg, r);
		return 0;
	case KEY_TARGET:
		parse_target(state, arg, r);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void *create(void)
{
	struct cot_smq_report *r = calloc(1, sizeof(*r));

	if (r) {
		r->settings = defaults;
		r->timeline.target = 2;
	}
	return r;
}

static void destroy(void *data)
{
	cot_smq_report_finish(data);
	free(data);
}

const struct cot_study cot_smq_study = {
	.name = "smqos",
	.gpu = "gtx480, with the SMs of the settings",
	.summary = "Sun et al.: SMs and power divided by promised instructions per cycle",
	.doc = "Repeat the evaluation of Sun et al., \"SMQoS: Improving Utilization and Energy "
	       "Efficiency with QoS Awareness on GPUs\": 132 mixes of two tasks under four targets "
	       "and three systems, beside the values that the paper prints.",
	.options = options,
	.create = create,
	.destroy = destroy,
	.parse = parse,
	.run = cot_smq_run,
	.write_text = cot_smq_write_text,
	.write_json = cot_smq_write_json,
	.write_html = cot_smq_write_html,
};
