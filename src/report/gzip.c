#include "report/gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define OUT_SIZE    65536u
#define GZIP_WINDOW (15 + 16) /* the largest window, with gzip's head and end */
#define MEM_LEVEL   8	      /* zlib's default */

struct gzip {
	FILE *to;
	z_stream z;
	unsigned char out[OUT_SIZE];
};

bool cot_gzip_wanted(const char *path)
{
	size_t n = strlen(path);

	return n >= 3 && !strcmp(path + n - 3, ".gz");
}

/* 0 or -1. */
static int pump(struct gzip *g, int flush)
{
	do {
		g->z.next_out = g->out;
		g->z.avail_out = OUT_SIZE;
		if (deflate(&g->z, flush) == Z_STREAM_ERROR)
			return -1;
		if (fwrite(g->out, 1, OUT_SIZE - g->z.avail_out, g->to) !=
		    OUT_SIZE - g->z.avail_out)
			return -1;
	} while (!g->z.avail_out);
	return 0;
}

static ssize_t take(void *cookie, const char *bytes, size_t size)
{
	struct gzip *g = cookie;

	if (size > UINT_MAX)
		size = UINT_MAX;
	g->z.next_in = (unsigned char *)bytes;
	g->z.avail_in = (unsigned)size;
	return pump(g, Z_NO_FLUSH) ? 0 : (ssize_t)size; /* 0 is stdio's word for an error here */
}

static int end(void *cookie)
{
	struct gzip *g = cookie;
	int rc;

	g->z.avail_in = 0;
	rc = pump(g, Z_FINISH);
	(void)deflateEnd(&g->z);
	free(g);
	return rc;
}

int cot_gzip_open(FILE *to, FILE **ret_stream)
{
	const cookie_io_functions_t functions = {.write = take, .close = end};
	struct gzip *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->to = to;
	if (deflateInit2(&g->z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEM_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(g);
		return -ENOMEM;
	}
	*ret_stream = fopencookie(g, "w", functions);
	if (*ret_stream)
		return 0;
	(void)deflateEnd(&g->z);
	free(g);
	return -ENOMEM;
}
