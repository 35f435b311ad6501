/* Rows as lines: as many columns as fit, the most important ones first. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/show.h"
#include "cli/top.h"

#define CELL_MAX    (4 * COT_TOP_TEXT_MAX)
#define NAME_LEAST  8u
#define NAME_MOST   32u
#define FIXED_LINES 8u
#define KEYS	    "q quit  f freeze  t thaw  c class  w weight  s sort  r reverse  / filter"
#define NO_DAEMON   "No cotenantd answers; it is looked for again and again."

/* ---- columns ---- */

enum align { LEFT, RIGHT };

/* The smaller its rank, the later a column is left out; those of rank 0 never are. */
struct column {
	const char *head;
	unsigned width, rank;
	enum align align;
	void (*cell)(const struct cot_top_row *r, char *ret_text, size_t size);
};

static void put_number(double number, const char *unit, char *text, size_t size)
{
	if (number < 0)
		(void)snprintf(text, size, "-");
	else
		(void)snprintf(text, size, number < 100 && unit[0] ? "%.2f%s" : "%.0f%s", number,
			       unit);
}

#define COLUMN_OF_TEXT(member)                                                          \
	static void member##_cell(const struct cot_top_row *r, char *text, size_t size) \
	{                                                                               \
		(void)snprintf(text, size, "%s", r->member[0] ? r->member : "-");       \
	}
#define COLUMN_OF_NUMBER(member, unit)                                                  \
	static void member##_cell(const struct cot_top_row *r, char *text, size_t size) \
	{                                                                               \
		put_number(r->member, unit, text, size);                                \
	}

COLUMN_OF_TEXT(name)
COLUMN_OF_TEXT(class_)
COLUMN_OF_TEXT(gpus)
COLUMN_OF_TEXT(pool)
COLUMN_OF_TEXT(state)
COLUMN_OF_TEXT(share)
COLUMN_OF_NUMBER(weight, "")
COLUMN_OF_NUMBER(launches, "")
COLUMN_OF_NUMBER(freezes, "")
COLUMN_OF_NUMBER(evictions, "")
COLUMN_OF_NUMBER(programs, "")
COLUMN_OF_NUMBER(target_ms, " ms")

static void id_cell(const struct cot_top_row *r, char *text, size_t size)
{
	(void)snprintf(text, size, "%lld", r->id);
}

static void slice_cell(const struct cot_top_row *r, char *text, size_t size)
{
	if (r->slice_us > 0)
		(void)snprintf(text, size, "%.0f us", r->slice_us);
	else
		(void)snprintf(text, size, r->slice_us < 0 ? "-" : "driver's");
}

static void sms_cell(const struct cot_top_row *r, char *text, size_t size)
{
	if (r->sms < 0)
		(void)snprintf(text, size, "-");
	else
		(void)snprintf(text, size, "%.0f/%.0f", r->sms, r->gpu_sms);
}

static void per_second_cell(const struct cot_top_row *r, char *text, size_t size)
{
	if (r->per_second < 0)
		(void)snprintf(text, size, "-");
	else
		(void)snprintf(text, size, "%.1f", r->per_second);
}

/* Where there is no colour, too, one sees what misses its target. */
static void p99_cell(const struct cot_top_row *r, char *text, size_t size)
{
	put_number(r->p99_ms, r->missed ? " ms!" : " ms", text, size);
}

static void alone_cell(const struct cot_top_row *r, char *text, size_t size)
{
	if (r->alone < 0)
		(void)snprintf(text, size, "-");
	else
		(void)snprintf(text, size, "%.0f%%", 100 * r->alone);
}

/* "900M", "40G": at most five characters up to 9999 GiB. */
static size_t put_bytes(double bytes, char *text, size_t size)
{
	double mib = bytes / 1048576.0;

	if (bytes < 0)
		return (size_t)snprintf(text, size, "-");
	return (size_t)snprintf(text, size, mib < 9999.5 ? "%.0fM" : "%.0fG",
				mib < 9999.5 ? mib : mib / 1024.0);
}

