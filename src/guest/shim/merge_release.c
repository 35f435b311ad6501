/*
 * From launches that have waited to launches that are made. Of one kernel with one shape of block
 * there is one merged launch, of `batch`; of different kernels that are left, one of `fuse`; what
 * else is left goes as the program made it. The merged launch is in the first one's stream. Where
 * the driver does not take it, each goes as it is.
 */
#include <string.h>

#include "guest/shim/merge_inside.h"
#include "guest/shim/parts.h"
#include "model/merge.h"

#define BATCH_ARGS 4096u

/* What a call takes, smoothed. Where none has been seen: as on an H200's driver, about. */
#define LAUNCH_NS 2500u
#define EVENT_NS  500u
#define SMOOTH	  8u

/* All with the lock. */
static struct cot_merge_verdicts verdicts;
static CUevent behind, before; /* NULL: not made */
static uint32_t launch_ns = LAUNCH_NS, event_ns = EVENT_NS;

void cot_shim_merge_events_forget(void)
{
	behind = before = NULL;
	cot_shim_merge_verdicts_forget();
}

void cot_shim_merge_verdicts_forget(void)
{
	cot_shim_merge_fused_forget();
	memset(&verdicts, 0, sizeof(verdicts));
}

static void learn(uint32_t *of, uint64_t since_ns)
{
	uint64_t ns = cot_now_ns() - since_ns;

	/* A thread that lost its CPU says nothing of the driver. */
	if (ns < 50000)
		*of += (uint32_t)ns / SMOOTH - *of / SMOOTH;
}

/* ---- launches ---- */

static int launch(cot_shim_handle function, const uint32_t grid[3], const uint32_t block[3],
		  CUstream stream, void **params)
{
	CUlaunchConfig config = {.grid = {grid[0], grid[1], grid[2]},
				 .block = {block[0], block[1], block[2]},
				 .hStream = stream};
	struct cot_shim_original o = {function, &config, params, NULL, false, false, false};
	uint64_t since_ns = cot_now_ns();
	int rc = cot_shim_part_launch(&o);

	learn(&launch_ns, since_ns);
	return rc;
}

static int launch_alone(struct cot_shim_held *h, enum cot_shim_why why)
{
	void *list[COT_SHIM_HELD_PARAM_LIST];

	(void)cot_shim_merge_list(h, list);
	h->done = true;
	cot_shim_count_unmerged(why);
	return launch(h->function, h->grid, h->block, atomic_load(&h->in->handle), list);
}

/* ---- the streams' order ---- */

static int record(CUevent event, CUstream stream)
{
	struct cot_shim_turn turn;
	CUstream to = cot_shim_turn_begin_ending(&turn, stream, false);
	int rc = COT_REAL(cuEventRecord)(event, to);

	cot_shim_turn_end(&turn);
	return rc;
}

static int await(CUstream stream, CUevent event)
{
	struct cot_shim_turn turn;
	CUstream to = cot_shim_turn_begin_ending(&turn, stream, false);
	int rc = COT_REAL(cuStreamWaitEvent)(to, event, 0);

	cot_shim_turn_end(&turn);
	return rc;
}

static bool make_events(void)
{
	if (!behind && COT_REAL(cuEventCreate)(&behind, CU_EVENT_DISABLE_TIMING))
		behind = NULL;
	if (!before && COT_REAL(cuEventCreate)(&before, CU_EVENT_DISABLE_TIMING))
		before = NULL;
	return behind && before;
}

/* What is in the other streams comes before what the first one gets next. */
static int join(struct cot_shim_held *const *set, uint32_t n)
{
	CUstream first = atomic_load(&set[0]->in->handle);
	uint32_t i;
	int rc = 0;

	for (i = 1; i < n && !rc; i++) {
		if (cot_shim_merge_stream_is_idle(set[i]->in))
			continue;
		rc = record(before, atomic_load(&set[i]->in->handle));
		if (!rc)
			rc = await(first, before);
	}
	return rc;
}

/* And what the others get next comes after it. All in it ends: if need be, we wait ourselves. */
static void part_again(struct cot_shim_held *const *set, uint32_t n)
{
	CUstream first = atomic_load(&set[0]->in->handle);
	uint64_t since_ns = cot_now_ns();
	struct cot_shim_stay stay;
	uint32_t i;
	int rc = record(behind, first);

	for (i = 1; i < n && !rc; i++)
		rc = await(atomic_load(&set[i]->in->handle), behind);
	if (rc) {
		(void)COT_REAL(cuStreamSynchronize)(cot_shim_stay_begin(&stay, first, false));
		cot_shim_stay_end(&stay);
	}
	learn(&event_ns, since_ns + (cot_now_ns() - since_ns) * (n - 1) / n);
}

/* ---- whether ---- */

static uint32_t room_of(cot_shim_handle function, uint32_t threads)
{
	int n = 0;

	if (COT_REAL(cuOccupancyMaxActiveBlocksPerMultiprocessor)(&n, function, (int)threads, 0))
		return 0;
	return n > 0 ? (uint32_t)n : 0;
}

