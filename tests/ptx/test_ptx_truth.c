/*
 * Rewritten kernels compute what the originals compute: the benchmarks, and small kernels with what
 * passes have trouble with, under every pass, in the
 * interpreter, bit for bit the same as the plain kernel, which is what the CPU's reference says.
 * Quotas, chunks, orders, evictions and the schedule follow from a seed.
 *
 *     COTENANT_TRUTH_SEEDS=1000 test_ptx_truth     more seeds than the few of an ordinary run
 *     COTENANT_TRUTH_FIRST=N                       from another seed on
 *     COTENANT_TRUTH_BENCH=bfs                     one benchmark only
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/rng.h"
#include "kernels/launch/launch.h"
#include "kernels/launch/rewrite.h"
#include "ptx/exec_machine.h"
#include "test.h"

#define ALL_PASSES                                                                \
	(1u << COT_PASS_WORKERS | 1u << COT_PASS_RETREAT | 1u << COT_PASS_SLICE | \
	 1u << COT_PASS_FUSE | 1u << COT_PASS_COUNT | 1u << COT_PASS_RECORD)
#define MAX_EVICTIONS 3u
#define MAX_COPIES    5u

/* One benchmark (or two, for fusing), its module with all passes, and the plain result. */
struct fixture {
	const struct cot_bench *bench, *partner;
	struct cot_rewritten rewritten;
	struct exec_machine machine;
	struct cot_bench_instance in, partner_in;
	struct cot_session session, partner_session;
	void *plain[COT_BENCH_MAX_BUFFERS], *partner_plain[COT_BENCH_MAX_BUFFERS];
	struct cot_exec_stats stats; /* of the plain run */
	uint64_t n_schedule_steps;
	struct cot_error err;
	uint64_t seed;
};

/* What an ordinary run and a long one count up. */
static struct {
	uint64_t n_runs, n_evictions, n_resumed, n_left_over, n_refused;
} totals;

#define must(f, what)                                                                          \
	do {                                                                                   \
		if (what) {                                                                    \
			print_error("%s: seed %" PRIu64 ": %s\n", (f)->bench->name, (f)->seed, \
				    (f)->err.text);                                            \
			fail();                                                                \
		}                                                                              \
	} while (0)

static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

#if defined(__SANITIZE_THREAD__)
#define UNDER_TSAN 1
#elif defined(__has_feature)
#define UNDER_TSAN __has_feature(thread_sanitizer)
#else
#define UNDER_TSAN 0
#endif
#if defined(__SANITIZE_ADDRESS__) || UNDER_TSAN
#define SLOW_BUILD 1
#elif defined(__has_feature)
#define SLOW_BUILD __has_feature(address_sanitizer)
#else
#define SLOW_BUILD 0
#endif

static bool left_out(const struct cot_bench *bench)
{
	const char *only = getenv("COTENANT_TRUTH_BENCH");

	if (only)
		return cot_bench_find(only) != bench;
	/* All is one thread; twenty times slower would be too long for seeing nothing. */
	return UNDER_TSAN && strcmp(bench->name, "nn") != 0;
}

/* ---- set up: the plain run ---- */

static void keep(struct fixture *f, struct cot_session *s, void **ret_plain)
{
	uint32_t i;

	must(f, cot_session_fetch(s, &f->err));
	for (i = 0; i < s->in->n_buffers; i++) {
		if (!s->result[i])
			continue;
		ret_plain[i] = malloc(s->in->buffers[i].size_bytes);
		assert_non_null(ret_plain[i]);
		memcpy(ret_plain[i], s->result[i], s->in->buffers[i].size_bytes);
	}
}

