/*
 * A stream that compresses (gzip, RFC 1952) what is written to it into another one. The same input
 * gives the same bytes: no time and no name is in them. Not thread-safe.
 */
#ifndef COT_REPORT_GZIP_H
#define COT_REPORT_GZIP_H

#include <stdbool.h>
#include <stdio.h>

/* Whether the name of a file asks for it: it ends with ".gz". */
bool cot_gzip_wanted(const char *path);

/* fclose(*ret_stream) writes what is left and leaves `to` open; a lack of memory makes that, or a
 * write before it, fail. -ENOMEM. */
int cot_gzip_open(FILE *to, FILE **ret_stream);

#endif
