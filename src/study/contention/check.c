/* What `cotenant model check` shows. */
#include "study/contention/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "report/json.h"
#include "report/table.h"

static const char *const group_names[COT_CHECK_N_GROUPS] = {
	"trained with", "alone on other SMs", "pairs", "data in the cache", "on the same SMs",
};

static const char *const slots_names[COT_CHECK_N_SLOTS] = {
	"issue slots left",
	"all used, the second waits",
	"all used, it never waits",
};

/* ---- text ---- */

static int print_gpu(const struct cot_check *c, FILE *out)
{
	const struct cot_check_gpu *g = &c->gpu;

	(void)fprintf(
		out,
		"%s, %u SMs, %s; measured by: %s\n\n"
		"issue_width %.4g, sm_bytes_per_cycle %.4g, memory %.5g GB/s, its latency %.4g "
		"cycles,\nqueueing %.3g up to a load of %.4g; clock %.0f MHz\n\n",
		c->file->gpu, c->file->sms, c->file->date, c->file->command, g->issue_width,
		g->sm_bytes, g->dram_gbps, g->latency, g->queueing, g->load_max, g->clock_mhz);
	return 0;
}

static int print_subjects(const struct cot_check *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"kernel/warps of an SM", COT_ALIGN_LEFT},
		{"cpi", COT_ALIGN_RIGHT},
		{"mem_fraction", COT_ALIGN_RIGHT},
		{"dram_bytes", COT_ALIGN_RIGHT},
		{"mlp", COT_ALIGN_RIGHT},
		{"ipc_max", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	uint32_t i;

	for (i = 0; i < c->n_subjects; i++) {
		const struct cot_check_subject *s = &c->subjects[i];

		if (!s->fitted)
			continue;
		cot_table_text(t, s->name);
		cot_table_cell(t, "%.3f", s->work.cpi);
		cot_table_cell(t, "%.4f", s->work.mem_fraction);
		cot_table_cell(t, "%.1f", s->work.dram_bytes);
		cot_table_cell(t, "%.2f", s->work.mlp);
		if (s->work.ipc_max > 0.0)
			cot_table_cell(t, "%.3f", s->work.ipc_max);
		else
			cot_table_text(t, "");
	}
	return cot_table_print(t, out);
}

static int print_points(const struct cot_check *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},		{"what ran", COT_ALIGN_LEFT},
		{"measured", COT_ALIGN_RIGHT},	{"predicted", COT_ALIGN_RIGHT},
		{"deviation", COT_ALIGN_RIGHT}, {"repeats", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	char name[256];
	uint32_t i, j;

	for (i = 0; i < c->n_points; i++) {
		const struct cot_check_point *p = &c->points[i];

		for (j = 0; j < p->n; j++) {
			cot_table_text(t, j ? "" : group_names[cot_check_group_of(c, p)]);
			cot_table_text(t, j ? "" : cot_check_point_name(c, p, name, sizeof(name)));
			cot_table_cell(t, "%.4g", p->measured[j]);
			cot_table_cell(t, "%.4g", p->predicted[j]);
			if (p->measured[j] > 0)
				cot_table_cell(t, "%+.1f %%", 100 * cot_check_error_of(p, j));
			else
				cot_table_text(t, "");
			cot_table_cell(t, "%.1f %%", 100 * p->spread);
		}
	}
	return cot_table_print(t, out);
}

static int print_errors(const struct cot_check *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"", COT_ALIGN_LEFT},
		{"mixes", COT_ALIGN_RIGHT},
		{"rates", COT_ALIGN_RIGHT},
		{"mean error", COT_ALIGN_RIGHT},
		{"within 10 %", COT_ALIGN_RIGHT},
		{"worst", COT_ALIGN_RIGHT},
		{"where it is", COT_ALIGN_LEFT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_check_errors e;
	const struct cot_check_point *p;
	char name[256];
	int g;

	for (g = 0; g < COT_CHECK_N_ERROR_GROUPS; g++) {
		cot_check_errors(c, (enum cot_check_group)g, &e);
		if (!e.n)
			continue;
		p = &c->points[e.worst_point];
		cot_table_text(t, group_names[g]);
		cot_table_cell(t, "%u", e.n_points);
		cot_table_cell(t, "%u", e.n);
		cot_table_cell(t, "%.2f %%", 100 * e.mean);
		cot_table_cell(t, "%.1f %%", 100.0 * e.n_within / e.n);
		cot_table_cell(t, "%+.1f %%", 100 * cot_check_error_of(p, e.worst_part));
		cot_table_cell(t, "%s%s",
			       p->n < 2	      ? ""
			       : e.worst_part ? "second of "
					      : "first of ",
			       cot_check_point_name(c, p, name, sizeof(name)));
	}
	return cot_table_print(t, out);
}

