/*
 * A YAML document, checked against tables of rows (field.h): unknown, missing and repeated keys,
 * kinds, numbers and their limits, words. Every failure is one sentence "FILE:LINE:COL: what is
 * wrong; what was expected". What passed is put into structs by the same rows, or looked at value
 * by value.
 *
 * A document belongs to one thread at a time.
 */
#ifndef COT_TEXT_YAML_H
#define COT_TEXT_YAML_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "text/field.h"

struct cot_yaml;

/* Values are known by their numbers. */
#define COT_YAML_ROOT 0u
#define COT_YAML_NONE UINT32_MAX

/* `name` is the file's name for messages, `fields` the rows of the map that the file is. -EINVAL,
 * -ENOMEM. */
int cot_yaml_load(const char *name, const void *bytes, size_t size, const struct cot_field *fields,
		  struct cot_yaml **ret_doc, struct cot_error *err);
void cot_yaml_destroy(struct cot_yaml *doc);

/*
 * What a file is to say instead of, or besides, what it says: a value for "stop.runs", or
 * "apps.1.weight", or "apps.NAME.weight". An entry of a list is its number from 0 on, or what its
 * `name` is. A key that is not there is added, with the maps around it.
 */
struct cot_yaml_setting {
	const char *path, *value;
};

/* The same file with `n` settings; a mistake in one has the place of the value, or of the map or
 * list where it would be. */
int cot_yaml_load_with(const char *name, const void *bytes, size_t size,
		       const struct cot_field *fields, const struct cot_yaml_setting *settings,
		       unsigned n, struct cot_yaml **ret_doc, struct cot_error *err);

/*
 * Puts what the map says into *out, by the rows that the map was checked with. Members whose key is
 * left out get the row's default, or stay as they are. `map` may be NONE.
 */
void cot_yaml_fill(const struct cot_yaml *doc, uint32_t map, const struct cot_field *fields,
		   void *out);

/* The value of a key; NONE when the map does not have it, or is NONE itself. */
uint32_t cot_yaml_get(const struct cot_yaml *doc, uint32_t map, const char *key);
/* The entries of a list: for (e = first; e != NONE; e = next). */
uint32_t cot_yaml_first(const struct cot_yaml *doc, uint32_t list);
uint32_t cot_yaml_next(const struct cot_yaml *doc, uint32_t entry);
/* How many entries a list has, or keys a map; 0 of NONE. */
uint32_t cot_yaml_count(const struct cot_yaml *doc, uint32_t node);
/* The text there; owned by the document. NULL of NONE. */
const char *cot_yaml_text(const struct cot_yaml *doc, uint32_t node);

/* Where the value stands, from 1; not of NONE. */
void cot_yaml_place(const struct cot_yaml *doc, uint32_t node, uint32_t *ret_line,
		    uint32_t *ret_col);
/* Sets a sentence that begins with the value's place and returns -EINVAL. */
int cot_yaml_fail(const struct cot_yaml *doc, uint32_t node, struct cot_error *err, const char *fmt,
		  ...) COT_PRINTF(4, 5);
/* The same, at the value of the map's key; at the map when the key is left out. */
int cot_yaml_fail_key(const struct cot_yaml *doc, uint32_t map, const char *key,
		      struct cot_error *err, const char *fmt, ...) COT_PRINTF(5, 6);

#endif
