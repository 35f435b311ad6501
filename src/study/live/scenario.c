/* A scenario from what each program does alone. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/series.h"
#include "study/live/live.h"

#define SMS 132u
#define PIECE_US                                                                                 \
	20.0 /* kernels of a network are about so long: which has no effect but where they share \
		SMs */
#define NORMAL_P99 2.326 /* of the normal distribution */

struct draft {
	char *text;
	size_t n;
	bool cut;
	const struct cot_live_case *c;
	const struct cot_live_gpu *gpu;
	struct cot_live_pace pace;
	double copy_insts;
};

static void COT_PRINTF(2, 3) put(struct draft *d, const char *fmt, ...)
{
	size_t room = COT_LIVE_SCENARIO_MAX - d->n;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(d->text + d->n, room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		d->cut = true;
	else
		d->n += (size_t)n;
}

static bool on_parts(const struct draft *d)
{
	return d->c->way->policy == COT_LIVE_PARTS;
}

/* ---- latency programs ---- */

/* As if the logarithm of their times were normally distributed, by the p50 and p99 alone. */
static double size_cv(const struct cot_live_app *a)
{
	double ratio = a->alone_p99_us / a->alone_us;

	return ratio > 1.0 ? cot_ln_series(ratio < 5.0 ? ratio : 5.0) / NORMAL_P99 : 0.0;
}

/* Who gets the GPU or a pool of it has all SMs; so blocks for all of them, or no other can be sent
 * away. */
static void put_whole(struct draft *d, double us)
{
	put(d,
	    "      - kernel: {name: answer, blocks: %u, kernel_us: %.3f, blocks_per_sm: 1, "
	    "regs_per_block: 16384}\n",
	    SMS, us);
}

static void put_waves(struct draft *d, const struct cot_waves *w)
{
	uint32_t i, pieces;

	for (i = 0; i < w->n; i++) {
		double us = w->block_us[i] * d->pace.others;

		pieces = (uint32_t)(us / PIECE_US) + 1;
		put(d,
		    "      - kernel: {name: answer%u, blocks: %u, block_us: %.3f, blocks_per_sm: 1, "
		    "regs_per_block: 16384, launches: %u}\n",
		    w->blocks[i], w->blocks[i], us / pieces > 1e-6 ? us / pieces : 1e-6, pieces);
	}
}

static void put_answer(struct draft *d, const struct cot_live_app *a)
{
	double us = (a->alone_us * a->pool_factor - d->gpu->host_us) * d->pace.others;

	if (!on_parts(d))
		put_whole(d, us);
	else if (a->program->shape == COT_LIVE_NETWORK)
		put_waves(d, &a->waves);
	else
		put(d,
		    "      - kernel: {name: answer, blocks: %u, kernel_us: %.3f, blocks_per_sm: 1, "
		    "regs_per_block: 16384}\n",
		    a->program->n, us);
}

static void put_latency(struct draft *d, const struct cot_live_app *a, uint32_t n_latency)
{
	put(d, "    class: latency\n");
	if (d->c->way->latency_sms)
		put(d, "    sms: %usm\n", d->c->way->latency_sms / n_latency);
	put(d, "    arrivals: {per_s: %.6g, gaps: %s, size_cv: %.4f}\n", 1e6 / a->program->gap_us,
	    a->program->open ? "random" : "after", size_cv(a));
	/* Of the host's time half is before the kernel and half after it: our choice. */
	put(d, "    program:\n      - cpu_us: %.3f\n", d->gpu->host_us / 2);
	put_answer(d, a);
	put(d, "      - sync\n      - cpu_us: %.3f\n", d->gpu->host_us / 2);
}

/* ---- batch programs ---- */

/* As the copy of bench/contention in the model (cotenant model check: copy16x2/64), in blocks of
 * 512 threads. */
static void put_copy(struct draft *d, const struct cot_live_app *a)
{
	put(d,
	    "      - kernel: {name: copy, blocks: %u, blocks_per_sm: 4, warps_per_block: 16, "
	    "insts_per_warp: %.0f, cpi: 1, mem_fraction: 0.3333, dram_bytes: 596, mlp: 2, ipc_max: 0.289, "
	    "regs_per_block: 16384}\n",
	    a->program->n, d->copy_insts);
}

static void put_kernels(struct draft *d, const struct cot_live_app *a)
{
	bool training = a->program->shape == COT_LIVE_TRAINING;
	double us = a->alone_us * (a->program->hot ? d->pace.hot : d->pace.others);

	put(d,
	    "      - kernel: {name: work, blocks: %u, kernel_us: %.3f, blocks_per_sm: 1, "
	    "regs_per_block: 65536, launches: %u}\n",
	    training ? SMS : a->program->n, training ? us / a->program->n : us,
	    training ? a->program->n : 1);
}

static void put_batch(struct draft *d, const struct cot_live_app *a, uint32_t n_batch)
{
	if (on_parts(d))
		put(d, "    sms: %usm\n", d->c->way->batch_sms / n_batch);
	put(d, "    program:\n");
	if (a->program->shape == COT_LIVE_ENGINE)
		put(d, "      - cpu_us: %.3f\n", a->alone_us);
	else if (a->program->shape == COT_LIVE_COPY && on_parts(d))
		put_copy(d, a);
	else
		put_kernels(d, a);
	put(d, "      - sync\n");
}

/* ---- all ---- */

static uint32_t n_latency_of(const struct cot_live_case *c)
{
	uint32_t n = 0, i;

	for (i = 0; i < c->n_apps; i++)
		n += c->apps[i].latency;
	return n;
}

int cot_live_scenario(const struct cot_live_case *c, const struct cot_live_gpu *g,
		      const struct cot_live_pace *pace, double copy_insts,
		      char ret_text[COT_LIVE_SCENARIO_MAX])
{
	struct draft d = {
		.text = ret_text, .c = c, .gpu = g, .pace = *pace, .copy_insts = copy_insts};
	uint32_t n_latency = n_latency_of(c), i;

	put(&d,
	    "# %s in the way %s, from what each program does alone.\n"
	    "schema: cotenant.scenario/1\n"
	    "gpu: {preset: h200, switch_us: %.3f, resume_us: %.3f}\n"
	    "scheduler: timeslice\npolicy: %s\nquantum_us: 2048\nseed: 1\nstop: {at_us: %u000000}\n"
	    "apps:\n",
	    c->group, c->way->window, g->switch_us, g->resume_us, cot_live_policies[c->way->policy],
	    COT_LIVE_SECONDS);
	for (i = 0; i < c->n_apps; i++) {
		const struct cot_live_app *a = &c->apps[i];
		uint32_t number = (a->latency ? i : i - n_latency) + 1;

		put(&d, "  - name: %c%u %s\n", a->latency ? 'L' : 'B', number, a->program->name);
		if (a->latency)
			put_latency(&d, a, n_latency);
		else
			put_batch(&d, a, c->n_apps - n_latency);
	}
	return d.cut ? -ENOSPC : 0;
}
