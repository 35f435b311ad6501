#include "model/place.h"

#include <errno.h>
#include <float.h>
#include <string.h>

#include "base/units.h"

#define ROUNDS_MAX 64u
#define EVENTS_MAX 512u
#define DONE	   1e-9 /* of a block; what rounding leaves of blocks that end together */

/* Blocks of one kernel that started on an SM at the same time. */
struct cohort {
	uint32_t kernel, n;
	double left; /* of a block, 1 to 0 */
};

/* What a block takes of an SM. */
struct needs {
	uint32_t slots, threads, regs, shmem;
};

struct group {
	uint32_t first, n_sms;
	uint32_t n_cohorts;
	struct cohort cohorts[COT_MODEL_SLOTS_MAX];
	struct needs used;
	double rate[COT_MODEL_SET_MAX]; /* blocks per cycle that one block of a kernel makes */
	double bw_gbps;			/* BW_per_warp of the big block */
	uint32_t ran[COT_MODEL_SET_MAX];
	double end;
	bool changed;
};

struct engine {
	const struct cot_model_gpu *gpu;
	uint32_t n;
	struct cot_model_warp warps[COT_MODEL_SET_MAX];
	uint32_t warps_per_block[COT_MODEL_SET_MAX];
	struct needs needs[COT_MODEL_SET_MAX];
	double grain[COT_MODEL_SET_MAX]; /* real blocks that one of ours stands for */
	uint32_t waiting[COT_MODEL_SET_MAX];
	uint32_t head; /* the kernel whose blocks go next */
	struct group groups[COT_MODEL_SMS_MAX];
	uint32_t n_groups;
	double mwp_peak, now;
};

/* ---- what blocks need ---- */

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static struct needs needs_of(const struct cot_model_kernel *k)
{
	return (struct needs){1, k->threads_per_block, k->regs_per_block, k->shmem_per_block};
}

/*
 * A block of the consolidated kernel: the threads of the largest, each with the registers of the
 * neediest, and the largest shared memory, which the kernels use one instead of the other.
 */
static struct needs merged_needs(const struct cot_model_kernel *kernels, uint32_t n)
{
	struct needs all = {1, 0, 0, 0};
	uint64_t regs;
	uint32_t i;

	for (i = 0; i < n; i++) {
		all.threads = max_u32(all.threads, kernels[i].threads_per_block);
		all.shmem = max_u32(all.shmem, kernels[i].shmem_per_block);
	}
	for (i = 0; i < n; i++) {
		regs = cot_div_up((uint64_t)kernels[i].regs_per_block * all.threads,
				  kernels[i].threads_per_block);
		all.regs = max_u32(all.regs, regs < UINT32_MAX ? (uint32_t)regs : UINT32_MAX);
	}
	return all;
}

static bool fits(const struct cot_model_gpu *gpu, const struct needs *used,
		 const struct needs *more)
{
	return used->slots < gpu->blocks_per_sm && used->slots < COT_MODEL_SLOTS_MAX &&
	       more->threads <= gpu->threads_per_sm - used->threads &&
	       more->regs <= gpu->regs_per_sm - used->regs &&
	       more->shmem <= gpu->shmem_per_sm - used->shmem;
}

static void take(struct needs *used, const struct needs *more, uint32_t n)
{
	used->slots += n * more->slots;
	used->threads += n * more->threads;
	used->regs += n * more->regs;
	used->shmem += n * more->shmem;
}

static void give_back(struct needs *used, const struct needs *less, uint32_t n)
{
	used->slots -= n * less->slots;
	used->threads -= n * less->threads;
	used->regs -= n * less->regs;
	used->shmem -= n * less->shmem;
}

static uint32_t room_for(const struct cot_model_gpu *gpu, const struct needs *needs)
{
	struct needs used = {0};

	while (fits(gpu, &used, needs))
		take(&used, needs, 1);
	return used.slots;
}

/* ---- blocks to SMs ---- */

/* The first m SMs of group g become a group of their own; the rest follows it. A group is cut only
 * where the blocks of a kernel run out, so there are never more than kernels + 1. */
