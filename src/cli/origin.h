/*
 * What a command's results were made from (report/origin.h), as the command line says it.
 */
#ifndef COT_CLI_ORIGIN_H
#define COT_CLI_ORIGIN_H

#include <stdbool.h>

#include "report/origin.h"

/*
 * Fills in all but the hash, which comes with the file. `outputs` are `n` values of options as
 * argp gave them (NULL: not given): neither they nor --threads are part of the command, as they
 * make no difference to a result. The file's name and argv outlive *ret_origin. -ENOMEM.
 */
int cot_cli_origin(int argc, char **argv, const char *file, const char *const *outputs, unsigned n,
		   struct cot_origin *ret_origin);

/* The input is what data/ had when the program was built; the hash is what
 * `cd data; sha256sum FILE... | sha256sum` prints of all files in the order of their names.
 * -ENOMEM. */
int cot_cli_origin_built_in(struct cot_origin *origin);

#endif