static int print_sharing(const struct cot_check *c, FILE *out)
{
	static const struct cot_column columns[] = {
		{"two kernels on the same SMs", COT_ALIGN_LEFT},
		{"mixes", COT_ALIGN_RIGHT},
		{"mean error", COT_ALIGN_RIGHT},
		{"within 0.1", COT_ALIGN_RIGHT},
		{"first came", COT_ALIGN_RIGHT},
		{"predicted", COT_ALIGN_RIGHT},
		{"second", COT_ALIGN_RIGHT},
		{"predicted", COT_ALIGN_RIGHT},
		{"both", COT_ALIGN_RIGHT},
	};
	struct cot_table *t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	struct cot_check_sharing s;
	uint32_t n = 0, i;
	int slots;

	for (slots = 0; slots < COT_CHECK_N_SLOTS; slots++) {
		cot_check_sharing(c, (enum cot_check_slots)slots, &s);
		if (!s.n)
			continue;
		n += s.n;
		cot_table_text(t, slots_names[slots]);
		cot_table_cell(t, "%u", s.n_points);
		cot_table_cell(t, "%.3f", s.mean);
		cot_table_cell(t, "%.1f %%", 100.0 * s.n_within / s.n);
		for (i = 0; i < COT_CONTENTION_PARTS_MAX; i++) {
			cot_table_cell(t, "%.3f", s.measured[i]);
			cot_table_cell(t, "%.3f", s.predicted[i]);
		}
		cot_table_cell(t, "%.3f", s.together);
	}
	if (!n) {
		cot_table_destroy(t);
		return 0;
	}
	(void)fputs(
		"\nParts of the rate that a kernel has alone on as many SMs; both: instructions of "
		"both\ntogether, measured over predicted:\n\n",
		out);
	return cot_table_print(t, out);
}

static int print_text(const struct cot_check *c, bool points, FILE *out)
{
	int rc = print_gpu(c, out);

	if (!rc)
		rc = print_subjects(c, out);
	if (!rc && points) {
		(void)fputs("\nWarp instructions per cycle, all SMs of the kernel together:\n\n",
			    out);
		rc = print_points(c, out);
	}
	(void)fputc('\n', out);
	if (!rc)
		rc = print_errors(c, out);
	return rc ? rc : print_sharing(c, out);
}

/* ---- JSON ---- */

static json_t *json_gpu(const struct cot_check *c)
{
	const struct cot_check_gpu *g = &c->gpu;

	return json_pack("{s:s, s:i, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
			 c->file->gpu, "sms", (int)c->file->sms, "date", c->file->date, "command",
			 c->file->command, "clock_mhz", cot_json_number(g->clock_mhz),
			 "issue_width", cot_json_number(g->issue_width), "sm_bytes_per_cycle",
			 cot_json_number(g->sm_bytes), "dram_gbps", cot_json_number(g->dram_gbps),
			 "latency_cycles", cot_json_number(g->latency), "queueing",
			 cot_json_number(g->queueing), "load_max", cot_json_number(g->load_max));
}

static json_t *json_subjects(const struct cot_check *c)
{
	json_t *all = json_array();
	uint32_t i;

	for (i = 0; i < c->n_subjects; i++) {
		const struct cot_check_subject *s = &c->subjects[i];

		if (s->fitted)
			(void)json_array_append_new(
				all, json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "kernel",
					       s->name, "warps", (int)s->warps, "cpi",
					       cot_json_number(s->work.cpi), "mem_fraction",
					       cot_json_number(s->work.mem_fraction), "dram_bytes",
					       cot_json_number(s->work.dram_bytes), "mlp",
					       cot_json_number(s->work.mlp), "ipc_max",
					       cot_json_number(s->work.ipc_max)));
	}
	return all;
}

