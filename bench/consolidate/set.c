#include "bench/consolidate/set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

const char *const cot_set_way_names[COT_SET_WAYS] = {"apart", "streams", "merged", "reset"};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Two to four kernels, one of each: those of one PTX text have the same names. */
static bool is_fused(const struct cot_set *set)
{
	uint32_t i, k;

	for (i = 0; i < set->n_parts; i++) {
		if (set->parts[i].n > 1)
			return false;
		for (k = 0; k < i; k++)
			if (set->parts[k].bench == set->parts[i].bench)
				return false;
	}
	return set->n_parts > 1;
}

const char *cot_set_merged_by(const struct cot_set *set)
{
	if (set->n_parts == 1 && set->parts[0].n > 1)
		return "batch";
	return is_fused(set) ? "fuse" : NULL;
}

/* The module of a part; where copies become one launch, that kernel is in it. */
static int load(struct cot_set_run *r, uint32_t part, struct cot_error *err)
{
	const struct cot_bench *bench = r->set->parts[part].bench;
	size_t length;
	int rc;

	if (r->set->n_parts > 1 || r->set->parts[part].n == 1)
		return cot_cuda_machine_init(&r->modules[part], r->cuda,
					     cot_bench_ptx(bench, &length), err);
	rc = cot_rewrite(bench, NULL, 1u << COT_PASS_BATCH, &r->rewritten, err);
	return rc ? rc : cot_cuda_machine_init(&r->modules[part], r->cuda, r->rewritten.text, err);
}

/* A module of its own, so that a set of which nothing can be made runs apart and in streams. */
static int load_fused(struct cot_set_run *r, struct cot_error *err)
{
	int rc = cot_rewrite_fused(r->sessions, r->set->n_instances, &r->rewritten, err);

	return rc ? rc : cot_cuda_machine_init(&r->fused, r->cuda, r->rewritten.text, err);
}

static int keep_results(struct cot_set_instance *i, struct cot_error *err)
{
	double begin_s;
	uint32_t k;
	int rc = cot_session_fetch(&i->session, err);

	if (rc)
		return rc;
	begin_s = now_s();
	rc = cot_bench_check(&i->in, i->session.result, &i->verdict);
	i->check_s = now_s() - begin_s;
	for (k = 0; k < i->in.n_buffers && !rc; k++) {
		size_t size = i->in.buffers[k].size_bytes;

		if (!i->session.result[k])
			continue;
		i->plain[k] = malloc(size);
		if (i->plain[k])
			memcpy(i->plain[k], i->session.result[k], size);
		else
			rc = -ENOMEM;
	}
	return rc ? cot_error_set(err, rc, "%s: not enough memory", i->in.bench->name) : 0;
}

static int make(struct cot_set_run *r, uint32_t n, uint32_t part, enum cot_bench_size size,
		uint64_t seed, struct cot_error *err)
{
	const struct cot_set_part *p = &r->set->parts[part];
	struct cot_set_instance *i = &r->instances[n];
	int rc = cot_bench_create(&i->in, p->bench, size, p->n_blocks, seed + n, err);

	i->part = part;
	i->cuda = *r->cuda;
	i->machine = r->modules[part];
	i->machine.cuda = &i->cuda;
	r->sessions[n] = &i->session;
	if (!rc)
		rc = COT_CUDA_CALL(r->cuda, err, cuStreamCreate, &i->own, CU_STREAM_NON_BLOCKING);
	if (!rc)
		rc = cot_session_init(&i->session, &i->machine.base, &i->in, err);
	if (!rc)
		rc = cot_session_run(&i->session, cot_session_launch_plain, NULL, err);
	return rc ? rc : keep_results(i, err);
}

static int is_same(struct cot_set_run *r, bool *ret_same, struct cot_error *err)
{
	uint32_t n, k;
	int rc = 0;

	*ret_same = true;
	for (n = 0; n < r->set->n_instances && !rc; n++) {
		struct cot_set_instance *i = &r->instances[n];

		rc = cot_session_fetch(&i->session, err);
		for (k = 0; k < i->in.n_buffers && !rc; k++)
			if (i->plain[k] &&
			    memcmp(i->plain[k], i->session.result[k], i->in.buffers[k].size_bytes))
				*ret_same = false;
	}
	return rc;
}

