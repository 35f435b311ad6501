#include "study/consolidation/consolidation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "model/fit.h"
#include "report/model.h"
#include "study/consolidation/sweep.h"
#include "study/rows.h"

/* One scenario: the shorter kernel comes first in its file. */
struct scenario {
	struct cot_model_input in;
	double printed_s[2], printed_kj[2]; /* alone */
	double both_s, both_kj;		    /* as printed, together */
	struct cot_model_set set;
	double layout_s;
	struct cot_model_events events; /* of both kernels */
	double energy_kj[2], both_ours_kj, power_w, power_ours_w;
	struct cot_model_verdict verdict;
};

struct study {
	struct cot_consolidation *out;
	struct scenario s[2];
	struct cot_model_power power; /* trained; idle power is part of lambda_w */
	struct cot_error *err;
};

/* ---- the printed numbers ---- */

#define FIELD(member, ...) COT_FIELD(#member, struct cot_consolidation_row, member, __VA_ARGS__)

static const struct cot_field fields[] = {
	FIELD(id, COT_TEXT, .required = true),
	FIELD(quantity, COT_TEXT, .required = true),
	FIELD(unit, COT_TEXT, .required = true, .blank = true),
	FIELD(kind, COT_TEXT, .required = true),
	FIELD(note, COT_TEXT, .required = true, .blank = true),
	FIELD(printed, COT_NUMBER(-1e9, 1e9), .required = true, .blank = true),
	{0},
};

static int read_row(const struct cot_csv *csv, uint32_t row, void *arg, struct cot_error *err)
{
	struct cot_consolidation *out = arg;
	struct cot_consolidation_row *r = &out->rows[out->n++];

	r->has_printed = *cot_csv_cell(csv, row, cot_csv_find(csv, "printed"));
	return cot_csv_fill(csv, row, fields, r, err);
}

static double printed(const struct study *st, const char *id)
{
	uint32_t i;

	for (i = 0; i < st->out->n; i++)
		if (!strcmp(st->out->rows[i].id, id))
			return st->out->rows[i].printed;
	return (double)NAN;
}

static void set_ours(struct study *st, const char *id, double value)
{
	uint32_t i;

	for (i = 0; i < st->out->n; i++)
		if (!strcmp(st->out->rows[i].id, id)) {
			st->out->rows[i].ours = value;
			st->out->rows[i].has_ours = true;
		}
}

/* ---- the models ---- */

static int load(struct study *st)
{
	static const char *const names[] = {"models/consolidation-1.yaml",
					    "models/consolidation-2.yaml"};
	static const char *const ids[][4] = {{"enc_s", "enc_kj", "mc_s", "mc_kj"},
					     {"search_s", "search_kj", "bs_s", "bs_kj"}};
	static const char *const both[][2] = {{"both1_s", "both1_kj"}, {"both2_s", "both2_kj"}};
	const struct cot_embedded *file;
	unsigned i, k;
	int rc;

	for (i = 0; i < 2; i++) {
		struct scenario *s = &st->s[i];

		file = cot_embedded_find(names[i]);
		if (!file)
			return cot_error_set(st->err, -ENOENT, "the program was built without %s",
					     names[i]);
		rc = cot_kernels_parse(names[i], file->bytes, file->size, &s->in.file, st->err);
		if (rc)
			return rc;
		cot_model_input_init(&s->in);
		for (k = 0; k < 2; k++) {
			s->printed_s[k] = printed(st, ids[i][2 * k]);
			s->printed_kj[k] = printed(st, ids[i][2 * k + 1]);
		}
		s->both_s = printed(st, both[i][0]);
		s->both_kj = printed(st, both[i][1]);
	}
	return 0;
}

/* System power over event rates, from the four runs alone: time by the model, energy as printed. */
static int train(struct study *st)
{
	double rates[4][2], watts[4];
	struct cot_model_samples samples = {4, 2, &rates[0][0], watts};
	struct cot_model_power none = {0};
	struct cot_model_events events;
	struct cot_model_draw draw;
	struct cot_model_time time;
	struct cot_model_fit fit;
	uint32_t event;
	unsigned i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++) {
			const struct cot_model_input *in = &st->s[i].in;

			if (cot_model_time_alone(&in->machine.gpu, &in->file.kernels[k], &time))
				return cot_error_set(st->err, -EINVAL, "a block does not fit");
			cot_model_events_of(&in->file.kernels[k], &events);
			cot_model_draw_of(&in->machine.gpu, &none, &events, time.cycles, &draw);
			rates[2 * i + k][0] = draw.memory_rate;
			rates[2 * i + k][1] = draw.instruction_rate;
			watts[2 * i + k] = st->s[i].printed_kj[k] * 1e3 / st->s[i].printed_s[k];
		}
	if (cot_model_fit(&samples, NULL, &fit, &event))
		return cot_error_set(st->err, -EINVAL, "the four runs do not determine the power");
	st->power.memory_w = st->out->memory_w = fit.watts[0];
	st->power.instruction_w = st->out->instruction_w = fit.watts[1];
	st->power.lambda_w = st->out->rest_w = fit.lambda_w;
	return 0;
}

