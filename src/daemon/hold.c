/*
 * FREEZE and THAW of `cotenant freeze` and `thaw`: ordered, and answered when the core has
 * confirmed it. A freeze waits until the program does not set channels up.
 *
 * What a user holds stays held until a user thaws it. The core repeats a freeze that failed,
 * because a library answered late or a lease ended. Whenever the core gets to know the program
 * again, this file reports the hold again. Only a freeze that never happened, because a library
 * refused it, is taken back when its command gets that answer.
 */
#include "daemon/hold.h"

#include <errno.h>

#include "daemon/answer.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/library.h"
#include "daemon/news.h"
#include "daemon/roster.h"

/* How long FREEZE and THAW wait for the libraries. */
#define CONFIRM_NS (2 * COT_NS_PER_S)
/* FREEZE: so long is waited until no channels are being set up, and looked again so often. Together
 * with CONFIRM_NS it is less than the command's patience. */
#define QUIET_NS (5 * COT_NS_PER_S / 2)
#define RETRY_NS (50 * COT_NS_PER_MS)
/* And so long for the thaw of what could not be frozen. */
#define TAKE_BACK_NS (2 * COT_HOST_ACK_NS)

/* ---- what is held ---- */

/* NULL: there is nothing of that number. */
static bool *hold_of(struct roster *r, uint32_t entity)
{
	struct pool *p = cot_roster_pool(r, entity);
	struct tenant *t = cot_roster_tenant(r, entity);

	return p ? &p->held : t ? &t->held : NULL;
}

static bool is_held(struct roster *r, uint32_t entity)
{
	const bool *held = hold_of(r, entity);

	return held && *held;
}

static void set_hold(struct roster *r, uint32_t entity, bool hold)
{
	bool *held = hold_of(r, entity);

	if (held && *held != hold) {
		*held = hold;
		r->state.dirty = true;
	}
	cot_host_hold(r->basis->host, entity, hold, cot_now_ns());
}

/* ---- commands that wait ---- */

static void wait_until(struct conn *c, uint64_t until_ns)
{
	c->hold.until_ns = until_ns;
	if (!c->in->waits.armed || c->in->waits.due_ns > until_ns)
		cot_timer_set(&c->basis->loop, &c->in->waits, until_ns);
}

/* It has channels, but is left alone as long as it makes more. */
static bool is_left_alone(const struct conns *conns, const struct tenant *t)
{
	const struct conn *c;

	for_each_conn (c, conns)
		if (t && c->tenant == t && c->alone)
			return true;
	return false;
}

static void order_freeze(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	c->hold.retry_ns = 0;
	c->hold.n_failed = e->n_failed;
	wait_until(c, now_ns + CONFIRM_NS);
	set_hold(c->in->roster, c->hold.entity, true);
}

int cot_hold_begin(struct conn *c, uint32_t entity, const struct tenant *tenant, const char *name,
		   const struct cot_msg_command *m, struct cot_error *err)
{
	const struct cot_entity *e = cot_sched_entity(cot_host_sched(c->basis->host), entity);
	bool freeze = m->what == COT_COMMAND_FREEZE, held = is_held(c->in->roster, entity);
	uint64_t now_ns = cot_now_ns();

	if (!freeze)
		set_hold(c->in->roster, entity, false);
	if (!e && !freeze && held)
		return cot_error_set(err, 0, "released; it does not use the GPU now");
	if (!e && !(freeze && is_left_alone(c->in, tenant)))
		return cot_error_set(err, -ESRCH, "'%s' does not use the GPU now", name);
	c->hold.entity = entity;
	c->hold.tenant = tenant ? tenant->id : 0;
	c->hold.freeze = freeze;
	c->hold.was_held = held;
	c->hold.status = 0;
	c->hold.seq = m->h.seq;
	c->hold.since_ns = now_ns;
	c->hold.retry_ns = now_ns;
	if (freeze && e && cot_library_is_quiet(c->in, entity, now_ns))
		order_freeze(c, e, now_ns);
	else
		wait_until(c, now_ns + (freeze ? RETRY_NS : CONFIRM_NS));
	return -EINPROGRESS;
}

/* ---- a freeze ---- */

static bool say_set_up(struct conn *c)
{
	cot_answer_resultf(c, c->hold.seq, -EBUSY,
			   "it keeps setting up channels, and a freeze during that could make it "
			   "hang; it runs on");
	return false;
}

/* It has not been ordered yet, since channels are being set up. */
static bool wait_for_quiet(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	if (e && cot_library_is_quiet(c->in, c->hold.entity, now_ns))
		order_freeze(c, e, now_ns);
	else if (now_ns - c->hold.since_ns >= QUIET_NS)
		return say_set_up(c);
	else if (now_ns >= c->hold.until_ns)
		wait_until(c, now_ns + RETRY_NS);
	return true;
}

/* Whether an answer says that the freeze is impossible; otherwise the answer was late, the order
 * was not sent, or the answer comes later. */
