#include "emu/driver/grid.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/rng.h"
#include "base/units.h"
#include "emu/driver/inside.h"
#include "emu/driver/memory.h"
#include "emu/driver/range.h"
#include "emu/exec/exec.h"

/* How often, in wall time, a waiting thread checks whether its stream is being dropped. */
#define LOOK_NS		(20ull * 1000 * 1000)
#define MAX_CPUS	64
#define WORKSPACE_BYTES 512u
/*
 * A block that has not ended after so much draining may wait for one that a GPU would have begun
 * together with it: then those begin, too.
 */
#define DRAIN_PATIENCE_NS (1000ull * 1000 * 1000)

/*
 * What the threads of a grid may do, as the model said when it was asked last:
 *
 *      +-------------------- the group's next turn ---------------------+
 *      v                                                                |
 *     OPEN --- must leave, mode `drain` --> DRAIN --- have stopped --> CLOSED --> OVER
 *      |                                                                ^     (from all)
 *      +------ must leave, mode `switch` -------------------------------+
 *
 * and where a thread is, seen from the gate:
 *
 *     OUTSIDE --- enter: OPEN ----> INSIDE --- slice: CLOSED -----> HALFWAY
 *       ^                             |  ^                             |
 *       +--- leave: has no block -----+  +---- OPEN or DRAIN ----------+
 *
 * The model waits until the grid says that it has stopped: no thread is inside, and in a drain no
 * thread is halfway through a block either. This becomes true when a thread leaves or waits, or
 * through the model, which may want the grid to leave before the first thread has come in. So the
 * last one says it: a thread that was the last one inside, and the watcher at each change.
 */
enum gate { CLOSED, DRAIN, OPEN, OVER };

struct grid {
	_Atomic uint32_t n_refs; /* the stream's worker, and the watcher */
	struct CUstream_st *stream;
	struct cot_emu_ticket ticket;
	bool cooperative;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	_Atomic int gate;	      /* changed with the lock held */
	_Atomic uint64_t patient_ns;  /* in a drain: until then no block begins, in wall time */
	uint32_t n_inside, n_halfway; /* threads; under the lock, as the rest */
	bool ended;
};

static _Atomic uint64_t n_launched;

static void unref(struct grid *g)
{
	if (atomic_fetch_sub(&g->n_refs, 1) != 1)
		return;
	pthread_cond_destroy(&g->changed);
	pthread_mutex_destroy(&g->lock);
	free(g);
}

static bool is_unwanted(const struct grid *g)
{
	return cot_emu_ending() || atomic_load(&g->stream->dropping) ||
	       atomic_load(&g->stream->context->fault);
}

/* ---- the gate and the model ---- */

static enum gate gate_for(enum cot_emu_leave_to to)
{
	switch (to) {
	case COT_EMU_MAY_RUN:
		return OPEN;
	case COT_EMU_MAY_DRAIN:
		return DRAIN;
	case COT_EMU_MUST_STOP:
		return CLOSED;
	default:
		return OVER;
	}
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static bool has_stopped(const struct grid *g, enum gate gate)
{
	return !g->n_inside && (gate == CLOSED || (gate == DRAIN && !g->n_halfway));
}

/* With the lock held: makes gate and model agree, in one change of the model. */
static void agree(struct grid *g)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	enum gate gate = OVER;

	if (m) {
		gate = gate_for(cot_emu_model_leave_to(m, g->ticket));
		if (gate == OPEN)
			cot_emu_model_park(m, g->ticket, false);
		else if (has_stopped(g, gate))
			cot_emu_model_park(m, g->ticket, true);
		cot_emu_gpu_commit(gpu, gate != OPEN);
	}
	if (gate == DRAIN && atomic_load(&g->gate) != DRAIN)
		atomic_store(&g->patient_ns, wall_ns() + DRAIN_PATIENCE_NS);
	atomic_store(&g->gate, gate);
	pthread_cond_broadcast(&g->changed);
}

/* With the lock held: a thread is no longer inside. */
static void step_out(struct grid *g)
{
	enum gate gate = (enum gate)atomic_load(&g->gate);

	if (!--g->n_inside && gate != OPEN && gate != OVER)
		agree(g);
}

