/*
 * From launches that go together to one launch. All are in one stream of one context, so that what
 * a program has in order stays in order; each program's number is written behind its launch.
 */
#include <string.h>

#include "backend/server/server.h"
#include "model/merge.h"

#define BATCH_ARGS 4096u
/* What a launch and a number behind it cost on an H200's driver, about, as in the shim. What
 * handing over costs, programs know (backend_cost.c in the shim): they do not post what that is too
 * dear for. */
#define LAUNCH_NS     2500u
#define NUMBER_NS     500u
#define LAUNCH_MAX_NS 1000000u /* a program may write anything */

struct set {
	uint32_t n;
	uint32_t at[COT_GATHER_MAX]; /* in the gather's list, ascending */
	CUfunction function;
	uint32_t grid, block[3];
	void **params;
};

static struct cot_gather_entry *entry(struct backend *b, const struct set *s, uint32_t i)
{
	return &b->gather.list[s->at[i]];
}

static const struct backend_kernel *kernel_of(const struct cot_gather_entry *e)
{
	return e->code;
}

static struct cot_backend_slot *slot_of(struct backend *b, const struct cot_gather_entry *e)
{
	return &b->clients[e->client].page->slots[e->slot];
}

bool cot_backend_is_idle(const struct backend *b)
{
	return atomic_load(&b->own->done) >= b->number;
}

CUresult cot_backend_failed(struct backend *b)
{
	CUresult rc = b->cuda.cuStreamQuery(b->stream);

	return rc == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : rc;
}

void cot_backend_tell_fault(struct backend *b, CUresult fault)
{
	struct backend_client *c;

	for (c = b->clients; c < b->clients + COT_BACKEND_CLIENTS; c++) {
		if (!c->page || atomic_load(&c->page->done) >= c->number)
			continue;
		backend_say("program %d had a launch in the one that failed with error %d", c->pid,
			    (int)fault);
		atomic_store(&c->page->fault, (uint32_t)fault);
		atomic_store(&c->page->done, COT_BACKEND_DONE_ALL);
	}
}

/* ---- whether ---- */

static uint32_t room(struct backend *b, CUfunction function, uint32_t threads)
{
	int n = 0;

	if (b->cuda.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, function, (int)threads, 0))
		return 0;
	return n > 0 ? (uint32_t)n : 0;
}

static uint32_t threads_of(const uint32_t block[3])
{
	return block[0] * block[1] * block[2];
}

/* Programs launch beside each other: apart takes what the one takes whose launches take most. */
static void judge_apart(struct backend *b, const struct set *s, struct cot_merge_set *of)
{
	uint32_t n_of[COT_BACKEND_CLIENTS] = {0}, i;

	for (i = 0; i < s->n; i++) {
		uint32_t client = entry(b, s, i)->client;
		uint32_t own_ns = atomic_load(&b->clients[client].page->own_ns);

		own_ns = own_ns < LAUNCH_MAX_NS ? own_ns : LAUNCH_MAX_NS;
		own_ns = own_ns ? own_ns : LAUNCH_NS;
		of->n_events += !n_of[client];
		if (++n_of[client] * own_ns <= of->n_longest * of->launch_ns)
			continue;
		of->n_longest = n_of[client];
		of->launch_ns = own_ns;
	}
	of->n_events++; /* the backend's own */
}

static bool is_worth(struct backend *b, const struct set *s)
{
	struct cot_merge_set of = {.n = s->n,
				   .n_sms = b->n_sms,
				   .per_sm = UINT32_MAX,
				   .merged_ns = LAUNCH_NS,
				   .event_ns = NUMBER_NS};
	uint32_t i, per_sm;

	if (b->always)
		return true;
	for (i = 0; i < s->n; i++) {
		const struct cot_gather_entry *e = entry(b, s, i);

		of.blocks += cot_backend_blocks(&e->launch);
		per_sm = room(b, kernel_of(e)->alone, threads_of(e->launch.block));
		of.per_sm = per_sm < of.per_sm ? per_sm : of.per_sm;
	}
	judge_apart(b, s, &of);
	of.merged_per_sm = room(b, s->function, threads_of(s->block));
	return of.per_sm && cot_merge_judge(&of);
}

/* ---- one launch ---- */

static void give_back(struct backend *b, const struct set *s, enum cot_backend_why why)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		cot_backend_give_back(slot_of(b, entry(b, s, i)), entry(b, s, i)->word, why);
	b->n_back += s->n;
	cot_gather_remove(&b->gather, s->at, s->n);
}

/* Those that their programs have not taken back; how many are left. */
static uint32_t begin(struct backend *b, struct set *s)
{
	uint32_t i, n = 0, lost[COT_GATHER_MAX], n_lost = 0;

	for (i = 0; i < s->n; i++) {
		if (cot_backend_begin(slot_of(b, entry(b, s, i)), entry(b, s, i)->word))
			s->at[n++] = s->at[i] - n_lost;
		else
			lost[n_lost++] = s->at[i];
	}
	cot_gather_remove(&b->gather, lost, n_lost);
	s->n = n;
	return n;
}

static CUstreamBatchMemOpParams number_at(CUdeviceptr page, uint64_t number)
{
	return (CUstreamBatchMemOpParams){
		.value = {.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64,
			  .address = page + offsetof(struct cot_backend_page, done),
			  .value = number}};
}

