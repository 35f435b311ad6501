/*
 * The target as the input: finds the arrangement that keeps every program within its target, with
 * the least loss for the others. docs/slo.md says how; slo.h what the parts are.
 */
#include "policy/slo.h"
#include "policy/policies.h"
#include "policy/shared.h"

/* In a quiet moment of pools batch programs run for so long, once in so long: less than 1 % of the
 * time, and more often than what the core calls starving. Our choice. */
#define QUIET_RUN_US   25000u
#define QUIET_EVERY_US 3025000u

/* After a restart nobody is quiet for so long. */
#define FOUND_NS (60 * COT_NS_PER_S)

/* After a change rates are means of what was before for some seconds. */
#define STEADY_NS (5 * COT_NS_PER_S)

/* Results are written down no more often. */
#define LEARN_NS (10 * COT_NS_PER_S)

/* ---- what the programs say ---- */

static uint64_t target_ns(const struct cot_tenant *t)
{
	return cot_slo_target_us(t, slo_of(t)->alone_p99_us) * COT_NS_PER_US;
}

/* How much of its target it would use with nobody beside it, in 1/1000; 0: not known. */
static uint32_t alone(const struct cot_tenant *t)
{
	uint64_t ns = target_ns(t);

	return ns ? (uint32_t)(slo_of(t)->alone_p99_us * COT_NS_PER_MS / ns) : 0;
}

/* Seconds that a program makes long by itself are not for batch programs to mend. Ten of them may
 * be: those count as ever, and so do those after a step up, of which no count knows yet. */
static void forgive_own(struct slo_use *use, const struct cot_tenant *t, const struct slo_climb *c,
			uint64_t now_ns)
{
	if (t->target.kind != COT_TARGET_RATE && !cot_slo_climb_tries(c, now_ns) &&
	    cot_slo_window_own(t, now_ns))
		use->missing = use->far = use->over = false;
}

/* Of the programs of the GPU that had requests of late. */
static struct slo_use look(const struct cot_policy *p, const struct slo_climb *c, uint32_t gpu,
			   uint64_t *ret_load)
{
	struct slo_use use = {.n = UINT32_MAX, .alone = UINT32_MAX, .slow_sure = true}, one;
	const struct cot_tenant *t;

	*ret_load = 0;
	cot_for_each_tenant (t, p) {
		if (t->cls != COT_CLASS_LATENCY || !(t->gpu_mask >> gpu & 1))
			continue;
		one = t->target.kind == COT_TARGET_RATE
			      ? cot_slo_window_rate(t, slo_of(t)->rate, slo_of(t)->best_rate,
						    c->since_ns, p->now_ns)
			      : cot_slo_window_use(t, target_ns(t), c->since_ns, p->now_ns);
		*ret_load += cot_slo_window_load(t, p->now_ns);
		one.alone = alone(t);
		forgive_own(&one, t, c, p->now_ns);
		if (one.fast || one.slow)
			use = cot_slo_use_worst(use, one);
	}
	return use;
}

/* ---- a GPU ---- */

static uint32_t found_in_slices(const struct cot_policy *p, uint32_t gpu)
{
	struct slo_slices s = {0};
	const struct cot_entity *e;

	cot_for_each_entity (e, p) {
		if (!(e->gpu_mask >> gpu & 1))
			continue;
		if (slo_serves(e))
			s.latency_us = e->slice_us;
		else
			s.batch_us = e->slice_us;
	}
	if (s.latency_us == COT_SLICE_DRIVER || s.batch_us == COT_SLICE_DRIVER ||
	    s.latency_us == s.batch_us)
		return 0;
	return cot_slo_ladder_rung_of_slices(p->config, s);
}

