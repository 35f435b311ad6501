#include "model/gang.h"

#include <string.h>

#define EACH(i, set)                                         \
	for (uint32_t i = 0; i < COT_GANG_PROGRAMS_MAX; i++) \
		if ((set) >> i & 1)

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* What so much beyond base_w takes at the power limit. */
static double drawing_s(const struct cot_gang_gpu *gpu, double more_j)
{
	return gpu->limit_w > gpu->base_w ? more_j / (gpu->limit_w - gpu->base_w) : 0;
}

/* Alone on all units. A profile may be of a GPU that may draw more. */
static double whole_s(const struct cot_gang_gpu *gpu, const struct cot_gang_program *g)
{
	return larger(g->time_s[gpu->n_units - 1], drawing_s(gpu, g->more_j));
}

/* What all move at the memory's bandwidth, or draw at the power limit: the longer. */
static double least_s(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		      uint32_t set)
{
	double bytes = 0, more_j = 0;

	EACH(i, set)
	{
		bytes += programs[i].bytes;
		more_j += programs[i].more_j;
	}
	return larger(gpu->bytes_per_s > 0 ? bytes / gpu->bytes_per_s : 0, drawing_s(gpu, more_j));
}

/* ---- the two ways to run together ---- */

static uint32_t last_to_end(const struct cot_gang_program *programs, const struct cot_gang *gang)
{
	uint32_t last = COT_GANG_PROGRAMS_MAX;
	double end_s = 0, s;

	EACH(i, gang->set)
	{
		s = programs[i].time_s[gang->units[i] - 1];
		if (s > end_s) {
			end_s = s;
			last = i;
		}
	}
	return last;
}

/* No other division ends earlier: a unit of another program would have made this one wait. */
static void divide(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		   struct cot_gang *gang)
{
	uint32_t left = gpu->n_units - gang->n, last;

	EACH(i, gang->set)
	gang->units[i] = 1;
	for (; left; left--)
		gang->units[last_to_end(programs, gang)]++;
	last = last_to_end(programs, gang);
	gang->parts_s = larger(programs[last].time_s[gang->units[last] - 1],
			       least_s(gpu, programs, gang->set));
}

/* The fewest units on which it is as fast as on all. */
static uint32_t width(const struct cot_gang_gpu *gpu, const struct cot_gang_program *g)
{
	uint32_t units = 1;

	while (g->time_s[units - 1] > whole_s(gpu, g) * COT_GANG_AS_FAST)
		units++;
	return units;
}

static void share(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		  struct cot_gang *gang)
{
	double used_s = 0, longest_s = least_s(gpu, programs, gang->set);

	EACH(i, gang->set)
	{
		longest_s = larger(longest_s, whole_s(gpu, &programs[i]));
		used_s += whole_s(gpu, &programs[i]) * width(gpu, &programs[i]);
	}
	gang->shared_s = larger(longest_s, used_s / gpu->n_units);
}

/* ---- the verdict ---- */

static double gpu_j(const struct cot_gang_gpu *gpu, const struct cot_gang_program *g)
{
	return gpu->base_w * whole_s(gpu, g) + g->more_j;
}

/* Whether the CPU takes less; *ret_least is the less, by the aim. */
static bool is_cpu_better(const struct cot_gang_gpu *gpu, const struct cot_gang_program *g,
			  double *ret_least)
{
	bool time = gpu->aim == COT_MODEL_TIME;
	double on_cpu = time ? g->cpu_s : g->cpu_j;
	double on_gpu = time ? whole_s(gpu, g) : gpu_j(gpu, g);
	bool better = g->cpu_s > 0 && on_cpu < on_gpu;

	*ret_least = better ? on_cpu : on_gpu;
	return better;
}

static void alone(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		  struct cot_gang *gang)
{
	bool on_cpu = true;
	double least;

	EACH(i, gang->set)
	on_cpu &= is_cpu_better(gpu, &programs[i], &least);
	gang->way = on_cpu ? COT_GANG_CPU : COT_GANG_ALONE;
	gang->seconds = gang->apart_s;
	gang->energy_j = gang->apart_j;
	gang->saved = 0;
}

static void together(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		     double least, struct cot_gang *gang)
{
	bool time = gpu->aim == COT_MODEL_TIME;
	double takes;

	divide(gpu, programs, gang);
	share(gpu, programs, gang);
	gang->way = gang->parts_s <= gang->shared_s ? COT_GANG_PARTS : COT_GANG_SHARED;
	gang->seconds = gang->way == COT_GANG_PARTS ? gang->parts_s : gang->shared_s;
	gang->energy_j = gang->apart_j - gpu->base_w * (gang->apart_s - gang->seconds);
	takes = time ? gang->seconds : gang->energy_j;
	gang->saved = least > 0 ? 1 - takes / least : 0;
	if (gang->seconds >= gang->apart_s || gang->energy_j >= gang->apart_j ||
	    takes >= (1 - gpu->min_gain) * least)
		alone(gpu, programs, gang);
}

void cot_gang_judge(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		    uint32_t set, struct cot_gang *ret)
{
	double all = 0, least;

	*ret = (struct cot_gang){.set = set};
	EACH(i, set)
	{
		ret->n++;
		ret->apart_s += whole_s(gpu, &programs[i]);
		ret->apart_j += gpu_j(gpu, &programs[i]);
		(void)is_cpu_better(gpu, &programs[i], &least);
		all += least;
	}
	if (ret->n < 2 || ret->n > gpu->n_units)
		alone(gpu, programs, ret);
	else
		together(gpu, programs, all, ret);
}

/* ---- the plan ---- */

static double saving(const struct cot_gang_gpu *gpu, const struct cot_gang *g)
{
	/* What they take where each is best, less what they take now. */
	double takes = gpu->aim == COT_MODEL_TIME ? g->seconds : g->energy_j;

	return takes / (1 - g->saved) * g->saved;
}

static bool is_better(const struct cot_gang_gpu *gpu, const struct cot_gang *g,
		      const struct cot_gang *best)
{
	double a = saving(gpu, g), b = best->n ? saving(gpu, best) : 0;

	if (a > b || a < b)
		return a > b;
	return best->n && (g->n > best->n || (g->n == best->n && g->seconds < best->seconds));
}

static struct cot_gang find_best(const struct cot_gang_gpu *gpu,
				 const struct cot_gang_program *programs, const uint32_t *pending,
				 uint32_t n)
{
	uint32_t copies[COT_MODEL_KINDS_MAX] = {0}, set, i;
	struct cot_gang best = {0}, g;

	while (cot_model_next_candidate(pending, n, copies)) {
		for (set = 0, i = 0; i < n; i++)
			set |= copies[i] << i;
		cot_gang_judge(gpu, programs, set, &g);
		if (g.saved > 0 && is_better(gpu, &g, &best))
			best = g;
	}
	return best;
}

uint32_t cot_gang_plan(const struct cot_gang_gpu *gpu, const struct cot_gang_program *programs,
		       uint32_t n, struct cot_gang ret[COT_GANG_PROGRAMS_MAX])
{
	uint32_t pending[COT_GANG_PROGRAMS_MAX] = {0}, n_gangs = 0, i;
	struct cot_gang best;

	for (i = 0; i < n; i++)
		pending[i] = 1;
	while ((best = find_best(gpu, programs, pending, n)).n) {
		EACH(k, best.set)
		pending[k] = 0;
		ret[n_gangs++] = best;
	}
	for (i = 0; i < n; i++)
		if (pending[i])
			cot_gang_judge(gpu, programs, 1u << i, &ret[n_gangs++]);
	return n_gangs;
}
