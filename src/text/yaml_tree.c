#include "text/yaml_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "text/text.h"

struct builder {
	struct cot_yaml_tree *tree;
	const char *name;
	struct cot_error *err;
	uint32_t open[COT_YAML_DEPTH_MAX]; /* maps and lists around the next node */
	uint32_t depth;
	bool any_document;
};

static int fail(struct builder *b, const yaml_mark_t *at, const char *what)
{
	return cot_error_set(b->err, -EINVAL, "%s:%zu:%zu: %s", b->name, at->line + 1,
			     at->column + 1, what);
}

static int out_of_memory(struct builder *b)
{
	return cot_error_set(b->err, -ENOMEM, "%s: out of memory", b->name);
}

static int add_text(struct builder *b, const char *text, size_t size, uint32_t *ret_offset)
{
	struct cot_yaml_tree *t = b->tree;

	if (t->pool_size + size + 1 > t->pool_cap) {
		size_t cap = 2 * (t->pool_size + size + 1);
		char *bigger = realloc(t->pool, cap);

		if (!bigger)
			return out_of_memory(b);
		t->pool = bigger;
		t->pool_cap = cap;
	}
	memcpy(t->pool + t->pool_size, text, size);
	t->pool[t->pool_size + size] = '\0';
	*ret_offset = (uint32_t)t->pool_size;
	t->pool_size += size + 1;
	return 0;
}

/* True where the parent is a map whose next child is a key. */
static bool expects_key(const struct builder *b)
{
	const struct cot_yaml_node *parent;

	if (!b->depth)
		return false;
	parent = &b->tree->nodes[b->open[b->depth - 1]];
	return parent->kind == COT_YAML_MAP && parent->n % 2 == 0;
}

static int add_node(struct builder *b, enum cot_yaml_kind kind, const yaml_mark_t *at,
		    uint32_t text)
{
	struct cot_yaml_tree *t = b->tree;
	struct cot_yaml_node *parent;
	uint32_t id = t->n_nodes;

	if (kind != COT_YAML_TEXT && expects_key(b))
		return fail(b, at, "a key is a map or a list; expected text");
	if (id >= COT_YAML_NODES_MAX)
		return fail(b, at, "the file has too many values; expected at most 1048576");
	if (id == t->cap_nodes) {
		uint32_t cap = t->cap_nodes ? 2 * t->cap_nodes : 64;
		struct cot_yaml_node *bigger = realloc(t->nodes, cap * sizeof(*bigger));

		if (!bigger)
			return out_of_memory(b);
		t->nodes = bigger;
		t->cap_nodes = cap;
	}
	t->nodes[id] = (struct cot_yaml_node){.kind = kind,
					      .line = (uint32_t)at->line + 1,
					      .col = (uint32_t)at->column + 1,
					      .text = text,
					      .first = COT_YAML_NONE,
					      .last = COT_YAML_NONE,
					      .next = COT_YAML_NONE};
	t->n_nodes++;
	if (b->depth) {
		parent = &t->nodes[b->open[b->depth - 1]];
		if (parent->n++)
			t->nodes[parent->last].next = id;
		else
			parent->first = id;
		parent->last = id;
	}
	if (kind == COT_YAML_TEXT)
		return 0;
	if (b->depth == COT_YAML_DEPTH_MAX)
		return fail(b, at, "values are nested too deeply; expected at most 16 levels");
	b->open[b->depth++] = id;
	return 0;
}

static int add_scalar(struct builder *b, const yaml_event_t *ev)
{
	const char *text = (const char *)ev->data.scalar.value;
	size_t size = ev->data.scalar.length, i;
	struct cot_error ignored;
	uint32_t offset = 0;
	int rc;

	for (i = 0; i < size; i++)
		if ((unsigned char)text[i] < 0x20)
			return fail(
				b, &ev->start_mark,
				"text with a line break, tab or control character; expected one "
				"line of plain text");
	/* Escapes in quoted text can spell characters that the file itself may not hold. */
	if (cot_text_check(b->name, text, size, &ignored))
		return fail(b, &ev->start_mark,
			    "text with a character that cannot be printed; expected plain text");
	rc = add_text(b, text, size, &offset);
	if (rc)
		return rc;
	return add_node(b, COT_YAML_TEXT, &ev->start_mark, offset);
}

static int refuse_properties(struct builder *b, const yaml_event_t *ev, const void *anchor,
			     const void *tag)
{
	if (anchor)
		return fail(b, &ev->start_mark,
			    "anchors ('&') are not supported; expected a value");
	if (tag)
		return fail(b, &ev->start_mark, "tags ('!') are not supported; expected a value");
	return 0;
}

