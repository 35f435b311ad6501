#include "host_world.h"

#include <errno.h>

struct world w;

/* ---- what the host asks for ---- */

static void apply(struct library *l, const struct cot_msg_set *m)
{
	if (m->h.type == COT_MSG_SET) {
		l->slice_us = m->slice_us;
		l->mode = m->mode != COT_MODE_DRIVER ? m->mode : l->mode;
	}
	if (m->h.type == COT_MSG_FREEZE || m->h.type == COT_MSG_THAW)
		l->frozen = m->h.type == COT_MSG_FREEZE;
}

static int record(void *arg, unsigned member, const void *packet, size_t size)
{
	const struct cot_msg_set *m = packet;
	struct sent *s = &w.sent[w.n_sent];

	assert_ptr_equal(arg, &w);
	assert_int_equal(cot_proto_check(packet, size), m->h.type);
	if (w.send_rc < 0)
		return w.send_rc;
	if (member < 64 && w.deaf >> member & 1)
		return -EPIPE;
	assert_true(w.n_sent < MAX_SENT);
	*s = (struct sent){.member = member,
			   .type = m->h.type,
			   .seq = m->h.seq,
			   .lease_ns = w.lease_ns[member]};
	if (m->h.type == COT_MSG_SET) {
		s->slice_us = m->slice_us;
		s->mode = m->mode;
	}
	apply(&w.library[member], m);
	w.n_sent++;
	return 0;
}

/* As the library does, which is not late: it looks when its lease ends. */
static uint64_t lease(void *arg, unsigned member, uint64_t until_ns)
{
	struct library *l = &w.library[member];

	(void)arg;
	if (l->frozen && w.lease_ns[member] <= w.now_ns) {
		l->frozen = false;
		l->n_ended++;
	}
	w.lease_ns[member] = until_ns;
	w.n_leases += until_ns != 0;
	w.n_leases_of[member] += until_ns != 0;
	return l->n_ended;
}

static void late(void *arg, unsigned member)
{
	(void)arg;
	w.n_late[member]++;
}

static void tell(void *arg, const struct cot_host_news *news)
{
	(void)arg;
	assert_true(w.n_news < 64);
	w.news[w.n_news++] = *news;
}

static bool is_quiet(void *arg, uint32_t entity, uint64_t now_ns)
{
	(void)arg;
	(void)entity;
	(void)now_ns;
	return !w.setting_up;
}

static const struct cot_host_ops ops = {.works = &cot_host_works_ops,
					.parts = &cot_host_parts_ops,
					.send = record,
					.lease = lease,
					.late = late,
					.tell = tell,
					.is_quiet = is_quiet};

/* ---- life ---- */

void world_use(const char *policy)
{
	struct cot_policy_config config;

	cot_host_destroy(w.host);
	memset(&w, 0, sizeof(w));
	w.now_ns = 1000 * MS;
	cot_policy_config_init(&config);
	assert_int_equal(cot_host_create(&ops, &w, cot_policy_find(policy), &config, w.now_ns,
					 &w.host, NULL),
			 0);
}

int world_setup(void **state)
{
	(void)state;
	world_use("pools");
	return 0;
}

int world_teardown(void **state)
{
	(void)state;
	cot_host_destroy(w.host);
	w.host = NULL;
	return 0;
}

/* ---- what the test does ---- */

void world_tenant(uint32_t id, enum cot_class cls, uint32_t pool, bool ready)
{
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = id,
			       .now_ns = w.now_ns,
			       .tenant = {.cls = cls,
					  .weight = 100,
					  .gpu_mask = 1,
					  .pool = pool,
					  .ready = ready,
					  .block_us = w.block_us}};

	assert_int_equal(cot_host_event(w.host, &ev), 0);
}

void world_pool(uint32_t id, enum cot_class cls, bool ready)
{
	struct cot_event ev = {.type = COT_EV_POOL,
			       .id = id,
			       .now_ns = w.now_ns,
			       .pool = {.cls = cls, .gpu_mask = 1, .ready = ready}};

	assert_int_equal(cot_host_event(w.host, &ev), 0);
}

void world_hold(uint32_t id, bool on)
{
	struct cot_event ev = {.type = COT_EV_HOLD, .id = id, .now_ns = w.now_ns, .hold = on};

	assert_int_equal(cot_host_event(w.host, &ev), 0);
}

void world_join(unsigned member, uint32_t id, enum cot_class cls, bool guest)
{
	struct cot_host_settings settings;

	cot_host_welcome(w.host, member, id, cls, 1, &settings);
	w.library[member] = (struct library){
		.slice_us = settings.slice_us,
		.mode = settings.mode != COT_MODE_DRIVER ? settings.mode : COT_MODE_SWITCH,
	};
	cot_host_join(w.host, member, id, guest, w.now_ns);
}

void world_start(uint32_t id, enum cot_class cls, unsigned member)
{
	unsigned from = w.n_sent;

	world_tenant(id, cls, 0, false);
	world_join(member, id, cls, false);
	world_tenant(id, cls, 0, true);
	world_answer_all(from);
}

void world_answer(const struct sent *s, int status, uint64_t value)
{
	struct cot_msg_ack ack = {.status = status, .value = value};

	cot_proto_header(&ack.h, COT_MSG_ACK, sizeof(ack), s->seq);
	cot_host_ack(w.host, s->member, &ack, w.now_ns);
}

void world_answer_all(unsigned from)
{
	unsigned i;

	for (i = from; i < w.n_sent; i++)
		world_answer(&w.sent[i], 0, w.sent[i].slice_us);
}

const struct sent *world_last(unsigned type)
{
	unsigned i;

	for (i = w.n_sent; i > 0; i--)
		if (w.sent[i - 1].type == type)
			return &w.sent[i - 1];
	return NULL;
}

unsigned world_count(unsigned type, unsigned member, unsigned from)
{
	unsigned i, n = 0;

	for (i = from; i < w.n_sent; i++)
		n += w.sent[i].type == type && w.sent[i].member == member;
	return n;
}

unsigned world_pass(uint64_t ns)
{
	uint64_t until_ns = w.now_ns + ns;
	unsigned n = 0;

	while (cot_host_wake_ns(w.host) <= until_ns) {
		w.now_ns = cot_host_wake_ns(w.host);
		cot_host_tick(w.host, w.now_ns);
		n++;
	}
	w.now_ns = until_ns;
	return n;
}

void world_pass_until_sent(uint64_t most_ns)
{
	uint64_t until_ns = w.now_ns + most_ns;
	unsigned from = w.n_sent;

	while (w.n_sent == from && w.now_ns < until_ns)
		world_pass(1 * MS);
	assert_true(w.n_sent > from);
}

const struct cot_entity *world_entity(uint32_t id)
{
	return cot_sched_entity(cot_host_sched(w.host), id);
}

struct cot_host_entity_stats world_stats(uint32_t id)
{
	struct cot_host_entity_stats stats;

	cot_host_entity_stats(w.host, id, &stats);
	return stats;
}
