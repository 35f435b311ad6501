/*
 * What the command line asks for. COMMAND (set, freeze, thaw) is here, REGISTER (cotenant run) in
 * register.c, QUERY (ps, stats, doctor) in query.c, EXPLAIN in explain.c.
 */
#include "daemon/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "daemon/access.h"
#include "daemon/answer.h"
#include "daemon/audit.h"
#include "daemon/basis.h"
#include "daemon/choose.h"
#include "daemon/conn.h"
#include "daemon/explain.h"
#include "daemon/hold.h"
#include "daemon/host_part.h"
#include "daemon/query.h"
#include "daemon/register.h"
#include "daemon/roster.h"
#include "daemon/state.h"
#include "daemon/whom.h"

/* ---- what it changes ---- */

static unsigned n_programs(const struct pool *p)
{
	const struct tenant *t;
	unsigned n = 0;

	for_each_tenant (t, p->in)
		n += t->pool == p;
	return n;
}

static int only_alone(const struct whom *target, const char *what, struct cot_error *err)
{
	const struct tenant *t = target->tenant;

	if (!t || !t->pool)
		return 0;
	if (n_programs(t->pool) == 1)
		return cot_error_set(err, -EBUSY,
				     "'%s' is the only program in the pool '%s', but its %s are "
				     "those of the pool, which others may join; use pool:%s, or "
				     "run it with --solo",
				     t->name, t->pool->name, what, t->pool->name);
	return cot_error_set(err, -EBUSY,
			     "'%s' shares the pool '%s' with others, whose %s are one; use "
			     "pool:%s, or run it with --solo",
			     t->name, t->pool->name, what, t->pool->name);
}

/* Whether it can be put on a part: it has the shim, and that knows how. */
static int check_moves(const struct conn *c, const struct tenant *t, struct cot_error *err)
{
	struct cot_host_part_stats stats;

	cot_host_part_stats(c->basis->host, t->id, &stats);
	if (!t->parts)
		return cot_error_set(err, -ENOTSUP,
				     "'%s' cannot be moved: it was not started with --sms or "
				     "--quota, nor under the policy parts",
				     t->name);
	if (stats.status)
		return cot_error_set(err, -ENOTSUP,
				     "'%s' cannot be put on a part of the GPU; 'cotenant stats' "
				     "says why",
				     t->name);
	return 0;
}

/* 0 SMs: as if nothing had been said. */
static int check_sms(const struct conn *c, const struct tenant *t, struct cot_share sms,
		     struct cot_error *err)
{
	const struct cot_tenant *is = cot_sched_tenant(cot_host_sched(c->basis->host), t->id);

	if (is && is->part_sms && sms.sms > is->part_sms)
		return cot_error_set(err, -EINVAL,
				     "the share is %u SMs; expected 1 to %u, or 1%% to 100%%",
				     sms.sms, is->part_sms);
	return 0;
}

static bool has_shim(const struct conn *c, const struct tenant *t)
{
	const struct conn *other;

	for_each_conn (other, c->in)
		if (other->tenant == t && other->kind == CONN_WORK)
			return true;
	return t->parts;
}

/* What it is to be, with what stays of it. Without a library that measures nobody would ever know
 * whether it keeps a target. */
static int check_target(const struct conn *c, const struct tenant *t,
			const struct cot_msg_command *m, struct cot_error *err)
{
	enum cot_class cls = m->fields & COT_SET_CLASS ? class_of(m->class_) : t->cls;
	enum cot_target_kind kind = m->fields & COT_SET_TARGET
					    ? cot_proto_unpack_target(m->target).kind
					    : t->target.kind;
	int rc = cot_access_target(kind, cls, err);

	if (rc || !(m->fields & COT_SET_TARGET))
		return rc;
	if (kind == COT_TARGET_RATE && !has_shim(c, t))
		return cot_error_set(err, -ENOTSUP,
				     "how fast '%s' gets on cannot be measured: it was not started "
				     "with --rate, --sms or --quota; start it again with --rate",
				     t->name);
	if (cot_target_is_of_requests(cot_proto_unpack_target(m->target)) && !t->measured)
		return cot_error_set(
			err, -ENOTSUP,
			"the requests of '%s' cannot be measured: it was not started "
			"with --measure, --p99 or --slowdown; start it again with --%s",
			t->name, cot_target_words[kind]);
	return 0;
}