struct seen {
	const struct grid *grid;
	enum gate gate;
};

static bool has_changed(const struct cot_emu_model *m, void *arg)
{
	const struct seen *seen = arg;

	return gate_for(cot_emu_model_leave_to(m, seen->grid->ticket)) != seen->gate;
}

static void watch(struct grid *g)
{
	struct seen seen = {.grid = g};
	int err = 0;

	while (!err) {
		seen.gate = (enum gate)atomic_load(&g->gate);
		if (seen.gate == OVER)
			return;
		err = cot_emu_gpu_wait(cot_emu_machine(), has_changed, &seen, COT_EMU_NEVER);
		pthread_mutex_lock(&g->lock);
		agree(g);
		pthread_mutex_unlock(&g->lock);
	}
}

static void *watcher(void *arg)
{
	struct grid *g = arg;

	watch(g);
	unref(g);
	return NULL;
}

/* ---- threads at the gate ---- */

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += (long)LOOK_NS;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static bool lets_through(enum gate gate, enum cot_exec_at at)
{
	return gate == OPEN || gate == OVER || (gate == DRAIN && at == COT_EXEC_AT_SLICE);
}

/* May another block begin? */
static bool may_begin(struct grid *g)
{
	enum gate gate = (enum gate)atomic_load_explicit(&g->gate, memory_order_acquire);

	if (is_unwanted(g))
		return false;
	if (gate != DRAIN)
		return gate == OPEN;
	return g->cooperative || wall_ns() >= atomic_load(&g->patient_ns);
}

/* Waits until the gate lets it through; does not count as inside meanwhile. */
static int stand(struct grid *g, enum cot_exec_at at)
{
	bool halfway = at == COT_EXEC_AT_SLICE;
	struct timespec until;

	pthread_mutex_lock(&g->lock);
	g->n_halfway += halfway;
	if (halfway)
		step_out(g);
	while (!lets_through((enum gate)atomic_load(&g->gate), at) && !is_unwanted(g)) {
		until = soon();
		(void)pthread_cond_timedwait(&g->changed, &g->lock, &until);
	}
	g->n_halfway -= halfway;
	g->n_inside++;
	pthread_mutex_unlock(&g->lock);
	return atomic_load(&g->gate) == OVER || is_unwanted(g);
}

static int leave(struct grid *g)
{
	pthread_mutex_lock(&g->lock);
	step_out(g);
	pthread_mutex_unlock(&g->lock);
	return 0;
}

static int pass(void *arg, enum cot_exec_at at)
{
	struct grid *g = arg;
	enum gate gate = (enum gate)atomic_load_explicit(&g->gate, memory_order_acquire);

	switch (at) {
	case COT_EXEC_AT_LEAVE:
		return leave(g);
	case COT_EXEC_AT_ENTER:
		return stand(g, at);
	case COT_EXEC_AT_BLOCK:
		return !may_begin(g);
	default:
		break;
	}
	if (is_unwanted(g))
		return 1;
	return lets_through(gate, at) ? gate == OVER : stand(g, at);
}

static int pass_seeded(void *arg, uint64_t step)
{
	(void)step;
	return pass(arg, COT_EXEC_AT_SLICE);
}

/* ---- what kernels ask for ---- */

static void print(void *arg, const char *text, size_t length)
{
	(void)arg;
	cot_emu_print(text, length);
}

static uint64_t take_heap(void *arg, uint64_t bytes)
{
	const struct grid *g = arg;
	CUdeviceptr ptr;

	/* The heap is part of device memory, and goes with the context. */
	if (!bytes || cot_emu_pool_make(g->stream->context, NULL, bytes, &ptr))
		return 0;
	return ptr;
}

static void give_heap(void *arg, uint64_t address)
{
	(void)arg;
	(void)cot_emu_free_now(address);
}

static uint64_t clock_ns(void *arg)
{
	(void)arg;
	return cot_emu_gpu_now(cot_emu_machine());
}

/* ---- running ---- */

