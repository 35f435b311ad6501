#include "model/place.h"

#include <errno.h>
#include <float.h>
#include <stddef.h>
#include <string.h>

#include "base/units.h"
#include "model/number.h"

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
	struct needs used;
	double blocks[COT_MODEL_SET_MAX]; /* that are here now */
	double mixed[COT_MODEL_SET_MAX];  /* of which `mix` and `rate` are */
	struct cot_model_mix mix;
	double rate[COT_MODEL_SET_MAX]; /* blocks per cycle that one block of a kernel makes */
	bool stale;			/* the rates are of another mix or bandwidth */
	uint32_t ran[COT_MODEL_SET_MAX];
	double end;
	struct cohort cohorts[COT_MODEL_SLOTS_MAX];
};

struct engine {
	const struct cot_model_gpu *gpu;
	uint32_t n;
	struct cot_model_warp warps[COT_MODEL_SET_MAX];
	uint32_t warps_per_block[COT_MODEL_SET_MAX];
	struct needs needs[COT_MODEL_SET_MAX];
	double grain[COT_MODEL_SET_MAX]; /* real blocks that one of ours represents */
	double factor[COT_MODEL_SET_MAX];
	double hidden[COT_MODEL_SET_MAX]; /* cycles of a block that others on its SM can use */
	uint32_t waiting[COT_MODEL_SET_MAX];
	uint32_t head; /* the kernel whose blocks go next */
	struct group groups[COT_MODEL_SMS_MAX];
	uint32_t n_groups;
	double mwp_peak, now;
};

/* ---- what blocks need ---- */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

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

static uint32_t room_of(uint32_t all, uint32_t used, uint32_t more, uint32_t most)
{
	return more ? min_u32((all - used) / more, most) : most;
}

