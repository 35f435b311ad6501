/* cotenant model time: each kernel alone, all together, and where their blocks go. */
#include <errno.h>
#include <string.h>

#include "report/format.h"
#include "report/json.h"
#include "report/model.h"
#include "report/table.h"

struct result {
	struct cot_model_time alone[COT_KERNELS_MAX];
	uint32_t n; /* kernels that run together; those without instances do not */
	uint32_t index[COT_MODEL_SET_MAX];
	bool has_set, has_layout;
	struct cot_model_set set;
	struct cot_model_sms layout[COT_MODEL_SMS_MAX];
	uint32_t n_layout;
	double layout_cycles;
};

static double seconds(const struct cot_model_input *in, double cycles)
{
	return cycles / (in->machine.gpu.clock_ghz * 1e9);
}

static const char *time_text(struct cot_text *text, double s)
{
	return cot_format_us(text, s * 1e6);
}

/* ---- the predictions ---- */

/* All instances of the file together: those of one kernel as one larger grid. */
static void predict_set(const struct cot_model_input *in, struct result *r)
{
	struct cot_model_kernel set[COT_MODEL_SET_MAX];
	uint32_t i, instances = 0;

	for (i = 0; i < in->file.n; i++) {
		instances += in->file.pending[i];
		if (!in->file.pending[i])
			continue;
		set[r->n] = in->file.kernels[i];
		set[r->n].n_blocks *= in->file.pending[i];
		set[r->n].transfer_bytes *= in->file.pending[i];
		r->index[r->n++] = i;
	}
	if (instances < 2)
		return;
	r->has_set =
		!cot_model_set_time(&in->machine.gpu, set, r->n, &in->machine.options, &r->set);
}

static void predict_layout(const struct cot_model_input *in, struct result *r)
{
	uint32_t i;

	r->n_layout = in->file.n_layout;
	if (!r->n_layout)
		return;
	for (i = 0; i < r->n_layout; i++) {
		if (i)
			r->layout[i].first = r->layout[i - 1].first + r->layout[i - 1].n;
		r->layout[i].n = in->file.layout[i].sms;
		memcpy(r->layout[i].blocks, in->file.layout[i].blocks,
		       in->file.n * sizeof(r->layout[i].blocks[0]));
	}
	r->layout_cycles = cot_model_layout_cycles(&in->machine.gpu, in->file.kernels, in->file.n,
						   r->layout, r->n_layout);
	r->has_layout = true;
}

static int predict(const struct cot_model_input *in, struct result *r, struct cot_error *err)
{
	uint32_t i;

	for (i = 0; i < in->file.n; i++)
		if (cot_model_time_alone(&in->machine.gpu, &in->file.kernels[i], &r->alone[i]))
			return cot_error_set(err, -EINVAL, "a block of '%s' does not fit on an SM",
					     in->file.names[i]);
	predict_layout(in, r);
	predict_set(in, r);
	return 0;
}

/* ---- text ---- */