static int check_set(const struct conn *c, const struct whom *target,
		     const struct cot_msg_command *m, struct cot_error *err)
{
	enum cot_class cls = class_of(m->class_);
	const struct tenant *t = target->tenant;
	uint32_t weight = m->fields & COT_SET_WEIGHT ? m->weight : COT_WEIGHT_MIN;
	int rc = 0;

	if (!t && (m->fields & (COT_SET_CLASS | COT_SET_WEIGHT)))
		return cot_error_set(err, -EINVAL, "a pool's class and weight are fixed");
	if (!t && (m->fields & COT_SET_BLOCK))
		return cot_error_set(err, -EINVAL,
				     "only a program has a longest block; a pool has none");
	if (!t && (m->fields & (COT_SET_QUOTA | COT_SET_RESERVE | COT_SET_SMS | COT_SET_PACE)))
		return cot_error_set(
			err, -EINVAL,
			"only programs have quotas, reservations, SMs and a pace of their own; "
			"a pool has none");
	if (!t && (m->fields & COT_SET_TARGET))
		return cot_error_set(err, -EINVAL, "only a program has a target; a pool has none");
	if ((m->fields & COT_SET_RESERVE) && m->reserve &&
	    cot_access_reserve(m->fields & COT_SET_CLASS ? cls : t->cls, err) < 0)
		return -EINVAL;
	if ((m->fields & COT_SET_BLOCK) && m->block_us > COT_BLOCK_US_MAX)
		return cot_error_set(err, -EINVAL, "the blocks last %u us; expected up to %u s",
				     m->block_us, COT_BLOCK_US_MAX / 1000000);
	if ((m->fields & COT_SET_WEIGHT) && (!m->weight || m->weight > COT_WEIGHT_MAX))
		return cot_error_set(err, -EINVAL, "the weight is %u; expected 1 to %u", m->weight,
				     COT_WEIGHT_MAX);
	if ((m->fields & COT_SET_SLICE) && m->slice_us &&
	    (m->slice_us < COT_SLICE_US_MIN || m->slice_us > COT_SLICE_US_MAX))
		return cot_error_set(err, -EINVAL, "the slice is %lu us; expected %u us to %u ms",
				     (unsigned long)m->slice_us, COT_SLICE_US_MIN,
				     COT_SLICE_US_MAX / 1000);
	if ((m->fields & COT_SET_MODE) && m->mode > COT_MODE_SWITCH)
		return cot_error_set(err, -EINVAL, "unknown mode");
	if (m->fields & (COT_SET_SLICE | COT_SET_MODE))
		rc = only_alone(target, "slice and mode", err);
	if (!rc && (m->fields & (COT_SET_SMS | COT_SET_PACE)))
		rc = check_moves(c, t, err);
	if (!rc && (m->fields & COT_SET_SMS))
		rc = check_sms(c, t, cot_share_unpack(m->sms), err);
	if (!rc && (m->fields & COT_SET_CLASS))
		rc = only_alone(target, "class and slice", err);
	if (!rc && (m->fields & (COT_SET_CLASS | COT_SET_TARGET)))
		rc = check_target(c, t, m, err);
	if (!rc && t && (m->fields & (COT_SET_CLASS | COT_SET_WEIGHT)))
		rc = cot_access_claim(c, m->fields & COT_SET_CLASS ? cls : t->cls, weight, err);
	return rc;
}

static void change(struct conn *c, const struct whom *target, const struct cot_msg_command *m)
{
	struct tenant *t = target->tenant;

	if (m->fields & COT_SET_CLASS)
		t->cls = class_of(m->class_);
	if (m->fields & COT_SET_WEIGHT)
		t->weight = m->weight;
	if (m->fields & COT_SET_BLOCK)
		t->block_us = m->block_us;
	if (m->fields & COT_SET_QUOTA)
		t->quota = m->quota;
	if (m->fields & COT_SET_RESERVE)
		t->reserve = m->reserve;
	if (m->fields & COT_SET_SMS)
		t->sms = m->sms;
	if (m->fields & COT_SET_PACE)
		t->pace_us = m->pace_us;
	if (m->fields & COT_SET_TARGET) {
		t->target = cot_proto_unpack_target(m->target);
		cot_choose_look(c->in->roster, t->target);
	}
	if (t)
		cot_tenant_update(t);
	if (m->fields & COT_SET_SLICE)
		cot_host_override_slice(c->basis->host, target->entity, (uint32_t)m->slice_us,
					cot_now_ns());
	if (m->fields & COT_SET_MODE)
		cot_host_override_mode(c->basis->host, target->entity, (enum cot_mode)m->mode,
				       cot_now_ns());
}