/* In use, and the bound where it has one. */
static void memory_cell(const struct cot_top_row *r, char *text, size_t size)
{
	size_t used = put_bytes(r->memory, text, size);

	if (r->memory_max < 0 || used + 2 > size)
		return;
	text[used++] = '/';
	(void)put_bytes(r->memory_max, text + used, size - used);
}

static void mean_w_cell(const struct cot_top_row *r, char *text, size_t size)
{
	if (r->mean_w < 0)
		(void)snprintf(text, size, "-");
	else
		(void)snprintf(text, size, "%.0f W", r->mean_w);
}

static const struct column pool_columns[] = {
	{"POOL", NAME_LEAST, 0, LEFT, name_cell}, {"GPU", 3, 4, RIGHT, gpus_cell},
	{"MPS", 8, 3, LEFT, class__cell},	  {"STATE", 10, 1, LEFT, state_cell},
	{"SLICE", 9, 2, RIGHT, slice_cell},	  {"PROGRAMS", 8, 5, RIGHT, programs_cell},
	{"FREEZES", 7, 6, RIGHT, freezes_cell},
};

static const struct column program_columns[] = {
	{"ID", 4, 11, RIGHT, id_cell},
	{"NAME", NAME_LEAST, 0, LEFT, name_cell},
	{"CLASS", 7, 1, LEFT, class__cell},
	{"GPU", 3, 7, LEFT, gpus_cell},
	{"POOL", 7, 9, LEFT, pool_cell},
	{"STATE", 10, 5, LEFT, state_cell},
	{"WEIGHT", 6, 15, RIGHT, weight_cell},
	{"SHARE", 6, 14, RIGHT, share_cell},
	{"SLICE", 9, 16, RIGHT, slice_cell},
	{"SMS", 7, 4, RIGHT, sms_cell},
	{"REQ/S", 7, 3, RIGHT, per_second_cell},
	{"P99", 9, 2, RIGHT, p99_cell},
	{"TARGET", 9, 6, RIGHT, target_ms_cell},
	{"OF ALONE", 8, 10, RIGHT, alone_cell},
	{"MEMORY", 11, 8, RIGHT, memory_cell},
	{"POWER", 7, 13, RIGHT, mean_w_cell},
	{"LAUNCH/S", 8, 12, RIGHT, launches_cell},
	{"FREEZES", 7, 17, RIGHT, freezes_cell},
	{"EVICTED", 7, 18, RIGHT, evictions_cell},
};

#define MAX_COLUMNS COT_ARRAY_LEN(program_columns)

/* ---- text of a width ---- */

static unsigned width_of(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += (*text & 0xc0) != 0x80;
	return n;
}

/* At most `room` characters of it, the last one ~ if there are more. Control characters become '?',
 * so that no name drives the terminal. How wide it is. */
static unsigned add(struct cot_top_line *line, const char *text, unsigned room)
{
	size_t used = strlen(line->text);
	unsigned n = 0, width = width_of(text);

	for (; *text && used + 5 < sizeof(line->text); text++) {
		bool begins = (*text & 0xc0) != 0x80;

		if (begins && n == room)
			break;
		if (begins && n + 1 == room && width > room) {
			line->text[used++] = '~';
			n++;
			break;
		}
		n += begins;
		line->text[used++] = (unsigned char)*text < 0x20 || *text == 0x7f ? '?' : *text;
	}
	line->text[used] = '\0';
	return n;
}

static void pad(struct cot_top_line *line, unsigned n)
{
	while (n--)
		(void)add(line, " ", 1);
}

/* ---- tables ---- */

struct layout {
	const struct column *columns;
	size_t n;
	unsigned width[MAX_COLUMNS]; /* 0: left out */
};

/* Whether any row has something in it. */
static bool is_used(const struct column *c, const struct cot_top_rows *rows, bool pools)
{
	char text[CELL_MAX];
	size_t i;

	for (i = 0; i < rows->n; i++) {
		if (rows->row[i].is_pool != pools)
			continue;
		c->cell(&rows->row[i], text, sizeof(text));
		if (strcmp(text, "-") != 0)
			return true;
	}
	return false;
}

