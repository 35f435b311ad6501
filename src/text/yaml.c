#include "text/yaml.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "text/yaml_check.h"
#include "text/yaml_tree.h"

struct cot_yaml {
	struct cot_yaml_tree tree;
	const struct cyaml_schema_value *schema;
	void *data;
	char *name;
};

static const cyaml_config_t cyaml_config = {
	.log_fn = NULL, /* the check has a sentence for everything that a user can do */
	.mem_fn = cyaml_mem,
	.log_level = CYAML_LOG_ERROR,
	.flags = CYAML_CFG_NO_ALIAS,
};

static int load_data(struct cot_yaml *doc, const struct cot_yaml_format *format,
		     struct cot_error *err)
{
	cyaml_data_t *data = NULL;
	cyaml_err_t cyaml_rc;
	char *normal = NULL;
	size_t size = 0;
	int rc;

	rc = cot_yaml_check(doc->name, &doc->tree, format, &normal, &size, err);
	if (rc)
		return rc;
	cyaml_rc = cyaml_load_data((const uint8_t *)normal, size, &cyaml_config, format->schema,
				   &data, NULL);
	free(normal);
	if (cyaml_rc == CYAML_ERR_OOM)
		return cot_error_set(err, -ENOMEM, "%s: out of memory", doc->name);
	if (cyaml_rc != CYAML_OK)
		return cot_error_set(err, -EINVAL, "%s:1:1: cannot be read: %s", doc->name,
				     cyaml_strerror(cyaml_rc));
	doc->schema = format->schema;
	doc->data = data;
	return 0;
}

int cot_yaml_load(const char *name, const void *bytes, size_t size,
		  const struct cot_yaml_format *format, struct cot_yaml **ret_doc,
		  struct cot_error *err)
{
	struct cot_yaml *doc = calloc(1, sizeof(*doc));
	int rc;

	if (doc)
		doc->name = strdup(name);
	if (!doc || !doc->name) {
		free(doc);
		return cot_error_set(err, -ENOMEM, "%s: out of memory", name);
	}
	rc = cot_yaml_tree_init(&doc->tree, name, bytes, size, err);
	if (!rc)
		rc = load_data(doc, format, err);
	if (rc) {
		cot_yaml_destroy(doc);
		return rc;
	}
	*ret_doc = doc;
	return 0;
}

void cot_yaml_destroy(struct cot_yaml *doc)
{
	if (!doc)
		return;
	if (doc->data)
		(void)cyaml_free(&cyaml_config, doc->schema, doc->data, 0);
	cot_yaml_tree_finish(&doc->tree);
	free(doc->name);
	free(doc);
}

const void *cot_yaml_data(const struct cot_yaml *doc)
{
	return doc->data;
}

/* The node at the path, or the last one on the way to it. */
static const struct cot_yaml_node *locate(const struct cot_yaml_tree *tree, const char *path)
{
	uint32_t node = 0, next;

	while (*path) {
		if (*path == '[') {
			next = cot_yaml_tree_at(tree, node, (uint32_t)strtoul(path + 1, NULL, 10));
			path += strcspn(path, "]");
			path += *path == ']';
		} else {
			size_t len;

			path += *path == '.';
			len = strcspn(path, ".[");
			next = cot_yaml_tree_get(tree, node, path, len);
			path += len;
		}
		if (next == COT_YAML_NONE)
			break;
		node = next;
	}
	return &tree->nodes[node];
}

int cot_yaml_fail(const struct cot_yaml *doc, const char *path, struct cot_error *err,
		  const char *fmt, ...)
{
	const struct cot_yaml_node *at = locate(&doc->tree, path);
	char what[COT_ERROR_MAX];
	va_list ap;

	va_start(ap, fmt);
	(void)vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return cot_error_set(err, -EINVAL, "%s:%u:%u: %s", doc->name, at->line, at->col, what);
}
