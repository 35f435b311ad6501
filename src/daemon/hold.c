/*
 * FREEZE and THAW of `cotenant freeze` and `thaw`: ordered, and answered when the core has
 * confirmed it. A freeze waits until the program does not set channels up.
 */
#include <errno.h>

#include "daemon/daemon.h"

/* How long FREEZE and THAW wait for the libraries. */
#define CONFIRM_NS (2 * COT_NS_PER_S)
/* FREEZE: so long is waited until no channels are being set up, and tried again so often. Together
 * with CONFIRM_NS it is less than the command's patience. */
#define QUIET_NS (5 * COT_NS_PER_S / 2)
#define RETRY_NS (50 * COT_NS_PER_MS)

static void wait_for(struct conn *c, const struct cot_msg_command *m, bool frozen)
{
	c->wait_frozen = frozen;
	c->wait_seq = m->h.seq;
	c->wait_since_ns = cot_now_ns();
	c->wait_until_ns = c->wait_since_ns + CONFIRM_NS;
	if (!c->d->waits.armed || c->d->waits.due_ns > c->wait_until_ns)
		cot_timer_set(&c->d->loop, &c->d->waits, c->wait_until_ns);
}

/* It has channels, but is left alone as long as it makes more. */
static bool is_left_alone(const struct daemon *d, const struct tenant *t)
{
	unsigned i;

	for (i = 0; t && i < MAX_CONNS; i++)
		if (d->conns[i].tenant == t && d->conns[i].alone)
			return true;
	return false;
}

static void order_hold(struct conn *c, bool hold)
{
	struct cot_event ev = {
		.type = COT_EV_HOLD, .id = c->wait_entity, .now_ns = cot_now_ns(), .hold = hold};

	(void)cot_host_event(c->d->host, &ev);
}

int cot_hold_begin(struct conn *c, uint32_t entity, const struct tenant *tenant, const char *name,
		   const struct cot_msg_command *m, struct cot_error *err)
{
	bool freeze = m->what == COT_COMMAND_FREEZE, known, now;

	known = cot_sched_entity(cot_host_sched(c->d->host), entity);
	if (!known && !(freeze && is_left_alone(c->d, tenant)))
		return cot_error_set(err, -ESRCH, "'%s' does not use the GPU now", name);
	now = known && (!freeze || cot_library_is_quiet(c->d, entity, cot_now_ns()));
	c->wait_entity = entity;
	c->wait_tenant = tenant ? tenant->id : 0;
	c->wait_retry_ns = now ? 0 : cot_now_ns();
	wait_for(c, m, freeze);
	if (now)
		order_hold(c, freeze);
	return -EINPROGRESS;
}

/* A freeze that its library refused since channels are being set up, or that nobody could order. */
static bool is_set_up(const struct conn *c, const struct cot_entity *e)
{
	struct cot_host_entity_stats stats;

	if (c->wait_retry_ns || !e)
		return c->wait_retry_ns ||
		       is_left_alone(c->d, cot_tenant_find(c->d, c->wait_tenant));
	cot_host_entity_stats(c->d->host, c->wait_entity, &stats);
	return !e->held && e->run != COT_RUN_FREEZING && stats.freeze_status == -EAGAIN;
}

static void try_again(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	if (!c->wait_retry_ns) {
		c->wait_retry_ns = now_ns + RETRY_NS;
	} else if (now_ns >= c->wait_retry_ns && e &&
		   cot_library_is_quiet(c->d, c->wait_entity, now_ns)) {
		c->wait_retry_ns = 0;
		c->wait_until_ns = now_ns + CONFIRM_NS;
		order_hold(c, true);
		return;
	} else if (now_ns >= c->wait_retry_ns) {
		c->wait_retry_ns = now_ns + RETRY_NS;
	}
	c->wait_until_ns = c->wait_retry_ns;
	if (!c->d->waits.armed || c->d->waits.due_ns > c->wait_until_ns)
		cot_timer_set(&c->d->loop, &c->d->waits, c->wait_until_ns);
}

