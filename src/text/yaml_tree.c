#include "text/yaml_tree.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/grow.h"
#include "text/text.h"

struct builder {
	struct cot_yaml *doc;
	struct cot_error *err;
	uint32_t open[COT_YAML_DEPTH_MAX]; /* maps and lists around the next node */
	uint32_t depth;
	bool any_document;
};

static int fail(struct builder *b, const yaml_mark_t *at, const char *what)
{
	return cot_error_set(b->err, -EINVAL, "%s:%zu:%zu: %s", b->doc->name, at->line + 1,
			     at->column + 1, what);
}

static int out_of_memory(const struct cot_yaml *doc, struct cot_error *err)
{
	return cot_error_set(err, -ENOMEM, "%s: out of memory", doc->name);
}

int cot_yaml_add_text(struct cot_yaml *doc, const char *text, size_t size, uint32_t *ret_offset,
		      struct cot_error *err)
{
	if (doc->pool_size + size + 1 > doc->pool_cap) {
		size_t cap = 2 * (doc->pool_size + size + 1);
		char *bigger = realloc(doc->pool, cap);

		if (!bigger)
			return out_of_memory(doc, err);
		doc->pool = bigger;
		doc->pool_cap = cap;
	}
	memcpy(doc->pool + doc->pool_size, text, size);
	doc->pool[doc->pool_size + size] = '\0';
	*ret_offset = (uint32_t)doc->pool_size;
	doc->pool_size += size + 1;
	return 0;
}

/* True where the parent is a map whose next child is a key. */
static bool expects_key(const struct builder *b)
{
	const struct cot_yaml_node *parent;

	if (!b->depth)
		return false;
	parent = &b->doc->nodes[b->open[b->depth - 1]];
	return parent->kind == COT_YAML_MAP && parent->n % 2 == 0;
}

int cot_yaml_add_node(struct cot_yaml *doc, const struct cot_yaml_node *like, uint32_t parent,
		      struct cot_error *err)
{
	struct cot_yaml_node *nodes =
		cot_grow(doc->nodes, doc->n_nodes, &doc->cap_nodes, sizeof(*nodes));
	uint32_t id = doc->n_nodes;
	struct cot_yaml_node *up;

	if (!nodes)
		return out_of_memory(doc, err);
	doc->nodes = nodes;
	doc->nodes[id] = *like;
	doc->nodes[id].first = doc->nodes[id].last = doc->nodes[id].next = COT_YAML_NONE;
	doc->n_nodes++;
	if (parent == COT_YAML_NONE)
		return 0;
	up = &doc->nodes[parent];
	if (up->n++)
		doc->nodes[up->last].next = id;
	else
		up->first = id;
	up->last = id;
	return 0;
}

static int add_node(struct builder *b, enum cot_yaml_kind kind, const yaml_mark_t *at,
		    uint32_t text)
{
	const struct cot_yaml_node node = {
		.kind = kind,
		.line = (uint32_t)at->line + 1,
		.col = (uint32_t)at->column + 1,
		.text = text,
	};
	uint32_t id = b->doc->n_nodes;
	int rc;

	if (kind != COT_YAML_TEXT && expects_key(b))
		return fail(b, at, "a key is a map or a list; expected text");
	if (id >= COT_YAML_NODES_MAX)
		return fail(b, at, "the file has too many values; expected at most 1048576");
	rc = cot_yaml_add_node(b->doc, &node, b->depth ? b->open[b->depth - 1] : COT_YAML_NONE,
			       b->err);
	if (rc || kind == COT_YAML_TEXT)
		return rc;
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
	if (cot_text_check(b->doc->name, text, size, &ignored))
		return fail(b, &ev->start_mark,
			    "text with a character that cannot be printed; expected plain text");
	rc = cot_yaml_add_text(b->doc, text, size, &offset, b->err);
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
		return out_of_memory(b->doc, b->err);
	/* `index` counts characters, so this is right only up to the first that is not ASCII. */
	if (at->index < size && bytes[at->index] == '\t')
		return fail(b, at, "not valid YAML: a tab; expected spaces for indentation");
	return cot_error_set(b->err, -EINVAL, "%s:%zu:%zu: not valid YAML: %s%s%s", b->doc->name,
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
		return out_of_memory(b->doc, b->err);
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

int cot_yaml_parse(const char *name, const char *bytes, size_t size, struct cot_yaml **ret_doc,
		   struct cot_error *err)
{
	struct builder b = {.err = err};
	size_t bom;
	int rc;

	rc = cot_text_check(name, bytes, size, err);
	if (rc)
		return rc;
	b.doc = calloc(1, sizeof(*b.doc));
	if (b.doc)
		b.doc->name = strdup(name);
	if (!b.doc || !b.doc->name) {
		free(b.doc);
		return cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	}
	bom = cot_text_bom(bytes, size);
	rc = build(&b, bytes + bom, size - bom);
	if (!rc && !b.doc->n_nodes)
		rc = cot_error_set(err, -EINVAL, "%s:1:1: the file is empty; expected a map", name);
	if (rc)
		cot_yaml_destroy(b.doc);
	else
		*ret_doc = b.doc;
	return rc;
}

void cot_yaml_destroy(struct cot_yaml *doc)
{
	if (!doc)
		return;
	free(doc->nodes);
	free(doc->pool);
	free(doc->name);
	free(doc);
}

int cot_yaml_spell_out(struct cot_yaml *doc, uint32_t node, const char *key, const char *value,
		       struct cot_error *err)
{
	struct cot_yaml_node child = doc->nodes[node];
	uint32_t value_text = child.text;
	int rc;

	rc = cot_yaml_add_text(doc, key, strlen(key), &child.text, err);
	if (!rc && value)
		rc = cot_yaml_add_text(doc, value, strlen(value), &value_text, err);
	if (rc)
		return rc;
	doc->nodes[node].kind = COT_YAML_MAP;
	rc = cot_yaml_add_node(doc, &child, node, err);
	child.text = value_text;
	return rc ? rc : cot_yaml_add_node(doc, &child, node, err);
}
