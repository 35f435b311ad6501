#include "daemon/conn.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>

#include "daemon/account.h"
#include "daemon/closer.h"
#include "daemon/daemon.h"
#include "daemon/loop.h"
#include "daemon/peer.h"

/* Processor time, not wall time: no user pays for the daemon's wait for a processor. */
uint64_t cot_conn_clock_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * COT_NS_PER_S + (uint64_t)ts.tv_nsec;
}

void cot_conn_spend(struct daemon *d, uid_t uid, uint64_t begin_ns)
{
	cot_account_spend(&d->account, uid, COT_RATE_TIME, cot_conn_clock_ns() - begin_ns,
			  cot_loop_able_ns(&d->loop));
}

uint64_t cot_conn_rest_ns(const struct conn *c)
{
	return cot_account_wait_ns(&c->d->account, c->uid, COT_RATE_TIME,
				   cot_loop_able_ns(&c->d->loop));
}

void cot_conn_watch(struct conn *c)
{
	uint32_t events = (c->asked ? 0 : EPOLLIN) | (c->out ? EPOLLOUT : 0);
	struct cot_loop *loop = &c->d->loop;

	if (!conn_is_open(c))
		return;
	if (c->paused || !events) {
		/* With no events, epoll would report a peer that hung up without end. */
		if (c->watched)
			cot_loop_remove(loop, &c->source);
		c->watched = false;
	} else if (c->watched) {
		(void)cot_loop_change(loop, &c->source, events);
	} else {
		c->watched = cot_loop_add(loop, &c->source, events) == 0;
	}
}

void cot_conn_forget_answer(struct conn *c)
{
	if (!c->out)
		return;
	cot_account_release(&c->d->account, c->uid, COT_ACCOUNT_BYTES, c->out_charged);
	free(c->out);
	c->out = NULL;
	c->out_charged = 0;
}

void cot_conn_close(struct conn *c)
{
	if (!conn_is_open(c))
		return;
	if (c->watched)
		cot_loop_remove(&c->d->loop, &c->source);
	cot_closer_end(&c->d->closer, c->source.fd, c->d->guarded);
	c->source.fd = -1;
	if (c->d->conn_ops[c->kind].gone)
		c->d->conn_ops[c->kind].gone(c);
	if (c->page)
		(void)munmap(c->page, sizeof(*c->page));
	cot_conn_forget_answer(c);
	free(c->register_);
	free(c->counts);
	free(c->part_counts);
	cot_peer_finish(c);
	cot_account_release(&c->d->account, c->uid, COT_ACCOUNT_CONNS, 1);
	*c = (struct conn){.d = c->d, .source = {.fd = -1}, .pidfd = -1};
}
