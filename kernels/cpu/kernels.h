/* The kernels of `cotenant run --cpu kernels`: one file for each, and provider.c, which has the
 * list. */
#ifndef COT_KERNELS_CPU_KERNELS_H
#define COT_KERNELS_CPU_KERNELS_H

#include "cotenant/cpu.h"

/* Of grids and blocks with one dimension. As in cotenant/cpu.h. */
struct cot_cpu_kernel {
	const char *name; /* in its PTX */
	int (*memory)(struct cot_cpu_launch *launch);
	int (*run)(const struct cot_cpu_launch *launch);
};

extern const struct cot_cpu_kernel cot_cpu_black_scholes;
extern const struct cot_cpu_kernel cot_cpu_aes;
extern const struct cot_cpu_kernel cot_cpu_monte_carlo;
extern const struct cot_cpu_kernel cot_cpu_search;

#endif
