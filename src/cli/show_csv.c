#include "cli/show_csv.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/outfile.h"
#include "cli/show.h"
#include "report/origin.h"

/* Where a column's key is: requests are those of the last 10 s, figures those that a target is
 * about. */
enum where { PROGRAM, MEMORY, LAUNCHES, ENERGY, TARGET, WINDOW, FIGURES, N_WHERE };

static const struct {
	const char *head;
	enum where where;
	const char *key;
} columns[] = {
	{"id", PROGRAM, "id"},
	{"name", PROGRAM, "name"},
	{"class", PROGRAM, "class"},
	{"weight", PROGRAM, "weight"},
	{"pid", PROGRAM, "pid"},
	{"uid", PROGRAM, "uid"},
	{"gpus", PROGRAM, "gpus"},
	{"pool", PROGRAM, "pool"},
	{"age_s", PROGRAM, "age_seconds"},
	{"quota", PROGRAM, "quota"},
	{"reserve", PROGRAM, "reserve"},
	{"sms", PROGRAM, "sms"},
	{"target", TARGET, "kind"},
	{"target_amount", TARGET, "amount"},
	{"target_ms", TARGET, "ms"},
	{"requests", FIGURES, "n"},
	{"requests_per_s", WINDOW, "per_second"},
	{"of", WINDOW, "judged"},
	{"p50_ms", FIGURES, "p50_ms"},
	{"p95_ms", FIGURES, "p95_ms"},
	{"p99_ms", FIGURES, "p99_ms"},
	{"missed_share", WINDOW, "missed_share"},
	{"launches_per_s", PROGRAM, "launches_per_second"},
	{"coverage", LAUNCHES, "coverage"},
	{"memory_limit_bytes", MEMORY, "limit_bytes"},
	{"memory_used_bytes", MEMORY, "used_bytes"},
	{"memory_on_gpu_bytes", MEMORY, "on_gpu_bytes"},
	{"joules", ENERGY, "joules"},
	{"mean_w", ENERGY, "mean_w"},
};

static void print_value(FILE *out, const json_t *value, char end)
{
	char text[64] = "";

	if (json_is_string(value)) {
		cot_csv_cell_print(out, json_string_value(value), end);
		return;
	}
	if (json_is_array(value))
		cot_show_gpus(value, text, sizeof(text));
	else if (json_is_integer(value))
		(void)snprintf(text, sizeof(text), "%lld", (long long)json_integer_value(value));
	else if (json_is_real(value))
		(void)snprintf(text, sizeof(text), "%.9g", json_real_value(value));
	cot_csv_cell_print(out, text, end);
}

static void print_row(FILE *out, const json_t *program)
{
	const json_t *window =
		json_array_get(json_object_get(json_object_get(program, "requests"), "windows"), 1);
	const json_t *const from[N_WHERE] = {
		[PROGRAM] = program,
		[MEMORY] = json_object_get(program, "memory"),
		[LAUNCHES] = json_object_get(program, "launches"),
		[ENERGY] = json_object_get(program, "energy"),
		[TARGET] = json_object_get(program, "target"),
		[WINDOW] = window,
		[FIGURES] = json_object_get(window, cot_show_text(window, "judged")),
	};
	size_t i;

	for (i = 0; i < COT_ARRAY_LEN(columns); i++)
		print_value(out, json_object_get(from[columns[i].where], columns[i].key),
			    i + 1 < COT_ARRAY_LEN(columns) ? ',' : '\n');
}

int cot_show_csv(const json_t *answer, const char *path, struct cot_error *err)
{
	struct cot_outfile *out;
	int rc = cot_outfile_open(path, &out, err);
	const json_t *program;
	size_t i;

	if (rc)
		return rc;
	for (i = 0; i < COT_ARRAY_LEN(columns); i++)
		(void)fprintf(cot_outfile_stream(out), "%s%c", columns[i].head,
			      i + 1 < COT_ARRAY_LEN(columns) ? ',' : '\n');
	json_array_foreach (json_object_get(answer, "tenants"), i, program)
		print_row(cot_outfile_stream(out), program);
	rc = cot_outfile_commit(out, err);
	cot_outfile_destroy(out);
	return rc;
}
