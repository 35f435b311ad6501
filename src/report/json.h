/*
 * Numbers and whole objects as JSON, the same bytes whatever compiler made them. See also
 * text/json.h, which knows whether jansson has lost something.
 */
#ifndef COT_REPORT_JSON_H
#define COT_REPORT_JSON_H

#include <jansson.h>
#include <stdio.h>

/* With ten significant digits, and to 1e-6: no compiler's last bit shows. */
json_t *cot_json_number(double x);
json_t *cot_json_rounded(double x);

/* How most of our JSON looks. */
#define COT_JSON_INDENTED (JSON_INDENT(2) | JSON_REAL_PRECISION(10))

/* Writes the object and a newline, with jansson's `flags`, and gives up its reference. -ENOMEM,
 * also when the object is NULL; write errors are the stream's affair. */
int cot_json_write(json_t *object, size_t flags, FILE *out);

#endif