static void run_plain(struct fixture *f, struct cot_session *s, void **ret_plain)
{
	struct cot_bench_verdict verdict;

	must(f, cot_session_run(s, cot_session_launch_plain, NULL, &f->err));
	keep(f, s, ret_plain);
	assert_int_equal(cot_bench_check(s->in, s->result, &verdict), 0);
	if (verdict.n_wrong) {
		print_error("%s: %" PRIu64 " of %" PRIu64 " wrong, the first is %s\n",
			    s->in->bench->name, verdict.n_wrong, verdict.n_checked, verdict.text);
		fail();
	}
}

static void set_up(struct fixture *f, const struct cot_bench *bench,
		   const struct cot_bench *partner, uint32_t passes, uint64_t seed)
{
	*f = (struct fixture){.bench = bench, .partner = partner, .seed = seed};
	must(f, cot_rewrite(bench, partner, passes, &f->rewritten, &f->err));
	must(f, exec_machine_init(&f->machine, f->rewritten.text, f->rewritten.size, 4, &f->err));
	must(f, cot_bench_create(&f->in, bench, COT_BENCH_TEST, 0, seed, &f->err));
	must(f, cot_session_init(&f->session, &f->machine.base, &f->in, &f->err));
	f->machine.seed = seed;
	/* Looks for accesses that nothing orders. That bfs has them is by design. */
	if (!SLOW_BUILD && seed % 2 && strcmp(bench->name, "bfs") != 0 &&
	    (!partner || strcmp(partner->name, "bfs") != 0))
		f->machine.checks = COT_EXEC_CHECK_RACES;
	run_plain(f, &f->session, f->plain);
	f->stats = f->machine.stats;
	f->n_schedule_steps = f->machine.n_steps;
	if (!partner)
		return;
	must(f, cot_bench_create(&f->partner_in, partner, COT_BENCH_TEST, 0, seed, &f->err));
	must(f, cot_session_init(&f->partner_session, &f->machine.base, &f->partner_in, &f->err));
	run_plain(f, &f->partner_session, f->partner_plain);
}

static void tear_down(struct fixture *f)
{
	uint32_t i;

	for (i = 0; i < COT_BENCH_MAX_BUFFERS; i++) {
		free(f->plain[i]);
		free(f->partner_plain[i]);
	}
	if (f->partner) {
		cot_session_finish(&f->partner_session);
		cot_bench_destroy(&f->partner_in);
	}
	cot_session_finish(&f->session);
	cot_bench_destroy(&f->in);
	exec_machine_finish(&f->machine);
	cot_rewritten_finish(&f->rewritten);
}

/* The session's outputs are those of the plain run. */
static void same(struct fixture *f, struct cot_session *s, void *const *plain, const char *pass)
{
	uint32_t i;

	must(f, cot_session_fetch(s, &f->err));
	for (i = 0; i < s->in->n_buffers; i++) {
		if (!s->result[i] ||
		    memcmp(s->result[i], plain[i], s->in->buffers[i].size_bytes) == 0)
			continue;
		print_error("%s, %s, seed %" PRIu64 ": %s differs from the plain run\n",
			    s->in->bench->name, pass, f->seed, s->in->buffers[i].name);
		fail();
	}
	totals.n_runs++;
}

/* All that is refused, and why; everything else has to be taken. */
static const struct {
	const char *bench;
	enum cot_pass pass;
	enum cot_reason reason;
} refusals[] = {
	{"myocyte", COT_PASS_COUNT, COT_REASON_CALLS},
	{"calls", COT_PASS_COUNT, COT_REASON_CALLS},
};

/* Does the pass take every kernel that the benchmark launches? */
static bool taken(struct fixture *f, enum cot_pass pass)
{
	const struct cot_refusal *refusal = NULL;
	unsigned k;
	uint32_t i;

	for (i = 0; i < f->in.n_steps && !refusal; i++)
		refusal = cot_rewritten_refusal(&f->rewritten, f->in.steps[i].entry, pass);
	for (k = 0; k < COT_ARRAY_LEN(refusals); k++)
		if (refusals[k].pass == pass && strcmp(refusals[k].bench, f->bench->name) == 0)
			break;
	if (k < COT_ARRAY_LEN(refusals)) {
		assert_non_null(refusal);
		assert_int_equal(refusal->reason, refusals[k].reason);
		totals.n_refused++;
	} else if (refusal) {
		print_error("%s\n", refusal->text);
		fail();
	}
	return !refusal;
}

