/* What was found in a program, as text and as JSON. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "base/compiler.h"
#include "cli/inspect.h"
#include "report/json.h"
#include "report/table.h"

#define SCHEMA	  "cotenant.inspect/1"
#define LIST_MAX  256u
#define SENTENCES 20u

static unsigned rank(const struct cot_inspect_code *c)
{
	return 256 * c->arch + (unsigned char)c->suffix;
}

/* Of these codes the one for the next larger GPU, to begin with for one after `last` (NULL: the
 * first). */
static const struct cot_inspect_code *next_code(const struct cot_inspection *in, uint64_t codes,
						bool ptx, const struct cot_inspect_code *last)
{
	const struct cot_inspect_code *next = NULL, *c;
	unsigned i;

	for (i = 0; i < in->n_codes; i++) {
		c = &in->codes[i];
		if (codes & UINT64_C(1) << i && c->ptx == ptx && (!last || rank(c) > rank(last)) &&
		    (!next || rank(c) < rank(next)))
			next = c;
	}
	return next;
}

/* "75, 90a": of PTX or of machine code. */
static void list_codes(const struct cot_inspection *in, uint64_t codes, bool ptx,
		       char ret_text[LIST_MAX])
{
	const struct cot_inspect_code *c = NULL;
	size_t n = 0;

	(void)snprintf(ret_text, LIST_MAX, "-");
	while (n < LIST_MAX - 24 && (c = next_code(in, codes, ptx, c)))
		n += (size_t)snprintf(ret_text + n, LIST_MAX - n, "%s%" PRIu32 "%.1s",
				      n ? ", " : "", c->arch, &c->suffix);
}

/* ---- kernels ---- */

/* The passes other than `workers` that take it: "all", or their names. */
static void list_passes(const struct cot_inspect_kernel *k, char ret_text[LIST_MAX])
{
	unsigned i, n_taken = 0;
	size_t n = 0;

	(void)snprintf(ret_text, LIST_MAX, "-");
	for (i = 0; k->examined && i < COT_N_PASSES; i++) {
		if (i == COT_PASS_WORKERS || k->reasons[i] != COT_REASON_NONE)
			continue;
		n_taken++;
		n += (size_t)snprintf(ret_text + n, LIST_MAX - n, "%s%s", n ? " " : "",
				      cot_pass_info((enum cot_pass)i)->name);
	}
	if (n_taken == COT_N_PASSES - 1)
		(void)snprintf(ret_text, LIST_MAX, "all");
}

static const char *workers(const struct cot_inspect_kernel *k)
{
	if (!k->examined)
		return "no";
	if (k->why)
		return cot_reason_name(k->reasons[COT_PASS_WORKERS]);
	return k->needs_rows ? "yes, rows" : "yes";
}

/* The name comes last: it may be long. */
static int print_kernels(const struct cot_inspection *in, FILE *out)
{
	static const char *const heads[] = {"PTX", "CODE", "WORKERS", "OTHER PASSES", "KERNEL"};
	struct cot_table *t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	char text[LIST_MAX];
	size_t i;

	for (i = 0; i < in->n_kernels; i++) {
		const struct cot_inspect_kernel *k = &in->kernels[i];

		list_codes(in, k->codes, true, text);
		cot_table_text(t, text);
		list_codes(in, k->codes, false, text);
		cot_table_text(t, text);
		cot_table_text(t, workers(k));
		list_passes(k, text);
		cot_table_text(t, text);
		cot_table_text(t, cot_demangle(k->name));
	}
	return cot_table_print(t, out);
}

/* Why kernels are no workers, each sentence once: kernels of one fat binary often share it. */
static void print_sentences(const struct cot_inspection *in, FILE *out)
{
	const char *told[SENTENCES];
	unsigned n = 0, i;
	size_t k;

	for (k = 0; k < in->n_kernels && n < SENTENCES; k++) {
		const char *why = in->kernels[k].why;

		for (i = 0; why && i < n && strcmp(told[i], why); i++)
			;
		if (!why || i < n)
			continue;
		told[n++] = why;
		if (in->kernels[k].examined)
			(void)fprintf(out, "%s\n", why);
		else
			(void)fprintf(out, "no workers: %s\n", why);
	}
	if (n == SENTENCES)
		(void)fprintf(out, "... (--json has all)\n");
}

/* ---- what reaches it ---- */

/* Kernels whose blocks must be on the GPU together, and so fit on a part or stay outside. */
static size_t n_together(const struct cot_inspection *in)
{
	size_t i, n = 0;

	for (i = 0; i < in->n_kernels; i++)
		n += in->kernels[i].examined &&
		     (in->kernels[i].reasons[COT_PASS_WORKERS] == COT_REASON_COOPERATIVE ||
		      in->kernels[i].reasons[COT_PASS_WORKERS] == COT_REASON_CLUSTER);
	return n;
}

static void print_reach(const struct cot_inspected *i, FILE *out)
{
	const struct cot_inspection *in = i->code;
	size_t n = cot_inspect_n_workers(in), together = n_together(in);

	(void)fprintf(out, "On a GPU of compute capability %" PRIu32 ".%" PRIu32 ":\n",
		      in->target / 10, in->target % 10);
	if (i->obstacle) {
		(void)fprintf(
			out,
			"  nothing reaches it: it is %s, so that no library can be loaded into it\n",
			i->obstacle);
		return;
	}
	(void)fprintf(out, "  pools, rotate       all of its kernels, whatever they are\n");
	(void)fprintf(out, "  --sms               all of its kernels%s\n",
		      together ? "; those that need all their blocks at once if these fit" : "");
	(void)fprintf(
		out,
		"  --quota, --reserve  %zu of %zu as workers, which leave while they run; the others on a part\n",
		n, in->n_kernels);
}

