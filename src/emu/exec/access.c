/* From the addresses of an instruction to bytes of this process, with all checks. */
#include <assert.h>

#include "emu/exec/ops.h"
#include "emu/exec/race.h"

/* A range that the worker has seen before, or that the table knows, or NULL. */
static const struct cot_exec_range *find_range(struct cot_exec_worker *worker, uint64_t address)
{
	struct cot_exec_ranges *memory = worker->run->launch.memory;
	uint32_t generation = cot_exec_ranges_generation(memory), k;
	struct cot_exec_range r, *slot;

	if (generation != worker->generation) {
		for (k = 0; k < COT_ARRAY_LEN(worker->ranges); k++)
			worker->ranges[k] = (struct cot_exec_range){1, 0, false};
		worker->generation = generation;
	}
	for (k = 0; k < COT_ARRAY_LEN(worker->ranges); k++) {
		r = worker->ranges[k];
		if (address < r.first || address > r.last)
			continue;
		/* Try the one found last first. */
		worker->ranges[k] = worker->ranges[0];
		worker->ranges[0] = r;
		return &worker->ranges[0];
	}
	r = cot_exec_ranges_find(memory, address);
	if (r.first > r.last)
		return NULL;
	slot = &worker->ranges[++worker->next_range % COT_ARRAY_LEN(worker->ranges)];
	*slot = worker->ranges[0];
	worker->ranges[0] = r;
	return &worker->ranges[0];
}

/* Bytes of device memory, which is this process's own. */
static uint8_t *global(struct cot_exec_worker *worker, uint64_t address, uint64_t bytes, bool write)
{
	const struct cot_exec_range *r = find_range(worker, address);

	if (!r || (write && !r->writable))
		return NULL;
	if (bytes - 1 > r->last - address &&
	    !cot_exec_ranges_valid(worker->run->launch.memory, address, bytes, write))
		return NULL;
	return (uint8_t *)(uintptr_t)address;
}

static uint8_t *within(uint8_t *base, uint64_t size, uint64_t at, uint64_t bytes)
{
	return at <= size && bytes <= size - at ? base + at : NULL;
}

static uint8_t *local(struct cot_exec_warp *w, unsigned lane, uint64_t at, uint64_t bytes)
{
	uint8_t *base = w->local + (size_t)lane * w->local_bytes;

	return within(base, w->local_bytes, at, bytes);
}

static uint8_t *args(struct cot_exec_warp *w, uint64_t at, uint64_t bytes)
{
	const struct cot_exec_run *run = w->block->run;

	return within(run->args, run->function->info.args_size, at, bytes);
}

uint8_t *cot_exec_generic(struct cot_exec_warp *w, unsigned lane, uint64_t address, uint64_t bytes,
			  bool write)
{
	if (address < WINDOW_SHARED)
		return global(w->worker, address, bytes, write);
	if (address < WINDOW_LOCAL)
		return within(w->block->shared, w->block->run->shared_bytes,
			      address - WINDOW_SHARED, bytes);
	if (address < WINDOW_PARAM)
		return local(w, lane, address - WINDOW_LOCAL, bytes);
	if (address < WINDOW_FUNCTION && !write)
		return args(w, address - WINDOW_PARAM, bytes);
	return NULL;
}

bool cot_exec_read_text(struct cot_exec_warp *w, unsigned lane, uint64_t address, char *text,
			size_t size)
{
	size_t n;

	for (n = 0; n + 1 < size; n++) {
		const uint8_t *p = cot_exec_generic(w, lane, address + n, 1, false);

		if (!p)
			return false;
		text[n] = (char)*p;
		if (!text[n])
			return true;
	}
	text[n] = '\0';
	return true;
}

static const char *const space_names[] = {
	[MEM_GLOBAL] = "global", [MEM_GENERIC] = "generic", [MEM_SHARED] = "shared",
	[MEM_LOCAL] = "local",	 [MEM_ARGS] = "parameter",
};

static uint64_t space_size(const struct cot_exec_warp *w, uint8_t space)
{
	switch (space) {
	case MEM_SHARED:
		return w->block->run->shared_bytes;
	case MEM_LOCAL:
		return w->local_bytes;
	default:
		return w->block->run->function->info.args_size;
	}
}

static enum cot_exec_flow complain(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   unsigned lane, uint64_t address, uint32_t bytes)
{
	const char *verb = in->flags & INSN_WRITES ? "write" : "read";