static uint32_t found_in_parts(const struct cot_policy *p, uint32_t gpu,
			       const struct slo_ladder *ladder)
{
	struct placing l = cot_placing_begin(p, gpu);
	const struct cot_tenant *t;
	uint32_t end = 0;

	cot_for_each_tenant (t, p)
		if (t->cls == COT_CLASS_BATCH && placing_has(&l, t) && t->entity &&
		    slo_serves(t->entity) && t->part.first + t->part.n > end)
			end = t->part.first + t->part.n;
	return end ? cot_slo_ladder_rung_of_sms(ladder, &l, end) : 0;
}

/* Safe; on parts as much as is guessed to be, but no more than half: beyond it requests may come
 * faster than what is left can serve. */
static uint32_t guessed(const struct slo_ladder *ladder, const struct slo_need *need)
{
	uint32_t rung;

	if (ladder->topology != SLO_PARTS || !need->known)
		return ladder->start;
	rung = ladder->top * cot_slo_guess(SLO_PARTS, need).permille / 1000;
	if (rung > ladder->top / 2u)
		rung = ladder->top / 2u;
	return rung > ladder->start ? rung : ladder->start;
}

/* As it was good in an earlier run, or as guessed. */
static uint32_t known_rung(const struct cot_policy *p, uint32_t gpu,
			   const struct slo_ladder *ladder, enum slo_why *ret_why)
{
	struct slo_need need = cot_slo_home_need(p, gpu, NULL);
	struct slo_result r;

	*ret_why = SLO_WHY_START;
	if (ladder->topology == SLO_ALONE ||
	    !cot_slo_home_learned_of_like(p, gpu, ladder->topology, &need, &r) || r.use > 1000)
		return guessed(ladder, &need);
	*ret_why = SLO_WHY_LEARNED;
	return r.rung;
}

static void warn(const struct cot_policy *p, struct slo_climb *c, uint32_t gpu)
{
	struct slo_need need = cot_slo_home_need(p, gpu, NULL);
	struct slo_result r;

	if (c->ladder.topology != SLO_ALONE &&
	    cot_slo_home_learned_of_like(p, gpu, c->ladder.topology, &need, &r) && r.failed)
		cot_slo_climb_warn(c, r.failed, p->now_ns);
}

/* As it is found to be, or as is known. */
static void begin(struct cot_policy *p, struct slo_climb *c, uint32_t gpu,
		  const struct slo_ladder *ladder)
{
	enum slo_why why = SLO_WHY_FOUND;
	uint32_t rung = 0;

	if (slo_in_turns(ladder->topology))
		rung = found_in_slices(p, gpu);
	else if (ladder->topology == SLO_PARTS)
		rung = found_in_parts(p, gpu, ladder);
	if (!rung)
		rung = known_rung(p, gpu, ladder, &why);
	cot_slo_climb_begin(c, *ladder, rung, why, p->now_ns);
	warn(p, c, gpu);
}

/* What goes on as before is not made quiet at once. */
static void begin_gpu(struct cot_policy *p, struct slo_gpu *g, uint32_t gpu,
		      const struct slo_ladder *ladder)
{
	begin(p, &g->climb, gpu, ladder);
	cot_slo_apart_begin(p, &g->apart, gpu, g->climb.why == SLO_WHY_FOUND);
	if (g->climb.why == SLO_WHY_FOUND)
		g->quiet.next_ns = p->now_ns + FOUND_NS;
}

static void follow_crowd(struct cot_policy *p, struct slo_gpu *g, uint32_t gpu,
			 const struct slo_crowd *crowd)
{
	bool more = crowd->n_latency > g->n_latency || crowd->n_batch > g->n_batch;
	enum slo_why why;
	struct slo_ladder ladder = cot_slo_ladder(cot_slo_crowd_topology(crowd), crowd->pieces);

	if (ladder.topology != g->climb.ladder.topology || ladder.top != g->climb.ladder.top)
		begin_gpu(p, g, gpu, &ladder);
	else if (crowd->n_latency != g->n_latency || crowd->n_batch != g->n_batch)
		cot_slo_climb_crowd(&g->climb,
				    more ? known_rung(p, gpu, &ladder, &why) : SLO_RUNGS_MAX,
				    p->now_ns);
	if (more)
		warn(p, &g->climb, gpu);
	g->n_latency = (uint16_t)crowd->n_latency;
	g->n_batch = (uint16_t)crowd->n_batch;
}

