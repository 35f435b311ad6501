/*
 * A launch in a program whose kernels are rewritten. Others, and what cannot be workers, go to the
 * program's part (follow.c). Of the rest the shim makes workers: as many as the daemon has granted,
 * in the program's own stream, at home: the grant says on how many SMs' worth of the whole GPU. If
 * the work is not *settled*, the launch returns, and the watcher thread sees its end. If it is
 * settled, the daemon may evict all workers. Operations that the program queues later must not run
 * before the rest is done, so the launch returns only then.
 */
#include <stdlib.h>
#include <string.h>

#include "guest/shim/code.h"
#include "guest/shim/context.h"
#include "guest/shim/counts.h"
#include "guest/shim/driver.h"
#include "guest/shim/end.h"
#include "guest/shim/launch.h"
#include "guest/shim/parts.h"
#include "guest/shim/rewrite.h"
#include "guest/shim/runtime.h"
#include "guest/shim/wait.h"
#include "guest/shim/work.h"

#define PARAMS_ON_STACK 64u
#define PARAMS_MAX	4096u
#define ARGS_MAX	32764u
#define ARGS_ON_STACK	4096u
#define SLOT_WAIT_NS	(2 * COT_NS_PER_S)
#define THREADS_MAX	1024u
#define SHAPE_BITS	48
#define SHAPE_MASK	((1ull << SHAPE_BITS) - 1)

_Static_assert((uint64_t)THREADS_MAX << 32 < SHAPE_MASK, "a shape has room");

struct launch {
	struct cot_shim_ref *ref;
	const struct cot_shim_original *asked;
	bool by_hand; /* the program's own kernel is workers */
	cot_shim_handle workers;
	const struct cot_shim_kernel *kernel;
	CUstream stream; /* never NULL: one of the default ones by name */
	struct cot_shim_need need;
	struct cot_shim_context *context;
	struct cot_shim_work *work;
	struct cot_shim_slot *slot;
};

/* ---- whether ---- */

/*
 * Workers that fit one SM; 0: none. What was found last is remembered in one word, since threads
 * launch at the same time: the shape (threads of a block, dynamic shared memory), and above it the
 * number. No shape is 0.
 */
static uint32_t find_per_sm(struct launch *l)
{
	uint64_t threads = (uint64_t)l->asked->config->block[0] * l->asked->config->block[1] *
			   l->asked->config->block[2];
	uint64_t shape = threads << 32 | l->asked->config->sharedMemBytes;
	/* Of a kernel by hand that was rewritten as well, the others are remembered. */
	bool is_other = l->by_hand && l->ref->kernel;
	uint64_t known = is_other ? 0 : atomic_load(&l->ref->fit);
	int n = 0;

	if (!threads || threads > THREADS_MAX)
		return 0;
	if ((known & SHAPE_MASK) == shape)
		return (uint32_t)(known >> SHAPE_BITS);
	if (COT_REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(
		    &n, l->workers, (int)threads, l->asked->config->sharedMemBytes) ||
	    n <= 0 || n > (int)COT_PROTO_PER_SM_MAX)
		return 0;
	if (!is_other)
		atomic_store(&l->ref->fit, (uint64_t)n << SHAPE_BITS | shape);
	return (uint32_t)n;
}

/* The stream by a name that means the same to the functions for legacy default streams. */
static CUstream name_stream(const struct launch *l)
{
	if (l->asked->config->hStream)
		return l->asked->config->hStream;
	return l->asked->per_thread ? CU_STREAM_PER_THREAD : CU_STREAM_LEGACY;
}

/* What the shim has is in the current context; a stream may be in another, on a part of the GPU. */
static bool is_stream_here(const struct launch *l)
{
	_Atomic(CUstream) *known =
		&l->context->streams[((uintptr_t)l->stream >> 4) % COT_SHIM_STREAMS];
	CUcontext context = NULL;

	if (l->stream == CU_STREAM_LEGACY || l->stream == CU_STREAM_PER_THREAD ||
	    atomic_load_explicit(known, memory_order_relaxed) == l->stream)
		return true;
	if (COT_REAL(cuStreamGetCtx)(l->stream, &context) || context != l->context->handle)
		return false;
	atomic_store_explicit(known, l->stream, memory_order_relaxed);
	return true;
}

