#include "daemon/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/access.h"
#include "daemon/answer.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/host_part.h"
#include "daemon/host_work.h"
#include "daemon/log.h"
#include "daemon/measure.h"
#include "daemon/news.h"
#include "daemon/page.h"
#include "daemon/peer.h"
#include "daemon/processes.h"
#include "daemon/queries.h"
#include "daemon/recover.h"
#include "daemon/roster.h"

#ifndef SETTLE_NS
#define SETTLE_NS (500 * COT_NS_PER_MS)
#endif
#define YOUNG_NS (15 * COT_NS_PER_S)
#define SEAL_NS	 (20 * COT_NS_PER_MS) /* until a page is sealed, mostly far less */

static int send_to_member(void *arg, unsigned member, const void *packet, size_t size)
{
	struct conns *conns = arg;
	struct conn *c = &conns->all[member];
	int rc = cot_answer_send(c, packet, size, -1);

	/* A shim that misses a grant would wait for ever. Its end is noticed, but not in here. */
	if (rc < 0 && c->kind == CONN_WORK && conn_is_open(c))
		(void)shutdown(c->source.fd, SHUT_RDWR);
	return rc;
}

static uint64_t lease_of_member(void *arg, unsigned member, uint64_t until_ns)
{
	struct conns *conns = arg;
	struct cot_page *page = cot_page_of(&conns->all[member]);

	if (!page)
		return 0;
	atomic_store_explicit(&page->lease_until_ns, until_ns, memory_order_release);
	return atomic_load_explicit(&page->n_lease_expired, memory_order_relaxed);
}

static void tell(void *arg, const struct cot_host_news *news)
{
	cot_news_tell(((struct conns *)arg)->roster, news);
}

static void member_is_late(void *arg, unsigned member)
{
	struct conns *conns = arg;

	conns->all[member].late = true;
	cot_timer_set(&conns->basis->loop, &conns->roster->stops, cot_now_ns());
}

static bool is_quiet(void *arg, uint32_t entity, uint64_t now_ns)
{
	return cot_library_is_quiet(arg, entity, now_ns);
}

static void query_is_over(void *arg, unsigned member)
{
	cot_queries_over(&((struct conns *)arg)->all[member]);
}

const struct cot_host_ops cot_library_host_ops = {
	.works = &cot_host_works_ops,
	.parts = &cot_host_parts_ops,
	.send = send_to_member,
	.lease = lease_of_member,
	.late = member_is_late,
	.query_over = query_is_over,
	.tell = tell,
	.is_quiet = is_quiet,
};

static int send_welcome(struct conn *c, uint32_t seq, uint32_t id, bool measures)
{
	struct cot_host_settings settings;
	struct cot_msg_welcome m = {.tenant = id};
	const struct pool *p = c->pool ? c->pool : c->tenant->pool; /* its entity */
	int fd = cot_page_make(c, measures), rc;

	if (fd < 0)
		return fd;
	cot_host_welcome(c->basis->host, conn_index(c), c->entity, p ? p->cls : c->tenant->cls,
			 p ? 1ull << p->gpu : c->tenant->gpu_mask, &settings);
	m.page_size = (uint32_t)c->page_size;
	m.slice_us = settings.slice_us;
	m.mode = settings.mode;
	cot_proto_header(&m.h, COT_MSG_WELCOME, sizeof(m), seq);
	rc = cot_answer_send(c, &m, sizeof(m), fd);
	cot_page_handed_over(c, fd);
	return rc;
}

/*
 * A program's owner can hold up who reads its environment. A number that counts and is not known
 * was given out by the daemon before, which ended before it had written that down. So only a young
 * daemon looks, for a moment, and not again if somebody has held it up.
 */
static bool reads(const struct conn *c, struct cot_process *ret_process)
{
	int rc;

	if (c->in->was_held_up || cot_now_ns() - c->basis->start_ns > YOUNG_NS)
		return false;
	rc = cot_process_read_within(c->basis->socket_path, c->pid, c->basis->look_ms, ret_process);
	c->in->was_held_up = rc == -ETIMEDOUT;
	return rc == 0;
}

