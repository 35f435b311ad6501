#include "daemon/host_work.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_WORKS   COT_SCHED_MAX_WORKS
#define MAX_TENANTS COT_SCHED_MAX_TENANTS

struct host_work {
	uint32_t id; /* the core's number; its place is that modulo MAX_WORKS. 0 = unused */
	uint16_t member;
	bool running, one_kernel;
	enum cot_work_method method;
	uint64_t name; /* the shim's */
	uint64_t asked_ns, evict_ns;
	uint32_t evict, left; /* CapSMs that should leave; that have left */
};

struct member {
	struct cot_host_shim shim;
	uint16_t n_works;
	uint16_t works[COT_PROTO_WORKS_MAX]; /* indices */
};

struct tenant_works {
	uint32_t tenant; /* 0 = unused */
	uint32_t n_sms;
	struct cot_host_work_stats counts;
	struct cot_hist *evictions, *orders, *waits;
};

struct cot_host_works {
	const struct cot_host_ops *ops;
	void *arg;
	struct host_work works[MAX_WORKS];
	struct member members[COT_HOST_MAX_MEMBERS];
	struct tenant_works tenants[MAX_TENANTS];
	uint32_t last_id;
};

static void *create(const struct cot_host_ops *ops, void *arg)
{
	struct cot_host_works *works = calloc(1, sizeof(*works));

	if (!works)
		return NULL;
	works->ops = ops;
	works->arg = arg;
	return works;
}

/* ---- tenants ---- */

static void finish_tenant(struct tenant_works *t)
{
	cot_hist_destroy(t->evictions);
	cot_hist_destroy(t->orders);
	cot_hist_destroy(t->waits);
	*t = (struct tenant_works){0};
}

static void destroy(void *state)
{
	struct cot_host_works *works = state;
	unsigned i;

	if (!works)
		return;
	for (i = 0; i < MAX_TENANTS; i++)
		finish_tenant(&works->tenants[i]);
	free(works);
}

static struct tenant_works *find_tenant(const struct cot_host_works *works, uint32_t tenant)
{
	unsigned i;

	for (i = 0; tenant && i < MAX_TENANTS; i++)
		if (works->tenants[i].tenant == tenant)
			return (struct tenant_works *)&works->tenants[i];
	return NULL;
}

static struct tenant_works *find_or_make_tenant(struct cot_host_works *works, uint32_t tenant)
{
	struct tenant_works *t = find_tenant(works, tenant);
	unsigned i;

	for (i = 0; !t && i < MAX_TENANTS; i++)
		if (!works->tenants[i].tenant)
			t = &works->tenants[i];
	if (!t || t->tenant)
		return t;
	t->evictions = cot_hist_create();
	t->orders = cot_hist_create();
	t->waits = cot_hist_create();
	if (!t->evictions || !t->orders || !t->waits) {
		finish_tenant(t);
		return NULL;
	}
	t->tenant = tenant;
	return t;
}

void cot_host_work_forget(struct cot_host *host, uint32_t tenant)
{
	struct tenant_works *t = find_tenant(cot_host_works(host), tenant);

	if (t)
		finish_tenant(t);
}

static void sum_up(const struct cot_host *host, uint32_t tenant, struct cot_host_work_stats *s)
{
	const struct cot_work *w;

	cot_for_each_work(w, cot_sched_policy(cot_host_sched(host)))
	{
		struct cot_host_method_stats *m = &s->by_method[w->method];

		if (w->tenant->id != tenant)
			continue;
		m->n_running += w->state == COT_WORK_RUNNING;
		m->n_waiting += w->state == COT_WORK_WAITING;
		m->has += w->granted - w->evicted;
		s->n_waiting += w->state == COT_WORK_WAITING;
		s->n_running += w->state == COT_WORK_RUNNING;
		s->granted += w->granted;
		s->evicted += w->evicted;
		s->leaving += w->evicted - w->left;
	}
}

void cot_host_work_stats(const struct cot_host *host, uint32_t tenant,
			 struct cot_host_work_stats *ret_stats)
{
	const struct tenant_works *t = find_tenant(cot_host_works(host), tenant);

	*ret_stats = (struct cot_host_work_stats){0};
	if (!t)
		return;
	*ret_stats = t->counts;
	ret_stats->n_sms = t->n_sms;
	ret_stats->evictions = t->evictions;
	ret_stats->orders = t->orders;
	ret_stats->waits = t->waits;
	sum_up(host, tenant, ret_stats);
}

/* ---- works ---- */

static struct host_work *find_work(struct cot_host_works *works, uint32_t id)
{
	struct host_work *w = &works->works[id % MAX_WORKS];

	return id && w->id == id ? w : NULL;
}

static struct host_work *find_name(struct cot_host_works *works, unsigned member, uint64_t name)
{
	struct member *m = &works->members[member];
	unsigned i;

	for (i = 0; i < m->n_works; i++)
		if (works->works[m->works[i]].name == name)
			return &works->works[m->works[i]];
	return NULL;
}

