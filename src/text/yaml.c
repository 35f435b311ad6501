#include "text/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/nearest.h"
#include "text/text.h"
#include "text/yaml_tree.h"

#define LIST_MAX 320 /* bytes of a list of words in a message */

/* ---- places ---- */

static int COT_PRINTF(4, 0) fail_at(const struct cot_yaml *doc, uint32_t node,
				    struct cot_error *err, const char *fmt, va_list ap)
{
	const struct cot_yaml_node *at = &doc->nodes[node];
	char what[COT_ERROR_MAX];

	(void)vsnprintf(what, sizeof(what), fmt, ap);
	return cot_error_set(err, -EINVAL, "%s:%u:%u: %s", doc->name, at->line, at->col, what);
}

int cot_yaml_fail(const struct cot_yaml *doc, uint32_t node, struct cot_error *err, const char *fmt,
		  ...)
{
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = fail_at(doc, node, err, fmt, ap);
	va_end(ap);
	return rc;
}

int cot_yaml_fail_key(const struct cot_yaml *doc, uint32_t map, const char *key,
		      struct cot_error *err, const char *fmt, ...)
{
	uint32_t node = cot_yaml_get(doc, map, key);
	va_list ap;
	int rc;

	va_start(ap, fmt);
	rc = fail_at(doc, node == COT_YAML_NONE ? map : node, err, fmt, ap);
	va_end(ap);
	return rc;
}

void cot_yaml_place(const struct cot_yaml *doc, uint32_t node, uint32_t *ret_line,
		    uint32_t *ret_col)
{
	*ret_line = doc->nodes[node].line;
	*ret_col = doc->nodes[node].col;
}

/* ---- the check ---- */

struct check {
	struct cot_yaml *doc;
	struct cot_error *err;
};

static int check_value(const struct check *c, const struct cot_field *f, uint32_t node, bool entry);

static const char *list_keys(const struct cot_field *map, char list[LIST_MAX])
{
	const struct cot_field *f;

	list[0] = '\0';
	for (f = map->fields; f->key; f++)
		cot_text_add_word(list, LIST_MAX, f->key);
	return list;
}

static const char *kind_name(const struct cot_yaml *doc, uint32_t node)
{
	switch (doc->nodes[node].kind) {
	case COT_YAML_MAP:
		return "a map";
	case COT_YAML_LIST:
		return "a list";
	default:
		return *cot_yaml_text(doc, node) ? "text" : "empty";
	}
}

/* "KEY is WHAT; expected EXPECTED"; `entry`: of the list under that key */
static int fail_expected(const struct check *c, const struct cot_field *f, uint32_t node,
			 bool entry, const char *expected)
{
	const char *text = cot_yaml_text(c->doc, node);
	char quote[COT_QUOTE_MAX], found[COT_QUOTE_MAX + 2];

	if (c->doc->nodes[node].kind == COT_YAML_TEXT && *text)
		(void)snprintf(found, sizeof(found), "'%s'", cot_text_quote(text, quote));
	else
		(void)snprintf(found, sizeof(found), "%s", kind_name(c->doc, node));
	return cot_yaml_fail(c->doc, node, c->err, "%s%s is %s; expected %s",
			     entry ? "an entry of " : "", f->key, found, expected);
}

static int check_scalar(const struct check *c, const struct cot_field *f, uint32_t node, bool entry)
{
	char expected[COT_FIELD_EXPECTED_MAX];

	if (c->doc->nodes[node].kind == COT_YAML_TEXT &&
	    cot_field_read(f, cot_yaml_text(c->doc, node), 0, NULL))
		return 0;
	return fail_expected(c, f, node, entry, cot_field_expected(f, expected));
}

/* A word where a map is wanted: one that may stand alone is spelled out in the tree. */
static int check_alone(const struct check *c, const struct cot_field *map, uint32_t node,
		       bool entry)
{
	const struct cot_field *f = map->fields;
	const char *text = cot_yaml_text(c->doc, node), *word;
	char list[LIST_MAX], expected[LIST_MAX + 64];
	int rc;

	while (f->key && !f->alone)
		f++;
	word = f->kind == COT_FIELD_BOOL ? f->key : NULL;
	if (f->key && (word ? !strcmp(word, text) : *text != '\0')) {
		rc = word ? 0 : cot_field_read(f, text, 0, NULL) ? 0 : -EINVAL;
		if (!rc)
			return cot_yaml_spell_out(c->doc, node, f->key, word ? "true" : NULL,
						  c->err);
		return fail_expected(c, map, node, entry, cot_field_expected(f, expected));
	}
	(void)snprintf(expected, sizeof(expected), "%s%s%sa map of %s", word ? "the word " : "",
		       word	? word
		       : f->key ? "a name"
				: "",
		       f->key ? " or " : "", list_keys(map, list));
	return fail_expected(c, map, node, entry, expected);
}

