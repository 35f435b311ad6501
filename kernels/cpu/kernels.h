/* The kernels of `cotenant run --cpu kernels`: one file for each, provider.c, which has the list,
 * and params.c, by which they read what a launch is given. */
#ifndef COT_KERNELS_CPU_KERNELS_H
#define COT_KERNELS_CPU_KERNELS_H

#include <stdbool.h>

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

/* ---- params.c ---- */

int32_t cot_cpu_i32(const struct cot_cpu_launch *l, unsigned param);
float cot_cpu_f32(const struct cot_cpu_launch *l, unsigned param);
/* The threads of the launch, but no more than its parameter says that there is work for. */
uint64_t cot_cpu_threads_up_to(const struct cot_cpu_launch *l, unsigned param);
/* The parameter is an array of so many bytes. */
void cot_cpu_uses(struct cot_cpu_launch *l, unsigned param, uint64_t bytes, bool writes);
/* Where the first n parameters are here. -EFAULT: one is nowhere. */
int cot_cpu_arrays(const struct cot_cpu_launch *l, unsigned n, void **ret_arrays);

#endif
