/* How a run ends with a fault: the first fault counts, and all workers leave. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "emu/exec/inside.h"

static const char *const names[] = {
	[COT_EXEC_FAULT_NONE] = "no fault",
	[COT_EXEC_FAULT_ADDRESS] = "illegal address",
	[COT_EXEC_FAULT_MISALIGNED] = "misaligned address",
	[COT_EXEC_FAULT_SPACE] = "address out of bounds",
	[COT_EXEC_FAULT_BARRIER] = "barrier that cannot complete",
	[COT_EXEC_FAULT_ASSERT] = "failed assertion",
	[COT_EXEC_FAULT_TRAP] = "trap",
	[COT_EXEC_FAULT_STACK] = "stack overflow",
	[COT_EXEC_FAULT_INSTRUCTION] = "illegal jump",
	[COT_EXEC_FAULT_RACE] = "race",
	[COT_EXEC_FAULT_MEMORY] = "out of memory",
	[COT_EXEC_FAULT_STOPPED] = "stopped",
};

const char *cot_exec_fault_name(enum cot_exec_fault_kind kind)
{
	return (unsigned)kind < COT_ARRAY_LEN(names) ? names[kind] : "unknown fault";
}

static void set(struct cot_exec_run *run, const struct cot_exec_fault *fault)
{
	pthread_mutex_lock(&run->lock);
	if (run->fault.kind == COT_EXEC_FAULT_NONE)
		run->fault = *fault;
	atomic_store(&run->stopped, true);
	pthread_cond_broadcast(&run->changed);
	pthread_mutex_unlock(&run->lock);
}

void cot_exec_run_fail(struct cot_exec_run *run, enum cot_exec_fault_kind kind, const char *why)
{
	struct cot_exec_fault fault = {.kind = kind};

	snprintf(fault.kernel, sizeof(fault.kernel), "%s", run->function->info.name);
	snprintf(fault.text, sizeof(fault.text), "kernel %.200s: %s", fault.kernel, why);
	set(run, &fault);
}

enum cot_exec_flow cot_exec_fault(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				  unsigned lane, enum cot_exec_fault_kind kind, uint64_t address,
				  const char *fmt, ...)
{
	const uint32_t *tid = (const uint32_t *)(const void *)w->base[BASE_WARP];
	struct cot_exec_run *run = w->block->run;
	struct cot_exec_fault fault = {0};
	char why[COT_ERROR_MAX / 2];
	va_list args;
	unsigned k;

	va_start(args, fmt);
	/* The analyser loses the va_list where the format is passed on the stack. */
	vsnprintf(/* NOLINT(clang-analyzer-valist.Uninitialized) */ why, sizeof(why), fmt, args);
	va_end(args);
	fault.kind = kind;
	fault.address = address;
	for (k = 0; k < 3; k++) {
		fault.block[k] = w->block->id[k];
		fault.thread[k] = tid[(WARP_TID + k) * LANES + lane];
	}
	fault.line = run->module->lines[in - run->module->code];
	snprintf(fault.kernel, sizeof(fault.kernel), "%s", run->function->info.name);
	snprintf(fault.text, sizeof(fault.text),
		 "kernel %.100s, block (%u,%u,%u), thread (%u,%u,%u), PTX line %u: %s",
		 fault.kernel, fault.block[0], fault.block[1], fault.block[2], fault.thread[0],
		 fault.thread[1], fault.thread[2], fault.line, why);
	set(run, &fault);
	return FLOW_FAULT;
}