static int fail_unknown_key(const struct check *c, const struct cot_field *map, uint32_t key)
{
	char list[LIST_MAX], quote[COT_QUOTE_MAX], hint[COT_NEAREST_HINT_MAX];
	struct cot_nearest near = {.word = cot_yaml_text(c->doc, key)};
	const struct cot_field *f;

	for (f = map->fields; f->key; f++)
		cot_nearest_try(&near, f->key);
	return cot_yaml_fail(c->doc, key, c->err, "unknown key '%s'%s; expected one of %s",
			     cot_text_quote(near.word, quote), cot_nearest_hint(&near, hint),
			     list_keys(map, list));
}

static int check_key(const struct check *c, const struct cot_field *map, uint32_t node,
		     uint32_t key, const struct cot_field **ret_field)
{
	const char *text = cot_yaml_text(c->doc, key);

	*ret_field = cot_field_find(map->fields, text);
	if (!*ret_field)
		return fail_unknown_key(c, map, key);
	if (cot_yaml_get(c->doc, node, text) != c->doc->nodes[key].next)
		return cot_yaml_fail(c->doc, key, c->err,
				     "the key '%s' is here a second time; expected it once", text);
	return 0;
}

static int check_keys(const struct check *c, const struct cot_field *map, uint32_t node, bool entry)
{
	const struct cot_field *f;
	uint32_t key, value;
	int rc = 0;

	for (key = cot_yaml_first(c->doc, node); !rc && key != COT_YAML_NONE;
	     key = cot_yaml_next(c->doc, value)) {
		value = cot_yaml_next(c->doc, key);
		rc = check_key(c, map, node, key, &f);
		rc = rc ? rc : check_value(c, f, value, false);
	}
	for (f = map->fields; !rc && f->key; f++)
		if (f->required && cot_yaml_get(c->doc, node, f->key) == COT_YAML_NONE)
			rc = cot_yaml_fail(c->doc, node, c->err,
					   "the key '%s' is missing; expected it in %s%s", f->key,
					   entry ? "each entry of " : "",
					   *map->key ? map->key : "this file");
	return rc;
}

static int check_map(const struct check *c, const struct cot_field *map, uint32_t node, bool entry)
{
	char list[LIST_MAX], expected[LIST_MAX + 16];

	switch (c->doc->nodes[node].kind) {
	case COT_YAML_TEXT:
		return check_alone(c, map, node, entry);
	case COT_YAML_LIST:
		(void)snprintf(expected, sizeof(expected), "a map of %s", list_keys(map, list));
		return fail_expected(c, map, node, entry, expected);
	default:
		return check_keys(c, map, node, entry);
	}
}

static int check_list(const struct check *c, const struct cot_field *f, uint32_t node)
{
	uint32_t n = cot_yaml_count(c->doc, node), entry;
	int rc = 0;

	if (c->doc->nodes[node].kind != COT_YAML_LIST)
		return fail_expected(c, f, node, false, "a list");
	if (!n || n > f->list)
		return cot_yaml_fail(c->doc, node, c->err, "%s has %u entries; expected 1 to %u",
				     f->key, n, f->list);
	for (entry = cot_yaml_first(c->doc, node); !rc && entry != COT_YAML_NONE;
	     entry = cot_yaml_next(c->doc, entry))
		rc = check_value(c, f, entry, true);
	return rc;
}

/* Recursion ends with the rows, which are no deeper than COT_YAML_DEPTH_MAX. */
static int check_value(const struct check *c, const struct cot_field *f, uint32_t node, bool entry)
{
	if (f->list && !entry)
		return check_list(c, f, node);
	if (f->kind == COT_FIELD_MAP)
		return check_map(c, f, node, entry);
	return check_scalar(c, f, node, entry);
}

