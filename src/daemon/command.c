/*
 * What the command line asks for: REGISTER (cotenant run), QUERY (ps, stats, doctor) and COMMAND
 * (set, freeze, thaw).
 */
#include "daemon/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/account.h"
#include "daemon/answer.h"
#include "daemon/audit.h"
#include "daemon/conn.h"
#include "daemon/daemon.h"
#include "daemon/gpus.h"
#include "daemon/hold.h"
#include "daemon/host.h"
#include "daemon/host_part.h"
#include "daemon/library.h"
#include "daemon/log.h"
#include "daemon/loop.h"
#include "daemon/mps.h"
#include "daemon/news.h"
#include "daemon/paths.h"
#include "daemon/pool.h"
#include "daemon/show.h"
#include "daemon/state.h"
#include "daemon/target.h"
#include "daemon/tenant.h"

/* The longest value names all GPUs; an answer has at most 20 such variables. */
#define VALUE_MAX COT_GPUS_TEXT_MAX
#define ENV_MAX	  (20 * (VALUE_MAX + 32))

_Static_assert(VALUE_MAX >= COT_PATH_TEXT_MAX, "a path is a value, too");
_Static_assert(sizeof(struct cot_msg_registered) + ENV_MAX <= COT_PROTO_PACKET_MAX, "one packet");

/* ---- REGISTER ---- */

struct env_block {
	char text[ENV_MAX];
	size_t used;
};

static void put(struct env_block *b, const char *key, const char *fmt, ...) COT_PRINTF(3, 4);

static void put(struct env_block *b, const char *key, const char *fmt, ...)
{
	char value[VALUE_MAX];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	b->used += (size_t)snprintf(b->text + b->used, sizeof(b->text) - b->used, "%s=%s", key,
				    value) +
		   1;
}

static void put_share(struct env_block *b, const char *key, uint16_t share)
{
	char word[COT_SHARE_WORD_MAX];

	if (share)
		put(b, key, "%s", cot_share_word(cot_share_unpack(share), word));
}

static void send_registered(struct conn *c, uint32_t seq, const struct tenant *t, const char *gpu,
			    const char *note)
{
	static struct env_block b;
	static _Alignas(8) char packet[sizeof(struct cot_msg_registered) + ENV_MAX];
	struct cot_msg_registered *m = (struct cot_msg_registered *)packet;
	char visible[VALUE_MAX];

	b.used = 0;
	put(&b, "COTENANT_SOCKET", "%s", c->d->socket_path);
	put(&b, "COTENANT_TENANT", "%u", t->id);
	put(&b, "COTENANT_CLASS", "%s", cot_class_words[t->cls]);
	put(&b, "COTENANT_NAME", "%s", t->name);
	put(&b, "COTENANT_WEIGHT", "%u", t->weight);
	put(&b, "COTENANT_BLOCK_US", "%u", t->block_us);
	put_share(&b, "COTENANT_QUOTA", t->quota);
	put_share(&b, "COTENANT_RESERVE", t->reserve);
	put_share(&b, "COTENANT_SMS", t->sms);
	if (t->parts)
		put(&b, "COTENANT_PARTS", "1");
	if (t->pool)
		(void)cot_mps_environment(t->pool, b.text, sizeof(b.text), &b.used);
	cot_gpus_visible(&c->d->gpus, t->gpu_mask, visible, sizeof(visible));
	put(&b, "COTENANT_GPU", "%s", visible);
	if (!t->pool && (*gpu || c->d->gpus.n > 1) && strcmp(gpu, "all") != 0)
		put(&b, "CUDA_VISIBLE_DEVICES", "%s", visible);
	if (note)
		put(&b, "COTENANT_NOTE", "%s", note);
	m->tenant = t->id;
	memcpy(m->env, b.text, b.used);
	cot_proto_header(&m->h, COT_MSG_REGISTERED, (uint32_t)(sizeof(*m) + b.used), seq);
	(void)cot_answer_send(c, packet, m->h.length, -1);
}

/* There is no place, or it could not be seen to, now: it may come again. */
static void put_off(struct conn *c, uint32_t seq, const char *why)
{
	cot_answer_defer(c, seq, "%s", why);
	cot_conn_close(c);
}