static int predict(struct study *st, struct scenario *s)
{
	const struct cot_model_gpu *gpu = &s->in.machine.gpu;
	struct cot_model_sms layout[COT_MODEL_SMS_MAX];
	struct cot_model_events one;
	struct cot_model_draw draw;
	struct cot_model_cost cost;
	uint32_t i, k;
	int rc;

	s->in.machine.power = st->power;
	rc = cot_model_judge(&s->in.machine, s->in.file.kernels, NULL, 2, &s->verdict);
	rc = rc ? rc
		: cot_model_set_time(gpu, s->in.file.kernels, 2, &s->in.machine.options, &s->set);
	for (k = 0; k < 2 && !rc; k++) {
		rc = cot_model_cost_of(&s->in.machine, &s->in.file.kernels[k], NULL, 1, &cost);
		s->energy_kj[k] = cost.energy_j / 1e3;
		cot_model_events_of(&s->in.file.kernels[k], &one);
		cot_model_events_add(&s->events, &one);
	}
	if (rc)
		return cot_error_set(st->err, rc, "a block does not fit");
	s->both_ours_kj = s->verdict.together.energy_j / 1e3;
	s->power_w = s->both_kj * 1e3 / s->both_s;
	cot_model_draw_of(gpu, &st->power, &s->events, s->both_s * gpu->clock_ghz * 1e9, &draw);
	s->power_ours_w = draw.dynamic_w;
	memset(layout, 0, sizeof(layout));
	for (i = 0; i < s->in.file.n_layout; i++) {
		layout[i].n = s->in.file.layout[i].sms;
		for (k = 0; k < 2; k++)
			layout[i].blocks[k] = s->in.file.layout[i].blocks[k];
	}
	s->layout_s =
		cot_model_layout_cycles(gpu, s->in.file.kernels, 2, layout, s->in.file.n_layout) /
		(gpu->clock_ghz * 1e9);
	return 0;
}

/* ---- our values ---- */

static void alone(struct study *st)
{
	static const char *const ids[][2] = {{"enc_s", "enc_kj"},
					     {"mc_s", "mc_kj"},
					     {"search_s", "search_kj"},
					     {"bs_s", "bs_kj"}};
	struct cot_model_time time;
	unsigned i;

	for (i = 0; i < 4; i++) {
		const struct scenario *s = &st->s[i / 2];

		if (cot_model_time_alone(&s->in.machine.gpu, &s->in.file.kernels[i % 2], &time))
			continue;
		set_ours(st, ids[i][0], time.seconds);
		set_ours(st, ids[i][1], s->energy_kj[i % 2]);
		if (i == 0)
			set_ours(st, "enc15_sms", time.active_sms);
	}
}

static void together(struct study *st)
{
	static const char *const ids[2][7] = {{"both1_s", "both1_kj", "layout1_s", "power1_w",
					       "decision1", "time1_pct", "energy1_pct"},
					      {"both2_s", "both2_kj", "layout2_s", "power2_w",
					       "decision2", "time2_pct", "energy2_pct"}};
	unsigned i, above = 0;

	for (i = 0; i < 2; i++) {
		const struct scenario *s = &st->s[i];
		const struct cot_model_verdict *v = &s->verdict;

		set_ours(st, ids[i][0], s->set.seconds);
		set_ours(st, ids[i][1], s->both_ours_kj);
		set_ours(st, ids[i][2], s->layout_s);
		set_ours(st, ids[i][3], s->power_ours_w);
		set_ours(st, ids[i][4], v->consolidate ? 1 : 0);
		set_ours(st, ids[i][5], (v->together.seconds / v->apart_s - 1) * 100);
		set_ours(st, ids[i][6], (v->together.energy_j / v->apart_j - 1) * 100);
		above += s->set.seconds > s->both_s;
	}
	set_ours(st, "above", above);
}

