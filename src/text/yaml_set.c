#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "text/nearest.h"
#include "text/number.h"
#include "text/text.h"
#include "text/yaml_tree.h"

#define STEP_MAX  64u /* bytes of a word between two points, with its end */
#define NAMES_MAX 200u

struct setter {
	struct cot_yaml *doc;
	const struct cot_yaml_setting *setting;
	struct cot_error *err;
};

/* Which is the value of `name` in a map, if it is one. */
static const char *name_of(const struct cot_yaml *doc, uint32_t entry)
{
	uint32_t name = doc->nodes[entry].kind == COT_YAML_MAP ? cot_yaml_get(doc, entry, "name")
							       : COT_YAML_NONE;

	return name != COT_YAML_NONE && doc->nodes[name].kind == COT_YAML_TEXT
		       ? cot_yaml_text(doc, name)
		       : NULL;
}

static int fail_entry(const struct setter *s, uint32_t list, const char *word)
{
	char names[NAMES_MAX] = "", hint[COT_NEAREST_HINT_MAX], quote[COT_QUOTE_MAX];
	char path[COT_QUOTE_MAX];
	struct cot_nearest near = {.word = word};
	const char *name;
	uint32_t entry;

	for (entry = cot_yaml_first(s->doc, list); entry != COT_YAML_NONE;
	     entry = cot_yaml_next(s->doc, entry)) {
		name = name_of(s->doc, entry);
		if (name) {
			cot_nearest_try(&near, name);
			cot_text_add_word(names, sizeof(names), name);
		}
	}
	return cot_yaml_fail(s->doc, list, s->err,
			     "%s: no entry '%s' in this list%s; expected a number from 0 to %u%s%s",
			     cot_text_quote(s->setting->path, path), cot_text_quote(word, quote),
			     cot_nearest_hint(&near, hint), cot_yaml_count(s->doc, list) - 1,
			     *names ? " or one of " : "", names);
}

static int step_list(const struct setter *s, uint32_t list, const char *word, uint32_t *ret_node)
{
	uint32_t entry = cot_yaml_first(s->doc, list);
	uint64_t number, i;

	if (cot_number_u64(word, &number)) {
		for (i = 0; i < number && entry != COT_YAML_NONE; i++)
			entry = cot_yaml_next(s->doc, entry);
	} else {
		while (entry != COT_YAML_NONE &&
		       (!name_of(s->doc, entry) || strcmp(name_of(s->doc, entry), word) != 0))
			entry = cot_yaml_next(s->doc, entry);
	}
	if (entry == COT_YAML_NONE)
		return fail_entry(s, list, word);
	*ret_node = entry;
	return 0;
}

/* The value of a key; a map without keys where there was none. */
static int step_map(const struct setter *s, uint32_t map, const char *word, uint32_t *ret_node)
{
	struct cot_yaml_node like = s->doc->nodes[map];
	uint32_t value = cot_yaml_get(s->doc, map, word);
	int rc;

	if (value != COT_YAML_NONE) {
		*ret_node = value;
		return 0;
	}
	if (s->doc->n_nodes + 2 > COT_YAML_NODES_MAX)
		return cot_yaml_fail(s->doc, map, s->err, "the file has too many values");
	like.kind = COT_YAML_TEXT;
	like.n = 0;
	rc = cot_yaml_add_text(s->doc, word, strlen(word), &like.text, s->err);
	rc = rc ? rc : cot_yaml_add_node(s->doc, &like, map, s->err);
	like.kind = COT_YAML_MAP;
	*ret_node = s->doc->n_nodes;
	return rc ? rc : cot_yaml_add_node(s->doc, &like, map, s->err);
}

static int step(const struct setter *s, uint32_t from, const char *word, uint32_t *ret_node)
{
	char path[COT_QUOTE_MAX], quote[COT_QUOTE_MAX];

	switch (s->doc->nodes[from].kind) {
	case COT_YAML_MAP:
		return step_map(s, from, word, ret_node);
	case COT_YAML_LIST:
		return step_list(s, from, word, ret_node);
	default:
		return cot_yaml_fail(s->doc, from, s->err,
				     "%s: here is a value without keys; expected a path that ends "
				     "before '%s'",
				     cot_text_quote(s->setting->path, path),
				     cot_text_quote(word, quote));
	}
}

/* The next word of the path; false: it has none, or one that is empty or too long. */
static bool next_word(const char **path, char word[STEP_MAX])
{
	size_t n = strcspn(*path, ".");

	if (!n || n >= STEP_MAX)
		return false;
	memcpy(word, *path, n);
	word[n] = '\0';
	*path += n;
	if (!**path)
		return true;
	++*path;
	return **path != '\0';
}

static int check_text(const struct setter *s, const char *text)
{
	struct cot_error ignored;
	const char *p;
	bool plain = !cot_text_check("", text, strlen(text), &ignored);

	for (p = text; *p; p++)
		plain &= (unsigned char)*p >= 0x20;
	return plain ? 0
		     : cot_error_set(s->err, -EINVAL,
				     "%s: a setting has a character that cannot be printed; "
				     "expected plain text",
				     s->doc->name);
}

int cot_yaml_set(struct cot_yaml *doc, const struct cot_yaml_setting *setting,
		 struct cot_error *err)
{
	const struct setter s = {doc, setting, err};
	char word[STEP_MAX], quote[COT_QUOTE_MAX];
	const char *path = setting->path;
	uint32_t node = COT_YAML_ROOT, text;
	int rc = check_text(&s, path);

	rc = rc ? rc : check_text(&s, setting->value);
	do {
		if (!rc && !next_word(&path, word))
			rc = cot_error_set(err, -EINVAL,
					   "%s: '%s' is no path to a value; expected keys and "
					   "entries with points between them, as in apps.0.weight",
					   doc->name, cot_text_quote(setting->path, quote));
		rc = rc ? rc : step(&s, node, word, &node);
	} while (!rc && *path);
	rc = rc ? rc : cot_yaml_add_text(doc, setting->value, strlen(setting->value), &text, err);
	if (rc)
		return rc;
	doc->nodes[node].kind = COT_YAML_TEXT;
	doc->nodes[node].text = text;
	doc->nodes[node].first = doc->nodes[node].last = COT_YAML_NONE;
	doc->nodes[node].n = 0;
	return 0;
}