static uint32_t n_cpus(const struct cot_emu_launch *l)
{
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		n = 1;
	if (n > MAX_CPUS)
		n = MAX_CPUS;
	return blocks < (uint64_t)n ? (uint32_t)blocks : (uint32_t)n;
}

/* What it takes of the GPU: its blocks, or as many as the SMs that it may use hold. */
static uint32_t demand(const struct cot_emu_launch *l)
{
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];
	uint64_t per_sm = cot_emu_occupancy(l->function, threads, l->shared_bytes);
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
	uint64_t most = per_sm * l->n_sms, fit = per_sm * l->n_sms_all;

	if (!fit)
		return COT_EMU_WHOLE_GPU;
	return (uint32_t)cot_div_up((blocks < most ? blocks : most) * COT_EMU_WHOLE_GPU, fit);
}

/* A block on each of its SMs, and none of the same kind beside it. */
static bool fills(const struct cot_emu_launch *l)
{
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];
	uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];

	return blocks >= l->n_sms && cot_emu_occupancy(l->function, threads, l->shared_bytes) == 1;
}

static int submit(struct grid *g, const struct cot_emu_launch *l)
{
	struct cot_emu_work work = {
		.open = true, .demand = demand(l), .fills = fills(l), .sms = l->sms};
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m = cot_emu_gpu_begin(gpu);
	int err;

	if (!m)
		return -ENOTRECOVERABLE;
	err = cot_emu_model_submit(m, g->stream->channel, cot_emu_gpu_client(gpu), &work,
				   (struct cot_emu_ticket){0, 0}, &g->ticket);
	cot_emu_gpu_commit(gpu, cot_emu_model_has_open(m));
	return err;
}

static CUresult fault_result(enum cot_exec_fault_kind kind)
{
	switch (kind) {
	case COT_EXEC_FAULT_ADDRESS:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case COT_EXEC_FAULT_MISALIGNED:
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	case COT_EXEC_FAULT_SPACE:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case COT_EXEC_FAULT_ASSERT:
		return CUDA_ERROR_ASSERT;
	case COT_EXEC_FAULT_STACK:
		return CUDA_ERROR_HARDWARE_STACK_ERROR;
	case COT_EXEC_FAULT_INSTRUCTION:
		return CUDA_ERROR_ILLEGAL_INSTRUCTION;
	case COT_EXEC_FAULT_MEMORY:
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	default:
		return CUDA_ERROR_LAUNCH_FAILED;
	}
}

static void run(struct grid *g, struct cot_exec_run *x, const struct cot_emu_launch *l)
{
	uint64_t seed, n = atomic_fetch_add(&n_launched, 1);

	if (!cot_emu_config_seed(&seed)) {
		(void)cot_exec_run(x, n_cpus(l));
		return;
	}
	if (!pass(g, COT_EXEC_AT_ENTER))
		(void)cot_exec_run_seeded(x, cot_hash64(seed, n), 0, pass_seeded, g);
	(void)pass(g, COT_EXEC_AT_LEAVE);
}

/* The result; a fault is reported once, here. */
static CUresult outcome(struct grid *g, const struct cot_exec_run *x)
{
	const struct cot_exec_fault *fault = cot_exec_run_fault(x);

	if (!fault)
		return CUDA_SUCCESS;
	if (fault->kind != COT_EXEC_FAULT_STOPPED) {
		cot_emu_print_flush(); /* the program may end without waiting for anything */
		cot_emu_complain("%s", fault->text);
		return fault_result(fault->kind);
	}
	if (is_unwanted(g))
		return (CUresult)atomic_load(&g->stream->context->fault);
	return CUDA_ERROR_LAUNCH_FAILED; /* the group has faulted, or is gone */
}

static void end(struct grid *g, bool faulted)
{
	struct cot_emu_gpu *gpu = cot_emu_machine();
	struct cot_emu_model *m;

	pthread_mutex_lock(&g->lock);
	g->ended = true;
	atomic_store(&g->gate, OVER);
	m = cot_emu_gpu_begin(gpu);
	if (m) {
		cot_emu_model_end(m, g->ticket, faulted);
		g->stream->last_end_ns = m->now_ns;
		cot_emu_model_release(m, g->ticket);
		cot_emu_gpu_commit(gpu, true);
	}
	pthread_mutex_unlock(&g->lock);
}