static unsigned whole_width(const struct layout *l)
{
	unsigned width = 0;
	size_t i;

	for (i = 0; i < l->n; i++)
		width += l->width[i] ? l->width[i] + (width ? 1 : 0) : 0;
	return width;
}

/* Leaves out the column of the highest rank. False: only those that stay are left. */
static bool leave_one_out(struct layout *l)
{
	size_t i, worst = l->n;

	for (i = 0; i < l->n; i++)
		if (l->width[i] && l->columns[i].rank &&
		    (worst == l->n || l->columns[i].rank > l->columns[worst].rank))
			worst = i;
	if (worst == l->n)
		return false;
	l->width[worst] = 0;
	return true;
}

static unsigned longest_name(const struct cot_top_rows *rows, bool pools)
{
	unsigned longest = NAME_LEAST;
	size_t i;

	for (i = 0; i < rows->n; i++)
		if (rows->row[i].is_pool == pools && width_of(rows->row[i].name) > longest)
			longest = width_of(rows->row[i].name);
	return longest < NAME_MOST ? longest : NAME_MOST;
}

/* The name gets what the other columns leave. */
static void lay_out(struct layout *l, const struct cot_top_rows *rows, bool pools, unsigned width)
{
	unsigned name = longest_name(rows, pools), taken;
	size_t i;

	l->columns = pools ? pool_columns : program_columns;
	l->n = pools ? COT_ARRAY_LEN(pool_columns) : COT_ARRAY_LEN(program_columns);
	for (i = 0; i < l->n; i++)
		l->width[i] = !l->columns[i].rank || is_used(&l->columns[i], rows, pools)
				      ? l->columns[i].width
				      : 0;
	while (whole_width(l) > width && leave_one_out(l))
		;
	taken = whole_width(l);
	for (i = 0; i < l->n; i++)
		if (!l->columns[i].rank && taken < width)
			l->width[i] = width - taken + NAME_LEAST < name ? width - taken + NAME_LEAST
									: name;
}

/* Of a row, or NULL: the heads. */
static void put_row(struct cot_top_line *line, const struct layout *l, const struct cot_top_row *r)
{
	char text[CELL_MAX];
	bool any = false;
	size_t i;

	for (i = 0; i < l->n; i++) {
		const struct column *c = &l->columns[i];
		unsigned width, used;

		if (!l->width[i])
			continue;
		if (r)
			c->cell(r, text, sizeof(text));
		else
			(void)snprintf(text, sizeof(text), "%s", c->head);
		pad(line, any);
		any = true;
		used = width_of(text) < l->width[i] ? width_of(text) : l->width[i];
		width = l->width[i] - used;
		if (c->align == RIGHT)
			pad(line, width);
		(void)add(line, text, l->width[i]);
		if (c->align == LEFT)
			pad(line, width);
	}
}

/* ---- the picture ---- */

static struct cot_top_line *next_line(struct cot_top_picture *p, enum cot_top_tone tone)
{
	struct cot_top_line *line = &p->line[p->n++];

	line->tone = tone;
	return line;
}

static void put_text(struct cot_top_picture *p, enum cot_top_tone tone, unsigned width,
		     const char *text)
{
	(void)add(next_line(p, tone), text, width);
}

static void put_summary(struct cot_top_picture *p, const json_t *stats,
			const struct cot_top_view *view, unsigned width)
{
	const json_t *daemon = json_object_get(stats, "daemon");
	const json_t *fault = json_object_get(daemon, "policy_fault");
	size_t n = json_array_size(json_object_get(stats, "tenants"));
	char text[512];

	(void)snprintf(text, sizeof(text), "policy %s, %zu program%s, by %s%s%s%s",
		       cot_show_text(daemon, "policy"), n, n == 1 ? "" : "s",
		       cot_top_sort_words[view->sort], view->reverse ? " reversed" : "",
		       view->filter[0] ? ", only " : "", view->filter);
	put_text(p, COT_TOP_PLAIN, width, text);
	if (!json_is_object(fault))
		return;
	(void)snprintf(text, sizeof(text), "The policy '%s' failed: %s",
		       cot_show_text(daemon, "policy_wanted"), cot_show_text(fault, "reason"));
	put_text(p, COT_TOP_BAD, width, text);
}