/*
 * The number that a program sends is its own if `cotenant run` has put it into its environment.
 * Otherwise it means nothing: it belongs to a program that has ended, or no daemon has given it
 * out.
 */
static bool was_given(const struct conn *c, uint64_t id, struct cot_process *ret_process)
{
	return id && id <= INT32_MAX && !cot_roster_pool(c->in->roster, id) && c->start_time &&
	       reads(c, ret_process) && ret_process->start_time == c->start_time &&
	       !ret_process->found.is_pool && ret_process->found.id == id &&
	       ret_process->uid == c->uid;
}

static int make_tenant(struct conn *c, const struct cot_process *known, struct tenant **ret_tenant,
		       struct cot_error *err)
{
	struct tenant as = {.uid = c->uid};
	int rc = cot_access_start(c, err);

	if (rc < 0)
		return rc;
	as.id = known ? known->found.id : 0;
	rc = known ? cot_tenant_restore(c->in->roster, &as, false, ret_tenant)
		   : cot_tenant_new(c->in->roster, c->uid, ret_tenant);
	if (rc < 0)
		return cot_access_crowded(c, rc, err);
	rc = cot_tenant_watch_peer(*ret_tenant, c);
	if (rc < 0 && rc != -ESRCH) { /* one that is not seen lives as long as its connection */
		cot_tenant_drop(*ret_tenant);
		return cot_access_crowded(c, rc, err);
	}
	return 0;
}

/* One that another daemon knew is still in the pool that `cotenant run` has put it in. */
static void remember(struct tenant *t, const struct cot_process *p)
{
	t->quota = p->found.quota;
	t->reserve = p->found.reserve;
	t->sms = p->found.sms;
	t->pace_us = p->found.pace_us;
	t->memory_mib = p->found.memory_mib;
	t->parts = p->found.parts;
	t->target = p->found.target;
	t->measured = p->found.measured;
	t->command = p->found.command;
	t->pool = cot_recover_pool_with(t->in, p->found.pipe);
}

/* A program that registers by itself may use the GPU already, so it stands alone. */
static int take_in(struct conn *c, const struct cot_msg_hello *m, struct cot_error *err)
{
	static struct cot_process p;
	const struct cot_process *known = was_given(c, m->tenant, &p) ? &p : NULL;
	const char *gpu = known ? known->found.gpu : m->gpu; /* a message holds few */
	struct tenant *t;
	int rc = make_tenant(c, known, &t, err);

	if (rc < 0)
		return rc;
	t->cls = class_of(m->class_);
	t->weight = m->weight;
	t->block_us = m->block_us;
	cot_tenant_set_name(t, m->name);
	t->by_itself = !known;
	if (known)
		remember(t, known);
	t->gpu_mask = cot_gpus_mask(&c->basis->gpus, gpu);
	t->gpu_unknown = !gpu[0] || !t->gpu_mask;
	if (!t->gpu_mask)
		t->gpu_mask = 1;
	cot_tenant_announce(t);
	log_info("%s program '%s' (id %u, process %d)", known ? "took over" : "new", t->name, t->id,
		 (int)c->pid);
	c->tenant = t;
	return 0;
}

/*
 * The shims and the library of one process mean the same program, whichever says hello first: a
 * process is one program.
 */
static struct tenant *find_process(const struct conn *c)
{
	struct tenant *t;

	for_each_tenant (t, c->in->roster)
		if (t->uid == c->uid && cot_peer_is(c, &t->watch))
			return t;
	return NULL;
}

static struct tenant *find_program(const struct conn *c, const struct cot_msg_hello *m)
{
	struct tenant *t = cot_roster_tenant(c->in->roster, m->tenant);

	return t ? t : find_process(c);
}

int cot_library_tenant(struct conn *c, const struct cot_msg_hello *m, struct cot_error *err)
{
	enum cot_class cls = class_of(m->class_);
	struct tenant *t = find_program(c, m);
	int rc;

	if (t) {
		/* Not even root's: what root runs would be another user's to freeze. */
		if (c->uid != t->uid)
			return cot_error_set(err, -EPERM, "program %u belongs to another user",
					     t->id);
		c->tenant = t;
		return 0;
	}
	if (m->tenant > INT32_MAX || cot_roster_pool(c->in->roster, m->tenant))
		return cot_error_set(err, -EINVAL,
				     "COTENANT_TENANT is not the number of a program");
	rc = cot_access_claim(c, cls, m->weight, err);
	return rc < 0 ? rc : take_in(c, m, err);
}