/* ---- workers ---- */

/* Raises the flag at moments of the schedule. */
struct evictor {
	uint32_t n, next;
	uint64_t at[MAX_EVICTIONS];
	uint32_t units[MAX_EVICTIONS];
	struct cot_workers_control *control;
	uint32_t n_raised;
};

static int evict(void *arg, uint64_t step)
{
	struct evictor *e = arg;

	while (e->next < e->n && e->control && e->at[e->next] <= step) {
		if (e->units[e->next] > e->control->evict) {
			e->control->evict = e->units[e->next];
			e->n_raised++;
		}
		e->next++;
	}
	return 0;
}

static int about_to_launch(void *arg, uint64_t control, const struct cot_workers_args *args,
			   struct cot_error *err)
{
	struct evictor *e = arg;

	(void)args;
	(void)err;
	e->control = (struct cot_workers_control *)(uintptr_t)control;
	return 0;
}

/* Moments in the first launch; each next launch has those that are left, from its beginning on. */
static void plan_evictions(struct evictor *e, struct cot_rng *rng, uint64_t n_steps, uint32_t quota)
{
	uint32_t i;

	*e = (struct evictor){.n = (uint32_t)cot_rng_below(rng, MAX_EVICTIONS + 1)};
	for (i = 0; i < e->n; i++) {
		e->at[i] = cot_rng_below(rng, n_steps + n_steps / 4 + 1);
		/* Everybody, at times more than there are. */
		e->units[i] = 1 + (uint32_t)cot_rng_below(rng, quota + 1);
	}
}

static void workers_once(struct fixture *f, struct cot_rng *rng)
{
	struct cot_workers_run run;
	struct evictor evictor;
	uint32_t quota = 1 + (uint32_t)cot_rng_below(rng, f->machine.base.n_sms);

	f->machine.per_sm = 1 + (uint32_t)cot_rng_below(rng, 3);
	plan_evictions(&evictor, rng, f->n_schedule_steps, quota);
	must(f, cot_workers_run_init(&run, &f->session, quota, (uint32_t)cot_rng_below(rng, 6), 0,
				     &f->err));
	run.before = about_to_launch;
	run.arg = &evictor;
	run.resume_quota = 1 + (uint32_t)cot_rng_below(rng, f->machine.base.n_sms);
	f->machine.hook = evict;
	f->machine.hook_arg = &evictor;
	must(f, cot_session_reset(&f->session, &f->err));
	must(f, cot_session_run(&f->session, cot_workers_step, &run, &f->err));
	f->machine.hook = NULL;
	same(f, &f->session, f->plain, "workers");
	totals.n_evictions += evictor.n_raised;
	totals.n_resumed += run.n_resumed;
	totals.n_left_over += run.n_left_over;
	cot_workers_run_finish(&run);
	f->machine.per_sm = 0;
}

/* Random schedules leave SMs short of workers, so there is something to launch again. */
static void retreat_once(struct fixture *f, struct cot_rng *rng)
{
	struct cot_retreat_run run;
	uint32_t quota = 1 + (uint32_t)cot_rng_below(rng, f->machine.base.n_sms);

	f->machine.per_sm = 1 + (uint32_t)cot_rng_below(rng, 3);
	must(f, cot_retreat_run_init(&run, &f->session, quota, &f->err));
	must(f, cot_session_reset(&f->session, &f->err));
	must(f, cot_session_run(&f->session, cot_retreat_step, &run, &f->err));
	same(f, &f->session, f->plain, "retreat");
	totals.n_resumed += run.n_resumed;
	totals.n_left_over += run.n_left_over;
	cot_retreat_run_finish(&run);
	f->machine.per_sm = 0;
}