static json_t *json_points(const struct cot_check *c)
{
	json_t *all = json_array(), *measured, *predicted;
	char name[256];
	uint32_t i, j;

	for (i = 0; i < c->n_points; i++) {
		const struct cot_check_point *p = &c->points[i];

		measured = json_array();
		predicted = json_array();
		for (j = 0; j < p->n; j++) {
			(void)json_array_append_new(measured, cot_json_number(p->measured[j]));
			(void)json_array_append_new(predicted, cot_json_number(p->predicted[j]));
		}
		(void)json_array_append_new(
			all, json_pack("{s:s, s:s, s:b, s:b, s:o, s:o, s:o}", "what",
				       cot_check_point_name(c, p, name, sizeof(name)), "group",
				       group_names[cot_check_group_of(c, p)], "on_rest", p->on_rest,
				       "shared", p->shared, "measured", measured, "predicted",
				       predicted, "spread", cot_json_number(p->spread)));
	}
	return all;
}

static json_t *json_errors(const struct cot_check *c)
{
	json_t *all = json_array();
	struct cot_check_errors e;
	char name[256];
	int g;

	for (g = 0; g < COT_CHECK_N_ERROR_GROUPS; g++) {
		cot_check_errors(c, (enum cot_check_group)g, &e);
		if (!e.n)
			continue;
		(void)json_array_append_new(
			all, json_pack("{s:s, s:i, s:i, s:o, s:o, s:o, s:s, s:i}", "group",
				       group_names[g], "mixes", (int)e.n_points, "rates", (int)e.n,
				       "mean", cot_json_number(e.mean), "within_tenth",
				       cot_json_number((double)e.n_within / e.n), "worst",
				       cot_json_number(e.worst), "worst_mix",
				       cot_check_point_name(c, &c->points[e.worst_point], name,
							    sizeof(name)),
				       "worst_part", (int)e.worst_part));
	}
	return all;
}

static json_t *json_sharing(const struct cot_check *c)
{
	json_t *all = json_array();
	struct cot_check_sharing s;
	int slots;

	for (slots = 0; slots < COT_CHECK_N_SLOTS; slots++) {
		cot_check_sharing(c, (enum cot_check_slots)slots, &s);
		if (!s.n)
			continue;
		(void)json_array_append_new(
			all,
			json_pack("{s:s, s:i, s:i, s:o, s:o, s:[o, o], s:[o, o], s:o}", "slots",
				  slots_names[slots], "mixes", (int)s.n_points, "rates", (int)s.n,
				  "mean", cot_json_number(s.mean), "within_tenth",
				  cot_json_number((double)s.n_within / s.n), "measured",
				  cot_json_number(s.measured[0]), cot_json_number(s.measured[1]),
				  "predicted", cot_json_number(s.predicted[0]),
				  cot_json_number(s.predicted[1]), "together",
				  cot_json_number(s.together)));
	}
	return all;
}

static json_t *json_result(const struct cot_check *c, bool points)
{
	json_t *result = json_pack("{s:s, s:o, s:o, s:o, s:o}", "schema", "cotenant.model.check/1",
				   "gpu", json_gpu(c), "kernels", json_subjects(c), "errors",
				   json_errors(c), "same_sms", json_sharing(c));

	if (result && points)
		(void)json_object_set_new(result, "points", json_points(c));
	return result;
}

int cot_check_show(const struct cot_origin *origin, bool points, bool json, FILE *out,
		   struct cot_error *err)
{
	const char *name = cot_origin_name(origin);
	struct cot_contention file;
	struct cot_check *c;
	int rc;

	rc = cot_contention_parse(name, origin->bytes, origin->size, &file, err);
	if (rc)
		return rc;
	c = calloc(1, sizeof(*c));
	if (!c) {
		cot_contention_finish(&file);
		return cot_error_set(err, -ENOMEM, "out of memory");
	}
	rc = cot_check_make(&file, name, c, err);
	if (!rc && json) {
		struct cot_origin of = *origin;

		of.gpu = file.gpu;
		rc = cot_json_write(cot_origin_with(json_result(c, points), &of), COT_JSON_INDENTED,
				    out);
	} else if (!rc) {
		rc = print_text(c, points, out);
		if (rc)
			rc = cot_error_set(err, rc, "out of memory");
	}
	cot_check_finish(c);
	free(c);
	cot_contention_finish(&file);
	return rc;
}
