/* For tests of the PTX interpreter: PTX in, memory in and out. Aborts the test on any failure. */
#ifndef COT_TESTS_EXEC_HELPER_H
#define COT_TESTS_EXEC_HELPER_H

#include "emu/exec/exec.h"

struct exec_test {
	struct cot_exec_ranges *memory;
	struct cot_exec_module *module;
	struct cot_exec_launch launch; /* with the first kernel; to be changed at will */
	struct cot_exec_fault fault;   /* of the last run */
	struct cot_exec_stats stats;
	uint8_t args[1024];
};

/* Loads a whole module; expects that it works. */
void exec_load(struct exec_test *t, const char *ptx);
/* The same with the head of a module in front: .version, .target, .address_size. */
void exec_load_body(struct exec_test *t, const char *functions);
void exec_unload(struct exec_test *t);

/* Memory for kernels, zeroed, known to t; it is given back by exec_unload(). */
void *exec_alloc(struct exec_test *t, size_t bytes);

/* Sets the k-th parameter. */
void exec_arg(struct exec_test *t, unsigned k, const void *value, size_t size);
void exec_arg_ptr(struct exec_test *t, unsigned k, const void *p);

/* The fault's kind; grid and block in one dimension. */
enum cot_exec_fault_kind exec_run(struct exec_test *t, uint32_t n_blocks, uint32_t n_threads,
				  uint32_t n_workers);
enum cot_exec_fault_kind exec_run_seeded(struct exec_test *t, uint32_t n_blocks, uint32_t n_threads,
					 uint64_t seed);

#endif