/*
 * Launches of no more blocks than fit one SM gain nothing from workers. While they are in one
 * stream, they use one SM at most, and the shim does not ask the daemon. From the second stream on,
 * each asks for one CapSM, since any number of streams would use as many SMs. Latency launches
 * without a quota need not ask: they may have all that they want.
 */
static bool goes_unasked(const struct launch *l)
{
	uint64_t own = l->need.thread ? l->need.thread : (uintptr_t)l->stream, first = 0;

	if (l->need.latency && !cot_shim_settings.quota)
		return true;
	if (atomic_compare_exchange_strong(&l->context->small, &first, own) || first == own)
		return true;
	atomic_store(&l->context->small, COT_SHIM_SMALL_ASKS);
	return false;
}

/* COT_SHIM_WHY_NOT: it may be made into workers. */
static enum cot_shim_why obstacle(struct launch *l)
{
	const unsigned *grid = l->asked->config->grid;
	uint64_t plane = (uint64_t)grid[0] * grid[1];
	CUstreamCaptureStatus capturing = CU_STREAM_CAPTURE_STATUS_NONE;

	if (atomic_load(&l->ref->broken))
		return COT_SHIM_WHY_REFUSED;
	if (!cot_shim_attributes_allow(l->asked->config))
		return COT_SHIM_WHY_ATTRIBUTE;
	if (!plane || !grid[2] || plane > UINT32_MAX || plane * grid[2] > UINT32_MAX)
		return COT_SHIM_WHY_LARGE;
	l->stream = name_stream(l);
	if (COT_REAL(cuStreamIsCapturing)(l->stream, &capturing) ||
	    capturing != CU_STREAM_CAPTURE_STATUS_NONE)
		return COT_SHIM_WHY_CAPTURED;
	l->need.per_sm = find_per_sm(l);
	if (!l->need.per_sm)
		return COT_SHIM_WHY_NO_ROOM;
	l->need.n_tasks = (uint32_t)(plane * grid[2]);
	l->need.stream = l->stream;
	l->need.thread = l->stream == CU_STREAM_PER_THREAD ? (uint64_t)pthread_self() : 0;
	l->need.task_ns = atomic_load(&l->ref->task_ns);
	l->need.said = cot_shim_share_of(l->stream);
	l->need.kernel = l->ref;
	l->need.name = l->kernel->name;
	l->need.latency = cot_shim_settings.class_ == COT_CLASS_LATENCY &&
			  l->need.said.method != COT_PROTO_WORK_QUOTA;
	l->context = cot_shim_context_current();
	if (!l->context || !is_stream_here(l))
		return COT_SHIM_WHY_CONTEXT;
	return l->need.n_tasks <= l->need.per_sm && goes_unasked(l) ? COT_SHIM_WHY_SMALL
								    : COT_SHIM_WHY_NOT;
}

/* ---- the launch itself ---- */

static int launch_with(struct launch *l, void **params, void **extra)
{
	const CUlaunchConfig *from = l->asked->config;
	CUlaunchConfig config = *from;

	if (!l->asked->with_attributes)
		return COT_REAL(cuLaunchKernel)(l->workers, l->slot->args.n_workers, 1, 1,
						from->block[0], from->block[1], from->block[2],
						from->sharedMemBytes, l->stream, params, extra);
	config.grid[0] = l->slot->args.n_workers;
	config.grid[1] = config.grid[2] = 1;
	config.hStream = l->stream;
	return COT_REAL(cuLaunchKernelEx)(&config, l->workers, params, extra);
}