static bool is_worth(const struct cot_shim_group *g, struct cot_shim_held *const *set, uint32_t n,
		     cot_shim_handle merged, uint32_t threads)
{
	struct cot_merge_set of = {.n = n,
				   .n_sms = g->n_sms,
				   .per_sm = set[0]->per_sm,
				   .launch_ns = launch_ns,
				   .event_ns = event_ns,
				   .n_events = n};
	uint64_t key;
	bool worth;
	uint32_t i;

	for (i = 0; i < n; i++) {
		of.blocks += set[i]->blocks;
		if (set[i]->per_sm < of.per_sm)
			of.per_sm = set[i]->per_sm;
	}
	if (cot_shim_settings.merge_always)
		return true;
	key = cot_merge_key((uintptr_t)merged, threads, n, of.blocks);
	if (cot_merge_verdict_find(&verdicts, key, &worth))
		return worth;
	of.merged_per_sm = room_of(merged, threads);
	worth = cot_merge_judge(&of);
	cot_merge_verdict_put(&verdicts, key, worth);
	return worth;
}

/* ---- one merged launch ---- */

static int launch_each(struct cot_shim_held *const *set, uint32_t n, enum cot_shim_why why)
{
	uint32_t i;
	int rc = 0, one;

	for (i = 0; i < n; i++) {
		one = launch_alone(set[i], why);
		rc = rc ? rc : one;
	}
	return rc;
}

static int launch_merged(struct cot_shim_held *const *set, uint32_t n, cot_shim_handle function,
			 uint32_t n_blocks, const uint32_t block[3], void **params)
{
	const uint32_t grid[3] = {n_blocks, 1, 1};
	uint32_t i;
	int rc;

	if (!make_events() || join(set, n))
		return launch_each(set, n, COT_SHIM_WHY_MERGE_REFUSED);
	rc = launch(function, grid, block, atomic_load(&set[0]->in->handle), params);
	if (rc) {
		for (i = 0; i < n; i++)
			atomic_store(&set[i]->ref->broken, true);
		return launch_each(set, n, COT_SHIM_WHY_MERGE_REFUSED);
	}
	part_again(set, n);
	for (i = 0; i < n; i++)
		set[i]->done = true;
	cot_shim_count_merged(n);
	return 0;
}

static int launch_batch(const struct cot_shim_group *g, struct cot_shim_held *const *set,
			uint32_t n)
{
	static _Alignas(BATCH_ARGS) unsigned char args[BATCH_ARGS];
	const struct cot_shim_kernel *k = set[0]->kernel;
	struct cot_batch_shape shape;
	void *params[] = {args};
	uint32_t i, n_blocks = 0;
	int rc = cot_batch_shape_make(k->params_bytes, k->align, &shape);

	if (!rc && n > shape.n_max)
		n = shape.n_max; /* the others come next */
	if (!is_worth(g, set, n, set[0]->ref->workers, cot_shim_merge_threads(set[0])))
		return launch_each(set, n, COT_SHIM_WHY_MERGE_WORSE);
	if (!rc)
		cot_batch_begin(&shape, args);
	for (i = 0; i < n && !rc; i++)
		rc = cot_batch_add(&shape, args, set[i]->grid, set[i]->params, &n_blocks);
	if (rc)
		return launch_each(set, n, COT_SHIM_WHY_MERGE_REFUSED);
	return launch_merged(set, n, set[0]->ref->workers, n_blocks, set[0]->block, params);
}

/* The largest set of different kernels that is worth it. */
static int launch_fused(struct cot_shim_group *g, struct cot_shim_held *h)
{
	enum cot_shim_why why = COT_SHIM_WHY_MERGE_ALONE;
	struct cot_shim_fused f;
	uint32_t form = 0;

	while (cot_shim_merge_fuse(g, h, &form, &f)) {
		if (is_worth(g, f.set, f.n, f.function, f.block[0]))
			return launch_merged(f.set, f.n, f.function, f.n_blocks, f.block, f.params);
		why = COT_SHIM_WHY_MERGE_WORSE;
	}
	return launch_alone(h, why);
}

/* ---- all that waits ---- */

/* The next launches that can be one of `batch`: all like the first. */
static uint32_t collect(struct cot_shim_group *g, uint32_t from, struct cot_shim_held **ret_set)
{
	struct cot_shim_held *like = &g->held[from];
	uint32_t i, n = 0;

	for (i = from; i < g->n; i++) {
		struct cot_shim_held *h = &g->held[i];

		if (!h->done && h->ref == like->ref && h->kernel == like->kernel &&
		    h->in->priority == like->in->priority &&
		    !memcmp(h->block, like->block, sizeof(h->block)))
			ret_set[n++] = h;
	}
	return n;
}

static int release_one(struct cot_shim_group *g, uint32_t i)
{
	struct cot_shim_held *set[COT_SHIM_HELD_MAX];
	uint32_t n = collect(g, i, set);

	return n > 1 ? launch_batch(g, set, n) : launch_fused(g, &g->held[i]);
}

int cot_shim_merge_release(struct cot_shim_group *g)
{
	uint32_t i;
	int rc = 0, one;

	for (i = 0; i < g->n; i++) {
		/* Those that do not fit into one launch come in the next. */
		while (!g->held[i].done) {
			one = release_one(g, i);
			rc = rc ? rc : one;
		}
	}
	for (i = 0; i < g->n; i++)
		atomic_store(&g->held[i].in->held, false);
	g->n = 0;
	g->blocks = 0;
	return rc;
}
