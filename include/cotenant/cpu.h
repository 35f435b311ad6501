/*
 * CPU versions of kernels, for `cotenant run --cpu`: launches that take less energy, or time, on
 * the CPU than on the GPU run there (docs/cpu.md). A *provider* is a shared library that exports
 *
 *     const struct cot_cpu_provider *cot_cpu_provider(void);
 *
 * cotenant loads it into the program. When the program launches a kernel that a provider has,
 * cotenant waits until all that comes before it in its stream has ended, copies the memory that the
 * kernel uses from the GPU, has the provider run it, and copies what it wrote back; then the launch
 * returns. If anything stands against that, the GPU runs the kernel as without cotenant: until the
 * provider has returned 0, nothing is written to the GPU.
 *
 * All functions may be called by several threads at once. A provider may not use the GPU.
 */
#ifndef COTENANT_CPU_H
#define COTENANT_CPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COT_CPU_ABI	   1u
#define COT_CPU_RANGES_MAX 64u
#define COT_CPU_SYMBOL	   "cot_cpu_provider"

struct cot_cpu_code {
	const char *name; /* of the kernel, as in its PTX */
	const char *ptx;  /* of its module, not ended by a zero; NULL: not known */
	size_t ptx_length;
};

/* What the kernel does with a range of memory. */
#define COT_CPU_READS 0x1u
#define COT_CPU_WRITES                                                             \
	0x2u /* all of it goes back to the GPU; without READS it writes every byte \
	      */
/*
 * Which of it is written is not known before: what is different afterwards goes back, in units of
 * `grain` bytes, of which the kernel writes all or none. The range is read as well.
 */
#define COT_CPU_CHANGES 0x4u

struct cot_cpu_range {
	uint64_t address; /* on the GPU */
	uint64_t bytes;
	uint32_t uses;	/* COT_CPU_READS ... */
	uint32_t grain; /* of CHANGES: 1, 2, 4, 8 or 16, aligned so */
	void *host;	/* where its bytes are while run() is called */
};

struct cot_cpu_launch {
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; /* dynamic shared memory */
	uint32_t n_ranges;
	void *const *params; /* to the values of the parameters, as in cuLaunchKernel() */
	struct cot_cpu_range ranges[COT_CPU_RANGES_MAX];
};

/* The whole allocation that the GPU's address is in. 0, or -ENOENT: it is in none. */
typedef int (*cot_cpu_find)(uint64_t address, uint64_t *ret_begin, uint64_t *ret_bytes);

struct cot_cpu_provider {
	uint32_t abi; /* COT_CPU_ABI */
	const char *name;
	/* 0, and what the functions below are called with as long as the program lives; -ENOENT: it
	 * has no such kernel. Called once for a kernel; nothing in `code` stays. */
	int (*open)(const struct cot_cpu_code *code, void **ret_kernel);
	/*
	 * Fills in the ranges that this launch uses; they may overlap. Other than 0: the GPU runs
	 * it.
	 */
	int (*memory)(void *kernel, struct cot_cpu_launch *launch, cot_cpu_find find);
	/* The whole grid. Other than 0: the GPU runs it. */
	int (*run)(void *kernel, const struct cot_cpu_launch *launch);
};

/* Where the bytes of a GPU's address are during run(). NULL: in no range. */
static inline void *cot_cpu_host(const struct cot_cpu_launch *launch, uint64_t address)
{
	uint32_t i;

	for (i = 0; i < launch->n_ranges; i++)
		if (address - launch->ranges[i].address < launch->ranges[i].bytes)
			return (char *)launch->ranges[i].host +
			       (address - launch->ranges[i].address);
	return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
