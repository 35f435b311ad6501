/* Runs: from a launch to blocks, and the CPU threads that work on them. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_sheet.h"
#include "emu/exec/inside.h"

#define MAX_GRID_X    0x7fffffffu
#define MAX_GRID_YZ   65535u
#define SEEDED_BLOCKS 64u

/* ---- start ---- */

static int check_shape(const struct cot_exec_launch *a, struct cot_error *err)
{
	const struct cot_exec_function_info *f = cot_exec_function_info(a->function);
	uint64_t threads = (uint64_t)a->block[0] * a->block[1] * a->block[2];
	unsigned k;

	for (k = 0; k < 3; k++)
		if (!a->grid[k] || a->grid[k] > (k ? MAX_GRID_YZ : MAX_GRID_X) || !a->block[k] ||
		    a->block[k] > COT_EXEC_MAX_THREADS)
			return cot_error_set(
				err, -EINVAL,
				"%s: a grid of %u x %u x %u blocks of %u x %u x %u threads; "
				"expected positive numbers within the GPU's limits",
				f->name, a->grid[0], a->grid[1], a->grid[2], a->block[0],
				a->block[1], a->block[2]);
	if (threads > f->max_threads)
		return cot_error_set(err, -EINVAL,
				     "%s: %llu threads in a block; expected at most %u", f->name,
				     (unsigned long long)threads, f->max_threads);
	for (k = 0; k < 3; k++)
		if (f->required_block[0] && a->block[k] != f->required_block[k])
			return cot_error_set(
				err, -EINVAL,
				"%s: blocks of %u x %u x %u threads; expected %u x %u x %u as "
				".reqntid says",
				f->name, a->block[0], a->block[1], a->block[2],
				f->required_block[0], f->required_block[1], f->required_block[2]);
	if (f->uses_clusters && (a->cluster[0] > 1 || a->cluster[1] > 1 || a->cluster[2] > 1))
		return cot_error_set(err, -ENOTSUP,
				     "%s: a cluster of several blocks; expected none, as the "
				     "kernel makes use of it",
				     f->name);
	return 0;
}

static int check_sizes(const struct cot_exec_launch *a, struct cot_error *err)
{
	const struct cot_exec_function_info *f = cot_exec_function_info(a->function);
	uint64_t shared = (uint64_t)f->shared_bytes + a->shared_bytes;

	if (shared > COT_EXEC_MAX_SHARED)
		return cot_error_set(
			err, -EINVAL,
			"%s: %llu bytes of shared memory per block; expected at most %u", f->name,
			(unsigned long long)shared, COT_EXEC_MAX_SHARED);
	if (a->args_size < f->args_size || (f->args_size && !a->args))
		return cot_error_set(err, -EINVAL, "%s: %zu bytes of arguments; expected %u",
				     f->name, a->args_size, f->args_size);
	if (a->n_sms > COT_EXEC_MAX_SMS)
		return cot_error_set(err, -EINVAL, "%s: %u SMs; expected at most %u", f->name,
				     a->n_sms, COT_EXEC_MAX_SMS);
	if (!a->memory)
		return cot_error_set(err, -EINVAL, "%s: a launch without memory", f->name);
	return 0;
}

static int check(const struct cot_exec_launch *a, struct cot_error *err)
{
	int error = cot_exec_function_refused(a->function, err);

	if (!error)
		error = check_shape(a, err);
	return error ? error : check_sizes(a, err);
}

static void fill(struct cot_exec_run *run, unsigned row, uint32_t value)
{
	uint32_t *p = (uint32_t *)(void *)(run->rows + (size_t)row * ROW_BYTES);
	unsigned i;

	for (i = 0; i < LANES; i++)
		p[i] = value;
}

static void fill_masks(struct cot_exec_run *run)
{
	static const unsigned rows[] = {RUN_LANEID,  RUN_MASK_EQ, RUN_MASK_LE,
					RUN_MASK_LT, RUN_MASK_GE, RUN_MASK_GT};
	unsigned i, k;

	for (i = 0; i < LANES; i++) {
		uint32_t bit = 1u << i,
			 values[] = {i, bit, bit | (bit - 1), bit - 1, 0 - bit, (0 - bit) ^ bit};

		for (k = 0; k < COT_ARRAY_LEN(rows); k++)
			((uint32_t *)(void *)(run->rows + (size_t)rows[k] * ROW_BYTES))[i] =
				values[k];
	}
}

