/* cotenant model power: what each kernel draws alone, and all of them together. */
#include <errno.h>
#include <string.h>

#include "report/format.h"
#include "report/json.h"
#include "report/model.h"
#include "report/table.h"

struct line {
	const char *name;
	bool runs; /* false: the set does not fit on an SM */
	struct cot_model_cost cost;
};

struct result {
	struct line lines[COT_KERNELS_MAX + 1]; /* each alone, then all together */
	uint32_t n;
	char together[256];
};

static int predict(const struct cot_model_input *in, struct result *r, struct cot_error *err)
{
	uint32_t i, instances = 0;

	for (i = 0; i < in->file.n; i++) {
		struct line *line = &r->lines[r->n++];

		line->name = in->file.names[i];
		line->runs = true;
		if (cot_model_cost_of(&in->machine, &in->file.kernels[i], NULL, 1, &line->cost))
			return cot_error_set(err, -EINVAL, "a block of '%s' does not fit on an SM",
					     line->name);
		instances += in->file.pending[i];
	}
	if (instances < 2)
		return 0;
	cot_model_set_name(&in->file, in->file.pending, r->together, sizeof(r->together));
	r->lines[r->n].name = r->together;
	r->lines[r->n].runs = !cot_model_cost_of(&in->machine, in->file.kernels, in->file.pending,
						 in->file.n, &r->lines[r->n].cost);
	r->n++;
	return 0;
}

static void print_line(struct cot_table *t, const struct line *line, bool has_events)
{
	const struct cot_model_cost *c = &line->cost;
	struct cot_text text;
	unsigned i;

	cot_table_text(t, line->name);
	if (!line->runs) {
		cot_table_text(t, "does not fit");
		for (i = 0; i < 8u + has_events; i++)
			cot_table_text(t, "-");
		return;
	}
	cot_table_text(t, cot_format_us(&text, c->seconds * 1e6));
	cot_table_cell(t, "%.5f", c->draw.memory_rate);
	cot_table_cell(t, "%.5f", c->draw.instruction_rate);
	cot_table_cell(t, "%.1f", c->draw.memory_w);
	cot_table_cell(t, "%.1f", c->draw.instruction_w);
	if (has_events)
		cot_table_cell(t, "%.1f", c->draw.extra_w);
	cot_table_cell(t, "%.1f", c->draw.lambda_w);
	cot_table_cell(t, "%.1f", c->thermal_w);
	cot_table_cell(t, "%.1f", c->power_w);
	cot_table_cell(t, "%.6g", c->energy_j);
}

#define EVENTS 6 /* its column, for models that have other events */

static int print_text(const struct cot_model_input *in, const struct result *r, FILE *out,
		      struct cot_error *err)
{
	struct cot_column columns[] = {
		{"kernel", COT_ALIGN_LEFT},	   {"time", COT_ALIGN_RIGHT},
		{"transactions", COT_ALIGN_RIGHT}, {"instructions", COT_ALIGN_RIGHT},
		{"memory W", COT_ALIGN_RIGHT},	   {"instr. W", COT_ALIGN_RIGHT},
		{"events W", COT_ALIGN_RIGHT},	   {"lambda W", COT_ALIGN_RIGHT},
		{"heat W", COT_ALIGN_RIGHT},	   {"system W", COT_ALIGN_RIGHT},
		{"energy J", COT_ALIGN_RIGHT},
	};
	bool has_events = in->file.n_events;
	struct cot_table *t;
	uint32_t i;
	int rc;

	if (!has_events)
		memmove(&columns[EVENTS], &columns[EVENTS + 1],
			sizeof(columns) - (EVENTS + 1) * sizeof(columns[0]));
	t = cot_table_create(columns, COT_ARRAY_LEN(columns) - !has_events);
	for (i = 0; i < r->n; i++)
		print_line(t, &r->lines[i], has_events);
	rc = cot_table_print(t, out);
	if (rc)
		return cot_error_set(err, rc, "out of memory");
	(void)fprintf(out,
		      "\nTransactions and instructions per cycle of the mean SM. System: %.1f W "
		      "idle, and these. Energy\nincludes transfers, at idle power.\n",
		      in->machine.power.idle_w);
	return 0;
}

static json_t *json_line(const struct line *line)
{
	const struct cot_model_cost *c = &line->cost;

	if (!line->runs)
		return json_pack("{s:s, s:b}", "kernels", line->name, "fits", 0);
	return json_pack("{s:s, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			 "kernels", line->name, "fits", 1, "seconds", cot_json_number(c->seconds),
			 "transfer_s", cot_json_number(c->transfer_s), "transactions_per_cycle",
			 cot_json_number(c->draw.memory_rate), "instructions_per_cycle",
			 cot_json_number(c->draw.instruction_rate), "memory_w",
			 cot_json_number(c->draw.memory_w), "instruction_w",
			 cot_json_number(c->draw.instruction_w), "lambda_w",
			 cot_json_number(c->draw.lambda_w), "events_w",
			 cot_json_number(c->draw.extra_w), "thermal_w",
			 cot_json_number(c->thermal_w), "system_w", cot_json_number(c->power_w),
			 "energy_j", cot_json_number(c->energy_j));
}

int cot_model_show_power(const struct cot_model_input *in, bool json, FILE *out,
			 struct cot_error *err)
{
	struct result r;
	json_t *lines;
	uint32_t i;
	int rc;

	memset(&r, 0, sizeof(r));
	rc = predict(in, &r, err);
	if (rc)
		return rc;
	if (!json)
		return print_text(in, &r, out, err);
	lines = json_array();
	for (i = 0; i < r.n; i++)
		(void)json_array_append_new(lines, json_line(&r.lines[i]));
	return cot_json_write(
		cot_origin_with(json_pack("{s:s, s:s, s:o, s:o}", "schema",
					  "cotenant.model.power/1", "gpu", in->file.gpu_name,
					  "idle_w", cot_json_number(in->machine.power.idle_w),
					  "runs", lines),
				&in->origin),
		COT_JSON_INDENTED, out);
}
