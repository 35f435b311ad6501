/*
 * Files of the repository's data/ folder that the build put into the program: constant tables,
 * safe from any thread. The build makes them (cmake/embed.cmake); this header only declares them.
 */
#ifndef COT_BASE_EMBEDDED_H
#define COT_BASE_EMBEDDED_H

#include <stddef.h>

struct cot_embedded {
	const char *name;	    /* path below data/, such as "traces/parboil/lbm.yaml" */
	const unsigned char *bytes; /* followed by a zero that `size` does not count */
	size_t size;
};

extern const struct cot_embedded cot_embedded_files[]; /* sorted by name (strcmp) */
extern const unsigned cot_n_embedded_files;

/* NULL when there is no file of that name. */
const struct cot_embedded *cot_embedded_find(const char *name);

#endif
