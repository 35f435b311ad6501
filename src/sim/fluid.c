#include "sim/fluid.h"

#include "trace/gpu.h"

#define LATENCY_STEPS 60
#define LATENCY_CLOSE 1e-9 /* of the latency of idle memory */
#define LEVEL_STEPS   40
#define WAIT_STEPS    24 /* of Newton's method from below, which doubles the digits */
#define NO_LEVEL      1e300

void cot_fluid_init(struct cot_fluid *f, const struct cot_gpu *gpu)
{
	double clock_hz = gpu->clock_mhz * 1e6;

	*f = (struct cot_fluid){
		.issue_width = gpu->issue_width,
		.sm_bytes_per_cycle = gpu->sm_bytes_per_cycle,
		.dram_bytes_per_cycle =
			(double)gpu->dram_bytes_per_s * gpu->dram_efficiency / clock_hz,
		.queueing = gpu->queueing,
		.load_max = gpu->load_max,
		.latency_factor = 1.0,
	};
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

/* Cycles from one instruction of a warp to its next when it never waits for a slot. */
static double think_time(const struct cot_fluid_lane *l, double factor)
{
	return l->work->cpi + l->work->mem_fraction * l->work->latency * factor / l->work->mlp;
}

/*
 * The wait w for an issue slot at which the slots are just all used: sum of warps / (think + w) =
 * width, over the lanes that are not capped. 0 when they are not all used. The sum falls and is
 * convex in w, so Newton's steps from below never pass the solution.
 */
static double issue_wait(const struct cot_fluid_group *g, double width, double factor)
{
	double wait = 0.0, sum, slope, at;
	uint32_t i, step;

	for (step = 0; step < WAIT_STEPS; step++) {
		sum = 0.0;
		slope = 0.0;
		for (i = 0; i < g->n_lanes; i++) {
			const struct cot_fluid_lane *l = &g->lanes[i];

			if (l->halted || l->capped)
				continue;
			at = think_time(l, factor) + wait;
			sum += l->warps / at;
			slope += l->warps / (at * at);
		}
		if (!(sum > width))
			break;
		wait += (sum - width) / slope;
	}
	return wait;
}

/* Instructions per cycle with which a kernel neither moves more than `level` bytes per cycle nor
 * needs more than its units do. */
static double limit_of(const struct cot_fluid_lane *l, double level)
{
	double own = l->work->ipc_max > 0.0 ? least(l->own_max, l->work->ipc_max) : l->own_max;

	return l->inst_bytes > 0.0 ? least(own, level / l->inst_bytes) : own;
}

/*
 * What each kernel of the group does when none may move more than `level` bytes per cycle. A kernel
 * that this holds back leaves issue slots to the others, which shortens their wait; so kernels are
 * held back one after the other, and none of them is let go again.
 */
static double rates_of_group(const struct cot_fluid *f, struct cot_fluid_group *g, double factor,
			     double level)
{
	double width = f->issue_width, wait, bytes, limit;
	bool again;
	uint32_t i;

	for (i = 0; i < g->n_lanes; i++)
		g->lanes[i].capped = false;
	do {
		again = false;
		bytes = 0.0;
		wait = issue_wait(g, width, factor);
		for (i = 0; i < g->n_lanes; i++) {
			struct cot_fluid_lane *l = &g->lanes[i];

			if (!l->capped && !l->halted) {
				l->rate = l->stall * l->warps / (think_time(l, factor) + wait);
				l->idle_warps = l->rate * wait;
				limit = limit_of(l, level);
				if (l->rate > limit) {
					l->capped = true;
					l->rate = limit;
					l->idle_warps = 0.0; /* they wait for something else */
					width -= l->rate;
					again = g->n_lanes > 1;
				}
			}
			bytes += l->rate * l->inst_bytes;
		}
	} while (again);
	return bytes;
}

/* The same with the limit of the SM's port. */
static double solve_group(const struct cot_fluid *f, struct cot_fluid_group *g, double factor,
			  double level)
{
	double bytes = rates_of_group(f, g, factor, level), lo = 0.0, hi, mid;
	uint32_t step;

	if (bytes <= f->sm_bytes_per_cycle)
		return bytes;
	hi = least(level, f->sm_bytes_per_cycle);
	for (step = 0; step < LEVEL_STEPS; step++) {
		mid = 0.5 * (lo + hi);
		if (rates_of_group(f, g, factor, mid) > f->sm_bytes_per_cycle)
			hi = mid;
		else
			lo = mid;
	}
	return rates_of_group(f, g, factor, lo);
}

/* Bytes per cycle of all together, none of them more than `level`. */
static double solve_all(struct cot_fluid *f, double factor, double level)
{
	double bytes = 0.0;
	uint32_t i;

	for (i = 0; i < f->n_groups; i++)
		bytes += f->groups[i].n_sms * solve_group(f, &f->groups[i], factor, level);
	for (i = 0; i < f->n_flows; i++) {
		f->flows[i].rate = least(f->flows[i].demand, level);
		bytes += f->flows[i].rate;
	}
	return bytes;
}

static double factor_at(const struct cot_fluid *f, double demand)
{
	return cot_gpu_latency_factor(f->queueing, demand / f->dram_bytes_per_cycle, f->load_max);
}

/*
 * More latency means less demand, less demand less latency: there is one factor at which both
 * agree. The line through the ends of the range finds it in a few steps; an end that stays twice
 * counts half, so that the range shrinks from both sides. The factor that the demand makes falls
 * while x grows, so x is no farther from the solution than from that factor. What comes out depends
 * on nothing that was before.
 */
static void find_latency(struct cot_fluid *f)
{
	double lo = 1.0, hi = factor_at(f, f->dram_bytes_per_cycle), above, below, x, error;
	uint32_t step;
	int side = 0; /* where the last step was */

	f->demand = solve_all(f, hi, NO_LEVEL);
	f->latency_factor = hi;
	below = factor_at(f, f->demand) - hi;
	if (below >= 0.0)
		return; /* as loaded as can be */
	f->demand = solve_all(f, lo, NO_LEVEL);
	f->latency_factor = lo;
	above = factor_at(f, f->demand) - lo;
	for (step = 0; step < LATENCY_STEPS && above > LATENCY_CLOSE; step++) {
		x = lo + (hi - lo) * above / (above - below);
		f->demand = solve_all(f, x, NO_LEVEL);
		f->latency_factor = x;
		error = factor_at(f, f->demand) - x;
		if (error > 0.0) {
			below *= side > 0 ? 0.5 : 1.0;
			side = 1;
			lo = x;
			above = error;
		} else {
			above *= side < 0 ? 0.5 : 1.0;
			side = -1;
			hi = x;
			below = error;
		}
		if (error < LATENCY_CLOSE && error > -LATENCY_CLOSE)
			return;
	}
}

static double warps_of(const struct cot_fluid *f, const struct cot_kernel_work *work)
{
	double warps = 0.0;
	uint32_t i, j;

	for (i = 0; i < f->n_groups; i++)
		for (j = 0; j < f->groups[i].n_lanes; j++)
			if (f->groups[i].lanes[j].work == work)
				warps += f->groups[i].n_sms * f->groups[i].lanes[j].warps;
	return warps;
}

static void prepare(struct cot_fluid *f)
{
	uint32_t i, j;

	for (i = 0; i < f->n_groups; i++)
		for (j = 0; j < f->groups[i].n_lanes; j++) {
			struct cot_fluid_lane *l = &f->groups[i].lanes[j];

			l->inst_bytes = l->work->mem_fraction * l->work->dram_bytes * l->penalty;
			l->own_max = NO_LEVEL;
			if (l->work->gpu_ipc_max > 0.0)
				l->own_max = l->work->gpu_ipc_max * l->warps / warps_of(f, l->work);
			l->rate = 0.0;
			l->idle_warps = l->warps; /* as long as it is halted */
		}
}

/*
 * Memory is shared max-min fairly: there is a level that no kernel exceeds and at which all of the
 * bandwidth is used. The higher it is the more is used, so halving finds it.
 */
void cot_fluid_solve(struct cot_fluid *f)
{
	double lo = 0.0, hi = f->dram_bytes_per_cycle, mid;
	uint32_t step;

	prepare(f);
	find_latency(f);
	f->dram_rate = f->demand;
	if (f->demand <= f->dram_bytes_per_cycle)
		return;
	for (step = 0; step < LEVEL_STEPS; step++) {
		mid = 0.5 * (lo + hi);
		if (solve_all(f, f->latency_factor, mid) > f->dram_bytes_per_cycle)
			hi = mid;
		else
			lo = mid;
	}
	f->dram_rate = solve_all(f, f->latency_factor, lo);
}
