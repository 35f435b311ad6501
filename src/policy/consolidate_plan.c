/* Which programs form gangs: what is predicted of each on parts of each size goes to model/gang.h.
 * The work that is compared is what each does in a second alone, times its weight. */
#include "policy/consolidate_inside.h"

struct planning {
	struct cot_policy *p;
	const struct parts_deal *d;
	struct consolidate_gpu *g;
	struct cot_gang_gpu gpu;
	uint32_t begin, end, step; /* the SMs to divide, in units of `step` of the GPU's */
	uint32_t n;
	struct cot_tenant *tenants[COT_GANG_PROGRAMS_MAX];
	struct cot_gang_program programs[COT_GANG_PROGRAMS_MAX];
};

/* ---- predictions ---- */

/* Of what it repeats, in a second: between rows on a straight line, below the first with its SMs.
 */
static double rate_on(const struct cot_tenant *t, uint32_t sms)
{
	const struct cot_prediction *rows = t->predictions;
	uint32_t i = 0, below_sms;
	double rate, below;

	while (i + 1 < t->n_predictions && rows[i].sms < sms)
		i++;
	rate = 1e9 / (double)rows[i].duration_ns;
	if (rows[i].sms <= sms)
		return rate;
	below = i ? 1e9 / (double)rows[i - 1].duration_ns : 0;
	below_sms = i ? rows[i - 1].sms : 0;
	return below + (rate - below) * (sms - below_sms) / (rows[i].sms - below_sms);
}

static double weight_of(const struct cot_tenant *t)
{
	return (double)t->weight / COT_WEIGHT_DEFAULT;
}

/* Where a part of so many units ends that begins there. */
static uint32_t end_of(const struct planning *s, uint32_t begin, uint32_t units)
{
	uint32_t end = begin + units * s->step * s->d->l.unit;

	return end + s->step * s->d->l.unit <= s->end ? end : s->end;
}

/* What it draws beyond base_w, and takes on the CPU, in so many seconds alone. */
static void add_cost(const struct planning *s, const struct cot_tenant *t, double seconds,
		     struct cot_gang_program *g)
{
	const struct cot_cost *cost = &t->cost;
	double whole_ns = (double)t->predictions[t->n_predictions - 1].duration_ns;

	if (cost->power_w > s->gpu.base_w)
		g->more_j = (cost->power_w - s->gpu.base_w) * seconds;
	if (!cost->cpu_w && s->gpu.aim == COT_MODEL_ENERGY)
		return;
	g->cpu_s = (double)cost->cpu_ns / whole_ns * seconds;
	g->cpu_j = g->cpu_s * cost->cpu_w;
}

/* Where the policy cannot put it on the CPU, that is no way that counts; its user may want to know.
 */
static void take_cpu_out(const struct planning *s, struct cot_tenant *t, struct cot_gang_program *g)
{
	struct consolidate_program *own = consolidate_program(t);
	struct cot_gang alone;

	cot_gang_judge(&s->gpu, g, 1, &alone);
	own->can_cpu = t->can_cpu;
	own->cpu_less = !t->can_cpu && alone.way == COT_GANG_CPU;
	if (!t->can_cpu)
		g->cpu_s = g->cpu_j = 0;
}

static struct cot_gang_program program_of(const struct planning *s, const struct cot_tenant *t)
{
	const struct cot_prediction *whole = &t->predictions[t->n_predictions - 1];
	double all = rate_on(t, s->end - s->begin), weight = weight_of(t), least = 0;
	struct cot_gang_program g = {.bytes = weight * (double)whole->bytes_per_s};
	uint32_t u;

	for (u = s->gpu.n_units; u; u--) {
		double time_s = weight * all / rate_on(t, end_of(s, s->begin, u) - s->begin);

		least = time_s > least ? time_s : least;
		g.time_s[u - 1] = least;
	}
	add_cost(s, t, weight, &g);
	return g;
}

/* ---- gangs ---- */

static void put(struct planning *s, struct cot_tenant *t, struct cot_part part,
		const struct cot_gang *gang)
{
	struct consolidate_program *own = consolidate_program(t);

	own->part = part;
	own->part.cpu = gang->way == COT_GANG_CPU;
	own->gang = own->part.cpu ? CONSOLIDATE_ON_CPU : (uint16_t)s->g->n_gangs;
	own->n = (uint16_t)gang->n;
	own->way = (uint8_t)gang->way;
	own->saved = (uint16_t)(gang->saved * 1000);
	own->power_w = 0;
	own->turn_us = (uint32_t)(gang->seconds * (double)s->p->config->turn_ns / COT_NS_PER_US);
	s->g->n_planned++;
}

/* Of the GPU with this gang; 0 where that of a program is not known. */
static uint32_t power_of(const struct planning *s, const struct cot_gang *gang)
{
	uint32_t i;

	for (i = 0; i < s->n; i++)
		if ((gang->set >> i & 1) && !s->tenants[i]->cost.power_w)
			return 0;
	return (uint32_t)(gang->energy_j / gang->seconds + 0.5);
}

