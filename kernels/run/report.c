#include "kernels/run/report.h"

#include <inttypes.h>

#include "base/quote.h"

static const char *truth(bool value)
{
	return value ? "true" : "false";
}

void cot_report_machine(FILE *out, const struct cot_cuda *cuda, const struct cot_options *options)
{
	fputc('{', out);
	cot_quote_write_member(out, "gpu", cuda->name);
	fprintf(out,
		",\"driver\":%d,\"compute_capability\":%d,\"n_sms\":%d,\"size\":\"%s\","
		"\"seed\":%" PRIu64 "}\n",
		cuda->driver_version, cuda->capability, cuda->n_sms,
		cot_bench_size_name(options->size), options->seed);
}

void cot_report_failure(FILE *out, const struct cot_bench *bench, const struct cot_error *err)
{
	fputc('{', out);
	cot_quote_write_member(out, "benchmark", bench->name);
	fputc(',', out);
	cot_quote_write_member(out, "failed", err->text);
	fputs("}\n", out);
}

static void times(FILE *out, const char *name, const struct cot_times *t)
{
	uint32_t i;

	if (!t->n)
		return;
	fprintf(out,
		",\"%s\":{\"n\":%u,\"median_us\":%.2f,\"min_us\":%.2f,\"max_us\":%.2f,"
		"\"all_us\":[",
		name, t->n, cot_times_quantile(t, 0.5), cot_times_quantile(t, 0.0),
		cot_times_quantile(t, 1.0));
	for (i = 0; i < t->n; i++)
		fprintf(out, "%s%.2f", i ? "," : "", t->us[i]);
	fputs("]}", out);
}

/* The host's time for all launches, and what came of launching copies together. */
static void batch(FILE *out, const struct cot_experiment *e)
{
	const struct cot_copies *c = &e->copies;

	fprintf(out, ",\"copies\":%u,\"launches\":%u,\"apart_launches\":%u", c->n,
		c->run.n_launches, c->n_apart);
	if (!e->options->no_reference)
		fprintf(out, ",\"right\":%s,\"n_checked\":%" PRIu64 ",\"n_wrong\":%" PRIu64,
			truth(!c->verdict.n_wrong), c->verdict.n_checked, c->verdict.n_wrong);
	if (c->verdict.n_wrong) {
		fputc(',', out);
		cot_quote_write_member(out, "first_wrong", c->verdict.text);
	}
	times(out, "apart", &e->apart);
	if (e->apart_host.n)
		fprintf(out, ",\"apart_host_us\":%.2f", cot_times_quantile(&e->apart_host, 0.5));
}

static void plain(FILE *out, const struct cot_experiment *e)
{
	if (e->options->no_reference)
		return;
	fprintf(out, ",\"right\":%s,\"n_checked\":%" PRIu64 ",\"n_wrong\":%" PRIu64,
		truth(e->right), e->verdict.n_checked, e->verdict.n_wrong);
	if (!e->right) {
		fputc(',', out);
		cot_quote_write_member(out, "first_wrong", e->verdict.text);
	}
}

static void workers(FILE *out, const struct cot_experiment *e, const struct cot_variant *v)
{
	const struct cot_evictions *ev = &e->evictions;

	fprintf(out, ",\"quota_sms\":%u", e->quota);
	fprintf(out, ",\"n_workers\":%u,\"chunk\":%u", v->workers.args[0].n_workers,
		v->workers.args[0].chunk);
	if (!ev->n_runs)
		return;
	fprintf(out,
		",\"eviction_runs\":%u,\"eviction_same\":%s,\"resumed\":%u,\"left_over\":%" PRIu64
		",\"evicted_in_time\":%u",
		ev->n_runs, truth(ev->same), ev->n_resumed, ev->n_left_over, ev->n_in_time);
	times(out, "eviction", &ev->latency);
}