static struct tenant *make_tenant(struct conn *c, uint32_t seq)
{
	struct cot_error err;
	struct tenant *t;
	int rc = cot_tenant_new(c->d, c->uid, &t);

	if (rc < 0) {
		(void)cot_library_is_crowded(c, rc, &err);
		put_off(c, seq, err.text);
		return NULL;
	}
	rc = cot_tenant_watch_peer(t, c);
	if (!rc)
		return t;
	cot_tenant_drop(t);
	if (rc == -ESRCH) { /* the daemon would not learn of its end */
		cot_answer_refuse(c, seq,
				  "the program has ended, or its process cannot be seen from the "
				  "daemon's PID namespace");
		return NULL;
	}
	(void)cot_library_is_crowded(c, rc, &err);
	put_off(c, seq, err.text);
	return NULL;
}

static const char no_pool_note[] = "MPS is not available here, so this program stands alone and "
				   "takes turns with others; 'cotenant doctor' says why";

static const char other_user_note[] =
	"the pool serves programs of another user now, and one MPS server serves one user, so this "
	"program stands alone and takes turns with others";

static void finish_register(struct conn *c, const struct cot_msg_register *m, struct pool *p,
			    const char *note)
{
	struct tenant *t = make_tenant(c, m->h.seq);

	if (!t)
		return;
	if (p && !cot_pool_serves(p, c->uid)) {
		p = NULL;
		note = other_user_note;
	}
	if (note == other_user_note)
		t->alone_why = "the pool serves another user's programs";
	else if (note == no_pool_note)
		t->alone_why = "MPS is not available";
	t->cls = class_of(m->class_);
	t->weight = m->weight;
	t->block_us = m->block_us;
	t->quota = m->quota;
	t->reserve = m->reserve;
	t->sms = m->sms;
	t->parts = m->sms || c->d->config.policy->places;
	t->pool = p;
	t->solo = !p;
	t->gpu_mask = cot_gpus_mask(&c->d->gpus, m->gpu);
	cot_tenant_set_name(t, m->name);
	cot_tenant_announce(t);
	log_info("new %s program '%s' (id %u, process %d) in %s", cot_class_words[t->cls], t->name,
		 t->id, (int)c->pid, p ? "a pool" : "no pool");
	send_registered(c, m->h.seq, t, m->gpu, note);
}

static const char reserve_is_for_latency[] =
	"only a latency program may have a reservation; a batch program may have a quota";

static bool may_register(struct conn *c, const struct cot_msg_register *m)
{
	enum cot_class cls = class_of(m->class_);
	struct cot_error err;

	if (m->class_ > COT_CLASS_BATCH || m->weight < COT_WEIGHT_MIN ||
	    m->weight > COT_WEIGHT_MAX || m->block_us > COT_BLOCK_US_MAX) {
		cot_answer_refuse(c, m->h.seq,
				  "the class, the weight or the block time is out of range");
		return false;
	}
	if (cot_access_claim(c, cls, m->weight, &err) < 0) {
		cot_answer_refuse(c, m->h.seq, "%s", err.text);
		return false;
	}
	if (cot_library_may_start(c, &err) < 0) {
		put_off(c, m->h.seq, err.text);
		return false;
	}
	if (m->reserve && cls != COT_CLASS_LATENCY) {
		cot_answer_refuse(c, m->h.seq, "%s", reserve_is_for_latency);
		return false;
	}
	if (!cot_gpus_mask(&c->d->gpus, m->gpu)) {
		cot_answer_refuse(
			c, m->h.seq,
			"there is no GPU '%s' here; expected a number below %u, a UUID, a list "
			"of them, or all",
			m->gpu, c->d->gpus.n);
		return false;
	}
	return true;
}

static const char *note_on_shares(const struct daemon *d, const struct cot_msg_register *m)
{
	static char note[256];
	const struct cot_policy_ops *policy = d->config.policy;

	if ((!m->quota && !m->reserve) || policy->one_pool)
		return NULL;
	(void)snprintf(
		note, sizeof(note),
		"the policy '%s' keeps quotas, but takes nothing back for a reserve, and has "
		"latency and batch programs take turns; 'policy: smguard' in the daemon's "
		"configuration shares the SMs",
		policy->name);
	return note;
}

