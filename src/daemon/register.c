/*
 * REGISTER, from the packet to the answer:
 *
 *   cot_register_packet()    may this user start such a program?
 *     enter()                what is its pool: as its class says, or the policy?
 *     join()                 in which pool is it, and is that pool up? If it starts just now,
 *       cot_register_pool_settled()       the answer waits until it is up or has failed
 *     finish()               the program is there from here on
 *       make_tenant()        watched by the process that asks, which becomes the program
 *       send_registered()    the answer: the program's environment
 */
#include "daemon/register.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "daemon/access.h"
#include "daemon/answer.h"
#include "daemon/basis.h"
#include "daemon/choose.h"
#include "daemon/conn.h"
#include "daemon/environment.h"
#include "daemon/log.h"
#include "daemon/memory.h"
#include "daemon/roster.h"

_Static_assert(sizeof(struct cot_msg_registered) + COT_ENVIRONMENT_MAX <= COT_PROTO_PACKET_MAX,
	       "one packet");

/* Where a program is to run, and what its user should know of that. */
struct place {
	struct pool *pool;     /* NULL: it stands alone */
	const char *note;      /* for the user now; NULL: nothing */
	const char *alone_why; /* for `cotenant ps`: it should be in a pool; NULL: no reason */
};

static const struct place without_mps = {
	.note = "MPS is not available here, so this program stands alone and takes turns with "
		"others; 'cotenant doctor' says why",
	.alone_why = "MPS is not available",
};

static const struct place by_policy = {
	.alone_why = "the policy keeps it out of the pools",
};

static const struct place beside_other_user = {
	.note = "the pool serves programs of another user now, and one MPS server serves one user, "
		"so this program stands alone and takes turns with others",
	.alone_why = "the pool serves another user's programs",
};

/* ---- the program is there ---- */

/* -EAGAIN: there is no place, or it could not be seen to, now: it may come again. */
static void turn_down(struct conn *c, uint32_t seq, int rc, const struct cot_error *err)
{
	cot_answer_error(c, seq, rc, err);
	if (rc == -EAGAIN)
		cot_conn_close(c);
}

static int make_tenant(struct conn *c, struct tenant **ret_tenant, struct cot_error *err)
{
	int rc = cot_tenant_new(c->in->roster, c->uid, ret_tenant);

	if (!rc) {
		rc = cot_tenant_watch_peer(*ret_tenant, c);
		if (!rc)
			return 0;
		cot_tenant_drop(*ret_tenant);
	}
	if (rc == -ESRCH) /* the daemon would not learn of its end */
		return cot_error_set(err, rc,
				     "the program has ended, or its process cannot be seen from "
				     "the daemon's PID namespace");
	return cot_access_crowded(c, rc, err);
}

static void send_registered(struct conn *c, uint32_t seq, const struct tenant *t, const char *gpu,
			    const char *note)
{
	static struct cot_environment env;
	static _Alignas(8) char packet[sizeof(struct cot_msg_registered) + sizeof(env.text)];
	struct cot_msg_registered *m = (struct cot_msg_registered *)packet;

	cot_environment_write(c->basis, t, gpu, note, &env);
	m->tenant = t->id;
	memcpy(m->env, env.text, env.used);
	cot_proto_header(&m->h, COT_MSG_REGISTERED, (uint32_t)(sizeof(*m) + env.used), seq);
	(void)cot_answer_send(c, packet, m->h.length, -1);
}

/* All that is known before it has a place. */
static void fill_in(struct tenant *t, const struct conn *c, const struct cot_msg_register *m)
{
	t->cls = class_of(m->class_);
	t->weight = m->weight;
	t->block_us = m->block_us;
	t->quota = m->quota;
	t->reserve = m->reserve;
	t->sms = m->sms;
	t->pace_us = m->pace_us;
	t->memory_mib = m->memory_mib;
	t->target = cot_proto_unpack_target(m->target);
	t->command = m->command;
	t->gpu_mask = cot_gpus_mask(&c->basis->gpus, m->gpu);
	cot_tenant_set_name(t, m->name);
}

static const char *place_name(const struct pool *p, char text[COT_ROSTER_NAME_MAX])
{
	return p ? cot_roster_name(p->in, p->id, text) : "no pool";
}

