/*
 * A machine (kernels/launch/machine.h) that is the interpreter of PTX in this process, with a
 * schedule that only a seed decides. One thread.
 */
#ifndef COT_TESTS_EXEC_MACHINE_H
#define COT_TESTS_EXEC_MACHINE_H

#include "emu/exec/exec.h"
#include "kernels/launch/machine.h"

#define EXEC_MACHINE_ALLOCATIONS 256u

struct exec_machine {
	struct cot_machine base; /* first */
	struct cot_exec_ranges *memory;
	struct cot_exec_module *module;
	void *allocations[EXEC_MACHINE_ALLOCATIONS];
	uint64_t seed;	     /* of the next launch's schedule; grows with each launch */
	uint32_t per_sm;     /* blocks on an SM, and what occupancy() says; 0: some */
	uint32_t max_blocks; /* mixed at a time; 0: the interpreter's default */
	uint32_t checks;     /* COT_EXEC_CHECK_... */
	cot_exec_hook hook;  /* between two steps of a kernel; may be NULL */
	void *hook_arg;
	struct cot_exec_stats stats; /* of all launches, added up */
	uint64_t n_steps;	     /* of the schedule, in all launches */
};

int exec_machine_init(struct exec_machine *m, const char *ptx, size_t size, uint32_t n_sms,
		      struct cot_error *err);
void exec_machine_finish(struct exec_machine *m);

#endif