/* Behind the launch, for each program once, and for the backend itself; by one call. */
static CUresult write_numbers(struct backend *b, const struct set *s)
{
	CUstreamBatchMemOpParams writes[COT_BACKEND_CLIENTS + 1];
	bool seen[COT_BACKEND_CLIENTS] = {false};
	uint32_t i;
	unsigned n = 0;

	b->number++;
	for (i = 0; i < s->n; i++) {
		uint32_t client = entry(b, s, i)->client;
		struct backend_client *c = &b->clients[client];

		if (seen[client])
			continue;
		seen[client] = true;
		c->number++;
		c->last = b->number;
		writes[n++] = number_at(c->page_on_gpu, c->number);
	}
	writes[n++] = number_at(b->own_on_gpu, b->number);
	return b->cuda.cuStreamBatchMemOp_v2(b->stream, n, writes, 0);
}

static bool launch(struct backend *b, struct set *s)
{
	CUresult rc = b->cuda.cuLaunchKernel(s->function, s->grid, 1, 1, s->block[0], s->block[1],
					     s->block[2], 0, b->stream, s->params, NULL);
	uint32_t i;

	if (rc) {
		/* It has not begun, if it is not an earlier one that failed. */
		if (!b->n_refused++)
			backend_say("cuLaunchKernel of %u launches in one: error %d", s->n,
				    (int)rc);
		give_back(b, s, COT_BACKEND_WHY_REFUSED);
		return !cot_backend_failed(b);
	}
	rc = write_numbers(b, s);
	for (i = 0; i < s->n; i++) {
		struct cot_gather_entry *e = entry(b, s, i);

		cot_backend_launched(slot_of(b, e), e->word, b->clients[e->client].number, s->n);
	}
	b->n_merged += s->n;
	b->n_merges++;
	cot_gather_remove(&b->gather, s->at, s->n);
	return !rc;
}

/* ---- of one kernel ---- */

static bool decide_batch(struct backend *b, struct set *s)
{
	static _Alignas(BATCH_ARGS) unsigned char args[BATCH_ARGS];
	const struct backend_kernel *k = kernel_of(entry(b, s, 0));
	void *params[] = {args};
	uint32_t i;
	int rc = 0;

	if (s->n > k->shape.n_max)
		s->n = k->shape.n_max; /* the others come next */
	s->function = k->batch;
	s->params = params;
	memcpy(s->block, entry(b, s, 0)->launch.block, sizeof(s->block));
	if (!is_worth(b, s)) {
		give_back(b, s, COT_BACKEND_WHY_WORSE);
		return true;
	}
	if (begin(b, s) < 2) {
		give_back(b, s, COT_BACKEND_WHY_ALONE);
		return true;
	}
	cot_batch_begin(&k->shape, args);
	for (i = 0; i < s->n && !rc; i++)
		rc = cot_batch_add(&k->shape, args, entry(b, s, i)->launch.grid,
				   entry(b, s, i)->launch.params, &s->grid);
	if (rc) {
		give_back(b, s, COT_BACKEND_WHY_REFUSED);
		return true;
	}
	return launch(b, s);
}

/* ---- of two ---- */

static void list_params(const struct backend_kernel *k, struct cot_gather_entry *e, void **list)
{
	uint32_t i;

	for (i = 0; i < k->n_params; i++)
		list[i] = e->launch.params + k->params[i].at;
}

static bool decide_pair(struct backend *b, struct set *s, const struct backend_pair *pair)
{
	void *list[2 * BACKEND_PARAMS_MAX + 1];
	struct cot_gather_entry *first = entry(b, s, kernel_of(entry(b, s, 0)) != pair->first),
				*second = first == entry(b, s, 0) ? entry(b, s, 1) : entry(b, s, 0);
	struct cot_fuse_args args;

	s->block[1] = s->block[2] = 1;
	s->function = pair->function;
	s->params = list;
	if (cot_fuse_plan(first->launch.grid, first->launch.block, second->launch.grid,
			  second->launch.block, &args, &s->grid, &s->block[0])) {
		give_back(b, s, COT_BACKEND_WHY_REFUSED);
		return true;
	}
	if (!is_worth(b, s)) {
		give_back(b, s, COT_BACKEND_WHY_WORSE);
		return true;
	}
	list_params(pair->first, first, list);
	list_params(pair->second, second, list + pair->first->n_params);
	list[pair->first->n_params + pair->second->n_params] = &args;
	if (begin(b, s) < 2) {
		give_back(b, s, COT_BACKEND_WHY_ALONE);
		return true;
	}
	return launch(b, s);
}

/* A launch of another program with which the oldest could go. A pair that nobody has asked for is
 * made when these two have gone back. */
static bool decide_single(struct backend *b, struct set *s)
{
	struct cot_gather_entry *e = entry(b, s, 0);
	const struct backend_kernel *k = kernel_of(e), *unknown = NULL;
	const struct backend_pair *pair;
	uint32_t i;

	for (i = s->at[0] + 1; i < b->gather.n; i++) {
		const struct backend_kernel *other = kernel_of(&b->gather.list[i]);

		if (other == k)
			continue;
		pair = cot_backend_pair_find(k, other);
		if (!pair)
			unknown = other;
		if (!pair || !pair->function)
			continue;
		s->at[s->n++] = i;
		return decide_pair(b, s, pair);
	}
	give_back(b, s, COT_BACKEND_WHY_ALONE);
	if (unknown)
		cot_backend_pair_make(b, k, unknown);
	return true;
}

bool cot_backend_decide(struct backend *b)
{
	struct set s = {.n = cot_gather_like_oldest(&b->gather, s.at)};

	return s.n > 1 ? decide_batch(b, &s) : decide_single(b, &s);
}
