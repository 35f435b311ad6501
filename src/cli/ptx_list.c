#include "cli/ptx.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>

#include "base/compiler.h"
#include "cli/common.h"
#include "report/table.h"

#define SCHEMA "cotenant.ptx/1"

bool cot_cli_ptx_is_kernel(const struct cot_ptx_item *item)
{
	return item->kind == COT_PTX_ITEM_FUNC && item->func->entry &&
	       (item->func->has_body || item->func->opaque);
}

/* ---- what is known of a kernel ---- */

struct kernel {
	const struct cot_ptx_func *func;
	struct cot_refusal refusals[COT_N_PASSES];
	uint64_t shared_bytes;
	uint32_t params_bytes;
	bool needs_rows; /* the passes `workers` and `retreat` */
};

int cot_cli_ptx_check(const struct cot_ptx_func *func,
		      struct cot_refusal ret_refusals[COT_N_PASSES], bool *ret_rows)
{
	struct cot_facts facts;
	uint32_t pass;
	int rc;

	*ret_rows = false;
	for (pass = 0; pass < COT_N_PASSES; pass++) {
		rc = cot_pass_check((enum cot_pass)pass, func, &facts, &ret_refusals[pass]);
		if (rc == -ENOMEM)
			return rc;
		if (!rc && pass == COT_PASS_WORKERS)
			*ret_rows = facts.needs_rows;
	}
	return 0;
}

static int look_at(const struct cot_ptx_func *func, struct kernel *ret_kernel)
{
	struct kernel k = {.func = func};
	const struct cot_ptx_stmt *s;
	uint32_t i;
	int rc = cot_cli_ptx_check(func, k.refusals, &k.needs_rows);

	if (rc)
		return rc;
	for (i = 0; i < func->n_params; i++) {
		uint32_t align = cot_ptx_var_align(func->params[i]);

		k.params_bytes = (k.params_bytes + align - 1) / align * align;
		k.params_bytes += (uint32_t)cot_ptx_var_bytes(func->params[i]);
	}
	for (s = func->first; s; s = s->next)
		if (s->kind == COT_PTX_STMT_VAR && s->var->space == COT_PTX_SPACE_SHARED)
			k.shared_bytes += cot_ptx_var_bytes(s->var);
	*ret_kernel = k;
	return 0;
}

/* ---- text ---- */

static void add_row(struct cot_table *t, const struct kernel *k)
{
	uint32_t pass;

	cot_table_text(t, k->func->name);
	cot_table_cell(t, "%" PRIu32, k->func->n_params);
	cot_table_cell(t, "%" PRIu32 " B", k->params_bytes);
	cot_table_cell(t, "%" PRIu64 " B", k->shared_bytes);
	cot_table_cell(t, "%" PRIu32, k->func->n_regs);
	for (pass = 0; pass < COT_N_PASSES; pass++) {
		enum cot_reason reason = k->refusals[pass].reason;

		if (reason != COT_REASON_NONE)
			cot_table_text(t, cot_reason_name(reason));
		else
			cot_table_text(t, k->needs_rows && (pass == COT_PASS_WORKERS ||
							    pass == COT_PASS_RETREAT)
						  ? "yes, rows"
						  : "yes");
	}
}

/* Each sentence once: passes often refuse for the same reason. */
static void print_refusals(const struct kernel *k, FILE *out)
{
	uint32_t pass, before;

	for (pass = 0; pass < COT_N_PASSES; pass++) {
		const struct cot_refusal *r = &k->refusals[pass];

		for (before = 0; before < pass; before++)
			if (k->refusals[before].reason == r->reason &&
			    k->refusals[before].line == r->line)
				break;
		if (r->reason != COT_REASON_NONE && before == pass)
			(void)fprintf(out, "%s\n", r->text);
	}
}