/* It failed, or its library is silent: says what became of it. */
static void tell_failure(struct conn *c, const struct cot_entity *e)
{
	struct cot_host_entity_stats stats;

	cot_host_entity_stats(c->d->host, c->wait_entity, &stats);
	if (!c->wait_frozen)
		cot_conn_resultf(c, c->wait_seq, -ETIMEDOUT,
				 "the thaw has not been confirmed (%s): it may stand still, and is "
				 "told again and again; 'cotenant ps' says for how long",
				 cot_news_reason(stats.thaw.n ? stats.thaw.status : -ETIMEDOUT));
	else if (e->run == COT_RUN_THAWING)
		cot_conn_resultf(c, c->wait_seq, -EIO,
				 "it could not be frozen (%s), and that it runs on has not been "
				 "confirmed: it may stand still; 'cotenant ps' says for how long",
				 cot_news_reason(stats.freeze_status));
	else if (!e->held)
		cot_conn_resultf(c, c->wait_seq, -EIO, "it could not be frozen (%s), so it runs on",
				 cot_news_reason(stats.freeze_status));
	else
		cot_conn_resultf(c, c->wait_seq, -ETIMEDOUT, "its library has not answered");
}

/* Whether the command goes on waiting. */
static bool check_freeze(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	bool set_up = is_set_up(c, e);

	if (c->wait_tenant && !cot_tenant_find(c->d, c->wait_tenant)) {
		cot_conn_resultf(c, c->wait_seq, -ESRCH, "it ended");
	} else if (set_up && now_ns - c->wait_since_ns < QUIET_NS) {
		try_again(c, e, now_ns);
		return true;
	} else if (set_up) {
		cot_conn_resultf(c, c->wait_seq, -EBUSY,
				 "it sets up channels all the time, and a freeze in the midst of "
				 "that could make it hang; it runs on");
	} else if (!e) {
		cot_conn_resultf(c, c->wait_seq, -ESRCH, "it ended");
	} else if (e->run == COT_RUN_FROZEN && e->held) {
		cot_conn_resultf(c, c->wait_seq, 0, "frozen after %.3f ms",
				 (double)(now_ns - c->wait_since_ns) / 1e6);
	} else if (now_ns >= c->wait_until_ns || (!e->held && e->run != COT_RUN_THAWING)) {
		tell_failure(c, e);
	} else {
		return true;
	}
	return false;
}

static bool check_thaw(struct conn *c, const struct cot_entity *e, uint64_t now_ns)
{
	if (!e)
		cot_conn_resultf(c, c->wait_seq, -ESRCH, "it ended");
	else if (e->run == COT_RUN_RUNNING)
		cot_conn_resultf(c, c->wait_seq, 0, "thawed after %.3f ms",
				 (double)(now_ns - c->wait_since_ns) / 1e6);
	else if (e->run == COT_RUN_FROZEN)
		cot_conn_resultf(c, c->wait_seq, 0,
				 "released; the policy keeps it frozen until its turn");
	else if (now_ns >= c->wait_until_ns)
		tell_failure(c, e);
	else
		return true;
	return false;
}

static void check_wait(struct conn *c, uint64_t now_ns)
{
	const struct cot_entity *e = cot_sched_entity(cot_host_sched(c->d->host), c->wait_entity);

	if (!(c->wait_frozen ? check_freeze(c, e, now_ns) : check_thaw(c, e, now_ns)))
		c->wait_entity = 0;
}

void cot_hold_check(struct daemon *d, uint64_t now_ns)
{
	unsigned i;

	for (i = 0; i < MAX_CONNS; i++)
		if (d->conns[i].source.fd >= 0 && d->conns[i].wait_entity)
			check_wait(&d->conns[i], now_ns);
}