/* The program's pointers, and one to ours. */
static int launch_params(struct launch *l)
{
	void *on_stack[PARAMS_ON_STACK + 1], **list = on_stack;
	uint32_t n = l->kernel->n_params;
	int rc;

	if (n > PARAMS_ON_STACK)
		list = n <= PARAMS_MAX ? malloc((n + 1) * sizeof(*list)) : NULL;
	if (!list)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (n)
		memcpy(list, l->asked->params, n * sizeof(*list));
	list[n] = &l->slot->args;
	rc = launch_with(l, list, NULL);
	if (list != on_stack)
		free(list);
	return rc;
}

/* The program's buffer; false: it is not understood. */
static bool find_buffer(void **extra, const void **ret_buffer, size_t *ret_size)
{
	const void *buffer = NULL;
	size_t size = 0;
	unsigned i;

	for (i = 0; extra[0] != CU_LAUNCH_PARAM_END; extra += 2, i++) {
		if (i == 2)
			return false;
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = *(const size_t *)extra[1];
		else
			return false;
	}
	*ret_buffer = buffer;
	*ret_size = size;
	return buffer || !size;
}

static int launch_buffer(struct launch *l)
{
	_Alignas(16) unsigned char on_stack[ARGS_ON_STACK];
	size_t at = l->kernel->args_at, size = at + sizeof(struct cot_workers_args), given;
	unsigned char *args = on_stack;
	void *extra[5];
	const void *buffer;
	int rc;

	if (size > ARGS_MAX || !find_buffer(l->asked->extra, &buffer, &given))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (size > sizeof(on_stack))
		args = malloc(size);
	if (!args)
		return CUDA_ERROR_NOT_SUPPORTED;
	memset(args, 0, at);
	if (buffer)
		memcpy(args, buffer, given < at ? given : at);
	memcpy(args + at, &l->slot->args, sizeof(l->slot->args));
	extra[0] = CU_LAUNCH_PARAM_BUFFER_POINTER;
	extra[1] = args;
	extra[2] = CU_LAUNCH_PARAM_BUFFER_SIZE;
	extra[3] = &size;
	extra[4] = CU_LAUNCH_PARAM_END;
	rc = launch_with(l, NULL, extra);
	if (args != on_stack)
		free(args);
	return rc;
}

/* The control block's beginning, the workers, and an event. */
static int submit_at_home(struct launch *l)
{
	struct cot_shim_slot *s = l->slot;
	bool timed = cot_shim_end_is_timed(s);
	int rc = cot_shim_end_make(s);

	if (!rc && !s->original)
		rc = cot_shim_slot_ready(s, l->stream);
	s->timed = !rc && timed && !COT_REAL(cuEventRecord)(s->begin, l->stream);
	if (!rc && s->original)
		rc = cot_shim_original_launch(l->asked);
	else if (!rc)
		rc = l->asked->extra ? launch_buffer(l) : launch_params(l);
	if (rc)
		return rc;
	/* Without the event no thread would see the end: wait for it here. */
	if (COT_REAL(cuEventRecord)(s->end, l->stream)) {
		s->timed = false;
		(void)COT_REAL(cuStreamSynchronize)(l->stream);
	}
	return 0;
}

static int submit(struct launch *l)
{
	struct cot_shim_turn turn;
	int rc;

	cot_shim_turn_begin_workers(&turn, l->asked->config->hStream, l->asked->per_thread);
	rc = submit_at_home(l);
	cot_shim_turn_end(&turn);
	return rc;
}

/* ---- how many ---- */

/*
 * A part of the GPU's workers would lie on all SMs, and a kernel that computes keeps most of the
 * issue slots there: a batch kernel that never has more than a part begins on whole SMs. A latency
 * kernel goes where there is room. One whose tasks all run at once is not made smaller than the
 * program made it.
 */
static void gather(const struct launch *l, struct cot_workers_args *args,
		   struct cot_workers_control *control)
{
	if (l->work->flags & COT_WORK_WHOLE_SMS && !l->need.latency &&
	    args->n_tasks - args->first > args->n_workers)
		(void)cot_workers_gather(l->context->gpu->n_sms, args, control);
}