static void since(uint64_t *since_ns, bool is, uint64_t now_ns)
{
	if (!is)
		*since_ns = 0;
	else if (!*since_ns)
		*since_ns = now_ns;
}

static void watch_alone(const struct cot_policy *p, struct slo_gpu *g,
			const struct slo_crowd *crowd)
{
	since(&g->latency_alone_ns, crowd->n_latency == 1 && !crowd->n_batch, p->now_ns);
	since(&g->batch_alone_ns, crowd->n_batch == 1 && !crowd->active, p->now_ns);
}

static uint32_t guessed_rate(const struct slo_climb *c, const struct slo_need *need)
{
	uint32_t rate = cot_slo_guess(c->ladder.topology, need).rate;

	if (slo_in_turns(c->ladder.topology))
		rate = rate * cot_slo_breath_permille(c->rung) / 1000;
	return rate ? rate : 1;
}

/* What this topology is good for, once it is steady. */
static void learn(struct cot_policy *p, struct slo_gpu *g, uint32_t gpu, const struct slo_use *use,
		  uint64_t load)
{
	struct slo_need need = cot_slo_home_need(p, gpu, NULL);
	struct slo_result r = {
		.rung = g->climb.rung,
		.use = use->slow,
		.rate = cot_slo_crowd_rate(p, gpu),
		.load = (uint32_t)(load < UINT32_MAX ? load : UINT32_MAX),
		.target_us = need.strict_us,
		.failed = cot_slo_climb_failed(&g->climb),
	};
	enum slo_topology best;

	if (!use->slow || !use->slow_sure || !need.strict_us ||
	    (p->now_ns - g->learned_ns < LEARN_NS && need.strict_us == g->learned_us))
		return;
	if (!r.rate && need.known)
		r.rate = guessed_rate(&g->climb, &need);
	g->learned_ns = p->now_ns;
	g->learned_us = need.strict_us;
	cot_slo_learn_result(p, gpu, g->climb.ladder.topology, &r);
	best = cot_slo_home_best(p, gpu, NULL, SLO_ANY);
	if (best)
		cot_slo_learn_home(p, gpu, best, need.strict_us, r.load);
}

static void climb(struct cot_policy *p, struct slo_gpu *g, uint32_t gpu, uint64_t *wake_ns)
{
	struct slo_use use;
	uint64_t load;

	use = look(p, &g->climb, gpu, &load);
	if (!cot_slo_climb_look(&g->climb, &use, load, p->now_ns))
		learn(p, g, gpu, &use, load);
	/* What the rungs used says nothing now. */
	if (cot_slo_apart_look(&g->apart, &g->climb, g->n_latency, p->now_ns))
		cot_slo_climb_crowd(&g->climb, SLO_RUNGS_MAX, p->now_ns);
	if (p->now_ns - g->climb.since_ns >= STEADY_NS)
		g->climb.rungs[g->climb.rung].rate = cot_slo_crowd_rate(p, gpu);
	policy_earlier(wake_ns, cot_slo_climb_wake_ns(&g->climb));
}

/* What a breath counts for one of weight 1; and the longest that each of several is frozen so. */
#define BREATH	     (1000ull * COT_WEIGHT_DEFAULT)
#define APART_MAX_US 2500000u

static struct slo_entity *entity_of(const struct cot_entity *e)
{
	return e->own;
}

static uint64_t breath_ns(const struct slo_breath *b, bool breath)
{
	return (breath ? b->run_us : b->every_us - b->run_us) * COT_NS_PER_US;
}

/* Where batch programs stand alone, more than one at a time would spend a breath on switching: the
 * one that had the fewest by its weight. But nobody waits for longer than the core allows. */
