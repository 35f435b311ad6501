#include "kernels/run/experiment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SCRATCH_BYTES ((size_t)256 << 20) /* five times the level 2 cache of an H200 */

static const char *const tools_ptx = "compare";

bool cot_variant_runs(const struct cot_variant *v)
{
	return v->wanted && !v->refusal && !v->failed;
}

static bool wants(const struct cot_experiment *e, uint32_t variant)
{
	return cot_variant_runs(&e->variants[variant]);
}

/* The pass that a variant is made by. */
static enum cot_pass pass_of(uint32_t variant)
{
	return variant == COT_VIRTUAL ? COT_PASS_SLICE : (enum cot_pass)variant;
}

/* ---- setting up ---- */

/* The next one of the list. */
static const struct cot_bench *next_of(const struct cot_bench *const *list, unsigned n,
				       const struct cot_bench *bench)
{
	unsigned i;

	for (i = 0; i < n; i++)
		if (list[i] == bench)
			return list[(i + 1) % n];
	return NULL;
}

static const struct cot_bench *partner_of(const struct cot_options *options,
					  const struct cot_bench *bench)
{
	const struct cot_bench *next;

	if (!(options->passes & 1u << COT_PASS_FUSE))
		return NULL;
	if (options->partner)
		return options->partner;
	next = next_of(cot_bench_all, cot_bench_n_all, bench);
	return next ? next : next_of(cot_bench_shapes, cot_bench_n_shapes, bench);
}

static int load(struct cot_experiment *e, struct cot_error *err)
{
	const struct cot_bench tools = {.name = tools_ptx};
	size_t size;
	const char *text = cot_bench_ptx(&tools, &size);
	int rc = cot_rewrite(e->bench, e->partner, e->options->passes, &e->rewritten, err);

	if (!rc)
		rc = cot_cuda_machine_init(&e->machine, e->cuda, e->rewritten.text, err);
	if (!rc)
		rc = cot_cuda_machine_init(&e->tools, e->cuda, text, err);
	return rc;
}

static int make_session(struct cot_experiment *e, const struct cot_bench *bench,
			struct cot_bench_instance *in, struct cot_session *s, struct cot_error *err)
{
	int rc = cot_bench_create(in, bench, e->options->size, e->options->n_blocks,
				  e->options->seed, err);

	if (!rc)
		rc = cot_session_init(s, &e->machine.base, in, err);
	return rc;
}

static int make_events(struct cot_experiment *e, struct cot_error *err)
{
	const struct cot_cuda *cuda = e->cuda;
	struct cot_machine *m = &e->machine.base;
	int result = cuda->api.cuEventCreate(&e->begin, 0), rc;

	if (!result)
		result = cuda->api.cuEventCreate(&e->end, 0);
	if (!result)
		result = cuda->api.cuEventCreate(&e->raised, 0);
	rc = cot_cuda_check(cuda, result, "cuEventCreate", err);
	if (!rc)
		rc = m->ops->alloc(m, sizeof(uint32_t), &e->n_different, err);
	if (!rc && e->options->n_repeats && e->options->size != COT_BENCH_TEST)
		rc = m->ops->alloc(m, SCRATCH_BYTES, &e->scratch, err);
	return rc;
}

/* The refusal of any kernel that is launched. */
static const struct cot_refusal *refusal_of(const struct cot_experiment *e, enum cot_pass pass)
{
	const struct cot_refusal *refusal = NULL;
	uint32_t i;

	for (i = 0; i < e->in.n_steps && !refusal; i++)
		refusal = cot_rewritten_refusal(&e->rewritten, e->in.steps[i].entry, pass);
	return refusal;
}

static int describe(struct cot_experiment *e, struct cot_variant *v, const char *suffix,
		    struct cot_error *err)
{
	const struct cot_cuda *cuda = e->cuda;
	bool fused = v == &e->variants[COT_PASS_FUSE];
	uint32_t n_threads = e->bench->n_threads, per_sm = 0;
	CUfunction function;
	char entry[320];
	int rc;

