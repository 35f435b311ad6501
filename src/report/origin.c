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
	const char *slash = o ? strrchr(o->scenario, '/') : NULL;

	if (!o || !strcmp(o->scenario, "-"))
		return "A scenario";
	return slash ? slash + 1 : o->scenario;
}

static const char *name_of(const struct cot_origin *o)
{
	return strcmp(o->scenario, "-") != 0 ? o->scenario : "standard input";
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

	if (!o)
		return 0;
	return json_object_set_new(object, "origin",
				   json_pack("{s:o, s:o, s:s, s:s, s:s}", "command",
					     text(o->command), "scenario", text(name_of(o)),
					     "sha256", o->sha256, "gpu", cot_origin_gpu(gpu, name),
					     "version", o->version));
}

int cot_origin_print_html(const struct cot_origin *o, const struct cot_gpu *gpu, FILE *out)
{
	static const char *const heads[] = {"made from", ""};
	struct cot_table *t;
	char name[COT_ORIGIN_GPU_MAX];

	if (!o)
		return 0;
	cot_html_heading(out, "Origin");
	t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	cot_table_text(t, "command");
	cot_table_text(t, o->command);
	cot_table_text(t, "scenario");
	cot_table_text(t, name_of(o));
	cot_table_text(t, "its SHA-256");
	cot_table_text(t, o->sha256);
	cot_table_text(t, "GPU");
	cot_table_text(t, cot_origin_gpu(gpu, name));
	cot_table_text(t, "version");
	cot_table_text(t, o->version);
	if (o->date[0]) {
		cot_table_text(t, "date");
		cot_table_text(t, o->date);
	}
	return cot_table_html(t, out);
}
