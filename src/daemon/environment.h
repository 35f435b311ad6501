/*
 * The environment that `cotenant run` gives a program: what its library, its shim and MPS must
 * know. found.c reads it again.
 */
#ifndef COT_DAEMON_ENVIRONMENT_H
#define COT_DAEMON_ENVIRONMENT_H

#include <stddef.h>

#include "daemon/gpus.h"

struct basis;
struct tenant;

/* The longest value names all GPUs; there are at most 24 variables. */
#define COT_ENVIRONMENT_VALUE_MAX COT_GPUS_TEXT_MAX
#define COT_ENVIRONMENT_MAX	  (24 * (COT_ENVIRONMENT_VALUE_MAX + 32))

struct cot_environment {
	char text[COT_ENVIRONMENT_MAX]; /* "KEY=VALUE\0..." */
	size_t used;
};

/* `gpu` is what the user asked for; `note` is for the user, NULL: nothing. */
void cot_environment_write(const struct basis *b, const struct tenant *t, const char *gpu,
			   const char *note, struct cot_environment *ret_env);

#endif