	if (address & (bytes - 1))
		return cot_exec_fault(
			w, in, lane, COT_EXEC_FAULT_MISALIGNED, address,
			"a %s of %u bytes at %s address 0x%llx; expected a multiple of %u", verb,
			bytes, space_names[in->space], (unsigned long long)address, bytes);
	if (in->space >= MEM_SHARED)
		return cot_exec_fault(
			w, in, lane, COT_EXEC_FAULT_SPACE, address,
			"a %s of %u bytes at 0x%llx in %s memory, which has %llu bytes", verb,
			bytes, (unsigned long long)address, space_names[in->space],
			(unsigned long long)space_size(w, in->space));
	return cot_exec_fault(w, in, lane, COT_EXEC_FAULT_ADDRESS, address,
			      "an invalid %s of %u bytes at address 0x%llx", verb, bytes,
			      (unsigned long long)address);
}

static uint64_t address_of(struct cot_exec_warp *w, const struct cot_exec_insn *in, unsigned i,
			   uint64_t offset)
{
	return in->flags & INSN_ADDRESS64 ? ROW(u64, in->a)[i] + offset
					  : (uint32_t)(ROW(u32, in->a)[i] + (uint32_t)offset);
}

/* One lane after the other. */
static enum cot_exec_flow access_each(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				      uint32_t m, uint32_t bytes, uint64_t offset,
				      uint8_t *ret_p[LANES])
{
	bool write = in->flags & INSN_WRITES;

	for (; m; m &= m - 1) {
		unsigned i = (unsigned)__builtin_ctz(m);
		uint64_t at = address_of(w, in, i, offset);
		uint8_t *p = NULL;

		if (!(at & (bytes - 1))) {
			if (in->space == MEM_LOCAL)
				p = local(w, i, at, bytes);
			else if (in->space == MEM_ARGS)
				p = args(w, at, bytes);
			else if (in->space == MEM_SHARED)
				p = within(w->block->shared, w->block->run->shared_bytes, at,
					   bytes);
			else
				p = cot_exec_generic(w, i, at, bytes, write);
		}
		if (!p)
			return complain(w, in, i, at, bytes);
		ret_p[i] = p;
	}
	return FLOW_NEXT;
}

/* All lanes at 64-bit addresses in one range: the usual case, without branches in the loop. */
static bool access_all_global(struct cot_exec_warp *w, const struct cot_exec_insn *in,
			      uint32_t bytes, uint64_t offset, uint8_t *ret_p[LANES])
{
	const row_u64 *a = ROW(u64, in->a);
	const struct cot_exec_range *r = find_range(w->worker, a[0] + offset);
	uint64_t bad = 0, odd = 0, first, limit, addresses[LANES];

	if (!r || (in->flags & INSN_WRITES && !r->writable) || r->last - r->first < bytes)
		return false;
	first = r->first;
	limit = r->last - first + 1 - bytes;
	VECTOR_LOOP
	for (unsigned i = 0; i < LANES; i++) {
		uint64_t at = a[i] + offset, x = at - first;

		addresses[i] = at;
		odd |= at;
		/* The sign says that one of them is negative: ranges are shorter than 2^63. */
		bad |= x | (limit - x);
	}
	if (bad >> 63 || odd & (bytes - 1))
		return false;
	memcpy(ret_p, addresses, sizeof(addresses));
	return true;
}

static_assert(sizeof(uint8_t *) == sizeof(uint64_t), "device addresses are pointers");

static bool access_all_shared(struct cot_exec_warp *w, const struct cot_exec_insn *in,
			      uint32_t bytes, uint64_t offset, uint8_t *ret_p[LANES])
{
	uint32_t size = w->block->run->shared_bytes, bad = 0, odd = 0;
	const row_u32 *a = ROW(u32, in->a);
	uint8_t *base = w->block->shared;

	if (size < bytes)
		return false;
	for (unsigned i = 0; i < LANES; i++) {
		uint32_t at = a[i] + (uint32_t)offset;

		ret_p[i] = base + at;
		odd |= at;
		/* Shared memory is far smaller than 2^31. */
		bad |= at | (size - bytes - at);
	}
	return !(bad >> 31 || odd & (bytes - 1));
}

enum cot_exec_flow cot_exec_access(struct cot_exec_warp *w, const struct cot_exec_insn *in,
				   uint32_t m, uint32_t bytes, uint8_t *ret_p[LANES])
{
	uint64_t offset = (uint64_t)in->imm + (in->flags & INSN_FRAME ? w->local_base : 0);
	bool wide = in->flags & INSN_ADDRESS64, all = m == ALL_LANES;
	enum cot_exec_flow flow = FLOW_NEXT;
	bool done = false;

	w->talks |= in->flags & INSN_STRONG;
	if (all && wide && in->space <= MEM_GENERIC)
		done = access_all_global(w, in, bytes, offset, ret_p);
	else if (all && !wide && in->space == MEM_SHARED)
		done = access_all_shared(w, in, bytes, offset, ret_p);
	if (!done)
		flow = access_each(w, in, m, bytes, offset, ret_p);
	if (flow == FLOW_NEXT && COT_UNLIKELY(w->block->run->races))
		flow = cot_exec_race_check(w, in, m, bytes, ret_p);
	return flow;
}
