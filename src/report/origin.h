/*
 * What a result was made from: so that whoever has the file alone knows what it says, and can make
 * it again. Pure but for the streams.
 */
#ifndef COT_REPORT_ORIGIN_H
#define COT_REPORT_ORIGIN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/sha256.h"
#include "trace/scenario.h"

/* What the input is. */
enum cot_origin_kind {
	COT_ORIGIN_SCENARIO,
	COT_ORIGIN_DATA,     /* a file of kernels or measurements */
	COT_ORIGIN_BUILT_IN, /* the tables and programs in data/, which are in the program */
	COT_ORIGIN_DRAWN,    /* random scenarios, of the seed */
};

struct cot_origin {
	enum cot_origin_kind kind;
	const char *file;	      /* as on the command line; "-": standard input; NULL: none */
	char sha256[COT_SHA256_TEXT]; /* of the file; of built-in data: of what sha256sum prints */
	const char *version;	      /* "cotenant 0.1.0" */
	char *command;		      /* without its outputs; owned */
	char date[11];		      /* "2026-11-23"; "" not known. Of pages only */
	bool has_seed;		      /* told here, as it is told nowhere else in the result */
	uint64_t seed;
	const char *gpu; /* where there is no struct cot_gpu; NULL: the input has no GPU */
	/* The file, for those who read it from here. Not owned. */
	const void *bytes;
	size_t size;
};

void cot_origin_finish(struct cot_origin *o);

/* "h200 (132 SMs)". */
#define COT_ORIGIN_GPU_MAX (COT_NAME_MAX + 24)
const char *cot_origin_gpu(const struct cot_gpu *gpu, char buf[COT_ORIGIN_GPU_MAX]);

/* "pools.yaml": the file without its folder. NULL, and standard input: "A scenario". */
const char *cot_origin_title(const struct cot_origin *o);

/* For messages: the file, or "stdin". */
const char *cot_origin_name(const struct cot_origin *o);

/* A member `origin` of the object; without the date, as the same input gives the same bytes. 0 or
 * -1. Nothing when `o` is NULL. `gpu` may be NULL: then it is o->gpu. */
int cot_origin_add_json(json_t *object, const struct cot_origin *o, const struct cot_gpu *gpu);
/* The object, which it gives up when there is no memory: NULL. */
json_t *cot_origin_with(json_t *object, const struct cot_origin *o);

/* As cells of a CSV's line, in every line, so that lines of several files can be put together. */
#define COT_ORIGIN_CSV_HEAD "scenario,sha256,gpu_model,version,command"
void cot_origin_print_csv(const struct cot_origin *o, const struct cot_gpu *gpu, FILE *out);
/* A cell, in quotes where it needs them, and what ends it. */
void cot_csv_cell_print(FILE *out, const char *text, char end);

/* A section of a page. -ENOMEM. Nothing when `o` is NULL. */
int cot_origin_print_html(const struct cot_origin *o, const struct cot_gpu *gpu, FILE *out);

#endif