	snprintf(entry, sizeof(entry), "%s%s%s%s", e->bench->entry, suffix, fused ? "$" : "",
		 fused ? e->partner->entry : "");
	if (fused && e->partner->n_threads > n_threads)
		n_threads = e->partner->n_threads;
	rc = cot_cuda_machine_function(&e->machine, entry, &function, err);
	if (rc)
		return rc;
	cuda->api.cuFuncGetAttribute(&v->registers, CU_FUNC_ATTRIBUTE_NUM_REGS, function);
	cuda->api.cuFuncGetAttribute(&v->local_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function);
	cuda->api.cuFuncGetAttribute(&v->shared_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES,
				     function);
	rc = e->machine.base.ops->occupancy(&e->machine.base, entry, n_threads, &per_sm, err);
	v->per_sm = (int)per_sm;
	return rc;
}

static void describe_all(struct cot_experiment *e)
{
	uint32_t i;

	for (i = 0; i < COT_N_VARIANTS; i++) {
		struct cot_variant *v = &e->variants[i];
		const struct cot_pass_info *info =
			i == COT_PLAIN ? NULL : cot_pass_info(pass_of(i));

		v->name = info ? info->name : "plain";
		if (i == COT_VIRTUAL)
			v->name = "virtual_block";
		v->wanted = !info || (e->options->passes & 1u << pass_of(i));
		if (!v->wanted)
			continue;
		v->refusal = info ? refusal_of(e, pass_of(i)) : NULL;
		if (!v->refusal)
			v->failed = describe(e, v, info ? info->suffix : "", &v->error) != 0;
	}
}

/* ---- the plain run ---- */

static int run_plain(struct cot_experiment *e, struct cot_error *err)
{
	int rc = cot_session_run(&e->session, cot_session_launch_plain, NULL, err);

	if (!rc)
		rc = cot_session_keep(&e->session, e->plain, err);
	if (!rc && !e->options->no_reference) {
		rc = cot_session_fetch(&e->session, err);
		if (!rc && cot_bench_check(&e->in, e->session.result, &e->verdict))
			rc = cot_error_set(err, -ENOMEM, "%s: no memory for the CPU's result",
					   e->bench->name);
	}
	e->right = e->verdict.n_wrong == 0;
	e->variants[COT_PLAIN].same = true;
	if (!rc)
		rc = cot_experiment_time(e, &e->variants[COT_PLAIN], &e->plain_us, err);
	return rc;
}

/* Without its own plain result there is nothing to compare the fused kernels with. */
static int prepare_partner(struct cot_experiment *e, struct cot_error *err)
{
	int rc = make_session(e, e->partner, &e->partner_in, &e->partner_session, err);

	if (!rc)
		rc = cot_session_run(&e->partner_session, cot_session_launch_plain, NULL, err);
	if (!rc)
		rc = cot_session_keep(&e->partner_session, e->partner_plain, err);
	return rc;
}

int cot_experiment_compare(struct cot_experiment *e, struct cot_session *s, const uint64_t *plain,
			   uint64_t *ret_n_different, struct cot_error *err)
{
	struct cot_machine *tools = &e->tools.base;
	const uint32_t grid[3] = {8 * tools->n_sms, 1, 1}, block[3] = {256, 1, 1};
	uint32_t n_different = 0, i;
	int rc = tools->ops->write(tools, e->n_different, &n_different, sizeof(n_different), err);

	for (i = 0; i < s->in->n_buffers && !rc; i++) {
		uint64_t n_words = s->in->buffers[i].size_bytes / sizeof(uint32_t);
		const struct cot_machine_args args = {
			.values = {&s->address[i], &plain[i], &n_words, &e->n_different},
			.sizes = {8, 8, 8, 8},
			.n = 4,
		};

		if (plain[i])
			rc = tools->ops->launch(tools, "count_differences", grid, block, &args,
						err);
	}
	if (!rc)
		rc = tools->ops->read(tools, &n_different, e->n_different, sizeof(n_different),
				      err);
	*ret_n_different = n_different;
	return rc;
}