static void on_register(struct conn *c, const struct cot_msg_register *m)
{
	uint64_t mask = cot_gpus_mask(&c->d->gpus, m->gpu);
	struct daemon *d = c->d;
	struct pool *p;
	int rc;

	if (d->stopping) { /* the client then asks the next daemon */
		cot_conn_close(c);
		return;
	}
	if (c->wait_pool || !may_register(c, m))
		return;
	if (m->solo || !d->config.policy->wants_pools || !d->config.use_mps ||
	    (mask & (mask - 1))) {
		finish_register(c, m, NULL, note_on_shares(d, m));
		return;
	}
	p = cot_pool_get(d, class_of(m->class_), d->config.policy->one_pool,
			 (unsigned)__builtin_ctzll(mask));
	if (p && !cot_pool_serves(p, c->uid)) {
		finish_register(c, m, NULL, other_user_note);
		return;
	}
	rc = p ? cot_pool_want(p, c->uid) : -ENAMETOOLONG;
	if (rc != -EINPROGRESS) {
		finish_register(c, m, rc ? NULL : p, rc ? no_pool_note : note_on_shares(d, m));
		return;
	}
	c->register_ = malloc(sizeof(*m));
	if (!c->register_) {
		finish_register(c, m, NULL, no_pool_note);
		return;
	}
	*c->register_ = *m;
	c->wait_pool = p;
}

void cot_command_pool_settled(struct pool *p)
{
	struct daemon *d = p->d;
	unsigned i;

	for (i = 0; i < MAX_CONNS; i++) {
		struct conn *c = &d->conns[i];
		struct cot_msg_register *m = c->register_;
		bool up = p->state == POOL_UP;

		if (!conn_is_open(c) || c->wait_pool != p)
			continue;
		c->wait_pool = NULL;
		c->register_ = NULL;
		finish_register(c, m, up ? p : NULL, up ? note_on_shares(d, m) : no_pool_note);
		free(m);
	}
}

/* ---- COMMAND ---- */

static int only_alone(const struct command_target *target, const char *what, struct cot_error *err)
{
	const struct tenant *t = target->tenant;

	if (!t || !t->pool)
		return 0;
	return cot_error_set(err, -EBUSY,
			     "'%s' shares the pool '%s' with others, whose %s are one; use "
			     "pool:%s, or run it with --solo",
			     t->name, t->pool->name, what, t->pool->name);
}

/* 0 SMs: as if nothing had been said. */
static int check_sms(const struct conn *c, const struct tenant *t, struct cot_share sms,
		     struct cot_error *err)
{
	const struct cot_tenant *is = cot_sched_tenant(cot_host_sched(c->d->host), t->id);
	struct cot_host_part_stats stats;

	cot_host_part_stats(c->d->host, t->id, &stats);
	if (!t->parts)
		return cot_error_set(err, -ENOTSUP,
				     "'%s' cannot be moved: it was not started with --sms, nor "
				     "under the policy parts",
				     t->name);
	if (stats.status)
		return cot_error_set(err, -ENOTSUP,
				     "'%s' cannot be put on a part of the GPU; 'cotenant stats' "
				     "says why",
				     t->name);
	if (is && is->part_sms && sms.sms > is->part_sms)
		return cot_error_set(err, -EINVAL,
				     "the share is %u SMs; expected 1 to %u, or 1%% to 100%%",
				     sms.sms, is->part_sms);
	return 0;
}