static void finish(struct conn *c, const struct cot_msg_register *m, const struct place *wanted)
{
	const struct place *at = wanted;
	const char *note;
	char text[COT_ROSTER_NAME_MAX];
	struct cot_error err;
	struct tenant *t;
	int rc = make_tenant(c, &t, &err);

	if (rc < 0) {
		turn_down(c, m->h.seq, rc, &err);
		return;
	}
	/* Others may have been promised memory while its pool began. */
	if (cot_memory_may_promise(c, m, &err) < 0) {
		cot_tenant_drop(t);
		turn_down(c, m->h.seq, -ENOSPC, &err);
		return;
	}
	cot_choose_look(c->in->roster, cot_proto_unpack_target(m->target));
	if (at->pool && !cot_pool_serves(at->pool, c->uid))
		at = &beside_other_user;
	fill_in(t, c, m);
	t->alone_why = at->alone_why;
	t->measured = (m->flags & COT_REGISTER_MEASURE) || cot_target_is_of_requests(t->target);
	t->parts = t->target.kind == COT_TARGET_RATE || m->sms || m->pace_us || m->quota ||
		   m->reserve || m->memory_mib || c->basis->config.policy->places;
	t->pool = at->pool;
	cot_tenant_announce(t);
	log_traffic("new %s program '%s' (id %u, process %d) in %s", cot_class_words[t->cls],
		    t->name, t->id, (int)c->pid, place_name(at->pool, text));
	note = cot_memory_note(c->in, t);
	send_registered(c, m->h.seq, t, m->gpu, note ? note : at->note);
}

/* ---- where it runs ---- */

static const char both_limits[] =
	"--quota and --sms are both the most that it may have, and the smaller one counts";

static const char *note_on_shares(const struct cot_policy_ops *policy,
				  const struct cot_msg_register *m)
{
	static char note[256];

	if ((!m->quota && !m->reserve) || policy->one_pool)
		return m->quota && m->sms ? both_limits : NULL;
	(void)snprintf(
		note, sizeof(note),
		"the policy '%s' keeps quotas, but takes nothing back for a reserve, and has "
		"latency and batch programs take turns; 'policy: smguard' in the daemon's "
		"configuration shares the SMs",
		policy->name);
	return note;
}

static const char *note_on(const struct basis *b, const struct cot_msg_register *m)
{
	const char *note = cot_choose_note(b, cot_proto_unpack_target(m->target));

	return note ? note : note_on_shares(b->config.policy, m);
}

/* As its user wants it; `p` NULL: alone. */
static void finish_in(struct conn *c, const struct cot_msg_register *m, struct pool *p)
{
	const struct place at = {.pool = p, .note = note_on(c->basis, m)};

	finish(c, m, &at);
}

static void wait_for(struct conn *c, const struct cot_msg_register *m, struct pool *p)
{
	c->registration.m = malloc(sizeof(*m));
	if (!c->registration.m) {
		finish(c, m, &without_mps);
		return;
	}
	*c->registration.m = *m;
	c->registration.pool = p;
}

static void join(struct conn *c, const struct cot_msg_register *m, enum cot_class cls, unsigned gpu)
{
	struct conns *conns = c->in;
	struct pool *p =
		cot_pool_get(conns->roster, cls, conns->basis->config.policy->one_pool, gpu);
	int rc;

	if (p && !cot_pool_serves(p, c->uid)) {
		finish(c, m, &beside_other_user);
		return;
	}
	rc = p ? cot_pool_want(p, c->uid) : -ENAMETOOLONG;
	if (rc == -EINPROGRESS)
		wait_for(c, m, p);
	else if (rc)
		finish(c, m, &without_mps);
	else
		finish_in(c, m, p);
}

/* Who waits for a pool, too, is not there yet, but will be in one with its like: the shortest of
 * their targets decides where the first of them goes. */
static void aim_for_all(const struct conn *c, struct tenant *as)
{
	const struct conn *other;

	if (as->cls != COT_CLASS_LATENCY)
		return;
	for_each_conn (other, c->in) {
		const struct cot_msg_register *m = other->registration.m;

		if (m && other->uid == c->uid && class_of(m->class_) == COT_CLASS_LATENCY &&
		    cot_gpus_mask(&c->basis->gpus, m->gpu) == as->gpu_mask)
			as->target =
				cot_target_shorter(as->target, cot_proto_unpack_target(m->target));
	}
}