/* ---- the passes ---- */

static int take_counts(void *arg, uint32_t step, const void *rows, uint32_t n_rows,
		       struct cot_error *err)
{
	const struct cot_count_row *row = rows;
	struct cot_counts *counts = arg;
	uint32_t i;

	(void)step;
	(void)err;
	for (i = 0; i < n_rows; i++) {
		counts->thread_insns += row[i].thread_insns;
		counts->warp_insns += row[i].warp_insns;
		counts->read_bytes += row[i].read_bytes[COT_COUNT_GLOBAL];
		counts->written_bytes += row[i].written_bytes[COT_COUNT_GLOBAL];
	}
	return 0;
}

static int take_records(void *arg, uint32_t step, const void *rows, uint32_t n_rows,
			struct cot_error *err)
{
	const struct cot_record_row *row = rows;
	struct cot_experiment *e = arg;
	uint32_t i;

	(void)step;
	(void)err;
	for (i = 0; i < n_rows; i++)
		e->n_rows_bad +=
			!row[i].n_ends || !row[i].begin_ns || row[i].end_ns < row[i].begin_ns;
	return 0;
}

static int fuse_both(struct cot_experiment *e, bool replay, struct cot_error *err)
{
	struct cot_session *const both[] = {&e->session, &e->partner_session};

	return cot_fuse_run(e->session.machine, both, 2, replay, err);
}

static int fuse_step(struct cot_session *s, uint32_t step, void *state, struct cot_error *err)
{
	(void)s;
	/* The first step stands for all: the two sessions go on together. */
	return step ? 0 : fuse_both(state, true, err);
}

static int batch_step(struct cot_session *s, uint32_t step, void *state, struct cot_error *err)
{
	struct cot_experiment *e = state;

	(void)s;
	/* As above: all copies, in which the session has no part. */
	return step ? 0 : cot_batch_run(&e->copies.run, true, err);
}

/* How each pass is launched; states live in the variant. */
static int make_states(struct cot_experiment *e, struct cot_error *err)
{
	struct cot_variant *v = e->variants;
	struct cot_variant *workers = &v[COT_PASS_WORKERS], *slice = &v[COT_PASS_SLICE];
	struct cot_variant *retreat = &v[COT_PASS_RETREAT];
	struct cot_variant *count = &v[COT_PASS_COUNT], *record = &v[COT_PASS_RECORD];
	uint64_t n_tasks = 0;
	uint32_t i;
	int rc = 0;

	for (i = 0; i < e->session.n_steps; i++)
		n_tasks += cot_step_tasks(&e->in.steps[i]);
	v[COT_PLAIN].step = v[COT_PLAIN].replay = cot_session_launch_plain;
	if (wants(e, COT_PASS_WORKERS)) {
		double task_ns =
			e->plain_us * 1e3 * e->cuda->n_sms * workers->per_sm / (double)n_tasks;

		rc = cot_workers_run_init(&workers->workers, &e->session, e->quota,
					  e->options->chunk, (uint64_t)task_ns + 1, err);
		workers->step = cot_workers_step;
		workers->replay = cot_workers_replay;
		workers->state = &workers->workers;
	}
	if (!rc && wants(e, COT_PASS_RETREAT))
		rc = cot_retreat_run_init(&retreat->retreat, &e->session, e->quota, err);
	retreat->step = cot_retreat_step;
	retreat->replay = cot_retreat_replay;
	retreat->state = &retreat->retreat;
	slice->slice.n_blocks = e->options->slice ? e->options->slice : e->in.n_blocks / 4 + 1;
	slice->step = slice->replay = cot_slice_step;
	slice->state = &slice->slice;
	v[COT_VIRTUAL].slice.n_blocks = UINT32_MAX;
	v[COT_VIRTUAL].step = v[COT_VIRTUAL].replay = cot_slice_step;
	v[COT_VIRTUAL].state = &v[COT_VIRTUAL].slice;
	if (!rc && wants(e, COT_PASS_COUNT))
		rc = cot_rows_run_init(&count->rows, &e->session, "$cot_count",
				       sizeof(struct cot_count_row), err);
	if (!rc && wants(e, COT_PASS_RECORD))
		rc = cot_rows_run_init(&record->rows, &e->session, "$cot_record",
				       sizeof(struct cot_record_row), err);
	count->rows.take = take_counts;
	count->rows.arg = &e->counts;
	record->rows.take = take_records;
	record->rows.arg = e;
	count->step = record->step = cot_rows_step;
	count->replay = record->replay = cot_rows_replay;
	count->state = &count->rows;
	record->state = &record->rows;
	v[COT_PASS_FUSE].step = v[COT_PASS_FUSE].replay = fuse_step;
	v[COT_PASS_FUSE].state = e;
	v[COT_PASS_BATCH].step = v[COT_PASS_BATCH].replay = batch_step;
	v[COT_PASS_BATCH].state = e;
	return rc;
}