static int check_set(const struct conn *c, const struct command_target *target,
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
	if (!t && (m->fields & (COT_SET_QUOTA | COT_SET_RESERVE | COT_SET_SMS)))
		return cot_error_set(
			err, -EINVAL,
			"only programs have quotas, reservations and SMs of their own; a "
			"pool has none");
	if ((m->fields & COT_SET_RESERVE) && m->reserve &&
	    (m->fields & COT_SET_CLASS ? cls : t->cls) != COT_CLASS_LATENCY)
		return cot_error_set(err, -EINVAL, "%s", reserve_is_for_latency);
	if ((m->fields & COT_SET_BLOCK) && m->block_us > COT_BLOCK_US_MAX)
		return cot_error_set(err, -EINVAL, "the blocks last %u us; expected up to %u",
				     m->block_us, COT_BLOCK_US_MAX);
	if ((m->fields & COT_SET_WEIGHT) && (!m->weight || m->weight > COT_WEIGHT_MAX))
		return cot_error_set(err, -EINVAL, "the weight is %u; expected 1 to %u", m->weight,
				     COT_WEIGHT_MAX);
	if ((m->fields & COT_SET_SLICE) && m->slice_us &&
	    (m->slice_us < COT_SLICE_US_MIN || m->slice_us > COT_SLICE_US_MAX))
		return cot_error_set(err, -EINVAL, "the slice is %lu us; expected %u to %u",
				     (unsigned long)m->slice_us, COT_SLICE_US_MIN,
				     COT_SLICE_US_MAX);
	if ((m->fields & COT_SET_MODE) && m->mode > COT_MODE_SWITCH)
		return cot_error_set(err, -EINVAL, "unknown mode");
	if (m->fields & (COT_SET_SLICE | COT_SET_MODE))
		rc = only_alone(target, "slice and mode", err);
	if (!rc && (m->fields & COT_SET_SMS))
		rc = check_sms(c, t, cot_share_unpack(m->sms), err);
	if (!rc && (m->fields & COT_SET_CLASS))
		rc = only_alone(target, "class and slice", err);
	if (!rc && t && (m->fields & (COT_SET_CLASS | COT_SET_WEIGHT)))
		rc = cot_access_claim(c, m->fields & COT_SET_CLASS ? cls : t->cls, weight, err);
	return rc;
}

static void change(struct conn *c, const struct command_target *target,
		   const struct cot_msg_command *m)
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
	if (t)
		cot_tenant_update(t);
	if (m->fields & COT_SET_SLICE)
		cot_host_override_slice(c->d->host, target->entity, (uint32_t)m->slice_us,
					cot_now_ns());
	if (m->fields & COT_SET_MODE)
		cot_host_override_mode(c->d->host, target->entity, (enum cot_mode)m->mode,
				       cot_now_ns());
}

/* The answer is what has changed. */
static int apply_set(struct conn *c, const struct command_target *target,
		     const struct cot_msg_command *m, struct cot_error *answer)
{
	struct cot_audit_look before, after;
	char changes[256], name[COT_NEWS_NAME_MAX];
	int rc = check_set(c, target, m, answer);

	if (rc < 0)
		return rc;
	cot_audit_look(c->d, target->tenant, target->entity, &before);
	change(c, target, m);
	cot_audit_look(c->d, target->tenant, target->entity, &after);
	cot_audit_changes(&before, &after, m->fields, changes, sizeof(changes));
	cot_audit_say(c->uid, c->pid, "set %s: %s", cot_news_entity(c->d, target->entity, name),
		      changes);
	(void)cot_error_set(answer, 0, "%s: %s", target->name, changes);
	return 0;
}

static int hold(struct conn *c, const struct command_target *target,
		const struct cot_msg_command *m, struct cot_error *err)
{
	int rc = only_alone(target, "channel groups", err);
	char name[COT_NEWS_NAME_MAX];

	if (!rc)
		rc = cot_hold_begin(c, target->entity, target->tenant, target->name, m, err);
	if (rc == -EINPROGRESS || !rc)
		cot_audit_say(c->uid, c->pid, "%s %s",
			      m->what == COT_COMMAND_FREEZE ? "freeze" : "thaw",
			      cot_news_entity(c->d, target->entity, name));
	return rc;
}

/* Each change is a new plan, messages and a file that is written. */
static int may_change(struct conn *c, struct cot_error *err)
{
	const struct cot_account_pace *pace = &c->d->account.paces[COT_RATE_CHANGES];
	uint64_t now_ns = cot_now_ns(),
		 wait_ns = cot_account_wait_ns(&c->d->account, c->uid, COT_RATE_CHANGES, now_ns);

	if (cot_account_take(&c->d->account, c->uid, COT_RATE_CHANGES, now_ns))
		return 0;
	return cot_error_set(err, -EAGAIN,
			     "user %u makes too many changes: %lu changes at once are allowed, and "
			     "%lu per second; try again in %lu ms",
			     (unsigned)c->uid, (unsigned long)pace->burst,
			     (unsigned long)(COT_NS_PER_S / pace->interval_ns),
			     (unsigned long)(wait_ns / COT_NS_PER_MS + 1));
}

