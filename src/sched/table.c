/*
 * Tenants and entities. A tenant that stands alone has the entity with its own id; the others share
 * the entity of their pool. An entity is `up`, that is, visible to the policy, while its channel
 * groups are known and its library listens.
 */
#include <errno.h>
#include <string.h>

#include "base/words.h"
#include "sched/inside.h"

void cot_sched_table_init(struct cot_sched *s)
{
	s->tenants_tail = &s->policy.tenants;
	s->entities_tail = &s->policy.entities;
}

/* ---- looking up ---- */

static struct sched_entity *find_entity(struct cot_sched *s, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < COT_SCHED_MAX_ENTITIES; i++)
		if (s->entities[i].used && s->entities[i].pub.id == id)
			return &s->entities[i];
	return NULL;
}

struct sched_tenant *cot_sched_table_tenant(struct cot_sched *s, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < COT_SCHED_MAX_TENANTS; i++)
		if (s->tenants[i].used && s->tenants[i].pub.id == id)
			return &s->tenants[i];
	return NULL;
}

struct sched_entity *cot_sched_table_up(struct cot_sched *s, uint32_t id)
{
	struct sched_entity *e = find_entity(s, id);

	return e && e->up ? e : NULL;
}

const struct cot_entity *cot_sched_entity(const struct cot_sched *s, uint32_t id)
{
	const struct cot_entity *e;

	cot_for_each_entity (e, &s->policy)
		if (e->id == id)
			return e;
	return NULL;
}

const struct cot_tenant *cot_sched_tenant(const struct cot_sched *s, uint32_t id)
{
	const struct cot_tenant *t;

	cot_for_each_tenant (t, &s->policy)
		if (t->id == id)
			return t;
	return NULL;
}

/* ---- entities ---- */

static struct sched_entity *entity_create(struct cot_sched *s, uint32_t id,
					  enum cot_entity_kind kind)
{
	uint32_t i;

	for (i = 0; i < COT_SCHED_MAX_ENTITIES; i++) {
		struct sched_entity *e = &s->entities[i];

		if (e->used)
			continue;
		*e = (struct sched_entity){.used = true,
					   .pub = {.id = id, .kind = kind, .own = &e->own}};
		cot_sched_action_entity_init(e);
		return e;
	}
	return NULL;
}

/* What an entity has from its tenants. Returns what changed. */
static unsigned sum_up(struct cot_sched *s, struct sched_entity *e)
{
	uint32_t weight = 0, block_us = 0, target_us = 0, n = 0;
	bool active = false, unknown = false, all_known = true;
	enum cot_activity activity;
	struct cot_tenant *t;
	unsigned what = 0;

	cot_for_each_tenant (t, &s->policy) {
		if ((t->pool ? t->pool : t->id) != e->pub.id)
			continue;
		n++;
		weight += t->weight;
		active |= t->activity == COT_ACTIVITY_ACTIVE;
		unknown |= t->activity == COT_ACTIVITY_UNKNOWN;
		all_known &= t->block_us != 0;
		if (t->block_us > block_us)
			block_us = t->block_us;
		if (t->target.kind == COT_TARGET_P99 &&
		    (!target_us || t->target.amount < target_us))
			target_us = t->target.amount;
	}
	activity = active    ? COT_ACTIVITY_ACTIVE
		   : unknown ? COT_ACTIVITY_UNKNOWN
			     : COT_ACTIVITY_IDLE;
	/* One program of which nothing is known may have the longest blocks. */
	block_us = all_known ? block_us : 0;
	weight = weight ? weight : COT_WEIGHT_MIN;
	if (weight != e->pub.weight)
		what |= COT_CHANGED_WEIGHT;
	if (block_us != e->pub.block_us)
		what |= COT_CHANGED_HINTS;
	if (target_us != e->pub.target_p99_us)
		what |= COT_CHANGED_TARGET;
	if (activity != e->pub.activity) {
		what |= COT_CHANGED_ACTIVITY;
		e->pub.activity_since_ns = s->policy.now_ns;
	}
	e->pub.weight = weight;
	e->pub.block_us = block_us;
	e->pub.target_p99_us = target_us;
	e->pub.activity = activity;
	e->pub.n_tenants = n;
	return what;
}

static void link_tenants(struct cot_sched *s, struct sched_entity *e, struct cot_entity *to)
{
	struct cot_tenant *t;

	cot_for_each_tenant (t, &s->policy)
		if ((t->pool ? t->pool : t->id) == e->pub.id)
			t->entity = to;
}