static int run_fused(struct cot_experiment *e, struct cot_variant *v, struct cot_error *err)
{
	uint64_t n_different = 0;
	int rc = cot_session_reset(&e->partner_session, err);

	if (!rc)
		rc = fuse_both(e, false, err);
	if (!rc)
		rc = cot_experiment_compare(e, &e->partner_session, e->partner_plain, &n_different,
					    err);
	v->n_different += n_different;
	return rc;
}

static int run_batch(struct cot_experiment *e, struct cot_variant *v, struct cot_error *err)
{
	struct cot_copies *c = &e->copies;
	uint64_t n_different;
	uint32_t i;
	int rc = cot_copies_reset(c, err);

	if (!rc)
		rc = cot_batch_run(&c->run, false, err);
	for (i = 0; i < c->n && !rc; i++) {
		n_different = 0;
		rc = cot_experiment_compare(e, &c->all[i].session, c->all[i].plain, &n_different,
					    err);
		v->n_different += n_different;
	}
	return rc;
}

/* For e->now. */
static void note(struct cot_experiment *e, const char *what)
{
	if (e->now)
		snprintf(e->now, COT_NOW, "%s", what);
}

/* What runs on the session itself, and maybe on the partner's. */
static int run_session(struct cot_experiment *e, struct cot_variant *v, struct cot_error *err)
{
	uint64_t n_different = 0;
	int rc = cot_session_reset(&e->session, err);

	if (!rc && v == &e->variants[COT_PASS_FUSE])
		rc = run_fused(e, v, err);
	else if (!rc)
		rc = cot_session_run(&e->session, v->step, v->state, err);
	if (!rc)
		rc = cot_experiment_compare(e, &e->session, e->plain, &n_different, err);
	v->n_different += n_different;
	return rc;
}

static int run_variant(struct cot_experiment *e, uint32_t variant, struct cot_error *err)
{
	struct cot_variant *v = &e->variants[variant];
	int rc;

	note(e, v->name);
	rc = variant == COT_PASS_BATCH ? run_batch(e, v, err) : run_session(e, v, err);
	v->same = v->n_different == 0;
	return rc;
}

int cot_experiment_run(struct cot_experiment *e, const struct cot_options *options,
		       struct cot_cuda *cuda, const struct cot_bench *bench, char *now,
		       struct cot_error *err)
{
	uint32_t i;
	int rc;

