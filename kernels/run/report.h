/* What kernels-run prints: lines of JSON, one for each benchmark and pass. */
#ifndef COT_KERNELS_RUN_REPORT_H
#define COT_KERNELS_RUN_REPORT_H

#include <stdio.h>

#include "kernels/run/experiment.h"

/* The first line: the GPU and its driver. */
void cot_report_machine(FILE *out, const struct cot_cuda *cuda, const struct cot_options *options);
void cot_report_experiment(FILE *out, const struct cot_experiment *e);
/* A benchmark that could not be run. */
void cot_report_failure(FILE *out, const struct cot_bench *bench, const struct cot_error *err);
void cot_report_list(FILE *out);

#endif