/* Whether a part of just so many SMs can be had, wherever it begins. */
static bool is_whole(const struct cot_tenant *is, uint32_t sms)
{
	uint32_t whole = is->part_units * is->part_unit;

	if (sms == is->part_sms)
		return true;
	return sms % is->part_unit == 0 && sms <= whole &&
	       (whole == is->part_sms || is->cls == COT_CLASS_BATCH);
}

/* Parts are whole units, and what is left over in one piece; where the share may be another size,
 * the user is told. */
static void say_units(const struct conn *c, const struct tenant *t, const struct cot_msg_command *m,
		      char *ret_text, size_t size)
{
	const struct cot_tenant *is =
		t ? cot_sched_tenant(cot_host_sched(c->basis->host), t->id) : NULL;
	uint32_t sms = m->fields & COT_SET_SMS ? cot_share_unpack(m->sms).sms : 0, left;
	char last[48] = "";

	ret_text[0] = '\0';
	if (!sms || !is || !is->part_unit || is_whole(is, sms))
		return;
	left = is->part_sms - is->part_units * is->part_unit;
	if (left)
		(void)snprintf(last, sizeof(last), " and the last %u in one piece", left);
	(void)snprintf(ret_text, size,
		       "; parts are in units of %u SMs%s, and 'cotenant ps' shows what it has",
		       is->part_unit, last);
}

/* The answer is what has changed. */
static int apply_set(struct conn *c, const struct whom *target, const struct cot_msg_command *m,
		     struct cot_error *answer)
{
	struct cot_audit_look before, after;
	char changes[320], units[160], name[COT_ROSTER_NAME_MAX];
	const char *note;
	int rc = check_set(c, target, m, answer);

	if (rc < 0)
		return rc;
	cot_audit_look(c->basis->host, target->tenant, target->entity, &before);
	change(c, target, m);
	cot_audit_look(c->basis->host, target->tenant, target->entity, &after);
	cot_audit_changes(&before, &after, m->fields, changes, sizeof(changes));
	cot_audit_say(c->uid, c->pid, "set %s: %s",
		      cot_roster_name(c->in->roster, target->entity, name), changes);
	say_units(c, target->tenant, m, units, sizeof(units));
	note = m->fields & COT_SET_TARGET ? cot_choose_note(c->basis, target->tenant->target)
					  : NULL;
	(void)cot_error_set(answer, 0, "%s: %s%s%s%s", target->name, changes, units,
			    note ? "; " : "", note ? note : "");
	return 0;
}

static int hold(struct conn *c, const struct whom *target, const struct cot_msg_command *m,
		struct cot_error *err)
{
	int rc = only_alone(target, "channel groups", err);
	char name[COT_ROSTER_NAME_MAX];

	if (!rc)
		rc = cot_hold_begin(c, target->entity, target->tenant, target->name, m, err);
	if (rc == -EINPROGRESS || !rc)
		cot_audit_say(c->uid, c->pid, "%s %s",
			      m->what == COT_COMMAND_FREEZE ? "freeze" : "thaw",
			      cot_roster_name(c->in->roster, target->entity, name));
	return rc;
}

/* What of a change of the policy does not happen at once. */
static void say_later(const struct roster *r, char *ret_text, size_t size)
{
	const struct cot_policy_ops *policy = r->basis->config.policy, *now;
	unsigned n = cot_choose_elsewhere(r);

	now = cot_choose_now(r, policy);
	ret_text[0] = '\0';
	if (now != policy)
		(void)snprintf(ret_text, size, "; '%s' is at work until MPS is available",
			       now->name);
	else if (n)
		(void)snprintf(ret_text, size,
			       "; programs that stay in the pools where they started: %u", n);
}

