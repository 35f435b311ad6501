#include "daemon/shims.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/answer.h"
#include "daemon/basis.h"
#include "daemon/conn.h"
#include "daemon/host_part.h"
#include "daemon/host_query.h"
#include "daemon/host_work.h"
#include "daemon/known.h"
#include "daemon/library.h"
#include "daemon/log.h"
#include "daemon/queries.h"
#include "daemon/roster.h"

/* ---- WORK_HELLO ---- */

static bool is_one(uint64_t mask)
{
	return mask && !(mask & (mask - 1));
}

/*
 * The number of the GPU that the shim means. In containers, with parts of GPUs and behind an MPS
 * server it may have a name that the daemon does not know; a program with one GPU means that.
 */
static int find_gpu(const struct conn *c, const struct cot_msg_work_hello *m, uint32_t *ret_gpu,
		    struct cot_error *err)
{
	const struct tenant *t = m->tenant ? cot_roster_tenant(c->in->roster, m->tenant) : NULL;
	uint64_t mask = m->gpu[0] ? cot_gpus_mask(&c->basis->gpus, m->gpu) : 0;

	if (t && is_one(t->gpu_mask))
		mask = t->gpu_mask;
	else if (!is_one(mask) && c->basis->gpus.n == 1)
		mask = 1;
	if (!is_one(mask))
		return cot_error_set(err, -ENODEV,
				     "'%.63s' does not name one GPU of this machine; expected its "
				     "number or UUID",
				     m->gpu);
	*ret_gpu = (uint32_t)__builtin_ctzll(mask);
	return 0;
}

/* The program as its library would introduce it. */
static int find_program(struct conn *c, const struct cot_msg_work_hello *m, struct cot_error *err)
{
	struct cot_msg_hello as = {
		.role = COT_ROLE_TENANT,
		.class_ = m->class_,
		.weight = m->weight ? m->weight : COT_WEIGHT_DEFAULT,
		.pid = m->pid,
		.tenant = m->tenant,
	};
	struct tenant *t;
	int rc;

	if (m->weight > COT_WEIGHT_MAX)
		return cot_error_set(err, -EINVAL, "the shim sent a weight out of range");
	memcpy(as.name, m->name, sizeof(as.name));
	memcpy(as.gpu, m->gpu, sizeof(as.gpu));
	rc = cot_library_tenant(c, &as, err);
	t = c->tenant;
	if (!rc && !m->tenant && !t->quota && !t->reserve) { /* no other source has given shares */
		t->quota = m->quota;
		t->reserve = m->reserve;
	}
	return rc;
}

static bool hello(struct conn *c, const struct cot_msg_work_hello *m)
{
	struct cot_msg_work_welcome answer = {.works_max = COT_PROTO_WORKS_MAX};
	struct cot_host_shim shim = {.n_sms = m->n_sms};
	struct cot_error err;
	struct tenant *t;
	int rc = find_gpu(c, m, &shim.gpu, &err);

	if (!rc)
		rc = find_program(c, m, &err);
	if (rc < 0) {
		cot_answer_error(c, m->h.seq, rc, &err);
		return false;
	}
	t = c->tenant;
	shim.tenant = t->id;
	c->gpu = shim.gpu;
	rc = cot_host_work_join(c->basis->host, conn_index(c), &shim);
	if (rc < 0) {
		cot_answer_defer(c, m->h.seq,
				 "no room for one more program with rewritten kernels");
		c->tenant = NULL;
		cot_tenant_check(t);
		return false;
	}
	cot_host_part_join(c->basis->host, conn_index(c), t->id);
	t->n_conns++;
	cot_tenant_update(t);
	log_debug("the shim of process %d is on GPU %u, %u SMs", (int)c->pid, shim.gpu, m->n_sms);
	answer.tenant = t->id;
	cot_proto_header(&answer.h, COT_MSG_WORK_WELCOME, sizeof(answer), m->h.seq);
	return cot_answer_send(c, &answer, sizeof(answer), -1) == 0;
}

/* ---- works ---- */