/* NULL when every place is taken. */
static struct host_work *new_work(struct cot_host_works *works)
{
	unsigned i;

	for (i = 0; i < MAX_WORKS; i++) {
		struct host_work *w;

		if (!++works->last_id)
			works->last_id = 1;
		w = &works->works[works->last_id % MAX_WORKS];
		if (w->id)
			continue;
		*w = (struct host_work){.id = works->last_id};
		return w;
	}
	return NULL;
}

static void forget_work(struct cot_host_works *works, struct host_work *w)
{
	struct member *m = &works->members[w->member];
	uint16_t index = (uint16_t)(w - works->works);
	unsigned i;

	for (i = 0; i < m->n_works; i++)
		if (m->works[i] == index)
			m->works[i--] = m->works[--m->n_works];
	w->id = 0;
}

static void send_grant(const struct cot_host_works *works, unsigned member, uint64_t name,
		       uint32_t capsms, uint32_t flags)
{
	struct cot_msg_work_grant m = {.work = name, .capsms = capsms, .flags = flags};

	cot_proto_header(&m.h, COT_MSG_WORK_GRANT, sizeof(m), 0);
	(void)works->ops->send(works->arg, member, &m, sizeof(m));
}

static void send_evict(const struct cot_host_works *works, unsigned member, uint64_t name,
		       uint32_t capsms)
{
	struct cot_msg_work_evict m = {.work = name, .capsms = capsms};

	cot_proto_header(&m.h, COT_MSG_WORK_EVICT, sizeof(m), 0);
	(void)works->ops->send(works->arg, member, &m, sizeof(m));
}

static void carry_out(void *state, const struct cot_action *a, uint64_t now_ns)
{
	struct cot_host_works *works = state;
	struct host_work *w = find_work(works, a->entity);
	struct tenant_works *t;

	if (!w) /* it has ended meanwhile */
		return;
	t = find_tenant(works, works->members[w->member].shim.tenant);
	if (a->kind == COT_ACTION_GRANT) {
		if (!w->running && t)
			cot_hist_add(t->waits, now_ns - w->asked_ns);
		w->running = true;
		send_grant(works, w->member, w->name, a->value,
			   (a->settled ? COT_WORK_SETTLED : 0) |
				   (a->whole_sms ? COT_WORK_WHOLE_SMS : 0) |
				   (a->crowded ? COT_WORK_CROWDED : 0) |
				   (w->one_kernel ? COT_WORK_ONE_KERNEL : 0));
		return;
	}
	if (t) {
		t->counts.n_evictions++;
		t->counts.n_evicted_capsms += a->value - w->evict;
		t->counts.by_method[w->method].n_evictions++;
		t->counts.by_method[w->method].n_evicted_capsms += a->value - w->evict;
	}
	if (w->evict == w->left) /* else one is on its way already */
		w->evict_ns = now_ns;
	w->evict = a->value;
	send_evict(works, w->member, w->name, a->value);
}

const struct cot_host_carrier_ops cot_host_works_ops = {
	.create = create, .destroy = destroy, .carry_out = carry_out};

/* ---- packets ---- */

int cot_host_work_join(struct cot_host *host, unsigned member, const struct cot_host_shim *shim)
{
	struct cot_host_works *works = cot_host_works(host);
	struct tenant_works *t;

	if (member >= COT_HOST_MAX_MEMBERS || works->members[member].shim.tenant)
		return -EEXIST;
	t = find_or_make_tenant(works, shim->tenant);
	if (!t)
		return -ENOMEM;
	t->n_sms = shim->n_sms;
	works->members[member] = (struct member){.shim = *shim};
	return 0;
}

/* A share of a work that reserves says nothing about the most. */
static uint32_t most_of(const struct cot_msg_work_request *m, enum cot_work_method method,
			uint32_t n_sms)
{
	uint32_t share = cot_share_sms(cot_share_unpack(m->share), n_sms);

	if (method == COT_WORK_RESERVE || !share)
		return m->want;
	return m->want && m->want < share ? m->want : share;
}