static void fill_rows(struct cot_exec_run *run)
{
	const struct cot_exec_launch *a = &run->launch;
	uint64_t *grid_id = (uint64_t *)(void *)(run->rows + (size_t)RUN_GRIDID * ROW_BYTES);
	unsigned k;

	for (k = 0; k < 3; k++) {
		fill(run, RUN_NTID + k, a->block[k]);
		fill(run, RUN_NCTAID + k, a->grid[k]);
	}
	fill_masks(run);
	fill(run, RUN_NWARPID, cot_exec_sm_limits(run->module->target).max_warps);
	fill(run, RUN_NSMID, a->n_sms_gpu ? a->n_sms_gpu : a->n_sms);
	fill(run, RUN_TOTAL_SMEM, run->shared_bytes);
	fill(run, RUN_DYNAMIC_SMEM, a->shared_bytes);
	fill(run, RUN_ENVREG1, (uint32_t)(a->cooperative_workspace >> 32));
	fill(run, RUN_ENVREG2, (uint32_t)a->cooperative_workspace);
	fill(run, RUN_ZERO, 0);
	fill(run, RUN_ONE, 1);
	for (k = 0; k < LANES; k++)
		grid_id[k] = a->grid_id;
}

static void fill_tids(struct cot_exec_run *run)
{
	const uint32_t *block = run->launch.block;
	uint32_t *p = (uint32_t *)(void *)run->tid_rows, t;

	for (t = 0; t < run->n_warps * LANES; t++) {
		uint32_t *rows = p + (size_t)(t / LANES) * 3 * LANES + t % LANES;

		rows[0] = t % block[0];
		rows[LANES] = t / block[0] % block[1];
		rows[2 * LANES] = t / block[0] / block[1];
	}
}

static int plan(struct cot_exec_run *run, struct cot_error *err)
{
	struct cot_exec_launch *a = &run->launch;
	const struct cot_exec_function_info *f = &run->function->info;
	struct cot_exec_sm_limits limits = cot_exec_sm_limits(run->module->target);
	uint32_t units = limits.registers / run->n_warps / limits.register_unit;
	uint32_t most = units * limits.register_unit / LANES, n_registers = f->n_registers;
	uint64_t resident;

	/* The number of registers is an estimate: for one block, whose warps are granted units, it
	 * is always low enough. */
	if (n_registers > most)
		n_registers = most;
	if (!a->n_sms)
		a->n_sms = COT_H200_SMS;
	if (!a->blocks_per_sm)
		a->blocks_per_sm =
			cot_exec_occupancy(&limits, n_registers, run->shared_bytes, run->n_threads);
	if (!a->blocks_per_sm)
		return cot_error_set(
			err, -EINVAL,
			"%s: a block of %u threads with %u registers each does not fit on an SM",
			f->name, run->n_threads, n_registers);
	resident = (uint64_t)a->n_sms * a->blocks_per_sm;
	run->max_resident = resident > UINT32_MAX ? UINT32_MAX : (uint32_t)resident;
	if (a->cooperative && run->n_blocks > resident)
		return cot_error_set(err, -EINVAL,
				     "%s: a cooperative grid of %llu blocks; expected at most %llu",
				     f->name, (unsigned long long)run->n_blocks,
				     (unsigned long long)resident);
	return 0;
}

static int fill_run(struct cot_exec_run *run, const struct cot_exec_launch *a,
		    struct cot_error *err)
{
	uint32_t k;
	int error;