static uint32_t next_breather(const struct cot_policy *p, struct slo_gpu *g, uint32_t gpu,
			      const struct slo_breath *b)
{
	struct cot_entity *e, *first = NULL;
	uint64_t n = 0;

	if (g->climb.ladder.topology != SLO_ROTATE)
		return 0;
	cot_for_each_entity (e, p) {
		if (slo_serves(e) || !(e->gpu_mask >> gpu & 1) || !cot_entity_may_run(e))
			continue;
		n++;
		/* Who had nothing to do does not catch up. */
		if (entity_of(e)->breaths < g->breather_has)
			entity_of(e)->breaths = g->breather_has;
		if (!first || entity_of(e)->breaths < entity_of(first)->breaths)
			first = e;
	}
	if (!first || n * b->every_us > APART_MAX_US)
		return 0;
	g->breather_has = entity_of(first)->breaths;
	entity_of(first)->breaths += BREATH / first->weight;
	return first->id;
}

/* Nobody is left out for ever: at the lowest rung, too, all get a breath now and then. */
static void breathe(const struct cot_policy *p, struct slo_gpu *g, uint32_t gpu,
		    struct slo_breath b, uint64_t *wake_ns)
{
	bool was = g->frozen;

	g->frozen = b.every_us;
	if (!g->frozen)
		return;
	if (!was)
		g->breath = false;
	else if (p->now_ns >= g->breath_ns)
		g->breath = !g->breath;
	if (g->breath && p->now_ns >= g->breath_ns)
		g->breather = next_breather(p, g, gpu, &b);
	if (!was || p->now_ns >= g->breath_ns)
		g->breath_ns = p->now_ns + breath_ns(&b, g->breath);
	/* The rung may have changed. */
	policy_earlier(&g->breath_ns, p->now_ns + breath_ns(&b, g->breath));
	policy_earlier(wake_ns, g->breath_ns);
}

/* While a latency program is served in pools. */
static struct slo_breath breath_of(const struct slo_gpu *g, const struct slo_crowd *crowd,
				   const struct cot_tenant *quiet)
{
	if (!g->favour || !crowd->serving || !slo_in_turns(g->climb.ladder.topology))
		return (struct slo_breath){0};
	if (quiet && quiet->cls == COT_CLASS_LATENCY)
		return (struct slo_breath){QUIET_RUN_US, QUIET_EVERY_US};
	return cot_slo_breath(g->climb.rung);
}

/* For whom the others are quiet now. What is seen meanwhile says nothing of the rung. */
static struct cot_tenant *keep_quiet(struct cot_policy *p, struct slo_gpu *g, uint32_t gpu,
				     const struct slo_crowd *crowd, uint64_t *wake_ns)
{
	/* While a latency program is active nobody else can have all of the GPU. */
	bool batch = !g->favour;
	struct cot_tenant *t = NULL;

	if (crowd->n_latency + crowd->n_batch > 1 &&
	    cot_slo_quiet_look(p, &g->quiet, gpu, batch, &t, wake_ns))
		cot_slo_climb_disturbed(&g->climb, p->now_ns);
	return t;
}

static void decide(struct cot_policy *p, uint32_t gpu, const struct slo_crowd *crowd,
		   uint64_t *wake_ns)
{
	struct slo_gpu *g = &slo_state(p)->gpus[gpu];
	struct slo_deal deal = {.ladder = &g->climb.ladder, .turn = &g->turn, .rest = &g->rest};
	bool lowest;

	follow_crowd(p, g, gpu, crowd);
	watch_alone(p, g, crowd);
	g->favour = deal.favour = crowd->active;
	deal.quiet = keep_quiet(p, g, gpu, crowd, wake_ns);
	lowest = deal.quiet && deal.quiet->cls == COT_CLASS_LATENCY;
	if (!deal.quiet && g->favour && g->climb.ladder.topology != SLO_ALONE)
		climb(p, g, gpu, wake_ns);
	deal.apart = g->apart.on;
	deal.rung = lowest ? g->climb.ladder.lowest : g->climb.rung;
	breathe(p, g, gpu, breath_of(g, crowd, deal.quiet), wake_ns);
	cot_slo_place(p, gpu, &deal, wake_ns);
}

