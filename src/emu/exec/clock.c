/* The special registers that change while a kernel runs. */
#include "emu/exec/lower.h"
#include "emu/exec/ops.h"

static uint64_t clock_now(struct cot_exec_warp *w)
{
	const struct cot_exec_launch *launch = &w->block->run->launch;

	if (launch->clock_ns)
		return launch->clock_ns(launch->arg);
	/* Each look takes time, so that loops which wait for the clock end. */
	return w->worker->n_warp_insns + ++w->worker->n_looks * 16;
}

HANDLER(clock_32)
{
	row_u32 *d = ROW(u32, in->dst);
	uint64_t now = clock_now(w);
	uint32_t value = (uint32_t)(in->n == COT_EXEC_CLOCK_HIGH ? now >> 32 : now);

	FOR_LANES(m, d[i] = value);
	return FLOW_NEXT;
}

HANDLER(clock_64)
{
	row_u64 *d = ROW(u64, in->dst);
	uint64_t now = clock_now(w);

	FOR_LANES(m, d[i] = now);
	return FLOW_NEXT;
}

cot_exec_fn cot_exec_clock_handler(unsigned bits)
{
	return bits == 64 ? clock_64 : clock_32;
}
