/* A recording as a page: programs, requests against their targets, rates, and what changed. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/html.h"
#include "report/recording.h"
#include "report/svg.h"

#define LINES_MAX   8u	 /* in one chart */
#define CHANGES_MAX 500u /* in the table */

typedef double value_of(const struct cot_record_point *p); /* NAN: not known */

static double response_p99(const struct cot_record_point *p)
{
	const struct cot_record_times *t = p->times[COT_RECORD_1S];

	if (t[COT_RECORD_RESPONSE].n)
		return t[COT_RECORD_RESPONSE].p99_ms;
	return t[COT_RECORD_SERVICE].n ? t[COT_RECORD_SERVICE].p99_ms : (double)NAN;
}

static double launches(const struct cot_record_point *p)
{
	return p->launches_per_s > 0 ? p->launches_per_s : (double)NAN;
}

static double sms(const struct cot_record_point *p)
{
	return p->has_sms > 0 ? p->has_sms : (double)NAN;
}

static double slice(const struct cot_record_point *p)
{
	return p->slice_us > 0 ? p->slice_us : (double)NAN;
}

/* Lines that are drawn together: x and y of each have room for all its points. A program has the
 * same place, and so the same colour, in all charts; where it has no points it has no name. */
struct lines {
	unsigned n;
	const char *names[LINES_MAX];
	unsigned n_points[LINES_MAX];
	double *x, *y; /* [line * n_points of the recording + point] */
};

static unsigned collect(const struct cot_record *r, uint32_t program, value_of *value, double *x,
			double *y)
{
	unsigned n = 0;
	uint32_t i;

	for (i = 0; i < r->n_points; i++) {
		double v = value(&r->points[i]);

		if (r->points[i].program != program || isnan(v))
			continue;
		x[n] = r->points[i].at_ms / 1e3;
		y[n++] = v;
	}
	return n;
}

static void draw(const struct cot_record *r, const struct lines *l, const char *title,
		 const char *y_label, double reference, const char *caption, FILE *out)
{
	const double *xs[LINES_MAX], *ys[LINES_MAX];
	const struct cot_line_chart chart = {
		.title = title,
		.x_label = "time, s",
		.y_label = y_label,
		.n_series = l->n,
		.series = l->names,
		.n_points = l->n_points,
		.x = xs,
		.y = ys,
		.markers = r->n_samples < 40,
		.reference = reference,
	};
	unsigned s;

	for (s = 0; s < l->n; s++) {
		xs[s] = l->x + (size_t)s * r->n_points;
		ys[s] = l->y + (size_t)s * r->n_points;
	}
	cot_html_figure_begin(out);
	cot_svg_lines(out, &chart);
	cot_html_figure_end(out, caption);
}

/* The line of a program. Whether it has points. */
static bool add_line(const struct cot_record *r, struct lines *l, uint32_t program, value_of *value)
{
	unsigned line = program % LINES_MAX;
	size_t at = (size_t)line * r->n_points;
	unsigned n = collect(r, program, value, l->x + at, l->y + at);

	l->n_points[line] = n;
	l->names[line] = n ? r->programs[program].name : NULL;
	return n != 0;
}

static void no_lines(struct lines *l)
{
	unsigned i;

	l->n = LINES_MAX;
	for (i = 0; i < LINES_MAX; i++) {
		l->names[i] = NULL;
		l->n_points[i] = 0;
	}
}

/* The programs of which it is known, the first ones of many. */
static void all_programs(const struct cot_record *r, struct lines *l, const char *title,
			 const char *y_label, value_of *value, const char *caption, FILE *out)
{
	bool any = false;
	uint32_t i;

	no_lines(l);
	for (i = 0; i < r->n_programs; i++)
		if (!l->n_points[i % LINES_MAX])
			any |= add_line(r, l, i, value);
	if (!any)
		return;
	cot_html_heading(out, title);
	draw(r, l, title, y_label, (double)NAN, caption, out);
}

/* A chart for each program with requests, as each has its own target. */
static void requests(const struct cot_record *r, struct lines *l, FILE *out)
{
	bool headed = false;
	uint32_t i;

	for (i = 0; i < r->n_programs; i++) {
		const struct cot_record_program *p = &r->programs[i];
		double limit_ms = cot_recording_limit_ms(p);
		char caption[COT_RECORD_TEXT_MAX + 128];

		no_lines(l);
		if (!add_line(r, l, i, response_p99))
			continue;
		if (!headed)
			cot_html_heading(out, "Requests: p99 of each second");
		headed = true;
		(void)snprintf(caption, sizeof(caption),
			       "%s: 99 %% of a second's requests took no "
			       "longer.%s",
			       p->name, limit_ms > 0 ? " The dashed line is its target." : "");
		draw(r, l, "p99 over time", "p99, ms", limit_ms > 0 ? limit_ms : (double)NAN,
		     caption, out);
	}
}

static int changes(const struct cot_record *r, FILE *out)
{
	static const char *const heads[] = {"time, s", "who", "what", "from", "to", "why"};
	struct cot_table *t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	uint32_t i, n = r->n_changes < CHANGES_MAX ? r->n_changes : CHANGES_MAX;
	char text[128];

	cot_html_heading(out, "Decisions and changes");
	(void)snprintf(text, sizeof(text),
		       "Orders that the policy sent: %llu. Changes that were seen: %u%s.",
		       (unsigned long long)r->n_decisions, r->n_changes,
		       n < r->n_changes ? "; the first ones" : "");
	cot_html_paragraph(out, text);
	if (!n) {
		cot_table_destroy(t);
		return 0;
	}
	for (i = 0; i < n; i++) {
		const struct cot_record_change *c = &r->changes[i];

		cot_table_cell(t, "%.1f", c->at_ms / 1e3);
		cot_table_text(t, c->who);
		cot_table_text(t, c->what);
		cot_table_text(t, c->from);
		cot_table_text(t, c->to);
		cot_table_text(t, c->why);
	}
	return cot_table_html(t, out);
}

static int print(const struct cot_record *r, struct lines *l, const struct cot_origin *origin,
		 FILE *out)
{
	char text[COT_RECORDING_DESCRIPTION_MAX];
	int rc;

	cot_recording_describe(r, text);
	cot_html_begin(out, cot_origin_title(origin), text);
	rc = cot_table_html(cot_recording_table(r), out);
	if (rc)
		return rc;
	requests(r, l, out);
	all_programs(r, l, "Launches per second", "launches/s", launches,
		     "Of programs whose launches are counted: those with a quota, a reservation, "
		     "a part or --measure.",
		     out);
	all_programs(r, l, "SMs", "SMs", sms, "Of programs on a part of the GPU.", out);
	all_programs(r, l, "Time slices", "slice, us", slice, "Of the program, or of its pool.",
		     out);
	rc = changes(r, out);
	if (!rc)
		rc = cot_origin_print_html(origin, NULL, out);
	cot_html_end(out);
	return rc;
}

int cot_recording_print_html(const struct cot_record *r, const struct cot_origin *origin, FILE *out)
{
	size_t n = (size_t)LINES_MAX * r->n_points + 1;
	struct lines l = {.x = calloc(n, sizeof(double)), .y = calloc(n, sizeof(double))};
	int rc = l.x && l.y ? print(r, &l, origin, out) : -ENOMEM;

	free(l.x);
	free(l.y);
	return rc;
}
