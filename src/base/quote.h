/* Strings of JSON, for those who print it as they go. `text` is UTF-8. */
#ifndef COT_BASE_QUOTE_H
#define COT_BASE_QUOTE_H

#include <stdio.h>

/* With its quotes. */
void cot_quote_write(FILE *out, const char *text);
/* "key":"text" */
void cot_quote_write_member(FILE *out, const char *key, const char *text);

#endif