static int change_policy(const struct conn *c, const char *name, struct cot_error *answer)
{
	struct roster *r = c->in->roster;
	const struct cot_policy_ops *before = r->basis->config.policy, *policy = NULL;
	char changes[160], later[96];
	const char *note;
	int rc = cot_access_admin(c, "the policy", answer);

	if (!rc && strcmp(name, "auto") != 0) {
		policy = cot_policy_find(name);
		if (!policy)
			rc = cot_error_set(answer, -EINVAL, "this daemon has no policy '%s'", name);
	}
	if (!rc)
		rc = cot_choose_by_user(r, policy, answer);
	if (rc < 0)
		return rc;
	(void)snprintf(changes, sizeof(changes), "policy %s -> %s%s", before->name,
		       r->basis->config.policy->name, policy ? "" : " (auto)");
	cot_audit_say(c->uid, c->pid, "%s", changes);
	say_later(r, later, sizeof(later));
	note = cot_choose_neglects(r);
	(void)cot_error_set(answer, 0, "%s%s%s%s", changes, later, note ? "; " : "",
			    note ? note : "");
	return 0;
}

/* Each change is a new plan, messages and a file that is written. */
static int may_change(struct conn *c, struct cot_error *err)
{
	const struct cot_account_pace *pace = &c->basis->account.paces[COT_RATE_CHANGES];
	uint64_t now_ns = cot_now_ns(), wait_ns = cot_account_wait_ns(&c->basis->account, c->uid,
								      COT_RATE_CHANGES, now_ns);

	if (cot_account_take(&c->basis->account, c->uid, COT_RATE_CHANGES, now_ns))
		return 0;
	return cot_error_set(err, -EAGAIN,
			     "user %u makes too many changes: %lu changes at once are allowed, and "
			     "%lu per second; try again in %lu ms",
			     (unsigned)c->uid, (unsigned long)pace->burst,
			     (unsigned long)(COT_NS_PER_S / pace->interval_ns),
			     (unsigned long)(wait_ns / COT_NS_PER_MS + 1));
}

/* set, freeze and thaw: of a program or a pool. */
static int carry_out(struct conn *c, const struct cot_msg_command *m, struct cot_error *answer)
{
	struct whom target = {0};
	int rc = cot_whom_find(c, m->tenant, m->name, &target, answer);

	if (!rc)
		rc = target.tenant ? cot_access_change(c, target.tenant, answer)
				   : cot_access_admin(c, "a pool", answer);
	if (rc < 0)
		return rc;
	if (m->what == COT_COMMAND_SET)
		return apply_set(c, &target, m, answer);
	if (m->what == COT_COMMAND_FREEZE || m->what == COT_COMMAND_THAW)
		return hold(c, &target, m, answer);
	return cot_error_set(answer, -ENOSYS, "this daemon does not know the command %u", m->what);
}

static void on_command(struct conn *c, const struct cot_msg_command *packet)
{
	struct cot_msg_command all, *m = &all;
	struct cot_error answer;
	int rc;

	cot_proto_read_command(packet, m);
	if (c->hold.entity) {
		cot_answer_resultf(c, m->h.seq, -EBUSY, "one command at a time");
		return;
	}
	rc = may_change(c, &answer);
	if (!rc)
		rc = m->what == COT_COMMAND_POLICY ? change_policy(c, m->name, &answer)
						   : carry_out(c, m, &answer);
	if (rc != -EINPROGRESS) {
		cot_state_keep(c->in->roster); /* what is said to be done outlives us */
		cot_answer_resultf(c, m->h.seq, rc, "%s", answer.text);
	}
}

bool cot_command_packet(struct conn *c, const void *packet, int type)
{
	switch (type) {
	case COT_MSG_REGISTER:
		cot_register_packet(c, packet);
		break;
	case COT_MSG_QUERY:
		cot_query_packet(c, packet);
		break;
	case COT_MSG_COMMAND:
		on_command(c, packet);
		break;
	case COT_MSG_EXPLAIN:
		cot_explain_packet(c, packet);
		break;
	default:
		break;
	}
	return true;
}
