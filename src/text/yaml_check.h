/*
 * Checks a YAML tree against a libcyaml schema and writes it down again in a normal form: flow
 * style, every text quoted, short forms spelled out. Private to the YAML reader.
 */
#ifndef COT_TEXT_YAML_CHECK_H
#define COT_TEXT_YAML_CHECK_H

#include "text/yaml.h"
#include "text/yaml_tree.h"

/* free() the normal form. -EINVAL with a sentence, -ENOMEM. */
int cot_yaml_check(const char *name, const struct cot_yaml_tree *tree,
		   const struct cot_yaml_format *format, char **ret_normal, size_t *ret_size,
		   struct cot_error *err);

#endif