static int list_text(const struct cot_ptx_module *module, FILE *out)
{
	struct cot_column columns[5 + COT_N_PASSES] = {
		{"kernel", COT_ALIGN_LEFT},	{"parameters", COT_ALIGN_RIGHT},
		{"bytes", COT_ALIGN_RIGHT},	{"shared", COT_ALIGN_RIGHT},
		{"registers", COT_ALIGN_RIGHT},
	};
	const struct cot_ptx_item *item;
	struct cot_table *t;
	struct kernel k;
	unsigned i;
	int rc = 0;

	for (i = 0; i < COT_N_PASSES; i++)
		columns[5 + i] =
			(struct cot_column){cot_pass_info((enum cot_pass)i)->name, COT_ALIGN_LEFT};
	t = cot_table_create(columns, COT_ARRAY_LEN(columns));
	for (item = module->first; item && !rc; item = item->next) {
		if (!cot_cli_ptx_is_kernel(item))
			continue;
		rc = look_at(item->func, &k);
		if (!rc)
			add_row(t, &k);
	}
	if (rc) {
		cot_table_destroy(t);
		return rc;
	}
	rc = cot_table_print(t, out);
	for (item = module->first; item && !rc; item = item->next) {
		if (!cot_cli_ptx_is_kernel(item))
			continue;
		rc = look_at(item->func, &k);
		if (!rc)
			print_refusals(&k, out);
	}
	return rc;
}

/* ---- JSON ---- */

static json_t *json_refusal(const struct cot_refusal *r)
{
	return json_pack("{s:s, s:i, s:s}", "reason", cot_reason_name(r->reason), "line",
			 (int)r->line, "text", r->text);
}

static json_t *json_kernel(const struct kernel *k)
{
	json_t *passes = json_object(), *params = json_array();
	uint32_t i;

	for (i = 0; i < COT_N_PASSES; i++)
		(void)json_object_set_new(passes, cot_pass_info((enum cot_pass)i)->name,
					  k->refusals[i].reason == COT_REASON_NONE
						  ? json_true()
						  : json_refusal(&k->refusals[i]));
	for (i = 0; i < k->func->n_params; i++)
		(void)json_array_append_new(
			params,
			json_pack("{s:I, s:I}", "bytes",
				  (json_int_t)cot_ptx_var_bytes(k->func->params[i]), "align",
				  (json_int_t)cot_ptx_var_align(k->func->params[i])));
	return json_pack("{s:s, s:I, s:o, s:I, s:I, s:b, s:o}", "name", k->func->name, "line",
			 (json_int_t)k->func->line, "parameters", params, "shared_bytes",
			 (json_int_t)k->shared_bytes, "registers", (json_int_t)k->func->n_regs,
			 "needs_rows", k->needs_rows ? 1 : 0, "passes", passes);
}

static int list_json(const struct cot_ptx_module *module, const char *path, struct cot_error *err)
{
	json_t *kernels = json_array();
	const struct cot_ptx_item *item;
	struct kernel k;
	char version[32];

	for (item = module->first; item; item = item->next) {
		if (!cot_cli_ptx_is_kernel(item))
			continue;
		if (look_at(item->func, &k) || json_array_append_new(kernels, json_kernel(&k))) {
			json_decref(kernels);
			return cot_error_set(err, -ENOMEM, "out of memory");
		}
	}
	(void)snprintf(version, sizeof(version), "%" PRIu32 ".%" PRIu32, module->version_major,
		       module->version_minor);
	return cot_cli_write_json(json_pack("{s:s, s:s, s:s, s:o}", "schema", SCHEMA, "version",
					    version, "target", module->target, "kernels", kernels),
				  path, err);
}

int cot_cli_ptx_list(const struct cot_ptx_module *module, const char *json, struct cot_error *err)
{
	int rc;

	if (json)
		return list_json(module, json, err);
	rc = list_text(module, stdout);
	return rc ? cot_error_set(err, rc, "out of memory") : cot_cli_flush(err);
}

int cot_cli_ptx_write_results(const struct cot_cli_ptx_result *results, size_t n, const char *json,
			      struct cot_error *err)
{
	json_t *kernels = json_array();
	size_t i;

	for (i = 0; i < n; i++) {
		const struct cot_cli_ptx_result *r = &results[i];
		json_t *item = json_pack("{s:s, s:s?}", "kernel", r->kernel, "made", r->made);

		if (!r->made)
			(void)json_object_set_new(item, "refused", json_refusal(&r->refusal));
		(void)json_array_append_new(kernels, item);
	}
	return cot_cli_write_json(json_pack("{s:s, s:o}", "schema", SCHEMA, "kernels", kernels),
				  json, err);
}
