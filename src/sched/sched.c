/* The life of the policy core: time, events, and the call of the policy. */
#include "sched/sched.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "sched/inside.h"

#define ACK_NS		  (20 * COT_NS_PER_MS) /* 20 times a mean freeze on an H200 */
#define PLACE_NS	  (1 * COT_NS_PER_S)   /* a green context may have to be made first */
#define STALL_NS	  (500 * COT_NS_PER_MS)
#define STARVE_NS	  (10 * COT_NS_PER_S)
#define MIN_WAKE_NS	  (100 * COT_NS_PER_US)
#define MAX_WRONG	  100u
#define MAX_ACTIONS_PER_S 4000u
#define RETRY_NS	  (10 * COT_NS_PER_S)
/* The longest pause, in shortest ones: with the default some ten minutes. */
#define RETRY_GROWTH_MAX 64u

static const char *const fault_names[] = {
	[COT_FAULT_NONE] = "none",	 [COT_FAULT_INIT] = "init",   [COT_FAULT_STALL] = "stall",
	[COT_FAULT_STARVED] = "starved", [COT_FAULT_WRONG] = "wrong", [COT_FAULT_STORM] = "storm",
};

const char *cot_fault_name(enum cot_fault fault)
{
	return (unsigned)fault < COT_N_FAULTS ? fault_names[fault] : "unknown";
}

/* ---- starting and ending policies ---- */

static int check_ops(const struct cot_policy_ops *ops, struct cot_error *err)
{
	if (!ops->name || !ops->summary || !ops->tick)
		return cot_error_set(err, -EINVAL, "policy '%s' lacks a name, a summary or tick()",
				     ops->name ? ops->name : "?");
	if (ops->abi != COT_POLICY_ABI)
		return cot_error_set(err, -EINVAL,
				     "policy '%s' was made for interface %u; expected %u",
				     ops->name, ops->abi, COT_POLICY_ABI);
	if (ops->state_bytes > COT_POLICY_STATE_MAX)
		return cot_error_set(err, -EINVAL,
				     "policy '%s' wants %u bytes of state; at most %u", ops->name,
				     ops->state_bytes, COT_POLICY_STATE_MAX);
	if (ops->entity_bytes > COT_POLICY_OWN_MAX || ops->tenant_bytes > COT_POLICY_OWN_MAX ||
	    ops->work_bytes > COT_POLICY_OWN_MAX || ops->query_bytes > COT_POLICY_OWN_MAX)
		return cot_error_set(
			err, -EINVAL,
			"policy '%s' wants more than %u bytes of an entity, a tenant, a work or a "
			"query",
			ops->name, COT_POLICY_OWN_MAX);
	return 0;
}

static bool is_slice(uint32_t slice_us)
{
	return slice_us >= COT_SLICE_US_MIN && slice_us <= COT_SLICE_US_MAX;
}

static int check_config(const struct cot_policy_config *c, struct cot_error *err)
{
	if (!is_slice(c->latency_slice_us) || !is_slice(c->batch_slice_us) ||
	    !is_slice(c->equal_slice_us))
		return cot_error_set(err, -EINVAL, "a slice is out of range; expected %u to %u us",
				     COT_SLICE_US_MIN, COT_SLICE_US_MAX);
	if (c->turn_ns < COT_NS_PER_MS || c->turn_ns > c->cycle_ns ||
	    c->cycle_ns > 3600 * COT_NS_PER_S)
		return cot_error_set(err, -EINVAL,
				     "a turn must last at least 1 ms and at most a cycle, "
				     "a cycle at most an hour");
	if (c->reserve_permille > 1000 || c->latency_permille > 1000)
		return cot_error_set(err, -EINVAL,
				     "a reserve is out of range; expected up to 1000 of 1000");
	if (c->bandwidth_permille > 1000)
		return cot_error_set(err, -EINVAL,
				     "a bandwidth is out of range; expected up to 1000 of 1000");
	if (c->dram_bytes_per_s > COT_BYTES_PER_S_MAX)
		return cot_error_set(err, -EINVAL,
				     "a bandwidth is out of range; expected up to %llu bytes/s",
				     COT_BYTES_PER_S_MAX);
	if (c->gather_ns > COT_GATHER_NS_MAX || c->aim > COT_AIM_TIME ||
	    c->min_gain_permille >= 1000 || !c->base_w || c->base_w > COT_POWER_W_MAX ||
	    (c->limit_w && c->limit_w <= c->base_w) || c->limit_w > COT_POWER_W_MAX)
		return cot_error_set(
			err, -EINVAL,
			"a number of gangs is out of range; expected to gather up to a "
			"second, a gain below 1000 of 1000, and 1 to %u W, base_w below limit_w",
			COT_POWER_W_MAX);
	if (c->pace_us > COT_PACE_US_MAX)
		return cot_error_set(err, -EINVAL, "a pace is out of range; expected up to %u us",
				     COT_PACE_US_MAX);
	return 0;
}