/* A line for each GPU whose power is known. */
static void put_gpus(struct cot_top_picture *p, const json_t *gpus, unsigned width)
{
	const json_t *gpu;
	char text[256];
	size_t i;

	json_array_foreach (gpus, i, gpu) {
		const json_t *energy = json_object_get(gpu, "energy");
		const json_t *now = json_object_get(energy, "power_w");
		const json_t *mean = json_object_get(energy, "mean_w");
		int n;

		if (!json_is_number(now))
			continue;
		n = snprintf(text, sizeof(text), "GPU %lld: %.0f W", cot_show_number(gpu, "index"),
			     json_number_value(now));
		if (json_is_number(mean))
			n += snprintf(text + n, sizeof(text) - (size_t)n, ", mean %.0f W",
				      json_number_value(mean));
		(void)snprintf(text + n, sizeof(text) - (size_t)n, ", %.128s",
			       cot_show_text(gpu, "model"));
		put_text(p, COT_TOP_PLAIN, width, text);
	}
}

static void put_rows(struct cot_top_picture *p, const struct cot_top_rows *rows, bool pools,
		     unsigned width)
{
	struct cot_top_line *line;
	struct layout l;
	size_t i, n = 0;

	for (i = 0; i < rows->n; i++)
		n += rows->row[i].is_pool == pools;
	if (!n && pools)
		return;
	if (!pools && p->n > p->n_head)
		(void)next_line(p, COT_TOP_PLAIN);
	if (!n) {
		put_text(p, COT_TOP_PLAIN, width, "No program is under control.");
		return;
	}
	lay_out(&l, rows, pools, width);
	put_row(next_line(p, COT_TOP_HEAD), &l, NULL);
	for (i = 0; i < rows->n; i++) {
		const struct cot_top_row *r = &rows->row[i];

		if (r->is_pool != pools)
			continue;
		line = next_line(p, r->stuck || r->missed ? COT_TOP_BAD
				    : r->frozen		  ? COT_TOP_COLD
							  : COT_TOP_PLAIN);
		line->id = r->id;
		put_row(line, &l, r);
	}
}

int cot_top_picture_create(const json_t *stats, const struct cot_top_rows *rows,
			   const struct cot_top_view *view, unsigned width,
			   struct cot_top_picture *ret_picture)
{
	const json_t *gpus = json_object_get(stats, "gpus");
	struct cot_top_picture p = {.n = 0};

	width = width < COT_TOP_WIDTH_MIN   ? COT_TOP_WIDTH_MIN
		: width > COT_TOP_WIDTH_MAX ? COT_TOP_WIDTH_MAX
					    : width;
	p.line = calloc(rows->n + json_array_size(gpus) + FIXED_LINES, sizeof(*p.line));
	if (!p.line)
		return -ENOMEM;
	if (stats)
		put_summary(&p, stats, view, width);
	else
		put_text(&p, COT_TOP_BAD, width, NO_DAEMON);
	put_gpus(&p, gpus, width);
	p.n_head = p.n;
	if (stats) {
		put_rows(&p, rows, true, width);
		put_rows(&p, rows, false, width);
	}
	put_text(&p, view->message ? COT_TOP_HEAD : COT_TOP_PLAIN, width,
		 view->message ? view->message : KEYS);
	*ret_picture = p;
	return 0;
}

void cot_top_picture_destroy(struct cot_top_picture *picture)
{
	free(picture->line);
	*picture = (struct cot_top_picture){.n = 0};
}

/* The last line is no part of what scrolls. */
size_t cot_top_scroll(const struct cot_top_picture *p, long long selected, size_t first,
		      size_t room)
{
	size_t n = p->n - p->n_head - 1, i;

	for (i = 0; i < n && selected && room; i++) {
		if (p->line[p->n_head + i].id != selected)
			continue;
		if (i < first)
			first = i;
		if (i >= first + room)
			first = i - room + 1;
	}
	if (n <= room)
		return 0;
	return first > n - room ? n - room : first;
}