static void bring_up(struct cot_sched *s, struct sched_entity *e)
{
	e->up = true;
	e->starving = false;
	e->pub.run = COT_RUN_RUNNING;
	e->pub.run_since_ns = s->policy.now_ns;
	e->pub.slice_us = COT_SLICE_DRIVER;
	e->pub.mode = COT_MODE_SWITCH;
	e->pub.held = false;
	e->pub.n_failed = 0;
	(void)sum_up(s, e);
	e->pub.activity_since_ns = s->policy.now_ns;
	e->pub.next = NULL;
	memset(&e->own, 0, sizeof(e->own));
	*s->entities_tail = &e->pub;
	s->entities_tail = &e->pub.next;
	s->policy.n_entities++;
	link_tenants(s, e, &e->pub);
	if (s->started && s->policy.ops->entity_up)
		s->policy.ops->entity_up(&s->policy, &e->pub);
}

/* Remove it first: the callback must not find it in the table. */
static void take_down(struct cot_sched *s, struct sched_entity *e)
{
	struct cot_entity **p = &s->policy.entities;

	if (!e->up)
		return;
	while (*p != &e->pub)
		p = &(*p)->next;
	*p = e->pub.next;
	if (s->entities_tail == &e->pub.next)
		s->entities_tail = p;
	s->policy.n_entities--;
	e->up = false;
	cot_sched_action_entity_forget(s, e);
	link_tenants(s, e, NULL);
	if (s->started && s->policy.ops->entity_down)
		s->policy.ops->entity_down(&s->policy, &e->pub);
}

static void update_entity(struct cot_sched *s, struct sched_entity *e, enum cot_class cls,
			  uint64_t gpu_mask, bool ready)
{
	unsigned what = 0;

	if (e->pub.cls != cls)
		what |= COT_CHANGED_CLASS;
	if (e->pub.gpu_mask != gpu_mask)
		what |= COT_CHANGED_GPU;
	e->pub.cls = cls;
	e->pub.gpu_mask = gpu_mask;
	if (!ready) {
		take_down(s, e);
	} else if (!e->up) {
		bring_up(s, e);
	} else {
		what |= sum_up(s, e);
		if (what && s->started && s->policy.ops->entity_changed)
			s->policy.ops->entity_changed(&s->policy, &e->pub, what);
	}
}

static void refresh(struct cot_sched *s, struct sched_entity *e)
{
	if (e && e->up)
		update_entity(s, e, e->pub.cls, e->pub.gpu_mask, true);
}

static void entity_destroy(struct cot_sched *s, struct sched_entity *e)
{
	take_down(s, e);
	e->used = false;
}

/* ---- tenants ---- */

static bool is_class(enum cot_class cls)
{
	return cls == COT_CLASS_LATENCY || cls == COT_CLASS_BATCH;
}

static struct sched_tenant *tenant_create(struct cot_sched *s, uint32_t id)
{
	uint32_t i;

	for (i = 0; i < COT_SCHED_MAX_TENANTS; i++) {
		struct sched_tenant *t = &s->tenants[i];

		if (t->used)
			continue;
		*t = (struct sched_tenant){.used = true, .pub = {.id = id, .own = &t->own}};
		return t;
	}
	return NULL;
}

static bool is_same_share(struct cot_share a, struct cot_share b)
{
	return a.sms == b.sms && a.pct == b.pct;
}

static bool is_same_target(struct cot_target a, struct cot_target b)
{
	return a.kind == b.kind && a.amount == b.amount;
}

static unsigned describe(struct cot_tenant *t, const struct cot_tenant_desc *d)
{
	unsigned what = 0;

	if (t->cls != d->cls)
		what |= COT_CHANGED_CLASS;
	if (t->weight != d->weight)
		what |= COT_CHANGED_WEIGHT;
	if (t->gpu_mask != d->gpu_mask)
		what |= COT_CHANGED_GPU;
	if (t->block_us != d->block_us)
		what |= COT_CHANGED_HINTS;
	if (!is_same_target(t->target, d->target))
		what |= COT_CHANGED_TARGET;
	if (!is_same_share(t->quota, d->quota) || !is_same_share(t->reserve, d->reserve) ||
	    !is_same_share(t->sms, d->sms) || t->pace_us != d->pace_us)
		what |= COT_CHANGED_SHARES;
	t->cls = d->cls;
	t->weight = d->weight;
	t->gpu_mask = d->gpu_mask;
	t->block_us = d->block_us;
	t->target = d->target;
	t->quota = d->quota;
	t->reserve = d->reserve;
	t->sms = d->sms;
	t->pace_us = d->pace_us;
	return what;
}

static int join(struct cot_sched *s, uint32_t id, const struct cot_tenant_desc *d)
{
	struct sched_entity *e = find_entity(s, d->pool ? d->pool : id);
	struct sched_tenant *t;

	if (d->pool ? e && e->pub.kind != COT_ENTITY_POOL : e != NULL)
		return -EEXIST;
	t = tenant_create(s, id);
	if (!t)
		return -ENOSPC;
	if (!d->pool) {
		e = entity_create(s, id, COT_ENTITY_SOLO);
		if (!e) {
			t->used = false;
			return -ENOSPC;
		}
	}
	t->pub.pool = d->pool;
	t->pub.key = d->key;
	(void)describe(&t->pub, d);
	t->pub.entity = e && e->up ? &e->pub : NULL;
	t->pub.pool_cls = d->pool && e ? e->pub.cls : d->cls;
	*s->tenants_tail = &t->pub;
	s->tenants_tail = &t->pub.next;
	s->policy.n_tenants++;
	if (s->started && s->policy.ops->tenant_joined)
		s->policy.ops->tenant_joined(&s->policy, &t->pub);
	if (d->pool)
		refresh(s, e);
	else
		update_entity(s, e, d->cls, d->gpu_mask, d->ready);
	return 0;
}