	run->launch = *a;
	run->function = a->function;
	run->module = a->function->module;
	run->n_threads = a->block[0] * a->block[1] * a->block[2];
	run->n_warps = (run->n_threads + LANES - 1) / LANES;
	run->n_blocks = (uint64_t)a->grid[0] * a->grid[1] * a->grid[2];
	run->shared_bytes = run->function->info.shared_bytes + a->shared_bytes;
	error = plan(run, err);
	if (error)
		return error;
	run->args = calloc(1, (size_t)run->function->info.args_size + 16);
	run->sms = calloc(run->launch.n_sms, sizeof(*run->sms));
	run->sm_blocks = calloc(run->launch.n_sms, sizeof(*run->sm_blocks));
	run->tid_rows = calloc(run->n_warps, (size_t)3 * ROW_BYTES);
	if (!run->args || !run->sms || !run->sm_blocks || !run->tid_rows)
		return cot_error_set(err, -ENOMEM, "no memory for a launch");
	if (run->function->info.args_size)
		memcpy(run->args, a->args, run->function->info.args_size);
	for (k = 0; k < run->launch.n_sms; k++)
		run->sms[k] = a->sms ? a->sms[k] : k;
	run->launch.args = NULL;
	run->launch.sms = NULL;
	fill_rows(run);
	fill_tids(run);
	return a->checks & COT_EXEC_CHECK_RACES ? cot_exec_races_create(run, err) : 0;
}

int cot_exec_start(const struct cot_exec_launch *launch, struct cot_exec_run **ret_run,
		   struct cot_error *err)
{
	struct cot_exec_run *run;
	int error = check(launch, err);

	if (error)
		return error;
	run = aligned_alloc(64, (sizeof(*run) + 63) & ~(size_t)63);
	if (!run)
		return cot_error_set(err, -ENOMEM, "no memory for a launch");
	memset(run, 0, sizeof(*run));
	pthread_mutex_init(&run->lock, NULL);
	pthread_mutex_init(&run->print_lock, NULL);
	pthread_cond_init(&run->changed, NULL);
	error = fill_run(run, launch, err);
	if (error) {
		cot_exec_destroy(run);
		return error;
	}
	*ret_run = run;
	return 0;
}

static void free_blocks(struct cot_exec_block *b)
{
	while (b) {
		struct cot_exec_block *next = b->next;

		cot_exec_block_destroy(b);
		b = next;
	}
}

void cot_exec_destroy(struct cot_exec_run *run)
{
	if (!run)
		return;
	free_blocks(run->ready);
	free_blocks(run->unused);
	cot_exec_races_destroy(run->races);
	pthread_cond_destroy(&run->changed);
	pthread_mutex_destroy(&run->print_lock);
	pthread_mutex_destroy(&run->lock);
	free(run->args);
	free(run->sms);
	free(run->sm_blocks);
	free(run->tid_rows);
	free(run);
}

/* ---- blocks; the run is locked ---- */

static void push_ready(struct cot_exec_run *run, struct cot_exec_block *b)
{
	b->next = NULL;
	if (run->ready)
		run->last_ready->next = b;
	else
		run->ready = b;
	run->last_ready = b;
}

static struct cot_exec_block *pop_ready(struct cot_exec_run *run)
{
	struct cot_exec_block *b = run->ready;

	run->ready = b->next;
	return b;
}

static bool may_begin(const struct cot_exec_run *run)
{
	return run->next_block < run->n_blocks && run->n_resident < run->max_resident;
}

/* The place with the fewest blocks: its index. */
static uint32_t emptiest(const struct cot_exec_run *run)
{
	uint32_t best = 0, k;

	for (k = 1; k < run->launch.n_sms; k++)
		if (run->sm_blocks[k] < run->sm_blocks[best])
			best = k;
	return best;
}

static void put_away(struct cot_exec_run *run, struct cot_exec_block *b)
{
	run->sm_blocks[b->place]--;
	run->n_resident--;
	b->next = run->unused;
	run->unused = b;
}

/* Books a new block; its memory is made ready without the lock, by begin(). */
static struct cot_exec_block *reserve(struct cot_exec_run *run, uint64_t *ret_number)
{
	struct cot_exec_block *b = run->unused;

	if (b)
		run->unused = b->next;
	else
		b = cot_exec_block_create(run);
	if (!b)
		return NULL;
	*ret_number = run->next_block++;
	b->place = emptiest(run);
	run->sm_blocks[b->place]++;
	run->n_resident++;
	return b;
}

static bool is_over(const struct cot_exec_run *run)
{
	return run->n_ended == run->n_blocks || atomic_load(&run->stopped);
}