/*
 * Workers that wait for a place until others end would keep their first tasks until then: all begin
 * with a claim.
 */
static void keep_nothing(const struct launch *l, struct cot_workers_args *args,
			 struct cot_workers_control *control)
{
	if (!(l->work->flags & COT_WORK_CROWDED) || control->evict ||
	    args->n_tasks - args->first <= args->n_workers)
		return;
	args->begun = control->next = args->first;
	args->first = args->n_tasks;
}

/* Who begins where. */
static void deal(const struct launch *l, struct cot_workers_args *args,
		 struct cot_workers_control *control)
{
	gather(l, args, control);
	keep_nothing(l, args, control);
}

static bool plan(struct launch *l, uint32_t capsms, struct cot_workers_args *ret_args,
		 struct cot_workers_control *ret_control)
{
	const struct cot_shim_need *need = &l->need;
	uint32_t chunk;

	/* More would only wait for each other. */
	if (capsms > l->context->gpu->n_sms)
		capsms = l->context->gpu->n_sms;
	chunk = cot_workers_chunk(need->n_tasks, capsms * need->per_sm, need->task_ns);
	if (cot_workers_plan(l->asked->config->grid, need->per_sm, capsms, chunk, 0, ret_args,
			     ret_control))
		return false;
	/* Workers should leave whole SMs: a kernel that shares one with others may starve there. */
	ret_args->n_sms = l->context->gpu->n_sms;
	deal(l, ret_args, ret_control);
	return true;
}

/* With the lock: a slot, with a bound for how long all of them are in use. */
static struct cot_shim_slot *take_slot(struct launch *l, const struct cot_workers_control *control)
{
	uint64_t until = cot_now_ns() + SLOT_WAIT_NS;
	struct cot_shim_slot *s;

	while (!(s = cot_shim_slot_take(l->context, control)))
		if (l->context->closing || !cot_shim_changed_wait(until))
			return NULL;
	return s;
}

/* With the lock: what the slot says about the launch. */
static void fill_slot(struct launch *l, const struct cot_workers_args *args, uint32_t surplus)
{
	struct cot_shim_slot *s = l->slot;
	struct cot_shim_work *w = l->work;

	s->work = w;
	s->ref = l->ref;
	s->handle = l->asked->function;
	s->args = *args;
	s->args.control = s->control;
	/* Workers that do one task each cannot leave sooner than the program's own blocks end. */
	s->original = !l->by_hand && !surplus && args->n_workers == args->n_tasks;
	s->settled = (w->flags & COT_WORK_SETTLED) && !s->original;
	s->n_units = (args->n_workers + args->per_sm - 1) / args->per_sm;
	s->first = args->first < args->n_tasks ? args->first : args->begun;
	s->flag = s->surplus = surplus;
	s->anywhere = false;
	s->state = COT_SHIM_SLOT_TAKEN;
}

/* With the lock: a work, a slot, and a plan for both; COT_SHIM_WHY_NOT: there they are. */
static enum cot_shim_why prepare(struct launch *l)
{
	struct cot_workers_control control;
	struct cot_workers_args args;
	enum cot_shim_why why = COT_SHIM_WHY_LARGE;

	if (!l->context->usable || l->context->closing || !cot_shim_runtime_start())
		return COT_SHIM_WHY_CONTEXT;
	l->work = cot_shim_work_get(l->context, &l->need, &why);
	if (!l->work)
		return why;
	if (plan(l, l->work->capsms - l->work->evicted, &args, &control)) {
		why = COT_SHIM_WHY_BUSY;
		l->slot = take_slot(l, &control);
	}
	/* The daemon may have evicted workers while there was no slot. */
	if (l->slot && l->work->evicted < l->work->capsms &&
	    plan(l, l->work->capsms - l->work->evicted, &args, &control)) {
		fill_slot(l, &args, control.evict);
		return COT_SHIM_WHY_NOT;
	}
	if (l->slot)
		cot_shim_slot_give(l->slot, false);
	cot_shim_work_put(l->work);
	return why;
}