/* The policy at work says it, if it wants to. */
static enum cot_home home_of(const struct conn *c, const struct cot_msg_register *m)
{
	struct cot_host *host = c->basis->host;
	struct cot_event ev = {.type = COT_EV_TICK, .now_ns = cot_now_ns()};
	struct tenant as = {.uid = c->uid};
	struct cot_tenant_desc desc;

	if (!cot_sched_policy(cot_host_sched(host))->ops->home)
		return COT_HOME_CLASS;
	fill_in(&as, c, m);
	aim_for_all(c, &as);
	cot_tenant_describe(&as, &desc);
	(void)cot_host_event(host, &ev);
	return cot_sched_home(cot_host_sched(host), &desc, NULL, 0);
}

static void enter(struct conn *c, const struct cot_msg_register *m, unsigned gpu)
{
	switch (home_of(c, m)) {
	case COT_HOME_ALONE:
		finish(c, m, &by_policy);
		break;
	case COT_HOME_LATENCY:
		join(c, m, COT_CLASS_LATENCY, gpu);
		break;
	case COT_HOME_BATCH:
		join(c, m, COT_CLASS_BATCH, gpu);
		break;
	default:
		join(c, m, class_of(m->class_), gpu);
		break;
	}
}

/* Who started at the same time, and waited as well, may be there by now: the policy is asked once
 * more, so that both are where it wants them together. Not a third time. */
static void settle(struct conn *c, const struct cot_msg_register *m, struct pool *p)
{
	if (c->registration.again || !cot_sched_policy(cot_host_sched(c->basis->host))->ops->home)
		finish_in(c, m, p);
	else
		enter(c, m, p->gpu);
	c->registration.again = c->registration.pool;
}

void cot_register_pool_settled(struct pool *p)
{
	struct conn *c;

	for_each_conn (c, p->in->conns) {
		struct cot_msg_register *m = c->registration.m;

		if (c->registration.pool != p)
			continue;
		c->registration.pool = NULL;
		c->registration.m = NULL;
		if (p->state == POOL_UP)
			settle(c, m, p);
		else
			finish(c, m, &without_mps);
		free(m);
	}
}

/* ---- whether it may ---- */

static int may_register(struct conn *c, const struct cot_msg_register *m, struct cot_error *err)
{
	enum cot_class cls = class_of(m->class_);
	int rc;

	if (m->class_ > COT_CLASS_BATCH || m->weight < COT_WEIGHT_MIN ||
	    m->weight > COT_WEIGHT_MAX || m->block_us > COT_BLOCK_US_MAX)
		return cot_error_set(err, -EINVAL,
				     "the class, the weight or the block time is out of range");
	rc = cot_access_claim(c, cls, m->weight, err);
	if (!rc)
		rc = cot_access_start(c, err);
	if (!rc && m->reserve)
		rc = cot_access_reserve(cls, err);
	if (!rc)
		rc = cot_access_target((enum cot_target_kind)m->target.kind, cls, err);
	if (!rc && !cot_gpus_mask(&c->basis->gpus, m->gpu))
		rc = cot_error_set(err, -ENODEV,
				   "there is no GPU '%s' here; expected a number below %u, a UUID, "
				   "a list of them, or all",
				   m->gpu, c->basis->gpus.n);
	return rc ? rc : cot_memory_may_promise(c, m, err);
}

void cot_register_packet(struct conn *c, const struct cot_msg_register *packet)
{
	struct cot_msg_register all, *m = &all;
	const struct cot_config *config = &c->basis->config;
	uint64_t mask = cot_gpus_mask(&c->basis->gpus, packet->gpu);
	struct cot_error err;
	int rc;

	if (c->basis->stopping) { /* the client then asks the next daemon */
		cot_conn_close(c);
		return;
	}
	if (c->registration.pool)
		return;
	cot_proto_read_register(packet, m);
	if (!m->target.kind)
		m->target = cot_proto_pack_target(
			cot_config_target(config, m->name, class_of(m->class_)));
	rc = may_register(c, m, &err);
	if (!rc)
		cot_choose_look(c->in->roster, cot_proto_unpack_target(m->target));
	if (rc < 0)
		turn_down(c, m->h.seq, rc, &err);
	else if (m->solo || !config->policy->wants_pools || !config->use_mps || (mask & (mask - 1)))
		finish_in(c, m, NULL);
	else
		enter(c, m, (unsigned)__builtin_ctzll(mask));
}