static int take_event(struct builder *b, const yaml_event_t *ev)
{
	int rc;

	switch (ev->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (b->any_document)
			return fail(b, &ev->start_mark,
				    "a second document begins; expected one document in a file");
		b->any_document = true;
		return 0;
	case YAML_ALIAS_EVENT:
		return fail(b, &ev->start_mark,
			    "aliases ('*') are not supported; expected a value");
	case YAML_SCALAR_EVENT:
		rc = refuse_properties(b, ev, ev->data.scalar.anchor, ev->data.scalar.tag);
		return rc ? rc : add_scalar(b, ev);
	case YAML_MAPPING_START_EVENT:
		rc = refuse_properties(b, ev, ev->data.mapping_start.anchor,
				       ev->data.mapping_start.tag);
		return rc ? rc : add_node(b, COT_YAML_MAP, &ev->start_mark, 0);
	case YAML_SEQUENCE_START_EVENT:
		rc = refuse_properties(b, ev, ev->data.sequence_start.anchor,
				       ev->data.sequence_start.tag);
		return rc ? rc : add_node(b, COT_YAML_LIST, &ev->start_mark, 0);
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		b->depth--;
		return 0;
	default:
		return 0;
	}
}

static int syntax_error(struct builder *b, const yaml_parser_t *p, const char *bytes, size_t size)
{
	const yaml_mark_t *at = &p->problem_mark;

	if (p->error == YAML_MEMORY_ERROR)
		return out_of_memory(b);
	/* `index` counts characters, so this is right only up to the first that is not ASCII. */
	if (at->index < size && bytes[at->index] == '\t')
		return fail(b, at, "not valid YAML: a tab; expected spaces for indentation");
	return cot_error_set(b->err, -EINVAL, "%s:%zu:%zu: not valid YAML: %s%s%s", b->name,
			     at->line + 1, at->column + 1, p->problem ? p->problem : "unreadable",
			     p->context ? " " : "", p->context ? p->context : "");
}

static int build(struct builder *b, const char *bytes, size_t size)
{
	yaml_parser_t parser;
	yaml_event_t ev;
	bool done = false;
	int rc = 0;

	if (!yaml_parser_initialize(&parser))
		return out_of_memory(b);
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)bytes, size);
	while (!rc && !done) {
		if (!yaml_parser_parse(&parser, &ev)) {
			rc = syntax_error(b, &parser, bytes, size);
			break;
		}
		rc = take_event(b, &ev);
		done = ev.type == YAML_STREAM_END_EVENT;
		yaml_event_delete(&ev);
	}
	yaml_parser_delete(&parser);
	return rc;
}

int cot_yaml_tree_init(struct cot_yaml_tree *tree, const char *name, const char *bytes, size_t size,
		       struct cot_error *err)
{
	struct builder b = {.tree = tree, .name = name, .err = err};
	size_t bom;
	int rc;

	*tree = (struct cot_yaml_tree){0};
	rc = cot_text_check(name, bytes, size, err);
	if (rc)
		return rc;
	bom = cot_text_bom(bytes, size);
	rc = build(&b, bytes + bom, size - bom);
	if (!rc && !tree->n_nodes)
		rc = cot_error_set(err, -EINVAL, "%s:1:1: the file is empty; expected a map", name);
	if (rc)
		cot_yaml_tree_finish(tree);
	return rc;
}

void cot_yaml_tree_finish(struct cot_yaml_tree *tree)
{
	free(tree->nodes);
	free(tree->pool);
	*tree = (struct cot_yaml_tree){0};
}

uint32_t cot_yaml_tree_get(const struct cot_yaml_tree *tree, uint32_t map, const char *key,
			   size_t key_len)
{
	uint32_t k, value;

	if (tree->nodes[map].kind != COT_YAML_MAP)
		return COT_YAML_NONE;
	for (k = tree->nodes[map].first; k != COT_YAML_NONE; k = tree->nodes[value].next) {
		const char *text = cot_yaml_text(tree, k);

		value = tree->nodes[k].next;
		if (strlen(text) == key_len && !memcmp(text, key, key_len))
			return value;
	}
	return COT_YAML_NONE;
}

uint32_t cot_yaml_tree_at(const struct cot_yaml_tree *tree, uint32_t list, uint32_t i)
{
	uint32_t node;

	if (tree->nodes[list].kind != COT_YAML_LIST)
		return COT_YAML_NONE;
	for (node = tree->nodes[list].first; node != COT_YAML_NONE && i; i--)
		node = tree->nodes[node].next;
	return node;
}