static CUresult start_watcher(struct grid *g)
{
	pthread_attr_t attr;
	pthread_t thread;
	int err;

	if (pthread_attr_init(&attr))
		return CUDA_ERROR_OUT_OF_MEMORY;
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	atomic_fetch_add(&g->n_refs, 1);
	err = pthread_create(&thread, &attr, watcher, g);
	pthread_attr_destroy(&attr);
	if (err)
		atomic_fetch_sub(&g->n_refs, 1);
	return err ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

static CUresult run_on_gpu(struct grid *g, struct cot_exec_run *x, const struct cot_emu_launch *l)
{
	CUresult result;
	int err;

	while ((err = submit(g, l)) == -EAGAIN && !is_unwanted(g))
		cot_emu_gpu_sleep(cot_emu_machine(), 1000 * 1000);
	if (err)
		return cot_emu_kernel_result(g->stream->context, err);
	pthread_mutex_lock(&g->lock);
	agree(g);
	pthread_mutex_unlock(&g->lock);
	result = start_watcher(g);
	if (!result) {
		run(g, x, l);
		result = outcome(g, x);
	}
	end(g, result != CUDA_SUCCESS && !is_unwanted(g));
	return result;
}

static uint32_t wanted_checks(void)
{
	return (cot_emu_config_check("races") ? COT_EXEC_CHECK_RACES : 0) |
	       (cot_emu_config_check("aligned") ? COT_EXEC_CHECK_ALIGNED : 0);
}

static CUresult start(struct grid *g, const struct cot_emu_launch *l, uint64_t workspace,
		      struct cot_exec_run **ret_run)
{
	struct cot_exec_launch x = {
		.function = l->function->code,
		.memory = cot_emu_range_memory(),
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.shared_bytes = l->shared_bytes,
		.args = l->args,
		.args_size = l->function->args_size,
		.grid_id = atomic_load(&n_launched),
		.n_sms = l->n_sms,
		.n_sms_gpu = cot_emu_n_sms(),
		.cooperative = l->cooperative,
		.cooperative_workspace = workspace,
		.checks = wanted_checks(),
		.gate = pass,
		.print = print,
		.malloc = take_heap,
		.free = give_heap,
		.clock_ns = clock_ns,
		.arg = g,
	};
	struct cot_error err = {{0}};
	uint32_t sms[COT_EMU_SMS_MOST];
	int rc;

	if (cot_emu_sms_list(&l->sms, sms))
		x.sms = sms;
	rc = cot_exec_start(&x, ret_run, &err);
	if (!rc)
		return CUDA_SUCCESS;
	cot_emu_complain("%s", err.text);
	return rc == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_LAUNCH_FAILED;
}

static struct grid *make_grid(struct CUstream_st *s, bool cooperative)
{
	struct grid *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->n_refs = 1;
	g->stream = s;
	g->cooperative = cooperative;
	pthread_mutex_init(&g->lock, NULL);
	pthread_cond_init(&g->changed, NULL);
	return g;
}

CUresult cot_emu_grid_execute(struct CUstream_st *s, const struct cot_emu_launch *l)
{
	struct cot_exec_run *x = NULL;
	struct grid *g = make_grid(s, l->cooperative);
	CUdeviceptr workspace = 0;
	CUresult result;

	if (!g)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = l->cooperative ? cot_emu_pool_make(s->context, NULL, WORKSPACE_BYTES, &workspace)
				: CUDA_SUCCESS;
	if (!result && workspace)
		memset((void *)(uintptr_t)workspace, 0, WORKSPACE_BYTES);
	if (!result)
		result = start(g, l, workspace, &x);
	if (!result)
		result = run_on_gpu(g, x, l);
	cot_exec_destroy(x);
	if (workspace)
		(void)cot_emu_free_now(workspace);
	unref(g);
	return result;
}