static void on_command(struct conn *c, const struct cot_msg_command *m)
{
	struct cot_error answer;
	struct command_target target = {0};
	int rc;

	if (c->wait_entity) {
		cot_answer_resultf(c, m->h.seq, -EBUSY, "one command at a time");
		return;
	}
	rc = may_change(c, &answer);
	if (!rc)
		rc = cot_target_find(c, m, &target, &answer);
	if (!rc)
		rc = target.tenant ? cot_access_change(c, target.tenant, &answer)
				   : cot_access_admin(c, &answer);
	if (!rc && m->what == COT_COMMAND_SET)
		rc = apply_set(c, &target, m, &answer);
	else if (!rc && (m->what == COT_COMMAND_FREEZE || m->what == COT_COMMAND_THAW))
		rc = hold(c, &target, m, &answer);
	else if (!rc)
		rc = cot_error_set(&answer, -ENOSYS, "this daemon does not know the command %u",
				   m->what);
	if (rc != -EINPROGRESS) {
		cot_state_keep(c->d); /* what is said to be done outlives us */
		cot_answer_resultf(c, m->h.seq, rc, "%s", answer.text);
	}
}

/* ---- QUERY ---- */

/*
 * An answer may take a millisecond, and questions cost the client nothing. So the daemon answers
 * one in each round of the loop: leases, orders and commands do not wait for a client with many
 * questions.
 */
static void on_query(struct conn *c, const struct cot_msg_query *m)
{
	if (c->out) /* it did not wait for the last answer */
		return;
	c->asked = true;
	c->query = m->what;
	c->query_seq = m->h.seq;
	cot_conn_watch(c); /* nothing more until then */
	cot_timer_set(&c->d->loop, &c->d->queries, cot_now_ns());
}

static void answer(struct conn *c)
{
	uint64_t begin_ns = cot_conn_clock_ns();
	char *text = cot_show_answer(c->d, c->query);

	c->asked = false;
	if (text)
		cot_answer_result(c, c->query_seq, 0, text);
	else if (c->query >= COT_QUERY_PS && c->query <= COT_QUERY_DOCTOR)
		cot_answer_resultf(c, c->query_seq, -ENOMEM, "cotenantd is out of memory");
	else
		cot_answer_resultf(c, c->query_seq, -ENOSYS,
				   "this daemon does not know the question %u", c->query);
	cot_conn_watch(c);
	cot_conn_spend(c->d, c->uid, begin_ns);
}

/* The next one whose user may have some of our time now. NULL: in *ret_wait_ns, if at all. */
static struct conn *next_asker(struct daemon *d, uint64_t *ret_wait_ns)
{
	unsigned i;

	*ret_wait_ns = COT_NEVER;
	for (i = 0; i < MAX_CONNS; i++) {
		struct conn *c = &d->conns[(d->next_asker + i) % MAX_CONNS];
		uint64_t wait_ns;

		if (!conn_is_open(c) || !c->asked)
			continue;
		wait_ns = cot_conn_rest_ns(c);
		if (!wait_ns)
			return c;
		if (wait_ns < *ret_wait_ns)
			*ret_wait_ns = wait_ns;
	}
	return NULL;
}

void cot_command_answer_one(struct cot_timer *timer, uint64_t now_ns)
{
	struct daemon *d = (struct daemon *)((char *)timer - offsetof(struct daemon, queries));
	uint64_t wait_ns;
	struct conn *c = next_asker(d, &wait_ns);

	if (c) {
		d->next_asker = conn_index(c) + 1;
		answer(c);
		now_ns = cot_now_ns();
		if (next_asker(d, &wait_ns))
			wait_ns = 0;
	}
	if (wait_ns != COT_NEVER)
		cot_timer_set(&d->loop, &d->queries, now_ns + wait_ns);
}

bool cot_command_packet(struct conn *c, const void *packet, int type)
{
	switch (type) {
	case COT_MSG_REGISTER:
		on_register(c, packet);
		break;
	case COT_MSG_QUERY:
		on_query(c, packet);
		break;
	case COT_MSG_COMMAND:
		on_command(c, packet);
		break;
	default:
		break;
	}
	return true;
}
