/*
 * Shims of six connections, of three programs, say whatever they like about parts, in whatever
 * order, to the host of a policy: every order that it sends is a range of the GPU as that program
 * divides it, what the core believes is such a range, one program's words change nothing of
 * another's numbers, and the policy is never taken for wrong.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/host_part.h"
#include "daemon/host_work.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)        \
	do {                      \
		if (!(condition)) \
			abort();  \
	} while (0)

#define N_MEMBERS 6u
#define N_TENANTS 3u

struct world {
	struct cot_host *host;
	struct cot_msg_place last[N_MEMBERS]; /* h.seq 0: none */
	struct cot_msg_parts told[N_MEMBERS]; /* unit 0: nothing, or that it cannot */
	bool joined[N_MEMBERS], deaf;
	uint64_t now_ns;
};

static bool can_be_had(uint32_t n_sms, uint32_t unit, uint32_t n_units, uint32_t first, uint32_t n)
{
	uint32_t end = first + n, whole = n_units * unit;

	if (!n)
		return !first;
	return first % unit == 0 && first <= whole && first < end &&
	       (end == n_sms || (end % unit == 0 && end <= whole));
}

static int on_send(void *arg, unsigned member, const void *packet, size_t size)
{
	struct world *w = arg;
	const struct cot_msg_place *m = packet;
	const struct cot_msg_parts *is = &w->told[member];

	if (cot_proto_check(packet, size) != COT_MSG_PLACE)
		return 0;
	REQUIRE(member < N_MEMBERS && w->joined[member]);
	if (w->deaf)
		return -EPIPE;
	REQUIRE(is->unit);
	REQUIRE(can_be_had(is->n_sms, is->unit, cot_msg_parts_n_units(is), m->first, m->n));
	w->last[member] = *m;
	return 0;
}

static uint64_t on_lease(void *arg, unsigned member, uint64_t until_ns)
{
	(void)arg;
	(void)member;
	(void)until_ns;
	return 0;
}

static const struct cot_host_ops ops = {.works = &cot_host_works_ops,
					.parts = &cot_host_parts_ops,
					.send = on_send,
					.lease = on_lease};

static uint32_t tenant_of(unsigned member)
{
	return 1 + member / 2;
}

static void tenant(struct world *w, uint32_t id, uint8_t share)
{
	struct cot_event ev = {.type = COT_EV_TENANT,
			       .id = id,
			       .now_ns = w->now_ns,
			       .tenant = {.cls = id == 1 ? COT_CLASS_LATENCY : COT_CLASS_BATCH,
					  .weight = 1u + share,
					  .gpu_mask = 1,
					  .sms = {.pct = share % 101}}};

	REQUIRE(cot_host_event(w->host, &ev) == 0);
}

static void leave(struct world *w, unsigned member)
{
	w->joined[member] = false;
	cot_host_part_leave(w->host, member, w->now_ns);
	memset(&w->last[member], 0, sizeof(w->last[member]));
	memset(&w->told[member], 0, sizeof(w->told[member]));
}

static void tell(struct world *w, unsigned member, uint8_t a, uint8_t b)
{
	static const uint32_t sizes[][3] = {{132, 8, 15}, {132, 8, 15}, {132, 8, 0},
					    {78, 2, 39},  {1, 1, 1},	{1024, 1, 3}};
	struct cot_msg_parts m = {.h.length = sizeof(m),
				  .n_sms = sizes[a % 6][0],
				  .unit = sizes[a % 6][1],
				  .n_units = sizes[a % 6][2]};
	bool first = w->joined[member] && !w->told[member].unit && !w->told[member].status;

	if (b % 8 == 0)
		m = (struct cot_msg_parts){.status = -1 - b};
	if (first)
		w->told[member] = m;
	cot_host_part_told(w->host, member, &m, w->now_ns);
}

static void answer(struct world *w, unsigned member, uint8_t a, uint8_t b)
{
	struct cot_msg_placed m = {.status = b % 4 ? 0 : -(int32_t)b, .first = a, .n = b};

	m.h.seq = b & 1 ? w->last[member].h.seq : b / 16;
	if (a & 1) {
		m.first = w->last[member].first;
		m.n = w->last[member].n;
	}
	cot_host_part_placed(w->host, member, &m, w->now_ns);
}

static void act(struct world *w, const uint8_t *in)
{
	unsigned member = in[0] / 16 % N_MEMBERS;

	w->now_ns += (uint64_t)in[1] * in[1] * 20000;
	switch (in[0] % 8) {
	case 0:
		if (!w->joined[member])
			cot_host_part_join(w->host, member, tenant_of(member));
		w->joined[member] = true;
		break;
	case 1:
		leave(w, member);
		break;
	case 2:
	case 3:
		tell(w, member, in[1], in[2]);
		break;
	case 4:
	case 5:
		answer(w, member, in[1], in[2]);
		break;
	case 6:
		tenant(w, tenant_of(member), in[2]);
		break;
	default:
		w->deaf = in[2] & 1;
		cot_host_tick(w->host, w->now_ns);
		break;
	}
}

static void check(struct world *w)
{
	const struct cot_tenant *t;
	struct cot_sched_stats stats;

	cot_for_each_tenant (t, cot_sched_policy(cot_host_sched(w->host))) {
		REQUIRE(!t->part_sms == !t->part_unit && !t->part_sms == !t->part_units);
		REQUIRE(can_be_had(t->part_sms, t->part_unit, t->part_units, t->part.first,
				   t->part.n));
	}
	cot_sched_stats(cot_host_sched(w->host), &stats);
	REQUIRE(!stats.wrong_actions && !stats.fallbacks);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const policies[] = {"parts", "timeslice", "pools"};
	static struct world w;
	struct cot_error err;
	uint32_t id;
	size_t i;

	if (!size)
		return 0;
	memset(&w, 0, sizeof(w));
	if (cot_host_create(&ops, &w, cot_policy_find(policies[data[0] % 3]), NULL, 0, &w.host,
			    &err))
		return 0;
	for (id = 1; id <= N_TENANTS; id++)
		tenant(&w, id, 0);
	for (i = 1; i + 3 <= size; i += 3) {
		act(&w, data + i);
		check(&w);
	}
	w.deaf = false;
	for (i = 0; i < N_MEMBERS; i++)
		leave(&w, (unsigned)i);
	check(&w);
	cot_host_destroy(w.host);
	return 0;
}
