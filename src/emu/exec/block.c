/* The life of a thread block: its memory, its warps in turns, its end. */
#include <stdlib.h>
#include <string.h>

#include "emu/exec/inside.h"

#define TURN	  512u /* instructions after which the next warp, or group, has its turn */
#define MAX_STEP  64u  /* of the seeded schedule */
#define ROWS_SIZE (N_WARP_ROWS * ROW_BYTES)

void cot_exec_block_destroy(struct cot_exec_block *b)
{
	uint32_t i;

	if (!b)
		return;
	for (i = 0; i < b->n_warps; i++) {
		free(b->warps[i].regs);
		free(b->warps[i].local);
		free(b->warps[i].joins);
	}
	free(b->shared);
	free(b->warp_rows);
	free(b);
}

struct cot_exec_block *cot_exec_block_create(struct cot_exec_run *run)
{
	struct cot_exec_block *b;
	size_t shared = ((size_t)run->shared_bytes + 127) & ~(size_t)63;
	uint32_t i;

	b = calloc(1, sizeof(*b) + run->n_warps * sizeof(b->warps[0]));
	if (!b)
		return NULL;
	b->run = run;
	b->n_warps = run->n_warps;
	b->shared = aligned_alloc(64, shared);
	b->warp_rows = aligned_alloc(64, (size_t)run->n_warps * ROWS_SIZE);
	if (!b->shared || !b->warp_rows) {
		cot_exec_block_destroy(b);
		return NULL;
	}
	for (i = 0; i < run->n_warps; i++) {
		struct cot_exec_warp *w = &b->warps[i];

		w->block = b;
		w->index = i;
		w->base[BASE_CONST] = run->module->consts;
		w->base[BASE_WARP] = b->warp_rows + (size_t)i * ROWS_SIZE;
		w->base[BASE_RUN] = run->rows;
	}
	return b;
}

static void fill(uint8_t *rows, unsigned row, uint32_t value)
{
	uint32_t *p = (uint32_t *)(void *)(rows + (size_t)row * ROW_BYTES);
	unsigned i;

	for (i = 0; i < LANES; i++)
		p[i] = value;
}

int cot_exec_block_begin(struct cot_exec_block *b, uint64_t number, uint32_t sm)
{
	const struct cot_exec_run *run = b->run;
	const uint32_t *grid = run->launch.grid;
	uint32_t i, k;

	b->number = number;
	b->sm = sm;
	b->id[0] = (uint32_t)(number % grid[0]);
	b->id[1] = (uint32_t)(number / grid[0] % grid[1]);
	b->id[2] = (uint32_t)(number / grid[0] / grid[1]);
	b->n_live = run->n_threads;
	b->next_warp = 0;
	b->yielded = false;
	memset(b->barriers, 0, sizeof(b->barriers));
	memset(b->shared, 0, run->shared_bytes);
	for (i = 0; i < b->n_warps; i++) {
		struct cot_exec_warp *w = &b->warps[i];
		uint32_t left = run->n_threads - i * LANES;

		w->started = left >= LANES ? ALL_LANES : (1u << left) - 1;
		memcpy(w->base[BASE_WARP], run->tid_rows + (size_t)i * 3 * ROW_BYTES,
		       3 * ROW_BYTES);
		for (k = 0; k < 3; k++)
			fill(w->base[BASE_WARP], WARP_CTAID + k, b->id[k]);
		fill(w->base[BASE_WARP], WARP_WARPID, i);
		fill(w->base[BASE_WARP], WARP_SMID, sm);
		if (cot_exec_warp_begin(w))
			return -1;
	}
	return 0;
}

/* ---- running ---- */

/* Runs the warp's group until something happens to it, at most `limit` instructions. */
static enum cot_exec_flow run_group(struct cot_exec_warp *w, uint64_t limit, uint64_t *ret_n)
{
	const struct cot_exec_insn *code = w->block->run->module->code, *in;
	struct cot_exec_group *g = w->group;
	uint32_t mask = g->mask, m;
	uint64_t n = 0, n_threads = 0;
	enum cot_exec_flow flow = FLOW_YIELD;

	in = code + g->pc;
	for (; n < limit; in++) {
		n++;
		n_threads += mask == ALL_LANES ? LANES : (unsigned)__builtin_popcount(mask);
		m = mask;
		if (in->guard != NOWHERE) {
			uint32_t p = cot_exec_pred(w, in->guard);

			m &= in->guard_not ? ~p : p;
			if (!m)
				continue;
		}
		flow = in->fn(w, in, m);
		if (COT_LIKELY(flow == FLOW_NEXT))
			continue;
		if (flow != FLOW_JUMP)
			goto out;
		mask = g->mask;
		in = code + g->pc - 1;
	}
	g->pc = (uint32_t)(in - code);
	flow = FLOW_YIELD;
out:
	*ret_n += n;
	w->n_run += n;
	w->worker->n_warp_insns += n;
	w->worker->n_thread_insns += n_threads;
	return flow;
}

/* The ready group whose turn it is, or a random one. */
static struct cot_exec_group *pick_group(struct cot_exec_warp *w, struct cot_rng *rng)
{
	struct cot_exec_group *best = NULL;
	uint32_t skip, k;