static void start(struct cot_sched *s, const struct cot_policy_ops *ops)
{
	struct cot_entity *e;
	struct cot_tenant *t;
	int r;

	memset(s->state, 0, sizeof(s->state));
	cot_for_each_entity (e, &s->policy)
		memset(e->own, 0, ops->entity_bytes);
	cot_for_each_tenant (t, &s->policy)
		memset(t->own, 0, ops->tenant_bytes);
	cot_sched_work_forget_policy(s, ops);
	cot_sched_query_forget_policy(s, ops);
	s->policy.ops = ops;
	s->wake_ns = COT_NEVER;
	s->retry_ns = COT_NEVER;
	s->started_ns = s->policy.now_ns;
	s->fault_now = COT_FAULT_NONE;
	cot_sched_watchdog_init(s);
	r = ops->init ? ops->init(&s->policy) : 0;
	s->started = !r;
	if (r)
		cot_sched_fault(s, COT_FAULT_INIT, 0);
}

static void end(struct cot_sched *s)
{
	if (s->started && s->policy.ops->fini) {
		s->is_asked = true;
		s->policy.ops->fini(&s->policy);
		s->is_asked = false;
	}
	s->started = false;
	cot_sched_action_thaw_all(s);
}

/* Report the first fault. */
void cot_sched_fault(struct cot_sched *s, enum cot_fault fault, uint32_t entity)
{
	if (s->fault_now != COT_FAULT_NONE)
		return;
	s->fault_now = fault;
	s->fault_entity = entity;
}

/* Twice the last one. A policy without a fault for as long as the longest pause begins with the
 * shortest again. */
static uint64_t next_pause_ns(const struct cot_sched *s)
{
	uint64_t first_ns = s->limits.retry_ns, longest_ns = first_ns * RETRY_GROWTH_MAX;

	if (!s->retry_pause_ns || s->policy.now_ns - s->started_ns >= longest_ns)
		return first_ns;
	return s->retry_pause_ns < longest_ns / 2 ? 2 * s->retry_pause_ns : longest_ns;
}

static void fall_back(struct cot_sched *s)
{
	s->retry_pause_ns = next_pause_ns(s);
	s->stats.fallbacks++;
	s->stats.fault = s->fault_now;
	s->stats.fault_entity = s->fault_entity;
	s->stats.fault_ns = s->policy.now_ns;
	end(s);
	start(s, &cot_policy_timeslice);
	s->retry_ns = time_after(s->policy.now_ns, s->retry_pause_ns);
}

/* ---- time ---- */

static void set_time(struct cot_sched *s, uint64_t now_ns)
{
	if (now_ns <= s->policy.now_ns)
		return;
	cot_sched_watchdog_on_time(s, now_ns);
	cot_sched_ran_on_time(s, now_ns);
	s->policy.now_ns = now_ns;
}

static void ask(struct cot_sched *s)
{
	if (!s->started)
		return;
	s->wake_ns = s->policy.ops->tick(&s->policy);
	if (!s->policy.ops->works)
		cot_sched_work_grant_all(s);
	if (!s->policy.ops->places)
		cot_sched_place_all(s);
}

/* The policy comes first: it is judged by what it has seen and could act upon. */
static void tick(struct cot_sched *s)
{
	uint64_t earliest_ns = time_after(s->policy.now_ns, s->limits.min_wake_ns);

	if (s->retry_ns <= s->policy.now_ns) {
		end(s);
		start(s, s->wanted);
	}
	ask(s);
	cot_sched_watchdog_check(s);
	/* The fallback itself makes no mistakes, whatever is counted. */
	if (s->fault_now != COT_FAULT_NONE && s->policy.ops != &cot_policy_timeslice) {
		fall_back(s);
		ask(s);
	}
	s->fault_now = COT_FAULT_NONE;
	if (s->wake_ns < earliest_ns)
		s->wake_ns = earliest_ns;
}