static int print_alone(const struct cot_model_input *in, const struct result *r, FILE *out)
{
	static const struct cot_column columns[] = {
		{"kernel", COT_ALIGN_LEFT},	{"blocks", COT_ALIGN_RIGHT},
		{"SMs", COT_ALIGN_RIGHT},	{"blocks/SM", COT_ALIGN_RIGHT},
		{"warps/SM", COT_ALIGN_RIGHT},	{"MWP", COT_ALIGN_RIGHT},
		{"CWP", COT_ALIGN_RIGHT},	{"equation", COT_ALIGN_RIGHT},
		{"rounds", COT_ALIGN_RIGHT},	{"time", COT_ALIGN_RIGHT},
		{"transfers", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < in->file.n; i++) {
		const struct cot_model_time *a = &r->alone[i];

		cot_table_text(t, in->file.names[i]);
		cot_table_text(t, cot_format_count(&text, in->file.kernels[i].n_blocks));
		cot_table_cell(t, "%u", a->active_sms);
		cot_table_cell(t, "%u", a->blocks_per_sm);
		cot_table_cell(t, "%.0f", a->n_warps);
		cot_table_text(t, cot_format_ratio(&text, a->sm.mwp));
		cot_table_text(t, cot_format_ratio(&text, a->sm.cwp));
		if (a->sm.equation)
			cot_table_cell(t, "(%d)", a->sm.equation);
		else
			cot_table_text(t, "-");
		cot_table_cell(t, "%.0f", a->n_rep);
		cot_table_text(t, time_text(&text, a->seconds));
		cot_table_text(t, time_text(&text, a->transfer_s));
	}
	return cot_table_print(t, out);
}

/* "15 SMs: 1 encryption + 2 monte-carlo, 84.7 s" */
static void print_sms(const struct cot_model_input *in, const struct cot_model_sms *sms,
		      const uint32_t *index, uint32_t n, bool critical, FILE *out)
{
	struct cot_text text;
	bool any = false;
	uint32_t i;

	(void)fprintf(out, "  SMs %u to %u: ", sms->first, sms->first + sms->n - 1);
	for (i = 0; i < n; i++) {
		if (!(sms->blocks[i] > 0))
			continue;
		(void)fprintf(out, "%s%.6g of %s", any ? " + " : "", sms->blocks[i],
			      in->file.names[index ? index[i] : i]);
		any = true;
	}
	(void)fprintf(out, "%s%s%s\n", any ? ", " : "idle",
		      any ? time_text(&text, seconds(in, sms->end_cycles)) : "",
		      critical ? " (critical)" : "");
}

static void print_together(const struct cot_model_input *in, const struct result *r, FILE *out)
{
	const struct cot_model_set *set = &r->set;
	double apart = 0;
	struct cot_text text;
	uint32_t i;

	for (i = 0; i < in->file.n; i++)
		apart += in->file.pending[i] * r->alone[i].seconds;
	(void)fprintf(out, "\nTogether %s", time_text(&text, set->seconds));
	(void)fprintf(out, ", one after another %s. Blocks on each SM:\n", time_text(&text, apart));
	for (i = 0; i < set->n_sms; i++)
		print_sms(in, &set->sms[i], r->index, r->n, i == set->critical, out);
}

static void print_layout(const struct cot_model_input *in, const struct result *r, FILE *out)
{
	struct cot_text text;
	uint32_t i;

	(void)fprintf(out, "\nWith the blocks as the file's layout has them: %s\n",
		      time_text(&text, seconds(in, r->layout_cycles)));
	for (i = 0; i < r->n_layout; i++)
		print_sms(in, &r->layout[i], NULL, in->file.n,
			  r->layout[i].end_cycles >= r->layout_cycles, out);
}

static int print_text(const struct cot_model_input *in, const struct result *r, FILE *out,
		      struct cot_error *err)
{
	if (print_alone(in, r, out))
		return cot_error_set(err, -ENOMEM, "out of memory");
	if (r->has_set)
		print_together(in, r, out);
	else if (r->n > 1)
		(void)fputs("\nTogether they do not fit on an SM.\n", out);
	if (r->has_layout)
		print_layout(in, r, out);
	return 0;
}

/* ---- JSON ---- */

static json_t *json_alone(const struct cot_model_input *in, const struct result *r)
{
	json_t *all = json_array();
	uint32_t i;

	for (i = 0; all && i < in->file.n; i++) {
		const struct cot_model_time *a = &r->alone[i];

		(void)json_array_append_new(
			all,
			json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}",
				  "kernel", in->file.names[i], "active_sms", (int)a->active_sms,
				  "blocks_per_sm", (int)a->blocks_per_sm, "warps_per_sm",
				  cot_json_number(a->n_warps), "mwp", cot_json_number(a->sm.mwp),
				  "cwp", cot_json_number(a->sm.cwp), "equation", a->sm.equation,
				  "rounds", cot_json_number(a->n_rep), "cycles",
				  cot_json_number(a->cycles), "seconds",
				  cot_json_number(a->seconds), "transfer_s",
				  cot_json_number(a->transfer_s)));
	}
	return all;
}

static json_t *json_sms(const struct cot_model_input *in, const struct cot_model_sms *sms,
			uint32_t n_sms, const uint32_t *index, uint32_t n)
{
	json_t *all = json_array(), *blocks;
	uint32_t i, k;

	for (i = 0; all && i < n_sms; i++) {
		blocks = json_object();
		for (k = 0; k < n; k++)
			(void)json_object_set_new(blocks, in->file.names[index ? index[k] : k],
						  cot_json_number(sms[i].blocks[k]));
		(void)json_array_append_new(
			all, json_pack("{s:i, s:i, s:o, s:o}", "first_sm", (int)sms[i].first, "sms",
				       (int)sms[i].n, "blocks_each", blocks, "seconds",
				       cot_json_number(seconds(in, sms[i].end_cycles))));
	}
	return all;
}

static json_t *json_together(const struct cot_model_input *in, const struct result *r)
{
	json_t *ends = json_object();
	uint32_t i;

	for (i = 0; i < r->n; i++)
		(void)json_object_set_new(ends, in->file.names[r->index[i]],
					  cot_json_number(seconds(in, r->set.end_cycles[i])));
	return json_pack("{s:o, s:o, s:o, s:o, s:i, s:o}", "cycles", cot_json_number(r->set.cycles),
			 "seconds", cot_json_number(r->set.seconds), "transfer_s",
			 cot_json_number(r->set.transfer_s), "ends_s", ends, "critical",
			 (int)r->set.critical, "sms",
			 json_sms(in, r->set.sms, r->set.n_sms, r->index, r->n));
}

static json_t *json_layout(const struct cot_model_input *in, const struct result *r)
{
	return json_pack("{s:o, s:o}", "seconds", cot_json_number(seconds(in, r->layout_cycles)),
			 "sms", json_sms(in, r->layout, r->n_layout, NULL, in->file.n));
}

int cot_model_show_time(const struct cot_model_input *in, bool json, FILE *out,
			struct cot_error *err)
{
	struct result r;
	int rc;

	memset(&r, 0, sizeof(r));
	rc = predict(in, &r, err);
	if (rc)
		return rc;
	if (!json)
		return print_text(in, &r, out, err);
	return cot_json_write(
		cot_origin_with(json_pack("{s:s, s:s, s:o, s:o, s:o}", "schema",
					  "cotenant.model.time/1", "gpu", in->file.gpu_name,
					  "alone", json_alone(in, &r), "together",
					  r.has_set ? json_together(in, &r) : json_null(), "layout",
					  r.has_layout ? json_layout(in, &r) : json_null()),
				&in->origin),
		COT_JSON_INDENTED, out);
}