	if (w->n_ready > 1)
		cot_exec_merge(w);
	skip = rng && w->n_ready ? (uint32_t)cot_rng_below(rng, w->n_ready) : 0;
	for (k = 0; k < LANES; k++) {
		struct cot_exec_group *g = &w->groups[k];

		if (g->state != GROUP_READY)
			continue;
		if (rng && !skip--)
			return g;
		if (!best || (int32_t)(g->turn - best->turn) < 0)
			best = g;
	}
	return best;
}

/* One turn of a warp: some instructions of one of its groups or, as they end, of several. */
static enum cot_exec_flow run_warp(struct cot_exec_warp *w, uint64_t limit, uint64_t *ret_n)
{
	uint64_t until = *ret_n + limit;
	enum cot_exec_flow flow = FLOW_NEXT;

	w->talks = false;
	while (*ret_n < until) {
		if (!w->n_ready && w->n_joins)
			cot_exec_lose_patience(w);
		if (!w->n_ready)
			break;
		cot_exec_use_group(w, pick_group(w, w->worker->rng));
		flow = run_group(w, until - *ret_n, ret_n);
		if (flow == FLOW_FAULT)
			break;
		if (flow == FLOW_YIELD) {
			w->group->turn = ++w->turn;
			if (w->n_joins)
				cot_exec_lose_patience(w);
			break;
		}
	}
	cot_exec_use_group(w, NULL);
	return flow;
}

/* Why no thread can go on: for the first thread that waits. */
static enum cot_exec_block_state stuck(struct cot_exec_block *b)
{
	uint32_t i, k;

	for (i = 0; i < b->n_warps; i++) {
		for (k = 0; k < LANES; k++) {
			struct cot_exec_warp *w = &b->warps[i];
			struct cot_exec_group *g = &w->groups[k];
			const struct cot_exec_barrier *bar = &b->barriers[g->barrier];
			unsigned lane = (unsigned)__builtin_ctz(g->mask | 1u << 31);

			if (g->state == GROUP_BARRIER) {
				cot_exec_fault(
					w, g->wait, lane, COT_EXEC_FAULT_BARRIER, 0,
					"waits at barrier %u, where %u of %u threads are and no "
					"other can come",
					g->barrier, bar->arrived,
					bar->expected ? bar->expected : b->n_live);
				return BLOCK_FAULTED;
			}
			if (g->state == GROUP_WARP) {
				cot_exec_fault(
					w, g->wait, lane, COT_EXEC_FAULT_BARRIER, 0,
					"lanes 0x%08x wait for lanes 0x%08x of their warp, which "
					"cannot come",
					g->mask, g->wanted & w->live & ~g->mask);
				return BLOCK_FAULTED;
			}
		}
	}
	cot_exec_run_fail(b->run, COT_EXEC_FAULT_INSTRUCTION, "threads are left that cannot go on");
	return BLOCK_FAULTED;
}

/* Lanes at joins go on if a barrier holds the rest of their warp, and now the whole block. */
static bool wake(struct cot_exec_warp *w)
{
	if (!w->n_ready && w->live)
		cot_exec_lose_patience(w);
	return w->n_ready;
}

static enum cot_exec_block_state state_of(struct cot_exec_block *b)
{
	uint32_t i;

	if (!b->n_live)
		return BLOCK_ENDED;
	for (i = 0; i < b->n_warps; i++)
		if (wake(&b->warps[i]))
			return BLOCK_RUNS;
	return stuck(b);
}

enum cot_exec_block_state cot_exec_block_run(struct cot_exec_block *b,
					     struct cot_exec_worker *worker, uint64_t budget)
{
	uint64_t n = 0;

	b->yielded = false;
	while (n < budget) {
		uint64_t before = n;
		uint32_t k;

		for (k = 0; k < b->n_warps; k++) {
			struct cot_exec_warp *w = &b->warps[k];

			if (!w->n_ready)
				continue;
			if (atomic_load_explicit(&b->run->stopped, memory_order_relaxed))
				return BLOCK_FAULTED;
			w->worker = worker;
			if (run_warp(w, TURN, &n) == FLOW_FAULT)
				return BLOCK_FAULTED;
		}
		if (n == before || !b->n_live)
			return state_of(b);
		if (b->yielded)
			break;
	}
	return BLOCK_RUNS;
}

enum cot_exec_block_state cot_exec_block_step(struct cot_exec_block *b,
					      struct cot_exec_worker *worker)
{
	uint64_t limit = 1 + cot_rng_below(worker->rng, MAX_STEP), n = 0;
	uint32_t n_ready = 0, skip, i;

	for (i = 0; i < b->n_warps; i++)
		n_ready += b->warps[i].n_ready != 0;
	if (!n_ready)
		return state_of(b);
	skip = (uint32_t)cot_rng_below(worker->rng, n_ready);
	for (i = 0; i < b->n_warps; i++) {
		struct cot_exec_warp *w = &b->warps[i];

		if (!w->n_ready || skip--)
			continue;
		w->worker = worker;
		if (run_warp(w, limit, &n) == FLOW_FAULT)
			return BLOCK_FAULTED;
		break;
	}
	return b->n_live ? BLOCK_RUNS : BLOCK_ENDED;
}
