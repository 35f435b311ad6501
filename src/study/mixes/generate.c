/*
 * Draws a scenario. It is written as a file, which the ordinary reader reads: first without
 * arrivals, to see how long each program takes alone; then with them, to see the p99 alone; then
 * with targets.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/units.h"
#include "sim/sim.h"
#include "study/mixes/mixes.h"
#include "trace/scenario_read.h"

/* An H200 has 132 SMs; so few, in units of 1 and with the bandwidth of as many, are played in
 * minutes. */
#define SMS	  COT_MIXES_SMS
#define DRAM_GBPS 254u
/* What a block of the copying kernels moves for each of its instructions, and how fast it all goes.
 */
#define BYTES_PER_INST 1024u
#define BYTES_PER_US   230000u

#define MAX_LATENCY 3u
#define MAX_BATCH   4u

struct latency {
	uint32_t load_pml; /* of the GPU's time */
	uint32_t kernel_us, launches, blocks, occupancy;
	bool eager;	/* the host waits for each kernel */
	bool copies;	/* its kernels are bound by memory */
	uint32_t shape; /* of the arrivals */
	uint32_t on_ms, off_ms, size_cv_pct;
	uint32_t target_pml; /* times alone */
	bool slowdown;	     /* says so; else in time */
	double per_s;
	double alone_p99_us;
};

struct batch {
	uint32_t kind, block_us, waves, gap_us, weight, start_ms;
};

struct draft {
	struct cot_rng rng;
	uint64_t seed;
	struct latency latency[MAX_LATENCY];
	struct batch batch[MAX_BATCH];
	uint32_t n_latency, n_batch;
	char *text;
	size_t n;
};

/* ---- drawing ---- */

static uint32_t draw(struct draft *d, uint32_t from, uint32_t to)
{
	return from + (uint32_t)cot_rng_below(&d->rng, to - from + 1);
}

/* As likely between 1 and 2 as between 2 and 4; `to` is `from` times a power of 2. */
static uint32_t draw_log(struct draft *d, uint32_t from, uint32_t to)
{
	uint32_t doublings = 0;

	while (from << (doublings + 1) <= to)
		doublings++;
	from <<= draw(d, 0, doublings - 1);
	return draw(d, from, 2 * from);
}

enum { SHAPE_POISSON, SHAPE_EVEN, SHAPE_BURSTS, SHAPE_CURVE };

static void draw_arrivals(struct draft *d, struct latency *l)
{
	static const uint32_t shapes[] = {SHAPE_POISSON, SHAPE_POISSON, SHAPE_EVEN, SHAPE_BURSTS,
					  SHAPE_CURVE};

	l->shape = shapes[draw(d, 0, 4)];
	l->on_ms = draw_log(d, 50, 800);
	l->off_ms = l->on_ms * draw(d, 25, 100) / 100;
	l->size_cv_pct = draw(d, 0, 2) ? 0 : draw(d, 10, 60);
}

static void draw_latency(struct draft *d, struct latency *l, uint32_t load_pml)
{
	static const uint32_t targets_pml[] = {1300, 1500, 2000, 4000};
	uint32_t request_us = draw_log(d, 1000, 8000);

	l->load_pml = load_pml;
	l->eager = !draw(d, 0, 3);
	l->launches = l->eager ? draw(d, 4, 10) : 1u << draw(d, 0, 2);
	l->kernel_us = request_us / l->launches;
	l->copies = !draw(d, 0, 3);
	l->occupancy = draw(d, 1, 2);
	/* From less than half of the SMs to two waves. */
	l->blocks = draw(d, 3 * l->occupancy, 14 * l->occupancy);
	l->target_pml = targets_pml[draw(d, 0, 3)];
	l->slowdown = !draw(d, 0, 3);
	draw_arrivals(d, l);
}

/* A matrix product; a training; copies; long blocks. */
enum { KIND_PRODUCT, KIND_TRAINING, KIND_COPIES, KIND_LONG, N_KINDS };

static void draw_batch(struct draft *d, struct batch *b)
{
	static const uint32_t longest_us[N_KINDS] = {3200, 800, 800, 32000};

	b->kind = draw(d, 0, 7) ? draw(d, KIND_PRODUCT, KIND_COPIES) : (uint32_t)KIND_LONG;
	b->block_us = draw_log(d, longest_us[b->kind] / 8, longest_us[b->kind]);
	b->waves = b->kind == KIND_PRODUCT ? draw(d, 2, 12) : draw(d, 1, 3);
	b->gap_us = b->kind == KIND_TRAINING ? draw(d, 20, 300) : 0;
	b->weight = draw(d, 0, 3) ? 100 : draw(d, 50, 200);
	b->start_ms = draw(d, 0, 1) ? draw(d, 100, 2000) : 0;
}