static void cut(struct engine *e, uint32_t g, uint32_t m)
{
	struct group *group = &e->groups[g];

	memmove(group + 1, group, (e->n_groups - g) * sizeof(*group));
	e->n_groups++;
	group[0].n_sms = m;
	group[1].first += m;
	group[1].n_sms -= m;
}

static void start_block(struct engine *e, struct group *g, uint32_t kernel)
{
	struct cohort *last = g->n_cohorts ? &g->cohorts[g->n_cohorts - 1] : NULL;

	if (last && last->kernel == kernel && last->left >= 1)
		last->n++;
	else
		g->cohorts[g->n_cohorts++] = (struct cohort){kernel, 1, 1};
	take(&g->used, &e->needs[kernel], 1);
	g->ran[kernel]++;
	g->changed = true;
}

static void next_head(struct engine *e)
{
	while (e->head < e->n && !e->waiting[e->head])
		e->head++;
}

/* One block to every SM of the group; false when there is none or no room. */
static bool give_blocks(struct engine *e, uint32_t g)
{
	uint32_t k = e->head;

	if (k == e->n || !fits(e->gpu, &e->groups[g].used, &e->needs[k]))
		return false;
	if (e->waiting[k] < e->groups[g].n_sms)
		cut(e, g, e->waiting[k]);
	e->waiting[k] -= e->groups[g].n_sms;
	start_block(e, &e->groups[g], k);
	next_head(e);
	return true;
}

static void dispatch(struct engine *e)
{
	uint32_t g;
	bool gave;

	do {
		gave = false;
		for (g = 0; g < e->n_groups; g++)
			if (give_blocks(e, g))
				gave = true;
	} while (gave);
}

/* ---- progress ---- */

static void mix_of(const struct engine *e, const struct group *g, double *ret_blocks,
		   struct cot_model_mix *ret_mix)
{
	uint32_t i;

	memset(ret_blocks, 0, e->n * sizeof(*ret_blocks));
	for (i = 0; i < g->n_cohorts; i++)
		ret_blocks[g->cohorts[i].kernel] += g->cohorts[i].n;
	cot_model_mix_of(e->warps, e->warps_per_block, ret_blocks, e->n, ret_mix);
}

/* How long a warp of the kernel needs in the mixture, up to a factor that all kernels share. */
static double cost(const struct cot_model_warp *w, const struct cot_model_sm_time *t,
		   double n_warps)
{
	switch (t->equation) {
	case 4:
		return w->mem_cycles + w->comp_cycles;
	case 5:
		return w->mem_cycles * n_warps / t->mwp + w->comp_cycles;
	default:
		return w->comp_cycles;
	}
}

/*
 * The big block as a whole takes the time of the equations. A kernel's blocks take a part that
 * goes with their cost, such that the mean over the warps is the time of the whole.
 */
static void set_rates(const struct engine *e, struct group *g)
{
	double blocks[COT_MODEL_SET_MAX], costs[COT_MODEL_SET_MAX], sum = 0, cycles;
	struct cot_model_sm_time t;
	struct cot_model_mix mix;
	uint32_t i;

	g->changed = false;
	if (!g->n_cohorts)
		return;
	mix_of(e, g, blocks, &mix);
	cot_model_sm_time(&mix, e->mwp_peak, &t);
	for (i = 0; i < e->n; i++) {
		costs[i] = cost(&e->warps[i], &t, mix.n_warps);
		sum += costs[i] * blocks[i] * e->warps_per_block[i];
	}
	cycles = (t.cycles + t.sync_cycles) * mix.n_warps / sum;
	for (i = 0; i < e->n; i++)
		g->rate[i] = 1 / (cycles * costs[i] * e->grain[i]);
}

static void share_bandwidth(struct engine *e)
{
	double blocks[COT_MODEL_SET_MAX], sum = 0;
	struct cot_model_mix mix;
	uint32_t g;

	for (g = 0; g < e->n_groups; g++) {
		struct group *group = &e->groups[g];

		if (group->changed) {
			group->bw_gbps = 0;
			if (group->n_cohorts) {
				mix_of(e, group, blocks, &mix);
				group->bw_gbps = mix.mean.bw_gbps;
			}
		}
		sum += group->bw_gbps * group->n_sms;
	}
	e->mwp_peak = cot_model_mwp_peak(e->gpu, sum);
}

