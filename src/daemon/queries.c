#include "daemon/queries.h"

#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/host_query.h"
#include "daemon/known.h"
#include "daemon/tenant.h"

void cot_queries_over(struct conn *c)
{
	cot_account_release(&c->basis->account, c->uid, COT_ACCOUNT_QUERIES, 1);
}

/* Whether there is a place for it, and the core takes it. */
static bool is_taken(struct conn *c, const struct cot_msg_query_begin *m,
		     const struct cot_host_plan *plan)
{
	if (cot_account_charge(&c->basis->account, c->uid, COT_ACCOUNT_QUERIES, 1) < 0)
		return false;
	if (cot_host_query_begin(c->basis->host, conn_index(c), m, plan, cot_now_ns()))
		return true;
	cot_queries_over(c);
	return false;
}

static void begin(struct conn *c, const struct cot_msg_query_begin *m)
{
	struct cot_queries *q = &c->tenant->queries;
	const struct cot_knowledge *k =
		cot_known_find(&c->basis->known, c->tenant->name, c->tenant->cls);
	struct cot_host_plan plan = cot_known_plan(k, m->size);

	if (!is_taken(c, m, &plan)) {
		q->n_left_out++;
		return;
	}
	q->n_begun++;
	q->n_planned += cot_host_query_is_planned(c->basis->host, conn_index(c), m->query);
	q->query = m->query;
	q->size = m->size;
	q->began_ns = m->began_ns;
}

static void end(struct conn *c, const struct cot_msg_query_end *m)
{
	struct cot_queries *q = &c->tenant->queries;

	if (!cot_host_query_end(c->basis->host, conn_index(c), m, cot_now_ns()))
		return;
	q->n_ended++;
	q->n_tasks += m->n_tasks;
	if (q->query != m->query || m->ended_ns < q->began_ns)
		return;
	q->last_size = q->size;
	q->last_ns = m->ended_ns - q->began_ns;
	q->last_tasks = m->n_tasks;
}

void cot_queries_packet(struct conn *c, const void *packet, int type)
{
	if (type == COT_MSG_QUERY_BEGIN)
		begin(c, packet);
	else if (type == COT_MSG_QUERY_TASKS)
		(void)cot_host_query_tasks(c->basis->host, conn_index(c), packet, cot_now_ns());
	else if (type == COT_MSG_QUERY_COPY)
		(void)cot_host_query_copy(c->basis->host, conn_index(c), packet, cot_now_ns());
	else
		end(c, packet);
}
