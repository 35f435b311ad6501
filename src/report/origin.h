/*
 * What a result was made from: so that whoever has the file alone knows what it says, and can make
 * it again. Pure but for the streams.
 */
#ifndef COT_REPORT_ORIGIN_H
#define COT_REPORT_ORIGIN_H

#include <jansson.h>
#include <stdio.h>

#include "base/sha256.h"
#include "trace/scenario.h"

struct cot_origin {
	const char *scenario;	      /* as on the command line; "-": standard input */
	char sha256[COT_SHA256_TEXT]; /* of the scenario's file */
	const char *version;	      /* "cotenant 0.1.0" */
	char *command;		      /* without its outputs; owned */
	char date[11];		      /* "2026-11-23"; "" not known. Of pages only */
};

void cot_origin_finish(struct cot_origin *o);

/* "h200 (132 SMs)". */
#define COT_ORIGIN_GPU_MAX (COT_NAME_MAX + 24)
const char *cot_origin_gpu(const struct cot_gpu *gpu, char buf[COT_ORIGIN_GPU_MAX]);

/* "pools.yaml": the scenario's file without its folder. NULL, and standard input: "A scenario". */
const char *cot_origin_title(const struct cot_origin *o);

/* A member `origin` of the object; without the date, as the same input gives the same bytes. 0 or
 * -1. Nothing when `o` is NULL. */
int cot_origin_add_json(json_t *object, const struct cot_origin *o, const struct cot_gpu *gpu);

/* A section of a page. -ENOMEM. Nothing when `o` is NULL. */
int cot_origin_print_html(const struct cot_origin *o, const struct cot_gpu *gpu, FILE *out);

#endif