static enum cot_exec_state outcome(const struct cot_exec_run *run)
{
	return run->fault.kind == COT_EXEC_FAULT_NONE ? COT_EXEC_DONE : COT_EXEC_FAILED;
}

/* ---- workers ---- */

static int ask(struct cot_exec_run *run, enum cot_exec_at at)
{
	return run->launch.gate ? run->launch.gate(run->launch.arg, at) : 0;
}

void cot_exec_stop(struct cot_exec_run *run)
{
	cot_exec_run_fail(run, COT_EXEC_FAULT_STOPPED, "stopped");
}

/* Something to do for a worker; NULL: nothing now. The run is locked, and is again afterwards. */
static struct cot_exec_block *take(struct cot_exec_run *run)
{
	bool new =
		may_begin(run) && (!run->ready || run->prefer_new) && !ask(run, COT_EXEC_AT_BLOCK);
	struct cot_exec_block *b;
	uint64_t number = 0;
	int failed;

	run->prefer_new = !new;
	if (!new)
		return run->ready ? pop_ready(run) : NULL;
	b = reserve(run, &number);
	pthread_mutex_unlock(&run->lock);
	failed = !b;
	if (b)
		failed = cot_exec_block_begin(b, number, run->sms[b->place]);
	if (failed)
		cot_exec_run_fail(run, COT_EXEC_FAULT_MEMORY, "no memory for a block");
	pthread_mutex_lock(&run->lock);
	if (failed && b)
		put_away(run, b);
	return failed ? NULL : b;
}

/* One slice of a block; the run is locked, and is again afterwards. */
static void run_slice(struct cot_exec_worker *worker, struct cot_exec_block *b)
{
	struct cot_exec_run *run = worker->run;
	enum cot_exec_block_state state;
	bool alone;

	pthread_mutex_unlock(&run->lock);
	state = cot_exec_block_run(b, worker, COT_EXEC_SLICE);
	if (state == BLOCK_RUNS && ask(run, COT_EXEC_AT_SLICE))
		cot_exec_stop(run);
	pthread_mutex_lock(&run->lock);
	if (state == BLOCK_RUNS) {
		alone = !run->ready && !may_begin(run);
		push_ready(run, b);
		if (run->n_waiting)
			pthread_cond_signal(&run->changed);
		if (b->yielded && alone) {
			pthread_mutex_unlock(&run->lock);
			sched_yield();
			pthread_mutex_lock(&run->lock);
		}
		return;
	}
	run->n_ended += state == BLOCK_ENDED;
	put_away(run, b);
	if (run->n_waiting)
		pthread_cond_broadcast(&run->changed);
}

static void book(struct cot_exec_worker *worker)
{
	struct cot_exec_run *run = worker->run;

	run->stats.n_warp_insns += worker->n_warp_insns;
	run->stats.n_thread_insns += worker->n_thread_insns;
	run->stats.n_blocks = run->n_ended;
}

static void init_worker(struct cot_exec_worker *worker, struct cot_exec_run *run)
{
	unsigned k;

	memset(worker, 0, sizeof(*worker));
	worker->run = run;
	for (k = 0; k < COT_ARRAY_LEN(worker->ranges); k++)
		worker->ranges[k] = (struct cot_exec_range){1, 0, false};
	worker->generation = cot_exec_ranges_generation(run->launch.memory);
}

/* There is nothing for this worker now; the run is locked, and is again afterwards. */
static void rest(struct cot_exec_run *run)
{
	pthread_mutex_unlock(&run->lock);
	ask(run, COT_EXEC_AT_LEAVE);
	pthread_mutex_lock(&run->lock);
	run->n_waiting++;
	while (!is_over(run) && !run->ready && !may_begin(run))
		pthread_cond_wait(&run->changed, &run->lock);
	run->n_waiting--;
	pthread_mutex_unlock(&run->lock);
	if (ask(run, COT_EXEC_AT_ENTER))
		cot_exec_stop(run);
	pthread_mutex_lock(&run->lock);
}

enum cot_exec_state cot_exec_work(struct cot_exec_run *run, uint64_t budget)
{
	struct cot_exec_worker worker;
	struct cot_exec_block *b;
	enum cot_exec_state state;

