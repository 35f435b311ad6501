/*
 * The end of pools. The daemon never ends a client of a pool: it sends `quit` to MPS only when MPS
 * has no clients, and if one comes at that moment, MPS waits for it.
 */
#include <signal.h>

#include "daemon/basis.h"
#include "daemon/clients.h"
#include "daemon/log.h"
#include "daemon/mps.h"
#include "daemon/pool_inside.h"
#include "daemon/roster.h"

#define STOP_NS	   (5 * COT_NS_PER_S)
#define CLIENTS_NS (5 * COT_NS_PER_S)

static void linger_timer_fired(struct cot_timer *timer, uint64_t now_ns);
static void stop_timer_fired(struct cot_timer *timer, uint64_t now_ns);

void cot_pool_linger(struct pool *p)
{
	cot_pool_timer(p, linger_timer_fired, p->basis->config.linger_s * COT_NS_PER_S + 1);
}

/* MPS has got `quit`. An MPS without clients can be ended without harm. */
static void clients_of_stopping(struct pool *p, int n)
{
	if (p->state != POOL_STOPPING)
		return;
	cot_pool_timer(p, stop_timer_fired, STOP_NS);
	if (n != 0)
		return;
	cot_daemon_log(COT_DLOG_WARN, cot_pool_where(p),
		       "MPS does not stop by itself, and has no clients; it is ended");
	(void)kill(p->control.pid, SIGTERM);
}

static void stop_timer_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct pool *p = COT_CONTAINER_OF(timer, struct pool, timer);

	(void)now_ns;
	if (!p->held_up) {
		cot_daemon_log(COT_DLOG_WARN, cot_pool_where(p),
			       "MPS waits for a client before it stops; programs that come stand "
			       "alone until then");
		p->held_up = true;
		p->wanted = false;
		p->in->pool_settled(p);
	}
	cot_pool_timer(p, stop_timer_fired, STOP_NS);
	cot_clients_ask(p, clients_of_stopping);
}

static void stop(struct pool *p)
{
	p->state = POOL_STOPPING;
	p->held_up = false;
	p->in->state.dirty = true;
	p->deadline_ns = cot_now_ns() + STOP_NS;
	cot_pool_timer(p, stop_timer_fired, STOP_NS);
	(void)cot_pool_tell(p, "quit");
}

/* No program of ours is in it: MPS has the last word. */
static void clients_of_unused(struct pool *p, int n)
{
	if (p->state != POOL_UP || p->n_tenants)
		return;
	if (n == 0) {
		stop(p);
		return;
	}
	if (!p->held_up && n > 0)
		cot_daemon_log(
			COT_DLOG_INFO, cot_pool_where(p),
			"no program that is known uses it, but MPS has %d client%s: it stays", n,
			n == 1 ? "" : "s");
	else if (!p->held_up)
		cot_daemon_log(COT_DLOG_WARN, cot_pool_where(p),
			       "MPS does not say whether it has clients: it stays");
	p->held_up = true;
	cot_pool_timer(p, linger_timer_fired, CLIENTS_NS);
}

static void linger_timer_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct pool *p = COT_CONTAINER_OF(timer, struct pool, timer);

	(void)now_ns;
	if (p->state == POOL_UP && !p->n_tenants)
		cot_clients_ask(p, clients_of_unused);
}

/* One that has just been started serves only those that know its folder from a server before. */
static void clients_of_begun(struct pool *p, int n)
{
	if (p->state == POOL_STARTING && n <= 0)
		(void)kill(p->control.pid, SIGTERM);
}

static void stop_unused(struct pool *p)
{
	if (p->state == POOL_UP)
		cot_clients_ask(p, clients_of_unused);
	else if (p->state == POOL_STARTING && !p->adopted && cot_mps_listens(p))
		cot_clients_ask(p, clients_of_begun);
	else if (p->state == POOL_STARTING && !p->adopted)
		clients_of_begun(p, 0);
}

void cot_pool_stop_all(struct roster *r)
{
	struct pool *p;

	for_each_pool (p, r) {
		if (!p->n_tenants)
			stop_unused(p);
		else if (p->state == POOL_UP || p->state == POOL_STARTING)
			cot_daemon_log(
				COT_DLOG_INFO, cot_pool_where(p),
				"left running for its %u programs; the next daemon takes it over",
				p->n_tenants);
	}
}

bool cot_pool_is_busy(const struct pool *p)
{
	return p->clients.asked || p->state == POOL_STOPPING;
}