static void put_gang(struct planning *s, const struct cot_gang *gang)
{
	uint32_t begin = s->begin, left = gang->n, i, end;

	s->g->n_gangs += gang->way != COT_GANG_CPU;
	for (i = 0; i < s->n; i++) {
		if (!(gang->set >> i & 1))
			continue;
		end = s->end;
		if (gang->way == COT_GANG_PARTS && --left)
			end = end_of(s, begin, gang->units[i]);
		put(s, s->tenants[i], cot_placing_part(&s->d->l, begin, end), gang);
		if (gang->way != COT_GANG_CPU)
			consolidate_program(s->tenants[i])->power_w = power_of(s, gang);
		if (gang->way == COT_GANG_PARTS)
			begin = end;
	}
}

static void put_gangs(struct planning *s)
{
	struct cot_gang gangs[COT_GANG_PROGRAMS_MAX];
	uint32_t n = cot_gang_plan(&s->gpu, s->programs, s->n, gangs), i;

	for (i = 0; i < n; i++)
		put_gang(s, &gangs[i]);
	s->n = 0;
}

static bool is_unknown(const struct planning *s, const struct cot_tenant *t)
{
	return parts_is_free_batch(&s->d->l, t) && consolidate_program(t)->chosen &&
	       !t->n_predictions;
}

/* Together, each on SMs of its own as under `parts`. */
static void put_unknown(struct planning *s)
{
	const struct placing *l = &s->d->l;
	struct cot_gang gang = {.way = COT_GANG_PARTS};
	uint32_t begin = s->begin, end = s->end, left;
	struct cot_tenant *t;
	uint64_t weight = 0;
	bool apart;

	cot_for_each_tenant (t, s->p) {
		if (!is_unknown(s, t))
			continue;
		gang.n++;
		gang.seconds += weight_of(t);
		weight += t->weight;
	}
	left = gang.n;
	apart = cot_placing_pieces(l, begin, end) >= left;
	s->g->n_gangs += left > 0;
	cot_for_each_tenant (t, s->p) {
		if (!is_unknown(s, t))
			continue;
		if (apart)
			end = cot_placing_share_end(l, begin, s->end, t->weight, weight, --left);
		put(s, t, cot_placing_part(l, begin, end), &gang);
		weight -= t->weight;
		if (apart)
			begin = end;
	}
}

/* So that every gang has a turn in a cycle. */
static void shorten_turns(struct planning *s)
{
	uint64_t cycle_us = s->p->config->cycle_ns / COT_NS_PER_US, all_us = 0;
	struct consolidate_program *own;
	struct cot_tenant *t;

	cot_for_each_tenant (t, s->p) {
		own = consolidate_program(t);
		if (parts_is_free_batch(&s->d->l, t) && own->gang && !own->part.cpu)
			all_us += own->turn_us / own->n;
	}
	if (all_us <= cycle_us)
		return;
	cot_for_each_tenant (t, s->p) {
		own = consolidate_program(t);
		if (parts_is_free_batch(&s->d->l, t))
			own->turn_us = (uint32_t)(own->turn_us * cycle_us / all_us);
	}
}

static void choose(struct planning *s, bool with_new)
{
	struct consolidate_program *own;
	struct cot_tenant *t;
	uint64_t wake_ns;

	cot_for_each_tenant (t, s->p) {
		if (!parts_is_free_batch(&s->d->l, t))
			continue;
		own = consolidate_program(t);
		own->chosen = (with_new || own->gang) &&
			      cot_consolidate_is_pending(s->p, s->d, t, &wake_ns);
		own->gang = 0;
	}
}

static void put_known(struct planning *s)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, s->p) {
		if (!parts_is_free_batch(&s->d->l, t) || !consolidate_program(t)->chosen ||
		    !t->n_predictions)
			continue;
		s->programs[s->n] = program_of(s, t);
		take_cpu_out(s, t, &s->programs[s->n]);
		s->tenants[s->n++] = t;
		if (s->n == COT_GANG_PROGRAMS_MAX)
			put_gangs(s);
	}
	if (s->n)
		put_gangs(s);
}

static void divide(struct planning *s)
{
	uint32_t pieces;

	cot_parts_range(s->d, &s->begin, &s->end);
	pieces = cot_placing_pieces(&s->d->l, s->begin, s->end);
	s->step = pieces > COT_GANG_UNITS_MAX ? (pieces - 1) / COT_GANG_UNITS_MAX + 1 : 1;
	s->gpu.n_units = pieces ? pieces / s->step : 1;
}

void cot_consolidate_plan(struct cot_policy *p, const struct parts_deal *d,
			  struct consolidate_gpu *g, bool with_new)
{
	const struct cot_policy_config *config = p->config;
	struct planning s = {
		.p = p,
		.d = d,
		.g = g,
		.gpu = {.bytes_per_s = (double)config->dram_bytes_per_s,
			.base_w = config->base_w,
			.limit_w = g->limit_w,
			.aim = config->aim == COT_AIM_TIME ? COT_MODEL_TIME : COT_MODEL_ENERGY,
			.min_gain = config->min_gain_permille / 1000.0},
	};

	divide(&s);
	g->n_gangs = g->n_planned = 0;
	choose(&s, with_new);
	put_known(&s);
	put_unknown(&s);
	shorten_turns(&s);
	g->begin = s.begin;
	g->end = s.end;
	g->unit = d->l.unit;
}
