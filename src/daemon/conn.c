#include "daemon/conn.h"

#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>

#include "daemon/basis.h"
#include "daemon/page.h"
#include "daemon/peer.h"

/* After this at the earliest the daemon reads again from one that it does not listen to. */
#define REST_NS COT_NS_PER_MS

/* Processor time, not wall time: no user pays for the daemon's wait for a processor. */
uint64_t cot_conn_clock_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * COT_NS_PER_S + (uint64_t)ts.tv_nsec;
}

void cot_conn_spend(struct basis *b, uid_t uid, uint64_t begin_ns)
{
	cot_account_spend(&b->account, uid, COT_RATE_TIME, cot_conn_clock_ns() - begin_ns,
			  cot_loop_able_ns(&b->loop));
}

uint64_t cot_conn_rest_ns(const struct conn *c)
{
	return cot_account_wait_ns(&c->basis->account, c->uid, COT_RATE_TIME,
				   cot_loop_able_ns(&c->basis->loop));
}

void cot_conn_pause(struct conn *c, uint64_t for_ns)
{
	struct cot_timer *pauses = &c->in->pauses;
	uint64_t due_ns = cot_now_ns() + (for_ns < REST_NS ? REST_NS : for_ns);

	c->paused = true;
	if (!pauses->armed || pauses->due_ns > due_ns)
		cot_timer_set(&c->basis->loop, pauses, due_ns);
}

/* Where the kernel has no memory for it, nobody would see its end: it is tried again. */
void cot_conn_watch(struct conn *c)
{
	uint32_t events = (c->question.asked ? 0 : EPOLLIN) | (c->out.text ? EPOLLOUT : 0);
	struct cot_loop *loop = &c->basis->loop;
	/* With no events, epoll would report a peer that hung up without end. */
	bool wanted = events && !c->paused;

	if (!conn_is_open(c))
		return;
	if (wanted && !(c->watched ? cot_loop_change : cot_loop_add)(loop, &c->source, events)) {
		c->watched = true;
		return;
	}
	if (c->watched)
		cot_loop_remove(loop, &c->source);
	c->watched = false;
	if (wanted)
		cot_conn_pause(c, COT_CONN_LACK_NS);
}

void cot_conn_forget_answer(struct conn *c)
{
	if (!c->out.text)
		return;
	cot_account_release(&c->basis->account, c->uid, COT_ACCOUNT_BYTES, c->out.charged);
	free(c->out.text);
	c->out.text = NULL;
	c->out.charged = 0;
}

void cot_conn_close(struct conn *c)
{
	if (!conn_is_open(c))
		return;
	if (c->watched)
		cot_loop_remove(&c->basis->loop, &c->source);
	cot_closer_end(&c->in->closer, c->source.fd, c->in->guarded);
	c->source.fd = -1;
	if (c->in->ops[c->kind].gone)
		c->in->ops[c->kind].gone(c);
	cot_page_drop(c);
	cot_conn_forget_answer(c);
	free(c->registration.m);
	free(c->counts);
	free(c->part_counts);
	cot_peer_finish(c);
	cot_account_release(&c->basis->account, c->uid, COT_ACCOUNT_CONNS, 1);
	*c = conn_unused(c->in);
}