/* ---- entities ---- */

/* Of all its GPUs the ones where it must be most careful count. Without any where latency programs
 * are favoured all slices are equal. */
static struct slo_slices slices(const struct cot_policy *p, uint64_t gpu_mask, uint64_t favoured)
{
	uint32_t equal_us = p->config->equal_slice_us, rung = SLO_RUNGS_MAX;
	const struct slo_climb *c;

	for (gpu_mask &= favoured; gpu_mask; gpu_mask &= gpu_mask - 1) {
		uint32_t at = SLO_USUAL;

		c = &slo_state(p)->gpus[__builtin_ctzll(gpu_mask)].climb;
		if (slo_in_turns(c->ladder.topology) && c->rung > SLO_USUAL)
			at = c->rung;
		if (at < rung)
			rung = at;
	}
	if (rung == SLO_RUNGS_MAX)
		return (struct slo_slices){equal_us, equal_us};
	return cot_slo_ladder_slices(p->config, rung);
}

static uint32_t slice_us(const struct cot_policy *p, bool serves, uint64_t gpu_mask,
			 uint64_t favoured, uint64_t loose)
{
	struct slo_slices s = slices(p, gpu_mask, favoured);

	if (serves)
		return s.latency_us;
	if ((gpu_mask & favoured & loose) && s.batch_us < p->config->equal_slice_us)
		return p->config->equal_slice_us;
	return s.batch_us;
}

static bool takes_turns(const struct cot_entity *e, const void *arg)
{
	const struct slo *s = arg;

	return !slo_serves(e) && (e->gpu_mask & s->favoured) && !(e->gpu_mask & s->frozen);
}

static enum cot_mode mode(const struct cot_policy *p, const struct cot_entity *e, uint64_t favoured)
{
	bool drain = !slo_serves(e) && (e->gpu_mask & favoured) && e->block_us &&
		     e->block_us <= p->config->drain_block_us;

	return drain ? COT_MODE_DRAIN : COT_MODE_SWITCH;
}

/* On each of its GPUs where batch programs are frozen but for breaths. */
static bool breathes(const struct slo *s, const struct cot_entity *e)
{
	uint64_t gpus = e->gpu_mask & s->frozen;
	uint32_t breather;

	for (; gpus; gpus &= gpus - 1) {
		breather = s->gpus[__builtin_ctzll(gpus)].breather;
		if (!(gpus & -gpus & s->breath) || (breather && breather != e->id))
			return false;
	}
	return true;
}

static void set_entity(struct cot_policy *p, struct cot_entity *e, uint64_t loose)
{
	const struct slo *s = slo_state(p);

	(void)cot_set_slice(p, e, slice_us(p, slo_serves(e), e->gpu_mask, s->favoured, loose));
	(void)cot_set_mode(p, e, mode(p, e, s->favoured));
	if (!(e->gpu_mask & s->frozen))
		return;
	if (slo_serves(e) || breathes(s, e))
		(void)cot_thaw(p, e);
	else
		(void)cot_freeze(p, e);
}

/* ---- callbacks ---- */

static void decide_all(struct cot_policy *p, uint64_t *wake_ns)
{
	struct slo_crowd crowds[COT_POLICY_GPUS_MAX];
	struct slo *s = slo_state(p);
	uint64_t there, gpus;

	cot_slo_crowd_mark(p);
	there = cot_slo_crowd_count(p, crowds, wake_ns);
	s->favoured = s->frozen = s->breath = 0;
	for (gpus = there | s->there; gpus; gpus &= gpus - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(gpus);

		if (!(there >> i & 1)) {
			s->gpus[i] = (struct slo_gpu){0};
			continue;
		}
		decide(p, i, &crowds[i], wake_ns);
		s->favoured |= (uint64_t)s->gpus[i].favour << i;
		s->frozen |= (uint64_t)s->gpus[i].frozen << i;
		s->breath |= (uint64_t)s->gpus[i].breath << i;
	}
	s->there = there;
}