/* ---- libraries ---- */

static bool is_shown(const struct cot_inspect_library *l)
{
	return l->codes || !l->path;
}

static int print_libraries(const struct cot_inspect_libraries *l, FILE *out)
{
	static const char *const heads[] = {"LIBRARY", "PTX", "CODE", "FILE"};
	struct cot_table *t = cot_table_create_left(heads, COT_ARRAY_LEN(heads));
	unsigned i, n_shown = 0;
	char text[LIST_MAX];

	for (i = 0; i < l->n_items; i++) {
		if (!is_shown(&l->items[i]))
			continue;
		n_shown++;
		cot_table_text(t, l->items[i].name);
		list_codes(&l->code, l->items[i].codes, true, text);
		cot_table_text(t, text);
		list_codes(&l->code, l->items[i].codes, false, text);
		cot_table_text(t, text);
		cot_table_text(t, l->items[i].path ? l->items[i].path : "not found");
	}
	if (!n_shown) {
		cot_table_destroy(t);
		if (l->n_items)
			(void)fprintf(out, "Libraries: %u, none with GPU code\n", l->n_items);
		return 0;
	}
	(void)fprintf(out, "Libraries with GPU code, or not found (%u others):\n",
		      l->n_items - n_shown);
	return cot_table_print(t, out);
}

int cot_inspect_text(const struct cot_inspected *i, FILE *out)
{
	const struct cot_inspection *in = i->code;
	int rc = 0;

	(void)fprintf(out, "%s: %zu kernel%s in %u fat binar%s\n", i->path, in->n_kernels,
		      in->n_kernels == 1 ? "" : "s", in->n_fatbins,
		      in->n_fatbins == 1 ? "y" : "ies");
	if (in->n_kernels)
		rc = print_kernels(in, out);
	print_sentences(in, out);
	if (in->n_unreadable)
		(void)fprintf(out, "not read: %u of its pieces of GPU code; the first: %s\n",
			      in->n_unreadable, in->unreadable.text);
	if (in->n_kernels)
		print_reach(i, out);
	else
		(void)fprintf(
			out,
			"Libraries that it opens while it runs are not seen here: inspect them too.\n");
	return rc ? rc : print_libraries(i->libraries, out);
}

/* ---- JSON ---- */

static json_t *json_codes(const struct cot_inspection *in, uint64_t codes, bool ptx)
{
	const struct cot_inspect_code *c = NULL;
	json_t *list = json_array();
	char text[24];

	while ((c = next_code(in, codes, ptx, c))) {
		(void)snprintf(text, sizeof(text), "%" PRIu32 "%.1s", c->arch, &c->suffix);
		(void)json_array_append_new(list, json_string(text));
	}
	return list;
}

static json_t *json_passes(const struct cot_inspect_kernel *k)
{
	json_t *passes = json_object();
	unsigned i;

	for (i = 0; k->examined && i < COT_N_PASSES; i++)
		(void)json_object_set_new(passes, cot_pass_info((enum cot_pass)i)->name,
					  k->reasons[i] == COT_REASON_NONE
						  ? json_true()
						  : json_string(cot_reason_name(k->reasons[i])));
	return passes;
}

static json_t *json_kernels(const struct cot_inspection *in)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; i < in->n_kernels; i++) {
		const struct cot_inspect_kernel *k = &in->kernels[i];

		(void)json_array_append_new(
			list, json_pack("{s:s, s:s, s:o, s:o, s:b, s:s?, s:b, s:o}", "name",
					k->name, "source_name", cot_demangle(k->name), "ptx",
					json_codes(in, k->codes, true), "code",
					json_codes(in, k->codes, false), "workers",
					k->examined && !k->why, "why", k->why, "needs_rows",
					k->needs_rows ? 1 : 0, "passes", json_passes(k)));
	}
	return list;
}

static json_t *json_libraries(const struct cot_inspect_libraries *l)
{
	json_t *list = json_array();
	unsigned i;

	for (i = 0; i < l->n_items; i++)
		(void)json_array_append_new(
			list, json_pack("{s:s, s:s?, s:o, s:o}", "name", l->items[i].name, "path",
					l->items[i].path, "ptx",
					json_codes(&l->code, l->items[i].codes, true), "code",
					json_codes(&l->code, l->items[i].codes, false)));
	return list;
}

json_t *cot_inspect_json(const struct cot_inspected *i)
{
	const struct cot_inspection *in = i->code;
	size_t n = i->obstacle ? 0 : in->n_kernels;
	json_t *reach =
		json_pack("{s:I, s:I, s:I}", "pools", (json_int_t)n, "sms", (json_int_t)n, "quota",
			  (json_int_t)(i->obstacle ? 0 : cot_inspect_n_workers(in)));

	return json_pack("{s:s, s:s, s:i, s:i, s:i, s:s?, s:s?, s:o, s:o, s:o}", "schema", SCHEMA,
			 "file", i->path, "arch", (int)in->target, "fat_binaries",
			 (int)in->n_fatbins, "unreadable", (int)in->n_unreadable,
			 "first_unreadable", in->n_unreadable ? in->unreadable.text : NULL,
			 "obstacle", i->obstacle, "reach", reach, "kernels", json_kernels(in),
			 "libraries", json_libraries(i->libraries));
}