	*e = (struct cot_experiment){.options = options, .cuda = cuda, .bench = bench, .now = now};
	note(e, "plain");
	e->partner = partner_of(options, bench);
	e->quota = ((uint32_t)cuda->n_sms * options->quota_pct + 99) / 100;
	rc = load(e, err);
	if (!rc)
		rc = make_events(e, err);
	if (!rc)
		rc = make_session(e, bench, &e->in, &e->session, err);
	if (!rc) {
		describe_all(e);
		e->variants[COT_PLAIN].replay = cot_session_launch_plain;
		rc = run_plain(e, err);
	}
	if (!rc && wants(e, COT_PASS_FUSE)) {
		struct cot_variant *v = &e->variants[COT_PASS_FUSE];

		v->failed = prepare_partner(e, &v->error) != 0;
	}
	if (!rc && wants(e, COT_PASS_BATCH)) {
		struct cot_variant *v = &e->variants[COT_PASS_BATCH];

		v->failed = cot_copies_init(&e->copies, options, bench, &e->rewritten,
					    &e->machine.base, &v->error) != 0;
	}
	if (!rc)
		rc = make_states(e, err);
	for (i = 0; i < COT_N_VARIANTS && !rc; i++) {
		struct cot_variant *v = &e->variants[i];

		if (i != COT_PLAIN && wants(e, i))
			v->failed = run_variant(e, i, &v->error) != 0;
	}
	if (!rc && (options->n_moments || options->n_evictions) && wants(e, COT_PASS_WORKERS)) {
		struct cot_variant *v = &e->variants[COT_PASS_WORKERS];

		note(e, "an eviction");
		v->failed = cot_experiment_evict(e, &v->error) != 0;
	}
	note(e, "a repeat");
	if (!rc && options->n_repeats)
		rc = cot_experiment_measure(e, err);
	return rc;
}

static void free_all(struct cot_machine *m, uint64_t *addresses, uint32_t n)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		if (addresses[i])
			m->ops->free(m, addresses[i]);
		addresses[i] = 0;
	}
}

void cot_experiment_finish(struct cot_experiment *e)
{
	const struct cot_cuda *cuda = e->cuda;

	if (e->machine.base.ops) {
		struct cot_machine *m = &e->machine.base;

		cot_workers_run_finish(&e->variants[COT_PASS_WORKERS].workers);
		cot_retreat_run_finish(&e->variants[COT_PASS_RETREAT].retreat);
		cot_rows_run_finish(&e->variants[COT_PASS_COUNT].rows);
		cot_rows_run_finish(&e->variants[COT_PASS_RECORD].rows);
		free_all(m, e->plain, COT_BENCH_MAX_BUFFERS);
		free_all(m, e->partner_plain, COT_BENCH_MAX_BUFFERS);
		free_all(m, &e->n_different, 1);
		free_all(m, &e->scratch, 1);
	}
	cot_copies_finish(&e->copies);
	if (e->session.machine)
		cot_session_finish(&e->session);
	if (e->partner_session.machine)
		cot_session_finish(&e->partner_session);
	if (e->begin)
		cuda->api.cuEventDestroy_v2(e->begin);
	if (e->end)
		cuda->api.cuEventDestroy_v2(e->end);
	if (e->raised)
		cuda->api.cuEventDestroy_v2(e->raised);
	cot_bench_destroy(&e->in);
	cot_bench_destroy(&e->partner_in);
	if (e->machine.cuda)
		cot_cuda_machine_finish(&e->machine);
	if (e->tools.cuda)
		cot_cuda_machine_finish(&e->tools);
	cot_rewritten_finish(&e->rewritten);
}

bool cot_experiment_passed(const struct cot_experiment *e)
{
	uint32_t i;

	for (i = 0; i < COT_N_VARIANTS; i++)
		if (wants(e, i) && !e->variants[i].same)
			return false;
	if (e->evictions.n_runs && !e->evictions.same)
		return false;
	return e->right && !e->n_rows_bad && !e->copies.verdict.n_wrong;
}

bool cot_experiment_complete(const struct cot_experiment *e)
{
	uint32_t i;

	for (i = 0; i < COT_N_VARIANTS; i++)
		if (e->variants[i].failed)
			return false;
	return true;
}