static uint64_t tick(struct cot_policy *p)
{
	struct slo *s = slo_state(p);
	uint64_t wake_ns = COT_NEVER, loose;
	struct cot_entity *e;

	decide_all(p, &wake_ns);
	s->turns.kept_gpus = s->frozen;
	policy_earlier(&wake_ns, cot_turns_tick(p, &s->turns, takes_turns, s));
	loose = cot_turns_loose_gpus(p);
	cot_for_each_entity (e, p)
		set_entity(p, e, loose);
	return wake_ns;
}

static uint32_t first_slice(const struct cot_policy *p, enum cot_class cls, uint64_t gpu_mask)
{
	uint64_t favoured = slo_state(p)->favoured;

	if (cls == COT_CLASS_LATENCY)
		favoured |= gpu_mask;
	return slice_us(p, cls == COT_CLASS_LATENCY, gpu_mask, favoured, cot_turns_loose_gpus(p));
}

static void tenant_changed(struct cot_policy *p, struct cot_tenant *t, unsigned what)
{
	if (what & COT_CHANGED_TARGET)
		cot_slo_target_changed(p, t);
	if ((what & COT_CHANGED_ACTIVITY) && t->activity == COT_ACTIVITY_IDLE)
		slo_of(t)->idle_since_ns = p->now_ns;
}

static struct slo_gpu *gpu_of(const struct cot_policy *p, const struct cot_tenant *t)
{
	return &slo_state(p)->gpus[__builtin_ctzll(t->gpu_mask)];
}

static bool is_since(const struct cot_policy *p, uint64_t since_ns, uint64_t span_ns)
{
	return since_ns && p->now_ns - since_ns >= span_ns;
}

static void requests(struct cot_policy *p, struct cot_tenant *t, const struct cot_window *w)
{
	if (t->cls == COT_CLASS_LATENCY)
		cot_slo_learn_requests(
			p, t, w, is_since(p, gpu_of(p, t)->latency_alone_ns, 11 * COT_NS_PER_S));
}

static void progress(struct cot_policy *p, struct cot_tenant *t)
{
	const struct slo_gpu *g = gpu_of(p, t);
	bool batch = t->cls == COT_CLASS_BATCH;

	cot_slo_learn_rate(
		p, t,
		is_since(p, batch ? g->batch_alone_ns : g->latency_alone_ns, 3 * COT_NS_PER_S));
	if (batch)
		cot_slo_place_rate(p, t);
	else
		cot_slo_learn_waits(t);
}

static void tenant_joined(struct cot_policy *p, struct cot_tenant *t)
{
	cot_slo_learn_recall(p, t);
}

static int init(struct cot_policy *p)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, p)
		cot_slo_learn_recall(p, t);
	return 0;
}

static const struct cot_measure_ops measures = {.requests = requests, .progress = progress};

const struct cot_policy_ops cot_policy_slo = {
	.name = "slo",
	.summary = "finds what keeps the targets of programs with the least loss for the others",
	.abi = COT_POLICY_ABI,
	.wants_pools = true,
	.places = true,
	.state_bytes = sizeof(struct slo),
	.entity_bytes = sizeof(struct slo_entity),
	.tenant_bytes = sizeof(struct slo_tenant),
	.init = init,
	.action_done = cot_turns_action_done,
	.tenant_joined = tenant_joined,
	.tenant_changed = tenant_changed,
	.tick = tick,
	.first_slice = first_slice,
	.measures = &measures,
	.home = cot_slo_home,
	.explain = cot_slo_explain,
};
