/* `cotenant run --cpu`: launches that are to be on the CPU (docs/cpu.md). */
#ifndef COT_CLI_RUN_CPU_H
#define COT_CLI_RUN_CPU_H

#include "base/error.h"

struct cot_run_cpu {
	const char *libraries; /* names or paths, with commas between; NULL: none */
	const char *kernels;   /* a file for the models; NULL: all launches that can */
	const char *aim;       /* or who decides; NULL: energy */
};

/*
 * Decides by the models, and sets the variables that the shim reads. -EINVAL: a mistake of the
 * user; -ENOENT: a library or file is not there.
 */
int cot_run_cpu_set_up(const struct cot_run_cpu *c, struct cot_error *err);

#endif