int cot_host_work_request(struct cot_host *host, unsigned member,
			  const struct cot_msg_work_request *m, enum cot_work_method method,
			  uint64_t now_ns)
{
	struct cot_host_works *works = cot_host_works(host);
	struct member *from = &works->members[member];
	struct tenant_works *t = find_tenant(works, from->shim.tenant);
	struct cot_event ev = {.type = COT_EV_WORK, .now_ns = now_ns};
	struct host_work *w;

	if (!t || from->n_works == COT_PROTO_WORKS_MAX || find_name(works, member, m->work))
		return -EINVAL;
	t->counts.n_requests++;
	t->counts.by_method[method].n_requests++;
	t->counts.by_method[method].n_said += m->method != COT_PROTO_WORK_DEFAULT;
	w = new_work(works);
	if (!w) {
		cot_host_work_pass(host, member, m);
		return 0;
	}
	w->member = (uint16_t)member;
	w->method = method;
	w->one_kernel = m->flags & COT_WORK_BY_KERNEL;
	w->name = m->work;
	w->asked_ns = now_ns;
	from->works[from->n_works++] = (uint16_t)(w - works->works);
	ev.id = w->id;
	ev.work = (struct cot_work_desc){
		.tenant = from->shim.tenant,
		.gpu = from->shim.gpu,
		.n_sms = from->shim.n_sms,
		.method = method,
		.can_settle = m->flags & COT_WORK_CAN_SETTLE,
		.can_grow = m->flags & COT_WORK_CAN_GROW,
		.n_tasks = m->n_tasks,
		.per_sm = m->per_sm,
		.asked = most_of(m, method, from->shim.n_sms),
		.reserve = cot_share_sms(cot_share_unpack(m->share), from->shim.n_sms),
		.task_ns = m->task_ns,
	};
	if (cot_host_event(host, &ev) < 0) {
		forget_work(works, w);
		cot_host_work_pass(host, member, m);
	}
	return 0;
}

void cot_host_work_pass(struct cot_host *host, unsigned member,
			const struct cot_msg_work_request *m)
{
	const struct cot_host_works *works = cot_host_works(host);
	uint32_t n_sms = works->members[member].shim.n_sms;
	uint32_t most = most_of(
		m, m->method == COT_PROTO_WORK_RESERVE ? COT_WORK_RESERVE : COT_WORK_QUOTA, n_sms);

	send_grant(works, member, m->work, most ? most : n_sms,
		   (m->flags & COT_WORK_BY_KERNEL ? COT_WORK_ONE_KERNEL : 0) |
			   (most && most < n_sms ? COT_WORK_WHOLE_SMS : 0));
}

unsigned cot_host_work_count(const struct cot_host *host, unsigned member)
{
	return cot_host_works(host)->members[member].n_works;
}

void cot_host_work_evicted(struct cot_host *host, unsigned member,
			   const struct cot_msg_work_evicted *m, uint64_t now_ns)
{
	struct cot_host_works *works = cot_host_works(host);
	struct host_work *w = find_name(works, member, m->work);
	struct tenant_works *t = find_tenant(works, works->members[member].shim.tenant);
	struct cot_event ev = {.type = COT_EV_WORK_EVICTED, .now_ns = now_ns, .capsms = m->capsms};

	if (!w || m->capsms > w->evict || m->capsms <= w->left)
		return;
	w->left = m->capsms;
	if (t) {
		t->counts.eviction_last_ns = m->delay_ns;
		cot_hist_add(t->evictions, m->delay_ns);
		cot_hist_add(t->orders, now_ns - w->evict_ns);
	}
	ev.id = w->id;
	(void)cot_host_event(host, &ev);
}

static void count_done(struct tenant_works *t, const struct cot_msg_work_done *m)
{
	t->counts.n_tasks += m->n_tasks;
	t->counts.n_remapped += m->n_remapped;
	t->counts.n_launches += m->n_launches;
	t->counts.n_failed += m->status < 0;
	t->counts.n_returns += m->left && m->status >= 0;
}

void cot_host_work_done(struct cot_host *host, unsigned member, const struct cot_msg_work_done *m,
			uint64_t now_ns)
{
	struct cot_host_works *works = cot_host_works(host);
	struct host_work *w = find_name(works, member, m->work);
	struct tenant_works *t = find_tenant(works, works->members[member].shim.tenant);
	/* Of a launch that failed nothing is left. */
	struct cot_event ev = {
		.type = COT_EV_WORK_DONE, .now_ns = now_ns, .left = m->status < 0 ? 0 : m->left};

	if (!w)
		return;
	if (t)
		count_done(t, m);
	ev.id = w->id;
	if (!ev.left) {
		forget_work(works, w);
	} else {
		w->running = false;
		w->asked_ns = now_ns;
		w->evict = w->left = 0;
	}
	(void)cot_host_event(host, &ev);
}

/* Remove waiting works first, so that the policy makes no room for them when others end. */
static struct host_work *first_to_end(struct cot_host_works *works, const struct member *m)
{
	unsigned i;

	for (i = 0; i < m->n_works; i++)
		if (!works->works[m->works[i]].running)
			return &works->works[m->works[i]];
	return &works->works[m->works[0]];
}

void cot_host_work_leave(struct cot_host *host, unsigned member, uint64_t now_ns)
{
	struct cot_host_works *works = cot_host_works(host);
	struct member *m = &works->members[member];

	while (m->n_works) {
		struct host_work *w = first_to_end(works, m);
		struct cot_event ev = {
			.type = COT_EV_WORK_DONE, .id = w->id, .now_ns = now_ns, .left = 0};

		forget_work(works, w);
		(void)cot_host_event(host, &ev);
	}
	m->shim = (struct cot_host_shim){0};
}