static bool is_refusal(int status)
{
	return status && status != -EAGAIN && status != -ETIMEDOUT && status != -ETIME &&
	       status != -ENOBUFS;
}

static bool say_late(struct conn *c, int status)
{
	cot_answer_resultf(c, c->hold.seq, -ETIMEDOUT,
			   "the freeze has not been confirmed (%s): the daemon repeats the order "
			   "until 'cotenant thaw'; 'cotenant ps' says when it is frozen",
			   cot_news_reason(status ? status : -ETIMEDOUT));
	return false;
}

static bool take_back(struct conn *c, int status, uint64_t now_ns)
{
	if (c->hold.was_held)
		return say_late(c, status);
	c->hold.status = status;
	wait_until(c, now_ns + TAKE_BACK_NS);
	set_hold(c->in->roster, c->hold.entity, false);
	return true;
}

/* This command or another one has taken the hold back. */
static bool wait_for_release(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	bool runs = e->run != COT_RUN_THAWING;

	if (!runs && now_ns < c->hold.until_ns)
		return true;
	if (!c->hold.status)
		cot_answer_resultf(c, c->hold.seq, -ECANCELED, "it was thawed meanwhile");
	else if (runs && c->hold.status == -EAGAIN)
		return say_set_up(c);
	else if (runs)
		cot_answer_resultf(c, c->hold.seq, -EIO,
				   "it could not be frozen (%s), so it runs on",
				   cot_news_reason(c->hold.status));
	else
		cot_answer_resultf(c, c->hold.seq, -EIO,
				   "it could not be frozen (%s), and that it runs on has not been "
				   "confirmed: it may hang; 'cotenant ps' says for how long",
				   cot_news_reason(c->hold.status));
	return false;
}

static bool wait_for_freeze(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	struct cot_host_entity_stats stats;
	int status;

	cot_host_entity_stats(c->basis->host, c->hold.entity, &stats);
	status = e->n_failed != c->hold.n_failed ? stats.freeze_status : 0;
	if (is_refusal(status) || (status == -EAGAIN && now_ns >= c->hold.until_ns))
		return take_back(c, status, now_ns);
	return now_ns < c->hold.until_ns || say_late(c, status);
}

/* Whether the command goes on waiting. */
static bool check_freeze(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	bool gone = c->hold.tenant && !cot_roster_tenant(c->in->roster, c->hold.tenant);

	if (gone ||
	    (!e && (!c->hold.retry_ns ||
		    !is_left_alone(c->in, cot_roster_tenant(c->in->roster, c->hold.tenant))))) {
		if (!c->hold.was_held)
			set_hold(c->in->roster, c->hold.entity, false);
		cot_answer_resultf(c, c->hold.seq, -ESRCH, "it ended");
		return false;
	}
	if (c->hold.retry_ns)
		return wait_for_quiet(c, e, now_ns);
	if (!e->held)
		return wait_for_release(c, e, now_ns);
	if (e->run != COT_RUN_FROZEN)
		return wait_for_freeze(c, e, now_ns);
	cot_answer_resultf(c, c->hold.seq, 0, "frozen after %.3f ms",
			   (double)(now_ns - c->hold.since_ns) / 1e6);
	return false;
}

/* ---- a thaw ---- */

static void say_stuck(struct conn *c)
{
	struct cot_host_entity_stats stats;

	cot_host_entity_stats(c->basis->host, c->hold.entity, &stats);
	cot_answer_resultf(c, c->hold.seq, -ETIMEDOUT,
			   "the thaw has not been confirmed (%s): it may hang, and the daemon "
			   "repeats the order; 'cotenant ps' says for how long",
			   cot_news_reason(stats.thaw.n ? stats.thaw.status : -ETIMEDOUT));
}

static bool check_thaw(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	if (!e)
		cot_answer_resultf(c, c->hold.seq, -ESRCH, "it ended");
	else if (e->run == COT_RUN_RUNNING)
		cot_answer_resultf(c, c->hold.seq, 0, "thawed after %.3f ms",
				   (double)(now_ns - c->hold.since_ns) / 1e6);
	else if (e->run == COT_RUN_FROZEN)
		cot_answer_resultf(c, c->hold.seq, 0,
				   "released; the policy keeps it frozen until its turn");
	else if (now_ns >= c->hold.until_ns)
		say_stuck(c);
	else
		return true;
	return false;
}

static void check_wait(struct conn *c, uint64_t now_ns)
{
	const struct cot_entity *e =
		cot_sched_entity(cot_host_sched(c->basis->host), c->hold.entity);

	if (!(c->hold.freeze ? check_freeze(c, e, now_ns) : check_thaw(c, e, now_ns)))
		c->hold.entity = 0;
}

void cot_hold_check(struct conns *conns, uint64_t now_ns)
{
	struct conn *c;

	for_each_conn (c, conns)
		if (c->hold.entity)
			check_wait(c, now_ns);
}