static void draw_all(struct draft *d)
{
	static const uint32_t ns[] = {1, 1, 1, 2, 2, 3};
	uint32_t load_pml = draw(d, 50, 600), i;

	d->n_latency = ns[draw(d, 0, 5)];
	d->n_batch = draw(d, 1, MAX_BATCH);
	for (i = 0; i < d->n_latency; i++)
		draw_latency(d, &d->latency[i], load_pml / d->n_latency);
	for (i = 0; i < d->n_batch; i++)
		draw_batch(d, &d->batch[i]);
}

/* ---- writing ---- */

static void COT_PRINTF(2, 3) put(struct draft *d, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(d->text + d->n, COT_MIX_TEXT_MAX - d->n, fmt, args);
	va_end(args);
	if (n > 0 && d->n + (size_t)n < COT_MIX_TEXT_MAX)
		d->n += (size_t)n;
}

static void put_copying(struct draft *d, uint32_t kernel_us, uint32_t blocks)
{
	uint64_t insts = (uint64_t)kernel_us * BYTES_PER_US / BYTES_PER_INST / blocks;

	put(d,
	    "blocks: %" PRIu32 ", blocks_per_sm: 2, warps_per_block: 16, insts_per_warp: %" PRIu64
	    ", cpi: 2, mem_fraction: 0.5, dram_bytes: 128, mlp: 8, regs_per_block: 16384",
	    blocks, insts ? insts : 1);
}

static void put_arrivals(struct draft *d, const struct latency *l)
{
	static const char *const curves[] = {"[0.3, 0.6, 1.4, 1.7]", "[0.5, 0.5, 1.5, 1.5]",
					     "[0.2, 1.8]"};

	put(d, "    arrivals: {per_s: %.3f", l->per_s);
	if (l->shape == SHAPE_EVEN)
		put(d, ", gaps: even");
	if (l->shape == SHAPE_BURSTS)
		put(d, ", on_us: %" PRIu32 "000, off_us: %" PRIu32 "000", l->on_ms, l->off_ms);
	if (l->shape == SHAPE_CURVE)
		put(d, ", curve: %s, curve_step_us: %" PRIu32 "000", curves[l->on_ms % 3],
		    5 * l->on_ms);
	if (l->size_cv_pct)
		put(d, ", size_cv: 0.%02" PRIu32, l->size_cv_pct);
	put(d, "}\n");
}

static void put_target(struct draft *d, const struct latency *l)
{
	if (l->slowdown)
		put(d, "    slowdown: %" PRIu32 ".%" PRIu32 "x\n", l->target_pml / 1000,
		    l->target_pml % 1000 / 100);
	else
		put(d, "    p99: %.0fus\n", l->alone_p99_us * l->target_pml / 1000);
}

static void put_latency(struct draft *d, uint32_t i)
{
	const struct latency *l = &d->latency[i];
	uint32_t waves = (l->blocks + SMS * l->occupancy - 1) / (SMS * l->occupancy);

	put(d, "  - name: serve%" PRIu32 "\n    class: latency\n", i);
	if (l->alone_p99_us > 0.0)
		put_target(d, l);
	if (l->per_s > 0.0)
		put_arrivals(d, l);
	put(d, "    program:\n      - cpu_us: 50\n");
	if (l->eager)
		put(d,
		    "      - repeat:\n          times: %" PRIu32
		    "\n          program:\n          - cpu_us: 15\n    ",
		    l->launches);
	put(d, "      - kernel: {name: k, ");
	if (l->copies)
		put_copying(d, l->kernel_us, l->blocks);
	else
		put(d,
		    "blocks: %" PRIu32 ", blocks_per_sm: %" PRIu32 ", block_us: %" PRIu32
		    ", regs_per_block: 16384",
		    l->blocks, l->occupancy, l->kernel_us / waves);
	if (!l->eager)
		put(d, ", launches: %" PRIu32, l->launches);
	put(d, "}\n%s      - sync\n", l->eager ? "    " : "");
}

