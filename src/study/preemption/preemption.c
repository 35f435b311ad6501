/* The study as `cotenant reproduce` sees it. */
#include <stdlib.h>
#include <string.h>

#include "study/preemption/preemption.h"
#include "text/number.h"

#define JITTER_CV_MAX 2.0

enum { KEY_JITTER = COT_STUDY_OWN, KEY_SIZES };

static const struct argp_option options[] = {
	{"quick", COT_STUDY_QUICK, NULL, 0, "Few workloads: a rough picture in seconds", 0},
	{"json", COT_STUDY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Write all values as JSON: to FILE, or to standard output instead of text", 0},
	{"report", COT_STUDY_REPORT, "FILE", 0, "Write a page with the figures (HTML)", 0},
	{"seed", COT_STUDY_SEED, "N", 0, "Draw other workloads (default 1)", 0},
	{"threads", COT_STUDY_THREADS, "N", 0, "Use N threads (default: all processors)", 0},
	{"jitter", KEY_JITTER, "CV", 0,
	 "Coefficient of variation of block times in the whole study (default 0); anything else "
	 "takes 20 to 50 times as long",
	 0},
	{"sizes", KEY_SIZES, "LIST", 0, "Processes per workload (default 2,4,6,8)", 0},
	{0},
};

/* A list such as "2,4,8", ascending. */
static void parse_sizes(struct argp_state *state, const char *text, struct cot_preemption *r)
{
	char copy[128], *rest = copy, *word;
	uint64_t value;

	if (strlen(text) >= sizeof(copy))
		argp_error(state, "--sizes: the list is too long");
	snprintf(copy, sizeof(copy), "%s", text);
	r->n_sizes = 0;
	while ((word = strsep(&rest, ","))) {
		if (!cot_number_u64(word, &value) || value < 1 || value > COT_WORKLOAD_MAX ||
		    r->n_sizes == COT_PREEMPTION_MAX_SIZES ||
		    (r->n_sizes && value <= r->sizes[r->n_sizes - 1]))
			argp_error(state,
				   "--sizes: '%.20s' does not fit; expected at most %d ascending "
				   "whole numbers from 1 to %d",
				   word, COT_PREEMPTION_MAX_SIZES, COT_WORKLOAD_MAX);
		r->sizes[r->n_sizes++] = (unsigned)value;
	}
}

static error_t parse(void *data, int key, char *arg, struct argp_state *state)
{
	struct cot_preemption *r = data;

	switch (key) {
	case KEY_JITTER:
		r->jitter_cv = cot_study_real(state, "--jitter", arg, 0.0, JITTER_CV_MAX);
		return 0;
	case KEY_SIZES:
		parse_sizes(state, arg, r);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static void *create(void)
{
	struct cot_preemption *r = calloc(1, sizeof(*r));

	if (r)
		for (; r->n_sizes < 4; r->n_sizes++)
			r->sizes[r->n_sizes] = 2 * (r->n_sizes + 1);
	return r;
}

static void destroy(void *data)
{
	cot_preemption_finish(data);
	free(data);
}

const struct cot_study cot_preemption_study = {
	.name = "preemption",
	.gpu = "k20c (13 SMs)",
	.summary = "Tanasic et al. (ISCA 2014): preemptive multiprogramming on GPUs",
	.doc = "Repeat the evaluation of Tanasic et al., \"Enabling Preemptive Multiprogramming on "
	       "GPUs\" (ISCA 2014): Table 1 and Figures 5 to 8, in both readings of the paper's "
	       "Time/TB column, beside the values that the paper prints.",
	.options = options,
	.create = create,
	.destroy = destroy,
	.parse = parse,
	.run = cot_preemption_run,
	.write_text = cot_preemption_write_text,
	.write_json = cot_preemption_write_json,
	.write_html = cot_preemption_write_html,
};