/* ---- settled works ---- */

/* The launch has ended and its workers may all have left. False: nothing is left, or it failed. */
static bool find_rest(struct launch *l, uint32_t *ret_left)
{
	struct cot_shim_slot *s = l->slot;
	struct cot_workers_args args = s->args;
	struct cot_workers_control control;

	if (cot_shim_read(s))
		return false;
	control = l->context->host[s->index];
	if (cot_workers_resume(&args, &control, 1, ret_left) || !*ret_left)
		return false;
	/* Before the next grant, so that nothing that comes with that is undone. */
	return !cot_shim_slot_reset(s);
}

/* What the work has, if the daemon has taken nothing back since it was there. */
static uint32_t room_of(const struct cot_shim_work *w)
{
	uint32_t here = w->state == COT_SHIM_WORK_GRANTED ? w->capsms - w->evicted : w->capsms;

	return here < w->gpu->n_sms ? here : w->gpu->n_sms;
}

/* With the lock: makes the slot ready for the rest, with what is granted now. */
static bool plan_rest(struct launch *l)
{
	struct cot_shim_slot *s = l->slot;
	struct cot_shim_work *w = l->work;
	uint32_t here = room_of(w), left;
	struct cot_workers_control control = l->context->host[s->index];
	struct cot_workers_args args = s->args;

	if (cot_workers_resume(&args, &control, here ? here : 1, &left) &&
	    cot_workers_resume(&args, &control, 1, &left))
		return false;
	deal(l, &args, &control);
	fill_slot(l, &args, control.evict);
	s->settled = true; /* even if the daemon will not evict them any longer */
	s->armed = 0;	   /* it is not what it was */
	return true;
}

/* The launch has ended. True: all of its workers were to leave, and tasks are left. */
static bool was_evicted(struct launch *l, uint32_t *ret_left)
{
	struct cot_shim_slot *s = l->slot;
	bool all_were_to_leave;

	pthread_mutex_lock(&cot_shim_lock);
	all_were_to_leave = s->flag >= s->n_units;
	s->state = COT_SHIM_SLOT_HELD;
	pthread_mutex_unlock(&cot_shim_lock);
	return all_were_to_leave && find_rest(l, ret_left);
}

/* Waits until the daemon grants more. False: the rest is not launched. */
static bool launch_rest(struct launch *l, uint32_t left, int *ret_rc)
{
	bool planned;

	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_runtime_pause(l->slot, left);
	(void)cot_shim_work_regrant(l->work, left);
	planned = plan_rest(l);
	pthread_mutex_unlock(&cot_shim_lock);
	if (!planned || (*ret_rc = submit(l)))
		return false;
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_runtime_watch(l->slot);
	pthread_mutex_unlock(&cot_shim_lock);
	return true;
}

/* The end of a launch whose rest is done here, too. */
static int settle(struct launch *l)
{
	uint32_t left = 0;
	int rc = 0;

	do
		cot_shim_end_wait(l->slot);
	while (was_evicted(l, &left) && launch_rest(l, left, &rc));
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_runtime_ended(l->slot);
	pthread_mutex_unlock(&cot_shim_lock);
	return rc;
}

/* ---- the whole ---- */

void cot_shim_launch_tell(struct cot_shim_ref *r)
{
	struct cot_shim_context *c;

	if (COT_LIKELY(atomic_load(&r->told)))
		return;
	c = cot_shim_context_current();
	atomic_store(&r->told, true);
	if (!c)
		return;
	pthread_mutex_lock(&cot_shim_lock);
	if (c->usable && !c->closing && cot_shim_runtime_start())
		cot_shim_gpu_want(c->gpu);
	pthread_mutex_unlock(&cot_shim_lock);
}

/* Some or all of the program's launches stay as they are: report that, and why, to the daemon. Not
 * while the program records a graph. */
static void tell_plain(struct launch *l, enum cot_shim_why why)
{
	if (why != COT_SHIM_WHY_CAPTURED)
		cot_shim_launch_tell(l->ref);
}