static void put_batch(struct draft *d, uint32_t i)
{
	static const char *const names[N_KINDS] = {"product", "training", "copies", "long"};
	const struct batch *b = &d->batch[i];

	put(d, "  - name: %s%" PRIu32 "\n    weight: %" PRIu32 "\n", names[b->kind], i, b->weight);
	if (b->start_ms)
		put(d, "    start_us: %" PRIu32 "000\n", b->start_ms);
	put(d, "    program:\n");
	if (b->gap_us)
		put(d, "      - cpu_us: %" PRIu32 "\n", b->gap_us);
	put(d, "      - kernel: {name: k, ");
	if (b->kind == KIND_COPIES)
		put_copying(d, b->block_us * b->waves, 2 * SMS * b->waves);
	else
		put(d,
		    "blocks: %" PRIu32 ", blocks_per_sm: 1, block_us: %" PRIu32
		    ", regs_per_block: 32768",
		    SMS * b->waves, b->block_us);
	put(d, "%s}\n      - sync\n", b->kind == KIND_TRAINING ? ", launches: 4" : "");
}

static void write_draft(struct draft *d, uint64_t stop_ms)
{
	uint32_t i;

	d->n = 0;
	put(d,
	    "# Scenario %" PRIu64 " of cotenant compare --random.\n"
	    "schema: cotenant.scenario/1\n"
	    "gpu: {preset: h200, sms: %u, dram_gbps: %u}\n"
	    "scheduler: timeslice\n"
	    "policy: slo\n"
	    "quantum_us: 2048\n"
	    "epoch_cycles: 1000000000\n"
	    "seed: %" PRIu64 "\n"
	    "stop: {at_us: %" PRIu64 "000}\n"
	    "apps:\n",
	    d->seed, SMS, DRAM_GBPS, d->seed, stop_ms);
	for (i = 0; i < d->n_latency; i++)
		put_latency(d, i);
	for (i = 0; i < d->n_batch; i++)
		put_batch(d, i);
}

/* ---- reading ---- */

static int read_draft(const struct draft *d, struct cot_mix *m, struct cot_error *err)
{
	cot_scenario_destroy(m->sc);
	m->sc = NULL;
	return cot_scenario_parse("random", d->text, d->n, NULL, &m->sc, err);
}

static int alone(struct cot_mix *m, uint32_t i)
{
	return cot_sim_isolated_us(m->sc, i, NULL, NULL, &m->alone_us[i]);
}

/* In a burst, or at the top of the curve, no program is busy for more than 0.8 of the time. */
static uint32_t steady_load_pml(const struct latency *l)
{
	uint32_t most_pml = 800;

	if (l->shape == SHAPE_BURSTS)
		most_pml = 800 * l->on_ms / (l->on_ms + l->off_ms);
	if (l->shape == SHAPE_CURVE)
		most_pml = 800 * 10 / 18;
	return l->load_pml < most_pml ? l->load_pml : most_pml;
}

static int add_loads(struct draft *d, struct cot_mix *m, struct cot_error *err)
{
	uint32_t i;
	int rc;

	write_draft(d, 1);
	rc = read_draft(d, m, err);
	for (i = 0; !rc && i < m->sc->n_apps; i++)
		rc = alone(m, i);
	for (i = 0; !rc && i < d->n_latency; i++)
		d->latency[i].per_s = steady_load_pml(&d->latency[i]) * 1000.0 / m->alone_us[i];
	return rc;
}

static int add_targets(struct draft *d, struct cot_mix *m, uint64_t stop_ms, struct cot_error *err)
{
	uint32_t i;
	int rc;

	write_draft(d, stop_ms);
	rc = read_draft(d, m, err);
	for (i = 0; !rc && i < d->n_latency; i++) {
		rc = cot_sim_alone_p99_ps(m->sc, i, NULL, NULL, &m->alone_p99_ps[i]);
		d->latency[i].alone_p99_us = cot_us_from_ps(m->alone_p99_ps[i]);
	}
	if (rc)
		return rc;
	write_draft(d, stop_ms);
	return read_draft(d, m, err);
}

int cot_mix_make(uint64_t seed, struct cot_mix **ret_mix, struct cot_error *err)
{
	struct draft d = {.rng = {cot_hash64(seed, 'm')}, .seed = seed};
	struct cot_mix *m = calloc(1, sizeof(*m));
	int rc;

	if (!m)
		return -ENOMEM;
	m->seed = seed;
	d.text = m->text;
	draw_all(&d);
	rc = add_loads(&d, m, err);
	if (!rc)
		rc = add_targets(&d, m, COT_MIX_END_MS, err);
	if (rc)
		cot_mix_destroy(m);
	else
		*ret_mix = m;
	return rc;
}

void cot_mix_destroy(struct cot_mix *m)
{
	if (!m)
		return;
	cot_scenario_destroy(m->sc);
	free(m);
}