static int check_root(struct cot_yaml *doc, const struct cot_field *fields, struct cot_error *err)
{
	const struct cot_field root = {.key = "", COT_MAP(fields)};
	const struct check c = {.doc = doc, .err = err};

	if (doc->nodes[COT_YAML_ROOT].kind == COT_YAML_MAP)
		return check_value(&c, &root, COT_YAML_ROOT, false);
	return cot_yaml_fail(doc, COT_YAML_ROOT, err,
			     "the file holds %s; expected a map that begins with 'schema:'",
			     kind_name(doc, COT_YAML_ROOT));
}

int cot_yaml_load_with(const char *name, const void *bytes, size_t size,
		       const struct cot_field *fields, const struct cot_yaml_setting *settings,
		       unsigned n, struct cot_yaml **ret_doc, struct cot_error *err)
{
	struct cot_yaml *doc;
	unsigned i;
	int rc;

	rc = cot_yaml_parse(name, bytes, size, &doc, err);
	if (rc)
		return rc;
	/* First the file as it is: then words that stand for maps are spelled out. */
	rc = check_root(doc, fields, err);
	for (i = 0; i < n && !rc; i++)
		rc = cot_yaml_set(doc, &settings[i], err);
	if (n && !rc)
		rc = check_root(doc, fields, err);
	if (rc)
		cot_yaml_destroy(doc);
	else
		*ret_doc = doc;
	return rc;
}

int cot_yaml_load(const char *name, const void *bytes, size_t size, const struct cot_field *fields,
		  struct cot_yaml **ret_doc, struct cot_error *err)
{
	return cot_yaml_load_with(name, bytes, size, fields, NULL, 0, ret_doc, err);
}

/* ---- the contents of a checked document ---- */

static void fill_list(const struct cot_yaml *doc, uint32_t list, const struct cot_field *f,
		      void *out)
{
	size_t stride = f->size / f->list;
	uint32_t entry = cot_yaml_first(doc, list), i;

	for (i = 0; f->size && entry != COT_YAML_NONE; i++, entry = cot_yaml_next(doc, entry))
		if (f->kind == COT_FIELD_MAP)
			cot_yaml_fill(doc, entry, f->fields, (char *)out + f->at + i * stride);
		else
			(void)cot_field_read(f, cot_yaml_text(doc, entry), i, out);
}

void cot_yaml_fill(const struct cot_yaml *doc, uint32_t map, const struct cot_field *fields,
		   void *out)
{
	const struct cot_field *f;
	uint32_t node;

	for (f = fields; f->key; f++) {
		node = cot_yaml_get(doc, map, f->key);
		if (f->list)
			fill_list(doc, node, f, out);
		else if (f->kind == COT_FIELD_MAP)
			cot_yaml_fill(doc, node, f->fields, out);
		else if (node == COT_YAML_NONE)
			cot_field_default(f, out);
		else if (f->size)
			(void)cot_field_read(f, cot_yaml_text(doc, node), 0, out);
	}
}

uint32_t cot_yaml_get(const struct cot_yaml *doc, uint32_t map, const char *key)
{
	uint32_t k, value;

	if (map == COT_YAML_NONE || doc->nodes[map].kind != COT_YAML_MAP)
		return COT_YAML_NONE;
	for (k = doc->nodes[map].first; k != COT_YAML_NONE; k = doc->nodes[value].next) {
		value = doc->nodes[k].next;
		if (!strcmp(cot_yaml_text(doc, k), key))
			return value;
	}
	return COT_YAML_NONE;
}

uint32_t cot_yaml_first(const struct cot_yaml *doc, uint32_t list)
{
	return list == COT_YAML_NONE ? COT_YAML_NONE : doc->nodes[list].first;
}

uint32_t cot_yaml_next(const struct cot_yaml *doc, uint32_t entry)
{
	return doc->nodes[entry].next;
}

uint32_t cot_yaml_count(const struct cot_yaml *doc, uint32_t node)
{
	if (node == COT_YAML_NONE)
		return 0;
	return doc->nodes[node].kind == COT_YAML_MAP ? doc->nodes[node].n / 2 : doc->nodes[node].n;
}

const char *cot_yaml_text(const struct cot_yaml *doc, uint32_t node)
{
	return node == COT_YAML_NONE ? NULL : doc->pool + doc->nodes[node].text;
}