/* Only latency programs may take from others. */
static enum cot_work_method method_of(const struct conn *c, const struct cot_msg_work_request *m)
{
	if (c->tenant->cls == COT_CLASS_LATENCY && m->method != COT_PROTO_WORK_QUOTA)
		return COT_WORK_RESERVE;
	return COT_WORK_QUOTA;
}

static void keep_counts(struct conn *c, const struct cot_msg_work_counts *m)
{
	size_t size = sizeof(*m) + m->n_reasons * sizeof(m->reasons[0]);

	if (!c->counts)
		c->counts = malloc(sizeof(*m) + COT_PROTO_REASONS_MAX * sizeof(m->reasons[0]));
	cot_progress_count(c, COT_PROGRESS_WORKS, m->n_launched_workers, cot_now_ns());
	if (!c->counts)
		return; /* nothing depends on them */
	memcpy(c->counts, m, size);
}

/* What the host has of it now is what its user is charged for. */
static void settle_charge(struct conn *c)
{
	unsigned n = c->tenant ? cot_host_work_count(c->basis->host, conn_index(c)) : 0;

	if (n < c->n_works_charged)
		cot_account_release(&c->basis->account, c->uid, COT_ACCOUNT_WORKS,
				    c->n_works_charged - n);
	c->n_works_charged = n;
}

/* The configuration goes before what the program says of it. */
static void apply_rules(const struct conn *c, struct cot_msg_work_request *m)
{
	const struct cot_rules *rules = &c->basis->config.kernels;
	const struct cot_rule *rule = cot_rules_find(rules, c->tenant->name, m->kernel);

	m->flags &= (uint8_t)~COT_WORK_BY_KERNEL;
	if (cot_rules_any(rules, c->tenant->name))
		m->flags |= COT_WORK_BY_KERNEL;
	if (!rule)
		return;
	m->method = rule->method;
	m->share = rule->share;
}

/* Of a kernel of which nothing is said, but known how many SMs it needs: that many. */
static void predict(const struct conn *c, struct cot_msg_work_request *m)
{
	const struct cot_config *config = &c->basis->config;
	const struct cot_knowledge *k;
	uint32_t need;

	if (!config->need_permille)
		return;
	k = cot_known_find(&c->basis->known, c->tenant->name, c->tenant->cls);
	if (!k || !k->n_kernels)
		return;
	m->flags |= COT_WORK_BY_KERNEL;
	need = cot_knowledge_need(k, m->kernel, sizeof(m->kernel) - 1, config->need_permille);
	if (!need || m->share || m->method != COT_PROTO_WORK_DEFAULT)
		return;
	m->share = cot_share_pack((struct cot_share){.sms = (uint16_t)need});
	m->want = !m->want || need < m->want ? need : m->want;
}

static bool request(struct conn *c, const struct cot_msg_work_request *packet)
{
	struct cot_host *host = c->basis->host;
	struct cot_msg_work_request all, *m = &all;
	int rc;

	cot_proto_read_work_request(packet, m);
	apply_rules(c, m);
	predict(c, m);

	if (cot_account_charge(&c->basis->account, c->uid, COT_ACCOUNT_WORKS, 1) < 0) {
		cot_host_work_pass(host, conn_index(c), m);
		return true;
	}
	c->n_works_charged++;
	rc = cot_host_work_request(host, conn_index(c), m, method_of(c, m), cot_now_ns());
	settle_charge(c);
	return rc == 0;
}

static void keep_part_counts(struct conn *c, const struct cot_msg_part_counts *m)
{
	size_t size = sizeof(*m) + m->n_reasons * sizeof(m->reasons[0]);

	if (!c->part_counts)
		c->part_counts = malloc(sizeof(*m) + COT_PROTO_REASONS_MAX * sizeof(m->reasons[0]));
	cot_progress_count(c, COT_PROGRESS_PARTS, m->n_followed + m->n_stayed, cot_now_ns());
	if (c->part_counts)
		memcpy(c->part_counts, m, size);
}

