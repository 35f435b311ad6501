/* `cotenant run --backend`: a process that makes one launch of launches of several programs
 * (docs/backend.md). */
#ifndef COT_CLI_RUN_BACKEND_H
#define COT_CLI_RUN_BACKEND_H

#include "base/error.h"

/* What the variables of the dynamic linker were before the program's libraries came into them. */
struct cot_run_backend {
	const char *name; /* which backend; NULL: none */
	char *preload, *path;
};

/* -EINVAL: it is not a name. Before anything is put into the variables. */
int cot_run_backend_prepare(struct cot_run_backend *b, struct cot_error *err);
/* With the program's environment: starts the backend unless it is there, and says to the program's
 * shim where it is. */
int cot_run_backend_start(const struct cot_run_backend *b, struct cot_error *err);

#endif