static void slice_once(struct fixture *f, struct cot_rng *rng)
{
	struct cot_slice_run run = {
		.n_blocks = 1 + (uint32_t)cot_rng_below(rng, f->in.n_blocks + 1),
		.seed = cot_rng_below(rng, 2) ? cot_rng_next(rng) : 0,
	};

	must(f, cot_session_reset(&f->session, &f->err));
	must(f, cot_session_run(&f->session, cot_slice_step, &run, &f->err));
	same(f, &f->session, f->plain, "slice");
}

/* ---- rows ---- */

struct sums {
	uint64_t thread_insns, warp_insns, n_rows, n_bad;
	uint32_t n_sms;
};

static int take_counts(void *arg, uint32_t step, const void *rows, uint32_t n_rows,
		       struct cot_error *err)
{
	const struct cot_count_row *row = rows;
	struct sums *sums = arg;
	uint32_t i;

	(void)step;
	(void)err;
	for (i = 0; i < n_rows; i++) {
		sums->thread_insns += row[i].thread_insns;
		sums->warp_insns += row[i].warp_insns;
		sums->n_bad += row[i].thread_insns < row[i].warp_insns || !row[i].warp_insns;
	}
	sums->n_rows += n_rows;
	return 0;
}

static int take_records(void *arg, uint32_t step, const void *rows, uint32_t n_rows,
			struct cot_error *err)
{
	const struct cot_record_row *row = rows;
	struct sums *sums = arg;
	uint32_t i;

	(void)step;
	(void)err;
	for (i = 0; i < n_rows; i++)
		sums->n_bad += !row[i].begin_ns || row[i].end_ns < row[i].begin_ns ||
			       row[i].sm >= sums->n_sms || !row[i].n_ends;
	sums->n_rows += n_rows;
	return 0;
}

/* The interpreter counts for itself; what it executed is what the pass has counted. */
static void check_counts(const struct fixture *f, const struct sums *sums)
{
	/* Two threads of bfs may find a vertex at once, in one schedule and not in another. */
	uint64_t slack = strcmp(f->bench->name, "bfs") == 0 ? f->stats.n_thread_insns / 100 : 0;

	assert_true(sums->thread_insns >= f->stats.n_thread_insns - slack);
	assert_true(sums->thread_insns <= f->stats.n_thread_insns + slack);
}

static void rows_once(struct fixture *f, enum cot_pass pass)
{
	struct sums sums = {.n_sms = f->machine.base.n_sms};
	struct cot_rows_run run;
	bool count = pass == COT_PASS_COUNT;

	must(f,
	     cot_rows_run_init(&run, &f->session, cot_pass_info(pass)->suffix,
			       count ? sizeof(struct cot_count_row) : sizeof(struct cot_record_row),
			       &f->err));
	run.take = count ? take_counts : take_records;
	run.arg = &sums;
	must(f, cot_session_reset(&f->session, &f->err));
	must(f, cot_session_run(&f->session, cot_rows_step, &run, &f->err));
	same(f, &f->session, f->plain, cot_pass_info(pass)->name);
	assert_int_equal(sums.n_bad, 0);
	assert_int_equal(sums.n_rows, f->stats.n_blocks);
	if (count)
		check_counts(f, &sums);
	cot_rows_run_finish(&run);
}

/* ---- tests ---- */

static void each_seed(const struct cot_bench *bench, uint64_t first, uint64_t n)
{
	uint64_t seed;

	if (left_out(bench))
		return;
	for (seed = first; seed < first + n; seed++) {
		struct cot_rng rng = {cot_mix64(seed)};
		struct fixture f;
		unsigned i;

		set_up(&f, bench, NULL, ALL_PASSES & ~(1u << COT_PASS_FUSE), seed);
		for (i = 0; i < (SLOW_BUILD ? 1 : 2) && taken(&f, COT_PASS_WORKERS); i++)
			workers_once(&f, &rng);
		if (taken(&f, COT_PASS_RETREAT))
			retreat_once(&f, &rng);
		if (taken(&f, COT_PASS_SLICE))
			slice_once(&f, &rng);
		if (taken(&f, COT_PASS_COUNT))
			rows_once(&f, COT_PASS_COUNT);
		if (taken(&f, COT_PASS_RECORD))
			rows_once(&f, COT_PASS_RECORD);
		tear_down(&f);
	}
}

