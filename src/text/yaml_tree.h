/*
 * One YAML document as a tree with the place of every node. Private to the YAML reader (yaml.c).
 * Accepts less than YAML: one document, no anchors, aliases or tags, keys are text, texts have one
 * line; sizes, depth and node count are bounded.
 */
#ifndef COT_TEXT_YAML_TREE_H
#define COT_TEXT_YAML_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/yaml.h"

#define COT_YAML_DEPTH_MAX 16u
#define COT_YAML_NODES_MAX (1u << 20)

enum cot_yaml_kind { COT_YAML_TEXT, COT_YAML_MAP, COT_YAML_LIST };

struct cot_yaml_node {
	enum cot_yaml_kind kind;
	uint32_t line, col;   /* from 1 */
	uint32_t text;	      /* offset in the pool */
	uint32_t first, last; /* children; of a map: key, value, key, value, ... */
	uint32_t next;	      /* sibling */
	uint32_t n;	      /* children */
};

struct cot_yaml {
	char *name;
	struct cot_yaml_node *nodes; /* nodes[COT_YAML_ROOT] is the root */
	uint32_t n_nodes;
	size_t cap_nodes;
	char *pool;
	size_t pool_size, pool_cap;
};

int cot_yaml_parse(const char *name, const char *bytes, size_t size, struct cot_yaml **ret_doc,
		   struct cot_error *err);

/* Makes the text a map {key: value} at the same place; `value` NULL: the text itself. -ENOMEM. */
int cot_yaml_spell_out(struct cot_yaml *doc, uint32_t node, const char *key, const char *value,
		       struct cot_error *err);

/* Puts text into the pool, with an end behind it. -ENOMEM. */
int cot_yaml_add_text(struct cot_yaml *doc, const char *text, size_t size, uint32_t *ret_offset,
		      struct cot_error *err);
/* Adds a node like `like`, as the last child of `parent` if there is one. -ENOMEM. */
int cot_yaml_add_node(struct cot_yaml *doc, const struct cot_yaml_node *like, uint32_t parent,
		      struct cot_error *err);

/* As if the file said so (yaml.h). The document has been checked. -EINVAL, -ENOMEM. */
int cot_yaml_set(struct cot_yaml *doc, const struct cot_yaml_setting *s, struct cot_error *err);

#endif