int cot_sched_table_on_tenant(struct cot_sched *s, uint32_t id, const struct cot_tenant_desc *d)
{
	struct sched_tenant *t = cot_sched_table_tenant(s, id);
	struct sched_entity *e;
	unsigned what;

	if (!id || !is_class(d->cls) || !d->gpu_mask || d->weight < COT_WEIGHT_MIN ||
	    d->weight > COT_WEIGHT_MAX || d->pool == id || !cot_share_is_valid(d->quota) ||
	    !cot_share_is_valid(d->reserve) || !cot_share_is_valid(d->sms) ||
	    !cot_target_is_valid(d->target) || d->pace_us > COT_PACE_US_MAX)
		return -EINVAL;
	if (!t)
		return join(s, id, d);
	if (t->pub.pool != d->pool || t->pub.key != d->key)
		return -EINVAL;
	what = describe(&t->pub, d);
	if (!d->pool)
		t->pub.pool_cls = d->cls;
	if (what & COT_CHANGED_SHARES)
		cot_sched_work_on_shares(s, &t->pub);
	if (what && s->started && s->policy.ops->tenant_changed)
		s->policy.ops->tenant_changed(&s->policy, &t->pub, what);
	e = find_entity(s, d->pool ? d->pool : id);
	if (d->pool)
		refresh(s, e);
	else
		update_entity(s, e, d->cls, d->gpu_mask, d->ready);
	return 0;
}

static void unlink_tenant(struct cot_sched *s, struct sched_tenant *t)
{
	struct cot_tenant **p = &s->policy.tenants;

	while (*p != &t->pub)
		p = &(*p)->next;
	*p = t->pub.next;
	if (s->tenants_tail == &t->pub.next)
		s->tenants_tail = p;
	s->policy.n_tenants--;
}

int cot_sched_table_on_tenant_left(struct cot_sched *s, uint32_t id)
{
	struct sched_tenant *t = cot_sched_table_tenant(s, id);

	if (!t)
		return -EINVAL;
	cot_sched_work_drop(s, &t->pub);
	cot_sched_query_drop(s, &t->pub);
	cot_sched_place_forget(s, t);
	if (!t->pub.pool)
		entity_destroy(s, find_entity(s, id));
	unlink_tenant(s, t);
	if (s->started && s->policy.ops->tenant_left)
		s->policy.ops->tenant_left(&s->policy, &t->pub);
	t->used = false;
	if (t->pub.pool)
		refresh(s, find_entity(s, t->pub.pool));
	return 0;
}

int cot_sched_table_on_activity(struct cot_sched *s, uint32_t id, enum cot_activity activity)
{
	struct sched_tenant *t = cot_sched_table_tenant(s, id);

	if (!t || (unsigned)activity > COT_ACTIVITY_ACTIVE)
		return -EINVAL;
	if (t->pub.activity == activity)
		return 0;
	t->pub.activity = activity;
	if (s->started && s->policy.ops->tenant_changed)
		s->policy.ops->tenant_changed(&s->policy, &t->pub, COT_CHANGED_ACTIVITY);
	refresh(s, find_entity(s, t->pub.pool ? t->pub.pool : id));
	return 0;
}

/* ---- pools ---- */

int cot_sched_table_on_pool(struct cot_sched *s, uint32_t id, const struct cot_pool_desc *d)
{
	struct sched_entity *e = find_entity(s, id);
	struct cot_tenant *t;

	if (!id || !is_class(d->cls) || !d->gpu_mask)
		return -EINVAL;
	if (e ? e->pub.kind != COT_ENTITY_POOL : cot_sched_table_tenant(s, id) != NULL)
		return -EEXIST;
	if (!e)
		e = entity_create(s, id, COT_ENTITY_POOL);
	if (!e)
		return -ENOSPC;
	cot_for_each_tenant (t, &s->policy)
		if (t->pool == id)
			t->pool_cls = d->cls;
	update_entity(s, e, d->cls, d->gpu_mask, d->ready);
	return 0;
}

int cot_sched_table_on_pool_left(struct cot_sched *s, uint32_t id)
{
	struct sched_entity *e = find_entity(s, id);

	if (!e || e->pub.kind != COT_ENTITY_POOL)
		return -EINVAL;
	entity_destroy(s, e);
	return 0;
}
