/* What `cotenant model check --live` shows. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "study/live/live.h"

/* "b1-high/pools" */
static struct cot_live_case *find_case(struct cot_live_check *c, const char *name)
{
	const char *slash = strchr(name, '/');
	size_t length = slash ? (size_t)(slash - name) : 0;
	uint32_t i;

	for (i = 0; slash && i < c->n_cases; i++) {
		struct cot_live_case *one = &c->cases[i];

		if (strlen(one->group) == length && !strncmp(one->group, name, length) &&
		    !strcmp(one->way->window, slash + 1))
			return one;
	}
	return NULL;
}

static int show_scenario(struct cot_live_check *c, const char *name, FILE *out,
			 struct cot_error *err)
{
	struct cot_live_case *one = find_case(c, name);
	char text[COT_LIVE_SCENARIO_MAX];
	int rc;

	if (!one)
		return cot_error_set(
			err, -EINVAL,
			"no mix and way is called '%.64s'; expected one that was measured, "
			"such as b1/pools",
			name);
	if (one->why)
		return cot_error_set(err, -EINVAL, "'%.64s' is not predicted: %s; expected another",
				     name, one->why);
	rc = cot_live_play(one, &c->gpu, text, err);
	if (!rc)
		(void)fputs(text, out);
	return rc;
}

/* The GPU is that of the first run; the others tell theirs in the report. */
static int show_all(struct cot_live_check *c, const struct cot_origin *origin, bool json, FILE *out,
		    struct cot_error *err)
{
	struct cot_origin of = *origin;
	int rc = cot_live_predict(c, err);

	if (rc)
		return rc;
	if (c->file->n_runs)
		of.gpu = c->file->runs[0].gpu;
	rc = json ? cot_live_write_json(c, &of, out) : cot_live_write_text(c, out);
	return rc ? cot_error_set(err, rc, "out of memory") : 0;
}

int cot_live_show(const struct cot_origin *origin, const char *scenario, bool json, FILE *out,
		  struct cot_error *err)
{
	struct cot_live_check *c;
	struct cot_live file;
	const char *name = cot_origin_name(origin);
	int rc;

	file = (struct cot_live){0};
	rc = cot_live_parse(name, origin->bytes, origin->size, &file, err);

	if (rc)
		return rc;
	c = calloc(1, sizeof(*c));
	if (!c) {
		cot_live_finish(&file);
		return cot_error_set(err, -ENOMEM, "out of memory");
	}
	rc = cot_live_find(&file, name, c, err);
	if (!rc)
		rc = scenario ? show_scenario(c, scenario, out, err)
			      : show_all(c, origin, json, out, err);
	free(c);
	cot_live_finish(&file);
	return rc;
}