/* How many more blocks fit. */
static uint32_t room_for(const struct cot_model_gpu *gpu, const struct needs *used,
			 const struct needs *needs)
{
	uint32_t n;

	if (!fits(gpu, used, needs))
		return 0;
	n = min_u32(gpu->blocks_per_sm, COT_MODEL_SLOTS_MAX) - used->slots;
	n = room_of(gpu->threads_per_sm, used->threads, needs->threads, n);
	n = room_of(gpu->regs_per_sm, used->regs, needs->regs, n);
	return room_of(gpu->shmem_per_sm, used->shmem, needs->shmem, n);
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

static void start_blocks(struct engine *e, struct group *g, uint32_t kernel, uint32_t n)
{
	struct cohort *last = g->n_cohorts ? &g->cohorts[g->n_cohorts - 1] : NULL;

	if (last && last->kernel == kernel && last->left >= 1)
		last->n += n;
	else
		g->cohorts[g->n_cohorts++] = (struct cohort){kernel, n, 1};
	take(&g->used, &e->needs[kernel], n);
	g->blocks[kernel] += n;
	g->ran[kernel] += n;
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
	start_blocks(e, &e->groups[g], k, 1);
	next_head(e);
	return true;
}

/* When more blocks wait than there is room for, every SM gets what it has room for, at once. false:
 * there are not so many, so it matters which SM is the first. */
static bool fill(struct engine *e)
{
	uint32_t k = e->head, room[COT_MODEL_SMS_MAX], g;
	uint64_t n = 0;

	if (k == e->n)
		return false;
	for (g = 0; g < e->n_groups; g++) {
		room[g] = room_for(e->gpu, &e->groups[g].used, &e->needs[k]);
		n += (uint64_t)room[g] * e->groups[g].n_sms;
	}
	if (n >= e->waiting[k])
		return false;
	e->waiting[k] -= (uint32_t)n;
	for (g = 0; g < e->n_groups; g++)
		if (room[g])
			start_blocks(e, &e->groups[g], k, room[g]);
	return true;
}

static void dispatch(struct engine *e)
{
	uint32_t g;
	bool gave;

	if (fill(e))
		return;
	do {
		gave = false;
		for (g = 0; g < e->n_groups; g++)
			if (give_blocks(e, g))
				gave = true;
	} while (gave);
}

/* ---- progress ---- */

/* Most blocks are followed by one of the same kernel; then all stays as it is. */
static void mix_blocks(struct engine *e)
{
	struct group *g;
	uint32_t i;
	bool same;

	for (g = e->groups; g < e->groups + e->n_groups; g++) {
		same = true;
		for (i = 0; i < e->n && g->n_cohorts; i++) {
			if (g->blocks[i] == g->mixed[i])
				continue;
			g->mixed[i] = g->blocks[i];
			same = false;
		}
		if (same)
			continue;
		cot_model_mix_of(e->warps, e->warps_per_block, g->mixed, e->n, &g->mix);
		g->stale = true;
	}
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
 * Where a kernel was measured to take longer than the equations say, its warps wait for more than
 * these know of, and other warps run meanwhile: what is hidden so and what the equations say are
 * two sides of a right angle. So beside nobody it takes what was measured, beside many what the
 * equations say. Our choice, by one kernel of 1 to 9 copies; see docs/models.md.
 */
static double block_cycles(const struct engine *e, uint32_t kernel, double cycles)
{
	double hidden = e->hidden[kernel];

	if (hidden > 0)
		return cot_model_sqrt(hidden * hidden + cycles * cycles);
	return cycles * e->factor[kernel];
}

/*
 * The big block as a whole takes the time of the equations. A kernel's blocks take a part that
 * goes with their cost, such that the mean over the warps is the time of the whole.
 */
static void set_rates(const struct engine *e, struct group *g)
{
	double costs[COT_MODEL_SET_MAX], sum = 0, cycles;
	struct cot_model_sm_time t;
	uint32_t i;

	g->stale = false;
	if (!g->n_cohorts)
		return;
	cot_model_sm_time(&g->mix, e->mwp_peak, &t);
	for (i = 0; i < e->n; i++) {
		if (!(g->blocks[i] > 0))
			continue;
		costs[i] = cost(&e->warps[i], &t, g->mix.n_warps);
		sum += costs[i] * g->blocks[i] * e->warps_per_block[i];
	}
	cycles = (t.cycles + t.sync_cycles) * g->mix.n_warps / sum;
	for (i = 0; i < e->n; i++)
		if (g->blocks[i] > 0)
			g->rate[i] = 1 / (block_cycles(e, i, cycles * costs[i]) * e->grain[i]);
}

static void share_bandwidth(struct engine *e)
{
	double sum = 0;
	const struct group *g;

	for (g = e->groups; g < e->groups + e->n_groups; g++)
		if (g->n_cohorts)
			sum += g->mix.mean.bw_gbps * g->n_sms;
	e->mwp_peak = cot_model_mwp_peak(e->gpu, sum);
}

static void update_rates(struct engine *e, bool all)
{
	struct group *g;

	for (g = e->groups; g < e->groups + e->n_groups; g++)
		if (all || g->stale)
			set_rates(e, g);
}

/* Cycles until the next block ends; DBL_MAX when nothing runs. */
static double next_end(const struct engine *e)
{
	double best = DBL_MAX, t;
	const struct cohort *c;
	const struct group *g;

	for (g = e->groups; g < e->groups + e->n_groups; g++)
		for (c = g->cohorts; c < g->cohorts + g->n_cohorts; c++) {
			t = c->left / g->rate[c->kernel];
			if (t < best)
				best = t;
		}
	return best;
}

static void advance(struct engine *e, struct group *g, double cycles, double *end_cycles)
{
	const struct cohort *from, *end = g->cohorts + g->n_cohorts;
	struct cohort *kept = g->cohorts;

	for (from = g->cohorts; from < end; from++) {
		struct cohort c = *from;

		c.left -= cycles * g->rate[c.kernel];
		if (c.left > DONE) {
			*kept++ = c;
			continue;
		}
		give_back(&g->used, &e->needs[c.kernel], c.n);
		g->blocks[c.kernel] -= c.n;
		end_cycles[c.kernel] = e->now;
		g->end = e->now;
	}
	g->n_cohorts = (uint32_t)(kept - g->cohorts);
}

/*
 * When only blocks of one kernel run, the same number on every SM, and more of them wait, then
 * after the time of a block all is as before, but for those that waited. Such rounds are skipped at
 * once.
 */
static void skip_rounds(struct engine *e)
{
	uint32_t k = e->head, here, resident, rounds;
	struct group *g, *end = e->groups + e->n_groups;

	if (k == e->n)
		return;
	here = e->groups[0].used.slots;
	for (g = e->groups; g < end; g++)
		if (g->used.slots != here || g->blocks[k] != here)
			return;
	if (!here)
		return;
	resident = here * e->gpu->n_sms;
	rounds = e->waiting[k] / resident;
	e->now += rounds / e->groups[0].rate[k];
	e->waiting[k] -= rounds * resident;
	for (g = e->groups; g < end; g++)
		g->ran[k] += rounds * here;
	next_head(e);
}

/* Plays until nothing runs. false: that would take more events. */
static bool run(struct engine *e, bool piecewise, uint32_t events_max, double *end_cycles)
{
	struct group *g;
	uint32_t events;
	double cycles;

	for (events = 0; events < events_max; events++) {
		skip_rounds(e);
		cycles = next_end(e);
		if (cycles >= DBL_MAX)
			return true;
		e->now += cycles;
		for (g = e->groups; g < e->groups + e->n_groups; g++)
			advance(e, g, cycles, end_cycles);
		dispatch(e);
		mix_blocks(e);
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
	const struct needs none = {0};
	uint32_t i, room, by;
	double rounds;

	for (i = 0; i < e->n; i++) {
		room = room_for(e->gpu, &none, &e->needs[i]);
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
	struct needs all = {0};
	uint32_t i;

	if (!concurrent)
		all = merged_needs(kernels, n);
	e->gpu = gpu;
	e->n = n;
	e->head = 0;
	e->now = 0;
	for (i = 0; i < n; i++) {
		cot_model_warp_of(gpu, &kernels[i], &e->warps[i]);
		e->warps_per_block[i] = cot_model_warps_per_block(&kernels[i]);
		e->needs[i] = concurrent ? needs_of(&kernels[i]) : all;
		e->factor[i] = kernels[i].factor > 0 ? kernels[i].factor : 1;
		e->hidden[i] = kernels[i].hidden;
	}
	memset(&e->groups[0], 0, offsetof(struct group, cohorts));
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
	set->transfer_s = 0;
	set->critical = 0;
	for (i = 0; i < e->n; i++)
		set->transfer_s += cot_model_transfer_s(e->gpu, &kernels[i]);
	set->n_sms = e->n_groups;
	for (g = 0; g < e->n_groups; g++) {
		const struct group *group = &e->groups[g];

		set->sms[g].first = group->first;
		set->sms[g].n = group->n_sms;
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
		memset(ret->end_cycles, 0, sizeof(ret->end_cycles));
		dispatch(&e);
		mix_blocks(&e);
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