/* A server runs as the user of its clients: it is known by the control program that started it. */
static bool is_server(const struct conn *c, const struct pool *p)
{
	return c->uid == geteuid() || c->uid == 0 ||
	       (p && cot_watch_is_alive(&p->control) &&
		cot_process_parent(c->pid) == p->control.pid);
}

static int find_pool(struct conn *c, const struct cot_msg_hello *m, struct cot_error *err)
{
	struct pool *p = cot_roster_pool(c->in->roster, m->tenant);

	if (!is_server(c, p))
		return cot_error_set(err, -EPERM, "only the daemon's own servers are pools");
	if (!p)
		return cot_error_set(err, -ENOENT, "there is no pool %lu",
				     (unsigned long)m->tenant);
	c->pool = p;
	return 0;
}

static bool hello(struct conn *c, const struct cot_msg_hello *m)
{
	struct cot_error err;
	int rc;

	if (!m->weight || m->weight > COT_WEIGHT_MAX || m->class_ > COT_CLASS_BATCH ||
	    m->block_us > COT_BLOCK_US_MAX) {
		cot_answer_refuse(c, m->h.seq,
				  "the library sent a class, weight or block time out of range");
		return false;
	}
	rc = m->role == COT_ROLE_POOL ? find_pool(c, m, &err) : cot_library_tenant(c, m, &err);
	if (rc < 0) {
		cot_answer_error(c, m->h.seq, rc, &err);
		return false;
	}
	if (c->pool) {
		c->pool->n_conns++;
		c->entity = c->pool->id;
	} else {
		c->tenant->n_conns++;
		c->entity = c->tenant->pool ? c->tenant->pool->id : c->tenant->id;
	}
	rc = send_welcome(c, m->h.seq, c->pool ? c->pool->id : c->tenant->id,
			  c->tenant && (m->flags & COT_HELLO_MEASURES) &&
				  cot_measure_begin(c->tenant));
	if (rc < 0) /* it comes back a little later */
		log_warn("cannot welcome process %d: %s", (int)c->pid, strerror(-rc));
	return rc == 0;
}

/* From now on, or no longer, it gets orders. */
static void set_settled(struct conn *c, bool settled)
{
	uint64_t now_ns = cot_now_ns();

	if (c->settled == settled)
		return;
	c->settled = settled;
	if (!settled)
		cot_host_leave(c->basis->host, conn_index(c), now_ns);
	else
		cot_host_join(c->basis->host, conn_index(c), c->entity, !c->pool && c->tenant->pool,
			      now_ns);
	if (c->pool)
		cot_pool_update(c->pool);
	else
		cot_tenant_update(c->tenant);
}

bool cot_library_is_quiet(const struct conns *conns, uint32_t entity, uint64_t now_ns)
{
	const struct conn *c;

	for_each_conn (c, conns)
		if (c->entity == entity && c->grown_ns && now_ns - c->grown_ns < SETTLE_NS)
			return false;
	return true;
}

static void settle_fired(struct cot_timer *timer, uint64_t now_ns)
{
	struct conn *c = COT_CONTAINER_OF(timer, struct conn, settle);

	(void)now_ns;
	c->alone = false;
	set_settled(c, true);
}

static bool is_held(const struct conn *c)
{
	const struct cot_entity *e = cot_sched_entity(cot_host_sched(c->basis->host), c->entity);

	return e && e->held;
}

/* It is thawed and gets no orders for a while. */
static void leave_alone(struct conn *c)
{
	struct cot_msg_header thaw;

	c->alone = true;
	if (c->settled) {
		cot_proto_header(&thaw, COT_MSG_THAW, sizeof(thaw), 0);
		(void)cot_answer_send(c, &thaw, sizeof(thaw), -1);
		set_settled(c, false);
	}
	c->settle.fire = settle_fired;
	cot_timer_set(&c->basis->loop, &c->settle, cot_now_ns() + SETTLE_NS);
}