int cot_set_run_init(struct cot_set_run *r, const struct cot_set *set, enum cot_bench_size size,
		     uint64_t seed, struct cot_cuda *cuda, struct cot_error *err)
{
	uint32_t part, k, n = 0;
	bool same = true;
	int rc = 0;

	*r = (struct cot_set_run){.set = set, .cuda = cuda};
	for (part = 0; part < set->n_parts && !rc; part++)
		rc = load(r, part, err);
	for (part = 0; part < set->n_parts && !rc; part++)
		for (k = 0; k < set->parts[part].n && !rc; k++)
			rc = make(r, n++, part, size, seed, err);
	r->batch = (struct cot_batch_run){
		.rewritten = &r->rewritten, .sessions = r->sessions, .n = set->n_instances};
	/* A second run gives the same, unless it works on what the first one left. */
	if (!rc)
		rc = cot_set_round(r, COT_SET_APART, true, err);
	if (!rc)
		rc = is_same(r, &same, err);
	r->needs_reset = !same;
	for (k = 0; k < n; k++)
		r->needs_reset |= r->instances[k].in.stop_buffer != COT_BENCH_NO_BUFFER;
	return rc;
}

void cot_set_run_finish(struct cot_set_run *r)
{
	uint32_t n, k;

	for (n = 0; n < r->set->n_instances; n++) {
		struct cot_set_instance *i = &r->instances[n];

		if (i->session.machine)
			cot_session_finish(&i->session);
		for (k = 0; k < COT_BENCH_MAX_BUFFERS; k++)
			free(i->plain[k]);
		if (i->own)
			r->cuda->api.cuStreamDestroy_v2(i->own);
		if (i->in.bench)
			cot_bench_destroy(&i->in);
	}
	for (k = 0; k < r->set->n_parts; k++)
		cot_cuda_machine_finish(&r->modules[k]);
	cot_cuda_machine_finish(&r->fused);
	cot_rewritten_finish(&r->rewritten);
}

/* ---- ways ---- */

static int apart(struct cot_set_run *r, bool replay, struct cot_error *err)
{
	uint32_t n;
	int rc = 0;

	for (n = 0; n < r->set->n_instances && !rc; n++)
		rc = (replay ? cot_session_replay : cot_session_run)(
			r->sessions[n], cot_session_launch_plain, NULL, err);
	return rc;
}

static int all_at_once(struct cot_set_run *r, struct cot_error *err)
{
	uint32_t step, n;
	bool more = true;
	int rc = 0;

	for (step = 0; more && !rc; step++) {
		more = false;
		for (n = 0; n < r->set->n_instances && !rc; n++) {
			if (step >= r->sessions[n]->n_steps)
				continue;
			more = true;
			rc = cot_session_launch_plain(r->sessions[n], step, NULL, err);
		}
	}
	return rc;
}

static int merged(struct cot_set_run *r, bool replay, struct cot_error *err)
{
	if (is_fused(r->set))
		return cot_fuse_run(&r->fused.base, r->sessions, r->set->n_instances, replay, err);
	return cot_batch_run(&r->batch, replay, err);
}

static int reset(struct cot_set_run *r, struct cot_error *err)
{
	uint32_t n;
	int rc = 0;

	for (n = 0; n < r->set->n_instances && !rc; n++)
		rc = cot_session_reset(r->sessions[n], err);
	return rc;
}

/* Only where something is: each further wait takes half a microsecond. */
static int wait_for_all(struct cot_set_run *r, enum cot_set_way way, struct cot_error *err)
{
	uint32_t n;
	int rc = 0;

	if (way != COT_SET_STREAMS)
		return COT_CUDA_CALL(r->cuda, err, cuStreamSynchronize, r->cuda->stream);
	for (n = 0; n < r->set->n_instances && !rc; n++)
		rc = COT_CUDA_CALL(r->cuda, err, cuStreamSynchronize, r->instances[n].own);
	return rc;
}

int cot_set_round(struct cot_set_run *r, enum cot_set_way way, bool replay, struct cot_error *err)
{
	double begin_s = now_s();
	uint32_t n;
	int rc;

	for (n = 0; n < r->set->n_instances; n++)
		r->instances[n].cuda.stream =
			way == COT_SET_STREAMS ? r->instances[n].own : r->cuda->stream;
	switch (way) {
	case COT_SET_APART:
		rc = apart(r, replay, err);
		break;
	case COT_SET_STREAMS:
		rc = all_at_once(r, err);
		break;
	case COT_SET_MERGED:
		rc = merged(r, replay, err);
		break;
	default:
		rc = reset(r, err);
		break;
	}
	r->issued_s = now_s() - begin_s;
	return rc ? rc : wait_for_all(r, way, err);
}

int cot_set_try(struct cot_set_run *r, enum cot_set_way way, bool *ret_same, struct cot_error *err)
{
	int rc = 0;

	if (way == COT_SET_MERGED && is_fused(r->set))
		rc = load_fused(r, err);
	if (!rc)
		rc = cot_set_round(r, COT_SET_RESET, false, err);
	if (!rc)
		rc = cot_set_round(r, way, false, err);
	return rc ? rc : is_same(r, ret_same, err);
}