static void update_rates(struct engine *e, bool all)
{
	uint32_t g;

	for (g = 0; g < e->n_groups; g++)
		if (all || e->groups[g].changed)
			set_rates(e, &e->groups[g]);
}

/* Cycles until the next block ends; DBL_MAX when nothing runs. */
static double next_end(const struct engine *e)
{
	double best = DBL_MAX, t;
	uint32_t g, i;

	for (g = 0; g < e->n_groups; g++)
		for (i = 0; i < e->groups[g].n_cohorts; i++) {
			const struct cohort *c = &e->groups[g].cohorts[i];

			t = c->left / e->groups[g].rate[c->kernel];
			if (t < best)
				best = t;
		}
	return best;
}

static void advance(struct engine *e, struct group *g, double cycles, double *end_cycles)
{
	uint32_t i, kept = 0;

	for (i = 0; i < g->n_cohorts; i++) {
		struct cohort c = g->cohorts[i];

		c.left -= cycles * g->rate[c.kernel];
		if (c.left > DONE) {
			g->cohorts[kept++] = c;
			continue;
		}
		give_back(&g->used, &e->needs[c.kernel], c.n);
		end_cycles[c.kernel] = e->now;
		g->end = e->now;
		g->changed = true;
	}
	g->n_cohorts = kept;
}

/*
 * When only blocks of one kernel run, the same number on every SM, and more of them wait, then
 * after the time of a block all is as before, but for those that waited. Such rounds are skipped at
 * once.
 */
static void skip_rounds(struct engine *e)
{
	uint32_t k = e->head, resident = 0, rounds, g, i, here[COT_MODEL_SMS_MAX];

	if (k == e->n)
		return;
	for (g = 0; g < e->n_groups; g++) {
		const struct group *group = &e->groups[g];

		here[g] = 0;
		for (i = 0; i < group->n_cohorts; i++) {
			if (group->cohorts[i].kernel != k)
				return;
			here[g] += group->cohorts[i].n;
		}
		if (!here[g] || here[g] != here[0])
			return;
		resident += here[g] * group->n_sms;
	}
	rounds = e->waiting[k] / resident;
	e->now += rounds / e->groups[0].rate[k];
	e->waiting[k] -= rounds * resident;
	for (g = 0; g < e->n_groups; g++)
		e->groups[g].ran[k] += rounds * here[g];
	next_head(e);
}

/* Plays until nothing runs. false: that would take more events. */
static bool run(struct engine *e, bool piecewise, uint32_t events_max, double *end_cycles)
{
	uint32_t events, g;
	double cycles;

	for (events = 0; events < events_max; events++) {
		skip_rounds(e);
		cycles = next_end(e);
		if (cycles >= DBL_MAX)
			return true;
		e->now += cycles;
		for (g = 0; g < e->n_groups; g++)
			advance(e, &e->groups[g], cycles, end_cycles);
		dispatch(e);
		if (piecewise)
			share_bandwidth(e);
		update_rates(e, piecewise);
	}
	return false;
}

/* ---- the set ---- */

/* All blocks one by one, or so few that those of a kernel make at most some ROUNDS_MAX rounds. */
static int set_grain(struct engine *e, const struct cot_model_kernel *kernels, bool coarse)
{
	uint32_t i, room, by;
	double rounds;

	for (i = 0; i < e->n; i++) {
		room = room_for(e->gpu, &e->needs[i]);
		if (!room || !kernels[i].n_blocks)
			return -EINVAL;
		rounds = (double)kernels[i].n_blocks / ((double)room * e->gpu->n_sms);
		by = coarse && rounds > ROUNDS_MAX ? (uint32_t)(rounds / ROUNDS_MAX) + 1 : 1;
		e->waiting[i] = kernels[i].n_blocks / by + (kernels[i].n_blocks % by ? 1 : 0);
		e->grain[i] = (double)kernels[i].n_blocks / e->waiting[i];
	}
	return 0;
}

