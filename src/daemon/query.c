/*
 * QUERY. An answer may take a millisecond, and questions cost the client nothing. So the daemon
 * answers one in each round of the loop: leases, orders and commands do not wait for a client with
 * many questions.
 */
#include "daemon/query.h"

#include <errno.h>
#include <stddef.h>

#include "daemon/answer.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/show.h"

void cot_query_packet(struct conn *c, const struct cot_msg_query *m)
{
	if (c->out.text) /* it did not wait for the last answer */
		return;
	c->question.asked = true;
	c->question.what = m->what;
	c->question.seq = m->h.seq;
	cot_conn_watch(c); /* nothing more until then */
	cot_timer_set(&c->basis->loop, &c->in->queries, cot_now_ns());
}

static void answer(struct conn *c)
{
	uint64_t begin_ns = cot_conn_clock_ns();
	char *text = cot_show_answer(c->in, c->question.what);

	c->question.asked = false;
	if (text)
		cot_answer_result(c, c->question.seq, 0, text);
	else if (c->question.what >= COT_QUERY_PS && c->question.what <= COT_QUERY_METRICS)
		cot_answer_resultf(c, c->question.seq, -ENOMEM, "cotenantd is out of memory");
	else
		cot_answer_resultf(c, c->question.seq, -ENOSYS,
				   "this daemon does not know the question %u", c->question.what);
	cot_conn_watch(c);
	cot_conn_spend(c->basis, c->uid, begin_ns);
}

/* The next one whose user may have some of our time now. NULL: in *ret_wait_ns, if at all. */
static struct conn *next_asker(struct conns *conns, uint64_t *ret_wait_ns)
{
	unsigned i;

	*ret_wait_ns = COT_NEVER;
	for (i = 0; i < MAX_CONNS; i++) {
		struct conn *c = &conns->all[(conns->next_asker + i) % MAX_CONNS];
		uint64_t wait_ns;

		if (!conn_is_open(c) || !c->question.asked)
			continue;
		wait_ns = cot_conn_rest_ns(c);
		if (!wait_ns)
			return c;
		if (wait_ns < *ret_wait_ns)
			*ret_wait_ns = wait_ns;
	}
	return NULL;
}

void cot_query_answer_one(struct cot_timer *timer, uint64_t now_ns)
{
	struct conns *conns = COT_CONTAINER_OF(timer, struct conns, queries);
	uint64_t wait_ns;
	struct conn *c = next_asker(conns, &wait_ns);

	if (c) {
		conns->next_asker = conn_index(c) + 1;
		answer(c);
		now_ns = cot_now_ns();
		if (next_asker(conns, &wait_ns))
			wait_ns = 0;
	}
	if (wait_ns != COT_NEVER)
		cot_timer_set(&conns->basis->loop, &conns->queries, now_ns + wait_ns);
}
