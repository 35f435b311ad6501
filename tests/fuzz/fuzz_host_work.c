/*
 * Shims of four connections say whatever they like, in whatever order, to the host of a policy:
 * who asked gets a grant for what it asked, nobody gets one that did not, evictions leave somebody
 * to do the rest, and when all are gone nothing is left.
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

#define N_MEMBERS 4u
#define N_NAMES	  8u
#define N_SMS	  16u

/* What the shim of a member knows of its work `name`. */
struct known {
	bool there, settled;
	uint32_t granted, evicted;
};

struct world {
	struct cot_host *host;
	struct known works[N_MEMBERS][N_NAMES];
	uint64_t now_ns;
	bool leaving[N_MEMBERS]; /* nobody reads what it is sent */
};

static int on_send(void *arg, unsigned member, const void *packet, size_t size)
{
	struct world *w = arg;
	const struct cot_msg_work_grant *m = packet;
	int type = cot_proto_check(packet, size);
	struct known *k;

	if (type != COT_MSG_WORK_GRANT && type != COT_MSG_WORK_EVICT)
		return 0;
	REQUIRE(member < N_MEMBERS && m->work && m->work <= N_NAMES);
	if (w->leaving[member])
		return -EPIPE;
	k = &w->works[member][m->work - 1];
	REQUIRE(k->there);
	if (type == COT_MSG_WORK_GRANT) {
		REQUIRE(m->capsms > k->granted && m->capsms > k->evicted);
		REQUIRE(m->capsms - k->evicted <= N_SMS);
		k->settled = k->granted ? k->settled : m->flags & COT_WORK_SETTLED;
		k->granted = m->capsms;
	} else {
		REQUIRE(m->capsms > k->evicted && m->capsms <= k->granted);
		REQUIRE(k->settled || m->capsms < k->granted);
		k->evicted = m->capsms;
	}
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

/* Two members are of the latency program, and two of the batch program. */
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
					  .weight = 100,
					  .gpu_mask = 1}};

	ev.tenant.quota.pct = id == 1 ? 0 : share % 101;
	ev.tenant.reserve.sms = id == 1 ? share : 0;
	REQUIRE(cot_host_event(w->host, &ev) == 0);
}

static void join(struct world *w, unsigned member)
{
	const struct cot_host_shim shim = {.tenant = tenant_of(member), .n_sms = N_SMS};

	(void)cot_host_work_join(w->host, member, &shim);
}

static void leave(struct world *w, unsigned member)
{
	w->leaving[member] = true;
	cot_host_work_leave(w->host, member, w->now_ns);
	w->leaving[member] = false;
	memset(w->works[member], 0, sizeof(w->works[member]));
}

static void request(struct world *w, unsigned member, unsigned name, uint8_t a, uint8_t b)
{
	struct known *k = &w->works[member][name];
	struct cot_msg_work_request m = {
		.work = name + 1,
		.n_tasks = (uint32_t)a * a * a,
		.per_sm = 1 + b % COT_PROTO_PER_SM_MAX,
		.want = b % 20,
		.flags = a & (COT_WORK_CAN_SETTLE | COT_WORK_CAN_GROW),
		.task_ns = (uint32_t)b * 5000,
	};
	bool was_there = k->there;
	int rc;

	if (!was_there)
		*k = (struct known){.there = true};
	rc = cot_host_work_request(w->host, member, &m,
				   tenant_of(member) == 1 ? COT_WORK_RESERVE : COT_WORK_QUOTA,
				   w->now_ns);
	REQUIRE(rc == (was_there ? -EINVAL : 0));
}

static void done(struct world *w, unsigned member, unsigned name, uint8_t a)
{
	struct known *k = &w->works[member][name];
	struct cot_msg_work_done m = {
		.work = name + 1, .left = a & 1 ? a : 0, .status = a & 2 ? -EIO : 0};

	/* A rest that nobody has begun is not one. */
	if (m.left && !k->granted)
		m.left = 0;
	*k = (struct known){.there = k->there && m.left && !m.status};
	cot_host_work_done(w->host, member, &m, w->now_ns);
}

static void step(struct world *w, const uint8_t s[4])
{
	unsigned member = s[1] % N_MEMBERS, name = s[1] / N_MEMBERS % N_NAMES;
	struct cot_msg_work_evicted evicted = {.work = name + 1, .capsms = s[2]};

	w->now_ns += (uint64_t)s[3] * s[3] * 1000;
	switch (s[0] % 8) {
	case 0:
	case 1:
	case 2:
		request(w, member, name, s[2], s[3]);
		break;
	case 3:
		cot_host_work_evicted(w->host, member, &evicted, w->now_ns);
		break;
	case 4:
	case 5:
		done(w, member, name, s[2]);
		break;
	case 6:
		tenant(w, tenant_of(member), s[2]);
		break;
	default:
		if (s[2] % 8) {
			/* Some come seconds late, as after a pause of the daemon. */
			w->now_ns += (uint64_t)s[2] * s[3] * s[3] * 1000;
			cot_host_tick(w->host, w->now_ns);
			break;
		}
		leave(w, member);
		join(w, member);
		break;
	}
}

/* Time on which the host is in time. */
static void pass(struct world *w, uint64_t for_ns)
{
	uint64_t until_ns = w->now_ns + for_ns, wake_ns;

	cot_host_tick(w->host, w->now_ns);
	while ((wake_ns = cot_host_wake_ns(w->host)) <= until_ns) {
		REQUIRE(wake_ns >= w->now_ns);
		w->now_ns = wake_ns;
		cot_host_tick(w->host, w->now_ns);
	}
	w->now_ns = until_ns;
}

static void play(const struct cot_policy_ops *policy, const uint8_t *data, size_t size)
{
	static struct world w;
	struct cot_sched_stats stats;
	struct cot_error err;
	unsigned i, j;
	size_t at;

	memset(&w, 0, sizeof(w));
	REQUIRE(!cot_host_create(&ops, &w, policy, NULL, 0, &w.host, &err));
	tenant(&w, 1, 5);
	tenant(&w, 2, 0);
	for (i = 0; i < N_MEMBERS; i++)
		join(&w, i);
	for (at = 0; at + 4 <= size; at += 4)
		step(&w, data + at);
	/* After all time in the world everybody has something. */
	pass(&w, 64 * COT_NS_PER_S);
	for (i = 0; i < N_MEMBERS; i++)
		for (j = 0; j < N_NAMES; j++)
			REQUIRE(!w.works[i][j].there || w.works[i][j].granted);
	for (i = 0; i < N_MEMBERS; i++)
		leave(&w, i);
	REQUIRE(!cot_sched_policy(cot_host_sched(w.host))->n_works);
	cot_sched_stats(cot_host_sched(w.host), &stats);
	REQUIRE(!stats.wrong_actions && !stats.fallbacks);
	cot_host_destroy(w.host);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"smguard", "effisha", "static", "smguard"};

	if (size)
		play(cot_policy_find(names[data[0] >> 6]), data, size);
	return 0;
}