/* The driver does not take it; the program's own launch says whose fault that is. */
static int give_up(struct launch *l, int rc)
{
	bool original = l->slot->original, by_hand = l->by_hand;

	pthread_mutex_lock(&cot_shim_lock);
	/* What is in the stream by now may still write its control block. */
	cot_shim_slot_give(l->slot, !original);
	cot_shim_work_put(l->work);
	pthread_mutex_unlock(&cot_shim_lock);
	if (original || by_hand)
		return rc;
	rc = cot_shim_part_launch(l->asked);
	if (!rc)
		atomic_store(&l->ref->broken, true);
	cot_shim_count_plain(COT_SHIM_WHY_REFUSED);
	return rc;
}

/* *ret_why: COT_SHIM_WHY_NOT, and the driver's result; or why nothing is launched. */
static int launch_workers(struct launch *l, enum cot_shim_why *ret_why)
{
	bool settled;
	int rc;

	pthread_mutex_lock(&cot_shim_lock);
	*ret_why = prepare(l);
	pthread_mutex_unlock(&cot_shim_lock);
	if (*ret_why != COT_SHIM_WHY_NOT)
		return CUDA_SUCCESS;
	settled = l->slot->settled;
	rc = submit(l);
	if (rc)
		return give_up(l, rc);
	cot_shim_count_workers();
	pthread_mutex_lock(&cot_shim_lock);
	cot_shim_runtime_watch(l->slot);
	pthread_mutex_unlock(&cot_shim_lock);
	/* From here on the slot is the watcher's, unless the launch waits itself. */
	return settled ? settle(l) : CUDA_SUCCESS;
}

static void hold(const struct cot_shim_original *asked)
{
	if (COT_UNLIKELY(atomic_load(&cot_shim_parts_live) == COT_SHIM_WATCHED))
		cot_shim_hold_wait(cot_shim_stream_find(asked->config->hStream, asked->per_thread));
}

int cot_shim_launch(const struct cot_shim_original *asked)
{
	struct launch l = {.ref = cot_shim_code_ref(asked->function), .asked = asked};
	enum cot_shim_why why;
	int rc = CUDA_SUCCESS;

	if (!l.ref || !l.ref->kernel) {
		if (l.ref)
			tell_plain(&l, COT_SHIM_WHY_NOT);
		return cot_shim_part_launch(asked);
	}
	l.workers = l.ref->workers;
	l.kernel = l.ref->kernel;
	/* Another thread may have reused the entry: drop() clears `handle` before, and
	 * cot_shim_handles_put() stores the new one last (release). */
	if (atomic_load(&l.ref->handle) != asked->function)
		return cot_shim_part_launch(asked);
	why = (asked->params && asked->extra) ||
			      (l.kernel->n_params && !asked->params && !asked->extra)
		      ? COT_SHIM_WHY_ARGUMENTS
		      : obstacle(&l);
	if (why != COT_SHIM_WHY_NOT) {
		tell_plain(&l, why);
	} else {
		hold(asked);
		rc = launch_workers(&l, &why);
	}
	if (why == COT_SHIM_WHY_NOT)
		return rc;
	cot_shim_count_plain(why);
	return cot_shim_part_launch(asked);
}

int cot_shim_launch_by_hand(const struct cot_shim_original *asked, uint32_t n_params,
			    enum cot_shim_why *ret_why)
{
	const struct cot_shim_kernel kernel = {.n_params = n_params};
	struct launch l = {.ref = cot_shim_code_ref(asked->function),
			   .asked = asked,
			   .by_hand = true,
			   .workers = asked->function,
			   .kernel = &kernel};

	*ret_why = l.ref ? obstacle(&l) : COT_SHIM_WHY_BUSY;
	if (*ret_why != COT_SHIM_WHY_NOT)
		return CUDA_SUCCESS;
	if (COT_REAL(cuFuncGetName)(&l.need.name, asked->function))
		l.need.name = NULL;
	hold(asked);
	return launch_workers(&l, ret_why);
}
