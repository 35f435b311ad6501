#include "text/yaml_check.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/number.h"
#include "text/text.h"

#define LIST_MAX 320 /* bytes of a list of words in a message */

struct check {
	const struct cot_yaml_tree *tree;
	const struct cot_yaml_format *format;
	const char *name;
	struct cot_error *err;
	char *out;
	size_t size, cap;
};

/* What a message calls the value: its key, or an entry of the list under that key. */
struct label {
	const char *key;
	bool entry;
};

static int check_value(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
		       struct label label);

static int COT_PRINTF(3, 4) fail(struct check *c, uint32_t node, const char *fmt, ...)
{
	const struct cot_yaml_node *at = &c->tree->nodes[node];
	char what[COT_ERROR_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return cot_error_set(c->err, -EINVAL, "%s:%u:%u: %s", c->name, at->line, at->col, what);
}

static int emit(struct check *c, const char *text, size_t len)
{
	if (c->size + len + 1 > c->cap) {
		size_t cap = 2 * (c->size + len + 1);
		char *bigger = realloc(c->out, cap);

		if (!bigger)
			return cot_error_set(c->err, -ENOMEM, "%s: out of memory", c->name);
		c->out = bigger;
		c->cap = cap;
	}
	memcpy(c->out + c->size, text, len);
	c->size += len;
	return 0;
}

static int emit_word(struct check *c, const char *text)
{
	return emit(c, text, strlen(text));
}

/* Double quotes; the text has no control characters. */
static int emit_quoted(struct check *c, const char *text)
{
	int rc = emit_word(c, "\"");

	for (; !rc && *text; text++) {
		if (*text == '"' || *text == '\\')
			rc = emit_word(c, "\\");
		if (!rc)
			rc = emit(c, text, 1);
	}
	return rc ? rc : emit_word(c, "\"");
}

static void add_to_list(char list[LIST_MAX], const char *word)
{
	size_t n = strlen(list);

	(void)snprintf(list + n, LIST_MAX - n, "%s%s", n ? ", " : "", word);
}

static const char *list_keys(const struct cyaml_schema_value *s, char list[LIST_MAX])
{
	const struct cyaml_schema_field *f;

	list[0] = '\0';
	for (f = s->mapping.fields; f->key; f++)
		add_to_list(list, f->key);
	return list;
}

static const char *list_words(const struct cyaml_schema_value *s, char list[LIST_MAX])
{
	uint32_t i;

	list[0] = '\0';
	for (i = 0; i < s->enumeration.count; i++)
		add_to_list(list, s->enumeration.strings[i].str);
	return list;
}

static const char *kind_name(const struct check *c, uint32_t node)
{
	switch (c->tree->nodes[node].kind) {
	case COT_YAML_MAP:
		return "a map";
	case COT_YAML_LIST:
		return "a list";
	default:
		return *cot_yaml_text(c->tree, node) ? "text" : "empty";
	}
}

/* "KEY is WHAT; expected EXPECTED" */
static int fail_expected(struct check *c, uint32_t node, struct label label, const char *expected)
{
	char quote[COT_QUOTE_MAX], found[COT_QUOTE_MAX + 2];

	if (c->tree->nodes[node].kind == COT_YAML_TEXT && *cot_yaml_text(c->tree, node))
		(void)snprintf(found, sizeof(found), "'%s'",
			       cot_text_quote(cot_yaml_text(c->tree, node), quote));
	else
		(void)snprintf(found, sizeof(found), "%s", kind_name(c, node));
	return fail(c, node, "%s%s is %s; expected %s", label.entry ? "an entry of " : "",
		    label.key, found, expected);
}

static const struct cot_yaml_range *find_range(const struct check *c, const char *key)
{
	const struct cot_yaml_range *range;
	unsigned i;

	for (i = 0; i < COT_YAML_RANGES; i++)
		for (range = c->format->ranges[i]; range && range->key; range++)
			if (!strcmp(range->key, key))
				return range;
	return NULL;
}

static int check_number(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
			struct label label)
{
	const char *text = cot_yaml_text(c->tree, node);
	const struct cot_yaml_range *range = find_range(c, label.key);
	char expected[COT_NUMBER_EXPECTED_MAX];
	bool ok, whole = s->type != CYAML_FLOAT;
	double value = 0;
	uint64_t u = 0;
	int64_t i = 0;

	if (s->type == CYAML_UINT) {
		ok = cot_number_u64(text, &u);
		value = (double)u;
		if (s->data_size < sizeof(u))
			ok = ok && u >> (8 * s->data_size) == 0;
	} else if (s->type == CYAML_INT) {
		ok = cot_number_i64(text, &i);
		value = (double)i;
		if (s->data_size < sizeof(i))
			ok = ok && i < (INT64_C(1) << (8 * s->data_size - 1)) &&
			     i >= -(INT64_C(1) << (8 * s->data_size - 1));
	} else {
		ok = cot_number_double(text, &value);
	}
	if (ok && (!range || (value >= range->min && value <= range->max)))
		return emit_quoted(c, text);
	if (range)
		cot_number_expected(whole, range->min, range->max, expected);
	else
		(void)snprintf(expected, sizeof(expected), "a %snumber%s", whole ? "whole " : "",
			       s->type == CYAML_UINT ? " from 0 to 18446744073709551615" : "");
	return fail_expected(c, node, label, expected);
}

static int check_string(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
			struct label label)
{
	const char *text = cot_yaml_text(c->tree, node);
	size_t n = strlen(text);
	char expected[64];

	if (n >= s->string.min && n <= s->string.max)
		return emit_quoted(c, text);
	(void)snprintf(expected, sizeof(expected), "text of %u to %u bytes", s->string.min,
		       s->string.max);
	return fail_expected(c, node, label, expected);
}

static int check_enum(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
		      struct label label)
{
	const char *text = cot_yaml_text(c->tree, node);
	char list[LIST_MAX], expected[LIST_MAX + 16];
	uint32_t i;

	for (i = 0; i < s->enumeration.count; i++)
		if (!strcmp(s->enumeration.strings[i].str, text))
			return emit_quoted(c, text);
	(void)snprintf(expected, sizeof(expected), "one of %s", list_words(s, list));
	return fail_expected(c, node, label, expected);
}

static int check_scalar(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
			struct label label)
{
	const char *text;

	if (c->tree->nodes[node].kind != COT_YAML_TEXT)
		return fail_expected(c, node, label,
				     s->type == CYAML_STRING ? "text" : "one value");
	text = cot_yaml_text(c->tree, node);
	switch (s->type) {
	case CYAML_UINT:
	case CYAML_INT:
	case CYAML_FLOAT:
		return check_number(c, s, node, label);
	case CYAML_STRING:
		return check_string(c, s, node, label);
	case CYAML_ENUM:
		return check_enum(c, s, node, label);
	case CYAML_BOOL:
		if (!strcmp(text, "true") || !strcmp(text, "false"))
			return emit_quoted(c, text);
		return fail_expected(c, node, label, "true or false");
	default:
		return fail(c, node, "%s cannot be read", label.key);
	}
}

static const struct cyaml_schema_field *find_field(const struct cyaml_schema_value *s,
						   const char *key)
{
	const struct cyaml_schema_field *f;

	for (f = s->mapping.fields; f->key; f++)
		if (!strcmp(f->key, key))
			return f;
	return NULL;
}

static const struct cyaml_schema_field *find_bool(const struct cyaml_schema_value *s)
{
	const struct cyaml_schema_field *f;

	for (f = s->mapping.fields; f->key; f++)
		if (f->value.type == CYAML_BOOL)
			return f;
	return NULL;
}

/* A word where a map is wanted: one of the two short forms, or a mistake. */
static int check_short_form(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
			    struct label label)
{
	const struct cyaml_schema_field *word = find_bool(s), *preset = find_field(s, "preset");
	const char *text = cot_yaml_text(c->tree, node);
	char list[LIST_MAX], expected[LIST_MAX + 64];
	int rc;

	if (word && !strcmp(word->key, text)) {
		rc = emit_word(c, "{");
		rc = rc ? rc : emit_word(c, text);
		return rc ? rc : emit_word(c, ": true}");
	}
	if (preset && *text) {
		rc = emit_word(c, "{preset: ");
		rc = rc ? rc : check_value(c, &preset->value, node, label);
		return rc ? rc : emit_word(c, "}");
	}
	(void)snprintf(expected, sizeof(expected), "%s%s%s%s", word ? "the word " : "",
		       word ? word->key : "",
		       word	? " or "
		       : preset ? "a name or "
				: "",
		       "a map of ");
	(void)snprintf(expected + strlen(expected), sizeof(expected) - strlen(expected), "%s",
		       list_keys(s, list));
	return fail_expected(c, node, label, expected);
}

static int check_key(struct check *c, const struct cyaml_schema_value *s, uint32_t map,
		     uint32_t key, const struct cyaml_schema_field **ret_field)
{
	const struct cot_yaml_tree *t = c->tree;
	const char *text = cot_yaml_text(t, key);
	char list[LIST_MAX], quote[COT_QUOTE_MAX];

	*ret_field = find_field(s, text);
	if (!*ret_field)
		return fail(c, key, "unknown key '%s'; expected one of %s",
			    cot_text_quote(text, quote), list_keys(s, list));
	if (cot_yaml_tree_get(t, map, text, strlen(text)) != t->nodes[key].next)
		return fail(c, key, "the key '%s' stands here a second time; expected it once",
			    text);
	return 0;
}

static int check_map(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
		     struct label label)
{
	const struct cot_yaml_tree *t = c->tree;
	const struct cyaml_schema_field *f;
	char list[LIST_MAX], expected[LIST_MAX + 16];
	uint32_t key, value;
	int rc;

	if (t->nodes[node].kind == COT_YAML_TEXT)
		return check_short_form(c, s, node, label);
	if (t->nodes[node].kind == COT_YAML_LIST) {
		(void)snprintf(expected, sizeof(expected), "a map of %s", list_keys(s, list));
		return fail_expected(c, node, label, expected);
	}
	rc = emit_word(c, "{");
	for (key = t->nodes[node].first; !rc && key != COT_YAML_NONE; key = t->nodes[value].next) {
		value = t->nodes[key].next;
		rc = check_key(c, s, node, key, &f);
		rc = rc ? rc : emit_quoted(c, f->key);
		rc = rc ? rc : emit_word(c, ": ");
		rc = rc ? rc : check_value(c, &f->value, value, (struct label){f->key, false});
		rc = rc ? rc : emit_word(c, ",\n ");
	}
	for (f = s->mapping.fields; !rc && f->key; f++)
		if (!(f->value.flags & CYAML_FLAG_OPTIONAL) &&
		    cot_yaml_tree_get(t, node, f->key, strlen(f->key)) == COT_YAML_NONE)
			rc = fail(c, node, "the key '%s' is missing; expected it in %s%s", f->key,
				  label.entry ? "each entry of " : "",
				  *label.key ? label.key : "this file");
	return rc ? rc : emit_word(c, "}");
}

static int check_list(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
		      struct label label)
{
	const struct cot_yaml_node *n = &c->tree->nodes[node];
	uint32_t entry;
	int rc;

	if (n->kind != COT_YAML_LIST)
		return fail_expected(c, node, label, "a list");
	if (n->n < s->sequence.min || n->n > s->sequence.max)
		return fail(c, node, "%s has %u entries; expected %u to %u", label.key, n->n,
			    s->sequence.min, s->sequence.max);
	rc = emit_word(c, "[");
	for (entry = n->first; !rc && entry != COT_YAML_NONE; entry = c->tree->nodes[entry].next) {
		rc = check_value(c, s->sequence.entry, entry, (struct label){label.key, true});
		rc = rc ? rc : emit_word(c, ",\n ");
	}
	return rc ? rc : emit_word(c, "]");
}

/* Recursion ends with the schema, which is no deeper than COT_YAML_DEPTH_MAX. */
static int check_value(struct check *c, const struct cyaml_schema_value *s, uint32_t node,
		       struct label label)
{
	switch (s->type) {
	case CYAML_MAPPING:
		return check_map(c, s, node, label);
	case CYAML_SEQUENCE:
		return check_list(c, s, node, label);
	default:
		return check_scalar(c, s, node, label);
	}
}

int cot_yaml_check(const char *name, const struct cot_yaml_tree *tree,
		   const struct cot_yaml_format *format, char **ret_normal, size_t *ret_size,
		   struct cot_error *err)
{
	struct check c = {.tree = tree, .format = format, .name = name, .err = err};
	int rc;

	if (tree->nodes[0].kind == COT_YAML_MAP)
		rc = check_value(&c, format->schema, 0, (struct label){"", false});
	else
		rc = fail(&c, 0, "the file holds %s; expected a map that begins with 'schema:'",
			  kind_name(&c, 0));
	if (rc) {
		free(c.out);
		return rc;
	}
	*ret_normal = c.out;
	*ret_size = c.size;
	return 0;
}
