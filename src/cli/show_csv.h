/*
 * The programs of an answer to PS or STATS as CSV.
 */
#ifndef COT_CLI_SHOW_CSV_H
#define COT_CLI_SHOW_CSV_H

#include <jansson.h>

#include "base/error.h"

/* A head, and a line for each program; what is not known is empty. `path` "-" is standard output.
 * -errno with a sentence. */
int cot_show_csv(const json_t *answer, const char *path, struct cot_error *err);

#endif