uint64_t cot_sched_wake_ns(const struct cot_sched *s)
{
	uint64_t wake_ns = s->wake_ns;

	earlier(&wake_ns, s->retry_ns);
	earlier(&wake_ns, cot_sched_action_wake_ns(s));
	earlier(&wake_ns, cot_sched_place_wake_ns(s));
	earlier(&wake_ns, cot_sched_watchdog_wake_ns(s));
	return wake_ns;
}

static int take(struct cot_sched *s, const struct cot_event *ev)
{
	switch (ev->type) {
	case COT_EV_TICK:
		return 0;
	case COT_EV_TENANT:
		return cot_sched_table_on_tenant(s, ev->id, &ev->tenant);
	case COT_EV_TENANT_LEFT:
		return cot_sched_table_on_tenant_left(s, ev->id);
	case COT_EV_POOL:
		return cot_sched_table_on_pool(s, ev->id, &ev->pool);
	case COT_EV_POOL_LEFT:
		return cot_sched_table_on_pool_left(s, ev->id);
	case COT_EV_ACTIVITY:
		return cot_sched_table_on_activity(s, ev->id, ev->activity);
	case COT_EV_DONE:
		return cot_sched_action_on_done(s, ev->id, ev->done.seq, ev->done.status);
	case COT_EV_FOUND:
		return cot_sched_action_on_found(s, ev->id, ev->is_frozen);
	case COT_EV_HOLD:
		return cot_sched_action_on_hold(s, ev->id, ev->hold);
	case COT_EV_WORK:
		return cot_sched_work_on_work(s, ev->id, &ev->work);
	case COT_EV_WORK_EVICTED:
		return cot_sched_work_on_evicted(s, ev->id, ev->capsms);
	case COT_EV_WORK_DONE:
		return cot_sched_work_on_done(s, ev->id, ev->left);
	case COT_EV_PARTS:
		return cot_sched_place_on_parts(s, cot_sched_table_tenant(s, ev->id), ev);
	case COT_EV_PLACED:
		return cot_sched_place_on_placed(s, cot_sched_table_tenant(s, ev->id), ev);
	case COT_EV_WINDOW:
		return cot_sched_measure_on_window(s, cot_sched_table_tenant(s, ev->id),
						   &ev->window);
	case COT_EV_PROGRESS:
		return cot_sched_measure_on_progress(s, cot_sched_table_tenant(s, ev->id),
						     &ev->launches);
	case COT_EV_PREDICTION:
		return cot_sched_predict_on_row(s, cot_sched_table_tenant(s, ev->id), ev);
	case COT_EV_LESSON:
		return cot_sched_learn_on_lesson(s, &ev->lesson);
	case COT_EV_QUERY:
		return cot_sched_query_on_begin(s, cot_sched_table_tenant(s, ev->query.tenant),
						ev->id, &ev->query);
	case COT_EV_QUERY_TASKS:
		return cot_sched_query_on_tasks(s, ev->id, ev->tasks.n_done, ev->tasks.at_ns);
	case COT_EV_QUERY_END:
		return cot_sched_query_on_end(s, ev->id);
	default:
		return -EINVAL;
	}
}

int cot_sched_event(struct cot_sched *s, const struct cot_event *ev)
{
	int r;

	set_time(s, ev->now_ns);
	s->stats.events++;
	if (s->tap)
		s->tap(s->tap_arg, ev, NULL);
	r = take(s, ev);
	if (r)
		s->stats.events_refused++;
	cot_sched_action_on_time(s);
	cot_sched_place_on_time(s);
	tick(s);
	return r;
}

/* ---- life ---- */

static void or_default(uint64_t *value, uint64_t by_default)
{
	if (!*value)
		*value = by_default;
}

static void fill_limits(struct cot_sched_limits *l)
{
	or_default(&l->ack_ns, ACK_NS);
	or_default(&l->place_ns, PLACE_NS);
	or_default(&l->stall_ns, STALL_NS);
	or_default(&l->starve_ns, STARVE_NS);
	or_default(&l->min_wake_ns, MIN_WAKE_NS);
	or_default(&l->retry_ns, RETRY_NS);
	if (!l->max_wrong)
		l->max_wrong = MAX_WRONG;
	if (!l->max_actions_per_s)
		l->max_actions_per_s = MAX_ACTIONS_PER_S;
}

static int set_config(struct cot_sched *s, const struct cot_policy_config *config,
		      struct cot_error *err)
{
	struct cot_policy_config c;
	int r;

