/*
 * Output files that are either complete or not there: what is written goes to a new file in the
 * same directory, which takes the wanted name only when everything has reached it. Files that are
 * not regular (pipes, /dev/null) and standard output ("-") are written directly. Not thread-safe.
 */
#ifndef COT_BASE_OUTFILE_H
#define COT_BASE_OUTFILE_H

#include <stdio.h>

#include "base/error.h"

struct cot_outfile;

/* `path` "-" is standard output. -errno with a sentence. */
int cot_outfile_open(const char *path, struct cot_outfile **ret_out, struct cot_error *err);

/* Where to write; errors are found by cot_outfile_finish(). Owned by the outfile. */
FILE *cot_outfile_stream(struct cot_outfile *out);

/* Writes out what is buffered and closes. Afterwards only commit and destroy are allowed. */
int cot_outfile_finish(struct cot_outfile *out, struct cot_error *err);

/* Finishes if that is not done, then gives the file its name. With several files: finish all
 * first, so that a full disk is noticed before the first one is replaced. */
int cot_outfile_commit(struct cot_outfile *out, struct cot_error *err);

/* Frees; what was not committed is removed. NULL is allowed. */
void cot_outfile_destroy(struct cot_outfile *out);

/* An anonymous temporary file, gone when closed. `dir`: the value of TMPDIR, NULL or empty for
 * /tmp. -errno with a sentence. */
int cot_outfile_scratch(const char *dir, FILE **ret_stream, struct cot_error *err);

#endif