static int init(struct engine *e, const struct cot_model_gpu *gpu,
		const struct cot_model_kernel *kernels, uint32_t n, bool concurrent, bool coarse)
{
	uint32_t i;

	memset(e, 0, sizeof(*e));
	e->gpu = gpu;
	e->n = n;
	for (i = 0; i < n; i++) {
		cot_model_warp_of(gpu, &kernels[i], &e->warps[i]);
		e->warps_per_block[i] = cot_model_warps_per_block(&kernels[i]);
		e->needs[i] = concurrent ? needs_of(&kernels[i]) : merged_needs(kernels, n);
	}
	e->groups[0].n_sms = gpu->n_sms;
	e->n_groups = 1;
	return set_grain(e, kernels, coarse);
}

static void report(const struct engine *e, const struct cot_model_kernel *kernels,
		   struct cot_model_set *set)
{
	uint32_t g, i;

	set->cycles = e->now;
	set->seconds = e->now / (e->gpu->clock_ghz * 1e9);
	for (i = 0; i < e->n; i++)
		set->transfer_s += cot_model_transfer_s(e->gpu, &kernels[i]);
	set->n_sms = e->n_groups;
	for (g = 0; g < e->n_groups; g++) {
		const struct group *group = &e->groups[g];

		set->sms[g] = (struct cot_model_sms){.first = group->first, .n = group->n_sms};
		set->sms[g].end_cycles = group->end;
		for (i = 0; i < e->n; i++)
			set->sms[g].blocks[i] = group->ran[i] * e->grain[i];
		if (group->end > set->sms[set->critical].end_cycles)
			set->critical = g;
	}
}

int cot_model_set_time(const struct cot_model_gpu *gpu, const struct cot_model_kernel *kernels,
		       uint32_t n, const struct cot_model_options *options,
		       struct cot_model_set *ret)
{
	struct engine e;
	bool coarse = false, done;
	int rc;

	if (!n || n > COT_MODEL_SET_MAX)
		return -EINVAL;
	do {
		rc = init(&e, gpu, kernels, n, options->concurrent, coarse);
		if (rc)
			return rc;
		memset(ret, 0, sizeof(*ret));
		dispatch(&e);
		share_bandwidth(&e);
		ret->mwp_peak = e.mwp_peak;
		update_rates(&e, true);
		done = run(&e, options->piecewise, coarse ? UINT32_MAX : EVENTS_MAX,
			   ret->end_cycles);
		coarse = true;
	} while (!done);
	report(&e, kernels, ret);
	return 0;
}

double cot_model_layout_cycles(const struct cot_model_gpu *gpu,
			       const struct cot_model_kernel *kernels, uint32_t n,
			       struct cot_model_sms *sms, uint32_t n_sms)
{
	struct cot_model_warp warps[COT_MODEL_SET_MAX];
	struct cot_model_mix mixes[COT_MODEL_SMS_MAX];
	uint32_t warps_per_block[COT_MODEL_SET_MAX], i;
	double sum = 0, longest = 0, peak;

	for (i = 0; i < n; i++) {
		cot_model_warp_of(gpu, &kernels[i], &warps[i]);
		warps_per_block[i] = cot_model_warps_per_block(&kernels[i]);
	}
	for (i = 0; i < n_sms; i++) {
		cot_model_mix_of(warps, warps_per_block, sms[i].blocks, n, &mixes[i]);
		if (mixes[i].n_warps > 0)
			sum += mixes[i].mean.bw_gbps * sms[i].n;
	}
	peak = cot_model_mwp_peak(gpu, sum);
	for (i = 0; i < n_sms; i++) {
		struct cot_model_sm_time t;

		sms[i].end_cycles = 0;
		if (mixes[i].n_warps <= 0)
			continue;
		cot_model_sm_time(&mixes[i], peak, &t);
		sms[i].end_cycles = t.cycles + t.sync_cycles;
		if (sms[i].end_cycles > longest)
			longest = sms[i].end_cycles;
	}
	return longest;
}
