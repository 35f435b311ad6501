/*
 * YAML into C structs by a libcyaml schema, with exact messages. libcyaml fills the structs; before
 * that the document is checked against the same schema, more strictly than libcyaml does it:
 * unknown, missing and repeated keys, kinds, numbers and their ranges, words of enumerations.
 * Every failure is one sentence "FILE:LINE:COL: what is wrong; what was expected".
 *
 * Two short forms, where the schema wants a map and the file has a word W: a map that has a bool
 * field W reads as {W: true}; a map that has a text field `preset` reads as {preset: W}.
 *
 * A document belongs to one thread at a time.
 */
#ifndef COT_TEXT_YAML_H
#define COT_TEXT_YAML_H

#include <cyaml/cyaml.h>
#include <stddef.h>

#include "base/error.h"

/* Limits of the number under `key`, wherever the key stands in the document. */
struct cot_yaml_range {
	const char *key;
	double min, max;
};

#define COT_YAML_RANGES 2

struct cot_yaml_format {
	const struct cyaml_schema_value *schema; /* the root: a CYAML_FLAG_POINTER to a mapping */
	const struct cot_yaml_range *ranges[COT_YAML_RANGES]; /* tables that end with a NULL key */
};

struct cot_yaml;

/* `name` is the file's name for messages. -EINVAL, -ENOMEM. */
int cot_yaml_load(const char *name, const void *bytes, size_t size,
		  const struct cot_yaml_format *format, struct cot_yaml **ret_doc,
		  struct cot_error *err);
void cot_yaml_destroy(struct cot_yaml *doc);

/* The root struct of the schema; owned by the document. */
const void *cot_yaml_data(const struct cot_yaml *doc);

/*
 * Sets a sentence that begins with the place of `path`, such as "apps[1].program[2].kernel", and
 * returns -EINVAL. What does not exist is placed at the nearest value around it.
 */
int cot_yaml_fail(const struct cot_yaml *doc, const char *path, struct cot_error *err,
		  const char *fmt, ...) COT_PRINTF(4, 5);

#endif
