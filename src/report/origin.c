#include "report/origin.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "report/html.h"
#include "report/table.h"

void cot_origin_finish(struct cot_origin *o)
{
	free(o->command);
	o->command = NULL;
}

const char *cot_origin_gpu(const struct cot_gpu *gpu, char buf[COT_ORIGIN_GPU_MAX])
{
	(void)snprintf(buf, COT_ORIGIN_GPU_MAX, "%s (%" PRIu32 " SMs)",
		       gpu->name[0] ? gpu->name : "a GPU", gpu->n_sms);
	return buf;
}

const char *cot_origin_title(const struct cot_origin *o)
{
	const char *slash = o && o->file ? strrchr(o->file, '/') : NULL;

	if (!o || !o->file || !strcmp(o->file, "-"))
		return "A scenario";
	return slash ? slash + 1 : o->file;
}

const char *cot_origin_name(const struct cot_origin *o)
{
	return strcmp(o->file, "-") != 0 ? o->file : "stdin";
}

static const char *kind_of(const struct cot_origin *o)
{
	return o->kind == COT_ORIGIN_DATA || o->kind == COT_ORIGIN_BUILT_IN ? "data" : "scenario";
}

static const char *input_of(const struct cot_origin *o)
{
	if (o->kind == COT_ORIGIN_BUILT_IN)
		return "built in";
	if (o->kind == COT_ORIGIN_DRAWN)
		return "drawn at random";
	return strcmp(o->file, "-") != 0 ? o->file : "standard input";
}

static const char *gpu_of(const struct cot_origin *o, const struct cot_gpu *gpu,
			  char buf[COT_ORIGIN_GPU_MAX])
{
	return gpu ? cot_origin_gpu(gpu, buf) : o->gpu;
}

/* A path or a command line need not be UTF-8; JSON is. */
static json_t *text(const char *s)
{
	json_t *t = json_string(s);

	return t ? t : json_string("(not UTF-8)");
}

int cot_origin_add_json(json_t *object, const struct cot_origin *o, const struct cot_gpu *gpu)
{
	char name[COT_ORIGIN_GPU_MAX];
	json_t *origin;

	if (!o)
		return 0;
	origin = json_pack("{s:o, s:o, s:s*, s:s*, s:s}", "command", text(o->command), kind_of(o),
			   text(input_of(o)), "sha256", o->sha256[0] ? o->sha256 : NULL, "gpu",
			   gpu_of(o, gpu, name), "version", o->version);
	if (o->has_seed && json_object_set_new(origin, "seed", json_integer((json_int_t)o->seed))) {
		json_decref(origin);
		return -1;
	}
	return json_object_set_new(object, "origin", origin);
}

json_t *cot_origin_with(json_t *object, const struct cot_origin *o)
{
	if (object && !cot_origin_add_json(object, o, NULL))
		return object;
	json_decref(object);
	return NULL;
}

void cot_csv_cell_print(FILE *out, const char *text, char end)
{
	bool quotes = text[strcspn(text, ",\"\n\r")] != '\0';

	if (quotes)
		(void)fputc('"', out);
	for (; *text; text++)
		(void)fprintf(out, *text == '"' ? "\"\"" : "%c", *text);
	(void)fprintf(out, "%s%c", quotes ? "\"" : "", end);
}

void cot_origin_print_csv(const struct cot_origin *o, const struct cot_gpu *gpu, FILE *out)
{
	char name[COT_ORIGIN_GPU_MAX];
	const char *gpu_name = gpu_of(o, gpu, name);

	cot_csv_cell_print(out, o->file ? o->file : input_of(o), ',');
	cot_csv_cell_print(out, o->sha256, ',');
	cot_csv_cell_print(out, gpu_name ? gpu_name : "", ',');
	cot_csv_cell_print(out, o->version, ',');
	cot_csv_cell_print(out, o->command, '\n');
}

static void line(struct cot_table *t, const char *what, const char *is)
{
	if (!is || !*is)
		return;
	cot_table_text(t, what);
	cot_table_text(t, is);
}

int cot_origin_print_html(const struct cot_origin *o, const struct cot_gpu *gpu, FILE *out)
{
	static const char *const heads[] = {"made from", ""};
	struct cot_table *t;
	char name[COT_ORIGIN_GPU_MAX], seed[24];

	if (!o)
		return 0;
	cot_html_heading(out, "Origin");
	t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	(void)snprintf(seed, sizeof(seed), "%" PRIu64, o->seed);
	line(t, "command", o->command);
	line(t, kind_of(o), input_of(o));
	line(t, "its SHA-256", o->sha256);
	line(t, "seed", o->has_seed ? seed : NULL);
	line(t, "GPU", gpu_of(o, gpu, name));
	line(t, "version", o->version);
	line(t, "date", o->date);
	return cot_table_html(t, out);
}