	if (config)
		c = *config;
	else
		cot_policy_config_init(&c);
	r = check_config(&c, err);
	if (r)
		return r;
	memcpy(c.gpu_limit_w, s->config.gpu_limit_w, sizeof(c.gpu_limit_w));
	s->config = c;
	return 0;
}

bool cot_sched_set_limit_w(struct cot_sched *s, uint32_t gpu, uint32_t limit_w)
{
	if (gpu >= COT_POLICY_GPUS_MAX || s->config.gpu_limit_w[gpu] == limit_w)
		return false;
	s->config.gpu_limit_w[gpu] = limit_w;
	return true;
}

int cot_sched_create(const struct cot_policy_ops *ops, const struct cot_policy_config *config,
		     const struct cot_sched_limits *limits, uint64_t now_ns,
		     struct cot_sched **ret_sched, struct cot_error *err)
{
	struct cot_sched *s;
	int r = check_ops(ops, err);

	if (r)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return cot_error_set(err, -ENOMEM, "out of memory");
	r = set_config(s, config, err);
	if (r) {
		free(s);
		return r;
	}
	if (limits)
		s->limits = *limits;
	fill_limits(&s->limits);
	cot_sched_table_init(s);
	cot_sched_work_init(s);
	s->wanted = ops;
	s->policy = (struct cot_policy){
		.actions = &cot_sched_actions,
		.config = &s->config,
		.state = s->state,
		.now_ns = now_ns,
	};
	start(s, ops);
	tick(s);
	*ret_sched = s;
	return 0;
}

void cot_sched_destroy(struct cot_sched *s)
{
	if (!s)
		return;
	end(s);
	free(s);
}

int cot_sched_set_policy(struct cot_sched *s, const struct cot_policy_ops *ops,
			 const struct cot_policy_config *config, uint64_t now_ns,
			 struct cot_error *err)
{
	int r = check_ops(ops, err);

	if (!r)
		r = set_config(s, config, err);
	if (r)
		return r;
	set_time(s, now_ns);
	end(s);
	s->wanted = ops;
	s->retry_pause_ns = 0;
	s->stats.fault = COT_FAULT_NONE;
	s->stats.fault_entity = 0;
	start(s, ops);
	tick(s);
	return 0;
}

void cot_sched_stop(struct cot_sched *s, uint64_t now_ns)
{
	struct cot_entity *e;

	set_time(s, now_ns);
	s->parts_stay = true;
	cot_for_each_entity (e, &s->policy)
		e->held = false;
	end(s);
	start(s, &cot_policy_timeslice);
	tick(s);
	s->stopped = true;
}

bool cot_sched_is_quiet(const struct cot_sched *s)
{
	struct cot_entity *pub;
	enum wish_kind kind;

	cot_for_each_entity (pub, &s->policy)
		for (kind = 0; kind < N_WISHES; kind++) {
			const struct wish *w = &entity_of(pub)->wish[kind];

			if (w->seq || (w->want != VALUE_NONE && w->want != w->have))
				return false;
		}
	return true;
}

uint32_t cot_sched_first_slice(const struct cot_sched *s, enum cot_class cls, uint64_t gpu_mask)
{
	const struct cot_policy_ops *ops = s->policy.ops;

	return s->started && ops->first_slice ? ops->first_slice(&s->policy, cls, gpu_mask)
					      : COT_SLICE_DRIVER;
}

/* ---- for output ---- */

const struct cot_policy *cot_sched_policy(const struct cot_sched *s)
{
	return &s->policy;
}

const struct cot_policy_ops *cot_sched_wanted_policy(const struct cot_sched *s)
{
	return s->wanted;
}

void cot_sched_fallback(const struct cot_sched *s, struct cot_sched_fallback *ret_fallback)
{
	*ret_fallback = (struct cot_sched_fallback){.retry_ns = s->retry_ns};
	if (s->retry_ns == COT_NEVER)
		return;
	ret_fallback->fault = s->stats.fault;
	ret_fallback->entity = s->stats.fault_entity;
	ret_fallback->since_ns = s->stats.fault_ns;
}

void cot_sched_stats(const struct cot_sched *s, struct cot_sched_stats *ret_stats)
{
	*ret_stats = s->stats;
}

void cot_sched_set_tap(struct cot_sched *s, cot_sched_tap_fn *tap, void *arg)
{
	s->tap = tap;
	s->tap_arg = arg;
}