	init_worker(&worker, run);
	if (ask(run, COT_EXEC_AT_ENTER))
		cot_exec_stop(run);
	pthread_mutex_lock(&run->lock);
	for (;;) {
		if (is_over(run)) {
			state = outcome(run);
			break;
		}
		if (budget && worker.n_warp_insns >= budget) {
			state = COT_EXEC_MORE;
			break;
		}
		b = take(run);
		if (b) {
			run_slice(&worker, b);
		} else if (!is_over(run)) {
			if (budget) {
				state = COT_EXEC_IDLE;
				break;
			}
			rest(run);
		}
	}
	book(&worker);
	pthread_mutex_unlock(&run->lock);
	ask(run, COT_EXEC_AT_LEAVE);
	return state;
}

static void *helper(void *arg)
{
	cot_exec_work(arg, 0);
	return NULL;
}

enum cot_exec_state cot_exec_run(struct cot_exec_run *run, uint32_t n_threads)
{
	pthread_t threads[COT_EXEC_MAX_WORKERS];
	enum cot_exec_state state;
	uint32_t n = 0;

	if (n_threads > COT_EXEC_MAX_WORKERS)
		n_threads = COT_EXEC_MAX_WORKERS;
	/* More threads than blocks, or fewer than asked for, are no mistake: one is enough. */
	if (n_threads > run->n_blocks)
		n_threads = (uint32_t)run->n_blocks;
	while (n + 1 < n_threads && !pthread_create(&threads[n], NULL, helper, run))
		n++;
	state = cot_exec_work(run, 0);
	while (n)
		pthread_join(threads[--n], NULL);
	return state;
}

/* ---- the seeded schedule ---- */

/* Keeps as many blocks begun as may be, in an order of their own. */
static int refill(struct cot_exec_run *run, struct cot_exec_block **blocks, uint32_t *n,
		  uint32_t max)
{
	while (*n < max && may_begin(run)) {
		uint64_t number;
		struct cot_exec_block *b = reserve(run, &number);

		if (!b || cot_exec_block_begin(b, number, run->sms[b->place])) {
			cot_exec_block_destroy(b);
			cot_exec_run_fail(run, COT_EXEC_FAULT_MEMORY, "no memory for a block");
			return -ENOMEM;
		}
		blocks[(*n)++] = b;
	}
	return 0;
}

enum cot_exec_state cot_exec_run_seeded(struct cot_exec_run *run, uint64_t seed,
					uint32_t max_blocks, cot_exec_hook hook, void *arg)
{
	struct cot_exec_block **blocks;
	struct cot_rng rng = {seed};
	enum cot_exec_block_state state;
	struct cot_exec_worker worker;
	uint64_t step = 0;
	uint32_t n = 0, k;

	init_worker(&worker, run);
	worker.rng = &rng;
	max_blocks = max_blocks ? max_blocks : SEEDED_BLOCKS;
	blocks = calloc(max_blocks, sizeof(struct cot_exec_block *));
	if (!blocks)
		cot_exec_run_fail(run, COT_EXEC_FAULT_MEMORY, "no memory for the schedule");
	while (!is_over(run) && !refill(run, blocks, &n, max_blocks)) {
		if (hook && hook(arg, step++)) {
			cot_exec_stop(run);
			break;
		}
		k = (uint32_t)cot_rng_below(&rng, n);
		state = cot_exec_block_step(blocks[k], &worker);
		if (state == BLOCK_RUNS)
			continue;
		run->n_ended += state == BLOCK_ENDED;
		put_away(run, blocks[k]);
		blocks[k] = blocks[--n];
	}
	while (n)
		put_away(run, blocks[--n]);
	book(&worker);
	free(blocks);
	return outcome(run);
}

/* ---- results ---- */

const struct cot_exec_fault *cot_exec_run_fault(const struct cot_exec_run *run)
{
	return run->fault.kind == COT_EXEC_FAULT_NONE ? NULL : &run->fault;
}

struct cot_exec_stats cot_exec_run_stats(struct cot_exec_run *run)
{
	struct cot_exec_stats stats;

	pthread_mutex_lock(&run->lock);
	stats = run->stats;
	pthread_mutex_unlock(&run->lock);
	return stats;
}