/* It tells its groups before it has read its WELCOME, and a freeze without a lease fails: the lease
 * can be written when its page is sealed. */
static void settle_soon(struct conn *c)
{
	c->settle.fire = settle_fired;
	cot_timer_set(&c->basis->loop, &c->settle, cot_now_ns() + SEAL_NS);
}

/* The driver numbers its devices as we do: in the order of their addresses on the bus. */
static void find_gpus(struct conn *c, const struct cot_msg_groups *m)
{
	uint64_t seen = m->gpus & ((1ull << c->basis->gpus.n) - 1);
	struct tenant *t = c->tenant;

	if (!t || !t->gpu_unknown || !(seen & ~t->gpu_seen))
		return;
	t->gpu_seen |= seen;
	t->gpu_mask = t->gpu_seen;
	cot_tenant_update(t);
}

/*
 * A driver that is being set up allocates its channels one by one, over some 0.2 s, and works on
 * them for a while after that. A freeze during that time made programs hang for ever on an H200
 * (driver 580). So the daemon sends no orders to a program that stands alone until that is over; it
 * keeps the slice of its WELCOME. The same happens whenever it allocates more. A program that does
 * so without end has no turns: it runs all the time, and the others pay for it. A program that
 * hangs would be worse. A program that the user holds waits in its library before it allocates more
 * (src/cuda/rm/gate.c).
 *
 * A pool should have its slices at once. It is not frozen while one of its programs sets channels
 * up (is_quiet()); if it is frozen when one begins, it is thawed. So a trainer that started while
 * `slo` measured its neighbour alone hung on an H200.
 */
static void groups(struct conn *c, const struct cot_msg_groups *m)
{
	bool more = m->n_groups > c->n_groups || m->n_channels > c->n_channels;

	c->n_groups = m->n_groups;
	c->n_channels = m->n_channels;
	if (!c->entity)
		return;
	log_debug("process %d has %u channel groups, %u channels", (int)c->pid, m->n_groups,
		  m->n_channels);
	find_gpus(c, m);
	if (c->tenant && m->n_groups)
		c->tenant->had_groups = true;
	if (more)
		c->grown_ns = cot_now_ns();
	if (!m->n_groups) {
		cot_timer_clear(&c->settle);
		c->alone = false;
		set_settled(c, false);
	} else if ((c->pool || c->tenant->pool) && !is_held(c)) {
		if (more && !c->pool)
			cot_host_release(c->basis->host, c->entity, cot_now_ns());
		if (cot_page_of(c))
			set_settled(c, true);
		else
			settle_soon(c);
	} else if (more && !(c->settled && is_held(c))) {
		leave_alone(c);
	}
}

static void ack(struct conn *c, const struct cot_msg_ack *m)
{
	if (m->status < 0)
		log_debug("process %d could not carry out an order: %s (%u groups or channels)",
			  (int)c->pid, strerror(-m->status), m->n_failed);
	cot_host_ack(c->basis->host, conn_index(c), m, cot_now_ns());
	if (c->late) {
		c->late = false;
		cot_timer_set(&c->basis->loop, &c->in->roster->stops, cot_now_ns());
	}
}

bool cot_library_packet(struct conn *c, const void *packet, int type)
{
	switch (type) {
	case COT_MSG_HELLO:
		return hello(c, packet);
	case COT_MSG_GROUPS:
		groups(c, packet);
		break;
	case COT_MSG_ACK:
		ack(c, packet);
		break;
	default:
		break;
	}
	return true;
}

void cot_library_gone(struct conn *c)
{
	cot_timer_clear(&c->settle);
	cot_host_leave(c->basis->host, conn_index(c), cot_now_ns());
	c->n_groups = 0;
	c->settled = false;
	if (c->pool) {
		c->pool->n_conns--;
		cot_pool_update(c->pool);
		cot_pool_server_gone(c->pool);
	}
	if (c->tenant) {
		cot_measure_end(c);
		c->tenant->n_conns--;
		cot_tenant_update(c->tenant);
		cot_tenant_check(c->tenant);
	}
}