static void passes_keep_results(void **state)
{
	uint64_t n = number_of("COTENANT_TRUTH_SEEDS", 1);
	uint64_t first = number_of("COTENANT_TRUTH_FIRST", 1);
	unsigned i;

	(void)state;
	for (i = 0; i < cot_bench_n_all; i++)
		each_seed(cot_bench_all[i], first, n);
	for (i = 0; i < cot_bench_n_shapes; i++)
		each_seed(cot_bench_shapes[i], first, n);
}

/* Each benchmark with one other; which one depends on the seed. */
static void fused_kernels_keep_results(void **state)
{
	uint64_t n = number_of("COTENANT_TRUTH_SEEDS", 1), seed;
	uint64_t first = number_of("COTENANT_TRUTH_FIRST", 1);
	unsigned i, other;

	(void)state;
	for (seed = first; seed < first + n; seed++) {
		for (i = 0; i < cot_bench_n_all; i++) {
			struct fixture f;

			other = (unsigned)(i + 1 +
					   cot_mix64(seed * cot_bench_n_all + i) %
						   (cot_bench_n_all - 1)) %
				cot_bench_n_all;
			if (left_out(cot_bench_all[i]))
				continue;
			set_up(&f, cot_bench_all[i], cot_bench_all[other], 1u << COT_PASS_FUSE,
			       seed);
			if (taken(&f, COT_PASS_FUSE)) {
				must(&f, cot_session_reset(&f.session, &f.err));
				must(&f, cot_session_reset(&f.partner_session, &f.err));
				must(&f, cot_fuse_run(&f.machine.base,
						      (struct cot_session *[]){&f.session,
									       &f.partner_session},
						      2, false, &f.err));
				same(&f, &f.session, f.plain, "fuse");
				same(&f, &f.partner_session, f.partner_plain, "fuse");
			}
			tear_down(&f);
		}
	}
}

/* On one machine, whose module has what these benchmarks launch together and no more. */
static void fuse_once(struct fixture *f, uint32_t n)
{
	struct cot_session fused[COT_FUSE_MAX], *apart[COT_FUSE_MAX], *sessions[COT_FUSE_MAX];
	struct cot_rewritten rewritten;
	struct exec_machine machine;
	uint32_t i;

	for (i = 0; i < n; i++)
		apart[i] = &f[i].session;
	must(f, cot_rewrite_fused(apart, n, &rewritten, &f->err));
	must(f, exec_machine_init(&machine, rewritten.text, rewritten.size, 4, &f->err));
	machine.seed = f->seed;
	for (i = 0; i < n; i++) {
		must(f, cot_session_init(&fused[i], &machine.base, &f[i].in, &f->err));
		sessions[i] = &fused[i];
	}
	must(f, cot_fuse_run(&machine.base, sessions, n, false, &f->err));
	for (i = 0; i < n; i++) {
		assert_int_equal(fused[i].n_steps, f[i].session.n_steps);
		same(&f[i], &fused[i], f[i].plain, "fuse of several");
		cot_session_finish(&fused[i]);
	}
	exec_machine_finish(&machine);
	cot_rewritten_finish(&rewritten);
}

