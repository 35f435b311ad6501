/*
 * One YAML document as a tree with the place of every node. Private to the YAML reader (yaml.c,
 * yaml_check.c). Accepts less than YAML: one document, no anchors, aliases or tags, keys are text,
 * texts have one line; sizes, depth and node count are bounded.
 */
#ifndef COT_TEXT_YAML_TREE_H
#define COT_TEXT_YAML_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

#define COT_YAML_DEPTH_MAX 16u
#define COT_YAML_NODES_MAX (1u << 20)
#define COT_YAML_NONE	   UINT32_MAX

enum cot_yaml_kind { COT_YAML_TEXT, COT_YAML_MAP, COT_YAML_LIST };

struct cot_yaml_node {
	enum cot_yaml_kind kind;
	uint32_t line, col;   /* from 1 */
	uint32_t text;	      /* offset in the tree's pool */
	uint32_t first, last; /* children; of a map: key, value, key, value, ... */
	uint32_t next;	      /* sibling */
	uint32_t n;	      /* children */
};

struct cot_yaml_tree {
	struct cot_yaml_node *nodes; /* nodes[0] is the root */
	uint32_t n_nodes, cap_nodes;
	char *pool;
	size_t pool_size, pool_cap;
};

int cot_yaml_tree_init(struct cot_yaml_tree *tree, const char *name, const char *bytes, size_t size,
		       struct cot_error *err);
void cot_yaml_tree_finish(struct cot_yaml_tree *tree);

static inline const char *cot_yaml_text(const struct cot_yaml_tree *tree, uint32_t node)
{
	return tree->pool + tree->nodes[node].text;
}

/* The value of a map's key, or the i-th entry of a list; COT_YAML_NONE when there is none. */
uint32_t cot_yaml_tree_get(const struct cot_yaml_tree *tree, uint32_t map, const char *key,
			   size_t key_len);
uint32_t cot_yaml_tree_at(const struct cot_yaml_tree *tree, uint32_t list, uint32_t i);

#endif