static void variant(FILE *out, const struct cot_experiment *e, uint32_t pass)
{
	const struct cot_variant *v = &e->variants[pass];
	double base = cot_times_quantile(&e->variants[COT_PLAIN].times, 0.5);

	if (pass == COT_PASS_FUSE)
		base += cot_times_quantile(&e->partner_times, 0.5);
	if (pass == COT_PASS_BATCH)
		base = cot_times_quantile(&e->apart, 0.5);

	fputc('{', out);
	cot_quote_write_member(out, "benchmark", e->bench->name);
	fprintf(out, ",\"pass\":\"%s\"", v->name);
	if (v->refusal || v->failed) {
		fputc(',', out);
		cot_quote_write_member(out, v->refusal ? "refused" : "failed",
				       v->refusal ? v->refusal->text : v->error.text);
		fputs("}\n", out);
		return;
	}
	fprintf(out, ",\"same\":%s,\"n_different\":%" PRIu64 ",\"blocks\":%u", truth(v->same),
		v->n_different, e->in.n_blocks);
	if (pass == COT_PASS_BATCH)
		batch(out, e);
	else
		fprintf(out, ",\"launches\":%u", e->session.n_steps);
	fprintf(out, ",\"registers\":%d,\"local_bytes\":%d,\"shared_bytes\":%d,\"per_sm\":%d",
		v->registers, v->local_bytes, v->shared_bytes, v->per_sm);
	if (pass == COT_PLAIN)
		plain(out, e);
	if (pass == COT_PASS_WORKERS)
		workers(out, e, v);
	if (pass == COT_PASS_RETREAT)
		fprintf(out,
			",\"quota_sms\":%u,\"n_workers\":%u,\"resumed\":%u,\"left_over\":%" PRIu64,
			e->quota, v->retreat.args[0].n_allowed * v->retreat.args[0].workers,
			v->retreat.n_resumed, v->retreat.n_left_over);
	if (pass == COT_PASS_SLICE || pass == COT_VIRTUAL)
		fprintf(out, ",\"slice\":%u", v->slice.n_blocks);
	if (pass == COT_PASS_FUSE)
		fprintf(out, ",\"with\":\"%s\"", e->partner->name);
	if (pass == COT_PASS_COUNT)
		fprintf(out,
			",\"thread_insns\":%" PRIu64 ",\"warp_insns\":%" PRIu64
			",\"read_bytes\":%" PRIu64 ",\"written_bytes\":%" PRIu64,
			e->counts.thread_insns, e->counts.warp_insns, e->counts.read_bytes,
			e->counts.written_bytes);
	if (pass == COT_PASS_RECORD)
		fprintf(out, ",\"blocks_not_seen\":%" PRIu64, e->n_rows_bad);
	times(out, "time", &v->times);
	if (v->host.n)
		fprintf(out, ",\"host_us\":%.2f", cot_times_quantile(&v->host, 0.5));
	if (v->times.n && base > 0)
		fprintf(out, ",\"ratio\":%.4f", cot_times_quantile(&v->times, 0.5) / base);
	fputs("}\n", out);
}

void cot_report_experiment(FILE *out, const struct cot_experiment *e)
{
	uint32_t i;

	variant(out, e, COT_PLAIN);
	for (i = 0; i < COT_N_VARIANTS; i++)
		if (i != COT_PLAIN && e->variants[i].wanted)
			variant(out, e, i);
}

static void list(FILE *out, const struct cot_bench *const *benches, unsigned n)
{
	uint32_t i, k;

	for (i = 0; i < n; i++) {
		const struct cot_bench *b = benches[i];

		fprintf(out, "%-15s %-24s %7u", b->name, b->entry, b->n_threads);
		for (k = 0; k < COT_BENCH_N_SIZES; k++)
			fprintf(out, " %8u", b->blocks[k]);
		fprintf(out, "  %s\n", b->summary);
	}
}

void cot_report_list(FILE *out)
{
	uint32_t k;

	fprintf(out, "%-15s %-24s %7s", "benchmark", "kernel", "threads");
	for (k = 0; k < COT_BENCH_N_SIZES; k++)
		fprintf(out, " %8s", cot_bench_size_name((enum cot_bench_size)k));
	fprintf(out, "  what it does\n");
	list(out, cot_bench_all, cot_bench_n_all);
	fprintf(out, "\nshapes: small kernels that passes have trouble with\n");
	list(out, cot_bench_shapes, cot_bench_n_shapes);
}