bool cot_shims_packet(struct conn *c, const void *packet, int type)
{
	struct cot_host *host = c->basis->host;

	if (type == COT_MSG_WORK_HELLO)
		return hello(c, packet);
	if (!c->tenant)
		return false;
	switch (type) {
	case COT_MSG_WORK_REQUEST:
		return request(c, packet);
	case COT_MSG_WORK_EVICTED:
		cot_host_work_evicted(host, conn_index(c), packet, cot_now_ns());
		break;
	case COT_MSG_WORK_DONE:
		cot_host_work_done(host, conn_index(c), packet, cot_now_ns());
		settle_charge(c);
		break;
	case COT_MSG_PARTS:
		c->tenant->parts = true;
		cot_host_part_told(host, conn_index(c), packet, cot_now_ns());
		cot_host_query_join(host, conn_index(c), c->tenant->id, cot_now_ns());
		break;
	case COT_MSG_PLACED:
		cot_host_part_placed(host, conn_index(c), packet, cot_now_ns());
		break;
	case COT_MSG_PART_COUNTS:
		keep_part_counts(c, packet);
		break;
	case COT_MSG_PACE_COUNTS:
		cot_proto_read_pace_counts(packet, &c->pace_counts);
		cot_progress_count(c, COT_PROGRESS_CPU, c->pace_counts.n_cpu, cot_now_ns());
		cot_progress_waits(c, c->pace_counts.n_gpu_waits, c->pace_counts.gpu_wait_ns);
		break;
	case COT_MSG_MEMORY:
		c->memory = *(const struct cot_msg_memory *)packet;
		break;
	case COT_MSG_QUERY_BEGIN:
	case COT_MSG_QUERY_TASKS:
	case COT_MSG_QUERY_END:
	case COT_MSG_QUERY_COPY:
		cot_queries_packet(c, packet, type);
		break;
	default:
		keep_counts(c, packet);
		break;
	}
	return true;
}

/* Of a program that goes on without its shim, or on another GPU too, the counts are kept. */
static void hand_counts_over(struct conn *c)
{
	const struct cot_msg_part_counts *p = c->part_counts;
	const struct cot_msg_work_counts *m = c->counts;
	struct tenant *t = c->tenant;

	if (p) {
		t->n_part_changes += p->n_changes;
		t->n_followed += p->n_followed;
		t->n_stayed += p->n_stayed;
	}
	t->n_paced += c->pace_counts.n_paced;
	t->n_pace_waits += c->pace_counts.n_waits;
	t->pace_wait_ns += c->pace_counts.wait_ns;
	t->n_pace_failed += c->pace_counts.n_failed;
	t->n_held += c->pace_counts.n_held;
	t->held_ns += c->pace_counts.held_ns;
	t->n_lapsed += c->pace_counts.n_lapsed;
	t->n_cpu += c->pace_counts.n_cpu;
	t->cpu_ns += c->pace_counts.cpu_ns;
	t->n_cpu_not += c->pace_counts.n_cpu_not;
	t->n_copies += c->pace_counts.n_copies;
	t->copies_ns += c->pace_counts.copies_ns;
	t->n_merged += c->pace_counts.n_merged;
	t->n_merges += c->pace_counts.n_merges;
	t->n_unmerged += c->pace_counts.n_unmerged;
	t->n_templates_found += c->pace_counts.n_templates_found;
	t->n_templates_made += c->pace_counts.n_templates_made;
	t->n_templates_ignored += c->pace_counts.n_templates_ignored;
	t->n_templates_not_kept += c->pace_counts.n_templates_not_kept;
	t->n_memory_refused += c->memory.n_refused;
	if (c->memory.most_bytes > t->memory_most_bytes)
		t->memory_most_bytes = c->memory.most_bytes;
	if (!m)
		return;
	t->n_rewritten += m->n_rewritten;
	t->n_not_rewritten += m->n_refused;
	t->n_launched_workers += m->n_launched_workers;
	t->n_launched_plain += m->n_launched_plain;
}

void cot_shims_gone(struct conn *c)
{
	struct tenant *t = c->tenant;

	cot_host_query_leave(c->basis->host, conn_index(c), cot_now_ns());
	cot_host_part_leave(c->basis->host, conn_index(c), cot_now_ns());
	cot_host_work_leave(c->basis->host, conn_index(c), cot_now_ns());
	settle_charge(c);
	if (!t)
		return;
	hand_counts_over(c);
	c->tenant = NULL;
	t->n_conns--;
	cot_tenant_check(t);
}