/* Each benchmark with two or three others. */
static void several_fused_kernels_keep_results(void **state)
{
	uint64_t n = number_of("COTENANT_TRUTH_SEEDS", 1), seed;
	uint64_t first = number_of("COTENANT_TRUTH_FIRST", 1);
	unsigned i, k, at, n_kernels;

	(void)state;
	for (seed = first; seed < first + n; seed++) {
		for (i = 0; i < cot_bench_n_all; i++) {
			struct fixture f[COT_FUSE_MAX];

			if (left_out(cot_bench_all[i]))
				continue;
			at = (unsigned)cot_mix64(seed * cot_bench_n_all + i);
			n_kernels = 3 + at % 2;
			/* Steps of 1 to 3: none comes twice. */
			for (k = 0, at /= 2; k < n_kernels; k++)
				set_up(&f[k],
				       cot_bench_all[(i + k * (1 + at % 3)) % cot_bench_n_all],
				       NULL, 0, seed);
			fuse_once(f, n_kernels);
			for (k = 0; k < n_kernels; k++)
				tear_down(&f[k]);
		}
	}
}

/* Up to five instances in a grid, of different sizes; how many and how large depends on the seed.
 */
static void batch_once(struct fixture *f, struct cot_rng *rng)
{
	struct cot_bench_instance in[MAX_COPIES];
	struct cot_session copies[MAX_COPIES], *sessions[MAX_COPIES];
	void *plain[MAX_COPIES][COT_BENCH_MAX_BUFFERS] = {{NULL}};
	struct cot_batch_run run = {.rewritten = &f->rewritten,
				    .sessions = sessions,
				    .n = 2 + (uint32_t)cot_rng_below(rng, MAX_COPIES - 1)};
	uint32_t most = 0, i, k;

	for (i = 0; i < run.n; i++) {
		uint32_t n_blocks = 1 + (uint32_t)cot_rng_below(rng, f->in.n_blocks);

		must(f, cot_bench_create(&in[i], f->bench, COT_BENCH_TEST, n_blocks, f->seed + i,
					 &f->err));
		must(f, cot_session_init(&copies[i], &f->machine.base, &in[i], &f->err));
		run_plain(f, &copies[i], plain[i]);
		most = copies[i].n_steps > most ? copies[i].n_steps : most;
		must(f, cot_session_reset(&copies[i], &f->err));
		sessions[i] = &copies[i];
	}
	must(f, cot_batch_run(&run, false, &f->err));
	assert_int_equal(run.n_launches, most);
	for (i = 0; i < run.n; i++) {
		same(f, &copies[i], plain[i], "batch");
		for (k = 0; k < COT_BENCH_MAX_BUFFERS; k++)
			free(plain[i][k]);
		cot_session_finish(&copies[i]);
		cot_bench_destroy(&in[i]);
	}
}

static void batched_kernels_keep_results(void **state)
{
	uint64_t n = number_of("COTENANT_TRUTH_SEEDS", 1), seed;
	uint64_t first = number_of("COTENANT_TRUTH_FIRST", 1);
	unsigned i;

	(void)state;
	for (seed = first; seed < first + n; seed++) {
		for (i = 0; i < cot_bench_n_all; i++) {
			struct cot_rng rng = {cot_mix64(seed * cot_bench_n_all + i)};
			struct fixture f;

			if (left_out(cot_bench_all[i]))
				continue;
			set_up(&f, cot_bench_all[i], NULL, 1u << COT_PASS_BATCH, seed);
			if (taken(&f, COT_PASS_BATCH))
				batch_once(&f, &rng);
			tear_down(&f);
		}
	}
}

static void print_totals(void **state)
{
	(void)state;
	print_message("%" PRIu64 " runs of rewritten kernels; %" PRIu64 " flags raised, %" PRIu64
		      " launches of what was left (%" PRIu64 " tasks); %" PRIu64 " refused\n",
		      totals.n_runs, totals.n_evictions, totals.n_resumed, totals.n_left_over,
		      totals.n_refused);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(passes_keep_results),
		cmocka_unit_test(fused_kernels_keep_results),
		cmocka_unit_test(several_fused_kernels_keep_results),
		cmocka_unit_test(batched_kernels_keep_results),
		cmocka_unit_test(print_totals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