static void critical(struct study *st)
{
	static const char *const ids[2][2] = {{"critical1_enc", "critical1_mc"},
					      {"critical2_search", "critical2_bs"}};
	unsigned i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			set_ours(st, ids[i][k], st->s[i].set.sms[st->s[i].set.critical].blocks[k]);
}

static void blocks(struct study *st)
{
	struct cot_model_input *in = &st->s[0].in;
	struct cot_model_kernel six[6];
	struct cot_model_time times[6];
	double sms = 0;
	unsigned i;

	/* 12 KB in 3 blocks are 4 KB each; 184 KB is then decimal, or 46 blocks. */
	set_ours(st, "enc184_blocks", ceil(184e3 / (12.0 * 1024 / 3)));
	for (i = 0; i < 6; i++) {
		six[i] = in->file.kernels[0];
		six[i].n_blocks = 3;
	}
	if (cot_model_time_beside(&in->machine.gpu, six, 6, times))
		return;
	for (i = 0; i < 6; i++)
		sms += times[i].active_sms;
	set_ours(st, "enc12_sms", times[0].active_sms);
	set_ours(st, "six_sms", sms);
}

/* The power model on the consolidated runs, with the file's idle power taken off both sides. */
static void power(struct study *st)
{
	double idle = st->s[0].in.file.power.idle_w, error[2], gpu_w, sum;
	unsigned i;

	for (i = 0; i < 2; i++)
		error[i] = fabs(st->s[i].power_ours_w / (st->s[i].power_w) - 1) * st->s[i].power_w /
			   (st->s[i].power_w - idle) * 100;
	set_ours(st, "error_mean_pct", (error[0] + error[1]) / 2);
	set_ours(st, "error_worst_pct", fmax(error[0], error[1]));
	set_ours(st, "shares_pct",
		 printed(st, "share_mem_pct") + printed(st, "share_instr_pct") +
			 printed(st, "share_other_pct") + printed(st, "share_lambda_pct"));
	/* Each SM by its own event rates, as if it were the whole GPU, and all added up. The mean
	 * of the rates is that of the virtual SM, so the sum is as many times its power. */
	gpu_w = st->s[0].power_ours_w - idle;
	sum = gpu_w * st->s[0].in.machine.gpu.n_sms;
	set_ours(st, "sum_error_pct", (sum / (st->s[0].power_w - idle) - 1) * 100);
}

int cot_consolidation_run(struct cot_consolidation *ret, struct cot_error *err)
{
	struct study *st = calloc(1, sizeof(*st));
	int rc;

	if (!st)
		return cot_error_set(err, -ENOMEM, "out of memory");
	memset(ret, 0, sizeof(*ret));
	st->out = ret;
	st->err = err;
	rc = cot_rows_load("printed/consolidation.csv", fields, COT_CONSOLIDATION_ROWS_MAX,
			   read_row, ret, err);
	rc = rc ? rc : load(st);
	rc = rc ? rc : train(st);
	rc = rc ? rc : predict(st, &st->s[0]);
	rc = rc ? rc : predict(st, &st->s[1]);
	if (!rc) {
		alone(st);
		together(st);
		critical(st);
		blocks(st);
		power(st);
		rc = cot_consolidation_sweep_run(&st->s[0].in, &st->s[1].in, &ret->sweep);
		if (rc)
			(void)cot_error_set(err, rc, "out of memory");
	}
	free(st);
	return rc;
}

/* ---- as `cotenant reproduce` sees it ---- */

static const struct argp_option options[] = {
	{"json", COT_STUDY_JSON, "FILE", OPTION_ARG_OPTIONAL,
	 "Write all values as JSON: to FILE, or to standard output instead of text", 0},
	{0},
};

static void *create(void)
{
	return calloc(1, sizeof(struct cot_consolidation));
}

static int run(void *data, const struct cot_study_options *o, struct cot_error *err)
{
	(void)o;
	return cot_consolidation_run(data, err);
}

const struct cot_study cot_consolidation_study = {
	.name = "consolidation",
	.gpu = "c1060 (30 SMs)",
	.summary = "US patent 8,643,656: energy-aware task consolidation on GPUs",
	.doc = "Put the numbers that US patent 8,643,656 (energy-aware task consolidation "
	       "on GPUs) prints beside those of our models: times and energies of its two "
	       "scenarios, whether to consolidate, and what of the rest can be checked.",
	.options = options,
	.create = create,
	.destroy = free,
	.run = run,
	.write_text = cot_consolidation_write_text,
	.write_json = cot_consolidation_write_json,
};
