/*
 * Options that are written wrong: which one was meant? Pure but for what it prints.
 */
#ifndef COT_CLI_OPTIONS_H
#define COT_CLI_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

/* Looks at the arguments as argp_parse() will with these flags. True: there is an option that the
 * parser and its children do not have, but one that is nearly called so; that was said on `out`.
 * Of all other mistakes argp speaks. argv[0] is the command as the message names it. */
bool cot_options_hint(const struct argp *argp, int argc, char **argv, unsigned flags, FILE *out);

#endif
